"""The greedy cover behind `Ball`: from the densest record outwards.

Seeds are taken in order of decreasing neighbourhood size, ties by row. Neighbourhoods are counted up to 1,000 records:
a denser one is dense, and counting on would cost n². A seed's candidates are the records not taken yet within the
radius of it in every column. Shape *ball* takes them all. Shape *clique* looks at them from the nearest to the
farthest, by

    max_j d_j(candidate, seed) / ε_j        (ties by row),

and takes each that is within the radius of all taken so far. For numbers that is a box no wider than ε_j in each
column; for levels the few that the group holds are compared. Candidates up to half the radius are fetched first; the
box that they span then narrows the search for the others.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.distance._kernels import apart
from shoal.distance.space import EQUAL, LINE, Packed
from shoal.group.range_tree import RangeTree, count_within, gather_within, leave, plant

__all__ = ["MOST_COUNTED", "cover", "least_small"]

MOST_COUNTED = 1000
"""Neighbours that are counted to put seeds in order."""


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
            total = gather_within(tree, positions, packed, radii, x, x, x, labels, stack, kept)
        for row in kept[:total]:
            labels[row] = label
            leave(tree, row)
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
        n_found = gather_within(tree, positions, packed, reach, x, low, high, labels, stack, found)
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
