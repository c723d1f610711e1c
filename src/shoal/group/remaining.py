"""The copies of points that no group has taken yet."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray

__all__ = ["Remaining", "first_row", "furthest_lane", "live_points"]


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
