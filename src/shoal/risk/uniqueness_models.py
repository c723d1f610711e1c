"""Estimators of the number of population uniques from the sizes of a sample's classes.

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
from collections.abc import Mapping

import numpy as np

from shoal.arrays import FloatArray

__all__ = ["NotApplicable", "expected_sizes", "fit_pitman", "pitman", "slide_negative_binomial", "zayatz"]

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
