"""The MDAV kernel against a transparent loop, on data with and without ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError, ParameterError
from shoal.group.copies import on_grid
from shoal.group.maximum_distance import mdav


def squared_distances(points, centre):
    total = np.zeros(len(points))
    for j in range(points.shape[1]):
        total += (points[:, j] - centre[j]) ** 2
    return total


def oracle(points, k):
    """The rule as it is written: rows are kept in order, and every choice takes the first of equals."""
    points = on_grid(points)
    left, labels = np.arange(len(points)), np.zeros(len(points), dtype=int)

    def furthest(centre):
        return left[np.argmax(squared_distances(points[left], centre))]

    def gather(row, group):
        others = left[left != row]
        near = others[np.argsort(squared_distances(points[others], points[row]), kind="stable")[: k - 1]]
        labels[[row, *near]] = group
        return np.setdiff1d(others, near)

    group = 0
    while len(left) >= 3 * k:
        r = furthest(points[left].mean(axis=0))
        left = gather(r, group)
        left = gather(furthest(points[r]), group + 1)
        group += 2
    if len(left) >= 2 * k:
        left = gather(furthest(points[left].mean(axis=0)), group)
        group += 1
    labels[left] = group
    return labels


def survey(n, d, levels, seed):
    """Small whole numbers: many equal rows, many equal distances."""
    return np.random.default_rng(seed).integers(0, levels, (n, d)).astype(float)


def normal(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize(
    ("n", "d", "k"),
    [
        *[(1, 1, 1), (5, 2, 5), (9, 3, 5), (10, 3, 5), (14, 1, 5), (15, 1, 5), (16, 2, 5), (300, 1, 3), (400, 10, 7)],
        *[(700, 4, 5), (5000, 2, 50), (2203, 8, 5), (333, 6, 100), (60, 200, 4), (9000, 3, 1000), (700, 2, 1)],
    ],
)
def test_is_the_rule_on_normal_points(n, d, k):
    points = normal(n, d)
    assert np.array_equal(mdav(points, k), oracle(points, k))


@pytest.mark.parametrize(("n", "d", "levels", "k"), [(400, 1, 3, 5), (500, 2, 4, 3), (900, 3, 5, 4), (600, 6, 2, 7)])
@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3])
def test_is_the_rule_on_tied_points(n, d, levels, k, scale):
    points = survey(n, d, levels, seed=n) * scale
    assert np.array_equal(mdav(points, k), oracle(points, k))


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(1, 8),
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_is_the_rule(n, d, k, levels, seed, continuous):
    points = normal(n, d, seed) if continuous else survey(n, d, levels, seed)
    k = min(k, n)
    labels = mdav(points, k)
    sizes = np.bincount(labels)
    assert np.array_equal(labels, oracle(points, k))
    assert k <= sizes.min() <= sizes.max() <= 2 * k - 1
    assert len(sizes) == n // k


def test_shells_and_boxes_do_not_matter():
    flat = normal(2000, 3)
    wide = np.hstack([flat, np.zeros((2000, 9))])
    assert np.array_equal(mdav(flat, 5), mdav(wide, 5))


def test_equal_rows_fill_groups_in_row_order():
    assert mdav(np.ones((7, 3)), 2).tolist() == [0, 0, 1, 1, 2, 2, 2]


def test_textbook_line():
    """Two far pairs, then the middle."""
    assert mdav(np.array([[0.0], [1.0], [5.0], [6.0], [20.0], [21.0]]), 2).tolist() == [1, 1, 2, 2, 0, 0]


@pytest.mark.parametrize("k", [0, -1, 6])
def test_refuses_k_out_of_range(k):
    with pytest.raises(ParameterError, match="k must be between 1 and the number of rows, 5"):
        mdav(normal(5, 2), k)


def test_refuses_what_is_not_a_number():
    points = normal(5, 2)
    points[3, 1] = np.nan
    with pytest.raises(InputError, match="needs numbers below"):
        mdav(points, 2)
