"""Levels, ranges and cuts that are read from the data, and bins of equal width within public bounds.

What is learnt here tells of the people it was learnt from: it carries no claim of differential privacy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.arrays import FloatArray
from shoal.domain.values import canonical, numbers_of
from shoal.errors import ColumnError
from shoal.schema import Column

__all__ = ["equal_edges", "learn_levels", "learn_range", "midpoints", "quantiles"]


def learn_levels(contents: Sequence[pl.Series], column: Column) -> pl.Series:
    """The levels that occur, sorted: numbers by size, an ordinal column by its own order, all else as texts.

    Where types differ between tables, the levels are texts that agree between them.
    """
    found = [content.drop_nulls() for content in contents]
    if len(found) > 1:
        found = _of_one_type(found)
    levels = pl.concat(found).unique()
    if levels.dtype in (pl.Categorical, pl.Enum) and column.kind != "ordinal":
        return levels.gather(levels.cast(pl.String).arg_sort())
    return levels.sort()


def _of_one_type(contents: list[pl.Series]) -> list[pl.Series]:
    types = {content.dtype for content in contents}
    if all(kind.is_numeric() for kind in types):
        return [content.cast(pl.Float64) for content in contents]
    return contents if len(types) == 1 and pl.Categorical not in types else [canonical(c) for c in contents]


def learn_range(content: pl.Series) -> tuple[float, float]:
    """The least and the largest number, or a range around a single one."""
    values = numbers_of(content)
    values = values[np.isfinite(values)]
    if len(values) == 0:
        raise ColumnError(content.name, "has no number to take a range from")
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def equal_edges(column: Column, bounds: tuple[float, float], bins: int, whole: bool) -> FloatArray:
    """The declared edges, or those of bins of equal width; whole numbers are cut between them, and no finer."""
    if column.edges is not None:
        edges = np.array(column.edges, dtype=np.float64)
        return _with_whole_numbers(edges) if whole else edges
    low, high = bounds
    if not whole:
        return np.linspace(low, high, bins + 1)
    first, last = math.ceil(low), math.floor(high)
    if first > last:
        raise ColumnError(column.name, "has bounds with no whole number between them")
    return np.linspace(first - 0.5, last + 0.5, min(bins, last - first + 1) + 1)


def _with_whole_numbers(edges: FloatArray) -> FloatArray:
    """The edges without those that would leave a bin with no whole number in it."""
    kept = [edges[0]]
    for edge in edges[1:-1]:
        if math.ceil(edge) > math.ceil(kept[-1]):
            kept.append(edge)
    while len(kept) > 1 and math.floor(edges[-1]) < math.ceil(kept[-1]):
        kept.pop()
    return np.array([*kept, edges[-1]])


def midpoints(values: FloatArray) -> FloatArray:
    """Cuts that give each of the sorted `values` a bin of its own."""
    middle: FloatArray = values[:-1] / 2 + values[1:] / 2
    return middle


def quantiles(values: FloatArray, weights: FloatArray, bins: int) -> FloatArray:
    """Where the weighted distribution function passes 1/bins, 2/bins and so on: a weight of 2 equals a row twice."""
    present = ~np.isnan(values)
    order = np.argsort(values[present], kind="stable")
    heights = np.cumsum(weights[present][order])
    targets = heights[-1] * np.arange(1, bins) / bins
    return np.unique(values[present][order][np.searchsorted(heights, targets)])
