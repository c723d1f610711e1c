"""Halving along principal directions, and exchanges between pairs of groups that balance them."""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import AnyArray, FloatArray, IntArray

__all__ = ["halve", "sweep", "within_groups"]

_SEEN = 2000  # rows that a direction is found from
_ROUNDS = 6
_BEST = 3  # members of either group that are judged


@njit(cache=True, nogil=True, fastmath=True)
def _dot(a: FloatArray, b: FloatArray) -> float:
    total = 0.0
    for f in range(len(a)):
        total += a[f] * b[f]
    return total


@njit(cache=True, nogil=True)
def halve(points: FloatArray, order: IntArray, low: int, high: int, k: int, start: FloatArray) -> IntArray:
    """Sort ``order[low:high]`` into groups of k; the ends of the groups."""
    ends = np.empty((high - low) // k, dtype=np.int64)
    n_ends = 0
    lows, highs = np.empty(128, dtype=np.int64), np.empty(128, dtype=np.int64)
    depth, lows[0], highs[0] = 1, low, high
    while depth > 0:
        depth -= 1
        a, b = lows[depth], highs[depth]
        n_groups = (b - a) // k
        if n_groups < 2:
            ends[n_ends] = b
            n_ends += 1
            continue
        rows = order[a:b].copy()
        order[a:b] = rows[np.argsort(_projected(points, rows, start), kind="mergesort")]
        cut = a + k * (n_groups // 2)
        lows[depth], highs[depth] = cut, b
        lows[depth + 1], highs[depth + 1] = a, cut
        depth += 2
    return ends


@njit(cache=True, nogil=True)
def _projected(points: FloatArray, rows: IntArray, start: FloatArray) -> FloatArray:
    """The rows along their first principal direction."""
    q = points.shape[1]
    step = max(1, len(rows) // _SEEN)
    seen = rows[::step]
    mean = np.zeros(q)
    for i in seen:
        for f in range(q):
            mean[f] += points[i, f]
    mean /= len(seen)
    direction = start / np.sqrt(_dot(start, start))
    for _ in range(_ROUNDS):
        turned = np.zeros(q)
        offset = _dot(mean, direction)
        for i in seen:
            along = _dot(points[i], direction) - offset
            for f in range(q):
                turned[f] += along * (points[i, f] - mean[f])
        length = np.sqrt(_dot(turned, turned))
        if length < 1e-12:
            break
        direction = turned / length
    out = np.empty(len(rows))
    for r in range(len(rows)):
        out[r] = _dot(points[rows[r]], direction)
    return out


@njit(cache=True, nogil=True)
def within_groups(values: FloatArray, order: IntArray, offsets: IntArray) -> FloatArray:
    """The mean of each group."""
    p = values.shape[1]
    means = np.zeros((len(offsets) - 1, p))
    for g in range(len(offsets) - 1):
        for place in range(offsets[g], offsets[g + 1]):
            for f in range(p):
                means[g, f] += values[order[place], f]
        for f in range(p):
            means[g, f] /= offsets[g + 1] - offsets[g]
    return means


@njit(cache=True, nogil=True)
def sweep(
    values: FloatArray,
    points: FloatArray,
    order: IntArray,
    offsets: IntArray,
    means: FloatArray,
    centers: FloatArray,
    excess: FloatArray,
    pull: AnyArray,
    own: AnyArray,
    starts: IntArray,
    partners: IntArray,
    weight: float,
) -> int:
    """Offer each group an exchange with its partner, and make the best one where the aim comes nearer.

    `excess` is W − A without what lies inside blocks, ``starts[b]:starts[b + 1]`` the features of block b, `pull` the
    values times `excess` as it was at the beginning of the sweep, `own` the dot product of the two, `weight` what a
    squared error of the `points` costs beside the n-th part of half the squared excess.
    """
    n = len(values)
    taken = 0
    for g in range(len(partners)):
        h = partners[g]
        if h == g:
            continue
        taken += _exchange(values, points, order, offsets, means, centers, excess, pull, own, starts, g, h, weight * n)
    return taken


@njit(cache=True, nogil=True)
def _exchange(
    values: FloatArray,
    points: FloatArray,
    order: IntArray,
    offsets: IntArray,
    means: FloatArray,
    centers: FloatArray,
    excess: FloatArray,
    pull: AnyArray,
    own: AnyArray,
    starts: IntArray,
    g: int,
    h: int,
    weight: float,
) -> int:
    """The best exchange of one of g with one of h, if it lowers the aim; costs are n times what they are said to be."""
    half = 0.5 / (offsets[g + 1] - offsets[g]) + 0.5 / (offsets[h + 1] - offsets[h])
    apart = means[g] - means[h]
    aside = centers[g] - centers[h]
    mine = _best(pull, own, order, offsets[g], offsets[g + 1], apart, half, -1.0)
    theirs = _best(pull, own, order, offsets[h], offsets[h + 1], apart, half, 1.0)
    least, best_i, best_j = 0.0, -1, -1
    for a in range(len(mine)):
        i = order[mine[a]]
        for b in range(len(theirs)):
            j = order[theirs[b]]
            cost = _cost(values, points, apart, aside, pull[j] - pull[i], i, j, half, starts, weight)
            if cost < least:
                least, best_i, best_j = cost, mine[a], theirs[b]
    if best_i < 0:
        return 0
    i, j = order[best_i], order[best_j]
    moved = values[j] - values[i]
    if _cost(values, points, apart, aside, _times(excess, moved), i, j, half, starts, weight) >= 0.0:
        return 0
    _moved(excess, apart + half * moved, moved, starts)
    shift = points[j] - points[i]
    n_g, n_h = offsets[g + 1] - offsets[g], offsets[h + 1] - offsets[h]
    means[g] += moved / n_g
    means[h] -= moved / n_h
    centers[g] += shift / n_g
    centers[h] -= shift / n_h
    order[best_i], order[best_j] = j, i
    return 1


@njit(cache=True, nogil=True)
def _best(
    pull: AnyArray, own: AnyArray, order: IntArray, low: int, high: int, apart: FloatArray, half: float, sign: float
) -> IntArray:
    """The places of the members whose leaving promises most."""
    scores = np.empty(high - low)
    for place in range(low, high):
        i = order[place]
        scores[place - low] = -(sign * _dot(apart, pull[i]) + half * own[i])
    return low + np.argsort(scores)[: min(_BEST, high - low)]


@njit(cache=True, nogil=True, fastmath=True)
def _cost(
    values: FloatArray,
    points: FloatArray,
    apart: FloatArray,
    aside: FloatArray,
    pulled: AnyArray,
    i: int,
    j: int,
    half: float,
    starts: IntArray,
    weight: float,
) -> float:
    """N times the change of what is lowered if i and j change places; `pulled` is the excess times what moves."""
    linear, uu, dd, ud, inside = 0.0, 0.0, 0.0, 0.0, 0.0
    for b in range(len(starts) - 1):
        own_uu, own_dd, own_ud = 0.0, 0.0, 0.0
        for f in range(starts[b], starts[b + 1]):
            d = values[j, f] - values[i, f]
            u = apart[f] + half * d
            linear += u * pulled[f]
            own_uu += u * u
            own_dd += d * d
            own_ud += u * d
        inside += own_uu * own_dd + own_ud * own_ud
        uu += own_uu
        dd += own_dd
        ud += own_ud
    error = 0.0
    for f in range(points.shape[1]):
        d = points[j, f] - points[i, f]
        error += (aside[f] + half * d) * d
    return -2.0 * linear + uu * dd + ud * ud - inside - 2.0 * weight * error


@njit(cache=True, nogil=True, fastmath=True)
def _times(excess: FloatArray, moved: FloatArray) -> FloatArray:
    out = np.empty(len(moved))
    for a in range(len(moved)):
        total = 0.0
        for f in range(len(moved)):
            total += excess[a, f] * moved[f]
        out[a] = total
    return out


@njit(cache=True, nogil=True)
def _moved(excess: FloatArray, u: FloatArray, d: FloatArray, starts: IntArray) -> None:
    """Take u dᵀ + d uᵀ off the excess, outside the blocks."""
    p = len(u)
    for b in range(len(starts) - 1):
        for a in range(starts[b], starts[b + 1]):
            for f in range(starts[b]):
                excess[a, f] -= u[a] * d[f] + d[a] * u[f]
            for f in range(starts[b + 1], p):
                excess[a, f] -= u[a] * d[f] + d[a] * u[f]
