"""Linkability and inference: two attacks that look up a person's nearest released rows.

**Linkability** (Giomi et al. 2023): somebody holds two registers of the same people, one with the columns A and one
with the columns B. Does the release help to link them? A target's k nearest released rows by A, and by B, are looked
up; if they share a row, the halves are linked.

**Guessing** (attribute inference): the intruder knows a target's quasi-identifiers x and guesses the secret s from
P(s | x), estimated from the release: the nearest rows vote with weights that fall with distance, shrunk towards the
whole release. A class is right if it is equal, a number if |guess − truth| ≤ tolerance · |truth|.

Distances are Gower's: the mean over columns of |difference| / range, 0 or 1 for levels. Ties are broken at random.
Either attack is held against people who were not in the data (`shoal.risk.control_group`) and against random guesses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.errors import ParameterError, SchemaError
from shoal.record import Record
from shoal.risk.control_group import AttackRisk, AttackTable, Tally, attack_table, check_attacks, judged, nearest
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["Guessing", "guessing", "linkability"]

_VOTERS = 30
_PRIOR = 1.0  # weight of the whole release, where one of the nearest rows has 1 on average


@dataclass(frozen=True, slots=True, kw_only=True)
class Guessing(Record):
    """The guess of each sensitive column, by name."""

    columns: dict[str, AttackRisk]

    @property
    def worst(self) -> AttackRisk:
        """The column with the largest risk."""
        return max(self.columns.values(), key=lambda attack: attack.risk)

    @property
    def risk(self) -> float:
        """The largest risk of a column."""
        return self.worst.risk


def linkability(
    original: Any,
    released: Any,
    schema: Schema,
    control: Any = None,
    *,
    halves: tuple[Sequence[str], Sequence[str]] | None = None,
    neighbours: int = 1,
    attacks: int = 500,
    source_rows: Any = None,
    seed: int = 0,
) -> AttackRisk:
    """Link two halves of people's columns through the release.

    Parameters
    ----------
    original, released, schema
        Tables of any dataframe type, and the roles of their columns; rows need not correspond.
    control
        People of the same population who had no part in the release; strongly advised.
    halves
        The columns of either register; None: every other one of the release's quasi-identifiers and sensitive columns.
    neighbours
        How many nearest rows of either half are looked at. Raising it links more, also by chance.
    attacks
        How many people are tried at most, of either table.
    source_rows
        Original row of each released row, needed to read a coarsened release only.
    seed
        Repeats the choice of targets and the breaking of ties.

    Notes
    -----
    Cost: O(attacks · released rows · columns).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": range(60), "cost": [7 * i % 61 for i in range(60)]})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"])
    >>> shoal.risk.linkability(table, table, schema).rate
    1.0
    """
    check_attacks("linkability", attacks)
    check_attacks("linkability", neighbours)
    tables = attack_table(original, released, schema, control, source_rows)
    first, second = _halves(tables, halves)
    rng = stream(seed, "risk", "linkability")
    counted = [_linked(tables, values, first, second, neighbours, attacks, rng) for values, _ in tables.sides()]
    blind = _by_chance(counted[0].n, len(tables.released), neighbours, rng)
    return judged("linkability", counted[0], counted[1] if len(counted) > 1 else None, blind)


def guessing(
    original: Any,
    released: Any,
    schema: Schema,
    control: Any = None,
    *,
    sensitive: Sequence[str] | None = None,
    tolerance: float = 0.05,
    attacks: int = 500,
    source_rows: Any = None,
    seed: int = 0,
) -> Guessing:
    """Guess sensitive values from P(s | x), learnt from the release.

    Parameters
    ----------
    original, released, schema, control, attacks, source_rows, seed
        As for `linkability`.
    sensitive
        The columns to guess; None: all sensitive ones of the release.
    tolerance
        How near a guessed number must come to the truth, as a share of its absolute value.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": range(60), "ill": ["yes", "no", "no"] * 20})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
    >>> shoal.risk.guessing(table, table, schema).columns["ill"].rate > 0.9
    True
    """
    check_attacks("guessing", attacks)
    if not 0 <= tolerance < 1:
        raise ParameterError("guessing", "tolerance must be at least 0 and less than 1", got=repr(tolerance)[:60])
    tables = attack_table(original, released, schema, control, source_rows)
    known = [name for name in schema.quasi if name in tables.names]
    secrets = [name for name in (schema.sensitive if sensitive is None else sensitive) if name in tables.names]
    if not known or not secrets:
        raise SchemaError("guessing", "needs a quasi-identifier and a sensitive column in the release")
    return Guessing(columns={name: _guessed(tables, known, name, tolerance, attacks, seed) for name in secrets})


def _halves(
    tables: AttackTable, halves: tuple[Sequence[str], Sequence[str]] | None
) -> tuple[Sequence[str], Sequence[str]]:
    first, second = (tables.names[::2], tables.names[1::2]) if halves is None else halves
    if not first or not second or set(first) & set(second):
        raise ParameterError("linkability", "halves must be two lists of columns that have none in common")
    for name in (*first, *second):
        if name not in tables.names:
            raise SchemaError("linkability", f"column '{name}' must be in the schema and in both tables")
    return first, second


def _linked(
    tables: AttackTable,
    values: FloatArray,
    first: Sequence[str],
    second: Sequence[str],
    k: int,
    attacks: int,
    rng: Generator,
) -> Tally:
    rows = _targets(len(values), attacks, rng)
    found = []
    for half in (first, second):
        place = [tables.names.index(name) for name in half]
        found.append(nearest(values[rows][:, place], tables.released[:, place], tables.ordered[place], k, rng)[0])
    shared = (found[0][:, :, None] == found[1][:, None, :]).any(axis=(1, 2))
    return Tally(hits=int(shared.sum()), n=len(rows))


def _by_chance(n: int, released: int, k: int, rng: Generator) -> Tally:
    """The same with two random sets of k released rows."""
    k = min(k, released)
    hits = sum(
        bool(np.intersect1d(rng.choice(released, k, replace=False), rng.choice(released, k, replace=False)).size)
        for _ in range(n)
    )
    return Tally(hits=hits, n=n)


def _guessed(
    tables: AttackTable, known: Sequence[str], secret: str, tolerance: float, attacks: int, seed: int
) -> AttackRisk:
    rng = stream(seed, "risk", "guessing", secret)
    place, s = [tables.names.index(name) for name in known], tables.names.index(secret)
    numeric = bool(tables.ordered[s]) and not _is_coded(tables.released[:, s])
    values = tables.released[:, s]
    common = _typical(values, np.ones(len(values)), numeric)
    counted = []
    chance = Tally(hits=0, n=0)
    for i, (values, _) in enumerate(tables.sides()):
        rows = _targets(len(values), attacks, rng)
        rows = rows[~np.isnan(values[rows, s])]
        guess = _conditional(tables, values[rows][:, place], place, s, numeric, rng)
        counted.append(_right(guess, values[rows, s], numeric, tolerance))
        if i == 0:
            chance = _right(np.full(len(rows), common), values[rows, s], numeric, tolerance)
    return judged(f"guessing {secret}", counted[0], counted[1] if len(counted) > 1 else None, chance)


def _is_coded(values: FloatArray) -> bool:
    """Whether numbers are few and small enough to be classes: levels of an ordinal column, or counts."""
    known = values[~np.isnan(values)]
    return bool((known == np.round(known)).all()) and len(np.unique(known)) <= 20


def _conditional(
    tables: AttackTable, queries: FloatArray, place: Sequence[int], s: int, numeric: bool, rng: Generator
) -> FloatArray:
    """The likeliest class, or the weighted median, of P(s | x) for each query."""
    shown = ~np.isnan(tables.released[:, s])
    targets = tables.released[shown]
    rows, far = nearest(queries, targets[:, place], tables.ordered[list(place)], _VOTERS, rng)
    secrets = targets[:, s]
    weights = _weights(far)
    if numeric:
        return np.array([_typical(secrets[r], w, True) for r, w in zip(rows, weights, strict=True)])
    levels, place_of = np.unique(secrets, return_inverse=True)
    prior = np.bincount(place_of.reshape(-1)) / len(secrets)
    votes = np.tile(_PRIOR * prior, (len(queries), 1))
    np.add.at(votes, (np.arange(len(queries))[:, None], place_of.reshape(-1)[rows]), weights)
    likeliest: FloatArray = levels[votes.argmax(axis=1)]
    return likeliest


def _weights(far: FloatArray) -> FloatArray:
    """1 / (d + h)² with h a tenth of the usual distance, over their mean: a row that fits exactly outvotes the rest."""
    usual = max(float(np.median(far)), 1e-6)
    weights = (far + usual / 10) ** -2
    relative: FloatArray = weights / weights.mean(axis=1, keepdims=True)
    return relative


def _typical(values: FloatArray, weights: FloatArray, numeric: bool) -> float:
    """The weighted median, or the value of most weight."""
    inside = ~np.isnan(values)
    values, weights = values[inside], weights[inside]
    if len(values) == 0:
        return float("nan")
    if not numeric:
        levels, place = np.unique(values, return_inverse=True)
        return float(levels[np.bincount(place.reshape(-1), weights=weights).argmax()])
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def _right(guess: FloatArray, truth: FloatArray, numeric: bool, tolerance: float) -> Tally:
    good: BoolArray = np.abs(guess - truth) <= tolerance * np.abs(truth) if numeric else guess == truth
    return Tally(hits=int(good.sum()), n=len(truth))


def _targets(n: int, attacks: int, rng: Generator) -> IntArray:
    rows = np.arange(n) if n <= attacks else rng.choice(n, attacks, replace=False)
    return rows.astype(np.int64)
