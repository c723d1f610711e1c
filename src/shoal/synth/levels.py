"""What is believed of a one-way table that is mostly noise: posterior means of its counts.

A noisy table y of C levels has noise of variance v, and n records in all. Before it is looked at, the count of each
level is a draw of a Gamma distribution with mean n/C and shape a. A large a says that all levels have about the same
count, a small one that few levels have nearly all records. Each shape of a fixed list is weighed by the likelihood

    Π_i ∫ Gamma_a(x) exp(−(y_i − x)² / 2v) dx,

and a level's count is the mean of x under all of them (empirical Bayes), scaled to n in all. So levels that can't be
seen share evenly what the others leave, as if they had been merged, one that stands out stays, and all between is
weighed. Computed from noisy answers only: it costs nothing more.

**Ordered levels borrow from their neighbours at the ends.** Beyond the last level that is clear (over four standard
deviations of the noise) an ordered column mostly peters out. Cut at zero one by one, the noisy counts of fifteen empty
bins leave some six standard deviations of records out there, and a mean moves with them. So the counts beyond the last
clear level are made to fall towards the end (least squares; neighbours that don't are averaged), and each run of m
equal ones with sum S is believed by S² / (S² + m v). The same before the first clear one. What is true of so few people
that noise hides it is lost with it.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray

__all__ = ["believed_counts", "believed_ends"]

_NOISY = 0.25  # of the mean count: with less noise a table is taken as it is
_SHAPES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 100.0, 400.0)
_LOW, _SURE = -3.0, 25.0  # standard deviations: answers are weighed as if between; one above _SURE stays as it is
_REACH = 5.0  # standard deviations beyond the largest answer
_FINE = 4  # nodes for each standard deviation
_TINY = 1e-300
_CLEAR = 4.0  # standard deviations: an ordered level that surely has records


def believed_counts(y: FloatArray, variance: float, total: float) -> FloatArray:
    """Counts of the levels given noisy ones; `y` itself where noise is below a quarter of the mean count."""
    mean, deviation = total / len(y), float(np.sqrt(variance))
    if deviation <= _NOISY * mean:
        return y
    near = np.clip(y, _LOW * deviation, _SURE * deviation)
    edges = _edges(max(float(near.max()), mean) + _REACH * deviation, mean, deviation)
    x = (edges[1:] + edges[:-1]) / 2
    likelihood = np.exp(-((near[:, None] - x) ** 2) / (2 * variance))
    prior = _priors(edges / mean)
    evidence = np.maximum(likelihood @ prior, _TINY)
    means = (likelihood @ (prior * x[:, None])) / evidence
    counts = np.where(y > _SURE * deviation, y, means @ _weights(np.log(evidence).sum(axis=0)))
    return np.asarray(counts * total / max(float(counts.sum()), _TINY), dtype=np.float64)


def believed_ends(y: FloatArray, variance: float, n_ordered: int) -> FloatArray | None:
    """Counts at the ends of a column whose first `n_ordered` levels are in order, not-a-number for all others.

    None where no level is clear, or the first and the last one are.
    """
    clear = np.flatnonzero(y[:n_ordered] > _CLEAR * np.sqrt(variance))
    if not len(clear) or len(y[: clear[0]]) + len(y[clear[-1] + 1 : n_ordered]) == 0:
        return None
    first, last = int(clear[0]), int(clear[-1])
    counts = np.full(len(y), np.nan)
    counts[last + 1 : n_ordered] = _petering_out(y[last + 1 : n_ordered], variance)
    counts[:first] = _petering_out(y[:first][::-1], variance)[::-1]
    return counts


def _petering_out(y: FloatArray, variance: float) -> FloatArray:
    """Counts that fall, none of them below 0, each run of equal ones as far as its sum is believed."""
    runs: list[tuple[float, int]] = []
    for value in y:
        runs.append((float(value), 1))
        while len(runs) > 1 and runs[-2][0] <= runs[-1][0]:
            (a, m), (b, k) = runs[-2:]
            runs[-2:] = [((a * m + b * k) / (m + k), m + k)]
    return np.repeat([_shrunk(value, m, variance) for value, m in runs], [m for _, m in runs]).astype(np.float64)


def _shrunk(value: float, m: int, variance: float) -> float:
    """What is believed of the value of a run of m: its share S² / (S² + m v), S = m × value."""
    return 0.0 if value <= 0 else value * m * value**2 / (m * value**2 + variance)


def _edges(top: float, mean: float, deviation: float) -> FloatArray:
    """Bounds of small intervals from 0 to `top`: even ones finer than noise, and finer ones near 0."""
    near_zero = mean * np.geomspace(1e-4, top / mean, 60)
    return np.unique(np.concatenate([[0.0], near_zero, np.arange(0, top, deviation / _FINE)]))


def _priors(scaled: FloatArray) -> FloatArray:
    """The mass of each interval under each shape."""
    from scipy.special import gammainc

    return np.diff(np.column_stack([gammainc(shape, shape * scaled) for shape in _SHAPES]), axis=0)


def _weights(log_likelihood: FloatArray) -> FloatArray:
    weights = np.exp(log_likelihood - log_likelihood.max())
    return np.asarray(weights / weights.sum(), dtype=np.float64)
