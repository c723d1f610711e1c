"""Types of delimited text, told from every cell of a column.

A column gets a type only if each of its cells is a plain writing of that type, so that no digit is lost: codes with
leading zeros, numbers of more digits than a float holds, and ``NA`` are text. A decimal comma is told from the whole
file: no column may be of numbers with a point. Three digits after a comma alone prove nothing (``1,234``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import polars as pl

__all__ = ["NUMBER", "decimal_mark", "typed", "without_nan"]

_INTEGER = r"^-?(?:0|[1-9][0-9]{0,18})$"
# Whole numbers of more than 15 digits would lose digits as floats; 1E50 is a code of ICD-11, 1E+50 is a number.
NUMBER = (
    r"^-?(?:(?:0|[1-9][0-9]{0,14})|(?:0|[1-9][0-9]*)?\.[0-9]+|(?:0|[1-9][0-9]*)\.)"
    r"(?:e[+-]?[0-9]+|E[+-][0-9]+)?$"
)
_NOT_FINITE = r"^(?:NaN|nan|-?inf|-?Infinity)$"
_TRUTH = r"^(?:true|True|TRUE|false|False|FALSE)$"
_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_TIME = r"^[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?$"
_COMMA = r"^-?(?:0|[1-9][0-9]*)(?:,[0-9]+)?$"
_SURELY_COMMA = r"^-?0,|,(?:[0-9]{1,2}|[0-9]{4,})$"


def decimal_mark(columns: Sequence[pl.Series], delimiter: str) -> str:
    """The decimal mark of a file: a comma if it separates no cells, some column shows it and none shows a point."""
    if delimiter == ",":
        return "."
    trimmed = [_trimmed(column) for column in columns]
    comma = any(_all(cells, _COMMA) and bool(cells.str.contains(_SURELY_COMMA).any()) for cells in trimmed)
    point = any(_all(cells, NUMBER) and bool(cells.str.contains(".", literal=True).any()) for cells in trimmed)
    return "," if comma and not point else "."


def typed(cells: pl.Series, decimal: str, thousands: str | None = None) -> pl.Series:
    """Give a column of text the narrowest type that keeps every cell, or leave it as it is."""
    trimmed = _trimmed(cells)
    if trimmed.null_count() == len(trimmed):
        return cells
    if thousands is not None:
        trimmed = _ungrouped(trimmed, decimal, thousands)
    for read in (_integers, _floats(decimal), _truths, _dates, _moments, _times):
        column = read(trimmed)
        if column is not None and column.null_count() == trimmed.null_count():
            return column
    return cells


def _trimmed(cells: pl.Series) -> pl.Series:
    trimmed = cells.str.strip_chars(" \t")
    return trimmed.set(trimmed == "", None)


def _ungrouped(cells: pl.Series, decimal: str, thousands: str) -> pl.Series:
    """Numbers without their thousands marks, if every cell is a number and its marks stand where they belong."""
    mark, point = re.escape(thousands), re.escape(decimal)
    number = rf"^-?(?:[0-9]+|[1-9][0-9]{{0,2}}(?:{mark}[0-9]{{3}})+)(?:{point}[0-9]+)?$"
    return cells.str.replace_all(thousands, "", literal=True) if _all(cells, number) else cells


def without_nan(frame: pl.DataFrame) -> pl.DataFrame:
    """Make NaN null: outside of programs there is one way to be missing."""
    return frame.with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None))


def _all(cells: pl.Series, pattern: str) -> bool:
    # The first cells settle most columns of text.
    return all(bool(part.str.contains(pattern).all()) for part in (cells.head(64), cells))


def _integers(cells: pl.Series) -> pl.Series | None:
    return cells.cast(pl.Int64, strict=False) if _all(cells, _INTEGER) else None


def _floats(decimal: str) -> Callable[[pl.Series], pl.Series | None]:
    def read(cells: pl.Series) -> pl.Series | None:
        if decimal == ",":
            if cells.str.contains(".", literal=True).any():
                return None
            cells = cells.str.replace(",", ".", literal=True)
        if not _all(cells, f"{NUMBER}|{_NOT_FINITE}") or not cells.str.contains(NUMBER).any():
            return None
        numbers = cells.cast(pl.Float64, strict=False)
        too_big = numbers.is_infinite() & cells.str.contains("[0-9]")
        return None if too_big.any() else numbers

    return read


def _truths(cells: pl.Series) -> pl.Series | None:
    return cells.str.to_lowercase() == "true" if _all(cells, _TRUTH) else None


def _dates(cells: pl.Series) -> pl.Series | None:
    return cells.str.to_date("%Y-%m-%d", strict=False) if _all(cells, _DATE) else None


def _moments(cells: pl.Series) -> pl.Series | None:
    """Moments; where all of them are marked as universal time (Z), they stay in it."""
    universal = _all(cells, f"{_MOMENT}Z$")
    if not universal and not _all(cells, f"{_MOMENT}$"):
        return None
    cells = cells.str.strip_suffix("Z")
    return cells.str.replace("T", " ").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)


def _times(cells: pl.Series) -> pl.Series | None:
    return cells.str.to_time("%H:%M:%S%.f", strict=False) if _all(cells, _TIME) else None
