"""Dates by their values, whatever a column is called, and by its name where values alone don't tell.

`read_dates` reads the different values of a column: texts by `shoal.schema.judgement.date_texts` (17 May 2020 in some
fifty languages, ISO weeks, HL7 moments), numbers by `shoal.schema.judgement.date_numbers` (digits of a date, days and
seconds from the origins that programs use). A reading says in which form the values are dates, which of them are, how
sure that is, and the year of each, so that a rule may write the year.

Where no year is told (Fri 18 August) the reading says so, and where it can't be told for certain, too (a number of
seconds from 1970 or 1960; 10/11/12): a rule suppresses the one and asks about the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Literal, TypeAlias

import polars as pl

from shoal.schema.evidence import words_in
from shoal.schema.judgement.date_numbers import as_numbers, read_numbers
from shoal.schema.judgement.date_texts import FORMS, read_texts, year_within
from shoal.schema.judgement.date_words import folded
from shoal.schema.name_words import QUASI, SENSITIVE

__all__ = [
    "DateReading",
    "Years",
    "are_years",
    "read_dates",
    "single_years",
    "speak_of_dates",
    "speaks_of_date",
    "year_numbers",
    "years_among",
]

Years: TypeAlias = Literal["told", "none", "unclear"]
"""Whether a form shows the year, shows none, or shows numbers of which nobody can say that they are the year."""

_FIRST, _LAST = 1850, 2100
_PROVED = 0.01  # of the cells, of which each alone proves that it is a date
_WEAK, _NAMED = 0.9, 0.5  # of the different values, that must fit otherwise
_LATE_IN_THE_YEAR = 300
_NO_ACCIDENT, _RARE = 1e-4, 0.05  # the chance that a column, or a value, is of such a form by accident


@dataclass(frozen=True, slots=True, kw_only=True)
class DateReading:
    """How a column's values are dates.

    Parameters
    ----------
    form
        In words, how they are written.
    values, fits, years_of_values
        The different values, which of them are dates, and the year of each, missing where it isn't told.
    sure
        Whether they are dates for certain; otherwise a person must say.
    years
        Whether the form tells the year.
    """

    form: str
    values: pl.Series
    fits: pl.Series
    years_of_values: pl.Series
    sure: bool
    years: Years

    def year_of(self, column: pl.Series) -> pl.Series:
        """The year of each cell of the column that was read; missing where it isn't told."""
        if column.dtype.is_temporal():
            return column.dt.year().cast(pl.Int64)
        known = pl.DataFrame({"value": self.values, "year": self.years_of_values.cast(pl.Int64)})
        cells = pl.DataFrame({"value": column.cast(self.values.dtype)})
        return cells.join(known, on="value", how="left", maintain_order="left")["year"].alias(column.name)


def read_dates(name: str, distinct: pl.DataFrame, *, year: int | None = None) -> DateReading | None:
    """Read a column's different values as dates; None if they are none.

    Parameters
    ----------
    name
        The column's name.
    distinct
        Its different values (``value``), without missing ones and codes for an absence, with their rows (``count``).
    year
        The year of the data; years of two digits lie no later than it, or than this year.

    Notes
    -----
    Years alone are no dates. Cost: some microseconds for each different text; numbers next to nothing.

    Examples
    --------
    >>> import polars as pl
    >>> seen = pl.DataFrame({"value": ["10. April 2020", "18 mars 2023"], "count": [3, 4]})
    >>> read = read_dates("x7", seen)
    >>> read.form, read.sure, read.years_of_values.to_list()
    ('day, month in words, year', True, [2020, 2023])
    """
    values = distinct["value"]
    if not len(values) or values.dtype in (pl.Boolean, pl.Time, pl.Duration):
        return None
    if values.dtype.is_temporal():
        every = pl.repeat(True, len(values), eager=True)
        return _reading("dates by type", values, every, values.dt.year().cast(pl.Int32), sure=True)
    if values.dtype not in (pl.String, pl.Categorical, pl.Enum) and not values.dtype.is_numeric():
        return None
    named, latest = speaks_of_date(name), year or datetime.now(UTC).year
    texts = None if values.dtype.is_numeric() else folded(values.cast(pl.String))
    if are_years(values if texts is None else texts):
        return None
    numbers = values if texts is None else texts.str.strip_chars("' ")
    if as_numbers(numbers) is not None:
        read = read_numbers(numbers, named=named, vetoed=_speaks_of_amounts(name))
        if read is not None:
            years = _of_four(read.years, latest) if read.short else read.years
            return _reading(read.form, values, read.fits, years, sure=read.sure)
    return None if texts is None else _read_texts(values, texts, distinct["count"], latest, named=named)


