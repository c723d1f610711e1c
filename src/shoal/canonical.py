"""One form for a table, whatever it came in: plain types, rows in the order of their content.

What a release shows must not tell how the input was kept. Whether a whole number came as 1 or as 1.0, a text as a
category with unused levels, and which row came first, depends on files and on people who are not in the release. So
every run works on this form, and every file is written from it: an equal table gives an equal release.

- categories are texts; whole numbers are 64-bit integers, even where they came as floats; other numbers 64-bit floats,
  decimals too where nothing is lost by it; times that are all midnights are days, others are counted in microseconds,
  where that is enough;
- rows are sorted by what they hold. Rows that hold the same can't be told apart, so their order doesn't matter.

Cost: O(n log n) for the sort.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import LARGEST_KEY, IntArray
from shoal.conform import Prepared
from shoal.errors import ColumnError
from shoal.frame import Frame, adopt, pick, series, with_columns
from shoal.schema import Column

__all__ = ["as_declared", "canonical", "plain", "retyped"]

_EXACT = 2**53  # whole numbers up to it are exact as floats
_FEW_TEXTS = 2**16


def canonical(prepared: Prepared) -> Prepared:
    """The same records in plain types, sorted by what they hold."""
    columns = _readable(prepared)
    order = _order(list(columns.values()), prepared.n)
    typed = {name: adopt(column, prepared.frame) for name, column in columns.items()}
    frame = pick(with_columns(prepared.frame, typed), order)
    return replace(prepared, frame=frame, rows=prepared.rows[order])


def plain(column: pl.Series) -> pl.Series:
    """A column in its plain type: what it holds decides, not how it was kept."""
    dtype = column.dtype
    if dtype in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if dtype.is_float():
        wide = column.cast(pl.Float64).fill_nan(None)
        return wide.cast(pl.Int64) if _is_whole(wide) else wide
    if dtype.is_integer():
        wide = column.cast(pl.Int64, strict=False)
        return wide if wide.null_count() == column.null_count() else column
    if dtype.is_decimal():
        return _where_same(column, plain(column.cast(pl.Float64)))
    if isinstance(dtype, pl.Datetime):
        return _plain_time(column, dtype)
    return column


def _plain_time(column: pl.Series, dtype: pl.Datetime) -> pl.Series:
    """Days are days, even where they came as midnights; times are counted in microseconds."""
    time = _where_same(column, column.cast(pl.Datetime("us", dtype.time_zone)))
    is_day = dtype.time_zone is None and len(column.drop_nulls())
    return _where_same(time, column.cast(pl.Date)) if is_day else time


def _where_same(column: pl.Series, other: pl.Series) -> pl.Series:
    """The `other` form of a column if nothing is lost by it, else the column."""
    try:
        return other if other.cast(column.dtype).equals(column) else column
    except pl.exceptions.PolarsError:
        return column


def retyped(frame: Frame, like: Frame) -> Frame:
    """`frame` in the types of `like`, column by column, where nothing is lost by it."""
    types, wanted = frame.schema, like.schema
    differing = [name for name in types if name in wanted and types[name] != wanted[name]]
    changed = {name: _retyped(frame, like, name) for name in differing}
    return with_columns(frame, {name: column for name, column in changed.items() if column is not None})


def _readable(prepared: Prepared) -> dict[str, pl.Series]:
    """Every column but removed identifiers, by role; one of mixed types, which nothing reads, is left out."""
    columns = {}
    for role in ("quasi", "sensitive", "weight", "time", "other", "unit", "household", "identifier"):
        for column in prepared.schema.columns:
            if column.role == role and (role != "identifier" or column.pseudonym):
                with suppress(ColumnError):
                    columns[column.name] = as_declared(series(prepared.frame, column.name), column)
    return columns


def as_declared(content: pl.Series, column: Column) -> pl.Series:
    """The plain type of a prepared column; whole numbers among levels that are not all whole stay floats, as these."""
    content = plain(content)
    broken = any(isinstance(level, float) and not level.is_integer() for level in column.levels or ())
    return content.cast(pl.Float64) if broken and content.dtype.is_integer() else content


def _order(columns: list[pl.Series], n: int) -> IntArray:
    if not columns:
        return np.arange(n)
    key = _sort_key(columns)
    if key is not None:
        return np.asarray(key.arg_sort(), dtype=np.int64)
    table = pl.DataFrame(columns)
    return np.asarray(table.select(pl.arg_sort_by(table.columns, nulls_last=True)).to_series(), dtype=np.int64)


def _sort_key(columns: list[pl.Series]) -> pl.Series | None:
    """One whole number for each row, in the order of the rows, missing last; None where 62 bits are not enough.

    Sorting by it takes a fifth of the time.
    """
    key, span = pl.zeros(len(columns[0]), dtype=pl.Int64, eager=True), 1
    for column in columns:
        places = _places(column)
        if places is None:
            return None
        n = int(places.max() or 0) + 2  # type: ignore[arg-type]
        span *= n
        if span >= LARGEST_KEY:
            return None
        key = key * n + places.cast(pl.Int64).fill_null(n - 1)
    return key


def _places(column: pl.Series) -> pl.Series | None:
    """Whole numbers from 0 in the order of a column; None where that takes longer than it saves."""
    if column.dtype == pl.Enum:
        return column.to_physical()
    if column.dtype == pl.String:
        known = column.drop_nulls().unique()
        return column.cast(pl.Enum(known.sort())).to_physical() if len(known) <= _FEW_TEXTS else None
    if column.dtype in (pl.Int64, pl.Date, pl.Boolean):
        numbers = column.to_physical().cast(pl.Int64)
        low, high = (int(end or 0) for end in (numbers.min(), numbers.max()))  # type: ignore[arg-type]
        return numbers - low if high - low < LARGEST_KEY else None
    return None


def _is_whole(column: pl.Series) -> bool:
    values = column.drop_nulls().to_numpy()
    return bool(len(values) and np.all(np.abs(values) <= _EXACT) and np.all(values == np.round(values)))


def _retyped(frame: Frame, like: Frame, name: str) -> Any:
    now, target = frame.schema[name], like.schema[name]
    if now.is_float() and target.is_integer():
        return None
    try:
        cast = frame[name].cast(target)
    except Exception:  # the library's message may quote cells
        return None
    if target.is_decimal() and not (cast.cast(now) == frame[name]).fill_null(True).all():
        return None  # a mean of prices may have more decimals than a price
    return cast if cast.null_count() == frame[name].null_count() else None
