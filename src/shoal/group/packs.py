"""Points in packs of 32, column by column, for scans with vector instructions and removal in constant time.

A pack holds the coordinates of up to 32 points as a (columns × 32) block, each point in a lane. A removed point's lane
is taken over by the pack's last point. Lanes without a point repeat one of the pack, so that a scan needs no mask.

**Distances** are squared and Euclidean, with terms added in the order of the columns,

    ((x₁ − c₁)² + (x₂ − c₂)²) + (x₃ − c₃)² + …

in double precision, each operation rounded once and none fused. A plain loop over the columns gives the same bits.

Orders points so that neighbours in space are neighbours in memory: k-d cuts at the median of the widest column.

The points are to fill a number of equal cells. They are cut in two on the column in which they spread most, the lower
part before the upper, and each part again, until a cell remains. Ties at a cut may go either way: the order serves
searches whose answers do not depend on it.

The copies of points that no group has taken yet.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray

__all__ = [
    "PACK",
    "Packs",
    "Remaining",
    "distances",
    "fill",
    "first_row",
    "further",
    "furthest_lane",
    "kd_order",
    "live_points",
    "room_for",
    "squared_distance",
    "vacate",
]

PACK = 32
_SAMPLE = 256  # points that decide which column is widest


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


@njit(cache=True, nogil=True)
def kd_order(points: FloatArray, order: IntArray, n_cells: int, span: int) -> None:
    """Rearrange `order`, point numbers, such that its i-th of `n_cells` equal parts is cell i.

    `n_cells` is a multiple of `span`; cuts fall on multiples of `span` cells as long as they can.
    """
    n, keys = len(order), np.empty(len(order))
    low, high = np.empty(points.shape[1]), np.empty(points.shape[1])
    stack, top = np.empty((128, 2), np.int64), 1
    stack[0, 0], stack[0, 1] = 0, n_cells
    while top > 0:
        top -= 1
        first, last = stack[top, 0], stack[top, 1]
        half = (last - first) // (2 * span) * span if last - first > span else (last - first) // 2
        if half > 0:
            a, b, c = n * first // n_cells, n * (first + half) // n_cells, n * last // n_cells
            column = _widest(points, order, a, c, low, high)
            for i in range(a, c):
                keys[i] = points[order[i], column]
            _select(keys, order, a, c - 1, b)
            stack[top, 0], stack[top, 1] = first, first + half
            stack[top + 1, 0], stack[top + 1, 1] = first + half, last
            top += 2


@njit(cache=True, nogil=True)
def _widest(points: FloatArray, order: IntArray, a: int, c: int, low: FloatArray, high: FloatArray) -> int:
    for j in range(len(low)):
        low[j], high[j] = points[order[a], j], points[order[a], j]
    for i in range(a + 1, c, max(1, (c - a) // _SAMPLE)):
        for j in range(len(low)):
            x = points[order[i], j]
            low[j] = x if x < low[j] else low[j]
            high[j] = x if x > high[j] else high[j]
    widest = 0
    for j in range(len(low)):
        if high[j] - low[j] > high[widest] - low[widest]:
            widest = j
    return widest


@njit(cache=True, nogil=True)
def _select(keys: FloatArray, order: IntArray, low: int, high: int, middle: int) -> None:
    """Quickselect within [low, high]: keys before `middle` end up ≤ keys from it on, with `order` carried along."""
    while low < high:
        a, b, c = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i, j = i + 1, j - 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


class Remaining(NamedTuple):
    """Point p has the remaining copies `rows[head[p]:end[p]]`, in increasing order."""

    rows: IntArray
    head: IntArray
    end: IntArray


@njit(cache=True, nogil=True)
def first_row(remaining: Remaining, point: int) -> int:
    """The lowest row that remains of a point."""
    row: int = remaining.rows[remaining.head[point]]
    return row


@njit(cache=True, nogil=True)
def live_points(remaining: Remaining) -> IntArray:
    """The points that have copies left."""
    n, live = 0, np.empty(len(remaining.head), np.int64)
    for point in range(len(live)):
        if remaining.head[point] < remaining.end[point]:
            live[n] = point
            n += 1
    return live[:n]


@njit(cache=True, nogil=True)
def furthest_lane(
    remaining: Remaining, members: IntArray, p: int, count: int, lanes: FloatArray, best: float, found: int
) -> tuple[float, int]:
    """Look for a better point than `found`, at distance `best`, in pack `p`; of equals the lowest row is better."""
    for lane in range(count):
        if lanes[lane] >= best:
            point = members[p, lane]
            if lanes[lane] > best or first_row(remaining, point) < first_row(remaining, found):
                best, found = lanes[lane], point
    return best, found
