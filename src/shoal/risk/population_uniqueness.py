"""Uniqueness: records that nobody else resembles, in the table and, by estimate, in the population.

A unique record in a sample is at risk where it is unique in the population too. How many persons of the population
are unique is estimated by three models from the class sizes of the sample (formulas below),
and Dankar et al. (2012) say which to trust: Pitman up to a sampling fraction of 0.1, above it the smaller of
Zayatz and the slide negative binomial. Between them they can differ by a factor, so the range of all that have an
estimate (`spread`) belongs beside the one chosen, and so does how well Pitman's model describes the sample (`fits`).
All assume that persons were drawn with equal probabilities.

Estimators of the number of population uniques from the sizes of a sample's classes.

Notation: N persons in the population, n in the sample, f = n/N, u classes in the sample, s_i of them of size i.

**Zayatz** (1991). A sample unique comes from a class of size j in the population with probability proportional to
p_j H(1 | j), p_j = s_j / u standing for the population's share of such classes and
H(1 | j) = j C(N − j, n − 1) / C(N, n) the hypergeometric chance to draw one of j. Estimate: s_1 / f · P(1 | unique).

**Pitman** (Hoshino 2001). Class sizes follow the Ewens-Pitman sampling formula with 0 ≤ a < 1, θ > −a. Its
log-likelihood

    Σ_{i=1}^{u−1} log(θ + i a) − Σ_{i=1}^{n−1} log(θ + i) + Σ_j s_j Σ_{i=1}^{j−1} log(i − a)

is maximised, and the estimate is the exact expectation for N persons,
N Γ(θ + 1) Γ(N + θ + a − 1) / (Γ(θ + a) Γ(N + θ)), whose limit Γ(θ + 1) / Γ(θ + a) · N^a is Hoshino's.

**Slide negative binomial** (Chen and Keller-McNulty 1998). Population classes have size 1 + NB(a, b), so K b^a of
K classes are unique. Under Bernoulli sampling, with d = (1 − b)(1 − f) and g = (b / (1 − d))^a,

    E s_1 = K f g (1 + a d / (1 − d)),   E s_2 = K f² g a (1 − b) (2 − (1 − a) d) / (2 (1 − d)²).

K is estimated by the third modified Shlosser estimator (Haas and Stokes 1998); a and b solve the two equations.
Where they have several solutions, the one that implies a population nearest to N is taken; where even that is off by
more than a factor of 2, the model has no estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray
from shoal.equivalence import Classes
from shoal.frame import Frame, enter
from shoal.frequency import estimated_size
from shoal.record import Interval, Record
from shoal.risk.class_sizes import table_classes
from shoal.rng import stream
from shoal.schema import Schema

__all__ = [
    "REDRAWS",
    "NotApplicable",
    "PopulationUniques",
    "Uniqueness",
    "expected_sizes",
    "fit_pitman",
    "measure",
    "pitman",
    "pitman_fits",
    "redrawn",
    "slide_negative_binomial",
    "uniqueness",
    "zayatz",
]

REDRAWS = 20
"""How often class counts are drawn anew for an interval."""
_SMALL_SAMPLE = 0.1  # sampling fraction up to which Dankar et al. trust Pitman
_UNKNOWN = "the population size is not known: give it, or a table with survey weights"


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationUniques(Record):
    """One model's estimate: number of unique persons in the population and their share, or None with the reason.

    `interval` is the 95% interval of the number over samples like this one, where it was computed: it says how far the
    draw can be off, not how far the model can.
    """

    releasable: ClassVar[bool] = True

    model: str
    uniques: float | None
    share: float | None
    reason: str = ""
    interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniqueness(Record):
    """Unique records of a table and estimated uniques of its population.

    Parameters
    ----------
    n_records
        Records, counted once for each person and class.
    n_unique, unique_share
        Records that are alone in their class, and their share.
    population, sampling_fraction
        Persons in the population and n_records over it; None where unknown.
    pitman, zayatz, snb
        The three models' estimates.
    chosen
        The estimate that the rule of Dankar et al. picks; `why` says by which part of it.
    spread
        The lowest and the highest share of population uniques over all models that have an estimate.
    fits
        Whether the Pitman model expects the numbers of uniques and pairs that the sample has, to within a tenth or
        two standard errors; None where it has no estimate.
    """

    releasable: ClassVar[bool] = True
    derived: ClassVar[tuple[str, ...]] = ("why",)

    n_records: int
    n_unique: int
    unique_share: float
    population: float | None
    sampling_fraction: float | None
    pitman: PopulationUniques
    zayatz: PopulationUniques
    snb: PopulationUniques
    chosen: PopulationUniques
    spread: Interval | None = None
    fits: bool | None = None

    def __float__(self) -> float:
        return self.unique_share

    @property
    def models(self) -> tuple[PopulationUniques, ...]:
        """The estimates of all models."""
        return self.pitman, self.zayatz, self.snb

    @property
    def why(self) -> str:
        """Why `chosen` was chosen; empty where there is no estimate."""
        if self.chosen.uniques is None or self.sampling_fraction is None:
            return ""
        if self.sampling_fraction >= 1:
            return "the table is the population"
        if self.sampling_fraction > _SMALL_SAMPLE:
            return "the lower of two, for samples over 10%"
        return "for samples up to 10%" if self.chosen.model == "pitman" else "where Pitman has no estimate"


def uniqueness(table: Any, schema: Schema, population: float | None = None) -> Uniqueness:
    """Count unique records and estimate how many persons are unique in the population.

    Parameters
    ----------
    table, schema
        A table of any dataframe type with the schema's quasi-identifiers, and which they are.
    population
        Number of persons that the table was drawn from; None: the sum of the survey weights, where there are any.

    Notes
    -----
    A model that doesn't apply gives None and the reason: no unique record, an unknown population, equations without a
    solution. Missing quasi values are a level of their own. With a unit column classes count persons. Weights serve
    for the size of the population only. Cost: O(n), and some milliseconds for each model.

    References
    ----------
    Zayatz 1991; Chen and Keller-McNulty 1998; Haas and Stokes 1998; Hoshino 2001; Dankar et al. 2012.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 41, 41, 57]})
    >>> result = shoal.risk.uniqueness(table, shoal.Schema.of(quasi=["age"]), population=6)
    >>> result.n_unique, result.chosen.uniques
    (1, 1.0)
    """
    return measure(enter(table), schema, population)


def measure(
    frame: Frame,
    schema: Schema,
    population: float | None = None,
    *,
    found: Classes | None = None,
) -> Uniqueness:
    """`uniqueness` of a frame that has already entered; `found` are its classes, where they are already known."""
    found = table_classes(frame, schema) if found is None else found
    histogram = found.histogram()
    n, unique = int(found.sizes.sum()), histogram.get(1, 0)
    N = estimated_size(frame, schema, found, population)
    models = {
        "pitman": _estimate("pitman", pitman, histogram, N, n),
        "zayatz": _estimate("zayatz", zayatz, histogram, N, n),
        "snb": _estimate("snb", slide_negative_binomial, histogram, N, n),
    }
    shares = [model.share for model in models.values() if model.share is not None]
    return Uniqueness(
        n_records=n,
        n_unique=unique,
        unique_share=unique / n,
        population=N,
        sampling_fraction=None if N is None else n / N,
        chosen=_with_interval(_choose(n, N, **models), histogram, N, n),
        spread=(min(shares), max(shares)) if shares else None,
        fits=None if models["pitman"].uniques is None or N is None or n >= N else pitman_fits(histogram, n),
        **models,
    )


def _with_interval(
    chosen: PopulationUniques, histogram: Mapping[int, int], N: float | None, n: int
) -> PopulationUniques:
    """The estimate with the interval of its values for class counts drawn anew, each Poisson with what was seen."""
    model = {"pitman": pitman, "zayatz": zayatz}.get(chosen.model)
    if chosen.uniques is None or model is None or N is None or n >= N:
        return chosen
    drawn: list[float] = []
    for again, scale in redrawn(histogram):
        with suppress(NotApplicable, ValueError, ZeroDivisionError):
            drawn.append(model(again, N * scale) / scale)
    known = [value for value in drawn if math.isfinite(value)]
    if len(known) < REDRAWS // 2:
        return chosen
    half = 1.96 * float(np.std(known, ddof=1))
    return replace(chosen, interval=(max(0.0, chosen.uniques - half), min(N, chosen.uniques + half)))


def redrawn(histogram: Mapping[int, int]) -> Iterator[tuple[dict[int, int], float]]:
    """Class counts drawn anew, each Poisson with what was seen, and how much larger the sample became by it."""
    rng, n = stream(0, "risk", "population uniques"), sum(size * count for size, count in histogram.items())
    for _ in range(REDRAWS):
        counts = ((size, int(rng.poisson(count))) for size, count in histogram.items())
        again = {size: count for size, count in counts if count}
        yield again, sum(size * count for size, count in again.items()) / n  # the sampling fraction stays


def pitman_fits(histogram: Mapping[int, int], n: int) -> bool:
    """Whether the Pitman model expects about as many uniques and pairs as there are."""
    theta, a = fit_pitman(histogram)
    pairs = [(histogram.get(j, 0), expected_sizes(theta, a, n, j)) for j in (1, 2)]
    return all(abs(seen - expected) <= max(2 * math.sqrt(expected), 0.1 * expected, 1.0) for seen, expected in pairs)


def _estimate(
    name: str, model: Callable[[Mapping[int, int], float], float], histogram: Mapping[int, int], N: float | None, n: int
) -> PopulationUniques:
    if N is None:
        return PopulationUniques(model=name, uniques=None, share=None, reason=_UNKNOWN)
    try:
        # Of a whole population nothing is estimated: its uniques are those of the table.
        uniques = float(histogram.get(1, 0)) if n >= N else model(histogram, N)
    except NotApplicable as why:
        return PopulationUniques(model=name, uniques=None, share=None, reason=str(why))
    if not math.isfinite(uniques):
        return PopulationUniques(model=name, uniques=None, share=None, reason="the model has no finite estimate")
    return PopulationUniques(model=name, uniques=uniques, share=uniques / N)


def _choose(
    n: int, N: float | None, pitman: PopulationUniques, zayatz: PopulationUniques, snb: PopulationUniques
) -> PopulationUniques:
    if N is None or (n / N <= _SMALL_SAMPLE and pitman.uniques is not None):
        return pitman
    if (
        n / N > _SMALL_SAMPLE
        and snb.uniques is not None
        and zayatz.uniques is not None
        and snb.uniques <= zayatz.uniques
    ):
        return snb
    return zayatz


_DIRECT = 256


class NotApplicable(Exception):  # noqa: N818
    """Internal: an estimator doesn't fit these class sizes; the text says why. Never leaves the package."""


