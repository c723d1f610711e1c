"""Points in packs of 32, column by column, for scans with vector instructions and removal in constant time.

A pack holds the coordinates of up to 32 points as a (columns × 32) block, each point in a lane. A removed point's lane
is taken over by the pack's last point. Lanes without a point repeat one of the pack, so that a scan needs no mask.

**Distances** are squared and Euclidean, with terms added in the order of the columns,

    ((x₁ − c₁)² + (x₂ − c₂)²) + (x₃ − c₃)² + …

in double precision, each operation rounded once and none fused. A plain loop over the columns gives the same bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray

__all__ = ["PACK", "Packs", "distances", "fill", "further", "room_for", "squared_distance", "vacate"]

PACK = 32


class Packs(NamedTuple):
    """Points in packs.

    Parameters
    ----------
    coordinates
        (packs, columns, lanes).
    members
        (packs, lanes): which point sits in the lane.
    counts
        Number of points in each pack; they sit in its first lanes.
    seats
        (points, 2): pack and lane of each point.
    """

    coordinates: FloatArray
    members: IntArray
    counts: IntArray
    seats: IntArray


def room_for(n_packs: int, n_points: int, n_columns: int) -> Packs:
    """Packs to be filled."""
    return Packs(
        coordinates=np.empty((n_packs, n_columns, PACK)),
        members=np.empty((n_packs, PACK), dtype=np.int64),
        counts=np.empty(n_packs, dtype=np.int64),
        seats=np.empty((n_points, 2), dtype=np.int64),
    )


@njit(cache=True, nogil=True)
def fill(packs: Packs, points: FloatArray, order: IntArray, n_packs: int) -> None:
    """Spread `order`, a sequence of point numbers, evenly over the first `n_packs` packs."""
    coordinates, members, counts, seats = packs
    for p in range(n_packs):
        first = len(order) * p // n_packs
        counts[p] = len(order) * (p + 1) // n_packs - first
        for lane in range(PACK):
            point = order[first + lane] if lane < counts[p] else order[first]
            for j in range(points.shape[1]):
                coordinates[p, j, lane] = points[point, j]
            members[p, lane] = point
            if lane < counts[p]:
                seats[point, 0], seats[point, 1] = p, lane


@njit(cache=True, nogil=True)
def vacate(packs: Packs, point: int) -> int:
    """Remove a point; return the number of its pack."""
    p: int = packs.seats[point, 0]
    lane, last = packs.seats[point, 1], packs.counts[p] - 1
    packs.counts[p] = last
    mover = packs.members[p, last]
    packs.members[p, lane] = mover
    packs.seats[mover, 1] = lane
    donor = 0 if lane == last else last
    for j in range(packs.coordinates.shape[1]):
        packs.coordinates[p, j, lane] = packs.coordinates[p, j, donor]
    return p


@njit(cache=True, nogil=True)
def distances(coordinates: FloatArray, p: int, centre: FloatArray, limit: float, out: FloatArray) -> int:
    """Write the squared distances of pack `p` from `centre` to `out`; return how many lanes are within `limit`.

    Stops with 0 as soon as every partial sum is beyond the limit; `out` is then unfinished.
    """
    hits = 0
    for lane in range(PACK):
        a = coordinates[p, 0, lane] - centre[0]
        b = coordinates[p, 1, lane] - centre[1]
        c = coordinates[p, 2, lane] - centre[2]
        d = coordinates[p, 3, lane] - centre[3]
        total = a * a + b * b + c * c + d * d
        out[lane] = total
        hits += total <= limit
    for j in range(4, coordinates.shape[1], 4):
        if hits == 0:
            return 0
        hits = 0
        for lane in range(PACK):
            a = coordinates[p, j, lane] - centre[j]
            b = coordinates[p, j + 1, lane] - centre[j + 1]
            c = coordinates[p, j + 2, lane] - centre[j + 2]
            d = coordinates[p, j + 3, lane] - centre[j + 3]
            total = out[lane] + a * a + b * b + c * c + d * d
            out[lane] = total
            hits += total <= limit
    return hits


@njit(cache=True, nogil=True)
def further(coordinates: FloatArray, p: int, centre: FloatArray, best: float, out: FloatArray) -> int:
    """Write the squared distances of pack `p` from `centre` to `out`; return how many lanes are at `best` or beyond."""
    distances(coordinates, p, centre, np.inf, out)
    hits = 0
    for lane in range(PACK):
        hits += out[lane] >= best
    return hits


@njit(cache=True, nogil=True)
def squared_distance(x: FloatArray, centre: FloatArray) -> float:
    """Squared distance of one point, by the same order of operations as a scan."""
    total = 0.0
    for j in range(len(x)):
        total += (x[j] - centre[j]) * (x[j] - centre[j])
    return total
