"""The one door to dataframes: any of them in, the same type out.

pandas, Polars (eager and lazy), PyArrow tables and DuckDB relations come in as an eager narwhals frame (`enter`)
and leave as what they were (`leave`). Columns are looked at as Polars series, whatever the frame is made of.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import narwhals as nw
import polars as pl

from shoal.arrays import AnyArray, IntArray
from shoal.errors import ColumnError, InputError
from shoal.extras import need

__all__ = ["Backend", "Frame", "adopt", "as_text", "converted", "enter", "leave", "pick", "series", "with_columns"]

Frame: TypeAlias = nw.DataFrame[Any]
Backend: TypeAlias = Literal["polars", "lazy", "pandas", "pyarrow", "duckdb", "narwhals"]


def enter(table: Any, *, owner: str = "table") -> Frame:
    """Take any dataframe as an eager narwhals frame with unique text column names and no index.

    A frame that has already entered passes unchanged. A pandas index is left outside: it is no column.
    """
    if isinstance(table, nw.DataFrame):
        return table
    frame = _adopt(table, owner)
    if not frame.implementation.is_polars():
        need("pyarrow", owner, otherwise="Or give a Polars frame.")
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    _check_names(frame.columns, owner)
    return nw.maybe_reset_index(frame)


def leave(frame: Frame, *, like: Any) -> Any:
    """Give `frame` back as the type of dataframe that `like` is."""
    native = _without_traces(frame.to_native())
    if isinstance(like, nw.DataFrame):
        return frame
    if isinstance(like, pl.LazyFrame):
        return native.lazy()
    if type(like).__module__.split(".")[0] in ("duckdb", "_duckdb"):
        import duckdb

        return duckdb.from_arrow(native)
    return native


def converted(frame: pl.DataFrame, *, like: Any) -> Any:
    """A Polars frame as the type of dataframe that `like` is."""
    kind = enter(like).implementation
    if kind.is_pandas():
        return frame.to_pandas()
    if kind.is_pyarrow():
        return leave(nw.from_native(frame.to_arrow(), eager_only=True), like=like)
    return leave(nw.from_native(frame, eager_only=True), like=like)


def _without_traces(native: Any) -> Any:
    """No category that no row has (it may be a left-out person's), and no metadata of the input."""
    if hasattr(native, "replace_schema_metadata"):
        return native.replace_schema_metadata(None)
    if type(native).__module__.startswith("pandas"):
        kept = {
            name: native[name].cat.remove_unused_categories()
            for name, dtype in native.dtypes.items()
            if getattr(dtype, "name", "") == "category"
        }
        return native.assign(**kept) if kept else native
    return native


def series(frame: Frame, name: str) -> pl.Series:
    """Look at one column as a Polars series, NaN as null; a column of mixed types is an error that names it."""
    try:
        column = frame[name].to_polars()
    except Exception:  # the library's message quotes cells, so it must not be shown
        raise _mixed(name) from None
    if column.dtype == pl.Object or column.dtype.is_nested():
        raise _mixed(name)
    return (column.fill_nan(None) if column.dtype.is_float() else column).alias(name)


def as_text(column: pl.Series) -> pl.Series:
    """Categories as the texts they are; other columns as they are."""
    return column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column


def pick(frame: Frame, rows: IntArray) -> Frame:
    """The rows at the positions `rows`, in that order, with no trace of where they came from."""
    return nw.maybe_reset_index(frame[rows])


def with_columns(frame: Frame, columns: Mapping[str, AnyArray | nw.Series[Any]]) -> Frame:
    """Put `columns` in the place of those of the same names, or after the last one."""
    backend = frame.implementation
    made = [
        column.alias(name) if isinstance(column, nw.Series) else nw.new_series(name, column, backend=backend)
        for name, column in columns.items()
    ]
    return frame.with_columns(*made) if made else frame


def adopt(column: pl.Series, like: Frame) -> nw.Series[Any]:
    """A Polars series as a column that `like` can take."""
    if like.implementation.is_pandas():
        return nw.from_native(column.to_pandas(), series_only=True)
    if like.implementation.is_pyarrow():
        import pyarrow as pa

        return nw.from_native(pa.chunked_array([column.to_arrow()]), series_only=True)
    return nw.from_native(column, series_only=True)


def _adopt(table: Any, owner: str) -> Any:
    try:
        return nw.from_native(table)
    except nw.exceptions.DuplicateError:
        raise InputError(owner, "column names must be unique", hint="Rename the repeated columns.") from None
    except TypeError:
        raise InputError(
            owner,
            "must be a pandas, Polars or PyArrow table or a DuckDB relation",
            got=type(table).__name__,
            hint="A file is read with shoal.read_table(path).",
        ) from None


def _check_names(names: list[str], owner: str) -> None:
    if not names:
        raise InputError(owner, "must have at least one column")
    if not all(isinstance(name, str) and name for name in names):
        raise InputError(owner, "column names must be non-empty strings", hint="Rename the columns first.")
    if len(set(names)) < len(names):
        raise InputError(owner, "column names must be unique", hint="Rename the repeated columns.")


def _mixed(name: str) -> ColumnError:
    return ColumnError(
        name,
        "must hold values of one simple type (numbers, text, dates or true/false)",
        got="a mix of types",
        hint="Convert the column to one type first.",
    )
