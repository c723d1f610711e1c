"""The k-member and MDAV kernels against transparent loops, on data with and without ties."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import KMember, Schema
from shoal.errors import InputError, ParameterError
from shoal.group import all_rows
from shoal.group.greedy import kmember, mdav
from shoal.group.points import on_grid


def squared_distances(points, centre):
    total = np.zeros(len(points))
    for j in range(points.shape[1]):
        total += (points[:, j] - centre[j]) ** 2
    return total


def kmember_rule(points, k):
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


def mdav_rule(points, k):
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


RULES = [(kmember, kmember_rule), (mdav, mdav_rule)]
kernels = pytest.mark.parametrize(("kernel", "rule"), RULES, ids=["kmember", "mdav"])


@kernels
@pytest.mark.parametrize(
    ("n", "d", "k"),
    [
        *[(1, 1, 1), (5, 2, 5), (9, 3, 5), (10, 3, 5), (14, 1, 5), (15, 1, 5), (16, 2, 5), (300, 1, 3), (400, 10, 7)],
        *[(301, 5, 2), (700, 4, 5), (2500, 2, 50), (1203, 8, 5), (333, 6, 100), (60, 200, 4), (3000, 3, 700)],
    ],
)
def test_is_the_rule_on_normal_points(kernel, rule, n, d, k):
    points = normal(n, d)
    assert np.array_equal(kernel(points, k), rule(points, k))


@pytest.mark.parametrize(("n", "d", "k"), [(5000, 2, 50), (2203, 8, 5), (9000, 3, 1000), (700, 2, 1)])
def test_mdav_is_the_rule_on_more_points(n, d, k):
    points = normal(n, d)
    assert np.array_equal(mdav(points, k), mdav_rule(points, k))


@kernels
@pytest.mark.parametrize(("n", "d", "levels", "k"), [(400, 1, 3, 5), (500, 2, 4, 3), (900, 3, 5, 4), (600, 6, 2, 7)])
@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3])
def test_is_the_rule_on_tied_points(kernel, rule, n, d, levels, k, scale):
    points = survey(n, d, levels, seed=n) * scale
    assert np.array_equal(kernel(points, k), rule(points, k))


@kernels
@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 60),
    d=st.integers(1, 8),
    k=st.integers(1, 12),
    levels=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
    continuous=st.booleans(),
)
def test_is_the_rule(kernel, rule, n, d, k, levels, seed, continuous):
    points = normal(n, d, seed) if continuous else survey(n, d, levels, seed)
    k = min(k, n)
    labels = kernel(points, k)
    sizes = np.bincount(labels)
    assert np.array_equal(labels, rule(points, k))
    assert sizes.min() >= k
    assert len(sizes) == n // k
    assert kernel is kmember or sizes.max() <= 2 * k - 1


@kernels
def test_shells_and_boxes_do_not_matter(kernel, rule):
    flat = normal(2000, 3)
    wide = np.hstack([flat, np.zeros((2000, 9))])
    assert np.array_equal(kernel(flat, 5), kernel(wide, 5))


@pytest.mark.parametrize(("kernel", "labels"), [(kmember, [0, 0, 1, 1, 2, 2, 0]), (mdav, [0, 0, 1, 1, 2, 2, 2])])
def test_equal_rows_fill_groups_in_row_order(kernel, labels):
    assert kernel(np.ones((7, 3)), 2).tolist() == labels


def test_textbook_line():
    """Two far pairs, then the middle."""
    assert mdav(np.array([[0.0], [1.0], [5.0], [6.0], [20.0], [21.0]]), 2).tolist() == [1, 1, 2, 2, 0, 0]


def test_large_survey_of_few_distinct_points():
    points = survey(50_000, 4, 3, seed=1)
    labels = kmember(points, 5)
    assert np.bincount(labels).min() == 5
    within = sum(len(np.unique(points[labels == c], axis=0)) == 1 for c in range(200))
    assert within > 190


@kernels
def test_leaves_its_input_alone_and_repeats(kernel, rule):
    points = normal(500, 4)
    before = points.copy()
    assert np.array_equal(kernel(points, 3), kernel(points, 3))
    assert np.array_equal(points, before)


@kernels
@pytest.mark.parametrize("k", [0, -1, 6])
def test_refuses_k_out_of_range(kernel, rule, k):
    with pytest.raises(ParameterError, match="k must be between 1 and the number of rows, 5"):
        kernel(normal(5, 2), k)


@kernels
@pytest.mark.parametrize("hole", [np.nan, np.inf, -1e200])
def test_refuses_what_is_not_a_number(kernel, rule, hole):
    points = normal(5, 2)
    points[3, 1] = hole
    with pytest.raises(InputError, match="needs numbers below"):
        kernel(points, 2)


@pytest.mark.parametrize("name", ["kmember", "mdav"])
@given(
    points=st.tuples(st.integers(1, 90), st.integers(1, 7), st.integers(0, 10**6), st.sampled_from([1, 3, 50, 10**9])),
    k=st.integers(1, 9),
)
@settings(max_examples=60, deadline=None)
def test_looking_at_all_rows_gives_the_same_partition(name, points, k):
    n, d, seed, spread = points
    rows = np.random.default_rng(seed).integers(0, spread + 1, (max(n, k), d)) / 7
    compiled = {"kmember": kmember, "mdav": mdav}[name]
    assert (getattr(all_rows, name)(rows, k) == compiled(rows, k)).all()


@given(st.integers(0, 2**32), st.integers(20, 90), st.integers(2, 6))
def test_exchanges_keep_sizes_and_never_raise_the_squared_error(seed, n, k):
    """The local search against sums of squares by hand; every group still holds k."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3)) * [3.0, 1.0, 1.0]
    table = pl.DataFrame({f"x{j}": x[:, j] for j in range(3)})
    schema = Schema.of(quasi=table.columns)

    def error(labels):
        z = (x - x.mean(axis=0)) / x.std(axis=0)
        return sum(((z[labels == g] - z[labels == g].mean(axis=0)) ** 2).sum() for g in np.unique(labels))

    plain = KMember(k=k).assign(table, schema, seed=1)
    better = KMember(k=k, solver="exchange").assign(table, schema, seed=1)
    assert np.array_equal(np.bincount(plain), np.bincount(better))
    assert error(better) <= error(plain) * (1 + 1e-9)


def test_exchanges_find_what_greed_left():
    """Normal points in four columns: the search gains in every draw."""
    rng = np.random.default_rng(0)
    gains = []
    for seed in range(8):
        x = rng.normal(size=(200, 4))
        table = pl.DataFrame({f"x{j}": x[:, j] for j in range(4)})
        schema = Schema.of(quasi=table.columns)
        found = []
        for solver in ("greedy", "exchange"):
            labels = KMember(k=5, solver=solver).assign(table, schema, seed=seed)
            means = np.array([x[labels == g].mean(axis=0) for g in range(labels.max() + 1)])
            found.append(((x - means[labels]) ** 2).sum())
        gains.append(1 - found[1] / found[0])
    assert min(gains) > 0
    assert np.mean(gains) > 0.03
