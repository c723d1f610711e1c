"""Two groups of people, shares by area: what must be true (Duncan and Davis) and what is likely (King).

Known for each area g: the share p of people with x = 1, and the mean s of y, which lies between public bounds 0 and 1
(others are scaled to these). Wanted: the means b of y among x = 1 and w among x = 0. They lie on a line,

    s = p b + (1 − p) w,        0 ≤ b, w ≤ 1,

so b is between max(0, (s − 1 + p)/p) and min(1, s/p): the *method of bounds* (Duncan and Davis, 1953). It assumes
nothing, so it is the truth as far as aggregates tell it, and it is often wide.

`King` (A Solution to the Ecological Inference Problem, 1997) adds a model: (b, w) of the areas are drawn from one
bivariate normal distribution, truncated to the unit square and independent of p. Its five parameters are the most
likely ones under King's mild priors (spread: half-normal, 0.5; Fisher's z of the correlation: normal, 0.5), and
everybody gets the mean of b, or w, on the area's own line. The areas' means match without a correction. King also draws
the parameters from their posterior; here they are fixed at its mode. If b and w go with p, which is the rule in
confounded data, it is wrong like every regression between areas; its values never leave the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from shoal.aggregate.covariates import covariates
from shoal.aggregate.problem import Problem, pose
from shoal.aggregate.published import Aggregate
from shoal.aggregate.reconstruction import Fit, Reconstructor
from shoal.arrays import FloatArray, Generator
from shoal.errors import InputError, ParameterError
from shoal.params import Help

__all__ = ["King", "MeanBounds", "mean_bounds"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_SPREAD, _TIE = 0.5, 0.5  # King's priors
_ROOM = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanBounds:
    """Bounds of the mean of y among the people with x = 1 and among the others, area by area and over all areas."""

    releasable: ClassVar[bool] = False

    level: str
    with_low: FloatArray
    with_high: FloatArray
    without_low: FloatArray
    without_high: FloatArray
    overall_with: tuple[float, float]
    overall_without: tuple[float, float]


def mean_bounds(X: Any, aggregate: Aggregate, *, low: float = 0.0, high: float = 1.0) -> MeanBounds:
    """What the means by area prove about two groups of people, whatever the rest is (Duncan and Davis).

    Parameters
    ----------
    X
        One covariate with two values, for each person.
    aggregate
        Means of a variable that lies between `low` and `high` by public knowledge.

    Notes
    -----
    An area without people of one sort says nothing about it: its bounds are `low` and `high`, with weight 0. Sharp:
    every point between the bounds is the mean of some values that match the aggregates.

    Examples
    --------
    >>> from shoal.aggregate import Aggregate, mean_bounds
    >>> area = Aggregate(by=["a", "a", "a", "a"], mean={"a": 0.75})
    >>> mean_bounds([[1.0], [1.0], [0.0], [0.0]], area).overall_with
    (0.5, 1.0)
    """
    problem = pose(covariates(X), [aggregate])
    level, p, s = _two_groups(problem, low, high, "mean_bounds")
    (b_low, b_high), (w_low, w_high) = _ends(p, s), _ends(1 - p, s)
    scaled = [low + (high - low) * ends for ends in (b_low, b_high, w_low, w_high)]
    mass = problem.mass
    return MeanBounds(
        level=level,
        with_low=scaled[0],
        with_high=scaled[1],
        without_low=scaled[2],
        without_high=scaled[3],
        overall_with=_overall(scaled[0], scaled[1], mass * p),
        overall_without=_overall(scaled[2], scaled[3], mass * (1 - p)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class King(Reconstructor):
    """Ecological inference for two groups of people: King's truncated normal model.

    Needs one set of means and one covariate with two values. Everybody with the same value in the same area gets the
    same value: the group's likely mean there.

    Parameters
    ----------
    low, high
        Public bounds of the averaged variable: 0 and 1 for a share.

    Notes
    -----
    Weights enter shares and means. Cost: linear in the areas, some hundred evaluations.

    Examples
    --------
    >>> from shoal.aggregate import Aggregate, King
    >>> X = [[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]]
    >>> area = Aggregate(by=["a", "a", "a", "b", "b", "b"], mean={"a": 0.3, "b": 0.6})
    >>> values = King().reconstruct(X, [area]).values
    >>> round(float(values[:3].mean()), 6), bool(values[3] > values[5])
    (0.3, True)
    """

    low: Annotated[float, Help("least value, by public knowledge")] = 0.0
    high: Annotated[float, Help("largest value, by public knowledge")] = 1.0

    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        _, p, s = _two_groups(problem, self.low, self.high, "King")
        found = most_likely(p, s)
        b = _on_line(p, s, found)
        w = np.where(p < 1, (s - p * b) / np.where(p < 1, 1 - p, 1.0), 0.0)
        having = problem.X[:, 0] == problem.X[:, 0].max()
        at = problem.sets[0].labels
        values = self.low + (self.high - self.low) * np.where(having, b[at], w[at])
        names = ("mean_with", "mean_without", "spread_with", "spread_without", "correlation")
        details = dict(zip(names, (float(value) for value in found), strict=True))
        return Fit(beta=np.zeros(problem.m), rows=(values - problem.centre) / problem.scale, details=details)


def most_likely(p: FloatArray, s: FloatArray) -> FloatArray:
    """The centre (b, w), the spreads and the correlation of the normal distribution before truncation."""
    from scipy.optimize import minimize

    start = np.array([s.mean(), s.mean(), math.log(0.3), math.log(0.3), 0.0])
    limits = [(-1.5, 2.5)] * 2 + [(math.log(0.01), math.log(3.0))] * 2 + [(-2.0, 2.0)]
    done = minimize(lambda raw: -log_posterior(_natural(raw), p, s), start, bounds=limits, method="L-BFGS-B")
    return _natural(done.x)


def log_posterior(found: FloatArray, p: FloatArray, s: FloatArray) -> float:
    """The log likelihood of the areas' means (King 1997, chapter 7), and the log priors."""
    line = np.log(np.maximum(_density(p, s, found), 1e-300)).sum()
    inside = len(s) * math.log(max(_mass(found), 1e-300))
    prior = -(found[2] ** 2 + found[3] ** 2) / (2 * _SPREAD**2) - math.atanh(found[4]) ** 2 / (2 * _TIE**2)
    return float(line - inside + prior)


