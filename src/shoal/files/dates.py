"""Dates and times of day as people write them, read by declaration.

A form is named by how it looks: ``DD.MM.YYYY``, ``MM/DD/YYYY``, ``YYYYMMDD``, ``HH:MM``. A column is read in a form
only if every cell is a true date in it, so that nothing is lost; ISO dates need no declaration. A month
(``YYYYMM``) becomes its first day. Years of two digits are no form: they don't say the century.

`forms_of` tells in which forms a column could be read. Day and month can't be told apart where no day is above 12;
then both forms are named, and a person must say which.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from shoal.errors import ColumnError, InputError

__all__ = ["FORMS", "as_dates", "forms_of", "with_dates"]


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


def with_dates(frame: pl.DataFrame, formats: Mapping[str, str]) -> pl.DataFrame:
    """Read the columns that `formats` names (column to form) as dates or times; those that are already stay."""
    found = [as_dates(frame[name], form) for name, form in formats.items() if name in frame.columns]
    return frame.with_columns(found)


def forms_of(cells: pl.Series) -> tuple[str, ...]:
    """The forms in which every cell of a column of texts or whole numbers is a date or a time of day.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.files.dates import forms_of
    >>> forms_of(pl.Series(["03/04/2021", "25/12/2020"])), forms_of(pl.Series(["03/04/2021"]))
    (('DD/MM/YYYY',), ('DD/MM/YYYY', 'MM/DD/YYYY'))
    """
    if cells.dtype != pl.String and not cells.dtype.is_integer():
        return ()
    known = cells.drop_nulls().unique().cast(pl.String).str.strip_chars()
    return tuple(name for name, form in FORMS.items() if len(known) and _fits(known, form))


def _fits(known: pl.Series, form: _Form) -> bool:
    # The first cells settle most columns.
    return all(form.read(part).null_count() == 0 for part in (known.head(32), known))


def as_dates(column: pl.Series, form: str) -> pl.Series:
    """A column of texts or whole numbers as the dates or times that it writes in `form`."""
    if form not in FORMS:
        raise InputError(f"column '{column.name}'", "format must be supported", hint=f"Supported: {', '.join(FORMS)}.")
    if column.dtype.is_temporal():
        return column
    cells = column.cast(pl.String, strict=False).str.strip_chars()
    cells = cells.set(cells == "", None)
    read = FORMS[form].read(cells)
    wrong = read.null_count() - cells.null_count()
    if wrong:
        place = int((read.is_null() & cells.is_not_null()).arg_max() or 0) + 1
        raise ColumnError(
            column.name,
            f"must hold dates or times written as {form}",
            got=f"{wrong} cells that are none, the first in row {place}",
            hint="Correct them, or declare another format.",
        )
    return read.alias(column.name)
