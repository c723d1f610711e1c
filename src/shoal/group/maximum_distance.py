"""The MDAV kernel: groups around the records that are furthest out.

**Rule** (Domingo-Ferrer and Torra, 2005). While at least 3k records remain, let r be the one furthest from the mean of
the remaining; r and its k − 1 nearest form a group. Then let s be the one furthest from r; s and its k − 1 nearest form
the next. When fewer than 3k remain: if at least 2k, one more group forms around the one furthest from the mean; the
rest, k to 2k − 1 records, is the last group.

Ties go to the lowest row. Sums are exact (`copies`), a mean is a sum divided once, and squared distances add up column
by column (`packs`): the same partition comes out of a plain loop. Where all records are equally far from r, s is found
among those that r's group left over.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.group.box_tree import furthest_by_boxes, nearest_rows
from shoal.group.copies import prepare
from shoal.group.remaining import first_row
from shoal.group.shells import furthest_by_shells
from shoal.group.spatial import Index, index_of, remove

__all__ = ["mdav"]

_FEW_COLUMNS = 5  # up to so many, boxes find the furthest record from a far one faster than shells


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
    few = points.shape[1] <= _FEW_COLUMNS
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
