"""Levels and ranges that are read from the data.

What is learnt here tells of the people it was learnt from: it carries no claim of differential privacy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.domain.declared import numbers_of
from shoal.errors import ColumnError
from shoal.schema import Column
from shoal.value import canonical

__all__ = ["learn_levels", "learn_range"]


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
        raise ColumnError(content.name, "has no numbers to compute a range from")
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)
