"""Blocks: sizes, neighbours together, squared error near the exact one, the same on any number of cores."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.group import blocks as module
from shoal.group.blocks import by_blocks, exact_points, is_small, partition
from shoal.group.greedy import kmember, mdav
from shoal.group.points import Points


def normal(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def squared_error(points, labels):
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in points.T], axis=1)
    return ((points - means[labels]) ** 2).sum()


def blocked(points, k, kernel, rows):
    return by_blocks(Points.of(points), k, kernel, lambda n_columns: rows)[0]


def mixed(n, seed=0):
    """Two numbers, and levels of 30 and of 4 kinds."""
    rng = np.random.default_rng(seed)
    values = np.column_stack((rng.standard_normal((n, 2)), rng.integers(0, 30, n) // 2, rng.integers(0, 4, n)))
    return Points(values=values, heights=np.array([0.0, 0.0, 1.1, 1.2]))


@pytest.mark.parametrize("kernel", [kmember, mdav])
@pytest.mark.parametrize("make", [normal, lambda n, d: np.random.default_rng(1).integers(0, 3, (n, d)).astype(float)])
def test_groups_are_complete_and_numbered(kernel, make):
    labels = blocked(make(2003, 3), 5, kernel, 300)
    sizes = np.bincount(labels)
    assert len(sizes) == 2003 // 5
    assert 5 <= sizes.min() <= sizes.max() < 10


@pytest.mark.parametrize("kernel", [kmember, mdav])
def test_squared_error_is_near_the_exact_one(kernel):
    points = normal(20_000, 4)
    exact, found = kernel(points, 5), blocked(points, 5, kernel, 5000)
    assert squared_error(points, found) < 1.02 * squared_error(points, exact)


@pytest.mark.parametrize("kernel", [kmember, mdav])
def test_levels_cost_no_more_error_than_an_exact_partition_and_leave_the_groups_complete(kernel):
    points = mixed(6003)
    exact, (found, plan) = kernel(points.dense(), 5), by_blocks(points, 5, kernel, lambda n_columns: 1000)
    sizes = np.bincount(found)
    assert plan.n_blocks > 6
    assert plan.block_rows <= 1000
    assert (len(sizes), sizes.min()) == (6003 // 5, 5)
    assert squared_error(points.dense(), found) < 1.02 * squared_error(points.dense(), exact)


def test_one_block_is_the_exact_answer():
    points = normal(500, 3)
    assert np.array_equal(blocked(points, 5, mdav, 500), mdav(points, 5))


@pytest.mark.parametrize("cores", [1, 3])
def test_cores_do_not_matter(monkeypatch, cores):
    points = mixed(3000)
    expected = by_blocks(points, 4, kmember, lambda n_columns: 400)
    monkeypatch.setattr(module, "_n_cores", lambda: cores)
    found = by_blocks(points, 4, kmember, lambda n_columns: 400)
    assert np.array_equal(found[0], expected[0])
    assert found[1] == expected[1]


def test_wide_points_are_grouped_exactly_while_they_are_few():
    limits = [exact_points(n_columns) for n_columns in range(1, 3000)]
    assert limits == sorted(limits, reverse=True)
    assert exact_points(8) == 100_000
    assert exact_points(200) == 5000
    assert is_small(Points.of(normal(1000, 8)))


def test_files_of_few_distinct_points_are_grouped_exactly(monkeypatch):
    monkeypatch.setattr(module, "exact_points", lambda n_columns: 100)
    points = np.random.default_rng(0).integers(0, 3, (2000, 2)).astype(float)
    labels, notes = partition(Points.of(points), 5, "mdav")
    assert notes == {"strategy": "exact", "n_blocks": 1, "block_rows": 2000}
    assert np.array_equal(labels, mdav(points, 5))


def test_partition_reports_its_plan(monkeypatch):
    points = normal(900, 3)
    labels, notes = partition(Points.of(points), 5, "mdav")
    assert notes == {"strategy": "exact", "n_blocks": 1, "block_rows": 900}
    assert np.array_equal(labels, mdav(points, 5))
    monkeypatch.setattr(module, "exact_points", lambda n_columns: 600)
    labels, notes = partition(Points.of(points), 5, "kmember")
    assert notes == {"strategy": "blocks", "n_blocks": 4, "block_rows": 225}
    assert np.array_equal(labels, blocked(points, 5, kmember, 300))


def test_a_level_that_each_row_has_for_itself_is_no_burden():
    values = np.column_stack((np.arange(3000.0), np.zeros(3000)))
    points = Points(values=values, heights=np.array([1.0, 0.0]))
    labels, notes = partition(points, 5, "mdav")
    assert notes["block_rows"] <= 1000
    assert np.bincount(labels).min() == 5
