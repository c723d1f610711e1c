"""What a sample class says of its size in the population: E(1/F | f) and P(F = h | f) under three models.

A class has f persons in the sample and F ≥ f in the population; whoever matches one of its records against a register
is right with probability 1/F. F is unknown, and 1/E(F) is too low (Jensen), so the expectation of 1/F is what counts.

**Negative binomial** (Benedetti and Franconi 1998), p the class's sampling fraction, q = 1 − p:

    P(F = h | f) = C(h−1, f−1) p^f q^(h−f),   h ≥ f
    E(1/F | f)   = (p/f) 2F1(1, 1; f+1; q) = (p/f) [1 + q/(f+1) + 2 q²/((f+1)(f+2)) + ...]

The series is positive and stable. It is slow where p and f are both small; there r(1) = (p/q) log(1/p) and the exact
recurrence r(f+1) = (p/q) (1/f − r(f)), whose error shrinks for p < 1/2, take its place.

**Poisson** (Skinner and Holmes 1998): F − f | f ~ Poisson(v), so E(1/F | f) = (1/f) 1F1(1; f+1; −v), which for f = 1 is
(1 − e^−v)/v.

**Pitman** (Hoshino 2001): with parameters θ and a, F − f | f ~ beta-binomial(N − n; f − a, n − f + θ + a).

N is a number that is given, or the sum of survey weights.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import floats
from shoal.equivalence import Classes, Codes, combine
from shoal.errors import ParameterError
from shoal.frame import Frame, series
from shoal.schema import Schema

__all__ = [
    "below",
    "drawn_alike",
    "estimated_size",
    "negative_binomial",
    "person_weights",
    "pitman",
    "pitman_unique",
    "poisson",
    "row_weights",
    "sampling_fractions",
]

_FEW = 40  # from this f on the series has converged after as many terms, whatever q is
_EPSILON = 1e-17
_NOTHING = 1e-12  # a mean number of further persons that is none
_DIRECT = 512  # terms of the beta-binomial that are summed one by one
_LARGE = 2000  # classes whose size in the population is known to within some percent


def negative_binomial(f: FloatArray | IntArray, p: FloatArray) -> FloatArray:
    """E(1/F | f) for classes of `f` persons and sampling fractions `p`; 1/f where p is 1 or more, 0 where it is 0."""
    f, p = np.broadcast_arrays(np.asarray(f, dtype=np.float64), np.asarray(p, dtype=np.float64))
    pairs, back = np.unique(np.column_stack((f.ravel(), np.clip(p.ravel(), 0.0, 1.0))), axis=0, return_inverse=True)
    size, share = pairs[:, 0], pairs[:, 1]
    out = np.zeros(len(size))
    climbing = (share > 0) & (share < 0.5) & (size < _FEW) & (size == np.round(size))
    summing = (share > 0) & ~climbing
    out[climbing] = _climb(size[climbing].astype(np.int64), share[climbing])
    out[summing] = _series(size[summing], share[summing])
    return out[back.reshape(-1)].reshape(f.shape)


def poisson(f: FloatArray | IntArray, v: FloatArray) -> FloatArray:
    """E(1/F | f) where the number of further persons of a class is Poisson with mean `v`."""
    from scipy.special import hyp1f1

    f, v = np.broadcast_arrays(np.asarray(f, dtype=np.float64), np.asarray(v, dtype=np.float64))
    some = v > _NOTHING
    safe = np.where(some, v, 1.0)
    mean = np.where(f == 1, -np.expm1(-safe) / safe, np.asarray(hyp1f1(1.0, f + 1.0, -safe)) / f)
    return np.where(some, np.clip(mean, 0.0, 1.0 / f), 1.0 / f)


def pitman(f: IntArray, n: float, N: float, theta: float, a: float) -> FloatArray:
    """E(1/F | f) of the Pitman model, for each of the sizes `f`."""
    return np.array([_pitman_mean(float(size), n, N, theta, a) for size in f])


def pitman_unique(n: float, N: float, theta: float, a: float) -> float:
    """P(F = 1 | f = 1) of the Pitman model."""
    from scipy.special import gammaln

    log = gammaln(N + theta + a - 1) + gammaln(n + theta) - gammaln(n + theta + a - 1) - gammaln(N + theta)
    return float(np.exp(min(0.0, log)))


def below(f: IntArray, p: FloatArray, k: int) -> FloatArray:
    """P(F < k | f) of the negative binomial model: that fewer than `k` persons of the population share the class."""
    from scipy.special import betainc

    f, p = np.asarray(f, dtype=np.float64), np.clip(np.asarray(p, dtype=np.float64), 0.0, 1.0)
    inside = np.maximum(k - f, 1.0)
    # P(F ≤ k − 1) = I_p(f, k − f): at least f of the first k − 1 persons of the class were drawn.
    return np.where(f < k, betainc(f, inside, p), 0.0)


def _climb(f: IntArray, p: FloatArray) -> FloatArray:
    odds = p / (1 - p)
    risk = -odds * np.log(p)
    for size in range(1, int(f.max(initial=1))):
        risk = np.where(f > size, odds * (1 / size - risk), risk)
    return risk


def _series(f: FloatArray, p: FloatArray) -> FloatArray:
    q = 1 - p
    total, term, j = np.ones(len(f)), np.ones(len(f)), 0
    while (term > _EPSILON * total).any() and j < 5_000_000:
        j += 1
        term = term * (q * j / (f + j))
        total += term
    return p / f * total


def _pitman_mean(f: float, n: float, N: float, theta: float, a: float) -> float:
    """Σ_m P(m) / (f + m): the first terms one by one, the rest as an integral over log m.

    In a large class F is so certain that the mean and variance of it are enough.
    """
    M = N - n
    if f > _LARGE:
        mean, spread = f + M * (f - a) / (n + theta), (n - f + theta + a) / ((f - a) * (n + theta + 1))
        return min((1 + spread) / mean, 1 / f)
    direct = np.arange(min(M, _DIRECT) + 1 if M < _DIRECT else _DIRECT, dtype=np.float64)
    log = np.log(f + direct)
    total = float(np.exp(_beta_binomial(direct, M, f - a, n - f + theta + a) - log).sum())
    if M < _DIRECT:
        return min(total, 1 / f)
    m, weight = _nodes(_DIRECT - 0.5, M + 0.5)
    tail = _beta_binomial(np.minimum(m, M), M, f - a, n - f + theta + a) - np.log(f + m)
    return min(total + float(np.exp(tail) @ weight), 1 / f)


def _nodes(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre points and weights for ∫ dm, panel by panel in log m."""
    x, w = _gauss_legendre()
    edges = np.linspace(np.log(low), np.log(high), max(2, int(8 * np.log(high / low)) + 2))
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    m = np.exp((middle[:, None] + half[:, None] * x).ravel())
    return m, (half[:, None] * w).ravel() * m


