"""Points in shells around their mean, with deletions: the furthest of the remaining points, exactly.

In many columns boxes say little about the furthest point: their corners are far out and empty. Instead the points are
kept in packs by decreasing distance r from a centre m, and scanned from outside until

    (r + |c − m|)² (1 + 1e-9)  <  the best so far,

the triangle inequality with room for rounding. From the mean itself, one or two packs are enough. Ties go to the point
whose first remaining copy has the lowest row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.group.kd_order import kd_order
from shoal.group.packs import PACK, Packs, fill, further, room_for, squared_distance
from shoal.group.remaining import Remaining, furthest_lane

__all__ = ["Shells", "arrange", "furthest_by_shells", "room_for_shells"]

_ROOM = 1.0 + 1e-9
_FIRST, _END = range(2)  # places in Shells.extent


class Shells(NamedTuple):
    """Points by decreasing distance from a centre.

    Parameters
    ----------
    packs
        The points.
    reach
        The largest distance from `centre` in each pack.
    centre
        The mean of the points at the last arrangement.
    extent
        The first pack that isn't empty, and the number of packs.
    lanes
        Room for the distances of a pack.
    """

    packs: Packs
    reach: FloatArray
    centre: FloatArray
    extent: IntArray
    lanes: FloatArray


def room_for_shells(n_points: int, n_columns: int) -> Shells:
    """Shells to be arranged."""
    n_packs = -(-n_points // PACK)
    return Shells(
        packs=room_for(n_packs, n_points, n_columns),
        reach=np.empty(n_packs),
        centre=np.empty(n_columns),
        extent=np.zeros(2, dtype=np.int64),
        lanes=np.empty(PACK),
    )


@njit(cache=True, nogil=True)
def furthest_by_shells(shells: Shells, remaining: Remaining, centre: FloatArray) -> int:
    """Find the point furthest from `centre`."""
    reach, extent, lanes = shells.reach, shells.extent, shells.lanes
    coordinates, members, counts = shells.packs.coordinates, shells.packs.members, shells.packs.counts
    best, found = -1.0, -1
    offset = np.sqrt(squared_distance(centre, shells.centre))
    while counts[extent[_FIRST]] == 0:
        extent[_FIRST] += 1
    for p in range(extent[_FIRST], extent[_END]):
        bound = reach[p] + offset
        if bound * bound * _ROOM < best:
            break
        if counts[p] > 0 and further(coordinates, p, centre, best, lanes) > 0:
            best, found = furthest_lane(remaining, members, p, counts[p], lanes, best, found)
    return found


@njit(cache=True, nogil=True)
def arrange(shells: Shells, points: FloatArray, live: IntArray) -> None:
    """Arrange the points `live`, whose order changes, around their mean."""
    n_packs = -(-len(live) // PACK)
    shells.extent[_FIRST], shells.extent[_END] = 0, n_packs
    inward = _inward(points, live, shells.centre)
    kd_order(inward, live, n_packs, 1)
    fill(shells.packs, points, live, n_packs)
    for p in range(n_packs):
        shells.reach[p] = 0.0
        for lane in range(shells.packs.counts[p]):
            shells.reach[p] = max(shells.reach[p], -inward[shells.packs.members[p, lane], 0])


@njit(cache=True, nogil=True)
def _inward(points: FloatArray, live: IntArray, centre: FloatArray) -> FloatArray:
    """Move `centre` to the mean; return minus the distance of each live point from it, as a column to sort by."""
    for j in range(len(centre)):
        centre[j] = 0.0
        for point in live:
            centre[j] += points[point, j] / len(live)
    inward = np.empty((len(points), 1))
    for point in live:
        inward[point, 0] = -np.sqrt(squared_distance(points[point], centre))
    return inward
