"""Cut a spanning tree into groups of at least k.

An edge is removable if both parts keep at least k vertices. As long as a component has one, it loses its best:

- `LONGEST`: the longest (Laszlo and Mukherjee 2005);
- `CLOSE`: the longest of those whose parts are both t-close, that is, whose class shares differ from the overall ones
  by at most t in total variation, ½ Σ_c |f_c − F_c|, in every class column;
- `DIVERGENCE`: the one with the smallest r_e = (WJSD − JSD_parent) / L_e (9), where
  WJSD = Σ_parts n_part/n · JSD_part; by Lemma 1 r_e ≥ 0. If L_e = 0, r_e is 0 where the numerator is, else +∞.

Ties: the longest edge, then the lowest edge number. Components don't influence each other, so their order is free.

The tree is rooted once. A component's vertices with at least k below them lie in depth-first order, so what hangs on
one of them is a run; a cut moves that run to the end, and only sizes, class counts and divergences on the way up
to the component's root change. A cut costs a look at those vertices: n²/k in all at worst, with a small constant.

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


class _Below(NamedTuple):
    """What hangs on each vertex (itself included): vertices, rows, rows by class, rows · JSD, and listed vertices."""

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
    below = _below(tree, kinds)
    heavy = _heavy(tree, below, kinds, k)
    cuts = np.zeros(len(tree.parent), np.bool_)
    run, bounds = np.empty(len(heavy), np.int64), np.zeros(len(heavy))
    begins, ends = np.empty(len(heavy) + 1, np.int64), np.empty(len(heavy) + 1, np.int64)
    begins[0], ends[0], top = 0, len(heavy), 1
    while top > 0:
        a, b = begins[top - 1], ends[top - 1]
        if rule == DIVERGENCE:
            _bound_all(tree, below, heavy[a:b], length, kinds, k, bounds)
        at = _best(tree, below, heavy[a:b], length, kinds, columns, k, rule, t, bounds)
        if at < 0:
            top -= 1
            continue
        n_run = below.listed[heavy[a + at]]
        _sever(tree, below, heavy[a:b], at, cuts, kinds, run)
        ends[top - 1], begins[top], ends[top] = b - n_run, b - n_run, b
        top += 1
    return _labels(tree, cuts)


@njit(cache=True, nogil=True)
def _best(
    tree: _Rooted, below: _Below, heavy: IntArray, length: FloatArray, kinds: Kinds, columns: IntArray,
    k: int, rule: int, t: float, bounds: FloatArray,
) -> int:  # fmt: skip
    """Place in `heavy` of the vertex whose edge upwards is to be cut, or −1."""
    best, best_ratio, best_length, best_edge, root = -1, np.inf, -1.0, -1, heavy[0]
    if rule == DIVERGENCE:
        best_ratio = _first_ratio(tree, below, heavy, length, kinds, k, bounds)
    for i in range(1, len(heavy)):
        v, e = heavy[i], tree.edge[heavy[i]]
        if not _removable(below, root, v, k) or bounds[i] > best_ratio:
            continue
        ratio = _ratio(below, root, v, length[e], kinds) if rule == DIVERGENCE else 0.0
        if ratio > best_ratio or (ratio == best_ratio and not _longer(length, e, best_edge, best_length)):
            continue
        if rule != CLOSE or _both_close(below, root, v, kinds, columns, t):
            best, best_ratio, best_length, best_edge = i, ratio, length[e], e
    return best


@njit(cache=True, nogil=True)
def _removable(below: _Below, root: int, v: int, k: int) -> bool:
    return bool(below.size[v] >= k and below.size[root] - below.size[v] >= k)


@njit(cache=True, nogil=True)
def _longer(length: FloatArray, e: int, best_edge: int, best_length: float) -> bool:
    return bool(length[e] > best_length or (length[e] == best_length and e < best_edge))


@njit(cache=True, nogil=True)
def _bound_all(
    tree: _Rooted, below: _Below, heavy: IntArray, length: FloatArray, kinds: Kinds, k: int, bounds: FloatArray
) -> None:
    for i in range(1, len(heavy)):
        if _removable(below, heavy[0], heavy[i], k):
            bounds[i] = _bound(below, heavy[0], heavy[i], length[tree.edge[heavy[i]]], kinds)


@njit(cache=True, nogil=True)
def _first_ratio(
    tree: _Rooted, below: _Below, heavy: IntArray, length: FloatArray, kinds: Kinds, k: int, bounds: FloatArray
) -> float:
    """r_e of the edge with the smallest bound: nothing above it can be the best."""
    first = -1
    for i in range(1, len(heavy)):
        if _removable(below, heavy[0], heavy[i], k) and (first < 0 or bounds[i] < bounds[first]):
            first = i
    return np.inf if first < 0 else _ratio(below, heavy[0], heavy[first], length[tree.edge[heavy[first]]], kinds)


@njit(cache=True, nogil=True)
def _bound(below: _Below, root: int, v: int, length: float, kinds: Kinds) -> float:
    """A lower bound on r_e of the edge above `v`, without logarithms."""
    all_rows, part = below.rows[root], below.rows[v]
    if length == 0.0:
        return 0.0 if _same_mix(below, root, v) else np.inf
    one, other, scale = 1.0 / part, 1.0 / (all_rows - part), 1.0 / kinds.total
    total = 0.0
    for c in range(len(kinds.overall)):
        f, g = below.counts[v, c] * one, (below.counts[root, c] - below.counts[v, c]) * other
        M, F = max(f, g), kinds.overall[c] * scale
        if M > 0.0:
            total += F * (f - g) * (f - g) / (M * (M + F))
    gain = _QUARTER_BIT * total * part * (all_rows - part) / all_rows
    return max(0.0, gain * (1.0 - _NEARLY_ZERO) - _NEARLY_ZERO) / (all_rows * kinds.n_columns * length)


@njit(cache=True, nogil=True)
def _ratio(below: _Below, root: int, v: int, length: float, kinds: Kinds) -> float:
    """r_e of the edge above `v`."""
    all_rows, rows = below.rows[root], below.rows[root] - below.rows[v]
    rest = 0.0
    for c in range(len(kinds.overall)):
        rest += excess(below.counts[root, c] - below.counts[v, c], rows, kinds.overall[c], kinds.total)
    gain = (below.excess[v] + rest) - below.excess[root]
    if gain <= _NEARLY_ZERO:
        even = _same_mix(below, root, v)
        if length == 0.0:
            return 0.0 if even else np.inf
        gain = 0.0 if even or gain < 0.0 else gain
    elif length == 0.0:
        return np.inf
    return gain / (all_rows * kinds.n_columns * length)


@njit(cache=True, nogil=True)
def _same_mix(below: _Below, root: int, v: int) -> bool:
    """Whether both parts have the same class shares; only then is the numerator of r_e zero."""
    for c in range(below.counts.shape[1]):
        if below.counts[v, c] * below.rows[root] != below.counts[root, c] * below.rows[v]:
            return False
    return True


@njit(cache=True, nogil=True)
def _both_close(below: _Below, root: int, v: int, kinds: Kinds, columns: IntArray, t: float) -> bool:
    rows, rest = below.rows[v], below.rows[root] - below.rows[v]
    for j in range(len(columns) - 1):
        one, other = 0, 0
        for c in range(columns[j], columns[j + 1]):
            one += abs(below.counts[v, c] * kinds.total - rows * kinds.overall[c])
            other += abs((below.counts[root, c] - below.counts[v, c]) * kinds.total - rest * kinds.overall[c])
        limit = 2.0 * t * kinds.total * _ROOM
        if one > limit * rows or other > limit * rest:
            return False
    return True


@njit(cache=True, nogil=True)
def _sever(
    tree: _Rooted, below: _Below, heavy: IntArray, at: int, cuts: BoolArray, kinds: Kinds, run: IntArray
) -> None:
    """Cut the edge above `heavy[at]`: take it off its ancestors, and move its run to the end of the component."""
    v, root = heavy[at], heavy[0]
    n_run = below.listed[v]
    cuts[v] = True
    u = v
    while u != root:
        u = tree.parent[u]
        below.size[u] -= below.size[v]
        below.rows[u] -= below.rows[v]
        below.listed[u] -= n_run
        below.counts[u] -= below.counts[v]
        below.excess[u] = excess_sum(below.counts[u], below.rows[u], kinds.overall, kinds.total)
    for i in range(n_run):
        run[i] = heavy[at + i]
    for i in range(at + n_run, len(heavy)):
        heavy[i - n_run] = heavy[i]
    for i in range(n_run):
        heavy[len(heavy) - n_run + i] = run[i]


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
def _below(tree: _Rooted, kinds: Kinds) -> _Below:
    n = len(tree.parent)
    counts = np.zeros((n, len(kinds.overall)), np.int64)
    below = _Below(np.ones(n, np.int64), np.empty(n, np.int64), counts, np.empty(n), np.zeros(n, np.int64))
    for u in range(n):
        kind = kinds.of[u]
        below.rows[u] = kinds.rows[kind]
        for i in range(kinds.starts[kind], kinds.starts[kind + 1]):
            counts[u, kinds.codes[i]] = kinds.counts[i]
    for i in range(n - 1, 0, -1):
        u = tree.order[i]
        above = tree.parent[u]
        below.size[above] += below.size[u]
        below.rows[above] += below.rows[u]
        counts[above] += counts[u]
    return below


@njit(cache=True, nogil=True)
def _heavy(tree: _Rooted, below: _Below, kinds: Kinds, k: int) -> IntArray:
    """The vertices with at least k below them, in depth-first order; `below.listed` counts them."""
    heavy = tree.order[below.size[tree.order] >= k]
    for i in range(len(heavy) - 1, -1, -1):
        u = heavy[i]
        below.excess[u] = excess_sum(below.counts[u], below.rows[u], kinds.overall, kinds.total)
        below.listed[u] += 1
        if tree.parent[u] >= 0:
            below.listed[tree.parent[u]] += below.listed[u]
    return heavy


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
