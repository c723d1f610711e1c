"""From weighted members to a prediction with its error: equation (3.6) for a market and for each of its segments.

With b the root mean square distance of the bootstrap means from the prediction and MSE = (1 − R²) var(Y) the mean
squared error of single, cross-fitted predictions, the mean cost of m people has the error

    sqrt((m − 1)/m · b² + MSE/m),

which is (3.6) times E[Y].

A market by level of each column: who they are, what they cost, where the weights lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.errors import InputError
from shoal.shift.assessment import Segment, WeightCell
from shoal.shift.people import named, ratio, sums_by
from shoal.shift.populations import Populations
from shoal.shift.prediction import Ground

__all__ = ["Estimate", "Group", "Level", "unseen_levels", "weight_map"]

ENOUGH = 30
"""Members from which a segment has an error of its own."""
MOST_LEVELS = 12
"""Columns with more cells are left out of segments and weight maps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """`m` people whose mean cost is in question; no cost is below `floor`."""

    m: float
    floor: float

    def error(self, spread: float, mse: float, share: float = 1.0) -> float:
        """Root mean squared error of the mean cost of `share` of the group: (3.6) in units of cost."""
        m = max(1.0, self.m * share)
        return math.sqrt((m - 1) / m * spread**2 + mse / m)

    def interval(self, mean: float, error: float) -> tuple[float, float]:
        """Mean ± 1.96 errors, not below 0 where costs aren't."""
        return max(self.floor, mean - 1.96 * error), mean + 1.96 * error


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the weighted members say of one market.

    Parameters
    ----------
    a
        Weight of each member: survey weight times importance weight.
    residuals
        Predicted minus actual cost of each member, by a model that didn't see it.
    predicted, target
        Prediction and expected enrolment on each combination.
    levels, draws
        The segments, and the bootstrap means of the whole (first) and of each segment.
    mean
        Prediction averaged over the expected enrolment.
    member_mean, variance
        Weighted mean and variance of the members' costs.
    """

    a: FloatArray
    residuals: FloatArray
    predicted: FloatArray
    target: FloatArray
    levels: tuple[Level, ...]
    draws: FloatArray
    mean: float
    member_mean: float
    variance: float

    @property
    def errors(self) -> FloatArray:
        """Squared error of each member's cost."""
        out: FloatArray = self.residuals**2
        return out

    @property
    def mse(self) -> float:
        """Mean squared error of a single prediction, (1 − R²) var(Y)."""
        return float(np.average(self.errors, weights=self.a))

    @property
    def spread(self) -> float:
        """The part of the error that doesn't shrink with the group: b of (3.6), in units of cost."""
        return _spread(self.draws[:, 0], self.mean)

    @property
    def r_squared(self) -> float:
        """R² of single predictions; NaN where costs don't vary."""
        return 1 - self.mse / self.variance if self.variance > 0 else math.nan

    def middle(self) -> tuple[float, float]:
        """The middle 95% of the bootstrap means."""
        low, high = np.quantile(self.draws[:, 0], [0.025, 0.975])
        return min(float(low), self.mean), max(float(high), self.mean)

    @classmethod
    def of(cls, ground: Ground, a: FloatArray, target: FloatArray, bootstrap: int) -> Estimate:
        """Fit, cross-check and repeat."""
        levels = _levels_of(ground.populations, target)
        everybody = np.arange(len(target))
        predicted = ground.predict(a)
        centre = float(np.average(ground.costs, weights=a))
        return cls(
            a=a,
            residuals=ground.residuals(a),
            predicted=predicted,
            target=target,
            levels=levels,
            draws=ground.bootstrap([everybody, *(level.points for level in levels)], bootstrap),
            mean=float(np.average(predicted, weights=target)),
            member_mean=centre,
            variance=float(np.average((ground.costs - centre) ** 2, weights=a)),
        )

    def segments(self, point: IntArray, group: Group) -> tuple[Segment, ...]:
        """Each segment with its own error; `point` is the combination of each member."""
        return tuple(self._segment(level, i, point, group) for i, level in enumerate(self.levels, 1))

    def _segment(self, level: Level, i: int, point: IntArray, group: Group) -> Segment:
        inside = np.isin(point, level.points)
        mass = self.target[level.points]
        share = float(mass.sum() / self.target.sum())
        mean = float(np.average(self.predicted[level.points], weights=mass))
        own = inside if inside.sum() >= ENOUGH and self.a[inside].any() else np.ones(len(point), dtype=np.bool_)
        mse = float(np.average(self.errors[own], weights=self.a[own]))
        return Segment(
            column=level.column,
            level=level.label,
            share=share,
            n_members=int(inside.sum()),
            mean=mean,
            total=mean * group.m * share,
            interval=group.interval(mean, group.error(_spread(self.draws[:, i], mean), mse, share)),
        )


