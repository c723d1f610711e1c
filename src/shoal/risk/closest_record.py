"""Closest record: do synthetic rows lie nearer to the people they were learnt from than other people do?

A synthetic row is nobody's, so there is nobody to link it to. What a model can do wrong is to remember: its rows then
lie nearer to real records than a new person of the same population would. Distances are those of
`reidentification` (standardised numbers, equally distant levels), to the nearest record of a reference table R:

- without a control group, some original records A are set aside, R is the rest (without other rows of A's persons),
  and share = P(d(synthetic, R) < d(A, R)) + P(equal) / 2: who is nearer to R, a synthetic row or another person?
- with a control group of persons that the model never saw, share = P(d(synthetic, training) < d(synthetic, control))
  + P(equal) / 2, with as many training records as there are control persons.

1/2 is what rows of the same population, drawn anew, would have; 1 is a model that repeats its records. Below 1/2 the
synthetic rows are further from people than people are from each other. A copy is at distance 0, and so is a person
with a twin: in coarse tables both are common and tie.

Measured on a stated random sample of rows, each against all of R; the interval is that of the sample. It is one
attack: a model may remember in ways that no distance shows. Only differential privacy bounds all of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import prepare
from shoal.equivalence import equal_rows
from shoal.errors import InputError, SchemaError
from shoal.frame import enter
from shoal.pair import NOBODY, Pair
from shoal.record import Record
from shoal.risk.geometry import Geometry
from shoal.risk.nearest import distances, in_code_order, known_codes
from shoal.risk.uncertainty import mean_interval
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["ClosestRecord", "closest_record", "measure"]

_MOST = 2_000  # rows of either sample: the share is seen to within about 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosestRecord(Record):
    """How near synthetic rows are to real records.

    Parameters
    ----------
    share, interval
        Chance that a synthetic row is nearer to the reference than another person is (or nearer to training records
        than to control persons), ties half; and its 95% interval. 1/2 is nothing remembered.
    median, other_median
        Median distance of synthetic rows, and of what they are compared with.
    copied_share, other_copied_share
        Share of either at distance 0.
    with_control
        Whether a control group was given.
    n_targets, sampled
        Synthetic rows that were measured, and whether they are a random sample of all.
    n_reference
        Records of the reference table.
    """

    releasable: ClassVar[bool] = False

    share: float
    interval: tuple[float, float]
    median: float
    other_median: float
    copied_share: float
    other_copied_share: float
    with_control: bool
    n_targets: int
    sampled: bool
    n_reference: int

    def __float__(self) -> float:
        return self.share


def closest_record(
    original: Any, synthetic: Any, schema: Schema, control: Any = None, seed: int = 0
) -> ClosestRecord | None:
    """Are synthetic rows nearer to the people they were learnt from than other people are?

    Parameters
    ----------
    original, synthetic, schema
        The table that a model was fitted to, rows drawn from the model, and the schema of the original.
    control
        A table of persons of the same population whom the model never saw, with the quasi-identifiers.
    seed
        Seed of the samples.

    Returns
    -------
    The measure, or None where the original has too few persons to set some aside.

    Notes
    -----
    Over the quasi-identifiers. A missing number counts as the mean, a missing category as a level of its own. Weights
    play no part. Cost: one tree over the reference, O(n log n), and at most 4,000 searches.

    Examples
    --------
    >>> import numpy as np, polars as pl, shoal
    >>> rng = np.random.default_rng(1)
    >>> table = pl.DataFrame({"age": rng.normal(50, 20, 400), "income": rng.lognormal(10, 1, 400)})
    >>> schema = shoal.Schema.of(quasi=["age", "income"])
    >>> shoal.risk.closest_record(table, table, schema).share > 0.7
    True
    """
    rows = len(enter(synthetic, owner="synthetic table"))
    return measure(Pair.of(original, synthetic, schema, np.full(rows, NOBODY)), control=control, seed=seed)


def measure(pair: Pair, *, control: Any = None, seed: int = 0) -> ClosestRecord | None:
    """`closest_record` of an existing pair."""
    shown = known_codes(pair)
    rng = stream(seed, "closest record")
    rows = in_code_order(shown)[rng.choice(len(shown), min(_MOST, len(shown)), replace=False)]
    if control is not None:
        return _against_control(pair, shown[rows], _control_codes(pair, control), rng.permutation(pair.original.n))
    aside = in_code_order(pair.original_codes)[
        rng.choice(pair.original.n, min(_MOST, pair.original.n // 5), replace=False)
    ]
    person = pair.original.units()
    rest = ~np.isin(person, person[aside])
    if len(aside) < 2 or not rest.any():
        return None
    reference = pair.original_codes[rest]
    near = _nearest(pair, shown[rows], reference)
    others = _nearest(pair, pair.original_codes[aside], reference)
    share, interval = nearer(near, others)
    return _report(pair, share, interval, near, others, n_reference=len(reference), with_control=False)


def _control_codes(pair: Pair, control: Any) -> FloatArray:
    frame = enter(control, owner="control table")
    for name in pair.schema.quasi:
        if name not in frame.columns:
            raise SchemaError("control table", f"must have the column '{name}'")
    if len(frame) == 0:
        raise InputError("control table", "must have at least one row", got="0 rows")
    rules = Schema(tuple(pair.schema[name] for name in pair.schema.quasi))
    return pair.encoder.codes(prepare(frame.select(pair.schema.quasi), rules).frame)


def _against_control(pair: Pair, shown: FloatArray, control: FloatArray, order: IntArray) -> ClosestRecord:
    size = min(len(control), pair.original.n)
    near = _nearest(pair, shown, pair.original_codes[order[:size]])
    others = _nearest(pair, shown, control[:size])
    wins = (near < others) + (near == others) / 2
    low, high = mean_interval(wins)
    return _report(
        pair,
        float(wins.mean()),
        (max(0.0, low), min(1.0, high)),
        near,
        others,
        n_reference=size,
        with_control=True,
    )


def _nearest(pair: Pair, codes: FloatArray, reference: FloatArray) -> FloatArray:
    """Distance of each row to the nearest of a reference table, whose equal rows count once."""
    ids, _, n = equal_rows(reference, reference[:0])
    distinct = np.empty(n, dtype=np.int64)
    distinct[ids] = np.arange(len(ids))
    return distances(codes, reference[distinct], Geometry.standardised(pair.encoder))


def _report(
    pair: Pair,
    share: float,
    interval: tuple[float, float],
    near: FloatArray,
    others: FloatArray,
    *,
    n_reference: int,
    with_control: bool,
) -> ClosestRecord:
    return ClosestRecord(
        share=share,
        interval=interval,
        median=float(np.median(near)),
        other_median=float(np.median(others)),
        copied_share=float((near == 0).mean()),
        other_copied_share=float((others == 0).mean()),
        with_control=with_control,
        n_targets=len(near),
        sampled=len(near) < len(pair.released),
        n_reference=n_reference,
    )


def nearer(x: FloatArray, y: FloatArray) -> tuple[float, tuple[float, float]]:
    """P(x < y) + P(x = y) / 2 for values drawn from `x` and `y`, with DeLong's 95% interval of two samples."""
    below = _share_above(x, y)  # of y above each x
    above = 1 - _share_above(y, x)
    share = float(below.mean())
    (low, high), (other_low, other_high) = mean_interval(below), mean_interval(above)
    half = math.hypot((high - low) / 2, (other_high - other_low) / 2)
    return share, (max(0.0, share - half), min(1.0, share + half))


def _share_above(x: FloatArray, y: FloatArray) -> FloatArray:
    """Share of `y` above each of `x`, ties half."""
    ordered = np.sort(y)
    left, right = np.searchsorted(ordered, x, side="left"), np.searchsorted(ordered, x, side="right")
    return 1 - (left + right) / (2 * len(y))
