"""k-member and MDAV of small tables, by looking at all rows each time.

The rules are those of `greedy`, and so are the partitions, to the last row: sums are exact, and squared distances add
up column by column. Cost: n² distances, a fraction of a second for a thousand rows; there is nothing to compile, which
takes twelve seconds on a new machine.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.group.points import prepare

__all__ = ["MOST_ROWS", "kmember", "mdav"]

MOST_ROWS = 1_400
"""Up to so many rows, looking at all takes less time than loading what compiled kernels need."""


def kmember(points: FloatArray, k: int) -> IntArray:
    """The cluster of each row, as `greedy.kmember` numbers them."""
    rows = _Rows("k-member", points, k)
    labels = np.full(rows.n, -1)
    sums = np.zeros((rows.n // k, len(rows.columns)))
    centre = rows.mean()
    for cluster in range(len(sums)):
        row = rows.furthest(centre)
        for size in range(1, k + 1):
            labels[row] = cluster
            rows.remaining[row] = False
            sums[cluster] += rows.columns[:, row]
            if size < k:
                row = rows.nearest(sums[cluster] / size)
        centre = rows.columns[:, row]
    _place_leftovers(rows, k, labels, sums)
    return labels


def _place_leftovers(rows: _Rows, k: int, labels: IntArray, sums: FloatArray) -> None:
    sizes = np.full(len(sums), k)
    for row in np.flatnonzero(labels < 0):
        x = rows.columns[:, row]
        centres = np.ascontiguousarray((sums / sizes[:, None]).T)
        chosen = int(np.argmin(sizes / (sizes + 1) * _squared(centres, x)))
        labels[row] = chosen
        sizes[chosen] += 1
        sums[chosen] += x


def mdav(points: FloatArray, k: int) -> IntArray:
    """The group of each row, as `greedy.mdav` numbers them."""
    rows = _Rows("MDAV", points, k)
    n_groups = rows.n // k
    labels = np.full(rows.n, n_groups - 1)
    row = 0
    for group in range(n_groups - 1):
        row = rows.furthest(rows.mean() if group % 2 == 0 else rows.columns[:, row])
        labels[rows.gather(row, k)] = group
    return labels


class _Rows:
    """All rows, column by column, and which of them remain."""

    def __init__(self, method: str, points: FloatArray, k: int) -> None:
        copies = prepare(method, points, k)
        self.columns = np.ascontiguousarray(copies.points[copies.owner].T)
        self.n = self.columns.shape[1]
        self.remaining: BoolArray = np.ones(self.n, dtype=np.bool_)

    def mean(self) -> FloatArray:
        kept = self.columns[:, self.remaining]
        return np.asarray(kept.sum(axis=1) / kept.shape[1])

    def furthest(self, centre: FloatArray) -> int:
        return int(np.argmax(np.where(self.remaining, _squared(self.columns, centre), -1.0)))

    def nearest(self, centre: FloatArray) -> int:
        return int(np.argmin(np.where(self.remaining, _squared(self.columns, centre), np.inf)))

    def gather(self, row: int, k: int) -> IntArray:
        """A row and the k − 1 remaining ones nearest to it, taken away."""
        self.remaining[row] = False
        squared = np.where(self.remaining, _squared(self.columns, self.columns[:, row]), np.inf)
        taken = np.append(np.argsort(squared, kind="stable")[: k - 1], row)
        self.remaining[taken] = False
        return taken


def _squared(columns: FloatArray, centre: FloatArray) -> FloatArray:
    total = np.zeros(columns.shape[1])
    for column, x in zip(columns, centre, strict=True):
        total += (column - x) * (column - x)
    return total