def zayatz(histogram: Mapping[int, int], N: float) -> float:
    """Zayatz's estimate; `histogram` has the number of classes of each size."""
    from scipy.special import gammaln

    size, count = _arrays(histogram)
    n = float(size @ count)
    room = N - size - n + 1
    inside = room >= 0
    j = size[inside]
    log_chance = np.log(j) + gammaln(N - j + 1) - gammaln(room[inside] + 1)  # up to what all j share
    chance = count[inside] * np.exp(log_chance - log_chance.max(initial=-np.inf))
    s1 = histogram.get(1, 0)
    return 0.0 if s1 == 0 else float(s1 * N / n * chance[j == 1].sum() / chance.sum())


def pitman(histogram: Mapping[int, int], N: float) -> float:
    """Expected uniques among `N` persons under the Pitman model fitted by maximum likelihood."""
    from scipy.special import gammaln

    if histogram.get(1, 0) == 0:
        raise NotApplicable("the table has no unique record")
    if max(histogram) == 1:
        raise NotApplicable("every record is unique, so the likelihood has no maximum")
    theta, a = fit_pitman(histogram)
    log_share = gammaln(theta + 1) + gammaln(N + theta + a - 1) - gammaln(theta + a) - gammaln(N + theta)
    return float(N * math.exp(min(0.0, log_share)))


