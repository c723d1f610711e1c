"""A number or a reason: numeric columns in which some values stand for an absence.

−8 may mean "not applicable", "N" the same, an empty cell that nobody knows. None of them is a number, and they differ
from each other. A table that is prepared holds such a column as numbers throughout (`Column.reasons`): a code that is a
number stands for itself, a text for a number far below all others, an empty cell is missing. A column of dates or codes
holds both as texts, codes behind all dates. `coded` brings a column
into this form, `written` back into its own; `numbers` gives the numbers alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray
from shoal.domain.declared import floats, numbers_of
from shoal.errors import ColumnError
from shoal.schema import Column, Level
from shoal.value import canonical, codes_of, same_as, text_of

__all__ = ["bare", "coded", "kept_codes", "numbers", "stands_for_absence", "written"]


def coded(content: pl.Series, column: Column) -> pl.Series:
    """The column as numbers, its codes among them.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.domain.absence import coded
    >>> from shoal.schema import Column
    >>> income = Column(name="income", role="quasi", kind="numeric", missing_codes={"N": "not applicable"})
    >>> coded(pl.Series("income", ["1200", "N", None]), income).to_list()
    [1200, -1000000000000000, None]
    """
    if not column.reasons or content.dtype.is_numeric() or content.dtype in (pl.Boolean, pl.Null):
        return content
    texts = content.cast(pl.String)
    place = codes_of(texts, pl.Series([text_of(code) for code in column.reasons.values()], dtype=pl.String))
    is_code = (place >= 0) & (place < len(column.reasons))
    try:
        values = numbers_of(texts.set(pl.Series(is_code), None))
    except ColumnError as error:
        raise ColumnError(
            column.name,
            error.rule,
            got=error.got,
            hint="List the values that stand for an absence under missing_codes, or declare it ordinal or nominal.",
        ) from None
    values[is_code] = np.array(list(column.reasons))[place[is_code]]
    read = pl.Series(column.name, values).fill_nan(None)
    whole = bool(np.all(np.isnan(values) | (values == np.round(values))))
    return read.cast(pl.Int64) if whole else read


def written(content: pl.Series, column: Column) -> pl.Series:
    """A column of numbers with its codes as they came: as texts, where one of them is a text."""
    codes = column.reasons
    if not content.dtype.is_numeric() or not any(isinstance(code, str) for code in codes.values()):
        return content
    is_code = np.isin(floats(content), list(codes))
    texts = canonical(content.cast(pl.Float64))
    names = pl.Series(list(codes), dtype=pl.Float64), pl.Series([text_of(code) for code in codes.values()])
    own = content.cast(pl.Float64).replace_strict(*names, default=None, return_dtype=pl.String)
    return texts.zip_with(~pl.Series(is_code), own).alias(content.name)


def stands_for_absence(content: pl.Series, column: Column) -> BoolArray:
    """Which cells of a prepared column hold no number: they are empty, or hold a code."""
    if content.dtype.is_numeric() and column.reasons:
        return np.isnan(numbers(content, column))
    return np.asarray(content.is_null().to_numpy(), dtype=np.bool_)


def numbers(content: pl.Series, column: Column) -> FloatArray:
    """The numbers of a prepared column; NaN where one is absent, for whatever reason."""
    values = floats(content)
    return np.where(np.isin(values, list(column.reasons)), np.nan, values) if column.reasons else values


def kept_codes(column: Column) -> dict[Any, Level]:
    """The values of a prepared column that stand for an absence, as it holds them, and how each is written."""
    ordered = column.kind == "ordinal" or bool(column.date_codes)
    return column.reasons or ({text_of(code): code for code in column.absences} if ordered else {})


def bare(content: pl.Series, column: Column) -> pl.Series:
    """A prepared column with its codes as missing values; one of dates or codes is one of dates then.

    Codes of a nominal column are levels like any other and stay.
    """
    if column.kind == "ordinal" and column.absences and not column.date_codes:
        return content.set(pl.Series(same_as(content, column.absences)), None)
    if column.date_codes and content.dtype == pl.String:
        left = content.set(content.is_in(list(kept_codes(column))), None)
        dates = left.str.to_date("%Y-%m-%d", strict=False)
        return dates if dates.null_count() == left.null_count() else left  # times of day stay texts
    if not column.reasons or not content.dtype.is_numeric():
        return content
    return content.set(pl.Series(np.isin(floats(content), list(column.reasons))), None)
