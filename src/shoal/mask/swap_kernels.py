"""The kernel of rank swapping."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray

__all__ = ["partners"]


@njit(cache=True)
def partners(n: int, window: int, draws: FloatArray) -> IntArray:
    """The rank that each rank changes places with; its own where nothing is left in its window."""
    partner = np.full(n, -1, dtype=np.int64)
    for i in range(n):
        if partner[i] >= 0:
            continue
        room = min(window, n - 1 - i)
        chosen = i
        for k in range(draws.shape[1]):
            j = i + 1 + int(draws[i, k] * room)
            if room > 0 and partner[j] < 0:
                chosen = j
                break
        if chosen == i and room > 0:  # all tries were taken: the next free one, going round the window
            start = int(draws[i, 0] * room)
            for step in range(room):
                j = i + 1 + (start + step) % room
                if partner[j] < 0:
                    chosen = j
                    break
        partner[i] = chosen
        partner[chosen] = i
    return partner
