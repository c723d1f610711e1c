"""Attribute inference: what can be guessed of a person's sensitive value from the release?

The intruder looks up the released rows nearest to a person's quasi-identifiers and guesses the most frequent value
among them, or their mean for a number (001, section 3.3.4). Ties of the mode are broken at random, and the
expectation is reported. A good guess is no leak by itself: a release that keeps regressions lets one guess for
anybody. So the guess is held against

- a **control** group that was not in the data, if given: only what works better on those who were in it is a leak;
- else the **baseline** of guessing the release's mode or mean for everybody: what the release teaches at all.

Categories: success share. Numbers: mean absolute error. `advantage` is how much better the attack is than its
reference, in the same unit, positive where it is better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.conform import Prepared, prepare
from shoal.domain.absence import numbers
from shoal.errors import SchemaError
from shoal.frame import enter, series
from shoal.pair import Pair
from shoal.record import Record
from shoal.risk.geometry import Geometry
from shoal.risk.nearest import Matches, known_codes, match, match_pair
from shoal.risk.uncertainty import mean_interval, wilson
from shoal.schema import Schema

__all__ = ["ColumnInference", "Inference", "inference", "measure"]

Guess: TypeAlias = Callable[[Matches, pl.Series], tuple[FloatArray, FloatArray]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnInference(Record):
    """The guess of one sensitive column.

    Parameters
    ----------
    column, measure
        The column, and what is measured: ``"success"`` (larger is worse for the person) or ``"error"`` (smaller is).
    value, interval
        Mean success share or absolute error over the original records, and its 95% interval.
    baseline
        The same for guessing the release's mode or mean.
    control
        The same attack on persons who were not in the data; None without a control group.
    advantage, advantage_interval
        By how much the attack beats the control (or the baseline), with its 95% interval.
    """

    releasable: ClassVar[bool] = True

    column: str
    measure: str
    value: float
    interval: tuple[float, float]
    baseline: float
    control: float | None
    advantage: float
    advantage_interval: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Inference(Record):
    """The guesses of all sensitive columns, by name; from `n_targets` persons, a random sample where `sampled`.

    `unmeasured` says of which columns there was nothing to guess, and why.
    """

    releasable: ClassVar[bool] = True

    columns: dict[str, ColumnInference]
    n_targets: int
    sampled: bool
    unmeasured: dict[str, str] = field(default_factory=dict)


def inference(
    original: Any,
    released: Any,
    schema: Schema,
    sensitive: Sequence[str] | str | None = None,
    control: Any = None,
    source_rows: Any = None,
    seed: int = 0,
) -> Inference:
    """Guess each original person's sensitive values from the nearest released rows and measure the success.

    Parameters
    ----------
    original, released, schema
        Both tables, of any dataframe type, and the schema of the original. Rows need not correspond.
    sensitive
        The columns to guess; None: the sensitive ones of the schema that the release has.
    control
        A table of persons who were not in the original, with the quasi-identifiers and the sensitive columns. With it,
        `advantage` counts only what being in the data cost.
    source_rows
        The original row of each released one; needed only where a column was coarsened.
    seed
        Seed of the sample of persons, where one is drawn.

    Notes
    -----
    Missing categories are a level of their own. A person whose sensitive number is missing isn't guessed, and a missing
    released number is left out of the mean. A coarsened cell is read as the typical value of the records that it stands
    for, which needs `source_rows`; without them it is refused. Ties in distance as in `reidentification`. Weights play
    no part. Cost: O(n log n) in the number of distinct points, of which a random sample is attacked where all would
    take long (`sampled`).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 41, 57], "ill": ["no", "no", "yes", "yes", "no"]})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
    >>> guess = shoal.risk.inference(table, table, schema).columns["ill"]
    >>> guess.value, guess.baseline
    (1.0, 0.6)
    """
    if source_rows is None:  # the attack needs no correspondence of rows
        source_rows = np.full(len(enter(released, owner="released table")), -1)
    pair = Pair.of(original, released, schema, source_rows)
    return measure(pair, sensitive=sensitive, control=control, seed=seed)


def measure(
    pair: Pair,
    *,
    sensitive: Sequence[str] | str | None = None,
    control: Any = None,
    matches: Matches | None = None,
    seed: int = 0,
) -> Inference:
    """`inference` of an existing pair; `matches` saves the search where it was made already."""
    names = _chosen(pair, sensitive)
    if not names:
        return Inference(columns={}, n_targets=0, sampled=False)
    matches = match_pair(pair, seed=seed) if matches is None else matches
    outsiders = None if control is None else _outsiders(pair, control, names, seed)
    reasons = {name: why for name in names if (why := _why_not(pair, name)) is not None}
    return Inference(
        columns={name: _attack(pair, name, matches, outsiders) for name in names if name not in reasons},
        n_targets=len(matches.queries),
        sampled=matches.sampled,
        unmeasured=reasons,
    )


def _why_not(pair: Pair, name: str) -> str | None:
    if pair.schema[name].kind != "numeric":
        return None
    if bool(np.isnan(numbers(series(pair.original.frame, name), pair.schema[name])).all()):
        return "no record of the original has a value"
    return "no released row has a value" if bool(np.isnan(pair.codes_of([name])[2]).all()) else None


def _chosen(pair: Pair, sensitive: Sequence[str] | str | None) -> list[str]:
    if sensitive is None:
        released = set(pair.released.columns)
        return [name for name in pair.schema.sensitive if name in released]
    names = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    for name in names:
        if name not in pair.schema.sensitive or name not in pair.released.columns:
            raise SchemaError("sensitive", f"column '{name}' must be sensitive in the schema and in the released table")
    return names


def _outsiders(pair: Pair, control: Any, names: list[str], seed: int) -> tuple[Prepared, Matches]:
    frame = enter(control, owner="control table")
    used = [*pair.schema.quasi, *names]
    for name in used:
        if name not in frame.columns:
            raise SchemaError("control table", f"must have the column '{name}'")
    prepared = prepare(frame.select(used), Schema(tuple(pair.schema[name] for name in used)))
    codes = pair.encoder.codes(prepared.frame)
    return prepared, match(codes, known_codes(pair), Geometry.standardised(pair.encoder), seed=seed)


def _attack(pair: Pair, name: str, matches: Matches, outsiders: tuple[Prepared, Matches] | None) -> ColumnInference:
    numeric = pair.schema[name].kind == "numeric"
    guess = _number_guess(pair, name) if numeric else _level_guess(pair, name)
    scores, baseline = guess(matches, series(pair.original.frame, name))
    reference, control = baseline, None
    if outsiders is not None:
        reference, _ = guess(outsiders[1], series(outsiders[0].frame, name))
        control = _mean(reference)
    sign = -1.0 if numeric else 1.0
    advantage, spread = _difference(scores, reference, paired=outsiders is None)
    low, high = sorted((sign * spread[0], sign * spread[1]))
    return ColumnInference(
        column=name,
        measure="error" if numeric else "success",
        value=_mean(scores),
        interval=mean_interval(scores) if numeric else wilson(_mean(scores), len(scores)),
        baseline=_mean(baseline),
        control=control,
        advantage=sign * advantage,
        advantage_interval=(low, high),
    )


def _difference(scores: FloatArray, reference: FloatArray, paired: bool) -> tuple[float, tuple[float, float]]:
    """Mean of `scores` less that of `reference`, with its interval: of the differences, or of two samples."""
    if paired:
        return _mean(scores - reference), mean_interval(scores - reference)
    gap = _mean(scores) - _mean(reference)
    halves = [(high - low) / 2 for low, high in (mean_interval(scores), mean_interval(reference))]
    half = math.hypot(*halves)
    return gap, (gap - half, gap + half)


def _number_guess(pair: Pair, name: str) -> Guess:
    """Absolute errors of the mean of the nearest rows, and of the release's mean, for records with a value."""
    released = pair.codes_of([name])[2][:, 0]

    def errors(matches: Matches, true: pl.Series) -> tuple[FloatArray, FloatArray]:
        values = matches.of_asked(numbers(true, pair.schema[name]))
        guess, overall = nearest_means(matches, released)
        known = ~np.isnan(values)
        return np.abs(guess[matches.queries[known]] - values[known]), np.abs(overall - values[known])

    return errors