@cache
def _gauss_legendre() -> tuple[FloatArray, FloatArray]:
    return np.polynomial.legendre.leggauss(12)


def _beta_binomial(m: FloatArray, M: float, alpha: float, beta: float) -> FloatArray:
    from scipy.special import betaln, gammaln

    ways = gammaln(M + 1) - gammaln(m + 1) - gammaln(M - m + 1)
    return np.asarray(ways + betaln(m + alpha, M - m + beta) - betaln(alpha, beta))


def estimated_size(frame: Frame, schema: Schema, classes: Classes, population: float | None) -> float | None:
    """Persons in the population; None where nothing says it (weights that sum to the sample say nothing)."""
    n = int(classes.sizes.sum())
    if population is not None:
        return _checked(population, n)
    weights = person_weights(frame, schema, classes)
    total = 0.0 if weights is None else float(weights.sum())
    return total if total > n * (1 + 1e-6) else None


def person_weights(frame: Frame, schema: Schema, classes: Classes) -> FloatArray | None:
    """Sum of survey weights in each class; a person with several rows in it counts with their mean weight."""
    name = schema.weight
    if name is None or name not in frame.columns:
        return None
    weights = row_weights(frame, name)
    if classes.persons is None:
        return _sums(classes.labels, weights, classes.n_classes)
    return _mean_per_person(classes, classes.persons, weights)


def row_weights(frame: Frame, name: str) -> FloatArray:
    """The survey weight of each row; a missing one is 0."""
    return np.nan_to_num(floats(series(frame, name)), nan=0.0)


def drawn_alike(weights: FloatArray | None, f: IntArray) -> bool:
    """Whether people of every class had the same chance to be in the table, as models without weights assume."""
    if weights is None:
        return True
    mean = weights / f
    return bool(np.ptp(mean) <= 1e-9 * abs(float(mean.max())))


def sampling_fractions(frame: Frame, schema: Schema, found: Classes, size: float) -> FloatArray:
    """p of each class: persons over weights (scaled to the population), or n/N; never above 1."""
    f, weights = found.sizes.astype(np.float64), person_weights(frame, schema, found)
    if weights is None or weights.sum() <= 0:
        return np.full(len(f), min(1.0, float(f.sum()) / size))
    inside = weights * (size / weights.sum())
    share: FloatArray = np.divide(f, inside, out=np.ones(len(f)), where=inside > f)
    return share


def _mean_per_person(classes: Classes, persons: IntArray, weights: FloatArray) -> FloatArray:
    label = Codes(values=classes.labels, n=classes.n_classes)
    both = combine([label, Codes(values=persons, n=int(persons.max(initial=-1)) + 1)])
    means = _sums(both.values, weights, both.n) / np.bincount(both.values)
    owner = np.empty(both.n, dtype=np.int64)
    owner[both.values] = classes.labels
    return _sums(owner, means, classes.n_classes)


def _sums(places: IntArray, weights: FloatArray, n: int) -> FloatArray:
    return np.bincount(places, weights=weights, minlength=n).astype(np.float64, copy=False)


def _checked(population: float, n: int) -> float:
    number = isinstance(population, int | float) and not isinstance(population, bool)
    if not (number and math.isfinite(population) and population >= n):
        raise ParameterError(
            "population",
            "must be a number of persons, at least as many as in the table",
            got=repr(population)[:60],
            hint="Omit it to use the survey weights.",
        )
    return float(population)
