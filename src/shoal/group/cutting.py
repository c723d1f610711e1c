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
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.group.composite import Kinds
from shoal.group.divergence import excess, excess_sum

__all__ = ["CLOSE", "DIVERGENCE", "LONGEST", "cut"]

LONGEST, CLOSE, DIVERGENCE = 0, 1, 2
_NEARLY_ZERO = 1e-9  # below this, whole numbers decide whether a divergence is zero; above rounding error
_ROOM = 1.0 + 1e-12
_QUARTER_BIT = 0.25 / math.log(2.0)


class _Rooted(NamedTuple):
    """The tree from a root: each vertex's parent, the edge to it, and the vertices in depth-first order."""

    parent: IntArray
    edge: IntArray
    order: IntArray


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


@njit(cache=True, nogil=True)
def cut(
    low: IntArray, high: IntArray, length: FloatArray, kinds: Kinds, columns: IntArray, k: int, rule: int, t: float
) -> IntArray:
    """The group of each vertex, numbered in depth-first order."""
    tree = _rooted(low, high)
    parts = _parts(tree, length, kinds, k)
    cuts = np.zeros(len(tree.parent), np.bool_)
    n = len(parts.vertex)
    members, run, bounds = np.arange(n), np.empty(n, np.int64), np.empty(n)
    begins, ends, top = np.zeros(n + 1, np.int64), np.full(n + 1, n), 1
    while top > 0:
        a, b = begins[top - 1], ends[top - 1]
        _bound(members[a:b], parts.size, parts.rows, parts.counts, parts.length, kinds.overall, kinds.total,
               kinds.n_columns, k, rule == DIVERGENCE, bounds)  # fmt: skip
        at = _best(members[a:b], parts, kinds, columns, rule, t, bounds)
        if at < 0:
            top -= 1
            continue
        v = members[a + at]
        cuts[parts.vertex[v]] = True
        _take_off(parts, kinds, v, members[a])
        _to_end(members[a:b], at, parts.listed[v], run)
        ends[top - 1], begins[top], ends[top] = b - parts.listed[v], b - parts.listed[v], b
        top += 1
    return _labels(tree, cuts)


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
        out[i] = max(0.0, gain * (1.0 - _NEARLY_ZERO) - _NEARLY_ZERO) / (all_rows * n_columns * length[v])


@njit(cache=True, nogil=True)
def _best(
    members: IntArray, parts: _Parts, kinds: Kinds, columns: IntArray, rule: int, t: float, bounds: FloatArray
) -> int:
    """Place in `members` of the vertex whose edge upwards is to be cut, or −1."""
    length, edge, root = parts.length, parts.edge, members[0]
    best, best_ratio, best_length, best_edge = -1, np.inf, -1.0, -1
    if rule == DIVERGENCE:
        best_ratio = _first_ratio(members, parts, kinds, bounds)
    for i in range(1, len(members)):
        if bounds[i] < 0.0 or bounds[i] > best_ratio:
            continue
        v = members[i]
        ratio = _ratio(parts, root, v, kinds) if rule == DIVERGENCE else 0.0
        if ratio > best_ratio:
            continue
        if ratio == best_ratio and (
            length[v] < best_length or (length[v] == best_length and edge[v] > best_edge)
        ):
            continue
        if rule != CLOSE or _both_close(parts, root, v, kinds, columns, t):
            best, best_ratio, best_length, best_edge = i, ratio, length[v], edge[v]
    return best


@njit(cache=True, nogil=True)
def _first_ratio(members: IntArray, parts: _Parts, kinds: Kinds, bounds: FloatArray) -> float:
    """r_e of the edge with the smallest bound: what is bounded above it can't be the best."""
    first = -1
    for i in range(1, len(members)):
        if bounds[i] >= 0.0 and (first < 0 or bounds[i] < bounds[first]):
            first = i
    return np.inf if first < 0 else _ratio(parts, members[0], members[first], kinds)


@njit(cache=True, nogil=True)
def _ratio(parts: _Parts, root: int, v: int, kinds: Kinds) -> float:
    """r_e of the edge above `v`."""
    rows, rest = parts.rows[root] - parts.rows[v], 0.0
    for c in range(len(kinds.overall)):
        rest += excess(parts.counts[root, c] - parts.counts[v, c], rows, kinds.overall[c], kinds.total)
    gain = (parts.excess[v] + rest) - parts.excess[root]
    if gain <= _NEARLY_ZERO and _same_mix(parts, root, v):
        return 0.0
    if parts.length[v] == 0.0:
        return np.inf
    return max(gain, 0.0) / (parts.rows[root] * kinds.n_columns * parts.length[v])


@njit(cache=True, nogil=True)
def _same_mix(parts: _Parts, root: int, v: int) -> bool:
    """Whether both parts have the same class shares; only then is the numerator of r_e zero."""
    for c in range(parts.counts.shape[1]):
        if parts.counts[v, c] * parts.rows[root] != parts.counts[root, c] * parts.rows[v]:
            return False
    return True


