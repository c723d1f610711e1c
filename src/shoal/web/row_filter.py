"""Rows of an opened table that have a value in a column: to look at, inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shoal.errors import InputError
from shoal.web.inspect import PREVIEW_ROWS, Opened, texts_of
from shoal.web.table_reading import copy_place

if TYPE_CHECKING:
    import polars as pl

__all__ = ["rows_with"]


def rows_with(opened: Opened, table: str, column: str, value: str, shown: Sequence[str]) -> tuple[int, list[list[str]]]:
    """How many rows have `value` in `column`, and the first of them as texts, of the columns `shown`.

    A number is looked for as such; of texts and dates those that contain `value`, in capitals or not.
    """
    import polars as pl

    place = copy_place(opened, table)
    if place is None or not place.is_file():
        raise InputError(opened.name, "has no copy here any more", hint="Open it again.")
    names = list(dict.fromkeys([*shown, column]))
    frame = pl.read_ipc(Path(place), columns=names)
    if column not in frame.columns:
        raise InputError("rows", "must be looked for in a column of the table")
    found = frame.filter(_has(frame.schema[column], column, value.strip()))
    return len(found), texts_of(found.select(shown).head(PREVIEW_ROWS))


def _has(dtype: pl.DataType, column: str, value: str) -> pl.Expr:
    import polars as pl

    if dtype.is_integer() and value.removeprefix("-").isdecimal():  # as texts: floats end at 2^53, and types before
        return pl.col(column).cast(pl.String) == str(int(value))
    if dtype.is_numeric():
        try:
            return pl.col(column) == float(value)
        except ValueError:
            return pl.lit(False)
    return pl.col(column).cast(pl.String).str.to_lowercase().str.contains(value.lower(), literal=True)
