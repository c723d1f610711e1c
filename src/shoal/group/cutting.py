"""Cut a spanning tree into groups of at least k.

An edge is removable if both parts keep at least k vertices. As long as a component has one, it loses its best:

- `LONGEST`: the longest (Laszlo and Mukherjee 2005);
- `CLOSE`: the longest of those whose parts are both t-close, that is, whose class shares differ from the overall ones
  by at most t in total variation, ½ Σ_c |f_c − F_c|, in every class column;
- `DIVERGENCE`: the one with the smallest r_e = (WJSD − JSD_parent) / L_e (9), where
  WJSD = Σ_parts n_part/n · JSD_part; by Lemma 1 r_e ≥ 0. If L_e = 0, r_e is 0 where the numerator is, else +∞.

Ties: the longest edge, then the lowest edge number. Components don't influence each other, so their order is free.

The tree is rooted once. Only vertices with at least k below them can lose the edge above them; they are kept in
depth-first order, so that what hangs on one of them is a run. A cut moves that run to the end of its component, and
only sizes, class counts and divergences on the way up to the component's root change. A cut costs a look at the
component's listed vertices: n²/k in all at worst, with a small constant.

Most looks need no logarithm. JSD is a sum of convex functions j of the shares f_c with j'' = F / (2 ln 2 · f (f + F)),
which falls as f grows, so with parts A and B of a component P

    r_e  ≥  n_A n_B / n_P² · Σ_c F_c (f_Ac − f_Bc)² / (4 ln 2 · M_c (M_c + F_c)) / L_e,    M_c = max(f_Ac, f_Bc),

and r_e itself is computed only where this bound (less a little for rounding) doesn't exceed the best r_e known.

Jensen-Shannon divergence of a class mix from the overall one, as kernels count it.

With count_c of `rows` records in class c, and K_c of N overall, (5) in base 2 is

    rows · JSD = Σ_c ½ [p log2(2p / (p + q)) + q log2(2q / (p + q))] / N,    p = count_c · N,   q = rows · K_c.

p and q are whole numbers, so a mix equal to the overall one has divergence 0 exactly. With x = (p − q)/(p + q) the logs
are log1p(x) and log1p(−x), accurate also for nearly equal mixes. Several class columns are laid end to end and the
sum is divided by their number: the mean of their divergences.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.group.mix import Mix

__all__ = ["CLOSE", "DIVERGENCE", "LONGEST", "STEP", "cut", "excess", "share"]

LONGEST, CLOSE, DIVERGENCE = 0, 1, 2
_SLACK = 1e-9  # more than the rounding error of a divergence
_ROOM = 1.0 + 1e-12
_QUARTER_BIT = 0.25 / math.log(2.0)
_HALF_BIT = 0.5 / math.log(2.0)
STEP = 2.0**-52


class _Parts(NamedTuple):
    """The vertices with at least k below them, numbered in depth-first order, and what hangs on each.

    Parameters
    ----------
    vertex, up
        Which vertex it is, and the number of its parent.
    edge, length
        The edge above it.
    size, rows, counts, excess
        Vertices below it (itself included), their rows, rows by class, and rows · JSD.
    listed
        How many of the numbered vertices are among them.
    """

    vertex: IntArray
    up: IntArray
    edge: IntArray
    length: FloatArray
    size: IntArray
    rows: IntArray
    counts: IntArray
    excess: FloatArray
    listed: IntArray


def cut(low: IntArray, high: IntArray, length: FloatArray, mix: Mix, k: int, rule: int, t: float) -> IntArray:
    """The group of each vertex, numbered in depth-first order."""
    n = len(low) + 1
    parent, edge, order = np.full(n, -1), np.full(n, -1), np.empty(n, dtype=np.int64)
    _root(low, high, np.full(n, -1), np.empty(2 * n, dtype=np.int64), parent, edge, order)
    parts = _parts(parent, edge, order, length, mix, k)
    size, cuts = len(parts.vertex), np.zeros(n, dtype=np.bool_)
    room = np.empty(size, dtype=np.int64)
    begins, ends = np.zeros(size + 1, dtype=np.int64), np.full(size + 1, size)
    _cut(
        parts,
        mix.overall,
        mix.columns,
        mix.total,
        k,
        rule,
        t,
        np.arange(size),
        room,
        np.empty(size),
        begins,
        ends,
        cuts,
    )
    labels = np.zeros(n, dtype=np.int64)
    _label(parent, order, cuts, labels)
    return labels


def _parts(parent: IntArray, edge: IntArray, order: IntArray, length: FloatArray, mix: Mix, k: int) -> _Parts:
    brings = np.zeros((len(mix.rows), len(mix.overall)), dtype=np.int64)
    brings[np.repeat(np.arange(len(mix.rows)), np.diff(mix.starts)), mix.codes] = mix.counts
    size, rows, counts = np.ones(len(parent), dtype=np.int64), mix.rows[mix.kinds], brings[mix.kinds]
    _sum_up(parent, order, size, rows, counts)
    heavy = size >= min(k, len(size))  # the root is always one
    listed = heavy.astype(np.int64)
    _sum_up(parent, order, listed, rows.copy(), counts[:, :0].copy())
    vertex = order[heavy[order]]
    number = np.full(len(parent), -1)
    number[vertex] = np.arange(len(vertex))
    above = edge[vertex]
    excesses = np.empty(len(vertex))
    parts = _Parts(
        vertex=vertex,
        up=number[parent[vertex]],
        edge=above,
        length=np.append(length, 0.0)[above],  # the root's edge is −1
        size=size[vertex],
        rows=rows[vertex],
        counts=counts[vertex],
        excess=excesses,
        listed=listed[vertex],
    )
    _diverge(parts.counts, parts.rows, mix.overall, mix.total, excesses)
    return parts


@njit(cache=True, nogil=True)
def _cut(
    parts: _Parts, overall: IntArray, columns: IntArray, total: int, k: int, rule: int, t: float,
    members: IntArray, room: IntArray, bounds: FloatArray, begins: IntArray, ends: IntArray, cuts: BoolArray,
) -> None:  # fmt: skip
    """Cut until no edge is removable. `members[begins[i]:ends[i]]` are the components still to be looked at."""
    vertex, _, _, length, size, rows, counts, _, listed = parts
    top = 1
    while top > 0:
        a, b = begins[top - 1], ends[top - 1]
        _bound(
            members[a:b], size, rows, counts, length, overall, total, len(columns) - 1, k, rule == DIVERGENCE, bounds
        )
        at = _best(members[a:b], parts, overall, columns, total, rule, t, bounds)
        if at < 0:
            top -= 1
            continue
        v = members[a + at]
        cuts[vertex[v]] = True
        _take_off(parts, overall, total, v, members[a])
        _to_end(members[a:b], at, listed[v], room)
        ends[top - 1], begins[top], ends[top] = b - listed[v], b - listed[v], b
        top += 1


@njit(cache=True, nogil=True)
def _bound(
    members: IntArray, size: IntArray, rows: IntArray, counts: IntArray, length: FloatArray, overall: IntArray,
    total: int, n_columns: int, k: int, by_divergence: bool, out: FloatArray,
) -> None:  # fmt: skip
    """For each edge of a component, a lower bound on r_e (0 for the other rules), or −1 if it isn't removable.

    The arrays come one by one: this loop is most of the work, and a call per edge would cost more than the sum.
    """
    root = members[0]
    all_rows, out[0] = rows[root], -1.0
    for i in range(1, len(members)):
        v = members[i]
        out[i] = 0.0 if size[v] >= k and size[root] - size[v] >= k else -1.0
        if out[i] < 0.0 or not by_divergence:
            continue
        part = rows[v]
        if length[v] == 0.0:
            for c in range(len(overall)):
                if counts[v, c] * all_rows != counts[root, c] * part:
                    out[i] = np.inf
                    break
            continue
        one, other, gap = 1.0 / part, 1.0 / (all_rows - part), 0.0
        for c in range(len(overall)):
            f, g, F = counts[v, c] * one, (counts[root, c] - counts[v, c]) * other, overall[c] / total
            M = max(f, g)
            if M > 0.0:
                gap += F * (f - g) * (f - g) / (M * (M + F))
        gain = _QUARTER_BIT * gap * part * (all_rows - part) / all_rows
        out[i] = max(0.0, gain * (1.0 - _SLACK) - _SLACK) / (all_rows * n_columns * length[v])


@njit(cache=True, nogil=True)
def _best(
    members: IntArray, parts: _Parts, overall: IntArray, columns: IntArray, total: int, rule: int, t: float,
    bounds: FloatArray,
) -> int:  # fmt: skip
    """Place in `members` of the vertex whose edge upwards is to be cut, or −1."""
    _, _, edge, length, _, rows, counts, excesses, _ = parts
    root, best, best_ratio = members[0], -1, np.inf
    if rule == DIVERGENCE:
        first = _smallest(bounds, len(members))
        if first > 0:  # what is bounded above its r_e can't be the best
            best_ratio = _ratio(members[first], root, length, rows, counts, excesses, overall, total, len(columns) - 1)
    for i in range(1, len(members)):
        if bounds[i] < 0.0 or bounds[i] > best_ratio:
            continue
        v, ratio = members[i], 0.0
        if rule == DIVERGENCE:
            ratio = _ratio(v, root, length, rows, counts, excesses, overall, total, len(columns) - 1)
        if ratio > best_ratio or (best >= 0 and not _better(ratio, best_ratio, v, members[best], length, edge)):
            continue
        if rule != CLOSE or _both_close(v, root, rows, counts, overall, columns, total, t):
            best, best_ratio = i, ratio
    return best


@njit(cache=True, nogil=True)
def _smallest(bounds: FloatArray, n: int) -> int:
    """Place of the smallest bound that isn't negative, or 0."""
    first = 0
    for i in range(1, n):
        if bounds[i] >= 0.0 and (first == 0 or bounds[i] < bounds[first]):
            first = i
    return first


