"""A tournament of candidates: the best of many changing keys, found at once.

Candidate u has the key (first, second, low, high), compared in that order. Changing one key costs log n comparisons.
An unfinished candidate carries low = −1: whatever equal bound it shares with a finished one, it is looked at first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray

__all__ = ["Tournament", "enter", "tournament"]


class Tournament(NamedTuple):
    """Keys of all candidates, and a binary tree of winners with the overall one at `winner[1]`."""

    first: FloatArray
    second: FloatArray
    low: IntArray
    high: IntArray
    winner: IntArray


@njit(cache=True, nogil=True)
def tournament(n: int) -> Tournament:
    """Room for `n` candidates, none of which has entered."""
    leaves = 1
    while leaves < n:
        leaves *= 2
    far = np.full(n, np.inf)
    return Tournament(far, far.copy(), np.full(n, -1), np.full(n, -1), np.full(2 * leaves, -1))


@njit(cache=True, nogil=True)
def enter(games: Tournament, u: int, first: float, second: float, low: int, high: int) -> None:
    """Give candidate `u` a key, and play its games again."""
    games.first[u], games.second[u], games.low[u], games.high[u] = first, second, low, high
    node = len(games.winner) // 2 + u
    games.winner[node] = u
    while node > 1:
        node //= 2
        left, right = games.winner[2 * node], games.winner[2 * node + 1]
        games.winner[node] = left if right < 0 or (left >= 0 and _beats(games, left, right)) else right


@njit(cache=True, nogil=True)
def _beats(games: Tournament, a: int, b: int) -> bool:
    if games.first[a] != games.first[b]:
        return bool(games.first[a] < games.first[b])
    if games.second[a] != games.second[b]:
        return bool(games.second[a] < games.second[b])
    if games.low[a] != games.low[b]:
        return bool(games.low[a] < games.low[b])
    return bool(games.high[a] <= games.high[b])
