"""Blocks: sizes, neighbours together, squared error near the exact one, the same on any number of cores."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.group import blocks as module
from shoal.group.blocks import Plan, by_blocks, choose, partition
from shoal.group.greedy import kmember
from shoal.group.maximum_distance import mdav


def normal(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def squared_error(points, labels):
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in points.T], axis=1)
    return ((points - means[labels]) ** 2).sum()


@pytest.mark.parametrize("kernel", [kmember, mdav])
@pytest.mark.parametrize("make", [normal, lambda n, d: np.random.default_rng(1).integers(0, 3, (n, d)).astype(float)])
def test_groups_are_complete_and_numbered(kernel, make):
    labels = by_blocks(make(2003, 3), 5, kernel, 300)
    sizes = np.bincount(labels)
    assert len(sizes) == 2003 // 5
    assert 5 <= sizes.min() <= sizes.max() < 10


@pytest.mark.parametrize("kernel", [kmember, mdav])
def test_squared_error_is_near_the_exact_one(kernel):
    points = normal(20_000, 4)
    exact, blocked = kernel(points, 5), by_blocks(points, 5, kernel, 5000)
    assert squared_error(points, blocked) < 1.02 * squared_error(points, exact)


def test_one_block_is_the_exact_answer():
    points = normal(500, 3)
    assert np.array_equal(by_blocks(points, 5, mdav, 500), mdav(points, 5))


@pytest.mark.parametrize("cores", [1, 3])
def test_cores_do_not_matter(monkeypatch, cores):
    points = normal(3000, 5)
    expected = by_blocks(points, 4, kmember, 400)
    monkeypatch.setattr(module, "_n_cores", lambda: cores)
    assert np.array_equal(by_blocks(points, 4, kmember, 400), expected)


def test_small_files_are_grouped_exactly():
    assert choose(1000, 8, 5) == Plan(strategy="exact", n_blocks=1, block_rows=1000)


@pytest.mark.parametrize("n_columns", [1, 4, 8, 16, 50, 200])
@pytest.mark.parametrize("k", [2, 5, 1000])
def test_plans_for_large_files(n_columns, k):
    plan = choose(3_000_000, n_columns, k)
    assert plan.n_blocks * plan.block_rows >= 3_000_000
    assert plan.block_rows >= k
    assert set(plan.to_dict()) == {"strategy", "n_blocks", "block_rows"}


def test_files_of_few_distinct_points_are_grouped_exactly(monkeypatch):
    assert choose(3_000_000, 8, 5, n_distinct=300).strategy == "exact"
    monkeypatch.setattr(module, "exact_points", lambda n_columns: 100)
    points = np.random.default_rng(0).integers(0, 3, (2000, 2)).astype(float)
    labels, notes = partition(points, 5, "mdav")
    assert notes == {"strategy": "exact", "n_blocks": 1, "block_rows": 2000}
    assert np.array_equal(labels, mdav(points, 5))


def test_partition_reports_its_plan(monkeypatch):
    points = normal(900, 3)
    labels, notes = partition(points, 5, "mdav")
    assert notes == {"strategy": "exact", "n_blocks": 1, "block_rows": 900}
    assert np.array_equal(labels, mdav(points, 5))
    monkeypatch.setattr(module, "exact_points", lambda n_columns: 300)
    labels, notes = partition(points, 5, "kmember")
    assert notes == {"strategy": "blocks", "n_blocks": 3, "block_rows": 300}
    assert np.array_equal(labels, by_blocks(points, 5, kmember, 300))
