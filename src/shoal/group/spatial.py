"""A spatial index that points leave one by one: the tree of boxes and the shells, kept in step.

It answers which of the remaining rows are nearest to a place (`nearest`) and which point is furthest from it
(`furthest_by_boxes`, `furthest_by_shells`), exactly, with ties to the lowest row. It is rebuilt when half of the points
are gone, which at most doubles the cost of building. Cost of a query: about log n in few columns, growing to a scan of
all packs in many. Memory is linear.

Points in shells around their mean, with deletions: the furthest of the remaining points, exactly.

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
from shoal.group.box_tree import BoxTree, nearest_rows, plant, room_for_tree, shrink
from shoal.group.packs import (
    PACK,
    Packs,
    Remaining,
    fill,
    further,
    furthest_lane,
    kd_order,
    live_points,
    room_for,
    squared_distance,
    vacate,
)
from shoal.group.points import Copies

__all__ = ["Index", "Shells", "furthest_by_shells", "index_of", "nearest", "remove"]

_ROOM = 1.0 + 1e-9
_FIRST, _END = range(2)  # places in Shells.extent


class Index(NamedTuple):
    """The remaining points, in a tree of boxes and in shells; `alive` counts them now and at the last rebuild."""

    points: FloatArray
    remaining: Remaining
    tree: BoxTree
    shells: Shells
    alive: IntArray


def index_of(copies: Copies) -> Index:
    """Index all points."""
    index = Index(
        points=copies.points,
        remaining=Remaining(copies.rows, copies.starts[:-1].copy(), copies.starts[1:]),
        tree=room_for_tree(*copies.points.shape),
        shells=_room_for_shells(*copies.points.shape),
        alive=np.zeros(2, dtype=np.int64),
    )
    _rebuild(index)
    return index


@njit(cache=True, nogil=True)
def nearest(index: Index, centre: FloatArray, near: FloatArray, near_rows: IntArray) -> int:
    """Find the rows nearest to `centre`, as many as `near` holds, the furthest of them first; return how many exist."""
    n: int = nearest_rows(index.tree, index.remaining, centre, near, near_rows)
    return n


@njit(cache=True, nogil=True)
def remove(index: Index, point: int) -> None:
    """Take the lowest remaining copy off a point, and the point out of the index when none is left."""
    index.remaining.head[point] += 1
    if index.remaining.head[point] < index.remaining.end[point]:
        return
    index.alive[0] -= 1
    if 0 < 2 * index.alive[0] <= index.alive[1]:
        _rebuild(index)
    else:
        vacate(index.shells.packs, point)
        shrink(index.tree, vacate(index.tree.leaves, point), index.points, point)


@njit(cache=True, nogil=True)
def _rebuild(index: Index) -> None:
    live = live_points(index.remaining)
    index.alive[0] = index.alive[1] = len(live)
    plant(index.tree, index.points, live)
    _arrange(index.shells, index.points, live)


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


def _room_for_shells(n_points: int, n_columns: int) -> Shells:
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
def _arrange(shells: Shells, points: FloatArray, live: IntArray) -> None:
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
