"""What coarsening costs: four losses of a full-domain generalisation, all from 0 (the original) to 1 (nothing left).

With n records, columns j of importance w_j (summing to 1), a record that has the value v in column j written as a:

- ``granularity``: the share of the domain that a covers, (highest − lowest) / range for numbers and
  (values covered − 1) / (values − 1) for levels (Iyengar's loss metric, the normalised certainty penalty);
- ``precision``: level / height of the column's hierarchy (one minus Sweeney's precision);
- ``entropy``: log(n_a / n_v) / H_j with n_v, n_a the original records that have v, or a value written as a, and H_j the
  mean of log(n / n_v): the bits that a doesn't tell of v (Gionis and Tassa's non-uniform entropy);
- ``discernibility``: Σ |class|² / n² over the classes, and n / n² for every suppressed record (Bayardo and Agrawal); it
  looks at classes only, so importance plays no part.

The first three are means over records of Σ_j w_j cell loss; **a suppressed record loses everything**: 1, or its
log(n / n_v) / H_j. Two things follow that the search needs. Without suppression, the loss can only rise from a node to
a coarser one, since a covers more. And suppressing can only add: loss(node) = base(node) + Σ_suppressed excess, where
base is the loss without suppression and excess = full − cell loss ≥ 0. So base(g) is a lower bound of the loss of g
and of every node coarser than g, although the loss itself need not be monotone: a coarser node may suppress less.

How much each quasi-identifier counts where one has to give way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.coarsening.hierarchy import Ladder
from shoal.schema import Kind

__all__ = ["CellLoss", "LossName", "cell_losses"]

LossName: TypeAlias = Literal["granularity", "precision", "entropy", "discernibility"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellLoss:
    """The loss of one column.

    Parameters
    ----------
    base
        For each level, the mean over all records of the weighted cell loss.
    excess
        For each level and distinct value, what suppressing a record adds.
    """

    base: FloatArray
    excess: tuple[FloatArray, ...]


def cell_losses(
    name: LossName,
    ladders: Sequence[Ladder],
    kinds: Sequence[Kind | None],
    importance: FloatArray,
    rows: IntArray | None = None,
) -> tuple[CellLoss, ...]:
    """The loss of each column at each level; zeros for a loss that looks at classes only.

    `rows` are the records that each item of the ladders stands for; None: one each.
    """
    weights = importance / importance.sum()
    return tuple(
        _weighted(_cells(name, ladder, kind, counts := _counts(ladder, rows)), counts, float(weight))
        for ladder, kind, weight in zip(ladders, kinds, weights, strict=True)
    )


def _weighted(cells: tuple[list[FloatArray], FloatArray], counts: IntArray, weight: float) -> CellLoss:
    levels, full = cells
    shares = counts / int(counts.sum())
    return CellLoss(
        base=weight * np.array([float(shares @ cell) for cell in levels]),
        excess=tuple(weight * (full - cell) for cell in levels),
    )


def _cells(name: LossName, ladder: Ladder, kind: Kind | None, counts: IntArray) -> tuple[list[FloatArray], FloatArray]:
    """The cell loss at each level for each distinct value, and the full loss."""
    ones = np.ones(len(ladder.values))
    if name == "precision":
        return [ones * level / ladder.height for level in range(ladder.height + 1)], ones
    if name == "granularity":
        numbers = _numbers(ladder) if kind == "numeric" else None
        return [_covered(groups, numbers) for groups in ladder.groups], ones
    if name == "entropy":
        return _bits(ladder, counts.astype(np.float64))
    return [0 * ones for _ in ladder.groups], 0 * ones


def _covered(groups: IntArray, numbers: FloatArray | None) -> FloatArray:
    """The share of the domain that the class of each value covers."""
    n = int(groups.max(initial=0)) + 1
    if numbers is None:
        return (np.bincount(groups, minlength=n)[groups] - 1) / max(1, len(groups) - 1)
    known = ~np.isnan(numbers)
    if not known.all():
        return _covered_with_absences(groups, numbers, known, n)
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    np.minimum.at(low, groups, numbers)
    np.maximum.at(high, groups, numbers)
    span = float(np.ptp(numbers)) if len(numbers) else 0.0
    share: FloatArray = (high - low)[groups] / (span or 1.0)
    return share


def _covered_with_absences(groups: IntArray, numbers: FloatArray, known: BoolArray, n: int) -> FloatArray:
    """The same where some values are absences: a class of numbers and absences, or of several, covers all."""
    covered = np.zeros(len(groups))
    covered[known] = _covered(groups[known], numbers[known]) if known.any() else 0.0
    size, n_known = np.bincount(groups, minlength=n), np.bincount(groups[known], minlength=n)
    mixed = (n_known < size) & (size > 1)
    return np.where(mixed[groups], 1.0, covered)


def _bits(ladder: Ladder, counts: FloatArray) -> tuple[list[FloatArray], FloatArray]:
    n = counts.sum()
    full = np.log(n / counts)
    scale = float((counts / n) @ full) or 1.0
    written = [np.bincount(groups, weights=counts)[groups] for groups in ladder.groups]
    return [np.log(total / counts) / scale for total in written], full / scale


def _counts(ladder: Ladder, rows: IntArray | None) -> IntArray:
    return np.bincount(ladder.codes, weights=rows, minlength=len(ladder.values)).astype(np.int64)


def _numbers(ladder: Ladder) -> FloatArray:
    numbers = ladder.values.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    return np.where(np.isin(numbers, ladder.reasons), np.nan, numbers)
