"""The quasi-identifiers of a table as whole numbers, once for all measures that count combinations of columns."""

from __future__ import annotations

import numpy as np
import polars as pl

from shoal.arrays import BoolArray
from shoal.equivalence import Codes, codes, combine, require_columns
from shoal.errors import InputError, SchemaError
from shoal.frame import Frame, series
from shoal.schema import Schema

__all__ = ["coded_keys", "common_codes", "compact", "missing_keys", "require_keys"]


def require_keys(frame: Frame, schema: Schema) -> tuple[str, ...]:
    """The names of the quasi-identifiers, at least one, all in the table, which has rows."""
    if len(frame) == 0:
        raise InputError("table", "must have at least one row", got="0 rows")
    if not schema.quasi:
        raise SchemaError("schema", "must name at least one quasi-identifier")
    require_columns(frame.columns, schema.quasi)
    return schema.quasi


def coded_keys(frame: Frame, schema: Schema) -> tuple[Codes, ...]:
    """Each quasi-identifier as numbers from 0, all of which occur; a missing value is a level of its own."""
    return tuple(compact(codes(series(frame, name))) for name in require_keys(frame, schema))


def missing_keys(frame: Frame, schema: Schema) -> BoolArray:
    """Which quasi values are missing, by row and column."""
    return np.column_stack([series(frame, name).is_null().to_numpy() for name in schema.quasi])


def compact(column: Codes) -> Codes:
    """The same codes without the numbers that don't occur."""
    return combine([column])


def common_codes(first: pl.Series, second: pl.Series) -> tuple[Codes, Codes]:
    """One column of two tables in common numbers; numbers compare as numbers, all else as texts."""
    if first.dtype != second.dtype:
        numeric = first.dtype.is_numeric() and second.dtype.is_numeric()
        kind = pl.Float64 if numeric else pl.String
        first, second = first.cast(kind), second.cast(kind)
    elif first.dtype in (pl.Categorical, pl.Enum):
        first, second = first.cast(pl.String), second.cast(pl.String)
    both = codes(pl.concat([first.alias("key"), second.alias("key")]))
    return Codes(values=both.values[: len(first)], n=both.n), Codes(values=both.values[len(first) :], n=both.n)
