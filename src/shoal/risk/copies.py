"""Verbatim rows: how many released rows are some original row as it was?

A release that shows original combinations of quasi-identifiers isn't unsafe for that alone: a permutation within groups
shows nothing else. But where columns are continuous a whole original row points at one person, whoever it
was dealt to, so the share is measured and reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import BoolArray, IntArray
from shoal.equivalence import equal_rows
from shoal.pair import Pair
from shoal.record import Record
from shoal.risk.nearest import numbered
from shoal.schema import Schema

__all__ = ["Verbatim", "measure", "verbatim"]


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
    released = pair.released_codes if pair.exact is None else np.where(pair.exact, pair.released_codes, np.nan)
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
    return np.bincount(np.unique(points * n_persons + person) // n_persons, minlength=n)


def _own(theirs: IntArray, shown: IntArray, person: IntArray, source_rows: IntArray) -> BoolArray:
    """Whether each released row equals its source, or another row of its person."""
    known = source_rows >= 0
    own: BoolArray = known & (theirs[source_rows] == shown)
    n_persons = int(person.max()) + 1
    if n_persons < len(person):
        rest = np.flatnonzero(known & ~own)
        wanted = shown[rest] * n_persons + person[source_rows[rest]]
        own[rest] = np.isin(wanted, theirs * n_persons + person)
    return own
