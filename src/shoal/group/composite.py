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
from shoal.group.cutting import STEP, share
from shoal.group.mix import Mix
from shoal.group.prim import Tournament, enter, tournament
from shoal.group.spatial import Index, nearest, remove

__all__ = ["grow"]


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


def grow(
    points: FloatArray, place: IntArray, mix: Mix, index: Index, owner: IntArray, apart: float,
    alpha: float, b: int, start: int,
) -> tuple[IntArray, IntArray, FloatArray]:  # fmt: skip
    """Lower ends, higher ends and squared lengths of the edges, in the order in which they joined.

    Parameters
    ----------
    points, place, mix
        The vertices, the number of each one's distinct point, and their classes.
    index, owner, apart
        The vertices with kind · apart as a column before the others, and the number of each one's point there.
    start
        The first vertex.
    """
    n, n_kinds, n_places, room = len(points), len(mix.rows), int(place.max()) + 1, max(b - 2, 0)
    hoods = _Hoods(
        members=np.empty((n, room), dtype=np.int64),
        hops=np.empty((n, room), dtype=np.int64),
        squared=np.empty((n, room)),
        size=np.zeros(n, dtype=np.int64),
    )
    links = _Links(
        first=np.full(n, -1),
        following=np.empty(2 * n, dtype=np.int64),
        to=np.empty(2 * n, dtype=np.int64),
        queue=np.empty(n, dtype=np.int64),
        origin=np.empty(n, dtype=np.int64),
    )
    front = _Front(
        place=place,
        nearest=np.full((n_places, n_kinds), -1),
        squared=np.zeros((n_places, n_kinds)),
        divergence=np.empty((n, n_kinds)),
        target=np.full(n, -1),
        choice=np.zeros(n, dtype=np.int64),
        left=np.bincount(mix.kinds, minlength=n_kinds),
        outside=np.ones(n, dtype=np.bool_),
    )
    low, high, squared = np.empty(n - 1, dtype=np.int64), np.empty(n - 1, dtype=np.int64), np.empty(n - 1)
    _grow(points, mix, index, owner, apart, alpha, start, hoods, links, front, low, high, squared)
    return low, high, squared


@njit(cache=True, nogil=True)
def _grow(
    points: FloatArray, mix: Mix, index: Index, owner: IntArray, apart: float, alpha: float, start: int,
    hoods: _Hoods, links: _Links, front: _Front, low: IntArray, high: IntArray, squared: FloatArray,
) -> None:  # fmt: skip
    n, new = len(points), start
    games = tournament(n)
    changed, counts = np.empty(n, np.int64), np.zeros(len(mix.overall), np.int64)
    near, near_rows, centre = np.empty(1), np.empty(1, np.int64), np.empty(index.points.shape[1])
    for edge in range(n - 1):
        front.outside[new] = False
        front.left[mix.kinds[new]] -= 1
        remove(index, owner[new])
        _gather(points, links, hoods, new)
        n_changed = _announce(points, links, hoods, new, changed)
        changed[n_changed] = new
        for i in range(n_changed + 1):
            _diverge(hoods, mix, changed[i], counts, front.divergence)
            _bid(games, front, alpha, changed[i])
        u = games.winner[1]
        while front.target[u] < 0 or not front.outside[front.target[u]]:
            if _is_stale(front, u):
                _search(index, front, u, owner[u], apart, centre, near, near_rows)
            _bid(games, front, alpha, u)
            u = games.winner[1]
        new = front.target[u]
        low[edge], high[edge], squared[edge] = min(u, new), max(u, new), games.second[u]
        _link(links, 2 * edge, u, new)
        _link(links, 2 * edge + 1, new, u)


@njit(cache=True, nogil=True)
def _search(
    index: Index, front: _Front, u: int, point: int, apart: float,
    centre: FloatArray, near: FloatArray, near_rows: IntArray,
) -> None:  # fmt: skip
    """Find the outside vertex nearest to `u` of the kind behind its key."""
    kind, place = front.choice[u], front.place[u]
    for j in range(len(centre)):
        centre[j] = index.points[point, j]
    centre[0] = kind * apart
    nearest(index, centre, near, near_rows)
    front.nearest[place, kind], front.squared[place, kind] = near_rows[0], near[0]


@njit(cache=True, nogil=True)
def _is_stale(front: _Front, u: int) -> bool:
    """Whether the nearest outside vertex behind u's key must be searched for."""
    kind = front.choice[u]
    known = front.nearest[front.place[u], kind]
    return bool(front.left[kind] > 0 and (known < 0 or not front.outside[known]))


@njit(cache=True, nogil=True)
def _bid(games: Tournament, front: _Front, alpha: float, u: int) -> None:
    """Give tree vertex `u` the key of its best candidate edge, as far as it is known."""
    p = front.place[u]
    best = (np.inf, np.inf, -1, -1)
    for kind in range(len(front.left)):
        if front.left[kind] > 0:
            squared, v = front.squared[p, kind], front.nearest[p, kind]
            cd = alpha * np.sqrt(squared) + (1.0 - alpha) * front.divergence[u, kind]
            known = v >= 0 and front.outside[v]
            key = (cd, squared, min(u, v) if known else -1, max(u, v) if known else -1)
            if key < best:
                best = key
                front.target[u], front.choice[u] = v if known else -1, kind
    enter(games, u, best[0], best[1], best[2], best[3])


@njit(cache=True, nogil=True)
def _diverge(hoods: _Hoods, mix: Mix, u: int, counts: IntArray, out: FloatArray) -> None:
    """JSD of u's neighbourhood with one more vertex, for each kind of it. `counts` is all 0, before and after."""
    rows = _tally(mix, u, counts, 1)
    for i in range(hoods.size[u]):
        rows += _tally(mix, hoods.members[u, i], counts, 1)
    base, base_rows = 0, -1
    for kind in range(len(mix.rows)):
        together = rows + mix.rows[kind]
        if together != base_rows:
            base, base_rows = 0, together
            for c in range(len(counts)):
                base += share(counts[c], together, mix.overall[c], mix.total)
        parts = base
        for i in range(mix.starts[kind], mix.starts[kind + 1]):
            c = mix.codes[i]
            parts += share(counts[c] + mix.counts[i], together, mix.overall[c], mix.total)
            parts -= share(counts[c], together, mix.overall[c], mix.total)
        out[u, kind] = parts * STEP / (len(mix.columns) - 1)
    _tally(mix, u, counts, -1)
    for i in range(hoods.size[u]):
        _tally(mix, hoods.members[u, i], counts, -1)


@njit(cache=True, nogil=True)
def _tally(mix: Mix, u: int, counts: IntArray, sign: int) -> int:
    kind = mix.kinds[u]
    for i in range(mix.starts[kind], mix.starts[kind + 1]):
        counts[mix.codes[i]] += sign * mix.counts[i]
    return int(mix.rows[kind])


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
