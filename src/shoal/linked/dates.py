"""Dates of a person's events: all of them together, in order, and moved.

Only columns of the role `time` move. A column may hold dates, times, or whole numbers that count days.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from shoal.arrays import Generator, IntArray
from shoal.errors import ColumnError
from shoal.linked.collection import Collection

__all__ = ["Place", "day_numbers", "day_of", "jittered", "moved", "time_columns"]

Place = tuple[str, str]
"""A table and one of its columns."""


def time_columns(collection: Collection) -> list[Place]:
    """The columns of dates of all tables, with that of birth where nobody is looked for by it."""
    root = collection.schema.persons
    own = [(root.name, name) for name in root.columns.time]
    if root.birth is not None and root.columns[root.birth].role in ("sensitive", "other"):
        own.append((root.name, root.birth))
    return own + [(table.name, name) for table in collection.schema.events for name in table.columns.time]


def moved(collection: Collection, by: Mapping[Place, IntArray]) -> Collection:
    """The collection with the dates of these columns moved by so many days, row by row; what is missing stays so."""
    for (table, name), days in by.items():
        collection = collection.with_columns(table, {name: _moved(collection.tables[table][name], days)})
    return collection


def _moved(column: pl.Series, days: IntArray) -> pl.Series:
    shift = pl.Series("by", days)
    if column.dtype.is_integer():
        return column + shift
    if column.dtype not in (pl.Date, pl.Datetime):
        rule = "has the role time, and must hold dates, times or whole numbers of days to be moved"
        raise ColumnError(
            column.name,
            rule,
            got=f"type {column.dtype.base_type()}",
            hint="Declare its format, and leave cells without a date empty: codes can't be moved.",
        )
    return pl.DataFrame([column, shift]).select(pl.col(column.name) + pl.duration(days="by")).to_series()


def day_of(column: pl.Series) -> pl.Series:
    """The day of each date as a whole number."""
    return column.cast(pl.Int64) if column.dtype.is_integer() else column.cast(pl.Date).cast(pl.Int64)


def day_numbers(column: pl.Series) -> IntArray:
    """Dates as days, numbers rounded, anything else by its rank; what is missing comes first."""
    if column.dtype.is_temporal() or column.dtype.is_integer():
        days = day_of(column)
    elif column.dtype.is_numeric():
        days = column.cast(pl.Float64).round().cast(pl.Int64)
    else:
        days = column.rank("dense").cast(pl.Int64)
    least = days.min()
    return days.fill_null(0 if least is None else least - 1).to_numpy().astype(np.int64)  # type: ignore[operator]


def jittered(collection: Collection, days: int, rng: Generator) -> Collection:
    """Every date of an event moved by up to `days`, the order of a person's dates kept.

    One move for each day on which a person has dates, uniform from −d to d; then the moved days of a person are put in
    order. The i-th of them differs from the i-th true day by at most d (order statistics move no further than the
    values do), so a gap changes by at most 2 d, and what was on one day stays on one day.
    """
    places = [place for place in time_columns(collection) if place[0] != collection.schema.persons.name]
    each = [_days_of(collection, place) for place in places]
    if not each or not sum(map(len, each)):
        return collection
    known = pl.concat(each).drop_nulls().unique().sort("person", "day")
    tried = known["day"].to_numpy() + rng.integers(-days, days + 1, len(known))
    person = known["person"].to_numpy()
    new = known.with_columns(pl.Series("new", tried[np.lexsort((tried, person))]))
    found = [one.join(new, on=["person", "day"], how="left", maintain_order="left") for one in each]
    by = [(one["new"] - one["day"]).fill_null(0).to_numpy().astype(np.int64) for one in found]
    return moved(collection, dict(zip(places, by, strict=True)))


def _days_of(collection: Collection, place: Place) -> pl.DataFrame:
    table, name = place
    person = collection.persons[table]
    return pl.DataFrame({"person": person, "day": day_of(_checked(collection.tables[table][name]))})


def _checked(column: pl.Series) -> pl.Series:
    _moved(column, np.zeros(len(column), dtype=np.int64))
    return column
