"""Orders points so that neighbours in space are neighbours in memory: k-d cuts at the median of the widest column.

The points are to fill a number of equal cells. They are cut in two on the column in which they spread most, the lower
part before the upper, and each part again, until a cell remains. Ties at a cut may go either way: the order serves
searches whose answers do not depend on it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray

__all__ = ["kd_order"]

_SAMPLE = 256  # points that decide which column is widest


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
