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
from shoal.design import joint_cells
from shoal.domain import Axis
from shoal.domain.bins import midpoints, quantiles
from shoal.schema import Role
from shoal.utility.tables import Both

__all__ = ["MOST_VALUES", "Cells", "cells_of", "counts", "grid", "joint", "shares"]

MOST_VALUES = 50
"""A numeric column with more distinct values in the original is cut into bins."""


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
    if column.coding.levels is not None:
        original, released = column.original.astype(np.int64), column.released.astype(np.int64)
        size = column.coding.axis.size
        return Cells(name=column.name, role=column.role, original=original, released=released, size=size)
    values = np.unique(column.original[~np.isnan(column.original)])
    binned = len(values) > most_values
    axis = Axis.cut(column.name, quantiles(column.original, weights, bins) if binned else midpoints(values))
    return Cells(
        name=column.name,
        role=column.role,
        original=axis.bins(column.original),
        released=axis.bins(column.released),
        size=axis.size,
        binned=binned,
    )


def joint(columns: Sequence[Cells]) -> Cells:
    """The combinations of cells that occur in either table, numbered from 0."""
    tables = [np.column_stack([c.original for c in columns]), np.column_stack([c.released for c in columns])]
    (original, released), size = joint_cells(tables)
    return Cells(name="joint", role="quasi", original=original, released=released, size=size)


def counts(cells: IntArray, size: int, weights: FloatArray) -> FloatArray:
    """The weight in each cell."""
    return np.bincount(cells, weights=weights, minlength=size).astype(np.float64, copy=False)


def shares(cells: IntArray, size: int, weights: FloatArray) -> FloatArray:
    """The share of the weight in each cell."""
    return counts(cells, size, weights) / float(weights.sum())
