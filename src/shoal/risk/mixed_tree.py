"""Exact nearest neighbours with all ties among rows of numbers and levels.

Targets are halved again and again on the column in which random pairs of them differ most, and each part keeps the
range of every column. A part whose range excludes a query's number is at least that far away; one whose range excludes
the query's level differs in that level. A search goes to the nearer half first and leaves out every part whose
lower bound is beyond what it has. Bounds and distances are summed in the same order, so rounding never hides a tie.

Cost: n log n to build; a search looks at a few dozen targets where they are dense, and at all of them at worst. The
work that it took is counted and returned, in targets looked at, so that a caller can forecast the cost.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Tree", "build", "nearest_few", "search"]

_LEAF = 24  # targets in a part that is not cut any more
_PART = 4  # what the bound of a part costs, in distances to a target
_PAIRS = 64  # pairs of targets that decide where to cut
_DEEP = 512  # cuts on the way to a part, and so parts that wait in a search; cuts at medians keep it near log n


class Tree(NamedTuple):
    """Targets in the order of their parts, and the parts: first and last target, second child (the first is next)."""

    points: FloatArray
    order: IntArray
    bounds: IntArray
    second: IntArray
    low: FloatArray
    high: FloatArray
    unordered: BoolArray
    mismatch: FloatArray
    blank: FloatArray
    n_levels: FloatArray


def build(
    points: FloatArray, unordered: BoolArray, mismatch: FloatArray, blank: FloatArray, n_levels: FloatArray
) -> Tree:
    """A tree over the rows of `points`."""
    order = np.arange(len(points))
    bounds, second, low, high = _cut(points, order, unordered, mismatch)
    return Tree(points[order], order, bounds, second, low, high, unordered, mismatch, blank, n_levels)


@njit(cache=True, nogil=True)
def search(
    tree: Tree, queries: FloatArray, skip: int, look: int, slack: float
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Targets that tie with neighbour number `skip` (0 or 1) of each query, without the neighbours before it.

    Returns pairs (query, target), the squared distances to the nearest and the next target of each query (the latter is
    right for `look` = 1 only, and infinite where there is none), and the work that each query took. Distances within a
    factor `slack` tie.
    """
    n = len(queries)
    query, target, size = np.empty(2 * n + 64, np.int64), np.empty(2 * n + 64, np.int64), 0
    near, work = np.empty((n, 2)), np.zeros(n, np.int64)
    found, apart = np.empty(256, np.int64), np.empty(256)
    waiting, least = np.empty(_DEEP, np.int64), np.empty(_DEEP)
    for i in range(n):
        _forget(near[i])
        found, apart, held, work[i] = _neighbours(tree, queries[i], near[i], look, slack, waiting, least, found, apart)
        held = _keep(found, apart, held, near[i, skip] * slack)
        while size + held > len(query):
            query, target = _wider(query), _wider(target)
        nearest = _argmin(apart, held) if skip == 1 else -1
        for h in range(held):
            if h != nearest:
                query[size], target[size] = i, tree.order[found[h]]
                size += 1
    return query[:size].copy(), target[:size].copy(), near, work


