"""The Euclidean minimum spanning tree by Prim's rule: the tree grows by the shortest edge that leaves it.

Equal edges are ordered by (lower end, higher end), which makes the tree unique. Two ways find the same tree without a
matrix of distances:

- `prim` searches a spatial index. Each tree vertex u remembers its nearest outside vertex; when that one has joined
  the tree, the remembered distance is still a lower bound, for the outside only shrinks. So a search is made only
  for the vertex with the smallest bound, until the smallest key is a true edge: about log n searches per vertex.
  For one u the lowest outside vertex is always the best of those equally near, which is the index's rule too.
- `prim_by_scan` remembers for each outside vertex its nearest tree vertex and compares all of them with each newcomer:
  n²/2 distances in long vector loops. In many columns, where boxes prune little, it is the faster one.

A tournament of candidates: the best of many changing keys, found at once.

Candidate u has the key (first, second, low, high), compared in that order. Changing one key costs log n comparisons.
An unfinished candidate carries low = −1: whatever equal bound it shares with a finished one, it is looked at first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.group.spatial import Index, nearest, remove

__all__ = ["Tournament", "enter", "prim", "prim_by_scan", "tournament"]


@njit(cache=True, nogil=True)
def prim(index: Index) -> tuple[IntArray, IntArray, FloatArray]:
    """Lower ends, higher ends and squared lengths of the tree's edges, in the order in which they joined.

    The points of `index` are distinct, point p at row p; it is empty but for one point afterwards.
    """
    n, points = len(index.points), index.points
    low, high, length = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    target = np.full(n, -1)
    outside = np.ones(n, np.bool_)
    games = tournament(n)
    near, near_rows = np.empty(1), np.empty(1, np.int64)
    new = 0
    for edge in range(n - 1):
        outside[new] = False
        remove(index, new)
        enter(games, new, 0.0, 0.0, -1, -1)
        u = games.winner[1]
        while target[u] < 0 or not outside[target[u]]:
            nearest(index, points[u], near, near_rows)
            v = target[u] = near_rows[0]
            enter(games, u, near[0], near[0], min(u, v), max(u, v))
            u = games.winner[1]
        new = target[u]
        low[edge], high[edge], length[edge] = min(u, new), max(u, new), games.first[u]
    return low, high, length


def prim_by_scan(points: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The same tree, by comparing every newcomer with every outside vertex."""
    n = len(points)
    low, high, length = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64), np.empty(n - 1)
    columns, rows, link = np.ascontiguousarray(points.T), np.arange(n), np.zeros(n, dtype=np.int64)
    _scan(columns, rows, link, np.full(n, np.inf), np.empty(n), low, high, length)
    return low, high, length


@njit(cache=True, nogil=True)
def _scan(
    x: FloatArray, rows: IntArray, link: IntArray, best: FloatArray, work: FloatArray,
    low: IntArray, high: IntArray, length: FloatArray,
) -> None:  # fmt: skip
    """Grow the tree. The outside vertices sit in the first places of all arrays; the last fills each gap."""
    at, here = 0, np.empty(len(x))
    for edge in range(len(low)):
        new, last = rows[at], len(low) - edge
        for j in range(len(x)):
            here[j], x[j, at] = x[j, at], x[j, last]
        rows[at], link[at], best[at] = rows[last], link[last], best[last]
        _squares(x, here, last, work)
        _relink(rows, new, last, work, best, link)
        at = _shortest(rows, last, best, link)
        low[edge], high[edge] = min(link[at], rows[at]), max(link[at], rows[at])
        length[edge] = best[at]


@njit(cache=True, nogil=True)
def _squares(x: FloatArray, here: FloatArray, n: int, out: FloatArray) -> None:
    """Squared distances from `here`, column by column, so that the loops run over vectors."""
    for i in range(n):
        out[i] = 0.0
    for j in range(len(here)):
        c = here[j]
        for i in range(n):
            out[i] += (x[j, i] - c) * (x[j, i] - c)


@njit(cache=True, nogil=True)
def _relink(rows: IntArray, new: int, n: int, work: FloatArray, best: FloatArray, link: IntArray) -> None:
    for i in range(n):
        # of two equally long edges to one vertex, the one with the lower other end comes first
        if work[i] < best[i] or (work[i] == best[i] and new < link[i]):
            best[i], link[i] = work[i], new


@njit(cache=True, nogil=True)
def _shortest(rows: IntArray, n: int, best: FloatArray, link: IntArray) -> int:
    """The outside vertex with the shortest edge."""
    at, low, high = 0, min(link[0], rows[0]), max(link[0], rows[0])
    for i in range(1, n):
        if best[i] <= best[at]:
            one, other = min(link[i], rows[i]), max(link[i], rows[i])
            if best[i] < best[at] or one < low or (one == low and other < high):
                at, low, high = i, one, other
    return at


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