def _read_texts(
    values: pl.Series, texts: pl.Series, count: pl.Series, latest: int, *, named: bool
) -> DateReading | None:
    read = read_texts(texts)
    form, n = read["form"], int(count.sum())
    has_form = form.is_not_null()
    fits = has_form | read["within"]
    if not fits.any():
        return None
    accident = pl.Series([one.accident for one in FORMS]).gather(form.fill_null(0)).set(~has_form, None)
    proved = (accident == 0).fill_null(False) | read["within"]
    weak = has_form & ~proved
    sure = int(count.filter(proved).sum()) > _PROVED * n
    like = float(fits.sum()) / max(1, int(read["text"].str.contains(r"\d|M").sum()))
    if not sure:
        chance = float(accident.drop_nulls().max() or 1.0)  # type: ignore[arg-type]
        if like < (_NAMED if named or chance < _RARE else _WEAK):
            return None
        sure = named or chance ** int(weak.sum()) < _NO_ACCIDENT
        sure = sure and not _are_seasons(texts) and not _are_running_numbers(texts)
    elif like < _WEAK:
        fits = proved
    years = pl.select(pl.when(read["short"]).then(_of_four(read["year"], latest)).otherwise(read["year"])).to_series()
    years = pl.select(pl.coalesce(years, pl.when(read["within"]).then(year_within(texts)))).to_series()
    commonest = form.drop_nulls().mode().sort()
    title = FORMS[int(commonest[0])].title if len(commonest) else "dates within texts"
    return _reading(title, values, fits, years, sure=sure, told=_tells(form))


def _tells(form: pl.Series) -> bool:
    """Whether some form among them shows a year."""
    return any(FORMS[place].year != "none" for place in form.drop_nulls().unique())


def _are_seasons(texts: pl.Series) -> bool:
    """Whether all look like a year and the next: 2010-11."""
    first, second = (texts.str.extract(r"^(\d{4})[-/](\d\d)$", i).cast(pl.Int32) for i in (1, 2))
    known = first.is_not_null()
    return bool(known.any()) and bool(((first + 1) % 100 == second).filter(known).all())


def _are_running_numbers(texts: pl.Series) -> bool:
    """Whether the numbers after years may count cases rather than days: 2019-001 to 2019-060."""
    days = texts.str.extract(r"^\d{4}[-/. ](\d{3})$", 1).cast(pl.Int32).drop_nulls()
    return bool(len(days)) and not bool((days > _LATE_IN_THE_YEAR).any())


def _reading(
    form: str, values: pl.Series, fits: pl.Series, years: pl.Series, *, sure: bool, told: bool = True
) -> DateReading:
    some = years.null_count() < len(years)
    return DateReading(
        form=form,
        values=values,
        fits=fits,
        years_of_values=years.cast(pl.Int32),
        sure=sure,
        years="told" if some else "unclear" if told else "none",
    )


def _of_four(years: pl.Series, latest: int) -> pl.Series:
    """Years of four digits from those of two: the last ones that aren't later than `latest`."""
    century = latest - latest % 100
    return pl.select(pl.when(years > latest % 100).then(years + century - 100).otherwise(years + century)).to_series()


# Names


def speaks_of_date(name: str) -> bool:
    """Whether a column's name says that it holds dates, or parts of them."""
    return speak_of_dates(words_in(name))


