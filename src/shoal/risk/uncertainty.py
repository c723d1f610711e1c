"""95% intervals of shares and means.

A mean of risks between 0 and 1 over a random sample of records has the Chernoff interval, which holds for every
sample size and whatever the risks are. A share of n trials has Wilson's interval, which stays within 0 and 1 and keeps
its level near both ends. Where trials have unequal probabilities, their number of successes varies less than a binomial
one, so the interval errs on the safe side. A mean has the normal interval.
"""

from __future__ import annotations

import math

from shoal.arrays import FloatArray

__all__ = ["chernoff", "mean_interval", "wilson"]

_Z = 1.959963984540054  # the 97.5% point of the normal distribution
_MISS = math.log(2 / 0.05)  # each end may miss with a chance of 2.5%


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's interval of a share observed in `n` trials; (0, 1) without a trial."""
    if n == 0:
        return 0.0, 1.0
    spread = _Z * math.sqrt(max(0.0, share * (1 - share)) / n + _Z**2 / (4 * n**2))
    middle, scale = share + _Z**2 / (2 * n), 1 + _Z**2 / n
    return max(0.0, min(share, (middle - spread) / scale)), min(1.0, max(share, (middle + spread) / scale))


def mean_interval(values: FloatArray) -> tuple[float, float]:
    """Normal interval of the mean of `values`; of no width where there are fewer than two."""
    if len(values) == 0:
        return 0.0, 0.0
    mean = float(values.mean())
    half = _Z * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else 0.0
    return mean - half, mean + half


def chernoff(mean: float, n: int) -> tuple[float, float]:
    """Interval of the mean of values between 0 and 1 from the mean of `n` of them, drawn at random from all.

    The p for which n · KL(mean, p) ≤ log(2 / 0.05), with KL(q, p) = q log(q / p) + (1 − q) log((1 − q) / (1 − p)).
    By Hoeffding (1963, theorems 1 and 4) the true mean lies outside with a chance of at most 5%, for draws with or
    without replacement and any n; (0, 1) without a draw.
    """
    if n == 0:
        return 0.0, 1.0
    mean = min(1.0, max(0.0, mean))
    return _furthest(mean, 0.0, _MISS / n), _furthest(mean, 1.0, _MISS / n)


def _furthest(q: float, end: float, most: float) -> float:
    """The p between q and `end` with KL(q, p) = most, by bisection."""
    inside, outside = q, end
    for _ in range(60):
        p = (inside + outside) / 2
        inside, outside = (p, outside) if _divergence(q, p) <= most else (inside, p)
    return inside


def _divergence(q: float, p: float) -> float:
    if p in (0.0, 1.0):
        return 0.0 if p == q else math.inf
    return (q * math.log(q / p) if q > 0 else 0.0) + ((1 - q) * math.log((1 - q) / (1 - p)) if q < 1 else 0.0)
