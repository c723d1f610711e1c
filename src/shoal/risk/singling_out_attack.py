"""Singling out: does the release hold a description that fits exactly one person of the original?

The intruder sees the release alone and makes predicates from it; one succeeds if exactly one *person* of the original
satisfies it (Article 29 Working Party 2014, Giomi et al. 2023).

- **Univariate**: ``x ≤ least``, ``x ≥ largest``, ``x = v`` for a value that occurs once, ``x is missing`` where one is.
- **Multivariate**: some columns of a released record, ≥ above the released median, ≤ at or below it, = for levels; of
  these, the ones that fit exactly one released row; where hardly any does (classes of k rows), all.

A blind predicate of weight w isolates with probability n w (1 − w)^(n−1), up to 0.37: without a control group of the
same size a high rate means nothing. So the same predicates are tried on people who were not in the data, and where the
tables differ in size, on samples of the smaller one's size. `baseline` are predicates with values drawn anew for
each column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.record import Interval, Record
from shoal.risk.control_group import AttackRisk, AttackTable, Tally, attack_table, check_attacks, judged
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["Predicate", "SinglingOut", "fitting", "singling_out"]

_EQUAL, _AT_LEAST, _AT_MOST, _MISSING = range(4)
_TRIES = 8  # predicates made for each that is asked for, at most
_FEW = 0.1  # share of those asked for below which predicates that fit several released rows are tried too


class Predicate(NamedTuple):
    """Conditions that all must hold: columns by position, comparisons, and what they compare with."""

    columns: tuple[int, ...]
    comparisons: tuple[int, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SinglingOut(Record):
    """Both attacks; `risk` and `interval` are those of the one that does more harm."""

    univariate: AttackRisk
    multivariate: AttackRisk

    @property
    def worst(self) -> AttackRisk:
        """The attack with the larger risk."""
        return max((self.multivariate, self.univariate), key=lambda attack: attack.risk)

    @property
    def risk(self) -> float:
        """The larger of the two risks."""
        return self.worst.risk

    @property
    def interval(self) -> Interval:
        """The interval of the larger risk."""
        return self.worst.interval

    def __float__(self) -> float:
        return self.risk


def singling_out(
    original: Any,
    released: Any,
    schema: Schema,
    control: Any = None,
    *,
    attacks: int = 500,
    n_columns: int | None = None,
    columns: Sequence[str] | None = None,
    source_rows: Any = None,
    seed: int = 0,
) -> SinglingOut:
    """Make predicates from a release and count those that fit exactly one person of the original.

    Parameters
    ----------
    original, released, schema
        Tables of any dataframe type, and the roles of their columns; rows need not correspond.
    control
        People of the same population who had no part in the release; strongly advised.
    attacks
        How many predicates to make at most. Raising it narrows the intervals.
    n_columns
        Columns of a multivariate predicate; None: all. Of few columns, predicates that fit one released row are rare.
    columns
        The columns to use; None: quasi-identifiers and sensitive columns of the release.
    source_rows
        Original row of each released row, needed to read a coarsened release only.
    seed
        Repeats the choice of predicates.

    Notes
    -----
    With a unit column persons are counted, not rows. Cost: O(attacks · n · columns of a predicate), up to
    eight times that where few predicates fit one released row.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": range(40), "cost": [7 * i % 41 for i in range(40)]})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"])
    >>> other = pl.DataFrame({"age": [i % 8 for i in range(40)], "cost": [i % 5 for i in range(40)]})
    >>> shoal.risk.singling_out(table, table, schema, control=other).multivariate.verdict
    'leak'
    """
    check_attacks("singling_out", attacks)
    tables = attack_table(original, released, schema, control, source_rows, columns)
    rng = stream(seed, "risk", "singling out")
    sides = _same_size(tables, rng)
    width = len(tables.names) if n_columns is None else max(1, min(n_columns, len(tables.names)))
    single = _chosen(list(_univariate(tables)), attacks, rng)
    several = _multivariate(tables, attacks, width, rng)
    return SinglingOut(
        univariate=_judged("singling out, one column", tables, sides, single, _blind(tables, attacks, 1, rng)),
        multivariate=_judged(
            "singling out, several columns", tables, sides, several, _blind(tables, attacks, width, rng)
        ),
    )


def _judged(
    name: str,
    tables: AttackTable,
    sides: Sequence[tuple[FloatArray, IntArray]],
    predicates: Sequence[Predicate],
    blind: Sequence[Predicate],
) -> AttackRisk:
    counted = [_isolated(predicates, *side) for side in sides]
    return judged(name, counted[0], counted[1] if len(counted) > 1 else None, _isolated(blind, *sides[0]))


def _same_size(tables: AttackTable, rng: Generator) -> list[tuple[FloatArray, IntArray]]:
    """Original and control, the larger one as a random sample of as many rows as the smaller has."""
    sides = tables.sides()
    n = min(len(values) for values, _ in sides)
    out = []
    for values, persons in sides:
        rows = np.arange(len(values)) if len(values) == n else rng.choice(len(values), n, replace=False)
        out.append((values[rows], persons[rows]))
    return out


def _isolated(predicates: Sequence[Predicate], values: FloatArray, persons: IntArray) -> Tally:
    """How many predicates exactly one person satisfies."""
    hits = 0
    for predicate in predicates:
        rows = np.flatnonzero(fitting(predicate, values))
        hits += len(rows) > 0 and bool((persons[rows] == persons[rows[0]]).all())
    return Tally(hits=hits, n=len(predicates))


def fitting(predicate: Predicate, values: FloatArray) -> BoolArray:
    """Which rows satisfy a predicate."""
    out = np.ones(len(values), dtype=np.bool_)
    for j, comparison, value in zip(*predicate, strict=True):
        column = values[:, j]
        if comparison == _MISSING:
            out &= np.isnan(column)
        elif comparison == _EQUAL:
            out &= column == value
        else:
            out &= column >= value if comparison == _AT_LEAST else column <= value
    return out


def _univariate(tables: AttackTable) -> Iterator[Predicate]:
    for j in range(len(tables.names)):
        column = tables.released[:, j]
        lost = np.isnan(column)
        if lost.sum() == 1:
            yield Predicate((j,), (_MISSING,), (0.0,))
        values, counts = np.unique(column[~lost], return_counts=True)
        if len(values) == 0:
            continue
        if tables.ordered[j]:
            yield Predicate((j,), (_AT_MOST,), (float(values[0]),))
            yield Predicate((j,), (_AT_LEAST,), (float(values[-1]),))
        for value in values[counts == 1]:
            yield Predicate((j,), (_EQUAL,), (float(value),))


def _multivariate(tables: AttackTable, attacks: int, width: int, rng: Generator) -> list[Predicate]:
    """Predicates from released records, each once: those that fit one released row only, or all if these are few."""
    middle = _medians(tables.released)
    found: dict[Predicate, bool] = {}
    n_alone = 0
    for _ in range(_TRIES * attacks):
        if n_alone == attacks:
            break
        row = tables.released[rng.integers(len(tables.released))]
        places = tuple(sorted(int(j) for j in rng.choice(len(tables.names), width, replace=False)))
        predicate = _from_row(row, places, tables.ordered, middle)
        if predicate not in found:
            found[predicate] = np.count_nonzero(fitting(predicate, tables.released)) == 1
            n_alone += found[predicate]
    alone = [predicate for predicate, is_alone in found.items() if is_alone]
    return alone if len(alone) >= min(attacks * _FEW, len(found)) else list(found)[:attacks]


def _from_row(row: FloatArray, places: tuple[int, ...], ordered: BoolArray, middle: FloatArray) -> Predicate:
    comparisons = []
    for j in places:
        if np.isnan(row[j]):
            comparisons.append(_MISSING)
        elif ordered[j]:
            comparisons.append(_AT_LEAST if row[j] > middle[j] else _AT_MOST)
        else:
            comparisons.append(_EQUAL)
    return Predicate(places, tuple(comparisons), tuple(0.0 if np.isnan(row[j]) else float(row[j]) for j in places))


def _blind(tables: AttackTable, attacks: int, width: int, rng: Generator) -> list[Predicate]:
    """Predicates whose values and comparisons are drawn for each column by itself."""
    out = []
    for _ in range(attacks):
        rows = rng.integers(len(tables.released), size=len(tables.names))
        row = tables.released[rows, np.arange(len(tables.names))]
        places = tuple(sorted(int(j) for j in rng.choice(len(tables.names), width, replace=False)))
        middle = np.where(rng.random(len(row)) < 0.5, np.inf, -np.inf)
        out.append(_from_row(row, places, tables.ordered, middle))
    return out


def _medians(released: FloatArray) -> FloatArray:
    known = [column[~np.isnan(column)] for column in released.T]
    return np.array([float(np.median(column)) if len(column) else 0.0 for column in known])


def _chosen(predicates: list[Predicate], most: int, rng: Generator) -> list[Predicate]:
    if len(predicates) <= most:
        return predicates
    return [predicates[int(i)] for i in rng.choice(len(predicates), most, replace=False)]
