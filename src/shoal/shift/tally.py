"""Sums of values by place: the one operation that tables, cells and levels share."""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, IntArray

__all__ = ["ratio", "sums_by"]


def sums_by(place: IntArray, values: FloatArray, n: int) -> FloatArray:
    """The sum of `values` at each of the places 0..n-1."""
    return np.bincount(place, weights=values, minlength=n).astype(np.float64)


def ratio(q: FloatArray, p: FloatArray) -> FloatArray:
    """q / p, and 0 where p is 0."""
    out: FloatArray = np.divide(q, p, out=np.zeros_like(q), where=p > 0)
    return out
