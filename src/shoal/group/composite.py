"""CREST's spanning tree: Prim's rule with the composite distance (6), every candidate always up to date.

A candidate edge e joins a tree vertex u to an outside vertex v. With B(e) = v, u and the first b − 2 vertices met
breadth-first from u in the tree so far (equal hops: nearer to u first, then lower row),

    CD_e = α L_e + (1 − α) JSD_{B(e)},

and the tree grows by the smallest CD_e. B(e) changes as the tree grows, so keys computed once are wrong later. Two
facts make the full refresh cheap:

- JSD_{B(e)} depends on u's neighbourhood and on v's *kind* (its classes) only. So the best v of one kind is the one
  nearest to u, and u needs one nearest outside vertex per kind. The spatial index holds the kinds as one more
  column, so far apart that the nearest point of a kind is found by a plain search.
- A new vertex w enters u's neighbourhood only if w is among the first b − 2 around u; a walk from w that stops behind
  vertices whose neighbourhood is full of nearer ones finds them all.

The nearest outside vertex is searched lazily, as in `prim`: a remembered distance is a lower bound. Ties: smallest CD,
then shortest edge, then (lower end, higher end). Parts of JSD are added as whole numbers, so equal mixes have equal
divergence to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.group.divergence import STEP, share
from shoal.group.spatial import Index, nearest, remove
from shoal.group.tournament import Tournament, enter, tournament

__all__ = ["Kinds", "grow"]


class Kinds(NamedTuple):
    """What each kind of vertex brings; see `shoal.group.mix.Mix`."""

    of: IntArray
    starts: IntArray
    codes: IntArray
    counts: IntArray
    rows: IntArray
    overall: IntArray
    total: int
    n_columns: int


class _Hoods(NamedTuple):
    """The first b − 2 vertices around each tree vertex: who, how many hops off, at what squared distance."""

    members: IntArray
    hops: IntArray
    squared: FloatArray
    size: IntArray


class _Links(NamedTuple):
    """The tree so far: the edge ends at u form a list that begins at first[u]; queue and origin are for walks."""

    first: IntArray
    following: IntArray
    to: IntArray
    queue: IntArray
    origin: IntArray


class _Front(NamedTuple):
    """What tree vertices know of the outside, by place (distinct point) and kind; a squared distance is a lower bound.

    `target` and `choice` are the vertex and the kind behind u's key; `left` counts the outside vertices of a kind.
    """

    place: IntArray
    nearest: IntArray
    squared: FloatArray
    divergence: FloatArray
    target: IntArray
    choice: IntArray
    left: IntArray
    outside: BoolArray


@njit(cache=True, nogil=True)
def grow(
    index: Index, owner: IntArray, apart: float, points: FloatArray, place: IntArray, kinds: Kinds,
    alpha: float, b: int, start: int,
) -> tuple[IntArray, IntArray, FloatArray]:  # fmt: skip
    """Lower ends, higher ends and squared lengths of the edges, in the order in which they joined.

    Parameters
    ----------
    index, owner, apart
        All vertices, with kind · apart as the first column, and the point of each vertex in it.
    points, place
        The vertices without that column, and the number of each one's distinct point.
    start
        The first vertex.
    """
    n, n_kinds = len(points), len(kinds.rows)
    low, high, length = np.empty(n - 1, np.int64), np.empty(n - 1, np.int64), np.empty(n - 1)
    room = max(b - 2, 0)
    hoods = _Hoods(np.empty((n, room), np.int64), np.empty((n, room), np.int64), np.empty((n, room)), np.zeros(n, np.int64))
    links = _Links(np.full(n, -1), np.empty(2 * n, np.int64), np.empty(2 * n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64))
    n_places = place.max() + 1
    front = _Front(
        place, np.full((n_places, n_kinds), -1), np.zeros((n_places, n_kinds)), np.empty((n, n_kinds)),
        np.full(n, -1), np.zeros(n, np.int64), np.bincount(kinds.of, minlength=n_kinds), np.ones(n, np.bool_),
    )  # fmt: skip
    games = tournament(n)
    changed, counts = np.empty(n, np.int64), np.zeros(len(kinds.overall), np.int64)
    near, near_rows, centre = np.empty(1), np.empty(1, np.int64), np.empty(index.points.shape[1])
    new = start
    for edge in range(n):
        front.outside[new] = False
        front.left[kinds.of[new]] -= 1
        remove(index, owner[new])
        if edge == n - 1:
            break
        _gather(points, links, hoods, new)
        n_changed = _announce(points, links, hoods, new, changed)
        changed[n_changed] = new
        for i in range(n_changed + 1):
            _diverge(hoods, kinds, changed[i], counts, front.divergence[changed[i]])
            _bid(games, front, alpha, changed[i])
        u = games.winner[1]
        while front.target[u] < 0 or not front.outside[front.target[u]]:
            kind = front.choice[u]
            known = front.nearest[place[u], kind]
            if front.left[kind] > 0 and (known < 0 or not front.outside[known]):
                centre[:] = index.points[owner[u]]
                centre[0] = kind * apart
                nearest(index, centre, near, near_rows)
                front.nearest[place[u], kind] = near_rows[0]
                front.squared[place[u], kind] = near[0]
            _bid(games, front, alpha, u)
            u = games.winner[1]
        new = front.target[u]
        low[edge], high[edge], length[edge] = min(u, new), max(u, new), games.second[u]
        _link(links, 2 * edge, u, new)
        _link(links, 2 * edge + 1, new, u)
    return low, high, length


@njit(cache=True, nogil=True)
def _bid(games: Tournament, front: _Front, alpha: float, u: int) -> None:
    """Give tree vertex `u` the key of its best candidate edge, as far as it is known."""
    p = front.place[u]
    best, best_squared, best_low, best_high = np.inf, np.inf, -1, -1
    for kind in range(len(front.left)):
        if front.left[kind] == 0:
            continue
        squared, v = front.squared[p, kind], front.nearest[p, kind]
        cd = alpha * np.sqrt(squared) + (1.0 - alpha) * front.divergence[u, kind]
        if v < 0 or not front.outside[v]:
            v, low, high = -1, -1, -1
        else:
            low, high = min(u, v), max(u, v)
        if cd < best or (
            cd == best
            and (squared < best_squared or (squared == best_squared and (low < best_low or (low == best_low and high < best_high))))
        ):
            best, best_squared, best_low, best_high = cd, squared, low, high
            front.target[u], front.choice[u] = v, kind
    enter(games, u, best, best_squared, best_low, best_high)


@njit(cache=True, nogil=True)
def _diverge(hoods: _Hoods, kinds: Kinds, u: int, counts: IntArray, out: FloatArray) -> None:
    """JSD of u's neighbourhood with one more vertex, for each kind of it. `counts` is all 0, before and after."""
    rows = _tally(kinds, u, counts, 1)
    for i in range(hoods.size[u]):
        rows += _tally(kinds, hoods.members[u, i], counts, 1)
    base, base_rows = 0, -1
    for kind in range(len(kinds.rows)):
        together = rows + kinds.rows[kind]
        if together != base_rows:
            base, base_rows = 0, together
            for c in range(len(counts)):
                base += share(counts[c], together, kinds.overall[c], kinds.total)
        parts = base
        for i in range(kinds.starts[kind], kinds.starts[kind + 1]):
            c = kinds.codes[i]
            parts += share(counts[c] + kinds.counts[i], together, kinds.overall[c], kinds.total)
            parts -= share(counts[c], together, kinds.overall[c], kinds.total)
        out[kind] = parts * STEP / kinds.n_columns
    _tally(kinds, u, counts, -1)
    for i in range(hoods.size[u]):
        _tally(kinds, hoods.members[u, i], counts, -1)