def _spread(draws: FloatArray, mean: float) -> float:
    """Root mean square distance of the repeats from the estimate."""
    there = draws[np.isfinite(draws)]
    return float(np.sqrt(np.mean((there - mean) ** 2))) if len(there) else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level of one column, and the combinations that have it."""

    column: str
    label: str
    points: IntArray


def _levels_of(populations: Populations, target: FloatArray) -> tuple[Level, ...]:
    """The levels in which somebody is expected, of every column that hasn't too many."""
    design = populations.design
    cells = design.cells(populations.points)
    out: list[Level] = []
    for j, factor in enumerate(design.factors):
        there = np.flatnonzero(sums_by(cells[:, j], target, factor.axis.size) > 0)
        labels = factor.axis.labels()
        if len(there) <= MOST_LEVELS:
            out += [
                Level(column=factor.name, label=labels[cell], points=np.flatnonzero(cells[:, j] == cell))
                for cell in there
            ]
    return tuple(out)


def unseen_levels(populations: Populations, target: FloatArray, limit: float) -> list[str]:
    """Say which levels of the new market no member has; more than `limit` of the market there is an error."""
    design = populations.design
    cells = design.cells(populations.points)
    notes: list[str] = []
    for j, factor in enumerate(design.factors):
        there = sums_by(cells[:, j], target, factor.axis.size) / target.sum()
        seen = sums_by(cells[:, j], populations.tables[0].mass, factor.axis.size) > 0
        gaps = np.flatnonzero((there > 0) & ~seen)
        share = float(there[gaps].sum())
        if share == 0:
            continue
        words = f"{named([factor.axis.labels()[i] for i in gaps])} ({share:.1%} of the new market)"
        if share > limit:
            raise InputError(
                "new market",
                f"must not have more than {limit:.0%} of people at levels that no member has",
                got=f"column '{factor.name}', {words}",
                hint="Merge levels, drop these people, or raise limit.",
            )
        notes.append(f"No member has {factor.name} = {words}; their cost is extrapolated from other levels.")
    return notes


def weight_map(populations: Populations, w: FloatArray) -> tuple[WeightCell, ...]:
    """Mean weight of the existing market's people at each pair of levels, for every pair of columns."""
    factors = populations.design.factors
    few = [j for j, factor in enumerate(factors) if 1 < factor.axis.size - 1 <= MOST_LEVELS]
    pairs = [(i, j) for n, i in enumerate(few) for j in few[n + 1 :]]
    return tuple(cell for i, j in pairs for cell in _pair_cells(populations, w, i, j))


def _pair_cells(populations: Populations, w: FloatArray, i: int, j: int) -> Iterator[WeightCell]:
    first, second = populations.design.factors[i], populations.design.factors[j]
    cells = populations.design.cells(populations.points)
    shape = (first.axis.size, second.axis.size)
    key = np.ravel_multi_index((cells[:, i], cells[:, j]), shape).astype(np.int64)
    _, existing, new = populations.tables
    mass, weighted, q = (sums_by(key, x, shape[0] * shape[1]) for x in (existing.mass, existing.mass * w, new.mass))
    means = ratio(weighted, mass)
    rows, columns = first.axis.labels(), second.axis.labels()
    for place in np.flatnonzero(mass > 0):
        row, column = np.unravel_index(place, shape)
        yield WeightCell(
            columns=(first.name, second.name),
            levels=(rows[row], columns[column]),
            weight=float(means[place]),
            new_share=float(q[place] / q.sum()),
        )
