"""95 % intervals of shares and means.

A share of n trials has Wilson's interval, which stays within 0 and 1 and keeps its level near both ends. Where trials
have unequal probabilities, their number of successes varies less than a binomial one, so the interval errs on the safe
side. A mean has the normal interval.
"""

from __future__ import annotations

import math

from shoal.arrays import FloatArray

__all__ = ["mean_interval", "wilson"]

_Z = 1.959963984540054  # the 97.5 % point of the normal distribution


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
