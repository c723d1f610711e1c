"""Date shift: all dates of a person move by the same secret number of days, so that gaps stay and days don't.

    s_i = u · (HMAC-SHA-256(key, scope, "date shift", i) mod (2 W + 1) − W),   u = 7 days (weekday kept) or 1 day

The shift of a person is the same in all tables and years of a scope. No claim rests on it alone:

- whoever has found the record and knows one true date learns s_i, and so every date;
- **gaps are untouched**: two known gaps may single a person out, whatever W is;
- at the edges of a study only few shifts are possible. With the study's `window` declared, the possible shifts of
  each person are counted: those that put all their dates inside it.

Keep the shift while the pseudonym is kept, and change both together: fresh shifts of linkable persons average out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.errors import ColumnError, ParameterError, SchemaError
from shoal.frame import Frame, adopt, enter, leave, series, with_columns
from shoal.pseudonym.project_key import ProjectKey, each_identifier
from shoal.pseudonym.pseudonyms import DATE_SHIFT, check_scope
from shoal.record import Record

__all__ = ["DateShift", "Shifted", "days_between", "possible_shifts", "shifts_left"]

_MOST_DAYS = 3660


@dataclass(frozen=True, slots=True, kw_only=True)
class Shifted(Record):
    """What a date shift did, for inside.

    Parameters
    ----------
    n_persons, n_dates
        Persons with dates, and dates that were moved.
    n_shifts
        The shifts that are drawn from.
    fewest_possible
        The smallest number of shifts that a person's shifted dates leave possible; None where no window is declared.
    n_single
        Persons whom a single possible shift is left of, so that their true dates can be read off; None likewise.
    """

    releasable: ClassVar[bool] = False

    n_persons: int
    n_dates: int
    n_shifts: int
    fewest_possible: int | None
    n_single: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DateShift:
    """Move all dates of a person together.

    Parameters
    ----------
    key, scope
        As of the pseudonyms, so that dates of different tables stay in step.
    weeks, days
        How far dates move at most, either way: in whole weeks (the weekday stays), or in days. Exactly one is given;
        raising it hides dates better and blurs seasons.
    as_text
        As of the pseudonyms.

    Examples
    --------
    >>> import datetime as dt, polars as pl
    >>> from shoal.pseudonym import DateShift, ProjectKey
    >>> table = pl.DataFrame({"patient": [1, 1], "admitted": [dt.date(2024, 3, 1), dt.date(2024, 3, 8)]})
    >>> moved, shifted = DateShift(key=ProjectKey(bytes(range(32))), scope="registry", weeks=26).apply(
    ...     table, person="patient", columns=["admitted"])
    >>> moved["admitted"].diff()[1].days, moved["admitted"][0].weekday() == dt.date(2024, 3, 1).weekday()
    (7, True)
    """

    key: ProjectKey
    scope: str
    weeks: int | None = None
    days: int | None = None
    as_text: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.key, ProjectKey):
            raise ParameterError("date shift", "key must be a ProjectKey", got=type(self.key).__name__)
        check_scope("date shift", self.scope)
        given = [n for n in (self.weeks, self.days) if n is not None]
        if len(given) != 1 or isinstance(given[0], bool) or not isinstance(given[0], int):
            raise ParameterError("date shift", "needs either weeks or days, as a whole number")
        if given[0] < 1 or self.most_days > _MOST_DAYS:
            raise ParameterError("date shift", f"must be at least 1 and at most {_MOST_DAYS} days")

    @property
    def unit_days(self) -> int:
        """Days in one step: 7, or 1."""
        return 1 if self.weeks is None else 7

    @property
    def most_days(self) -> int:
        """The largest shift in days."""
        return self.unit_days * self.reach

    @property
    def reach(self) -> int:
        """The largest shift in steps: weeks, or days."""
        reach = self.days if self.weeks is None else self.weeks
        assert reach is not None
        return reach

    def of(self, persons: pl.Series) -> pl.Series:
        """The shift of each person in days; missing where the person is."""
        spelled, made = each_identifier(persons, self._shift, as_text=self.as_text)
        return pl.Series("shift", [made.get(one) for one in spelled.to_list()], dtype=pl.Int64)

    def apply(
        self, table: Any, *, person: str, columns: Sequence[str], window: tuple[date, date] | None = None
    ) -> tuple[Any, Shifted]:
        """`table`, of the same type, with the dates of `columns` moved, and what was done.

        Parameters
        ----------
        table, person
            The table, and its column that says whose row it is.
        columns
            Columns of dates, times, or texts such as 2024-03-01.
        window
            First and last day of the study, as everybody knows; counts the shifts that stay possible.
        """
        frame = enter(table)
        _check_columns(frame, person, columns)
        shifts = self.of(series(frame, person))
        dates = {name: _as_dates(series(frame, name)) for name in columns}
        for name, (days, _) in dates.items():
            _check_dates(name, days, shifts, window)
        moved = {name: adopt(_moved(series(frame, name), days, shifts), frame) for name, (days, _) in dates.items()}
        shifted = self._shifted(series(frame, person), shifts, [days for days, _ in dates.values()], window)
        return leave(with_columns(frame, moved), like=table), shifted

    def _shift(self, person: str | int) -> int:
        drawn = int.from_bytes(self.key.digest(self.scope, DATE_SHIFT, person), "big") % (2 * self.reach + 1)
        return self.unit_days * (drawn - self.reach)

    def _shifted(
        self, persons: pl.Series, shifts: pl.Series, dates: list[pl.Series], window: tuple[date, date] | None
    ) -> Shifted:
        long = pl.concat(
            [pl.DataFrame({"person": persons, "day": days.cast(pl.Int32) + shifts}) for days in dates]
        ).drop_nulls()
        ends = long.group_by("person").agg(pl.col("day").min().alias("first"), pl.col("day").max().alias("last"))
        possible = None if window is None else self._possible(ends, window)
        return Shifted(
            n_persons=len(ends),
            n_dates=len(long),
            n_shifts=2 * self.reach + 1,
            fewest_possible=None if possible is None or not len(possible) else int(possible.min()),
            n_single=None if possible is None else int((possible == 1).sum()),
        )

    def _possible(self, ends: pl.DataFrame, window: tuple[date, date]) -> IntArray:
        first, last = (_day_number(day) for day in window)
        return possible_shifts(ends["first"].to_numpy(), ends["last"].to_numpy(), (first, last), self)


def days_between(text: str, mark: str) -> tuple[date, date]:
    """First and last day of a study, written as ISO has them with a mark between."""
    first, _, last = text.partition(mark)
    try:
        window = date.fromisoformat(first), date.fromisoformat(last)
    except ValueError:
        raise ParameterError("window", f"must be written 2020-01-01{mark}2024-12-31") from None
    if window[0] > window[1]:
        raise ParameterError("window", "must end after it begins")
    return window


def possible_shifts(first: IntArray, last: IntArray, window: tuple[int, int], shift: DateShift) -> IntArray:
    """How many shifts s fit released dates from `first` to `last`: those with window[0] ≤ day − s ≤ window[1]."""
    low, high = shifts_left(first, last, window, shift)
    n: IntArray = np.maximum(0, high - low + 1)
    return n


def shifts_left(
    first: IntArray, last: IntArray, window: tuple[int, int], shift: DateShift
) -> tuple[IntArray, IntArray]:
    """The smallest and the largest of these shifts, in steps of the shift's unit."""
    unit, reach = shift.unit_days, shift.reach
    low = np.maximum(-reach, np.ceil((np.asarray(last) - window[1]) / unit))
    high = np.minimum(reach, np.floor((np.asarray(first) - window[0]) / unit))
    return low.astype(np.int64), high.astype(np.int64)