def speak_of_dates(words: tuple[str, ...]) -> bool:
    """Whether the words of a name do: ``admit_dt`` and ``Aufnahmedatum``, but not ``update`` and ``cigs_per_day``."""
    if _PER & set(words) or "timeofday" in words or _of(words, _RATES):
        return False
    whole = any(word in _DATE or word.startswith(_DATE_STARTS) for word in words)
    return whole or any(word.endswith(_DATE_ENDS) and word not in _NO_DATES for word in words)


_DATE = frozenset(
    [
        "dob",
        "dod",
        "doa",
        "dos",
        "date",
        "dates",
        "datum",
        "dato",
        "datums",
        "fecha",
        "fechas",
        "tarih",
        "pvm",
        "dt",
        "dtm",
        "dttm",
        "datetime",
        "timestamp",
        "tstamp",
        "birthday",
        "birthdate",
        "bdate",
        "month",
        "day",
        "weekday",
        "doy",
        "yday",
        "dayofyear",
        "quarter",
        "qtr",
        "yyyymm",
        "yyyymmdd",
        "yymmdd",
        "ddmmyyyy",
        "mmddyyyy",
        "geburtstag",
        "tanggal",
    ]
)
_DATE_STARTS = ("dateof", "geburtsdat", "fechade", "datede", "paivamaar")
_DATE_ENDS = ("date", "datum", "datetime", "timestamp", "month", "fecha")
_NO_DATES = frozenset(
    ["update", "candidate", "mandate", "validate", "liquidate", "accommodate", "sedate", "permonth", "bymonth"]
)
_PER = {"per", "perday", "permonth"}
_RATES = {"a habit", "costs, payments or amounts", "income"}


@cache
def _speaks_of_amounts(name: str) -> bool:
    """Whether a column's name speaks of amounts, sizes or findings, which no number of days is."""
    return _of(words_in(name), _AMOUNTS)


def _of(words: tuple[str, ...], about: set[str]) -> bool:
    """Whether some word belongs to one of these topics."""
    topics = [topic for topic in (*SENSITIVE, *QUASI) if topic.about in about]
    return any(topic.covers(word) for topic in topics for word in words)


_AMOUNTS = {
    "costs, payments or amounts",
    "wealth or debt",
    "a finding, score or risk",
    "income",
    "body size",
    "a place",
}


# Years


def are_years(values: pl.Series) -> bool:
    """Return True if these are years, or ranges and sets of years, which may stay, rather than days or months."""
    return bool(years_among(values).all())


def single_years(values: pl.Series) -> pl.Series:
    """Which values are one year each, or 0000 and 9999, which stand for none."""
    if values.dtype.is_numeric():
        return years_among(values)
    return year_texts(values).str.contains(rf"^(?:{_YEAR}|0000|9999)$")


def years_among(values: pl.Series) -> pl.Series:
    """Which values are years, or ranges and sets of years."""
    if values.dtype.is_numeric():
        numbers = values.cast(pl.Float64)
        return numbers.is_between(_FIRST, _LAST) & (numbers == numbers.round())
    return year_texts(values).str.contains(_YEARS)


def year_texts(values: pl.Series) -> pl.Series:
    """Texts of years without blanks and apostrophes around them."""
    return folded(values.cast(pl.String)).str.strip_chars("' ")


def year_numbers(values: pl.Series) -> pl.Series:
    """The year of each value that is one, or the first of an interval or set of them."""
    if values.dtype.is_numeric():
        years = values.cast(pl.Int64, strict=False)
        return years.set(~years_among(values).fill_null(True), None)
    first = year_texts(values).str.extract(r"(\d+)", 1).cast(pl.Int64, strict=False)
    return first.set(~first.is_between(_FIRST, _LAST).fill_null(True), None)


_YEAR = r"(?:1[89]|2[01])\d\d"
_YEARS = (
    rf"^{_YEAR}$|^(?:0000|9999)$|^\*$|^{_YEAR}(?:-| to <?){_YEAR}(?: or missing)?$"
    rf"|^\{{{_YEAR}(?:, {_YEAR})*\}}(?: or missing)?$|^<{_YEAR}$|^{_YEAR}\+$|^missing$"
)
"""A year; intervals and sets of years, as coarseners write them."""
