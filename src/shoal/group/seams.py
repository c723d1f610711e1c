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

Points cut into blocks of neighbours until each is small enough to be grouped at once.

Groups can't straddle a cut, so a cut should separate records that would not have shared a group. Levels come first:
any two of them are equally far apart, so a cut between counties costs only groups that mix counties, and each part has
fewer levels, hence fewer indicator columns. Among the nominal columns the one of largest variance is cut, between two
sets of its levels; where no set holds a fair share of the rows, numbers are cut, again in the column of largest
variance. Equal values stay together where that leaves both parts a fair share; otherwise ties are cut in the next
column and so on, last by row number.

Each part holds a multiple of k rows (one takes the remainder). Cost n log n per column.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np
from numba import njit

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.group.box_tree import BoxTree, nearest_rows
from shoal.group.packs import Remaining
from shoal.group.points import Points, distinct
from shoal.group.spatial import index_of

__all__ = ["Limit", "cells", "mend", "neighbours"]

_N_NEIGHBOURS = 4
_LEAST_GROUPS = 16  # that are mended together, however large they are
_ROUNDS: tuple[tuple[float, Literal["levels", "numbers"]], ...] = ((1 / 3, "levels"), (2 / 3, "numbers"))
_SWEEPS = 2  # over all pairs, in each round
_WORTH = 1e-9  # least gain, as a share of |y − x|², that is no rounding error
Limit = Callable[[int], float]
"""How many rows a block of so many coordinates may have."""
_FAIR = 0.2  # least share of the rows on either side of a cut between levels or values
_DIGITS = 9  # variances that agree in so many are equal, so that rounding decides nothing


def mend(points: Points, labels: IntArray, limit: Limit, n_cores: int = 1) -> IntArray:
    """Return labels with the same group sizes and no larger squared error; the number of cores does not change them.

    `limit` says how many rows of so many columns are mended together.
    """
    sizes = np.bincount(labels)

    def groups_at_once(n_columns: int) -> float:
        return max(_LEAST_GROUPS, limit(n_columns) / float(sizes.mean()))

    mended = labels.copy()
    for share, first in _ROUNDS:
        members, starts = np.argsort(mended, kind="stable"), np.cumsum(sizes) - sizes
        blocks = cells(_centres(points, mended, members[starts]), 1, groups_at_once, share, first)
        with ThreadPoolExecutor(n_cores) as pool:
            rows = [members[_runs(starts[block], sizes[block])] for block in blocks]
            done = pool.map(lambda rows, block: _mended(points.take(rows).dense(), sizes[block]), rows, blocks)
            for block, into, order in zip(blocks, rows, done, strict=True):
                mended[into[order]] = np.repeat(block, sizes[block])
    return mended


def _runs(starts: IntArray, lengths: IntArray) -> IntArray:
    """The numbers from each start on, one run after the other."""
    return np.repeat(starts - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())


def _centres(points: Points, labels: IntArray, first_rows: IntArray) -> Points:
    """Where the groups are: their means, and the level of their first member."""
    first = points.take(first_rows)
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


def cells(
    points: Points, k: int, limit: Limit, share: float = 0.5, first: Literal["levels", "numbers"] = "levels"
) -> list[IntArray]:
    """Cut points until every block is within the limit; return the rows of each, in increasing order.

    Parameters
    ----------
    k
        Each block holds a multiple of `k` rows; one takes the remainder. A block of fewer than 2k is not cut.
    share
        Part of the rows that a cut should leave on its lower side. Another share puts cuts elsewhere.
    first
        What is cut as long as it can be.
    """
    done, waiting = [], [np.arange(len(points))]
    while waiting:
        rows = waiting.pop()
        part = points.take(rows)
        if len(rows) < 2 * k or len(rows) <= limit(part.width):
            done.append(rows)
        else:
            lower = _in_multiples(_lower(part, share, first), k)
            waiting += [rows[~lower], rows[lower]]
    return done


def _lower(points: Points, share: float, first: str) -> BoolArray:
    """The rows on the lower side of the cut."""
    variances = points.variances()
    order = np.argsort(-np.round(variances / max(variances.max(initial=0.0), 1e-300), _DIGITS), kind="stable")
    numbers = [points.values[:, j] for j in order if not points.is_level[j] and variances[j] > 0]
    if first == "levels" or not numbers:
        for j in order[points.is_level[order] & (variances[order] > 0)]:
            lower = _some_levels(points.values[:, j].astype(np.int64), points.counts(j), share)
            if _is_fair(lower):
                return lower
    return _lowest(numbers, len(points), int(share * len(points)))


def _some_levels(levels: IntArray, counts: IntArray, share: float) -> BoolArray:
    """Rows of the most frequent levels, as many of these as come nearest to the share."""
    by_count = np.argsort(-counts, kind="stable")
    n_chosen = 1 + int(np.argmin(np.abs(np.cumsum(counts[by_count]) - share * len(levels))))
    chosen = np.zeros(len(counts), dtype=np.bool_)
    chosen[by_count[:n_chosen]] = True
    return chosen[levels]


def _lowest(columns: list[FloatArray], n: int, size: int) -> BoolArray:
    """About `size` rows that are lowest in the first column; ties stay together if that is fair, else by the next."""
    chosen, tied = np.zeros(n, dtype=np.bool_), np.arange(n)
    for column in columns:
        values = column[tied]
        edge = np.partition(values, size)[size]
        below, upto = values < edge, values <= edge
        for side in (below, upto) if 2 * size < below.sum() + upto.sum() else (upto, below):
            whole = chosen.copy()
            whole[tied[side]] = True
            if _is_fair(whole):
                return whole
        chosen[tied[below]] = True
        size -= int(np.count_nonzero(below))
        tied = tied[values == edge]
    chosen[tied[:size]] = True
    return chosen


def _is_fair(lower: BoolArray) -> bool:
    return _FAIR <= int(np.count_nonzero(lower)) / len(lower) <= 1 - _FAIR


def _in_multiples(lower: BoolArray, k: int) -> BoolArray:
    """Move the last rows of one side to the other, such that the lower side holds a multiple of k and neither < k."""
    n_lower = int(np.count_nonzero(lower))
    size = min(max(round(n_lower / k), 1), len(lower) // k - 1) * k
    if size < n_lower:
        lower[np.flatnonzero(lower)[size:]] = False
    elif size > n_lower:
        lower[np.flatnonzero(~lower)[n_lower - size :]] = True
    return lower