@njit(cache=True, nogil=True)
def nearest_few(tree: Tree, queries: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """Squared distances to the `k` nearest targets of each query, nearest first, and which these are.

    There must be at least `k` targets; of those that tie for the last place any may be left out.
    """
    n = len(queries)
    squared, which = np.empty((n, k)), np.empty((n, k), np.int64)
    found, apart = np.empty(256, np.int64), np.empty(256)
    waiting, least = np.empty(_DEEP, np.int64), np.empty(_DEEP)
    near = np.empty(k)
    for i in range(n):
        _forget(near)
        found, apart, held, _ = _neighbours(tree, queries[i], near, k - 1, 1.0, waiting, least, found, apart)
        for j in range(k):
            h = _argmin(apart, held)
            squared[i, j], which[i, j] = apart[h], tree.order[found[h]]
            apart[h] = np.inf
    return squared, which


@njit(cache=True, nogil=True)
def _neighbours(
    tree: Tree,
    x: FloatArray,
    near: FloatArray,
    look: int,
    slack: float,
    waiting: IntArray,
    least: FloatArray,
    found: IntArray,
    apart: FloatArray,
) -> tuple[IntArray, FloatArray, int, int]:
    """Candidates of one query with their distances, how many, and the work; `near` gets the two smallest distances."""
    top, held, work = 1, 0, 0
    waiting[0], least[0] = 0, 0.0
    while top > 0:
        top -= 1
        if least[top] > near[look] * slack:
            continue
        leaf, top, seen = _down(tree, x, waiting[top], near[look] * slack, waiting, least, top)
        work += seen
        if leaf < 0:
            continue
        work += tree.bounds[leaf, 1] - tree.bounds[leaf, 0]
        for t in range(tree.bounds[leaf, 0], tree.bounds[leaf, 1]):
            d = _distance(tree, x, t, near[look] * slack)
            if d <= near[look] * slack:
                _enter(near, d)
                if held == len(found):
                    held = _keep(found, apart, held, near[look] * slack)
                if 2 * held > len(found):
                    found, apart = _wider(found), _wider_floats(apart)
                found[held], apart[held] = t, d
                held += 1
    return found, apart, held, work


@njit(cache=True, nogil=True)
def _down(
    tree: Tree, x: FloatArray, node: int, limit: float, waiting: IntArray, least: FloatArray, top: int
) -> tuple[int, int, int]:
    """Go to the nearer half until a leaf, and let the other halves wait; −1 where all is beyond `limit`."""
    work = 0
    while tree.second[node] > 0:
        a, b = node + 1, tree.second[node]
        from_a, from_b = _away(tree, x, a), _away(tree, x, b)
        work += 2 * _PART
        if from_b < from_a:
            a, b, from_a, from_b = b, a, from_b, from_a
        if from_b <= limit:
            waiting[top], least[top] = b, from_b
            top += 1
        if from_a > limit:
            return -1, top, work
        node = a
    return node, top, work


@njit(cache=True, nogil=True, inline="always")
def _enter(near: FloatArray, d: float) -> None:
    """Note a distance among the smallest, which are sorted."""
    at = len(near) - 1
    if d >= near[at]:
        return
    while at > 0 and near[at - 1] > d:
        near[at] = near[at - 1]
        at -= 1
    near[at] = d


@njit(cache=True, nogil=True)
def _cut(
    points: FloatArray, order: IntArray, unordered: BoolArray, mismatch: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Rearrange `order` so that parts are slices of it, and return the parts (the first child follows its parent)."""
    n, d = points.shape
    room = max(2 * n, 1)  # parts at most; memory that isn't written to isn't used
    bounds, second = np.empty((room, 2), np.int64), np.zeros(room, np.int64)
    low, high = np.empty((room, d)), np.empty((room, d))
    spread, sample = np.empty(d), np.empty(2 * _PAIRS)
    stack, top, size = np.empty((_DEEP, 4), np.int64), 1, 0
    _push(stack, 0, 0, n, -1, 0)
    while top > 0:
        top -= 1
        first, last, parent, depth = stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3]
        node = size
        size += 1
        if parent >= 0:
            second[parent] = node
        bounds[node, 0], bounds[node, 1] = first, last
        _range(points, order, first, last, low[node], high[node])
        column = _most_different(points, order, first, last, unordered, mismatch, low[node], high[node], spread)
        if last - first <= _LEAF or column < 0 or depth + 2 > _DEEP:
            continue
        value = _middle(points, order, first, last, column, high[node, column], sample)
        middle = _part(points, order, first, last, column, value)
        _push(stack, top, middle, last, node, depth + 1)
        _push(stack, top + 1, first, middle, -1, depth + 1)
        top += 2
    return bounds[:size].copy(), second[:size].copy(), low[:size].copy(), high[:size].copy()


@njit(cache=True, nogil=True)
def _range(points: FloatArray, order: IntArray, first: int, last: int, low: FloatArray, high: FloatArray) -> None:
    for j in range(len(low)):
        low[j], high[j] = np.inf, -np.inf
    for i in range(first, last):
        for j in range(len(low)):
            x = points[order[i], j]
            low[j] = x if x < low[j] else low[j]
            high[j] = x if x > high[j] else high[j]


@njit(cache=True, nogil=True)
def _most_different(
    points: FloatArray,
    order: IntArray,
    first: int,
    last: int,
    unordered: BoolArray,
    mismatch: FloatArray,
    low: FloatArray,
    high: FloatArray,
    spread: FloatArray,
) -> int:
    """The column with the largest mean squared distance over some pairs; −1 where all targets are equal."""
    half = (last - first) // 2
    step = max(1, half // _PAIRS)
    for j in range(len(spread)):
        spread[j] = 0.0
    for i in range(first, first + half, step):
        for j in range(len(spread)):
            a, b = points[order[i], j], points[order[i + half], j]
            if a != b:
                spread[j] += mismatch[j] if unordered[j] else (a - b) * (a - b)
    best = -1
    for j in range(len(spread)):
        if high[j] > low[j] and (best < 0 or spread[j] > spread[best]):
            best = j
    return best


@njit(cache=True, nogil=True)
def _middle(
    points: FloatArray, order: IntArray, first: int, last: int, column: int, high: float, sample: FloatArray
) -> float:
    """About the median of a column, and below its largest value."""
    size, step = 0, max(1, (last - first) // len(sample))
    smallest = np.inf
    for i in range(first, last, step):
        x = points[order[i], column]
        if size < len(sample) and x < high:
            sample[size] = x
            size += 1
    for i in range(first, last):
        x = points[order[i], column]
        smallest = x if x < smallest else smallest
    if size == 0:
        return smallest
    wanted = min(size - 1, (last - first) // (2 * step))
    _sort(sample, size)
    return sample[wanted]  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _sort(values: FloatArray, n: int) -> None:
    """Put the first `n` values, which are few, in order; numba's own sort takes a second to compile."""
    for i in range(1, n):
        x, at = values[i], i
        while at > 0 and values[at - 1] > x:
            values[at] = values[at - 1]
            at -= 1
        values[at] = x


@njit(cache=True, nogil=True)
def _part(points: FloatArray, order: IntArray, first: int, last: int, column: int, value: float) -> int:
    """Bring targets up to `value` to the front and return where the others begin."""
    i, j = first, last - 1
    while i <= j:
        if points[order[i], column] <= value:
            i += 1
        else:
            order[i], order[j] = order[j], order[i]
            j -= 1
    return i


@njit(cache=True, nogil=True)
def _push(stack: IntArray, at: int, first: int, last: int, parent: int, depth: int) -> None:
    stack[at, 0], stack[at, 1], stack[at, 2], stack[at, 3] = first, last, parent, depth


@njit(cache=True, nogil=True)
def _forget(near: FloatArray) -> None:
    for i in range(len(near)):
        near[i] = np.inf


@njit(cache=True, nogil=True, inline="always")
def _away(tree: Tree, x: FloatArray, node: int) -> float:
    """The least squared distance that a target of a part can have."""
    total = 0.0
    for j in range(len(x)):
        low, high = tree.low[node, j], tree.high[node, j]
        if x[j] < low or x[j] > high:
            if not tree.unordered[j]:
                gap = low - x[j] if x[j] < low else x[j] - high
                total += gap * gap
            elif x[j] >= tree.n_levels[j] or high >= tree.n_levels[j]:
                total += min(tree.blank[j], tree.mismatch[j])
            else:
                total += tree.mismatch[j]
    return total


@njit(cache=True, nogil=True, inline="always")
def _distance(tree: Tree, x: FloatArray, t: int, limit: float) -> float:
    """Squared distance to a target; any number beyond `limit` where it is further."""
    total = 0.0
    for j in range(len(x)):
        y = tree.points[t, j]
        if y != x[j]:
            if not tree.unordered[j]:
                total += (x[j] - y) * (x[j] - y)
            elif x[j] >= tree.n_levels[j] or y >= tree.n_levels[j]:
                total += tree.blank[j]
            else:
                total += tree.mismatch[j]
            if total > limit:
                break
    return total


@njit(cache=True, nogil=True)
def _keep(found: IntArray, apart: FloatArray, held: int, limit: float) -> int:
    """Forget what is beyond `limit`."""
    kept = 0
    for h in range(held):
        if apart[h] <= limit:
            found[kept], apart[kept] = found[h], apart[h]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def _argmin(apart: FloatArray, held: int) -> int:
    best = 0
    for h in range(held):
        if apart[h] < apart[best]:
            best = h
    return best


@njit(cache=True, nogil=True)
def _wider(values: IntArray) -> IntArray:
    wider = np.empty(2 * len(values), np.int64)
    for i in range(len(values)):
        wider[i] = values[i]
    return wider


@njit(cache=True, nogil=True)
def _wider_floats(values: FloatArray) -> FloatArray:
    wider = np.empty(2 * len(values))
    for i in range(len(values)):
        wider[i] = values[i]
    return wider
