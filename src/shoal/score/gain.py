"""How good a split is: the α-gain of a 2×2 table, its smallest and largest value one record away, and n × Gini gain.

With P(x, y) = n_xy / n and Q(x, y) = P(x) P(y), the α-gain is the α-divergence (5.1)-(5.7)

    D_α(P ‖ Q) = (1 − Σ P^α Q^(1−α)) / (α (1 − α)),    α → 1: Σ P log(P / Q),    α → 0: Σ Q log(Q / P).

α = 1 is information gain (ID3), α = 2 half the mean-square contingency, α = ½ four times the squared Hellinger
distance. For α ≤ 0 an empty cell makes it infinite.

One record more or less changes one of the four cells by ±1: eight cases (fewer where a cell is empty). Their smallest
and largest gains, κ and λ, decide Algorithm 5.

`gini_gain` is h(total) − Σ h(branch) with h = n₀ n₁ / (n₀ + n₁), that is n/2 times the drop in Gini impurity. A record
of class 1 raises h by n₀² / ((n₀ + n₁)(n₀ + n₁ + 1)) ≤ n₀ / (n₀ + n₁ + 1) < 1, and it raises h(total) and the h of one
branch, each by a number in [0, 1): so the gain changes by less than 1, whatever the table. n·D_α has no such bound.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray

__all__ = ["GINI_SENSITIVITY", "alpha_gain", "eight_cases", "gain_range", "gini_gain"]

GINI_SENSITIVITY = 1.0 + 1e-6  # the proved 1, and room for the rounding of sums of floats
_STEPS = np.array([np.eye(4).reshape(4, 2, 2), -np.eye(4).reshape(4, 2, 2)]).reshape(8, 2, 2)


def alpha_gain(tables: FloatArray, alpha: float) -> FloatArray:
    """The α-gain of tables n_xy (last two axes: x, then y); an empty table has gain 0.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.score.gain import alpha_gain
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
    """h(total) − Σ h(branch): changes by less than 1 when one record is added or removed."""
    counts = np.asarray(tables, dtype=np.float64)
    return np.asarray(_h(counts.sum(axis=-2)) - _h(counts).sum(axis=-1))


def _h(counts: FloatArray) -> FloatArray:
    n = counts.sum(axis=-1)
    return counts[..., 0] * counts[..., 1] / np.where(n > 0, n, 1.0)
