"""Synthetic rows in the kind of dataframe that the data came in.

Types are those of the domain, whichever rows were drawn: where a column can have missing values, pandas gets its
nullable types (Int64, boolean), so that one missing value doesn't turn whole numbers into floats; a date is a
`datetime.date`. A model that is read from a file gives Polars frames: the file says nothing of the dataframe that the
data came in.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import narwhals as nw
import numpy as np
import polars as pl

from shoal.errors import InputError
from shoal.frame import Backend

__all__ = ["backend_of", "give"]


def backend_of(table: Any) -> Backend:
    """Which kind of dataframe `table` is."""
    if isinstance(table, nw.DataFrame):
        return "narwhals"
    if isinstance(table, pl.LazyFrame):
        return "lazy"
    module = type(table).__module__.split(".")[0].lstrip("_")
    known = {"polars", "pandas", "pyarrow", "duckdb"}
    if module not in known:
        raise InputError("table", "must be a pandas, Polars or PyArrow table or a DuckDB relation", got=module)
    return cast(Backend, module)


def give(rows: pl.DataFrame, backend: Backend, nullable: Collection[str] = ()) -> Any:
    """The rows as a dataframe of that kind; `nullable` are the columns that can have missing values."""
    if backend == "lazy":
        return rows.lazy()
    if backend == "pandas":
        return _to_pandas(rows, nullable)
    if backend == "pyarrow":
        return rows.to_arrow()
    if backend == "duckdb":
        import duckdb

        return duckdb.from_arrow(rows.to_arrow())
    return nw.from_native(rows) if backend == "narwhals" else rows


def _to_pandas(rows: pl.DataFrame, nullable: Collection[str]) -> Any:
    out = rows.to_pandas()
    for column in rows:
        if column.name in nullable and column.dtype in (pl.Int64, pl.Boolean):
            out[column.name] = _with_missing(column)
        elif column.dtype == pl.Date:  # pandas has no such type, and would write a time of day
            out[column.name] = np.array(column.to_list(), dtype=object)
    return out


def _with_missing(column: pl.Series) -> Any:
    """A column of pandas' nullable type, exact where a float would not be."""
    import pandas as pd

    whole = column.dtype == pl.Int64
    values = pd.array(column.fill_null(0 if whole else False).to_numpy(), dtype="Int64" if whole else "boolean")
    values[column.is_null().to_numpy()] = pd.NA
    return values
