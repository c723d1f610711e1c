"""Nearest rows and their ties, against a double loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.risk import nearest
from shoal.risk.geometry import Geometry
from shoal.risk.nearest import match, rows_in_ties, runner_up


def oracle(queries, targets, skip=0):
    """For each query the set of target points at the distance number `skip`; ties up to 1 + 1e-9."""
    pairs = set()
    for i, query in enumerate(queries):
        distances = [float(np.sqrt(((query - target) ** 2).sum())) for target in targets]
        reference = sorted(distances)[skip]
        pairs |= {(i, j) for j, d in enumerate(distances) if abs(d - reference) <= 1e-9 * reference}
    return pairs


def grid(seed, n, d=2, levels=4):
    return np.random.default_rng(seed).integers(0, levels, (n, d)).astype(float)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 25), st.integers(1, 25), st.integers(1, 3))
def test_matches_are_the_oracles(seed, n, m, d):
    queries, targets = grid(seed, n, d), grid(seed + 1, m, d) + 0.5 * (seed % 2)
    found = match(queries, targets, Geometry.plain(queries.shape[1]))
    expected = oracle(queries, targets)
    pairs = set(zip(found.query.tolist(), found.target.tolist(), strict=True))
    rows = {(i, j) for i in range(n) for j in range(m) if (found.queries[i], found.targets[j]) in pairs}
    assert rows == expected
    ties = found.n_ties()[found.queries]
    assert ties.tolist() == [sum(1 for a, _ in expected if a == i) for i in range(n)]
    assert found.exact[found.queries].tolist() == [any((q == t).all() for t in targets) for q in queries]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 20))
def test_rows_in_ties_are_counted_by_category(seed, n, m):
    queries, targets = grid(seed, n), grid(seed + 1, m) + 0.5
    category = np.random.default_rng(seed).integers(-1, 3, m)
    found = match(queries, targets, Geometry.plain(queries.shape[1]))
    asked = np.arange(n) % 3
    expected = oracle(queries, targets)
    counts = [sum(1 for i, j in expected if i == row and category[j] == asked[row]) for row in range(n)]
    assert rows_in_ties(found, category, found.queries, asked, 3).tolist() == counts


def test_blocks_of_bounded_memory_change_nothing(monkeypatch):
    queries, targets = grid(4, 60), grid(5, 60) + 0.5
    category = np.arange(60) % 4
    asked = np.arange(60) % 4
    whole = match(queries, targets, Geometry.plain(queries.shape[1]))
    counts = rows_in_ties(whole, category, whole.queries, asked, 4)
    monkeypatch.setattr(nearest, "_BLOCK", 3)
    pieces = match(queries, targets, Geometry.plain(queries.shape[1]))
    assert pieces.query.tolist() == whole.query.tolist()
    assert sorted(zip(pieces.query, pieces.target, strict=True)) == sorted(zip(whole.query, whole.target, strict=True))
    assert rows_in_ties(pieces, category, pieces.queries, asked, 4).tolist() == counts.tolist()


def test_many_targets_at_one_distance_are_all_found():
    angles = np.arange(300) * 2 * np.pi / 300
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    found = match(np.zeros((1, 2)), circle, Geometry.plain(2))
    assert found.n_ties().tolist() == [300]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 12))
def test_runner_up_is_the_second_distance(seed, n, m):
    rng = np.random.default_rng(seed)
    queries, targets = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    query, target = runner_up(queries, targets, np.arange(n), Geometry.plain(2))
    assert set(zip(query.tolist(), target.tolist(), strict=True)) == oracle(queries, targets, skip=1)


def test_a_lone_target_has_no_runner_up():
    query, target = runner_up(np.zeros((2, 1)), np.ones((1, 1)), np.arange(2), Geometry.plain(1))
    assert len(query) == len(target) == 0


def test_without_columns_everybody_ties():
    found = match(np.empty((3, 0)), np.empty((5, 0)), Geometry.plain(0))
    assert found.n_ties()[found.queries].tolist() == [5, 5, 5]


def test_equal_distances_of_unequal_bits_tie():
    query = np.array([[0.1, 0.2]])
    targets = np.array([[0.1 + 0.3, 0.2], [0.1, 0.2 + 0.3], [0.1 - 0.3, 0.2]])
    distances = np.sqrt(((query - targets) ** 2).sum(axis=1))
    assert len(set(distances.tolist())) > 1, "the example must differ in its last bits"
    assert match(query, targets, Geometry.plain(2)).n_ties().tolist() == [3]


@pytest.mark.parametrize("n", [1, 2])
def test_tiny_tables(n):
    found = match(np.zeros((n, 1)), np.ones((1, 1)), Geometry.plain(1))
    assert found.n_ties()[found.queries].tolist() == [1] * n
