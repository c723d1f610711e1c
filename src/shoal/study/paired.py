"""Two methods on the same draws: the mean difference with its interval, so that nobody "wins" by luck.

d_i = a_i − b_i,    d̄ ± t_{0.975, n−1} s_d / √n        (Student's paired interval at 95 %)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.report.numbers import number

__all__ = ["Paired", "paired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Mean of first − second over draws, half the width of its interval, and in how many draws the first is lower."""

    n: int
    difference: float
    half: float
    lower: int

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.n > 1 and abs(self.difference) > self.half

    def __str__(self) -> str:
        if self.n < 2:
            return "one draw: no interval"
        return f"difference {number(self.difference)} ± {number(self.half)} over {self.n} draws, lower in {self.lower}"


def paired(first: Sequence[float], second: Sequence[float]) -> Paired:
    """Compare errors of two methods on the same draws.

    Examples
    --------
    >>> from shoal.study.paired import paired
    >>> paired([1.0, 2.0, 3.0], [2.0, 3.1, 3.9]).clear
    True
    """
    from scipy.stats import t

    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    n = len(d)
    half = float(t.ppf(0.975, n - 1) * d.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    return Paired(n=n, difference=float(d.mean()), half=half, lower=int((d < 0).sum()))
