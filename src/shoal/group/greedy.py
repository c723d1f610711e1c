"""The greedy k-member kernel: clusters grown around far-out seeds.

**Rule.** c = floor(n/k) clusters are made one after another.

1. The first seed is the record furthest from the mean of all; every further seed is the remaining record furthest from
   the last record added.
2. A cluster grows to k members by the remaining record that raises its squared error q/(q+1)·|x − x̄|² least; q, its
   size, is the same for all candidates, so that is the record nearest to its centroid x̄.
3. The n − ck leftovers, in row order, each join the cluster with the least q/(q+1)·|x − x̄|², whose q and x̄ are then
   updated.

Ties go to the lowest row (in 3, to the first cluster). Sums are exact (`copies`), x̄ is a sum divided once by q, and
squared distances add up column by column (`packs`): the same partition comes out of a plain loop.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.group.box_tree import furthest_by_boxes, nearest_rows
from shoal.group.copies import prepare
from shoal.group.packs import squared_distance
from shoal.group.remaining import first_row
from shoal.group.shells import furthest_by_shells
from shoal.group.spatial import Index, index_of, remove

__all__ = ["kmember"]

_FEW_COLUMNS = 3  # up to so many, boxes find the furthest record faster than shells


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
    few = points.shape[1] <= _FEW_COLUMNS
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
