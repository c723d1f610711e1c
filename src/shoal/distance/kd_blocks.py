"""Points cut into blocks of neighbours, all of nearly the same size.

A cut is made in the column with the largest variance, then, among points that are equal there, in the next column and
so on, last by row number: equal points stay together as long as they can. Cost n·log(n/size) per column.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.errors import ParameterError

__all__ = ["kd_blocks"]


def kd_blocks(points: FloatArray, k: int, n_blocks: int) -> list[IntArray]:
    """Cut points into `n_blocks` blocks; return the rows of each, in increasing order.

    Each block holds a multiple of `k` rows; one takes the remainder.
    """
    if not 1 <= n_blocks <= len(points) // k:
        raise ParameterError("blocks", "each must hold at least k rows", got=f"{n_blocks} blocks")
    return _cut(points, np.arange(len(points)), k, n_blocks)


def _cut(points: FloatArray, rows: IntArray, k: int, n_blocks: int) -> list[IntArray]:
    if n_blocks == 1:
        return [rows]
    half = n_blocks // 2
    size = len(rows) // k * half // n_blocks * k
    low = _lowest(points[rows], size)
    return _cut(points, rows[low], k, half) + _cut(points, rows[~low], k, n_blocks - half)


def _lowest(points: FloatArray, size: int) -> BoolArray:
    """The `size` points that are lowest in the column with the largest variance, ties by the next column, then row."""
    chosen, tied = np.zeros(len(points), dtype=np.bool_), np.arange(len(points))
    for j in _by_variance(points):
        column = points[tied, j]
        edge = np.partition(column, size - 1)[size - 1]
        chosen[tied[column < edge]] = True
        size -= int(np.count_nonzero(column < edge))
        tied = tied[column == edge]
    chosen[tied[:size]] = True
    return chosen


def _by_variance(points: FloatArray) -> IntArray:
    """Columns by decreasing variance; variances that agree in nine digits are equal, so rounding decides nothing."""
    variance = points.var(axis=0)
    order: IntArray = np.argsort(-np.round(variance / max(variance.max(initial=0.0), 1e-300), 9), kind="stable")
    return order