@njit(cache=True, nogil=True)
def _better(ratio: float, best_ratio: float, v: int, best: int, length: FloatArray, edge: IntArray) -> bool:
    """Smaller r_e; then longer; then lower edge number."""
    if ratio != best_ratio:
        return ratio < best_ratio
    return bool(length[v] > length[best] or (length[v] == length[best] and edge[v] < edge[best]))


@njit(cache=True, nogil=True)
def _ratio(
    v: int, root: int, length: FloatArray, rows: IntArray, counts: IntArray, excesses: FloatArray,
    overall: IntArray, total: int, n_columns: int,
) -> float:  # fmt: skip
    """r_e of the edge above `v`."""
    rest, even = 0.0, True
    for c in range(len(overall)):
        rest += excess(counts[root, c] - counts[v, c], rows[root] - rows[v], overall[c], total)
        even = even and counts[v, c] * rows[root] == counts[root, c] * rows[v]
    if even:  # both parts have the same class shares; only then is the numerator zero
        return 0.0
    if length[v] == 0.0:
        return np.inf
    return float(max((excesses[v] + rest) - excesses[root], 0.0) / (rows[root] * n_columns * length[v]))


@njit(cache=True, nogil=True)
def _both_close(
    v: int, root: int, rows: IntArray, counts: IntArray, overall: IntArray, columns: IntArray, total: int, t: float
) -> bool:
    rest = rows[root] - rows[v]
    limit = 2.0 * t * total * _ROOM
    for j in range(len(columns) - 1):
        one, other = 0, 0
        for c in range(columns[j], columns[j + 1]):
            one += abs(counts[v, c] * total - rows[v] * overall[c])
            other += abs((counts[root, c] - counts[v, c]) * total - rest * overall[c])
        if one > limit * rows[v] or other > limit * rest:
            return False
    return True


