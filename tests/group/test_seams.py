"""Mending: sizes stay, the error falls, and neighbours are neighbours.

Cells: every row once, within the limit, in multiples of k, cut between levels where that is fair.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.group.points import Points
from shoal.group.seams import cells, neighbours
from shoal.group.seams import mend as mend_points


def squared_error(points, labels):
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in points.T], axis=1)
    return ((points - means[labels]) ** 2).sum()


def mend(points, labels, rows=1_000_000):
    return mend_points(Points.of(points), labels, lambda n_columns: rows)


@pytest.mark.parametrize("kind", ["normal", "codes", "equal"])
@pytest.mark.parametrize("sizes", [[3] * 40, [2, 7, 5] * 12, [60], [30, 31]])
@pytest.mark.parametrize("rows", [60, 1000])
def test_sizes_stay_and_the_error_does_not_rise(kind, sizes, rows):
    rng = np.random.default_rng(len(sizes))
    n = sum(sizes)
    points = {"normal": rng.standard_normal, "codes": lambda s: rng.integers(0, 3, s) * 1.0, "equal": np.ones}[kind](
        (n, 3)
    )
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    mended = mend(points, labels, rows)
    assert np.array_equal(np.bincount(mended), sizes)
    assert squared_error(points, mended) <= squared_error(points, labels) + 1e-9
    if kind == "normal" and len(sizes) > 1:
        assert squared_error(points, mended) < 0.8 * squared_error(points, labels)


def test_one_exchange_that_helps_is_made():
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    assert mend(points, np.array([0, 1, 0, 1])).tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])


def test_a_good_partition_is_left_alone():
    points = np.repeat(np.arange(20.0), 5)[:, None] + np.tile(np.linspace(0, 0.1, 5), 20)[:, None]
    labels = np.repeat(np.arange(20), 5)
    assert np.array_equal(mend(points, labels), labels)


@pytest.mark.parametrize("n_cores", [1, 3])
def test_levels_are_mended_as_their_indicators(n_cores):
    rng = np.random.default_rng(2)
    values = np.column_stack((rng.standard_normal(400), rng.integers(0, 6, 400)))
    points = Points(values=values, heights=np.array([0.0, 1.5]))
    labels = rng.permutation(np.repeat(np.arange(80), 5))
    mended = mend_points(points, labels, lambda n_columns: 100, n_cores)
    assert np.array_equal(np.bincount(mended), np.bincount(labels))
    assert squared_error(points.dense(), mended) < 0.6 * squared_error(points.dense(), labels)
    assert np.array_equal(mended, mend_points(points, labels, lambda n_columns: 100))


def test_neighbours_are_the_nearest():
    centroids = np.random.default_rng(0).standard_normal((500, 3))
    distances = ((centroids[:, None] - centroids) ** 2).sum(axis=2)
    found = neighbours(centroids, 9)
    assert np.array_equal(np.sort(found, axis=1), np.sort(np.argsort(distances, axis=1)[:, :9], axis=1))


def test_fewer_groups_than_neighbours():
    assert np.array_equal(np.sort(neighbours(np.arange(4.0)[:, None], 9), axis=1), np.tile(np.arange(4), (4, 1)))


@given(
    n=st.integers(1, 200), k=st.integers(1, 9), rows=st.integers(1, 60), n_levels=st.integers(1, 40),
    n_numbers=st.integers(0, 2), share=st.sampled_from([0.3, 0.5, 0.7]), first=st.sampled_from(["levels", "numbers"]),
)  # fmt: skip
def test_blocks_are_complete_and_within_the_limit(n, k, rows, n_levels, n_numbers, share, first):
    rng = np.random.default_rng(n)
    values = np.column_stack((rng.integers(0, 4, (n, n_numbers)) * 1.0, rng.integers(0, n_levels, n)))
    points = Points(values=values, heights=np.append(np.zeros(n_numbers), 1.0))
    blocks = cells(points, k, lambda n_columns: rows, share, first)
    sizes = [len(block) for block in blocks]
    assert np.array_equal(np.sort(np.concatenate(blocks)), np.arange(n))
    assert all(size <= rows or size < 2 * k for size in sizes)
    assert sum(size % k != 0 for size in sizes) <= 1
    assert min(sizes) >= min(n, k)


def test_levels_stay_whole():
    levels = np.random.default_rng(0).permutation(np.repeat(np.arange(8.0), 100))
    values = np.column_stack((np.random.default_rng(1).standard_normal(800), levels))
    blocks = cells(Points(values=values, heights=np.array([0.0, 1.0])), 5, lambda n_columns: 200)
    assert [len(block) for block in blocks] == [200] * 4
    assert all(len(np.unique(levels[block])) == 2 for block in blocks)


def test_numbers_first_cuts_numbers():
    x = np.random.default_rng(1).permutation(800).astype(float)
    points = Points(values=np.column_stack((x, np.arange(800) % 8)), heights=np.array([0.0, 1.0]))
    lower, upper = cells(points, 5, lambda n_columns: 400, first="numbers")
    assert x[lower].max() < x[upper].min()


def test_equal_numbers_stay_together_where_both_sides_keep_a_fair_share():
    x = np.random.default_rng(1).permutation(np.repeat([0.0, 1.0, 2.0], [200, 300, 100]))
    blocks = cells(Points.of(x[:, None]), 5, lambda n_columns: 400)
    assert sorted(len(block) for block in blocks) == [200, 400]


def test_a_level_that_nearly_all_share_is_not_cut_off():
    level = np.where(np.arange(1000) < 990, 0.0, 1.0)
    x = np.random.default_rng(1).permutation(1000).astype(float)
    points = Points(values=np.column_stack((level, x)), heights=np.array([5.0, 0.0]))
    assert [len(block) for block in cells(points, 5, lambda n_columns: 600)] == [500, 500]


@pytest.mark.parametrize("n_columns", [0, 1, 3])
def test_equal_points_are_cut_by_row(n_columns):
    blocks = cells(Points.of(np.ones((100, n_columns))), 5, lambda width: 50)
    assert [block.tolist() for block in blocks] == [list(range(50)), list(range(50, 100))]


def test_the_limit_is_asked_for_the_columns_a_block_has():
    points = Points(values=np.repeat(np.arange(4.0), 50)[:, None], heights=np.ones(1))
    blocks = cells(points, 5, lambda n_columns: 200 if n_columns == 0 else 60)
    assert [len(block) for block in blocks] == [50] * 4
