"""Types of the cells of a column: told from delimited text, and dates read as declared.

A column gets a type only if each of its cells is a plain writing of that type, so that no digit is lost: codes with
leading zeros, numbers of more digits than a float holds, and ``NA`` are text. A decimal comma is told from the whole
file: no column may be of numbers with a point. Three digits after a comma alone prove nothing (``1,234``).

Dates and times of day as people write them are read by declaration. A form is named by how it looks: ``DD.MM.YYYY``,
``MM/DD/YYYY``, ``YYYYMMDD``, ``HH:MM``. A column is read in a form only if every cell is a true date in it, so that
nothing is lost; ISO dates need no declaration. A month (``YYYYMM``) becomes its first day. Years of two digits are no
form: they don't say the century.

Durations are told apart from times of day by their form: ``[H]:MM``, ``[H]:MM:SS`` (hours may pass 24) and ISO's
``PnDTnHnMnS`` become whole numbers of seconds, and so does a column of the type duration.

Where values stand for an absence ("unknown", 99999999), a column holds dates or codes: then it becomes texts, dates as
ISO has them and each code as it came, whether or not anybody has one.

`forms_of` tells in which forms a column could be read. Day and month can't be told apart where no day is above 12;
then both forms are named, and a person must say which.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.errors import ColumnError, InputError
from shoal.value import Level, codes_of, text_of

__all__ = [
    "DURATIONS",
    "FORMS",
    "NUMBER",
    "as_dates",
    "decimal_mark",
    "forms_of",
    "in_seconds",
    "typed",
    "with_dates",
    "without_nan",
]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    """How a form looks, and how its parts become an ISO date or a time of day."""

    pattern: str
    iso: str
    time: bool = False

    def read(self, cells: pl.Series) -> pl.Series:
        """The cells as dates or times; null where a cell is none in this form."""
        matching = cells.set(~cells.str.contains(self.pattern), None).str.replace(self.pattern, self.iso)
        if self.time:
            return matching.str.to_time("%H:%M:%S", strict=False)
        days = matching.str.to_date("%Y-%m-%d", strict=False)
        return days.set(days.dt.year() < 1, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lasting:
    """How a form of durations looks, and how many seconds each of its parts has."""

    pattern: str
    seconds: tuple[int, ...]

    def read(self, cells: pl.Series) -> pl.Series:
        """The cells as seconds; null where a cell is no duration in this form."""
        parts = [
            cells.str.extract(self.pattern, place).cast(pl.Int64, strict=False).fill_null(0) * seconds
            for place, seconds in enumerate(self.seconds, start=1)
        ]
        fits = cells.str.contains(self.pattern) & cells.str.contains(r"\d")
        return pl.select(pl.when(fits).then(pl.sum_horizontal(parts))).to_series()


_DAY, _YEAR = r"(\d{1,2})", r"(\d{4})"

FORMS: Mapping[str, _Form] = {
    "YYYY-MM-DD": _Form(pattern=rf"^{_YEAR}-{_DAY}-{_DAY}$", iso="${1}-${2}-${3}"),
    "YYYY/MM/DD": _Form(pattern=rf"^{_YEAR}/{_DAY}/{_DAY}$", iso="${1}-${2}-${3}"),
    "DD.MM.YYYY": _Form(pattern=rf"^{_DAY}\.{_DAY}\.{_YEAR}$", iso="${3}-${2}-${1}"),
    "DD/MM/YYYY": _Form(pattern=rf"^{_DAY}/{_DAY}/{_YEAR}$", iso="${3}-${2}-${1}"),
    "DD-MM-YYYY": _Form(pattern=rf"^{_DAY}-{_DAY}-{_YEAR}$", iso="${3}-${2}-${1}"),
    "MM/DD/YYYY": _Form(pattern=rf"^{_DAY}/{_DAY}/{_YEAR}$", iso="${3}-${1}-${2}"),
    "MM-DD-YYYY": _Form(pattern=rf"^{_DAY}-{_DAY}-{_YEAR}$", iso="${3}-${1}-${2}"),
    "YYYYMMDD": _Form(pattern=r"^(\d{4})(\d{2})(\d{2})$", iso="${1}-${2}-${3}"),
    "YYYYMM": _Form(pattern=r"^(\d{4})(\d{2})$", iso="${1}-${2}-01"),
    "HH:MM": _Form(pattern=r"^(\d{1,2}):(\d{2})$", iso="${1}:${2}:00", time=True),
    "HH:MM:SS": _Form(pattern=r"^(\d{1,2}):(\d{2}):(\d{2})$", iso="${1}:${2}:${3}", time=True),
}


DURATIONS: Mapping[str, _Lasting] = {
    "[H]:MM": _Lasting(pattern=r"^(\d{1,6}):([0-5]\d)$", seconds=(3600, 60)),
    "[H]:MM:SS": _Lasting(pattern=r"^(\d{1,6}):([0-5]\d):([0-5]\d)$", seconds=(3600, 60, 1)),
    "PnDTnHnMnS": _Lasting(
        pattern=r"^P(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?$",
        seconds=(86400, 3600, 60, 1),
    ),
}
"""Forms of durations, which become numbers of seconds: hours may pass 24, as in the workbook's own ``[H]:MM``."""


_SMALLEST_MONTH = 100_001  # YYYYMM


def in_seconds(frame: pl.DataFrame) -> pl.DataFrame:
    """The table with columns of the type duration as seconds: whole numbers, unless a column has parts of a second."""
    return frame.with_columns(_seconds(column) for column in frame if column.dtype == pl.Duration)