def fit_pitman(histogram: Mapping[int, int]) -> tuple[float, float]:
    """Maximum-likelihood θ and a of the Pitman model: the best θ for each a, then the best a."""
    from scipy.optimize import minimize_scalar

    size, count = _arrays(histogram)
    n = float(size @ count)

    def loss(log_shift: float, a: float) -> float:
        return -pitman_likelihood(math.exp(log_shift) - a, a, size, count)

    def best_shift(a: float) -> float:
        found = minimize_scalar(loss, args=(a,), bounds=(-12.0, math.log(n) + 12.0), method="bounded")
        return float(found.x)

    outer = minimize_scalar(lambda a: loss(best_shift(a), a), bounds=(0.0, 1 - 1e-9), method="bounded")
    a = min((float(outer.x), 0.0), key=lambda a: loss(best_shift(a), a))  # at 0 it is the Ewens model
    return math.exp(best_shift(a)) - a, a


def expected_sizes(theta: float, a: float, n: float, j: int) -> float:
    """Expected number of classes of size `j` in a sample of `n` under the Pitman model."""
    from scipy.special import gammaln

    ways = gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1) + gammaln(j - a) - gammaln(1 - a)
    log = ways + gammaln(theta + 1) + gammaln(theta + a + n - j) - gammaln(theta + a) - gammaln(theta + n)
    return float(math.exp(log))


