"""The greedy cover behind `Ball`: from the densest record outwards.

Seeds are taken in order of decreasing neighbourhood size, ties by row. Neighbourhoods are counted up to 1,000 records:
a denser one is dense, and counting on would cost n². A seed's candidates are the records not taken yet within the
radius of it in every column. Shape *ball* takes them all. Shape *clique* looks at them from the nearest to the
farthest, by

    max_j d_j(candidate, seed) / ε_j        (ties by row),

and takes each that is within the radius of all taken so far. For numbers that is a box no wider than ε_j in each
column; for levels the few that the group holds are compared. Candidates up to half the radius are fetched first; the
box that they span then narrows the search for the others.

Which records lie within a radius in every column: a tree of boxes over positions.

Records are cut in two, again and again, along the column that separates them best in units of its radius: first by the
codes that must be equal, then by numbers. A box that lies outside the radius in one column is skipped, one that lies
inside in all is counted whole; only records of boxes in between are looked at. Memory is linear in records, and no
distance is kept.

Distances are compared as computed: |a − b| rounds monotonically, so a box never disagrees with a record in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.distance._kernels import apart
from shoal.distance.space import EQUAL, LINE, Packed
from shoal.distance.threads import in_chunks

__all__ = ["MOST_COUNTED", "RangeTree", "count_within", "cover", "least_small", "plant"]

MOST_COUNTED = 1000
"""Neighbours that are counted to put seeds in order."""
_LEAF = 12
_CODES_FIRST = 1e6
_OUTSIDE, _BETWEEN, _INSIDE = range(3)


def cover(positions: FloatArray, packed: Packed, radii: FloatArray, *, clique: bool) -> IntArray:
    """Labels 0..c−1 of a cover of the rows of `positions`, numbered in the order in which groups were found."""
    tree = plant(positions, packed, radii)
    counts = count_within(tree, positions, packed, radii, MOST_COUNTED)
    seeds = np.argsort(-counts, kind="stable")
    return _cover(tree, positions, packed, radii, seeds, clique)


def least_small(positions: FloatArray, packed: Packed, radii: FloatArray, minimum: int) -> int:
    """Records that no clique of `minimum` can hold: they have too few neighbours."""
    tree = plant(positions, packed, radii)
    return int((count_within(tree, positions, packed, radii, minimum) < minimum).sum())


@njit(cache=True, nogil=True)
def _cover(
    tree: RangeTree, positions: FloatArray, packed: Packed, radii: FloatArray, seeds: IntArray, clique: bool
) -> IntArray:
    n = len(positions)
    labels = np.full(n, -1, dtype=np.int64)
    kept, found = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    stack = np.empty(2 * tree.depth + 4, dtype=np.int64)
    held, n_held = np.empty((len(radii), max(1, packed.widths.max()))), np.zeros(len(radii), dtype=np.int64)
    label = 0
    for seed in seeds:
        if labels[seed] >= 0:
            continue
        if clique:
            total = _clique(tree, positions, packed, radii, seed, label, labels, stack, found, kept, held, n_held)
        else:
            x = positions[seed]
            total = _gather_within(tree, positions, packed, radii, x, x, x, labels, stack, kept)
        for row in kept[:total]:
            labels[row] = label
            _leave(tree, row)
        label += 1
    return labels


@njit(cache=True, nogil=True)
def _clique(
    tree: RangeTree, positions: FloatArray, packed: Packed, radii: FloatArray, seed: int, label: int,
    labels: IntArray, stack: IntArray, found: IntArray, kept: IntArray, held: FloatArray, n_held: IntArray,
) -> int:  # fmt: skip
    """Put the members of the seed's clique into `kept` and give them `label`; how many there are.

    `held` are the distinct levels of the members, for columns with a table of distances.
    """
    x = positions[seed]
    low, high = x.copy(), x.copy()
    kept[0], labels[seed], held[:, 0], n_held[:] = seed, label, x, 1
    total = 1
    half = radii / 2
    for turn in range(2):
        reach = half if turn == 0 else radii
        n_found = _gather_within(tree, positions, packed, reach, x, low, high, labels, stack, found)
        for row in _nearest_first(positions, packed, radii, seed, found[:n_found]):
            if _fits(packed, radii, low, high, held, n_held, positions[row]):
                kept[total], labels[row] = row, label
                total += 1
                _take_in(packed, low, high, held, n_held, positions[row])
    return total


@njit(cache=True, nogil=True)
def _take_in(
    packed: Packed, low: FloatArray, high: FloatArray, held: FloatArray, n_held: IntArray, y: FloatArray
) -> None:
    """Widen the box by a member, and remember its levels."""
    for j in range(len(y)):
        low[j], high[j] = min(low[j], y[j]), max(high[j], y[j])
        if packed.widths[j] > 0 and not _holds(held[j], n_held[j], y[j]):
            held[j, n_held[j]] = y[j]
            n_held[j] += 1


@njit(cache=True, nogil=True)
def _holds(levels: FloatArray, n: int, level: float) -> bool:
    for i in range(n):  # noqa: SIM110 (numba)
        if levels[i] == level:
            return True
    return False


@njit(cache=True, nogil=True)
def _nearest_first(
    positions: FloatArray, packed: Packed, radii: FloatArray, seed: int, candidates: IntArray
) -> IntArray:
    by_row = np.sort(candidates)
    far = np.empty(len(by_row))
    for i, row in enumerate(by_row):
        far[i] = _ratio(positions, packed, radii, seed, row)
    return by_row[np.argsort(far, kind="mergesort")]


@njit(cache=True, nogil=True)
def _ratio(positions: FloatArray, packed: Packed, radii: FloatArray, seed: int, row: int) -> float:
    worst = 0.0
    for j in range(len(radii)):
        d = apart(packed, j, positions[seed, j], positions[row, j])
        if d > 0.0 and radii[j] < np.inf:
            worst = max(worst, d / radii[j])
    return worst


@njit(cache=True, nogil=True)
def _fits(
    packed: Packed,
    radii: FloatArray,
    low: FloatArray,
    high: FloatArray,
    held: FloatArray,
    n_held: IntArray,
    y: FloatArray,
) -> bool:
    """Whether a record is within the radius of all members."""
    for j in range(len(radii)):
        if packed.shapes[j] == LINE:
            if y[j] - low[j] > radii[j] or high[j] - y[j] > radii[j]:
                return False
        elif packed.shapes[j] == EQUAL:
            if radii[j] < 1.0 and y[j] != low[j]:
                return False
        else:
            for level in held[j, : n_held[j]]:
                if apart(packed, j, y[j], level) > radii[j]:
                    return False
    return True


class RangeTree(NamedTuple):
    """Boxes around records.

    Parameters
    ----------
    order
        The records, box by box.
    low, high
        Corners of each box (boxes, columns).
    first, last
        A box holds the records ``order[first:last]``.
    left, right, parent
        The boxes below and above; −1 where there is none.
    left_in
        Records of each box that are not taken yet.
    home
        The lowest box of each record.
    depth
        Boxes on the longest way down.
    """

    order: IntArray
    low: FloatArray
    high: FloatArray
    first: IntArray
    last: IntArray
    left: IntArray
    right: IntArray
    parent: IntArray
    left_in: IntArray
    home: IntArray
    depth: int


def plant(positions: FloatArray, packed: Packed, radii: FloatArray) -> RangeTree:
    """A tree over the rows of `positions`."""
    priority = np.where(np.isinf(radii), 0.0, 1.0 / np.maximum(radii, 1e-300))
    codes = (packed.shapes != LINE) & np.isfinite(radii)
    spread = np.maximum(np.ptp(positions, axis=0), 1e-300)
    priority = np.where(codes | (radii == 0), _CODES_FIRST / spread, priority)
    return _plant(positions, priority)


@njit(cache=True)
def _plant(positions: FloatArray, priority: FloatArray) -> RangeTree:
    n, d = positions.shape
    room = 2 * n + 1
    low, high = np.empty((room, d)), np.empty((room, d))
    first, last = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
    left, right = np.full(room, -1, dtype=np.int64), np.full(room, -1, dtype=np.int64)
    parent, level = np.full(room, -1, dtype=np.int64), np.zeros(room, dtype=np.int64)
    home, order = np.zeros(n, dtype=np.int64), np.arange(n)
    last[0] = n
    made, at, depth = 1, 0, 0
    while at < made:
        rows = order[first[at] : last[at]]
        depth = max(depth, level[at])
        best, widest = -1, 0.0
        for j in range(d):
            low[at, j], high[at, j] = _ends(positions, rows, j)
            width = (high[at, j] - low[at, j]) * priority[j]
            if width > widest:
                best, widest = j, width
        if best < 0 or len(rows) <= _LEAF:
            home[rows] = at
        else:
            ordered = rows[np.argsort(positions[rows, best], kind="mergesort")]
            order[first[at] : last[at]] = ordered
            middle = first[at] + _split(positions[ordered, best])
            left[at], right[at] = made, made + 1
            for child in (made, made + 1):
                parent[child], level[child] = at, level[at] + 1
            first[made], last[made] = first[at], middle
            first[made + 1], last[made + 1] = middle, last[at]
            made += 2
        at += 1
    left_in = last[:made] - first[:made]
    return RangeTree(
        order, low[:made].copy(), high[:made].copy(), first[:made].copy(), last[:made].copy(), left[:made].copy(),
        right[:made].copy(), parent[:made].copy(), left_in, home, depth,
    )  # fmt: skip


@njit(cache=True)
def _ends(positions: FloatArray, rows: IntArray, j: int) -> tuple[float, float]:
    low = high = positions[rows[0], j]
    for row in rows:
        value = positions[row, j]
        low, high = min(low, value), max(high, value)
    return low, high


@njit(cache=True)
def _split(ordered: FloatArray) -> int:
    """The place nearest the middle where the sorted values change."""
    n = len(ordered)
    for step in range(n):
        for place in (n // 2 - step, n // 2 + step):
            if 0 < place < n and ordered[place - 1] < ordered[place]:
                return place
    return n // 2


@njit(cache=True, nogil=True)
def _within(packed: Packed, radii: FloatArray, x: FloatArray, low: FloatArray, high: FloatArray, y: FloatArray) -> bool:
    """Whether y is within the radius of x, and of numbers from `low` to `high`, in every column."""
    for j in range(len(radii)):
        if packed.shapes[j] == LINE:
            if y[j] - low[j] > radii[j] or high[j] - y[j] > radii[j]:
                return False
        elif apart(packed, j, x[j], y[j]) > radii[j]:
            return False
    return True


@njit(cache=True, nogil=True)
def _side(
    tree: RangeTree, node: int, packed: Packed, radii: FloatArray, x: FloatArray, low: FloatArray, high: FloatArray
) -> int:
    """Where a box lies as seen from a record x (or from the numbers from `low` to `high`)."""
    inside = True
    for j in range(len(radii)):
        bottom, top, r = tree.low[node, j], tree.high[node, j], radii[j]
        if packed.shapes[j] == LINE:
            if bottom - low[j] > r or high[j] - top > r:
                return _OUTSIDE
            inside = inside and top - low[j] <= r and high[j] - bottom <= r
        elif bottom == top:
            if apart(packed, j, x[j], bottom) > r:
                return _OUTSIDE
        elif packed.shapes[j] == EQUAL and r < 1.0:
            if x[j] < bottom or x[j] > top:
                return _OUTSIDE
            inside = False
        else:
            inside = inside and (packed.shapes[j] == EQUAL or r == np.inf)
    return _INSIDE if inside else _BETWEEN


@njit(cache=True, nogil=True)
def _count(
    tree: RangeTree,
    positions: FloatArray,
    packed: Packed,
    radii: FloatArray,
    x: FloatArray,
    enough: int,
    stack: IntArray,
) -> int:
    total, top = 0, 1
    stack[0] = 0
    while top > 0 and total < enough:
        top -= 1
        node = stack[top]
        side = _side(tree, node, packed, radii, x, x, x)
        if side == _OUTSIDE:
            continue
        if side == _INSIDE:
            total += tree.last[node] - tree.first[node]
        elif tree.left[node] >= 0:
            stack[top], stack[top + 1] = tree.left[node], tree.right[node]
            top += 2
        else:
            for row in tree.order[tree.first[node] : tree.last[node]]:
                total += _within(packed, radii, x, x, x, positions[row])
    return min(total, enough)


def count_within(tree: RangeTree, positions: FloatArray, packed: Packed, radii: FloatArray, enough: int) -> IntArray:
    """Number of records within the radius of each record, itself included; counting stops at `enough`."""
    counts = np.empty(len(positions), dtype=np.int64)
    in_chunks(lambda a, b: _count_some(tree, positions, packed, radii, enough, a, b, counts), len(positions))
    return counts


@njit(cache=True, nogil=True)
def _count_some(
    tree: RangeTree, positions: FloatArray, packed: Packed, radii: FloatArray, enough: int, first: int, last: int,
    counts: IntArray,
) -> None:  # fmt: skip
    stack = np.empty(2 * tree.depth + 4, dtype=np.int64)
    for place in range(first, last):
        row = tree.order[place]  # neighbours in a row walk the same boxes
        counts[row] = _count(tree, positions, packed, radii, positions[row], enough, stack)


@njit(cache=True, nogil=True)
def _gather_within(
    tree: RangeTree, positions: FloatArray, packed: Packed, radii: FloatArray, x: FloatArray, low: FloatArray,
    high: FloatArray, taken: IntArray, stack: IntArray, found: IntArray,
) -> int:  # fmt: skip
    """Put the records not taken yet that are `within` reach into `found`; how many there are."""
    total, top = 0, 1
    stack[0] = 0
    while top > 0:
        top -= 1
        node = stack[top]
        if tree.left_in[node] == 0:
            continue
        side = _side(tree, node, packed, radii, x, low, high)
        if side == _OUTSIDE:
            continue
        if side == _INSIDE or tree.left[node] < 0:
            for row in tree.order[tree.first[node] : tree.last[node]]:
                if taken[row] < 0 and (side == _INSIDE or _within(packed, radii, x, low, high, positions[row])):
                    found[total] = row
                    total += 1
        else:
            stack[top], stack[top + 1] = tree.left[node], tree.right[node]
            top += 2
    return total


@njit(cache=True, nogil=True)
def _leave(tree: RangeTree, row: int) -> None:
    """Take a record out of every box it is in."""
    node = tree.home[row]
    while node >= 0:
        tree.left_in[node] -= 1
        node = tree.parent[node]
