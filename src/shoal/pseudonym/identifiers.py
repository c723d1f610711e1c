"""Identifiers in the one spelling that a pseudonym is made from.

7, "7" and "07" are three identifiers, and " 7" is refused, as nobody knows which of them it is. Missing stays
missing: a pseudonym for "nobody" would make one huge person.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import TypeVar

import polars as pl

from shoal.errors import ColumnError

__all__ = ["each_identifier"]

Value = TypeVar("Value")


def each_identifier(
    column: pl.Series, make: Callable[[str | int], Value], *, as_text: bool = False
) -> tuple[pl.Series, dict[str | int, Value]]:
    """The identifiers of a column, and what `make` gives for each distinct one; missing ones are left out."""
    spelled = _spelled(column)
    if as_text and spelled.dtype != pl.String:
        spelled = spelled.cast(pl.String)
    return spelled, {one: make(one) for one in spelled.drop_nulls().unique(maintain_order=True).to_list()}


def _spelled(column: pl.Series) -> pl.Series:
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        return _checked_texts(column)
    if column.dtype == pl.Null:
        return column.cast(pl.String)
    if column.dtype.is_float():
        return _whole(column)
    if not column.dtype.is_integer():
        raise ColumnError(
            column.name, "holds identifiers, which must be whole numbers or texts", got=f"type {column.dtype}"
        )
    return column


def _checked_texts(column: pl.Series) -> pl.Series:
    texts = column.drop_nulls().unique().to_list()
    wrong = sum(not one or one != one.strip() or not unicodedata.is_normalized("NFC", one) for one in texts)
    if wrong:
        raise ColumnError(
            column.name,
            "holds identifiers, which must be texts without blanks at their ends, in Unicode's composed form",
            got=f"{wrong} others",
            hint="Correct their spelling: two spellings would be two persons.",
        )
    return column


def _whole(column: pl.Series) -> pl.Series:
    """Whole numbers that came as floats, as they do beside missing ones."""
    column = column.fill_nan(None)
    known = column.drop_nulls()
    if not (known.is_finite() & (known.abs() <= 2**53) & (known == known.round())).all():
        raise ColumnError(column.name, "holds identifiers, which must be whole numbers or texts", got="fractions")
    return column.cast(pl.Int64)
