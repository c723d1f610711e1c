"""One noisy histogram for each feature, and points added up: the design that predicts best at small ε.

Every feature is a tree of one question with many answers. For cell b, with noisy class counts a_b and c_b (noise
variance ν), noisy class totals N₁, N₀ and k = ½ + 2√ν,

    ℓ_b = log((a⁺_b + k π₁) / N₁) − log((c⁺_b + k π₀) / N₀),      v_b = (a⁺_b + ν) / g_b² + (c⁺_b + ν) / h_b²,

(x⁺: not below 0; g_b, h_b: the two numerators). The points of ordered cells are shrunk, by empirical Bayes, from the
raw ratio ℓ_b towards a straight line in b,

    points_b = line_b + τ² / (τ² + v_b) (ℓ_b − line_b),

with the line by weighted least squares and τ² by Paule and Mandel's equation Σ (ℓ_b − line_b)² / (v_b + τ²) = C − 2;
points of unordered cells are shrunk towards their mean. The log-odds of a person are log(N₁ / N₀) plus the points of
her cells, put through a straight line that calibrates them (features that say the same thing twice make the sum too
sure).

More than two classes: each class has a point table against all others together, from the same noisy counts (the noise
of K − 1 counts is in their sum, so ν is taken as K/2 times as large); the shares are made to add up to 1. A numeric
outcome in a public range is a share u of it: a_b and c_b are then sums of u and 1 − u.

Everything after the noise is post-processing: it costs nothing and can't break the promise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.score.features import Features

__all__ = ["SCORE_EDGES", "ClassPoints", "Points", "calibrated", "class_totals", "points_of"]

SCORE_EDGES = np.array([-3.0, -2.0, -1.2, -0.6, 0.0, 0.6, 1.2, 2.0, 3.0])
"""Public edges of the calibration's histogram of raw log-odds."""

