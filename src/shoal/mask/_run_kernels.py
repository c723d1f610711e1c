"""Tie classes, in order, joined to runs."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import BoolArray, IntArray

__all__ = ["joined"]


@njit(cache=True, nogil=True)
def joined(sizes: IntArray, opens: BoolArray, k: int) -> IntArray:
    """The run of each tie class: full as soon as it holds k rows; what is left of a stratum joins its last full run.

    `opens` says which classes begin a stratum. Numbers of runs rise, with gaps.
    """
    out = np.empty(len(sizes), dtype=np.int64)
    run, held, start, is_first = -1, 0, 0, True
    for i in range(len(sizes)):
        if opens[i] or held >= k:
            if opens[i] and held < k and not is_first:
                out[start:i] = run - 1
            is_first = opens[i]
            run, held, start = run + 1, 0, i
        out[i] = run
        held += sizes[i]
    if held < k and not is_first:
        out[start:] = run - 1
    return out