def pitman_likelihood(theta: float, a: float, size: FloatArray, count: FloatArray) -> float:
    """Logarithm of the Ewens-Pitman formula, up to a constant."""
    from scipy.special import gammaln

    u, n = int(count.sum()), int(size @ count)
    inner = float(count @ (gammaln(size - a) - gammaln(1 - a)))
    return sum_of_logs(theta, a, u - 1) - sum_of_logs(theta, 1.0, n - 1) + inner


def sum_of_logs(theta: float, step: float, terms: int) -> float:
    """Σ_{i=1}^{terms} log(θ + i·step): the first terms one by one, the rest by Euler and Maclaurin (error below 1e-9).

    The difference of two log-gammas would lose all digits where θ/step is large.
    """
    first = min(terms, _DIRECT)
    total = float(np.log(theta + step * np.arange(1, first + 1)).sum())
    if terms == first:
        return total
    length, low, high = terms - first, theta + step * first, theta + step * terms
    growth = step * length / low
    mean = math.log(low) + ((1 + growth) * math.log1p(growth) - growth) / growth if growth > 0 else math.log(low)
    return total + length * mean + (math.log(high) - math.log(low)) / 2 + (step / high - step / low) / 12


def slide_negative_binomial(histogram: Mapping[int, int], N: float) -> float:
    """Estimate K·b^a of the slide negative binomial model."""
    uniques, implied = solve_slide(histogram, N)
    if not 0.5 <= implied / N <= 2:
        raise NotApplicable("its parameters imply a population more than twice as large or small")
    return uniques


def solve_slide(histogram: Mapping[int, int], N: float) -> tuple[float, float]:
    """The uniques of the slide negative binomial model, and the population K (1 + a (1 − b) / b) that it implies."""
    s1, s2 = histogram.get(1, 0), histogram.get(2, 0)
    if s1 == 0 or s2 == 0:
        raise NotApplicable("it needs classes of one and of two records")
    size, count = _arrays(histogram)
    f = float(size @ count) / N
    K = shlosser(size, count, f)
    if not (math.isfinite(K) and K <= N):
        raise NotApplicable("the estimated number of classes exceeds the population")
    a, b = _solve(s1, s2, K, f, N)
    return float(K * b**a), float(K * (1 + a * (1 - b) / b))


def shlosser(size: FloatArray, count: FloatArray, f: float) -> float:
    """Number of classes in the population: the third modified Shlosser estimator."""
    s1 = float(count[size == 1].sum())
    stay = (1 - f) ** size
    twice = (size * f**2 * (1 - f**2) ** (size - 1)) @ count / (((1 - f**2) ** size - stay) @ count)
    once = (stay @ count) / ((size * f * (1 - f) ** (size - 1)) @ count)
    return float(count.sum() + s1 * twice * once**2)


def expected_counts(a: float, b: float, K: float, f: float) -> tuple[float, float]:
    """Expected sample classes of one and of two under the slide negative binomial model."""
    d = (1 - b) * (1 - f)
    g = math.exp(a * math.log(b / (1 - d)))
    s1 = K * f * g * (1 + a * d / (1 - d))
    s2 = K * f**2 * g * a * (1 - b) * (2 - (1 - a) * d) / (2 * (1 - d) ** 2)
    return s1, s2


def _solve(s1: float, s2: float, K: float, f: float, N: float) -> tuple[float, float]:
    from scipy.optimize import least_squares

    def gap(x: FloatArray) -> FloatArray:
        e1, e2 = expected_counts(math.exp(x[0]), 1 / (1 + math.exp(-x[1])), K, f)
        return np.array([math.log((e1 + 1e-300) / s1), math.log((e2 + 1e-300) / s2)])

    solutions: list[tuple[float, float, float]] = []
    for start in ((x, y) for x in (-3.0, 0.0, 3.0) for y in (-6.0, -3.0, 0.0, 3.0)):
        found = least_squares(gap, start, bounds=((-12.0, -18.0), (12.0, 18.0)))
        if np.abs(found.fun).max() < 1e-6:
            a, b = math.exp(found.x[0]), 1 / (1 + math.exp(-found.x[1]))
            solutions.append((abs(math.log(K * (1 + a * (1 - b) / b) / N)), a, b))
    if not solutions:
        raise NotApplicable("its equations have no solution for these class sizes")
    _, a, b = min(solutions)
    return a, b


def _arrays(histogram: Mapping[int, int]) -> tuple[FloatArray, FloatArray]:
    sizes = sorted(histogram)
    return np.array(sizes, dtype=np.float64), np.array([histogram[size] for size in sizes], dtype=np.float64)