def _check_columns(frame: Frame, person: str, columns: Sequence[str]) -> None:
    if isinstance(columns, str) or not columns:
        raise ParameterError("date shift", "columns must be a list of at least one column")
    for name in (person, *columns):
        if name not in frame.columns:
            raise SchemaError("date shift", f"column '{name}' is not in the table")
    if person in columns:
        raise ParameterError("date shift", "the person's column can't be one of the dates")


def _as_dates(column: pl.Series) -> tuple[pl.Series, pl.DataType]:
    """The days of a column, and its type."""
    if column.dtype in (pl.Date, pl.Datetime):
        return column.cast(pl.Date), column.dtype
    days = column.cast(pl.String).str.to_date("%Y-%m-%d", strict=False) if column.dtype == pl.String else None
    if days is None or days.null_count() > column.null_count():
        raise ColumnError(
            column.name,
            "must hold dates, times, or texts such as 2024-03-01",
            got=f"type {column.dtype.base_type()}",
            hint="Convert it to dates first.",
        )
    return days, column.dtype


def _check_dates(name: str, days: pl.Series, shifts: pl.Series, window: tuple[date, date] | None) -> None:
    lost = int((days.is_not_null() & shifts.is_null()).sum())
    if lost:
        raise ColumnError(name, "has dates of nobody: the person is missing", got=f"{lost} rows")
    outside = 0 if window is None else int((~days.drop_nulls().is_between(*window)).sum())
    if outside:
        raise ColumnError(name, "must lie within the window that was declared", got=f"{outside} dates outside")


def _moved(column: pl.Series, days: pl.Series, shifts: pl.Series) -> pl.Series:
    by = pl.duration(days=pl.col("by"))
    table = pl.DataFrame({"day": days if column.dtype == pl.String else column, "by": shifts})
    moved = table.select(pl.col("day") + by).to_series().alias(column.name)
    return moved.cast(pl.String) if column.dtype == pl.String else moved


def _day_number(day: date) -> int:
    return (day - date(1970, 1, 1)).days
