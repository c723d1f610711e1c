"""Distances between positions, one pair at a time, for kernels (see `shoal.distance.space.Packed`)."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import FloatArray
from shoal.distance.space import EQUAL, LINE, Packed

__all__ = ["apart", "joint", "mapped"]


@njit(cache=True, nogil=True)
def apart(packed: Packed, j: int, a: float, b: float) -> float:
    """Distance between two positions of column j."""
    if packed.shapes[j] == LINE:
        return abs(a - b)
    if packed.shapes[j] == EQUAL:
        return 0.0 if a == b else 1.0
    return packed.table[packed.starts[j] + np.int64(a) * packed.widths[j] + np.int64(b)]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def mapped(packed: Packed, j: int, d: float) -> float:
    """The mapped distance of a distance of column j."""
    last = packed.n_knots[j] - 1
    x, y = packed.x[j], packed.y[j]
    if d <= 0.0:
        return 0.0
    if d >= x[last]:
        return y[last]  # type: ignore[no-any-return]
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        if x[middle] <= d:
            low = middle
        else:
            high = middle
    return y[low] + (y[high] - y[low]) * (d - x[low]) / (x[high] - x[low])  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def joint(packed: Packed, a: FloatArray, b: FloatArray) -> float:
    """Sum of mapped distances between two rows (eq 4)."""
    total = 0.0
    for j in range(len(a)):
        total += mapped(packed, j, apart(packed, j, a[j], b[j]))
    return total