_FAR = 30.0  # log-odds beyond which risks are no longer told apart, and exp would overflow before long
_SLOPE, _SLOPE_SPREAD, _SHIFT_SPREAD = 0.8, 0.3, 0.5  # what is believed of the calibration before looking


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """A point table: log-odds = shift + slope · (base + Σ points of the cells)."""

    base: float
    points: tuple[FloatArray, ...]
    shares: tuple[FloatArray, ...]  # noisy share of the records in each cell
    shift: float = 0.0
    slope: float = _SLOPE

    def among(self, features: Features, asked: IntArray) -> Points:
        """The same points in a table of all features; those not asked about give 0 points whatever they are."""
        points, shares = ([np.zeros(size) for size in features.sizes] for _ in range(2))
        for place, j in enumerate(asked):
            points[j], shares[j] = self.points[place], self.shares[place]
        return replace(self, points=tuple(points), shares=tuple(shares))

    def raw(self, codes: IntArray) -> FloatArray:
        """base + Σ points."""
        total = np.full(len(codes), self.base)
        for j, table in enumerate(self.points):
            total += table[codes[:, j]]
        return total

    def risks(self, codes: IntArray) -> FloatArray:
        """The risk of each row of cells."""
        return 1.0 / (1.0 + np.exp(-np.clip(self.shift + self.slope * self.raw(codes), -_FAR, _FAR)))

    def risk(self, cells: Sequence[int]) -> float:
        """The risk of one person's cells."""
        total = self.base
        for table, cell in zip(self.points, cells, strict=True):
            total += float(table[cell])
        return 1.0 / (1.0 + math.exp(-min(_FAR, max(-_FAR, self.shift + self.slope * total))))

    def parts(self, cells: Sequence[int]) -> tuple[float, FloatArray]:
        """Where the calibrated log-odds start, and what each of a person's cells adds."""
        added = np.array([float(table[cell]) for table, cell in zip(self.points, cells, strict=True)])
        return self.shift + self.slope * self.base, self.slope * added

    def importances(self) -> FloatArray:
        """Spread of the points of each feature over the noisy shares, as a share of all spreads."""
        spreads = np.array([_spread(p, s) for p, s in zip(self.points, self.shares, strict=True)])
        return spreads / spreads.sum() if spreads.sum() > 0 else np.full(len(spreads), 1.0 / len(spreads))

    def lines(self, features: Features) -> list[str]:
        """The table as text: one line a cell, in calibrated log-odds."""
        out = [f"log-odds start at {self.shift + self.slope * self.base:+.2f}"]
        for feature, table in zip(features.axes, self.points, strict=True):
            out.append(feature.name)
            if not table.any():
                out.append("|   not asked about")
                continue
            out += [f"|   {feature.label(cell)}: {self.slope * value:+.2f}" for cell, value in enumerate(table)]
        return out

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON-safe words."""
        return {
            "base": self.base,
            "shift": self.shift,
            "slope": self.slope,
            "points": [table.tolist() for table in self.points],
            "shares": [table.tolist() for table in self.shares],
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Points:
        """Read the table back from its words."""
        return cls(
            base=words["base"],
            shift=words["shift"],
            slope=words["slope"],
            points=tuple(np.array(table, dtype=np.float64) for table in words["points"]),
            shares=tuple(np.array(table, dtype=np.float64) for table in words["shares"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassPoints:
    """A point table for each class, against all others together."""

    tables: tuple[Points, ...]

    @classmethod
    def of(cls, counts: Sequence[FloatArray], scales: Sequence[float], features: Features) -> ClassPoints:
        """The point tables of noisy (cell, class) counts, whose noise has the discrete Laplace scales `scales`."""
        n_classes = counts[0].shape[1]
        louder = [scale * math.sqrt(n_classes / 2.0) for scale in scales]
        parts = [[_against_the_rest(table, place) for table in counts] for place in range(n_classes)]
        return cls(tables=tuple(points_of(part, louder, features) for part in parts))

    def among(self, features: Features, asked: IntArray) -> ClassPoints:
        """The same points in tables of all features."""
        return ClassPoints(tables=tuple(table.among(features, asked) for table in self.tables))

    def with_line(self, line: Points) -> ClassPoints:
        """The same points under the calibration of `line`."""
        return ClassPoints(tables=tuple(replace(t, shift=line.shift, slope=line.slope) for t in self.tables))

    def probabilities(self, codes: IntArray) -> FloatArray:
        """The share of each class, one row a person."""
        risks = np.column_stack([table.risks(codes) for table in self.tables])
        return np.asarray(risks / risks.sum(axis=1, keepdims=True))

    def importances(self) -> FloatArray:
        """The mean over classes."""
        return np.asarray(np.mean([table.importances() for table in self.tables], axis=0))


def _against_the_rest(table: FloatArray, place: int) -> FloatArray:
    return np.column_stack([table.sum(axis=1) - table[:, place], table[:, place]])


def points_of(tables: Sequence[FloatArray], scales: Sequence[float], features: Features) -> Points:
    """The point table of noisy (cell, class) counts, whose noise has the discrete Laplace scales `scales`."""
    totals = class_totals(tables, scales)
    variances = [2.0 * scale**2 for scale in scales]
    points, shares = [], []
    for table, variance, feature in zip(tables, variances, features.axes, strict=True):
        ratios, spreads = _log_ratios(table, totals, variance)
        points.append(_shrunk(ratios, spreads, feature.n_ordered))
        weight = np.maximum(table.sum(axis=1), 0.0) + 0.5
        shares.append(weight / weight.sum())
    centred = [p - float(s @ p) for p, s in zip(points, shares, strict=True)]
    return Points(base=float(np.log(totals[1] / totals[0])), points=tuple(centred), shares=tuple(shares))


def class_totals(tables: Sequence[FloatArray], scales: Sequence[float]) -> FloatArray:
    """Noisy records of each class: the histograms' sums, weighted by their precision, kept away from 0."""
    sums = np.array([table.sum(axis=0) for table in tables])
    precision = np.array([1.0 / (len(table) * scale**2) for table, scale in zip(tables, scales, strict=True)])
    totals = precision @ sums / precision.sum()
    n = max(float(totals.sum()), 20.0)
    doubt = float(np.sqrt(2.0 / precision.sum()))  # the noise of the totals: the louder, the nearer to one half
    positive = n * (float(np.clip(totals[1], 1.0, n - 1.0)) + doubt) / (n + 2.0 * doubt)
    return np.array([n - positive, positive])


