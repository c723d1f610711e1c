"""Both tables on one grid: each column cut into cells, so that shares can be compared.

A categorical column has one cell per level. A numeric one whose original has at most 50 distinct values has one cell
per value, and a released number counts where the nearest of them is (ties go down): a centroid is rounded to the
nearest level. Any other numeric column is cut at the quantiles of the original into `bins` cells. Missing is a cell
of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.schema import Role
from shoal.utility.tables import Both

__all__ = ["MOST_VALUES", "Cells", "cells_of", "counts", "grid", "joint", "shares"]

MOST_VALUES = 50
"""A numeric column with more distinct values in the original is cut into bins."""

_MOST_KEYS = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """One column, or a combination of some, as cell numbers from 0 to `size` - 1."""

    name: str
    role: Role
    original: IntArray
    released: IntArray
    size: int
    binned: bool = False


def grid(columns: Iterable[Both], weights: FloatArray, bins: int) -> tuple[Cells, ...]:
    """Cut every column into cells; `weights` are the original's, for weighted quantiles."""
    return tuple(cells_of(column, weights, bins) for column in columns)


def cells_of(column: Both, weights: FloatArray, bins: int, most_values: int = MOST_VALUES) -> Cells:
    """Cut one column into cells."""
    levels = column.coding.levels
    if levels is not None:
        original, released = column.original.astype(np.int64), column.released.astype(np.int64)
        return Cells(name=column.name, role=column.role, original=original, released=released, size=len(levels) + 1)
    values = np.unique(column.original[~np.isnan(column.original)])
    binned = len(values) > most_values
    cuts = _quantiles(column.original, weights, bins) if binned else values[:-1] / 2 + values[1:] / 2
    return Cells(
        name=column.name,
        role=column.role,
        original=_place(column.original, cuts),
        released=_place(column.released, cuts),
        size=len(cuts) + 2,
        binned=binned,
    )


def joint(columns: Sequence[Cells]) -> Cells:
    """The combinations of cells that occur in either table, numbered from 0."""
    n = len(columns[0].original)
    keys, size = np.zeros(n + len(columns[0].released), dtype=np.int64), 1
    for column in columns:
        if size * column.size > _MOST_KEYS:
            keys, size = _renumber(keys)
        keys = keys * column.size + np.concatenate([column.original, column.released])
        size *= column.size
    keys, size = _renumber(keys)
    return Cells(name="joint", role="quasi", original=keys[:n], released=keys[n:], size=size)


def counts(cells: IntArray, size: int, weights: FloatArray) -> FloatArray:
    """The weight in each cell."""
    return np.bincount(cells, weights=weights, minlength=size).astype(np.float64, copy=False)


def shares(cells: IntArray, size: int, weights: FloatArray) -> FloatArray:
    """The share of the weight in each cell."""
    return counts(cells, size, weights) / float(weights.sum())


def _quantiles(values: FloatArray, weights: FloatArray, bins: int) -> FloatArray:
    """Inverse of the weighted distribution function, so that a weight of 2 equals a row twice."""
    present = ~np.isnan(values)
    order = np.argsort(values[present], kind="stable")
    heights = np.cumsum(weights[present][order])
    targets = heights[-1] * np.arange(1, bins) / bins
    return np.unique(values[present][order][np.searchsorted(heights, targets)])


def _place(values: FloatArray, cuts: FloatArray) -> IntArray:
    return np.where(np.isnan(values), len(cuts) + 1, np.searchsorted(cuts, values))


def _renumber(keys: IntArray) -> tuple[IntArray, int]:
    values, numbers = np.unique(keys, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), len(values)
