"""The greedy k-member kernel: clusters grown around far-out seeds.

**Rule.** c = floor(n/k) clusters are made one after another.

1. The first seed is the record furthest from the mean of all; every further seed is the remaining record furthest from
   the last record added.
2. A cluster grows to k members by the remaining record that raises its squared error q/(q+1)·|x − x̄|² least; q, its
   size, is the same for all candidates, so that is the record nearest to its centroid x̄.
3. The n − ck leftovers, in row order, each join the cluster with the least q/(q+1)·|x − x̄|², whose q and x̄ are then
   updated.

Ties go to the lowest row (in 3, to the first cluster). Sums are exact (`points`), x̄ is a sum divided once by q, and
squared distances add up column by column (`packs`): the same partition comes out of a plain loop.

The MDAV kernel: groups around the records that are furthest out.

**Rule** (Domingo-Ferrer and Torra, 2005). While at least 3k records remain, let r be the one furthest from the mean of
the remaining; r and its k − 1 nearest form a group. Then let s be the one furthest from r; s and its k − 1 nearest form
the next. When fewer than 3k remain: if at least 2k, one more group forms around the one furthest from the mean; the
rest, k to 2k − 1 records, is the last group.

Ties go to the lowest row. Sums are exact (`points`), a mean is a sum divided once, and squared distances add up column
by column (`packs`): the same partition comes out of a plain loop. Where all records are equally far from r, s is found
among those that r's group left over.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.group.box_tree import furthest_by_boxes, nearest_rows
from shoal.group.packs import first_row, squared_distance
from shoal.group.points import prepare
from shoal.group.spatial import Index, furthest_by_shells, index_of, remove

__all__ = ["kmember", "mdav"]

_FEW_FOR_KMEMBER = 3  # up to so many, boxes find the furthest record faster than shells
_FEW_FOR_MDAV = 5  # up to so many, boxes find the furthest record from a far one faster than shells


def kmember(points: FloatArray, k: int) -> IntArray:
    """Partition points into floor(n/k) clusters of at least k.

    Parameters
    ----------
    points
        One row per record, in the order that decides ties.
    k
        Smallest cluster size.

    Returns
    -------
    labels
        The cluster of each row, numbered in order of creation.
    """
    copies = prepare("k-member", points, k)
    labels = np.full(len(points), -1)
    sums = np.zeros((len(points) // k, copies.points.shape[1]))
    few = points.shape[1] <= _FEW_FOR_KMEMBER
    _grow_clusters(index_of(copies), copies.owner, k, few, labels, sums)
    _place_leftovers(copies.points, copies.owner, k, labels, sums)
    return labels


@njit(cache=True, nogil=True)
def _grow_clusters(
    index: Index, owner: IntArray, k: int, few_columns: bool, labels: IntArray, sums: FloatArray
) -> None:
    points, remaining, tree, shells = index.points, index.remaining, index.tree, index.shells
    near, near_rows, centre = np.empty(1), np.empty(1, np.int64), _mean(points, owner)
    for cluster in range(len(sums)):
        if few_columns:
            point = furthest_by_boxes(tree, remaining, centre)
        else:
            point = furthest_by_shells(shells, remaining, centre)
        for size in range(1, k + 1):
            labels[first_row(remaining, point)] = cluster
            for j in range(len(centre)):
                sums[cluster, j] += points[point, j]
                centre[j] = sums[cluster, j] / size
            remove(index, point)
            if size < k:
                nearest_rows(tree, remaining, centre, near, near_rows)
                point = owner[near_rows[0]]
        for j in range(len(centre)):
            centre[j] = points[point, j]


@njit(cache=True, nogil=True)
def _mean(points: FloatArray, owner: IntArray) -> FloatArray:
    mean = np.zeros(points.shape[1])
    for point in owner:
        for j in range(len(mean)):
            mean[j] += points[point, j]
    for j in range(len(mean)):
        mean[j] /= len(owner)
    return mean


@njit(cache=True, nogil=True)
def _place_leftovers(points: FloatArray, owner: IntArray, k: int, labels: IntArray, sums: FloatArray) -> None:
    sizes, centre = np.full(len(sums), k), np.empty(points.shape[1])
    for row in range(len(labels)):
        if labels[row] < 0:
            best, chosen = np.inf, 0
            for cluster in range(len(sums)):
                q = sizes[cluster]
                for j in range(len(centre)):
                    centre[j] = sums[cluster, j] / q
                rise = q / (q + 1) * squared_distance(points[owner[row]], centre)
                if rise < best:
                    best, chosen = rise, cluster
            labels[row] = chosen
            sizes[chosen] += 1
            for j in range(len(centre)):
                sums[chosen, j] += points[owner[row], j]


def mdav(points: FloatArray, k: int) -> IntArray:
    """Partition points into floor(n/k) groups of k to 2k − 1.

    Parameters
    ----------
    points
        One row per record, in the order that decides ties.
    k
        Smallest group size.

    Returns
    -------
    labels
        The group of each row, numbered in order of creation.
    """
    copies = prepare("MDAV", points, k)
    labels = np.full(len(points), len(points) // k - 1)
    few = points.shape[1] <= _FEW_FOR_MDAV
    _gather_groups(index_of(copies), copies.owner, k, few, labels)
    return labels


@njit(cache=True, nogil=True)
def _gather_groups(index: Index, owner: IntArray, k: int, few_columns: bool, labels: IntArray) -> None:
    """Label the rows of all groups but the last."""
    points, remaining, tree, shells = index.points, index.remaining, index.tree, index.shells
    near, near_rows = np.empty(k - 1), np.empty(k - 1, np.int64)
    total, mean = np.zeros(points.shape[1]), np.empty(points.shape[1])
    for point in owner:
        _add(total, points[point], 1.0)
    point = 0
    for group in range(len(owner) // k - 1):
        if group % 2 == 0:
            for j in range(len(mean)):
                mean[j] = total[j] / (len(owner) - group * k)
            point = furthest_by_shells(shells, remaining, mean)
        elif few_columns:
            point = furthest_by_boxes(tree, remaining, points[point])
        else:
            point = furthest_by_shells(shells, remaining, points[point])
        _take(index, point, group, labels, total)
        if k > 1:
            nearest_rows(tree, remaining, points[point], near, near_rows)
        for row in near_rows:
            _take(index, owner[row], group, labels, total)


@njit(cache=True, nogil=True)
def _take(index: Index, point: int, group: int, labels: IntArray, total: FloatArray) -> None:
    """Move the first remaining copy of a point from the index to a group."""
    labels[first_row(index.remaining, point)] = group
    _add(total, index.points[point], -1.0)
    remove(index, point)


@njit(cache=True, nogil=True)
def _add(total: FloatArray, x: FloatArray, sign: float) -> None:
    for j in range(len(total)):
        total[j] += sign * x[j]
