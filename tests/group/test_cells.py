"""Cells: every row once, within the limit, in multiples of k, cut between levels where that is fair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.group.cells import cells
from shoal.group.points import Points


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