@njit(cache=True, nogil=True)
def _both_close(parts: _Parts, root: int, v: int, kinds: Kinds, columns: IntArray, t: float) -> bool:
    rows, rest = parts.rows[v], parts.rows[root] - parts.rows[v]
    limit = 2.0 * t * kinds.total * _ROOM
    for j in range(len(columns) - 1):
        one, other = 0, 0
        for c in range(columns[j], columns[j + 1]):
            one += abs(parts.counts[v, c] * kinds.total - rows * kinds.overall[c])
            other += abs((parts.counts[root, c] - parts.counts[v, c]) * kinds.total - rest * kinds.overall[c])
        if one > limit * rows or other > limit * rest:
            return False
    return True


@njit(cache=True, nogil=True)
def _take_off(parts: _Parts, kinds: Kinds, v: int, root: int) -> None:
    """Subtract what hangs on `v` from everything between it and the component's root."""
    u = v
    while u != root:
        u = parts.up[u]
        parts.size[u] -= parts.size[v]
        parts.rows[u] -= parts.rows[v]
        parts.listed[u] -= parts.listed[v]
        for c in range(len(kinds.overall)):
            parts.counts[u, c] -= parts.counts[v, c]
        parts.excess[u] = excess_sum(parts.counts[u], parts.rows[u], kinds.overall, kinds.total)


@njit(cache=True, nogil=True)
def _to_end(members: IntArray, at: int, n_run: int, run: IntArray) -> None:
    """Move `n_run` members from place `at` to the end."""
    for i in range(n_run):
        run[i] = members[at + i]
    for i in range(at + n_run, len(members)):
        members[i - n_run] = members[i]
    for i in range(n_run):
        members[len(members) - n_run + i] = run[i]


@njit(cache=True, nogil=True)
def _rooted(low: IntArray, high: IntArray) -> _Rooted:
    n = len(low) + 1
    first, following = np.full(n, -1), np.empty(2 * n, np.int64)
    for e in range(n - 1):
        following[2 * e], first[low[e]] = first[low[e]], 2 * e
        following[2 * e + 1], first[high[e]] = first[high[e]], 2 * e + 1
    parent, edge, order, stack = np.full(n, -1), np.full(n, -1), np.empty(n, np.int64), np.zeros(n, np.int64)
    top, done = 1, 0
    while top > 0:
        top -= 1
        u = stack[top]
        order[done] = u
        done += 1
        end = first[u]
        while end >= 0:
            v = high[end // 2] if end % 2 == 0 else low[end // 2]
            if v != parent[u]:
                parent[v], edge[v], stack[top] = u, end // 2, v
                top += 1
            end = following[end]
    return _Rooted(parent, edge, order)


@njit(cache=True, nogil=True)
def _parts(tree: _Rooted, length: FloatArray, kinds: Kinds, k: int) -> _Parts:
    size, rows, counts = _sums(tree, kinds)
    vertex = tree.order[size[tree.order] >= k]
    number = np.full(len(size), -1)
    number[vertex] = np.arange(len(vertex))
    up, lengths, listed = np.full(len(vertex), -1), np.zeros(len(vertex)), np.ones(len(vertex), np.int64)
    divergence = np.empty(len(vertex))
    for i in range(len(vertex) - 1, -1, -1):
        v = vertex[i]
        divergence[i] = excess_sum(counts[v], rows[v], kinds.overall, kinds.total)
        if i > 0:
            up[i], lengths[i] = number[tree.parent[v]], length[tree.edge[v]]
            listed[up[i]] += listed[i]
    edge = tree.edge[vertex]
    return _Parts(vertex, up, edge, lengths, size[vertex], rows[vertex], counts[vertex], divergence, listed)


@njit(cache=True, nogil=True)
def _sums(tree: _Rooted, kinds: Kinds) -> tuple[IntArray, IntArray, IntArray]:
    """Vertices, rows and rows by class below each vertex."""
    n, n_classes = len(tree.parent), len(kinds.overall)
    size, rows, counts = np.ones(n, np.int64), np.empty(n, np.int64), np.zeros((n, n_classes), np.int64)
    for u in range(n):
        kind = kinds.of[u]
        rows[u] = kinds.rows[kind]
        for i in range(kinds.starts[kind], kinds.starts[kind + 1]):
            counts[u, kinds.codes[i]] = kinds.counts[i]
    for i in range(n - 1, 0, -1):
        u = tree.order[i]
        above = tree.parent[u]
        size[above] += size[u]
        rows[above] += rows[u]
        for c in range(n_classes):
            counts[above, c] += counts[u, c]
    return size, rows, counts


@njit(cache=True, nogil=True)
def _labels(tree: _Rooted, cuts: BoolArray) -> IntArray:
    labels, n_groups = np.zeros(len(cuts), np.int64), 1
    for i in range(1, len(cuts)):
        u = tree.order[i]
        labels[u] = labels[tree.parent[u]]
        if cuts[u]:
            labels[u] = n_groups
            n_groups += 1
    return labels
