"""Medoids: the centre of a group where there is nothing to average (eq 3).

The centre of group C in column j is the value of the column that is nearest to all members together,

    c_j = arg min over values v of  Σ_{i in C} d_j(a_ij, v).                                 (3)

The values v are those that occur in the table, so that a centre can always be written (`whole`: every level of a table
of distances, whether or not it occurs). On a line that is a median (the
lower one, which is a member's value), for 0/1 distances the mode (ties: the more frequent level of the table), and for
a table of distances the level with the least sum (ties: the same), which need not be a member's.

Where a person of several rows lies: the mean of their numbers, the most frequent of their levels.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.distance.space import Space, Spaces

__all__ = ["lower_medians", "medoids", "modes", "person_positions"]

_CHUNK = 2**22  # cells of the table of counts that is held at a time


def medoids(
    positions: FloatArray, labels: IntArray, spaces: Spaces, occurring: FloatArray | None = None, *, whole: bool = False
) -> FloatArray:
    """The centre of each group, one row per group; labels are 0..c−1 without gaps.

    `occurring` are the positions whose values may be a centre; by default `positions`. With `whole` every level of a
    table of distances may be one. On a line and for 0/1 distances nothing is nearer than the best that occurs.
    """
    among = positions if occurring is None else occurring
    columns = [_center(space, positions[:, j], labels, among[:, j], whole) for j, space in enumerate(spaces)]
    return np.column_stack(columns)


def _center(space: Space, values: FloatArray, labels: IntArray, among: FloatArray, whole: bool) -> FloatArray:
    if space.shape == "line":
        return lower_medians(values, labels, space.edge)
    if space.table is None:
        return modes(values, labels)
    levels = np.arange(len(space.table)) if whole else np.unique(among).astype(np.int64)
    return _least_sums(space.table, values.astype(np.int64), labels, levels)


def lower_medians(values: FloatArray, labels: IntArray, edge: float = np.inf) -> FloatArray:
    """The lower median of each group.

    What lies beyond `edge` stands for an absence: the median is that of the others, or the most frequent absence where
    more than half of a group have one.
    """
    counts, has = np.bincount(labels), values <= edge
    n_has = np.bincount(labels[has], minlength=len(counts))
    ordered = values[np.lexsort((values, labels))]
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    middle: FloatArray = ordered[starts + np.maximum(n_has - 1, 0) // 2]
    mostly = 2 * n_has < counts
    rows = np.flatnonzero(mostly[labels] & ~has)
    if len(rows):
        middle[mostly] = modes(values[rows], np.unique(labels[rows], return_inverse=True)[1])
    return middle


def modes(values: FloatArray, labels: IntArray) -> FloatArray:
    """The most frequent value of each group; ties go to the lowest."""
    order = np.lexsort((values, labels))
    ordered, groups = values[order], labels[order]
    begins = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]) | (groups[1:] != groups[:-1])))
    runs = np.diff(np.append(begins, len(values)))
    best = np.lexsort((ordered[begins], -runs, groups[begins]))
    first = np.append(True, np.diff(groups[begins][best]) > 0)
    most: FloatArray = ordered[begins[best[first]]]
    return most


def _least_sums(table: FloatArray, positions: IntArray, labels: IntArray, among: IntArray) -> FloatArray:
    n_groups, width = int(labels.max()) + 1, len(table)
    step = max(1, _CHUNK // width)
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(0, n_groups + step, step))
    parts = [_least(table, positions[order[a:b]], labels[order[a:b]], among) for a, b in pairwise(ends) if b > a]
    return np.concatenate(parts)


def _least(table: FloatArray, positions: IntArray, labels: IntArray, among: IntArray) -> FloatArray:
    first = int(labels.min())
    counts = np.zeros((int(labels.max()) - first + 1, len(table)))
    np.add.at(counts, (labels - first, positions), 1.0)
    sums = counts @ table[:, among]
    # Equal sums in exact arithmetic must tie: rounding must not choose.
    near = sums <= sums.min(axis=1, keepdims=True) * (1 + 1e-12)
    best: FloatArray = among[near.argmax(axis=1)].astype(np.float64)
    return best


def person_positions(positions: FloatArray, spaces: Spaces, units: IntArray) -> FloatArray:
    """One row of positions per person, whatever the order of the rows."""
    counts = np.bincount(units)
    if len(counts) == len(units):
        return positions[np.argsort(units)]
    columns = [
        _means(positions[:, j], units, counts) if space.shape == "line" else modes(positions[:, j], units)
        for j, space in enumerate(spaces)
    ]
    return np.column_stack(columns)


def _means(values: FloatArray, units: IntArray, counts: IntArray) -> FloatArray:
    ordered = values[np.lexsort((values, units))]  # sorted sums: the order of the file changes no bit
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    out: FloatArray = np.add.reduceat(ordered, starts) / counts
    return out
