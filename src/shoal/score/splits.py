"""Every yes-or-no question that a public domain allows, and the 2×2 tables of all of them at once.

Ordered cells (numbers, ordinal levels) are asked by cumulative cuts, *cell from c on*; nominal levels one by one. A
missing category is one more level; the cut of an ordinal feature answers no for it.

How good a split is: the α-gain of a 2×2 table, its smallest and largest value one record away, and n × Gini gain.

With P(x, y) = n_xy / n and Q(x, y) = P(x) P(y), the α-gain is the α-divergence (5.1)-(5.7)

    D_α(P ‖ Q) = (1 − Σ P^α Q^(1−α)) / (α (1 − α)),    α → 1: Σ P log(P / Q),    α → 0: Σ Q log(Q / P).

α = 1 is information gain (ID3), α = 2 half the mean-square contingency, α = ½ four times the squared Hellinger
distance. For α ≤ 0 an empty cell makes it infinite.

One record more or less changes one of the four cells by ±1: eight cases (fewer where a cell is empty). Their smallest
and largest gains, κ and λ, decide Algorithm 5.

`gini_gain` is h(total) − Σ h(branch) with h = Σ_{a<b} n_a n_b / n = (n − Σ n_c² / n) / 2 over the classes, that is n/2
times the drop in Gini impurity; for two classes h = n₀ n₁ / n. A record adds a vector v ≥ 0 of sum 1: one class, or for
a number the shares (1 − u, u). h is concave and homogeneous, so h(n + v) − h(n) ≥ h(v) ≥ 0, and it is at most the slope
Σ v_c (1 − 2 p_c + Σ p²) / 2 ≤ 1, where p are the shares of n. A record raises h(total) and the h of one branch, each by
a number in [0, 1]: so the gain changes by at most 1, whatever the table. n·D_α has no such bound. For a number the gain
is Σ n_branch (mean of u in the branch − mean of u)², the drop in squared error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.domain import Axis
from shoal.score.features import Features

__all__ = ["GINI_SENSITIVITY", "Splits", "alpha_gain", "eight_cases", "gain_range", "gini_gain"]

GINI_SENSITIVITY = 1.0 + 1e-6  # the proved 1, and room for the rounding of sums of floats
_STEPS = np.array([np.eye(4).reshape(4, 2, 2), -np.eye(4).reshape(4, 2, 2)]).reshape(8, 2, 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The candidate questions: the answer is yes where low ≤ cell < high of the variable."""

    variable: IntArray
    low: IntArray
    high: IntArray
    offsets: IntArray
    members: FloatArray  # questions × all cells: 1 where the cell answers yes
    first: FloatArray  # all cells: 1 for those of the first variable, which count each record once
    n_classes: int = 2

    @classmethod
    def of(cls, features: Features, n_classes: int = 2) -> Splits:
        """All questions about the features."""
        rows = [(j, *span) for j, feature in enumerate(features.axes) for span in _spans(feature)]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        sizes = np.array(features.sizes, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        cells = np.arange(offsets[-1])
        start = offsets[table[:, 0]]
        members = (cells >= (start + table[:, 1])[:, None]) & (cells < (start + table[:, 2])[:, None])
        return cls(
            variable=table[:, 0],
            low=table[:, 1],
            high=table[:, 2],
            offsets=offsets,
            members=members.astype(np.float64),
            first=(cells < sizes[0]).astype(np.float64),
            n_classes=n_classes,
        )

    def __len__(self) -> int:
        return len(self.variable)

    def keys(self, codes: IntArray, y: IntArray) -> IntArray:
        """For each record and variable the number of its (cell, class) among all."""
        return (codes + self.offsets[:-1]) * self.n_classes + y[:, None]

    def tables(self, keys: IntArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """The table (no/yes by class) of every question, and the class counts of the records in `keys`."""
        spread = None if weights is None else np.repeat(weights, keys.shape[1])
        size = self.n_classes * int(self.offsets[-1])
        counts = np.bincount(keys.ravel(), spread, minlength=size).reshape(-1, self.n_classes)
        total = self.first @ counts
        yes = self.members @ counts
        return np.stack([total - yes, yes], axis=1), total


def _spans(axis: Axis) -> list[tuple[int, int]]:
    ordered = axis.n_ordered
    cuts = [(cut, ordered) for cut in range(1, ordered)]
    alone = [(cell, cell + 1) for cell in range(ordered, axis.size)]
    return cuts + alone


def alpha_gain(tables: FloatArray, alpha: float) -> FloatArray:
    """The α-gain of tables n_xy (last two axes: x, then y); an empty table has gain 0.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.score.splits import alpha_gain
    >>> round(float(alpha_gain(np.array([[4.0, 0.0], [0.0, 4.0]]), alpha=1.0)), 4)
    0.6931
    """
    counts = np.asarray(tables, dtype=np.float64)
    n = counts.sum(axis=(-2, -1), keepdims=True)
    P = counts / np.where(n > 0, n, 1.0)
    Q = P.sum(axis=-1, keepdims=True) * P.sum(axis=-2, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gain = np.asarray(_divergence(P, Q, alpha).sum(axis=(-2, -1)))
    if alpha not in (0.0, 1.0):
        gain = (1.0 - gain) / (alpha * (1.0 - alpha))
    return np.where(n[..., 0, 0] > 0, np.maximum(gain, 0.0), 0.0)


def _divergence(P: FloatArray, Q: FloatArray, alpha: float) -> FloatArray:
    """The summands; where Q is 0 so is P, and the summand is 0."""
    if alpha == 1.0:
        return np.where(P > 0, P * np.log(P / Q), 0.0)
    if alpha == 0.0:
        return np.where(Q > 0, Q * np.log(Q / P), 0.0)
    zero = np.inf if alpha < 0 else 0.0
    return np.where(P > 0, P**alpha * Q ** (1.0 - alpha), np.where(Q > 0, zero, 0.0))


def eight_cases(tables: FloatArray) -> FloatArray:
    """Tables one record away, along a new axis before the last two; impossible ones (a cell below 0) are NaN."""
    cases = np.asarray(tables, dtype=np.float64)[..., None, :, :] + _STEPS
    possible = (cases >= 0).all(axis=(-2, -1), keepdims=True)
    return np.where(possible, cases, np.nan)


def gain_range(tables: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    """κ and λ: the smallest and the largest α-gain over the eight cases."""
    cases = eight_cases(tables)
    gains = np.where(np.isnan(cases).any(axis=(-2, -1)), np.nan, alpha_gain(np.nan_to_num(cases), alpha))
    return np.nanmin(gains, axis=-1), np.nanmax(gains, axis=-1)


def gini_gain(tables: FloatArray) -> FloatArray:
    """h(total) − Σ h(branch), the classes along the last axis: changes by at most 1 with one record more or less."""
    counts = np.asarray(tables, dtype=np.float64)
    return np.asarray(_h(counts.sum(axis=-2)) - _h(counts).sum(axis=-1))


def _h(counts: FloatArray) -> FloatArray:
    n = counts.sum(axis=-1)
    pairs = (counts[..., 1:] * np.cumsum(counts[..., :-1], axis=-1)).sum(axis=-1)
    return np.asarray(pairs / np.where(n > 0, n, 1.0))