def nearest_means(matches: Matches, released: FloatArray) -> tuple[FloatArray, float]:
    """Mean of the nearest released values of each distinct query (where all are missing, the overall one), and that."""
    present = ~np.isnan(released)
    overall = _mean(released[present])
    sums = np.bincount(matches.targets[present], weights=released[present], minlength=len(matches.counts))
    counts = np.bincount(matches.targets[present], minlength=len(matches.counts))
    total = np.bincount(matches.query, weights=sums[matches.target], minlength=matches.n_queries)
    number = np.bincount(matches.query, weights=counts[matches.target], minlength=matches.n_queries)
    return np.divide(total, number, out=np.full(matches.n_queries, overall), where=number > 0), overall


def _level_guess(pair: Pair, name: str) -> Guess:
    """Probability that the mode of the nearest rows, and that the release's mode, is the true value."""
    shown = series(pair.released, name)

    def successes(matches: Matches, true: pl.Series) -> tuple[FloatArray, FloatArray]:
        values, released, n_levels = _common_levels(true, shown)
        overall = np.bincount(released, minlength=n_levels)
        values = matches.of_asked(values)
        return nearest_modes(matches, released, values, n_levels), _mode_chance(overall)[values]

    return successes


def nearest_modes(matches: Matches, released: IntArray, values: IntArray, n_levels: int) -> FloatArray:
    """Chance that a mode of the nearest released values, ties at random, is the record's value."""
    from scipy.sparse import csr_array

    shape = (matches.n_queries, len(matches.counts))
    near = csr_array((np.ones(len(matches.query), dtype=np.int64), (matches.query, matches.target)), shape=shape)
    ones = np.ones(len(released), dtype=np.int64)
    content = csr_array((ones, (matches.targets, released)), shape=(len(matches.counts), n_levels))
    counts = (near @ content).tocsr()
    counts.sort_indices()
    row = np.repeat(np.arange(matches.n_queries), np.diff(counts.indptr))
    top = np.zeros(matches.n_queries, dtype=np.int64)
    np.maximum.at(top, row, counts.data)
    is_mode = counts.data == top[row]
    n_modes = np.bincount(row, weights=is_mode, minlength=matches.n_queries)
    modes = row[is_mode] * n_levels + counts.indices[is_mode]
    right: BoolArray = np.isin(matches.queries * n_levels + values, modes)
    return right / n_modes[matches.queries]


def _mode_chance(counts: IntArray) -> FloatArray:
    modes: BoolArray = counts == counts.max()
    return modes / int(modes.sum())


def _common_levels(true: pl.Series, shown: pl.Series) -> tuple[IntArray, IntArray, int]:
    """Both columns as numbers of one list of levels, a missing one included."""
    texts = pl.concat([_as_text(true, shown), _as_text(shown, true)]).cast(pl.Categorical).to_physical()
    numbers = texts.cast(pl.Int64).fill_null(-1).to_numpy() + 1
    return numbers[: len(true)], numbers[len(true) :], int(numbers.max()) + 1


def _as_text(column: pl.Series, other: pl.Series) -> pl.Series:
    if column.dtype.is_numeric() and other.dtype.is_numeric():
        column = column.cast(pl.Float64)
    return column.cast(pl.String).alias("level")


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else 0.0