def calibrated(points: Points, table: FloatArray, scale: float, n: float) -> Points:
    """The point table with the line that fits a noisy (raw log-odds, class) histogram over `SCORE_EDGES` best.

    A logistic regression of the class on the middle of the bin, started from slope 0.8 and shift 0 as beliefs. Its
    gradient g is linear in the noisy counts, so noise of variance ν adds ν Σ x xᵀ (p² + (1 − p)²) to its covariance J,
    and the line moves only as far as I J⁻¹ I, the information left after the noise, can carry it. `n` is the noisy
    number of records.
    """
    x = np.concatenate([[-4.0], (SCORE_EDGES[1:] + SCORE_EDGES[:-1]) / 2, [4.0]])
    X = np.column_stack([np.ones_like(x), x])
    belief = np.array([0.0, _SLOPE])
    prior = np.diag([1.0 / _SHIFT_SPREAD**2, 1.0 / _SLOPE_SPREAD**2])
    size = np.maximum(table.sum(axis=1), 0.0) + 0.5
    size *= n / size.sum()
    line = belief.copy()
    for _ in range(12):
        p = 1.0 / (1.0 + np.exp(-X @ line))
        gradient = X.T @ (table[:, 1] - p * table.sum(axis=1))
        information = X.T @ (X * (size * p * (1 - p))[:, None])
        noisy = information + 2.0 * scale**2 * X.T @ (X * (p**2 + (1 - p) ** 2)[:, None])
        carried = np.linalg.solve(noisy, information).T
        step = np.linalg.solve(prior + carried @ information, carried @ gradient + prior @ (belief - line))
        line = line + np.clip(step, -0.5, 0.5)
    return replace(points, shift=float(np.clip(line[0], -3.0, 3.0)), slope=float(np.clip(line[1], 0.1, 1.5)))


def _log_ratios(table: FloatArray, totals: FloatArray, variance: float) -> tuple[FloatArray, FloatArray]:
    counts = np.maximum(table, 0.0)
    soft = counts + (0.5 + 2.0 * np.sqrt(variance)) * totals / totals.sum()
    ratios = np.log(soft / totals)
    spreads = ((counts + variance) / soft**2).sum(axis=1)
    return ratios[:, 1] - ratios[:, 0], np.maximum(spreads, 1e-9)


def _shrunk(ratios: FloatArray, spreads: FloatArray, n_ordered: int) -> FloatArray:
    """Ordered cells towards a line, the others towards their mean (or 0, where there is one only)."""
    out = np.empty_like(ratios)
    if n_ordered:
        out[:n_ordered] = _towards(ratios[:n_ordered], spreads[:n_ordered], line=n_ordered >= 2)
    if n_ordered < len(ratios):
        out[n_ordered:] = _towards(ratios[n_ordered:], spreads[n_ordered:], line=False)
    return out


def _towards(ratios: FloatArray, v: FloatArray, line: bool) -> FloatArray:
    if len(ratios) == 1:
        return ratios / (1.0 + v)
    x = np.arange(len(ratios)) - (len(ratios) - 1) / 2
    design = np.column_stack([np.ones_like(x), x]) if line else np.ones((len(x), 1))
    tau2 = 0.0
    for _ in range(25):
        w = 1.0 / (v + tau2)
        fitted = design @ np.linalg.solve(design.T @ (design * w[:, None]), design.T @ (w * ratios))
        r = ratios - fitted
        step = float((w * r**2).sum() - (len(x) - design.shape[1])) / max(float((w**2 * r**2).sum()), 1e-12)
        tau2 = max(0.0, tau2 + step)
        if abs(step) < 1e-9:
            break
    return fitted + tau2 / (tau2 + v) * r


def _spread(points: FloatArray, shares: FloatArray) -> float:
    mean = float(points @ shares)
    return float(np.sqrt(shares @ (points - mean) ** 2))
