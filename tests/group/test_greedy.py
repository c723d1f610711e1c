"""The k-member kernel against a transparent loop, on data with and without ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError, ParameterError
from shoal.group.copies import on_grid
from shoal.group.greedy import kmember


def squared_distances(points, centre):
    total = np.zeros(len(points))
    for j in range(points.shape[1]):
        total += (points[:, j] - centre[j]) ** 2
    return total


def oracle(points, k):
    """The rule as it is written: the lowest row wins every tie, since argmin and argmax return the first."""
    points = on_grid(points)
    left, labels = np.arange(len(points)), np.full(len(points), -1)
    last, clusters = points.mean(axis=0), []
    while len(left) >= k:
        members = [left[np.argmax(squared_distances(points[left], last))]]
        left = left[left != members[-1]]
        while len(members) < k:
            members.append(left[np.argmin(squared_distances(points[left], points[members].mean(axis=0)))])
            left = left[left != members[-1]]
        labels[members] = len(clusters)
        clusters.append(members)
        last = points[members[-1]]
    for row in left:
        rises = [len(c) / (len(c) + 1) * squared_distances(points[[row]], points[c].mean(axis=0))[0] for c in clusters]
        labels[row] = np.argmin(rises)
        clusters[labels[row]].append(row)
    return labels


def survey(n, d, levels, seed):
    """Small whole numbers: many equal rows, many equal distances."""
    return np.random.default_rng(seed).integers(0, levels, (n, d)).astype(float)


def normal(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize(
    ("n", "d", "k"),
    [
        *[(1, 1, 1), (5, 2, 5), (9, 3, 5), (10, 3, 5), (14, 1, 5), (15, 1, 5), (300, 1, 3), (400, 10, 7), (301, 5, 2)],
        *[(700, 4, 5), (2500, 2, 50), (1203, 8, 5), (333, 6, 100), (60, 200, 4), (3000, 3, 700)],
    ],
)
def test_is_the_rule_on_normal_points(n, d, k):
    points = normal(n, d)
    assert np.array_equal(kmember(points, k), oracle(points, k))


@pytest.mark.parametrize(("n", "d", "levels", "k"), [(400, 1, 3, 5), (500, 2, 4, 3), (900, 3, 5, 4), (600, 6, 2, 7)])
@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3])
def test_is_the_rule_on_tied_points(n, d, levels, k, scale):
    points = survey(n, d, levels, seed=n) * scale
    assert np.array_equal(kmember(points, k), oracle(points, k))


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
    labels = kmember(points, k)
    assert np.array_equal(labels, oracle(points, k))
    assert np.bincount(labels).min() >= k
    assert labels.max() + 1 == n // k


def test_shells_and_boxes_do_not_matter():
    flat = normal(2000, 3)
    wide = np.hstack([flat, np.zeros((2000, 9))])
    assert np.array_equal(kmember(flat, 5), kmember(wide, 5))


def test_equal_rows_fill_clusters_in_row_order():
    assert kmember(np.ones((7, 3)), 2).tolist() == [0, 0, 1, 1, 2, 2, 0]


def test_large_survey_of_few_distinct_points():
    points = survey(50_000, 4, 3, seed=1)
    labels = kmember(points, 5)
    assert np.bincount(labels).min() == 5
    within = sum(len(np.unique(points[labels == c], axis=0)) == 1 for c in range(200))
    assert within > 190


def test_leaves_its_input_alone_and_repeats():
    points = normal(500, 4)
    before = points.copy()
    assert np.array_equal(kmember(points, 3), kmember(points, 3))
    assert np.array_equal(points, before)


@pytest.mark.parametrize("k", [0, -1, 6])
def test_refuses_k_out_of_range(k):
    with pytest.raises(ParameterError, match="k must be between 1 and the number of rows, 5"):
        kmember(normal(5, 2), k)


@pytest.mark.parametrize("hole", [np.nan, np.inf, -1e200])
def test_refuses_what_is_not_a_number(hole):
    points = normal(5, 2)
    points[3, 1] = hole
    with pytest.raises(InputError, match="needs numbers below"):
        kmember(points, 2)
