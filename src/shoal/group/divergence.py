"""Jensen-Shannon divergence of a class mix from the overall one, as kernels count it.

With count_c of `rows` records in class c, and K_c of N overall, (5) in base 2 is

    rows · JSD = Σ_c ½ [p log2(2p / (p + q)) + q log2(2q / (p + q))] / N,    p = count_c · N,   q = rows · K_c.

p and q are whole numbers, so a mix equal to the overall one has divergence 0 exactly. With x = (p − q)/(p + q) the logs
are log1p(x) and log1p(−x), accurate also for nearly equal mixes. Several class columns are laid end to end and the
sum is divided by their number: the mean of their divergences.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["STEP", "excess", "share"]

_HALF_BIT = 0.5 / math.log(2.0)
STEP = 2.0**-52


@njit(cache=True, nogil=True)
def excess(count: int, rows: int, overall: int, total: int) -> float:
    """One class's part of rows · JSD."""
    p, q = float(count * total), float(rows * overall)
    if p == q:
        return 0.0
    if p == 0.0:
        return 0.5 * q / total
    x = (p - q) / (p + q)
    return float(_HALF_BIT * (p * np.log1p(x) + q * np.log1p(-x)) / total)


@njit(cache=True, nogil=True)
def share(count: int, rows: int, overall: int, total: int) -> int:
    """One class's part of JSD as a whole number of `STEP`s: such parts add up to the same sum in any order."""
    return int(np.rint(excess(count, rows, overall, total) / rows / STEP))