def _natural(raw: Sequence[float] | FloatArray) -> FloatArray:
    return np.array([raw[0], raw[1], math.exp(raw[2]), math.exp(raw[3]), math.tanh(raw[4])])


def _density(p: FloatArray, s: FloatArray, found: FloatArray) -> FloatArray:
    """The normal density of s, times the share of its line that lies in the unit square."""
    from scipy.special import ndtr

    mean, deviation, low, high = _given_s(p, s, found)
    b, w, sb, sw, r = found
    variance = p**2 * sb**2 + 2 * p * (1 - p) * r * sb * sw + (1 - p) ** 2 * sw**2
    off = s - p * b - (1 - p) * w
    normal = np.exp(-(off**2) / (2 * variance)) / np.sqrt(2 * math.pi * variance)
    return np.asarray(normal * (ndtr((high - mean) / deviation) - ndtr((low - mean) / deviation)))


def _given_s(p: FloatArray, s: FloatArray, found: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Mean and deviation of an area's b given its s, before truncation, and the ends of its line; p = 0 is w's area."""
    b, w, sb, sw, r = found
    variance = p**2 * sb**2 + 2 * p * (1 - p) * r * sb * sw + (1 - p) ** 2 * sw**2
    omega = p * sb**2 + (1 - p) * r * sb * sw
    mean = b + omega / variance * (s - p * b - (1 - p) * w)
    deviation = np.sqrt(np.maximum(sb**2 - omega**2 / variance, 1e-12))
    low, high = _ends(p, s)
    return mean, deviation, low, np.maximum(high, low + _ROOM)


def _on_line(p: FloatArray, s: FloatArray, found: FloatArray) -> FloatArray:
    """The mean of b on each area's line: a normal distribution truncated to the bounds."""
    from scipy.special import log_ndtr

    mean, deviation, low, high = _given_s(p, s, found)
    a, z = (low - mean) / deviation, (high - mean) / deviation
    flip = np.where(a > 0, -1.0, 1.0)  # tails are taken on the side where they are small
    a, z = np.where(a > 0, -z, a), np.where(a > 0, -a, z)
    log_mass = log_ndtr(z) + np.log1p(-np.exp(np.minimum(log_ndtr(a) - log_ndtr(z), -1e-15)))
    slope = (np.exp(-(a**2) / 2 - log_mass) - np.exp(-(z**2) / 2 - log_mass)) / math.sqrt(2 * math.pi)
    return np.asarray(np.clip(mean + flip * deviation * slope, *_ends(p, s)))


def _mass(found: FloatArray) -> float:
    """The share of the normal distribution that lies in the unit square: Gauss and Legendre over w."""
    from scipy.special import ndtr

    b, w, sb, sw, r = found
    at = (_NODES + 1) / 2
    given = b + r * sb / sw * (at - w)
    rest = sb * math.sqrt(1 - r**2)
    strip = ndtr((1 - given) / rest) - ndtr(-given / rest)
    normal = np.exp(-((at - w) ** 2) / (2 * sw**2)) / (sw * math.sqrt(2 * math.pi))
    return float((_WEIGHTS / 2 * normal * strip).sum())


def _ends(p: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Least and largest mean among a share p of the people, given the mean s of all, on 0 to 1."""
    safe = np.where(p > 0, p, 1.0)
    low = np.where(p > 0, np.maximum(0.0, (s - 1 + p) / safe), 0.0)
    high = np.where(p > 0, np.minimum(1.0, s / safe), 1.0)
    return low, high


def _overall(low: FloatArray, high: FloatArray, mass: FloatArray) -> tuple[float, float]:
    return float(np.average(low, weights=mass)), float(np.average(high, weights=mass))


def _two_groups(problem: Problem, low: float, high: float, owner: str) -> tuple[str, FloatArray, FloatArray]:
    """What x = 1 stands for, its share in each area, and the areas' means on 0 to 1."""
    if not low < high:
        raise ParameterError(owner, "low must be less than high")
    values = np.unique(problem.X)
    if problem.m != 1 or len(values) != 2 or len(problem.sets) != 1:
        raise ParameterError(
            owner,
            "needs one set of means and one covariate with two values",
            got=f"{len(problem.sets)} set(s), {problem.m} covariate(s), {len(values)} values",
            hint="Choose one covariate, and cut it in two; for others use EcologicalRegression.",
        )
    if problem.log:
        raise ParameterError(owner, "needs means as they are", got="medians" if problem.median else "log=True")
    s = (problem.known - low) / (high - low)
    outside = int(((s < -_ROOM) | (s > 1 + _ROOM)).sum())
    if outside:
        raise InputError(owner, "aggregates must lie between low and high", got=f"{outside} outside")
    having = (problem.X[:, 0] == values[1]).astype(np.float64)
    return problem.names[0], problem.means(having), np.clip(s, 0.0, 1.0)
