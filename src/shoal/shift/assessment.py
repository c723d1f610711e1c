"""What a new market is expected to cost, and how sure that is.

How good a prediction is, person by person and for a group of m people.

With weights v, predictions ŷ and costs y, ȳ = Σvy / Σv:

    relative bias  b̄ = (Σvŷ − Σvy) / Σvy          (predicted minus true)
    R²             1 − Σv(ŷ − y)² / Σv(y − ȳ)²     (the weighted variance of the population it is used on)

and the relative error ε̄ of the mean cost of m people has (Wei, Ramamurthy and Varshney 2015, equation 3.6)

    E[ε̄²] ≈ (m − 1)/m · b̄² + (1 − R²)/m · var(Y)/E[Y]².

The second term shrinks with m, the first doesn't: for large groups bias is what counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from shoal.arrays import FloatArray
from shoal.record import Record
from shoal.shift.parity import Parity
from shoal.shift.weights import ShiftWeights

__all__ = [
    "MarketAssessment",
    "MarketRank",
    "Segment",
    "WeightCell",
    "group_error",
    "r_squared",
    "rank_markets",
    "relative_bias",
]

Interval: TypeAlias = tuple[float, float]
_MAY_BE_INFINITE = ("relative_error", "relative_bias", "r_squared", "cv_squared")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment(Record):
    """The people of one level of one column.

    `share` is their share of the expected enrolment, `n_members` how many members the prediction rests on, `interval`
    holds the mean cost of this segment's part of the group with about 95% probability.
    """

    releasable: ClassVar[bool] = False

    column: str
    level: str
    share: float
    n_members: int
    mean: float
    total: float
    interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightCell:
    """Mean importance weight of the existing market's people at one pair of levels."""

    columns: tuple[str, str]
    levels: tuple[str, str]
    weight: float
    new_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketAssessment(Record):
    """What the enrollees of a new market are expected to cost.

    Parameters
    ----------
    name
        Which market.
    mean, total
        Expected cost of a person, and of `group_size` of them.
    interval
        Where the actual mean cost of `group_size` people lies with about 95% probability: mean ± 1.96 · error, the
        error from equation (3.6) with the bias estimated by the bootstrap. It covers sampling of members, markets and
        enrollees; it doesn't cover costs or enrolment that depend on more than the covariates.
    sampling_interval
        The middle 95% of the bootstrap means: the error of the prediction alone, as for an endless group.
    relative_error, relative_bias
        The two errors as shares of the mean: the root of (3.6), and its part b̄.
    r_squared, cv_squared
        Cross-fitted R² of single predictions and var(Y)/E[Y]², both on the members weighted towards the new market.
    weighted_member_mean
        Mean cost of the members so weighted, with no model in between: far from `mean` where the model is wrong, or
        where the market is not enrolled like the members.
    group_size, cost_factor, enrolment
        As given, or as assumed.
    segments
        The same by level of each column.
    parity
        How right predictions are for groups of members that were to be compared.
    weights
        The importance weights' diagnostics.
    weight_map
        Mean weights by pairs of columns.
    draws
        Mean of each bootstrap repeat. Repeats of two markets assessed with one seed are paired.
    notes
        Warnings, in words.
    """

    releasable: ClassVar[bool] = False
    private: ClassVar[tuple[str, ...]] = ("weight_map", "draws")

    name: str
    mean: float
    total: float
    interval: Interval
    sampling_interval: Interval
    relative_error: float
    relative_bias: float
    r_squared: float
    cv_squared: float
    weighted_member_mean: float
    group_size: float
    cost_factor: float
    enrolment: str
    method: str
    n_members: int
    n_new: int
    segments: tuple[Segment, ...]
    weights: ShiftWeights
    weight_map: tuple[WeightCell, ...]
    draws: FloatArray
    notes: tuple[str, ...]
    parity: tuple[Parity, ...] = ()

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.name}: {self.mean:,.0f} a person ({low:,.0f} to {high:,.0f}), {self.total:,.0f} in all"

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words, without single weights and repeats; None where an error or a share can't be said."""
        words = Record.to_dict(self)
        return words | {name: _finite(words[name]) for name in _MAY_BE_INFINITE}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketRank:
    """One market's place by expected cost: 1 is the cheapest; `low` to `high` holds 95% of the bootstrap ranks."""

    assessment: MarketAssessment
    rank: int
    low: int
    high: int


def rank_markets(assessments: Sequence[MarketAssessment]) -> tuple[MarketRank, ...]:
    """Order markets from the cheapest mean up, with the ranks that sampling error allows.

    Assess the markets with one seed: their repeats then share the redrawn members, and ranks are compared within a
    repeat, so that the error common to all markets doesn't blur the order.
    """
    order = sorted(range(len(assessments)), key=lambda i: assessments[i].mean)
    repeats = min((len(a.draws) for a in assessments), default=0)
    draws = np.array([a.draws[:repeats] for a in assessments])
    places = draws.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") + 1 if repeats else None
    return tuple(
        _ranked(assessments[i], rank, None if places is None else places[i]) for rank, i in enumerate(order, 1)
    )


def _ranked(assessment: MarketAssessment, rank: int, places: Any) -> MarketRank:
    if places is None:
        return MarketRank(assessment=assessment, rank=rank, low=rank, high=rank)
    low, high = np.quantile(places, [0.025, 0.975], method="inverted_cdf")
    return MarketRank(assessment=assessment, rank=rank, low=min(rank, int(low)), high=max(rank, int(high)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def relative_bias(predicted: FloatArray, costs: FloatArray, weights: FloatArray | None = None) -> float:
    """Predicted minus true weighted mean, as a share of the true one.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.shift import relative_bias
    >>> relative_bias(np.array([110.0, 110.0]), np.array([50.0, 150.0]))
    0.1
    """
    v = np.ones_like(costs) if weights is None else weights
    return float(v @ (predicted - costs) / (v @ costs))


def r_squared(predicted: FloatArray, costs: FloatArray, weights: FloatArray | None = None) -> float:
    """Share of the weighted variance of the costs that the predictions explain; negative if they add to it."""
    v = np.ones_like(costs) if weights is None else weights
    mean = v @ costs / v.sum()
    spread = float(v @ (costs - mean) ** 2)
    return 1.0 - float(v @ (predicted - costs) ** 2) / spread if spread > 0 else float("nan")


def group_error(m: float, bias: float, r_squared: float, cv_squared: float) -> float:
    """Root mean squared relative error of the mean cost of `m` people, equation (3.6).

    Parameters
    ----------
    m
        Number of people.
    bias
        Relative bias b̄.
    r_squared
        R² of single predictions.
    cv_squared
        var(Y) / E[Y]², 5 to 10 for health costs.

    Examples
    --------
    >>> from shoal.shift import group_error
    >>> round(group_error(10_000, 0.03, 0.03, 7.0), 4)
    0.0397
    """
    return float(np.sqrt((m - 1) / m * bias**2 + (1 - r_squared) / m * cv_squared))