@njit(cache=True, nogil=True)
def _tally(kinds: Kinds, u: int, counts: IntArray, sign: int) -> int:
    kind = kinds.of[u]
    for i in range(kinds.starts[kind], kinds.starts[kind + 1]):
        counts[kinds.codes[i]] += sign * kinds.counts[i]
    return int(kinds.rows[kind])


@njit(cache=True, nogil=True)
def _gather(points: FloatArray, links: _Links, hoods: _Hoods, new: int) -> None:
    """Find the neighbourhood of a vertex that has just joined."""
    room = hoods.members.shape[1]
    links.queue[0], links.origin[0] = new, -1
    begin, end, hop = 0, 1, 0
    while begin < end and hoods.size[new] < room:
        hop += 1
        level = end
        for i in range(begin, level):
            x, e = links.queue[i], links.first[links.queue[i]]
            while e >= 0:
                y = links.to[e]
                if y != links.origin[i]:
                    _meet(hoods, new, y, hop, _squared(points, new, y))
                    links.queue[end], links.origin[end] = y, x
                    end += 1
                e = links.following[e]
        begin = level


@njit(cache=True, nogil=True)
def _announce(points: FloatArray, links: _Links, hoods: _Hoods, new: int, changed: IntArray) -> int:
    """Let the new vertex into the neighbourhoods it belongs to; return how many changed.

    Behind a vertex whose neighbourhood is full of vertices nearer (in hops) than the new one, all others are full too.
    """
    room, n_changed = hoods.members.shape[1], 0
    links.queue[0], links.origin[0] = new, -1
    begin, end, hop = 0, 1, 0
    while begin < end and room > 0:
        hop += 1
        level = end
        for i in range(begin, level):
            x, e = links.queue[i], links.first[links.queue[i]]
            while e >= 0:
                y = links.to[e]
                if y != links.origin[i] and not (hoods.size[y] == room and hoods.hops[y, room - 1] < hop):
                    if _meet(hoods, y, new, hop, _squared(points, y, new)):
                        changed[n_changed] = y
                        n_changed += 1
                    links.queue[end], links.origin[end] = y, x
                    end += 1
                e = links.following[e]
        begin = level
    return n_changed


