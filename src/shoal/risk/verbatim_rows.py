"""Verbatim rows: how many released rows are some original row as it was?

A release that shows original combinations of quasi-identifiers isn't unsafe for that alone: a permutation within groups
shows nothing else. But where columns are continuous a whole original row points at one person, whoever it
was dealt to, so the share is measured and reported.

Replicated uniques: people who are alone in the original and turn up, alone again, in the release.

A unique combination of quasi-identifiers that a synthetic table has exactly once looks like the person it fits, whether
or not the row is meant to be anybody's (Raab, Nowok and Dibben 2024). With a control group of the same population, the
share of *its* uniques that turn up says how much of it is chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray, distinct_numbers
from shoal.conform import with_persons
from shoal.equivalence import Codes, combine, equal_rows, persons
from shoal.frame import Frame, enter, series
from shoal.pair import Pair
from shoal.record import Interval, Record
from shoal.risk.keys import common_codes, compact, require_keys
from shoal.risk.nearest import numbered
from shoal.risk.uncertainty import wilson
from shoal.schema import Schema

__all__ = ["ReplicatedUniques", "Verbatim", "measure", "replicated_uniques", "returned", "single_values", "verbatim"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbatim(Record):
    """Released quasi rows that are original rows.

    Parameters
    ----------
    share
        Share of released rows that equal some original row in all quasi-identifiers.
    unique_share
        Share of released rows that equal an original row which only one person has.
    own_share
        Share of released rows that equal a row of their own person.
    n_rows
        Number of released rows.
    """

    releasable: ClassVar[bool] = True

    share: float
    unique_share: float
    own_share: float
    n_rows: int

    def __float__(self) -> float:
        return self.share


def verbatim(original: Any, released: Any, schema: Schema, source_rows: Any = None) -> Verbatim:
    """Share of released rows whose quasi-identifiers are those of an original row, and of their own person's.

    Parameters
    ----------
    original, released, schema
        Both tables, of any dataframe type, and the schema of the original.
    source_rows
        Original row number of each released row; None: the rows are in the same order.

    Notes
    -----
    Values are compared exactly; missing equals missing; an interval or a set is no copy of a value. With a unit column
    any row of the same person counts as own. Weights play no part. Cost: O(n · columns).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 35, 41, 57]})
    >>> masked = pl.DataFrame({"age": [35, 30, 49, 57]})
    >>> result = shoal.risk.verbatim(table, masked, shoal.Schema.of(quasi=["age"]))
    >>> result.share, result.own_share
    (0.75, 0.25)
    """
    return measure(Pair.of(original, released, schema, source_rows))


def measure(pair: Pair) -> Verbatim:
    """`verbatim` of an existing pair."""
    released = single_values(pair)
    as_known = not np.isnan(released).any()
    theirs, shown, n = numbered(pair) if as_known else equal_rows(pair.original_codes, released)
    person = pair.original.units()
    holders = _persons_at(theirs, person, n)
    return Verbatim(
        share=float((holders[shown] > 0).mean()),
        unique_share=float((holders[shown] == 1).mean()),
        own_share=float(_own(theirs, shown, person, pair.source_rows).mean()),
        n_rows=len(shown),
    )


def _persons_at(points: IntArray, person: IntArray, n: int) -> IntArray:
    """Number of persons at each of `n` points."""
    n_persons = int(person.max()) + 1
    return np.bincount(distinct_numbers(points * n_persons + person) // n_persons, minlength=n)


def _own(theirs: IntArray, shown: IntArray, person: IntArray, source_rows: IntArray) -> BoolArray:
    """Whether each released row equals its source, or another row of its person."""
    known = source_rows >= 0
    own: BoolArray = known & (theirs[source_rows] == shown)
    n_persons = int(person.max()) + 1
    if n_persons < len(person):
        rest = np.flatnonzero(known & ~own)
        own_keys = shown[rest] * n_persons + person[source_rows[rest]]
        own[rest] = np.isin(own_keys, theirs * n_persons + person)
    return own


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatedUniques(Record):
    """Uniques that turn up again.

    Parameters
    ----------
    n_unique
        Persons who alone have their combination in the original.
    n_replicated, share, interval
        Those that fit exactly one released row, their share in the uniques, and its 95% interval.
    record_share
        Those that fit exactly one released row, as a share of all persons of the original.
    control_share
        Share of the control group's uniques that fit exactly one released row; None without a control group.
    """

    n_unique: int
    n_replicated: int
    share: float
    interval: Interval
    record_share: float
    control_share: float | None


def replicated_uniques(original: Any, released: Any, schema: Schema, control: Any = None) -> ReplicatedUniques:
    """Count the uniques of the original that the release has, exactly once.

    Parameters
    ----------
    original, released, schema
        Tables of any dataframe type with the schema's quasi-identifiers; rows need not correspond.
    control
        People of the same population who had no part in the release.

    Notes
    -----
    Values are compared as they are written; a missing one is a level of its own. With a unit column persons count in
    the original and in the control group, and rows in the release. Cost: O(n).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 57]})
    >>> shoal.risk.replicated_uniques(table, table, shoal.Schema.of(quasi=["age"])).n_replicated
    2
    """
    before, after = enter(original), enter(released, owner="released table")
    require_keys(before, schema)
    require_keys(after, schema)
    n_unique, found, n_persons = _replicated(before, after, schema)
    others = None if control is None else _replicated(enter(control, owner="control"), after, schema)
    share = found / n_unique if n_unique else 0.0
    return ReplicatedUniques(
        n_unique=n_unique,
        n_replicated=found,
        share=share,
        interval=wilson(share, n_unique),
        record_share=found / n_persons,
        control_share=None if others is None else others[1] / others[0] if others[0] else 0.0,
    )


def _replicated(before: Frame, after: Frame, schema: Schema) -> tuple[int, int, int]:
    """Persons who are alone in the first table, those of them who fit one row of the second, and all persons."""
    stacked = []
    for name in schema.quasi:
        first, second = common_codes(series(before, name), series(after, name))
        stacked.append(Codes(values=np.concatenate([first.values, second.values]), n=first.n))
    key = combine(stacked)
    theirs, shown = key.values[: len(before)], key.values[len(before) :]
    person = _persons_of(before, schema)
    alone = _persons_at(theirs, person, key.n) == 1
    once = np.bincount(shown, minlength=key.n) == 1
    return int(alone.sum()), int((alone & once).sum()), len(distinct_numbers(person))


def _persons_of(frame: Frame, schema: Schema) -> IntArray:
    frame, schema = with_persons(frame, schema)
    if schema.unit is None or schema.unit not in frame.columns:
        return np.arange(len(frame))
    return compact(persons(series(frame, schema.unit))).values


def returned(pair: Pair) -> tuple[BoolArray, IntArray]:
    """For each record of the original whether its person alone has its combination, and how many released rows have it.

    An interval or a set is no copy of a value.
    """
    theirs, shown, n = equal_rows(pair.original_codes, single_values(pair))
    alone: BoolArray = _persons_at(theirs, pair.original.units(), n) == 1
    return alone[theirs], np.bincount(shown, minlength=n)[theirs]


def single_values(pair: Pair) -> FloatArray:
    """The release's codes; an interval or a set, which is no single value, is missing."""
    return pair.released_codes if pair.exact is None else np.where(pair.exact, pair.released_codes, np.nan)
