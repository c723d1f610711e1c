"""How much of an attack's success is owed to people having been in the data?

An attack that works on everybody alike learns the population, not the persons. So the same attack is tried on a control
group that had no part in the release (Giomi et al. 2023). With success rates m on members and c on the control,

    risk = (m − c) / (1 − c),
    error² = (e_m / (1 − c))² + (e_c (1 − m) / (1 − c)²)²,

e the half-widths of Wilson's intervals. The value is that of the raw shares; the interval is centred on Wilson's, and
cut to 0..1. Where an attack does no better than random guessing it is too weak to measure anything: that is no
evidence, not no risk. One risk for each attack; they are never averaged.

`AttackTable` has original, release and control group in the same numbers, for attacks that compare values across them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.conform import levels_like, prepare
from shoal.domain.absence import numbers
from shoal.equivalence import codes, ranks
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.frame import series
from shoal.pair import NOBODY, Pair
from shoal.record import Interval, Record
from shoal.risk.uncertainty import wilson
from shoal.schema import Column, Schema

__all__ = [
    "AttackRisk",
    "AttackTable",
    "Tally",
    "Verdict",
    "attack_table",
    "check_attacks",
    "gower",
    "judged",
    "nearest",
    "residual",
    "wilson_centre",
]

Verdict = Literal["leak", "none seen", "too weak", "undefined"]
_Z = 1.959963984540054  # the 97.5% point of the normal distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Successes among tries."""

    hits: int
    n: int

    @property
    def share(self) -> float:
        """The share of successes; 0 without a try."""
        return self.hits / self.n if self.n else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRisk(Record):
    """One attack, compared with people who were not in the data.

    Parameters
    ----------
    attack
        What was tried.
    n_attacks, rate, rate_interval
        Tries on members, the share that succeeded, and its 95% interval.
    n_control, control_rate
        Tries on the control group and the share that succeeded; None without a control group.
    baseline_rate
        What random guessing reaches.
    risk, interval
        By how much the attack is better on members, (m − c) / (1 − c), at least 0, with its 95% interval. Without a
        control group c is the baseline: then it says what the release teaches of anybody, not what it leaks.
    raw
        The same before it is cut at 0.
    verdict
        ``"leak"`` (the interval lies above 0), ``"none seen"``, ``"too weak"`` (no better than guessing) or
        ``"undefined"`` (the control group always succeeds, or nothing could be tried).
    """

    attack: str
    n_attacks: int
    rate: float
    rate_interval: Interval
    n_control: int | None
    control_rate: float | None
    baseline_rate: float
    risk: float
    interval: Interval
    raw: float
    verdict: Verdict

    def __float__(self) -> float:
        return self.risk


def judged(attack: str, members: Tally, control: Tally | None, baseline: Tally) -> AttackRisk:
    """Hold an attack on members against the control group, or against guessing where there is none."""
    against = baseline if control is None else control
    raw, interval = residual(members, against)
    return AttackRisk(
        attack=attack,
        n_attacks=members.n,
        rate=members.share,
        rate_interval=wilson(members.share, members.n),
        n_control=None if control is None else control.n,
        control_rate=None if control is None else control.share,
        baseline_rate=baseline.share,
        risk=min(1.0, max(0.0, raw)),
        interval=interval,
        raw=raw,
        verdict=_verdict(members, against, baseline, interval),
    )


def residual(members: Tally, against: Tally) -> tuple[float, Interval]:
    """(m − c) / (1 − c) of the raw shares, and its interval around Wilson's centres; (0, (0, 1)) where c is 1."""
    if members.n == 0 or against.n == 0 or against.hits == against.n:
        return 0.0, (0.0, 1.0)
    m, e_m = wilson_centre(members.hits, members.n)
    c, e_c = wilson_centre(against.hits, against.n)
    centre = (m - c) / (1 - c)
    error = math.hypot(e_m / (1 - c), e_c * (1 - m) / (1 - c) ** 2)
    raw = (members.share - against.share) / (1 - against.share)
    return raw, (min(1.0, max(0.0, centre - error)), min(1.0, max(0.0, centre + error)))


def wilson_centre(hits: int, n: int) -> tuple[float, float]:
    """Centre and half-width of Wilson's 95% interval."""
    centre = (hits + _Z**2 / 2) / (n + _Z**2)
    return centre, _Z / (n + _Z**2) * math.sqrt(hits * (n - hits) / n + _Z**2 / 4)


def _verdict(members: Tally, against: Tally, baseline: Tally, interval: Interval) -> Verdict:
    if members.n == 0 or against.n == 0 or against.hits == against.n:
        return "undefined"
    if interval[0] > 0:
        return "leak"
    return "too weak" if members.share <= baseline.share else "none seen"


_BLOCK = 4_000_000  # distances held at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackTable:
    """Three tables in common codes; a missing value is NaN.

    Parameters
    ----------
    names, ordered
        The columns, and which of them have an order (numbers and ordinal levels).
    original, released, control
        Codes by row and column; `control` is None where no control group was given.
    persons, control_persons
        The person of each original and control row.
    """

    names: tuple[str, ...]
    ordered: BoolArray
    original: FloatArray
    released: FloatArray
    control: FloatArray | None
    persons: IntArray
    control_persons: IntArray | None

    def of(self, names: Sequence[str]) -> AttackTable:
        """Some of the columns."""
        place = [self.names.index(name) for name in names]
        return replace(
            self,
            names=tuple(names),
            ordered=self.ordered[place],
            original=self.original[:, place],
            released=self.released[:, place],
            control=None if self.control is None else self.control[:, place],
        )

    def sides(self) -> list[tuple[FloatArray, IntArray]]:
        """Original and control with their persons, the control only where there is one."""
        both = [(self.original, self.persons)]
        if self.control is not None and self.control_persons is not None:
            both.append((self.control, self.control_persons))
        return both


