"""k-map and δ-presence: the table against the population it comes from.

**k-map** (Sweeney 2002): every record's combination is shared by at least k persons of the *population*, whatever the
table's own classes are. **δ-presence** (Nergiz, Atzori and Clifton 2007): nobody who knows the population can say with
more certainty than δ that a person is in the table: δ_c = f_c / F_c for every class of the population, those with
f_c = 0 included.

What is known of the population decides what is said:

- a **table** of it: F is counted. A record whose class has F = 0 isn't covered by the file, which is an error in it and
  no safety, and is counted apart;
- its **margins**, the number of persons with each value of each column: F lies between max(0, Σ m_j − (d − 1) N) and
  min m_j. k-map is proved by the lower bound only and refuted by the upper one;
- its **size** N: P(F < k | f) of the negative binomial model. "F is about f N/n" would call everybody safe.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from shoal import frequency as posterior
from shoal.arrays import FloatArray, IntArray
from shoal.conform import with_persons
from shoal.equivalence import Codes, classes_of, codes, combine
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.frame import Frame, enter, series
from shoal.frequency import estimated_size, sampling_fractions
from shoal.record import Interval, Record
from shoal.risk.class_sizes import table_classes
from shoal.risk.column_contribution import check_k
from shoal.risk.keys import common_codes, require_keys
from shoal.schema import Schema

__all__ = ["KMap", "Presence", "k_map", "margin_bounds", "presence"]

Margins = Mapping[str, Mapping[Any, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KMap(Record):
    """How many records fewer than k persons of the population share.

    Parameters
    ----------
    k, basis
        The k asked for, and what is known: ``"table"``, ``"margins"`` or ``"size"``.
    n_records
        Rows of the table.
    smallest
        The smallest F of a record's class that the file covers; of margins, the smallest lower bound; None of a size.
    violating
        Records with F < k: a count, an interval [refuted, not proved] from margins, an expectation from a size.
    uncovered
        Records whose class the population file doesn't have: the file is incomplete.
    holds
        Whether k-map holds (True), doesn't (False), or isn't decided by what is known (None).
    """

    k: int
    basis: Literal["table", "margins", "size"]
    n_records: int
    smallest: float | None
    violating: float
    interval: Interval
    uncovered: int
    holds: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence(Record):
    """How surely the population file tells who is in the table.

    Parameters
    ----------
    least, most
        Smallest and largest share of a population class that is in the table: the table is (least, most)-present.
    n_certain
        Persons of the population in classes that are wholly in the table.
    n_absent
        Persons in classes of which nobody is.
    fraction
        Table over population: what everybody knows without looking.
    """

    least: float
    most: float
    n_certain: int
    n_absent: int
    fraction: float


def k_map(table: Any, population: Any, schema: Schema, k: int = 5) -> KMap:
    """Hold a table to k-map.

    Parameters
    ----------
    table, schema
        A table of any dataframe type with the schema's quasi-identifiers, and which they are.
    population
        A table of the whole population with the same columns; or its margins, for each column a mapping from value to
        number of persons; or its size.
    k
        How many persons of the population must share each record's combination.

    Notes
    -----
    With a unit column, in either table, persons are counted. Values are compared as they are: a coarsened table needs
    a population coarsened alike. Cost: O(n + N).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 30, 30, 41, 41, 57]})
    >>> found = shoal.risk.k_map(people[2:4], people, shoal.Schema.of(quasi=["age"]), k=3)
    >>> found.violating, found.holds
    (1.0, False)
    """
    check_k("k_map", k)
    frame = enter(table)
    require_keys(frame, schema)
    if isinstance(population, Mapping):
        return _by_margins(frame, schema, population, k)
    if isinstance(population, int | float) and not isinstance(population, bool):
        return _by_size(frame, schema, float(population), k)
    return _by_table(frame, enter(population, owner="population"), schema, k)


def presence(table: Any, population: Any, schema: Schema) -> Presence:
    """How surely can somebody who has the population file tell who is in the table?

    Parameters
    ----------
    table, schema
        A table of any dataframe type with the schema's quasi-identifiers, and which they are.
    population
        A table of the whole population with the same columns.

    Notes
    -----
    Raises an InputError where the population lacks a class of the table, or has fewer of it: then it isn't the
    population. A bound `most` ≤ 1/k implies k-map for that k; k-map alone bounds no δ.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> people = pl.DataFrame({"age": [30, 30, 30, 41, 41, 57]})
    >>> found = shoal.risk.presence(people[2:4], people, shoal.Schema.of(quasi=["age"]))
    >>> found.least, found.most
    (0.0, 0.5)
    """
    frame, people = enter(table), enter(population, owner="population")
    require_keys(frame, schema)
    f, F, _ = _joint(frame, people, schema)
    if (f > F).any():
        raise InputError(
            "population",
            "must hold every person of the table",
            got=f"{int((f > F).sum())} combinations with fewer persons than the table has",
        )
    delta = f[F > 0] / F[F > 0]
    F = F[F > 0]
    return Presence(
        least=float(delta.min()),
        most=float(delta.max()),
        n_certain=int(F[delta == 1].sum()),
        n_absent=int(F[delta == 0].sum()),
        fraction=float(f.sum()) / float(F.sum()),
    )


def _by_table(frame: Frame, people: Frame, schema: Schema, k: int) -> KMap:
    _, F, labels = _joint(frame, people, schema)
    shared = F[labels]
    covered = shared[shared > 0]
    violating = int(((shared < k) & (shared > 0)).sum())
    uncovered = int((shared == 0).sum())
    return KMap(
        k=k,
        basis="table",
        n_records=len(frame),
        smallest=float(covered.min()) if len(covered) else None,
        violating=float(violating),
        interval=(float(violating), float(violating + uncovered)),
        uncovered=uncovered,
        holds=False if violating else None if uncovered else True,
    )


def _joint(frame: Frame, people: Frame, schema: Schema) -> tuple[IntArray, IntArray, IntArray]:
    """Persons of the table and of the population in each class of either, and the class of each row of the table."""
    n = len(frame)
    stacked = []
    for name in schema.quasi:
        if name not in people.columns:
            raise SchemaError("population", f"must have the column '{name}'")
        first, second = common_codes(series(frame, name), series(people, name))
        stacked.append(Codes(values=np.concatenate([first.values, second.values]), n=first.n))
    key = combine(stacked)
    return (
        _persons(key.values[:n], key.n, frame, schema),
        _persons(key.values[n:], key.n, people, schema),
        key.values[:n],
    )


def _persons(labels: IntArray, n: int, frame: Frame, schema: Schema) -> IntArray:
    """Distinct persons in each of `n` classes."""
    frame, schema = with_persons(frame, schema)
    if schema.unit is None or schema.unit not in frame.columns:
        return np.bincount(labels, minlength=n)
    pairs = pl.DataFrame({"label": labels, "unit": classes_of(frame, [schema.unit]).labels}).unique()
    return np.bincount(pairs["label"].to_numpy(), minlength=n)


def _by_margins(frame: Frame, schema: Schema, margins: Margins, k: int) -> KMap:
    totals = {name: _total(margins, name) for name in schema.quasi}
    N = max(totals.values())
    if min(totals.values()) < N * (1 - 1e-6):
        raise ParameterError(
            "population", "margins must all have the same total", got=f"{len(totals)} totals that differ"
        )
    counts = np.column_stack([_margin(series(frame, name), margins[name]) for name in schema.quasi])
    low, high = margin_bounds(counts, N)
    uncovered = int((high <= 0).sum())
    refuted, unproved = int(((high < k) & (high > 0)).sum()), int((low < k).sum())
    return KMap(
        k=k,
        basis="margins",
        n_records=len(frame),
        smallest=float(low.min()),
        violating=float(refuted),
        interval=(float(refuted), float(unproved)),
        uncovered=uncovered,
        holds=False if refuted else None if unproved else True,
    )


def margin_bounds(counts: FloatArray, N: float) -> tuple[FloatArray, FloatArray]:
    """Bounds of F for rows of one-way counts m_1 .. m_d among N persons (Fréchet)."""
    d = counts.shape[1]
    return np.maximum(0.0, counts.sum(axis=1) - (d - 1) * N), counts.min(axis=1)


def _total(margins: Margins, name: str) -> float:
    if not isinstance(margins.get(name), Mapping):
        raise ParameterError("population", f"must give the number of persons with each value of '{name}'")
    counts = [float(count) for count in margins[name].values()]
    if not counts or min(counts) < 0 or sum(counts) <= 0:
        raise ParameterError("population", f"margin of '{name}' must hold numbers of persons")
    return sum(counts)


def _margin(content: pl.Series, margin: Mapping[Any, float]) -> FloatArray:
    found = codes(content)
    example: IntArray = np.empty(found.n, dtype=np.int64)
    example[found.values] = np.arange(len(content))
    counts = np.zeros(found.n)
    for code in np.unique(found.values):
        counts[code] = float(margin.get(content[int(example[code])], 0))
    return counts[found.values]


def _by_size(frame: Frame, schema: Schema, size: float, k: int) -> KMap:
    found = table_classes(frame, schema)
    N = estimated_size(frame, schema, found, size)
    p = sampling_fractions(frame, schema, found, N or size)
    chance = posterior.below(found.sizes, p, k)[found.labels]
    return KMap(
        k=k,
        basis="size",
        n_records=len(frame),
        smallest=None,
        violating=float(chance.sum()),
        interval=(0.0, float(len(frame))),
        uncovered=0,
        holds=True if float(chance.max()) == 0 else None,
    )
