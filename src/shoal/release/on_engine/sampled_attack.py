"""The nearest-match attack for a sample of people against all released rows, wherever these are.

The targets are the records with the smallest marks under a secret key, so that every engine takes the same ones. For
each the engine finds, batch by batch, the least distance d and how many released rows have it; batches are merged by
the smaller d, equal ones add. Squared distances are added column by column, (x_j − y_j)² on the standardised scale, a
constant where levels differ, and rounded to 36 bits, so that they don't depend on the batch and rounding makes no
difference of a tie. A target is found with probability (own rows among the nearest) / (nearest rows): exact for these
targets, and the mean has an interval that holds for everybody.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.encode import Encoder
from shoal.engine import MARK, Batch, Engine, Relation
from shoal.engine.marks import marked
from shoal.release.on_engine.conform import PreparedRelation
from shoal.risk.uncertainty import chernoff

__all__ = ["TARGETS", "SampledAttack", "attack", "merged", "nearest_rows"]

TARGETS = 2_000
_TARGET, _NEAR, _TIES, _ROWS = "#target", "#near", "#ties", "#rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledAttack:
    """How often nearest-row matching finds the right person, of `n_targets` records drawn by a secret key."""

    expected: float
    interval: tuple[float, float]
    n_targets: int
    sampled: bool


def attack(
    engine: Engine, prepared: PreparedRelation, original: Relation, released: Relation, key: str
) -> SampledAttack:
    """Attack the rows `released`, which have their marks, for the records of `original` with the smallest marks."""
    encoder, unit = prepared.encoder, prepared.schema.unit
    targets = _targets(engine, original, prepared, key)
    own = _own_rows(engine, released, targets, unit)
    known = encoder.codes(targets)
    bound = np.full(len(targets), np.inf)
    which, distance = _own_distances(encoder, known, targets, own, unit)
    np.minimum.at(bound, which, distance)
    types = {_TARGET: pl.Int64(), _NEAR: pl.Float64(), _TIES: pl.Int64()}
    quasi = engine.select(released, list(prepared.schema.quasi))
    found = merged(engine.collect(engine.map(quasi, _search(encoder, known, bound), types)), len(targets))
    hits = np.bincount(which, weights=distance == found[0][which], minlength=len(targets))
    alike = _rows_alike(targets, own, unit)
    records = hits / alike / np.maximum(1, found[1])
    share, n = float(records.mean()), len(targets)
    whole = n == prepared.n
    interval = (share, share) if whole else chernoff(share, n)
    return SampledAttack(expected=share, interval=interval, n_targets=n, sampled=not whole)


def _targets(engine: Engine, original: Relation, prepared: PreparedRelation, key: str) -> pl.DataFrame:
    """The records with the smallest marks, the first of those that are equal."""
    names = prepared.marked_columns
    return marked(key)(engine.sample(engine.select(original, names), TARGETS, key, prepared.n))


def _own_rows(engine: Engine, released: Relation, targets: pl.DataFrame, unit: str | None) -> pl.DataFrame:
    """The released rows of the targets, or of their persons."""
    alone = engine.matching(released, targets.select(MARK).unique())
    rows = engine.collect(alone)
    if unit is None:
        return rows
    persons = targets.select(unit).drop_nulls().unique()
    return pl.concat([rows.filter(pl.col(unit).is_null()), engine.collect(engine.matching(released, persons))])


def _own_distances(
    encoder: Encoder, known: FloatArray, targets: pl.DataFrame, own: pl.DataFrame, unit: str | None
) -> tuple[IntArray, FloatArray]:
    """Pairs of a target and one of its own released rows: the target, and the distance."""
    numbered = targets.with_row_index("#i").with_columns(pl.col("#i").cast(pl.Int64))
    rows = own.with_row_index("#j").with_columns(pl.col("#j").cast(pl.Int64))
    by_mark = numbered.select("#i", MARK).join(rows.select("#j", MARK), on=MARK)
    pairs = by_mark.select("#i", "#j")
    if unit is not None:
        nameless = numbered.filter(pl.col(unit).is_null()).select("#i")
        by_person = numbered.drop_nulls(unit).select("#i", unit).join(rows.select("#j", unit), on=unit)
        pairs = pl.concat([pairs.join(nameless, on="#i", how="semi"), by_person.select("#i", "#j")])
    which, row = pairs["#i"].to_numpy(), pairs["#j"].to_numpy()
    there = encoder.codes(own) if len(own) else np.empty((0, known.shape[1]))
    scale, mismatch = _geometry(encoder)
    return which, _paired(known[which], there[row], scale, mismatch)


def _rows_alike(targets: pl.DataFrame, own: pl.DataFrame, unit: str | None) -> FloatArray:
    """How many records share each target's mark: rows equal in everything, of which one is the target's own."""
    if unit is not None:
        targets = targets.with_columns(pl.when(pl.col(unit).is_null()).then(pl.col(MARK)).alias("#m"))
        own = own.filter(pl.col(unit).is_null())
    else:
        targets = targets.with_columns(pl.col(MARK).alias("#m"))
    counts = own.group_by(MARK).len()
    found = targets.select("#m").join(counts, left_on="#m", right_on=MARK, how="left", maintain_order="left")["len"]
    return found.fill_null(1).to_numpy().astype(np.float64)


def _search(encoder: Encoder, known: FloatArray, bound: FloatArray) -> Batch:
    scale, mismatch = _geometry(encoder)

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        counted = rows.group_by(rows.columns).len(name=_ROWS)
        near, ties = nearest_rows(
            known, encoder.codes(counted), counted[_ROWS].to_numpy().astype(np.int64), bound, scale, mismatch
        )
        found = np.flatnonzero(ties > 0)
        return pl.DataFrame({_TARGET: found, _NEAR: near[found], _TIES: ties[found]})

    return batch


def merged(found: pl.DataFrame, n: int) -> tuple[FloatArray, IntArray]:
    """The least distance of each target over all batches, and the rows that have it."""
    least = found.group_by(_TARGET).agg(pl.col(_NEAR).min())
    ties = found.join(least, on=[_TARGET, _NEAR]).group_by(_TARGET, _NEAR).agg(pl.col(_TIES).sum())
    near, count = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    near[ties[_TARGET].to_numpy()] = ties[_NEAR].to_numpy()
    count[ties[_TARGET].to_numpy()] = ties[_TIES].to_numpy()
    return near, count


def _geometry(encoder: Encoder) -> tuple[FloatArray, FloatArray]:
    """For each column what a difference of one counts, or, for levels without order, what a mismatch adds (else 0)."""
    scale = np.array([0.0 if c.unordered else 1 / c.scale for c in encoder.codings])
    mismatch = np.array([2 * c.height**2 if c.unordered else 0.0 for c in encoder.codings])
    return scale, mismatch


def _paired(first: FloatArray, second: FloatArray, scale: FloatArray, mismatch: FloatArray) -> FloatArray:
    return np.array([_squared(a, b, scale, mismatch, np.inf) for a, b in zip(first, second, strict=True)])


@njit(cache=True, nogil=True)
def _squared(a: FloatArray, b: FloatArray, scale: FloatArray, mismatch: FloatArray, most: float) -> float:
    """The squared distance, rounded to 36 bits; infinity once it is above `most`."""
    total = 0.0
    for j in range(len(a)):
        if mismatch[j] > 0:
            total += mismatch[j] if a[j] != b[j] else 0.0
        else:
            difference = (a[j] - b[j]) * scale[j]
            total += difference * difference
        if total > most * 1.000001:
            return np.inf
    fraction, exponent = math.frexp(total)
    return math.ldexp(np.rint(fraction * 68719476736.0), exponent - 36)


@njit(cache=True, nogil=True)
def nearest_rows(
    known: FloatArray,
    rows: FloatArray,
    counts: IntArray,
    bound: FloatArray,
    scale: FloatArray,
    mismatch: FloatArray,
) -> tuple[FloatArray, IntArray]:
    """The least distance of each target to the rows, no larger than its bound, and how many rows have it."""
    near, ties = bound.copy(), np.zeros(len(known), dtype=np.int64)
    for i in range(len(known)):
        for j in range(len(rows)):
            d = _squared(known[i], rows[j], scale, mismatch, near[i])
            if d < near[i]:
                near[i], ties[i] = d, counts[j]
            elif d == near[i] and d < np.inf:
                ties[i] += counts[j]
    return near, ties
