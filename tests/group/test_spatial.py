"""The index under random deletions, against brute force over what remains."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.group.box_tree import furthest_by_boxes
from shoal.group.points import distinct, on_grid
from shoal.group.spatial import furthest_by_shells, index_of, nearest, remove


class Remaining:
    """Rows that remain, searched one by one."""

    def __init__(self, points):
        self.points = points
        self.rows = np.arange(len(points))

    def distances(self, centre):
        total = np.zeros(len(self.rows))
        for j in range(self.points.shape[1]):
            total += (self.points[self.rows, j] - centre[j]) ** 2
        return total

    def nearest(self, centre, n):
        return self.rows[np.argsort(self.distances(centre), kind="stable")[:n]]

    def furthest(self, centre):
        return self.rows[np.argmax(self.distances(centre))]

    def remove(self, row):
        self.rows = self.rows[self.rows != row]


def first_row(index, point):
    return index.remaining.rows[index.remaining.head[point]]


def near_rows(index, centre, n):
    near, rows = np.empty(n), np.empty(n, dtype=np.int64)
    found = nearest(index, centre, near, rows)
    return sorted(rows[:found])


def padded(centre, index):
    return np.pad(centre, (0, index.points.shape[1] - len(centre)))


def make(kind, n, d, rng):
    if kind == "normal":
        return rng.standard_normal((n, d))
    if kind == "codes":
        return rng.integers(0, 4, (n, d)).astype(float)
    if kind == "clumps":
        return rng.standard_normal((n // 20, d))[rng.integers(0, n // 20, n)]
    return np.hstack([np.exp(2 * rng.standard_normal((n, d - 1))), np.ones((n, 1))])


@pytest.mark.parametrize("kind", ["normal", "codes", "clumps", "skewed with a constant"])
@pytest.mark.parametrize(("n", "d"), [(40, 1), (600, 2), (5000, 3), (5000, 8)])
def test_finds_what_brute_force_finds(kind, n, d):
    rng = np.random.default_rng(n + d)
    points = on_grid(make(kind, n, d, rng))
    copies = distinct(points)
    index, remaining = index_of(copies), Remaining(points)
    for step in range(n - 1):
        if step % max(1, n // 60) == 0:
            centre = points[remaining.rows[:3]].mean(axis=0) + (step % 2) * rng.standard_normal(d)
            c = padded(centre, index)
            for size in (1, 4, 37):
                assert near_rows(index, c, size) == sorted(remaining.nearest(centre, size))
            assert first_row(index, furthest_by_boxes(index.tree, index.remaining, c)) == remaining.furthest(centre)
            assert first_row(index, furthest_by_shells(index.shells, index.remaining, c)) == remaining.furthest(centre)
        point = copies.owner[rng.choice(remaining.rows)]
        remaining.remove(first_row(index, point))
        remove(index, point)


def test_large_index_has_three_levels():
    rng = np.random.default_rng(3)
    points = on_grid(rng.standard_normal((140_000, 2)))
    index, remaining = index_of(distinct(points)), Remaining(points)
    for centre in rng.standard_normal((10, 2)) * 2:
        c = padded(centre, index)
        assert near_rows(index, c, 5) == sorted(remaining.nearest(centre, 5))
        assert first_row(index, furthest_by_boxes(index.tree, index.remaining, c)) == remaining.furthest(centre)


def test_last_point_can_be_removed():
    index = index_of(distinct(np.array([[1.0, 2.0]])))
    remove(index, 0)
    assert near_rows(index, np.zeros(4), 3) == []