def attack_table(
    original: Any,
    released: Any,
    schema: Schema,
    control: Any = None,
    source_rows: Any = None,
    columns: Sequence[str] | None = None,
) -> AttackTable:
    """Bring the tables together over `columns`, by default all quasi-identifiers and sensitive ones of the release.

    Which released row is whose plays no part; `source_rows` are needed to read a coarsened release only.
    """
    n_released = len(released) if hasattr(released, "__len__") else None
    rows = source_rows if source_rows is not None or n_released is None else np.full(n_released, NOBODY)
    pair = Pair.of(original, released, schema, rows)
    others = None if control is None else prepare(control, schema)
    names = _names(pair, columns)
    coded = [_coded(pair, None if others is None else others.frame, name) for name in names]
    n, m = pair.original.n, len(pair.released)
    if m == 0:
        raise InputError("released table", "must have at least one row", got="0 rows")
    whole = np.column_stack(coded)
    return AttackTable(
        names=names,
        ordered=np.array([pair.schema[name].kind != "nominal" for name in names], dtype=np.bool_),
        original=whole[:n],
        released=whole[n : n + m],
        control=None if others is None else whole[n + m :],
        persons=pair.original.units(),
        control_persons=None if others is None else others.units(),
    )


def check_attacks(owner: str, attacks: object) -> None:
    """Refuse a number of attacks that is no whole number from 1 up."""
    if not isinstance(attacks, int) or isinstance(attacks, bool) or attacks < 1:
        raise ParameterError(owner, "attacks must be a whole number, at least 1", got=repr(attacks)[:60])


def nearest(
    queries: FloatArray, targets: FloatArray, ordered: BoolArray, k: int, rng: Generator
) -> tuple[IntArray, FloatArray]:
    """The `k` nearest rows of `targets` for each query, with their distances; ties are broken at random."""
    k = min(k, len(targets))
    span = spans(targets, ordered)
    found, far = np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))
    step = max(1, _BLOCK // max(1, len(targets)))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        distance = gower(queries[block], targets, ordered, span)
        shaken = distance + rng.random(len(targets)) * 1e-9
        some = np.argpartition(shaken, k - 1, axis=1)[:, :k] if k < len(targets) else np.argsort(shaken, axis=1)
        order = np.argsort(np.take_along_axis(shaken, some, axis=1), axis=1)
        found[block] = np.take_along_axis(some, order, axis=1)
        far[block] = np.take_along_axis(distance, found[block], axis=1)
    return found, far


def spans(targets: FloatArray, ordered: BoolArray) -> FloatArray:
    """The range of each ordered column among the released rows; 1 where there is none."""
    span = np.ones(targets.shape[1])
    for j in np.flatnonzero(ordered):
        known = targets[~np.isnan(targets[:, j]), j]
        span[j] = (known.max() - known.min() if len(known) else 0.0) or 1.0
    return span


def gower(queries: FloatArray, targets: FloatArray, ordered: BoolArray, span: FloatArray) -> FloatArray:
    """Mean over columns of |difference| / range, or of 0 and 1 for levels; missing is far from all but missing."""
    total = np.zeros((len(queries), len(targets)))
    for j in range(queries.shape[1]):
        a, b = queries[:, j, None], targets[None, :, j]
        apart = np.abs(a - b) / span[j] if ordered[j] else (a != b).astype(np.float64)
        lost_a, lost_b = np.isnan(a), np.isnan(b)
        if lost_a.any() or lost_b.any():
            apart = np.where(lost_a & lost_b, 0.0, np.where(lost_a | lost_b, 1.0, apart))
        total += apart
    mean: FloatArray = total / max(1, queries.shape[1])
    return mean


def _names(pair: Pair, columns: Sequence[str] | None) -> tuple[str, ...]:
    shown = pair.released.columns
    if columns is None:
        return tuple(name for name in (*pair.schema.quasi, *pair.schema.sensitive) if name in shown)
    for name in columns:
        if name not in pair.schema or name not in shown:
            raise SchemaError("columns", f"column '{name}' must be in the schema and in both tables")
    return tuple(columns)


def _coded(pair: Pair, others: Any, name: str) -> FloatArray:
    column = pair.schema[name]
    parts = [series(pair.original.frame, name), pair.released_column(name)]
    parts += [] if others is None else [series(others, name)]
    if column.kind == "numeric":
        return np.concatenate([numbers(part, column) for part in parts])
    return _levels(pl.concat([part.cast(pl.String).alias(name) for part in parts]), parts[0], column)


def _levels(texts: pl.Series, content: pl.Series, column: Column) -> FloatArray:
    if column.kind == "nominal":
        found = codes(texts)
    elif column.levels is not None:
        found = ranks(texts, levels_like(content, column).cast(pl.String))
    else:
        own = content.drop_nulls().unique().sort().cast(pl.String)
        found = ranks(texts, own)
    values = found.values.astype(np.float64)
    values[texts.is_null().to_numpy()] = np.nan
    return values