def _seconds(column: pl.Series) -> pl.Series:
    parts = column.dt.total_nanoseconds() if column.dtype == pl.Duration("ns") else column.dt.total_microseconds()
    unit = 10**9 if column.dtype == pl.Duration("ns") else 10**6
    return parts // unit if (parts % unit == 0).all() else parts / unit


def with_dates(
    frame: pl.DataFrame, formats: Mapping[str, str], codes: Mapping[str, Collection[Level]] | None = None
) -> pl.DataFrame:
    """Read the columns that `formats` names (column to form) as dates or times; those that are already stay.

    `codes` are the values of each column that stand for an absence, and are none.
    """
    known = codes or {}
    found = [
        as_dates(frame[name], form, known.get(name, ())) for name, form in formats.items() if name in frame.columns
    ]
    return frame.with_columns(found)


def forms_of(cells: pl.Series) -> tuple[str, ...]:
    """The forms in which every cell of a column of texts or whole numbers is a date or a time of day.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.files.column_types import forms_of
    >>> forms_of(pl.Series(["03/04/2021", "25/12/2020"])), forms_of(pl.Series(["03/04/2021"]))
    (('DD/MM/YYYY',), ('DD/MM/YYYY', 'MM/DD/YYYY'))
    """
    if cells.dtype != pl.String and not cells.dtype.is_integer():
        return ()
    if cells.dtype.is_integer() and (cells.is_empty() or (cells.min() or 0) < _SMALLEST_MONTH):  # type: ignore[operator]
        return ()  # no number of fewer digits is a date
    known = cells.drop_nulls().unique().cast(pl.String).str.strip_chars()
    found = tuple(name for name, form in FORMS.items() if len(known) and _fits(known, form))
    return found or tuple(name for name, form in DURATIONS.items() if len(known) and _fits(known, form))


def _fits(known: pl.Series, form: _Form | _Lasting) -> bool:
    # The first cells settle most columns.
    return all(form.read(part).null_count() == 0 for part in (known.head(32), known))


def as_dates(column: pl.Series, form: str, codes: Collection[Level] = ()) -> pl.Series:
    """A column of texts or whole numbers as the dates or times that it writes in `form`.

    With `codes`, values that stand for an absence, it is a column of texts: dates as ISO has them, durations in
    seconds, codes as they came. One that was read so before stays as it is.

    Examples
    --------
    >>> import polars as pl
    >>> as_dates(pl.Series("seen", ["01.02.2021", "unknown"]), "DD.MM.YYYY", ["unknown"]).to_list()
    ['2021-02-01', 'unknown']
    """
    known: Mapping[str, _Form | _Lasting] = {**FORMS, **DURATIONS}
    if form not in known:
        raise InputError(f"column '{column.name}'", "format must be supported", hint=f"Supported: {', '.join(known)}.")
    if codes:
        return _dates_or_codes(column, form, codes)
    if column.dtype.is_temporal() or (form in DURATIONS and column.dtype.is_numeric()):
        return column
    cells = column.cast(pl.String, strict=False).str.strip_chars()
    cells = cells.set(cells == "", None)
    read = known[form].read(cells)
    wrong = read.null_count() - cells.null_count()
    if wrong:
        place = int((read.is_null() & cells.is_not_null()).arg_max() or 0) + 1
        raise ColumnError(
            column.name,
            f"must hold dates or times written as {form}",
            got=f"{wrong} cells that are none, the first in row {place}",
            hint="Correct them, leave cells without a date empty or list their codes under missing_codes, or declare "
            "another format.",
        )
    return read.alias(column.name)


_DIGITS, _DAY_READ, _TIME_READ = r"^\d+$", r"^\d{4}-\d{2}-\d{2}$", r"^\d{2}:\d{2}:\d{2}$"


def _dates_or_codes(column: pl.Series, form: str, codes: Collection[Level]) -> pl.Series:
    if column.dtype.is_temporal():
        return _iso(column, form)
    spelled = pl.Series([text_of(code) for code in codes], dtype=pl.String)
    cells = column.str.strip_chars() if column.dtype == pl.String else column
    place = codes_of(cells, spelled)
    is_code = pl.Series((place >= 0) & (place < len(spelled)))
    dates = _read_once(cells.set(is_code, None), form).cast(pl.String)
    own = spelled.gather(pl.Series(place).set(~is_code, None))
    return own.zip_with(is_code, dates).alias(column.name)


def _read_once(column: pl.Series, form: str) -> pl.Series:
    """The dates, times or seconds of a column, which may be written as they are after they have been read."""
    cells = column.cast(pl.String, strict=False).str.strip_chars()
    known = cells.filter(cells != "")
    if form in DURATIONS:
        return cells.cast(pl.Int64) if len(known) and _all(known, _DIGITS) else as_dates(column, form)
    pattern, iso = (_TIME_READ, "HH:MM:SS") if FORMS[form].time else (_DAY_READ, "YYYY-MM-DD")
    return as_dates(column, iso if len(known) and _all(known, pattern) else form)


def _iso(column: pl.Series, form: str) -> pl.Series:
    """Dates and times as texts, as ISO has them; midnights are days."""
    if isinstance(column.dtype, pl.Datetime):
        timed = int((column != column.dt.truncate("1d")).sum())
        if timed:
            raise ColumnError(
                column.name,
                f"must hold days, as its format {form} says, where codes may stand beside them",
                got=f"{timed} cells with a time of day",
                hint="Leave the time out, or leave cells without a date empty and declare no missing_codes.",
            )
        column = column.dt.date()
    return column.cast(pl.String)
