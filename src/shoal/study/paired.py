"""Two methods on the same draws: their mean difference with its interval, so that nobody "wins" by luck.

    d_i = a_i − b_i,    d̄ ± t_{0.975, n−1} s_d √(1/n + ρ)        (Student's paired interval at 95%)

Draws of their own have ρ = 0. Repeated splits of one file share its records, so their differences vary too little for
that; there ρ = (test records) / (training records) widens the interval (Nadeau and Bengio 2003).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

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


def paired(first: Sequence[float], second: Sequence[float], shared: float = 0.0) -> Paired:
    """Compare two methods on the same draws.

    Parameters
    ----------
    first, second
        What each method has on each draw.
    shared
        ρ: 0 for draws of their own, test over training records for random splits of one file.

    Examples
    --------
    >>> from shoal.study.paired import paired
    >>> paired([1.0, 2.0, 3.0], [2.0, 3.1, 3.9]).clear, paired([1.0, 2.0, 3.0], [2.0, 3.1, 3.9], shared=30.0).clear
    (True, False)
    """
    d = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    n = len(d)
    half = float(stdtrit(n - 1, 0.975) * d.std(ddof=1) * np.sqrt(1 / n + shared)) if n > 1 else 0.0
    return Paired(n=n, difference=float(d.mean()), half=half, lower=int((d < 0).sum()))