@njit(cache=True, nogil=True)
def _meet(hoods: _Hoods, u: int, w: int, hop: int, squared: float) -> bool:
    """Put `w` into u's neighbourhood if it is among the first; say whether."""
    room, size = hoods.members.shape[1], hoods.size[u]
    if size == room and not _sooner(hoods, u, size - 1, w, hop, squared):
        return False
    at = size - 1 if size == room else size
    hoods.size[u] = at + 1
    while at > 0 and _sooner(hoods, u, at - 1, w, hop, squared):
        hoods.members[u, at], hoods.hops[u, at] = hoods.members[u, at - 1], hoods.hops[u, at - 1]
        hoods.squared[u, at] = hoods.squared[u, at - 1]
        at -= 1
    hoods.members[u, at], hoods.hops[u, at], hoods.squared[u, at] = w, hop, squared
    return True


@njit(cache=True, nogil=True)
def _sooner(hoods: _Hoods, u: int, i: int, w: int, hop: int, squared: float) -> bool:
    """Whether `w` comes before the i-th vertex around `u`."""
    if hop != hoods.hops[u, i]:
        return bool(hop < hoods.hops[u, i])
    if squared != hoods.squared[u, i]:
        return bool(squared < hoods.squared[u, i])
    return bool(w < hoods.members[u, i])


@njit(cache=True, nogil=True)
def _link(links: _Links, e: int, u: int, v: int) -> None:
    links.to[e], links.following[e] = v, links.first[u]
    links.first[u] = e


@njit(cache=True, nogil=True)
def _squared(points: FloatArray, a: int, b: int) -> float:
    total = 0.0
    for j in range(points.shape[1]):
        total += (points[a, j] - points[b, j]) * (points[a, j] - points[b, j])
    return total
