"""Dates by their values, whatever a column is called: 20200213, 202005, 12252020, ``2020-05``, ``17MAR2020``.

A day has eight digits of which nearly all must make a date, in one order for the whole column; of random numbers one in
thirty does. A month has six digits (202005); numbers of that size do so in one of eight cases, so all of them must.
Days counted from some origin look like any number: they can't be told by value.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import polars as pl

__all__ = ["WRITTEN", "are_years", "packed_form", "packed_hits", "year_of", "years_among"]

_FIRST, _LAST = 1850, 2100
_MONTH = r"(?i:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_DAY = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2}))"
_WORDED = rf"(?:\d{{1,2}}[ -]?{_MONTH}[ ,-]*\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
_YEAR = r"(?:18|19|20)\d\d"
_NUMBER = r"(?:0[1-9]|1[0-2])"
_MONTHLY = (
    rf"(?:{_YEAR}[-/]{_NUMBER}|(?:{_NUMBER}|[1-9])[-/]{_YEAR}|{_MONTH}[ ,.-]*{_YEAR}|{_YEAR}[ -]?[QqWw]\d{{1,2}})"
)

WRITTEN: Mapping[str, str] = MappingProxyType(
    {
        "whole": rf"^(?:(?:{_DAY}|{_WORDED})(?:[T ].*)?|{_MONTHLY})$",
        "inside": rf"(?:^|[^\d.-])(?:{_DAY}|{_WORDED})(?:$|[^\d.-])",
    }
)
"""What a date looks like as a whole value, and within a longer text."""


def packed_form(values: pl.Series) -> str | None:
    """The order of digits in which nearly all of these different numbers (or texts of digits) are dates, if any."""
    numbers = _numbers(values)
    if numbers is None:
        return None
    for form, enough in (("YYYYMMDD", 0.95), ("YYYYMM", 1.0), ("MMDDYYYY", 0.95), ("DDMMYYYY", 0.95)):
        if float(_fits(numbers, form).mean() or 0.0) >= enough:  # type: ignore[arg-type]
            return form
    return None


def packed_hits(values: pl.Series) -> pl.Series:
    """Which values are dates written as one number; none if they make no column of dates."""
    form, numbers = packed_form(values), _numbers(values)
    if form is None or numbers is None:
        return pl.Series([False]).new_from_index(0, len(values))
    return _fits(numbers, form).fill_null(False)


def year_of(column: pl.Series) -> pl.Series:
    """The year of each date; a date in a form that isn't known becomes missing."""
    if column.dtype.is_temporal():
        return column.dt.year().cast(pl.Int64)
    form, numbers = packed_form(column.drop_nulls().unique()), _numbers(column)
    if form is not None and numbers is not None:
        years = _year(numbers, form)
        return years.set(~_fits(numbers, form).fill_null(True), None)
    if column.dtype.is_numeric():
        whole = column.cast(pl.Int64)
        return whole.set(~whole.is_between(_FIRST, _LAST).fill_null(True), None)
    four = column.cast(pl.String).str.extract(rf"(?:^|[^\d])({_YEAR})(?:\D|$)|[A-Za-z]({_YEAR})$", 1)
    glued = column.cast(pl.String).str.extract(rf"[A-Za-z]({_YEAR})$", 1)
    return pl.select(pl.coalesce(four, glued)).to_series().cast(pl.Int64, strict=False)


def are_years(values: pl.Series) -> bool:
    """Whether these are years, or ranges and sets of years, which may stay, rather than days or months."""
    return bool(years_among(values).all())


def years_among(values: pl.Series) -> pl.Series:
    """Which values are years, or ranges and sets of years."""
    if values.dtype.is_numeric():
        return values.is_between(_FIRST, _LAST)
    return values.cast(pl.String).str.contains(_YEARS)


_YEAR = r"(?:1[89]|2[01])\d\d"
_YEARS = (
    rf"^\d{{4}}$|^\*$|^{_YEAR}(?:-| to <?){_YEAR}(?: or missing)?$|^\{{{_YEAR}(?:, {_YEAR})*\}}(?: or missing)?$"
    rf"|^<{_YEAR}$|^{_YEAR}\+$|^missing$"
)
"""A year; intervals and sets of years, as coarseners write them."""


def _numbers(values: pl.Series) -> pl.Series | None:
    """Whole numbers, or texts of six to eight digits, as numbers; None where they are something else."""
    known = values.drop_nulls()
    if not len(known) or known.dtype == pl.Boolean:
        return None
    if values.dtype.is_integer():
        return values.cast(pl.Int64)
    if values.dtype.is_float():
        return values.cast(pl.Int64, strict=False) if bool((known == known.round()).all()) else None
    if values.dtype == pl.String and bool(known.str.contains(r"^\d{6,8}$").all()):
        return values.cast(pl.Int64)
    return None


def _fits(numbers: pl.Series, form: str) -> pl.Series:
    months = numbers.is_between(_FIRST * 100, _LAST * 100 + 12) & (numbers % 100).is_between(1, 12)
    if form == "YYYYMM":
        return months
    if form == "YYYYMMDD":
        return _is_day(numbers // 100 % 100, numbers % 100) & (numbers // 10000).is_between(_FIRST, _LAST)
    first, second = numbers // 1_000_000, numbers // 10_000 % 100
    month, day = (first, second) if form == "MMDDYYYY" else (second, first)
    return _is_day(month, day) & (numbers % 10_000).is_between(_FIRST, _LAST)


def _is_day(month: pl.Series, day: pl.Series) -> pl.Series:
    return month.is_between(1, 12) & day.is_between(1, 31)


def _year(numbers: pl.Series, form: str) -> pl.Series:
    return numbers % 10_000 if form.endswith("YYYY") else numbers // (10_000 if form == "YYYYMMDD" else 100)
