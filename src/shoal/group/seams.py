"""Mending the seams between blocks: neighbouring groups exchange records where that lowers the squared error.

Groups made block by block can't straddle a cut. Afterwards each group is held against its four nearest groups. Let A
and B be two groups of a and b members with centroids c_A and c_B. Exchanging x of A for y of B lowers the squared
error by

    2 (c_A − c_B)·(y − x) + (1/a + 1/b) |y − x|².

The member y of B that is readiest to leave is found first, by this formula with the midpoint of the centroids in place
of x; then the best x for it. They are exchanged if that gains, and so on until it doesn't.

This too is done block by block: the groups are cut into blocks of neighbours, not where the records were cut but at a
third of each block, and once more at two thirds, now of the numbers whatever the levels. So memory is near, no search
is over all groups, and blocks are mended on all cores.

Promised: group sizes stay as they are, and the squared error does not rise. Cost: linear in n.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.group.box_tree import BoxTree, nearest_rows
from shoal.group.cells import Limit, cells
from shoal.group.copies import distinct
from shoal.group.points import Points
from shoal.group.remaining import Remaining
from shoal.group.spatial import index_of

__all__ = ["mend", "neighbours"]

_N_NEIGHBOURS = 4
_LEAST_GROUPS = 16  # that are mended together, however large they are
_ROUNDS: tuple[tuple[float, Literal["levels", "numbers"]], ...] = ((1 / 3, "levels"), (2 / 3, "numbers"))
_SWEEPS = 2  # over all pairs, in each round
_WORTH = 1e-9  # least gain, as a share of |y − x|², that is no rounding error


def mend(points: Points, labels: IntArray, limit: Limit, n_cores: int = 1) -> IntArray:
    """Return labels with the same group sizes and no larger squared error; the number of cores does not change them.

    `limit` says how many rows of so many columns are mended together.
    """
    sizes = np.bincount(labels)

    def groups_at_once(n_columns: int) -> float:
        return max(_LEAST_GROUPS, limit(n_columns) / float(sizes.mean()))

    mended = labels.copy()
    for share, first in _ROUNDS:
        members = np.split(np.argsort(mended, kind="stable"), np.cumsum(sizes)[:-1])
        blocks = cells(_centres(points, mended, members), 1, groups_at_once, share, first)
        with ThreadPoolExecutor(n_cores) as pool:
            rows = [np.concatenate([members[group] for group in block]) for block in blocks]
            done = pool.map(lambda rows, block: _mended(points.take(rows).dense(), sizes[block]), rows, blocks)
            for block, into, order in zip(blocks, rows, done, strict=True):
                mended[into[order]] = np.repeat(block, sizes[block])
    return mended


def _centres(points: Points, labels: IntArray, members: list[IntArray]) -> Points:
    """Where the groups are: their means, and the level of their first member."""
    first = points.take(np.array([rows[0] for rows in members]))
    for j in np.flatnonzero(~points.is_level):
        first.values[:, j] = np.bincount(labels, points.values[:, j]) / np.bincount(labels)
    return first


def _mended(coordinates: FloatArray, sizes: IntArray) -> IntArray:
    """Exchange records between groups that follow each other in `coordinates`; return the order they have then."""
    order, starts = np.arange(len(coordinates)), np.append(0, np.cumsum(sizes))
    centroids = np.add.reduceat(coordinates, starts[:-1], axis=0) / sizes[:, None]
    near = neighbours(centroids, _N_NEIGHBOURS + 1)
    for _ in range(_SWEEPS):
        _exchange(coordinates, order, starts, centroids, near)
    return order


def neighbours(centroids: FloatArray, n: int) -> IntArray:
    """The `n` rows nearest to each row, itself among them, or as many as there are."""
    index = index_of(distinct(centroids))
    near = np.empty((len(centroids), min(n, len(centroids))), dtype=np.int64)
    _neighbours(index.tree, index.remaining, centroids, near)
    return near


@njit(cache=True, nogil=True)
def _neighbours(tree: BoxTree, remaining: Remaining, centroids: FloatArray, near: IntArray) -> None:
    distances, centre = np.empty(near.shape[1]), np.zeros(tree.boxes.shape[2])
    for row in range(len(near)):
        for j in range(centroids.shape[1]):
            centre[j] = centroids[row, j]
        nearest_rows(tree, remaining, centre, distances, near[row])


@njit(cache=True, nogil=True)
def _exchange(points: FloatArray, members: IntArray, starts: IntArray, centroids: FloatArray, near: IntArray) -> None:
    d = points.shape[1]
    way, middle = np.empty(d), np.empty(d)
    for a in range(len(near)):
        for b in near[a]:
            n_a, n_b = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
            weight = 1.0 / n_a + 1.0 / n_b
            for _ in range(n_a if a != b else 0):
                for j in range(d):
                    way[j] = 2.0 * (centroids[a, j] - centroids[b, j])
                    middle[j] = 0.5 * (centroids[a, j] + centroids[b, j])
                i = _readiest(points, members, starts[b], starts[b + 1], middle, way, weight)
                h, gain = _partner(points, members, starts[a], starts[a + 1], members[i], way, weight - _WORTH)
                if gain <= 0.0:
                    break
                members[i], members[h] = members[h], members[i]
                for j in range(d):
                    step = points[members[h], j] - points[members[i], j]
                    centroids[a, j] += step / n_a
                    centroids[b, j] -= step / n_b


@njit(cache=True, nogil=True)
def _readiest(
    points: FloatArray, members: IntArray, first: int, last: int, x: FloatArray, way: FloatArray, weight: float
) -> int:
    """The place of the member y that gains most in exchange for `x`."""
    best, place = -np.inf, first
    for i in range(first, last):
        gain = 0.0
        for j in range(len(way)):
            step = points[members[i], j] - x[j]
            gain += step * (way[j] + weight * step)
        if gain > best:
            best, place = gain, i
    return place


@njit(cache=True, nogil=True)
def _partner(
    points: FloatArray, members: IntArray, first: int, last: int, y: int, way: FloatArray, weight: float
) -> tuple[int, float]:
    """The place of the member x for which record `y` gains most, and the gain."""
    best, place = -np.inf, first
    for i in range(first, last):
        gain = 0.0
        for j in range(len(way)):
            step = points[y, j] - points[members[i], j]
            gain += step * (way[j] + weight * step)
        if gain > best:
            best, place = gain, i
    return place, best