@njit(cache=True, nogil=True)
def _take_off(parts: _Parts, overall: IntArray, total: int, v: int, root: int) -> None:
    """Subtract what hangs on `v` from everything between it and the component's root."""
    _, up, _, _, size, rows, counts, excesses, listed = parts
    u = v
    while u != root:
        u = up[u]
        size[u] -= size[v]
        rows[u] -= rows[v]
        listed[u] -= listed[v]
        excesses[u] = 0.0
        for c in range(len(overall)):
            counts[u, c] -= counts[v, c]
            excesses[u] += excess(counts[u, c], rows[u], overall[c], total)


@njit(cache=True, nogil=True)
def _to_end(members: IntArray, at: int, n_run: int, room: IntArray) -> None:
    """Move `n_run` members from place `at` to the end."""
    for i in range(n_run):
        room[i] = members[at + i]
    for i in range(at + n_run, len(members)):
        members[i - n_run] = members[i]
    for i in range(n_run):
        members[len(members) - n_run + i] = room[i]


@njit(cache=True, nogil=True)
def _root(
    low: IntArray, high: IntArray, first: IntArray, following: IntArray,
    parent: IntArray, edge: IntArray, order: IntArray,
) -> None:  # fmt: skip
    """Root the tree at vertex 0: each vertex's parent, the edge to it, and the vertices in depth-first order."""
    for e in range(len(low)):
        following[2 * e], first[low[e]] = first[low[e]], 2 * e
        following[2 * e + 1], first[high[e]] = first[high[e]], 2 * e + 1
    stack, top = np.zeros(len(order), np.int64), 1
    for done in range(len(order)):
        top -= 1
        u = stack[top]
        order[done], end = u, first[u]
        while end >= 0:
            v = high[end // 2] if end % 2 == 0 else low[end // 2]
            if v != parent[u]:
                parent[v], edge[v], stack[top] = u, end // 2, v
                top += 1
            end = following[end]


@njit(cache=True, nogil=True)
def _sum_up(parent: IntArray, order: IntArray, size: IntArray, rows: IntArray, counts: IntArray) -> None:
    """Turn what each vertex brings into what hangs on it."""
    for i in range(len(order) - 1, 0, -1):
        u, above = order[i], parent[order[i]]
        size[above] += size[u]
        rows[above] += rows[u]
        for c in range(counts.shape[1]):
            counts[above, c] += counts[u, c]


@njit(cache=True, nogil=True)
def _diverge(counts: IntArray, rows: IntArray, overall: IntArray, total: int, out: FloatArray) -> None:
    for i in range(len(rows)):
        out[i] = 0.0
        for c in range(len(overall)):
            out[i] += excess(counts[i, c], rows[i], overall[c], total)


@njit(cache=True, nogil=True)
def _label(parent: IntArray, order: IntArray, cuts: BoolArray, labels: IntArray) -> None:
    n_groups = 1
    for i in range(1, len(order)):
        u = order[i]
        labels[u] = labels[parent[u]]
        if cuts[u]:
            labels[u] = n_groups
            n_groups += 1


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
