"""All dates of a person, in all tables, move together by a secret number of days or weeks.

    s_i = u · (HMAC-SHA-256(key, scope, "date shift", i) mod (2 W + 1) − W)

as in `shoal.pseudonym.DateShift`. With a project key the shift of a person is the same in every release of a scope, as
the pseudonym is; without one it is drawn for this release alone. By household, members move together, so that what
they did together stays on one day.

No claim rests on it. The time between events is untouched, and two or three gaps may single a person out, whatever W
is: the risk of who knows gaps is counted on the joined view, and so is that of who knows one event with its true date.
Seasons and weekdays show that a file was shifted. A
column of birth dates that is a quasi-identifier is left to the persons' recipe; then an event may seem to lie before a
birth, and ages at events are off by up to W.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Annotated, Literal

import numpy as np
import polars as pl

from shoal.arrays import Generator, IntArray
from shoal.errors import Problems, SchemaError
from shoal.fact import Fact
from shoal.linked.collection import Collection
from shoal.linked.dates import Place, day_of, moved, time_columns
from shoal.linked.event_method import Done, EventMethod
from shoal.linked.known_date import Moved
from shoal.method import ReportText
from shoal.params import Help, Range, check
from shoal.pseudonym import DateShift, ProjectKey, Pseudonyms, days_between
from shoal.pseudonym.date_shift import shifts_left
from shoal.rng import secret

__all__ = ["ShiftDates"]

_HERE = "this release"


@dataclass(frozen=True)
class ShiftDates(EventMethod):
    """Move all dates of a person together.

    Parameters
    ----------
    weeks, days
        How far dates move at most, either way: in whole weeks (the weekday stays), or in days instead. Raising it
        hides dates better and blurs seasons.
    by
        ``person``, or ``household``: members move together, where the persons' table has a household.
    window
        First and last day of the study as everybody knows them, ``2020-01-01/2024-12-31``: how many shifts each
        person's released dates leave possible is then counted, for inside.
    """

    weeks: Annotated[int | None, Range(low=1, high=522), Help("largest shift in whole weeks")] = 26
    days: Annotated[int | None, Range(low=1, high=3660), Help("largest shift in days, instead of weeks")] = None
    by: Annotated[Literal["person", "household"], Help("whose dates move together")] = "person"
    window: Annotated[str | None, Help("first and last day of the study, 2020-01-01/2024-12-31")] = None

    title = "Shift dates"
    summary = "Moves all dates of a person, in all tables, by one secret number of weeks or days; gaps stay."
    promise = ""
    report_text = ReportText(
        done="All dates of a person moved together by a secret number of days; the time between them is as it was."
    )
    rank = 50

    @property
    def moves_dates(self) -> bool:
        """It does nothing else."""
        return True

    def first(self, collection: Collection, pseudonyms: Pseudonyms | None, key: str) -> Done:
        """Move the dates, while persons can still be told by their own keys."""
        check(self)
        between = None if self.window is None else days_between(self.window, "/")
        if between is not None:
            _check_window(collection, between)
        shift = self._shift(pseudonyms, key)
        days = shift.of(self._owners(collection)).to_numpy().astype(np.int64)
        places = time_columns(collection)
        made = moved(collection, {place: days[collection.persons[place[0]]] for place in places})
        ends = _shifts_left(made, shift, between)
        told = Moved(days=days, low=ends[0], high=ends[1], unit=shift.unit_days)
        facts = _facts(made, shift, None if between is None else told, self.by)
        return Done(collection=replace(made, moved=told), facts=tuple(facts))

    def apply(self, collection: Collection, groups: IntArray, rng: Generator) -> Done:
        """Nothing more: dates have moved."""
        return Done(collection=collection)

    def _shift(self, pseudonyms: Pseudonyms | None, key: str) -> DateShift:
        reach = {"days": self.days} if self.days is not None else {"weeks": self.weeks}
        if pseudonyms is not None:
            return DateShift(key=pseudonyms.key, scope=pseudonyms.scope, as_text=pseudonyms.as_text, **reach)
        drawn = ProjectKey(secret(key, "date shift").bytes(32))
        return DateShift(key=drawn, scope=_HERE, **reach)

    def _owners(self, collection: Collection) -> pl.Series:
        """Whose shift each person has: their own, or that of their household; who has none is one by themselves."""
        root = collection.schema.persons
        people = collection.tables[root.name]
        own = people[str(root.key)]
        if self.by == "person":
            return own
        home = root.columns.household
        if home is None:
            raise SchemaError(f"table '{root.name}'", "must have a household to shift dates by household")
        alone = "person " + own.cast(pl.String)
        return pl.DataFrame({"home": "household " + people[home].cast(pl.String), "own": alone}).select(
            pl.coalesce("home", "own")
        )["home"]


def _facts(collection: Collection, shift: DateShift, told: Moved | None, by: str) -> Iterator[Fact]:
    n_shifts = 2 * shift.reach + 1
    yield Fact(says=_SHIFTED, values={"by": by, "n": n_shifts, "most": shift.most_days}, outside=True)
    birth = collection.schema.persons.birth
    if birth is not None and (collection.schema.persons.name, birth) not in time_columns(collection):
        yield Fact(says=_BIRTH, values={"most": shift.most_days}, column=birth, outside=True)
    if told is not None:
        left = told.high - told.low + 1
        values = {"fewest": int(left.min(initial=n_shifts)), "single": int((left <= 1).sum())}
        yield Fact(says=_LEFT, values=values, counts="persons")


_SHIFTED = (
    "all dates of a {by} moved together by one of {n} shifts of up to {most} days; the time between them, seasons and, "
    "with whole weeks, weekdays show, and nothing is promised by it"
)
_BIRTH = "{column}: not moved with the events, so that ages at events are off by up to {most} days"
_LEFT = "shifts that released dates leave possible: {fewest} at least; {single} persons have a single one"


def _check_window(collection: Collection, window: tuple[date, date]) -> None:
    """Refuse dates outside the window: no shift would be possible for whom they belong to."""
    low, high = _numbers(window)
    days = {place: day_of(collection.tables[place[0]][place[1]]).drop_nulls() for place in _dates(collection)}
    outside = {place: int(((day < low) | (day > high)).sum()) for place, day in days.items()}
    hint = "Correct them, or declare a wider window."
    Problems(
        SchemaError(
            f"table '{table}', column '{name}'", "must lie within the window that was declared",
            got=f"{n} dates outside", hint=hint,
        )
        for (table, name), n in outside.items() if n
    ).raise_if_any()  # fmt: skip


def _dates(collection: Collection) -> list[Place]:
    """The columns of dates that move, but for that of birth, which lies before any study."""
    return [place for place in time_columns(collection) if place[1] != collection.schema.persons.birth]


def _numbers(window: tuple[date, date]) -> tuple[int, int]:
    first, last = ((day - date(1970, 1, 1)).days for day in window)
    return first, last


def _shifts_left(
    collection: Collection, shift: DateShift, window: tuple[date, date] | None
) -> tuple[IntArray, IntArray]:
    """The smallest and largest shift that each person's released dates leave possible; without any, all are."""
    low, high = (np.full(collection.n_persons, reach, dtype=np.int64) for reach in (-shift.reach, shift.reach))
    if window is None:
        return low, high
    each = [
        pl.DataFrame({"person": collection.persons[table], "day": day_of(collection.tables[table][name])})
        for table, name in _dates(collection)
    ]
    ends = pl.concat(each).drop_nulls().group_by("person").agg(first=pl.col("day").min(), last=pl.col("day").max())
    who = ends["person"].to_numpy()
    low[who], high[who] = shifts_left(ends["first"].to_numpy(), ends["last"].to_numpy(), _numbers(window), shift)
    return low, high
