"""Nearest rows and their ties, against a double loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.risk import all_pairs, nearest
from shoal.risk.geometry import Geometry
from shoal.risk.mixed_tree import build, nearest_few
from shoal.risk.nearest import distances, in_code_order, match, rows_in_ties, runner_up

PARTS = ("unordered", "mismatch", "blank", "n_levels")


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
    found = match(queries, targets, Geometry.plain(2))
    codes = np.empty((n, 2))
    codes[found.queries] = queries
    query, target = runner_up(found, codes, np.arange(n))
    pairs = set(zip(query.tolist(), target.tolist(), strict=True))
    rows = {(i, j) for i in range(n) for j in range(m) if (found.queries[i], found.targets[j]) in pairs}
    assert rows == oracle(queries, targets, skip=1)


def test_a_lone_target_has_no_runner_up():
    found = match(np.zeros((2, 1)), np.ones((1, 1)), Geometry.plain(1))
    query, target = runner_up(found, np.zeros((1, 1)), np.arange(1))
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


def mixed(seed, n, m):
    """Codes of two tables and their geometry: numbers, levels with blanks, a constant column, any mix of them."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    unordered = rng.random(d) < rng.choice([0.0, 0.5, 1.0])
    n_levels = np.where(unordered, rng.integers(3, 6, d), 0).astype(float)
    mismatch = np.where(unordered, rng.choice([0.5, 1.0, 2.0], d), 0.0)
    geometry = Geometry(
        centers=np.zeros(d),
        scales=np.ones(d),
        unordered=unordered,
        mismatch=mismatch,
        blank=mismatch * float(rng.choice([0.5, 1.0])),
        n_levels=n_levels,
    )
    tables = []
    for size in (n, m):
        levels = rng.integers(0, 7, (size, d)) % (n_levels + 2)  # the last two codes are blanks
        numbers = rng.integers(0, 4, (size, d)) / rng.choice([1.0, 3.0])
        tables.append(np.where(unordered, levels, numbers))
    if rng.random() < 0.3:
        for table in tables:
            table[:, 0] = 1.0
    return *tables, geometry


def points(codes, geometry):
    """The same rows as indicators, one a level, whose Euclidean distance is the geometry's: blanks are all 0."""
    blocks = []
    for j in range(codes.shape[1]):
        if not geometry.unordered[j]:
            blocks.append(codes[:, [j]])
            continue
        levels = np.arange(geometry.n_levels[j])
        if geometry.blank[j] == geometry.mismatch[j]:
            levels = np.append(levels, geometry.n_levels[j])
        shown = np.minimum(codes[:, j], geometry.n_levels[j])
        blocks.append((shown[:, None] == levels) * np.sqrt(geometry.mismatch[j] / 2))
    return np.hstack(blocks)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 60))
def test_numbers_and_levels_are_matched_as_by_indicators(seed, n, m):
    queries, targets, geometry = mixed(seed, n, m)
    expected = oracle(points(queries, geometry), points(targets, geometry))
    found = match(queries, targets, geometry)
    rows = _row_pairs(found)
    # A query that equals targets is matched to these; other codes at distance 0 (two sorts of blank) are not asked for.
    copies = {i for i in range(n) if any((queries[i] == target).all() for target in targets)}
    assert {pair for pair in rows if pair[0] not in copies} == {pair for pair in expected if pair[0] not in copies}
    assert all((queries[i] == targets[j]).all() for i, j in rows if i in copies)


def _row_pairs(found):
    pairs = set(zip(found.query.tolist(), found.target.tolist(), strict=True))
    n, m = len(found.queries), len(found.targets)
    return {(i, j) for i in range(n) for j in range(m) if (found.queries[i], found.targets[j]) in pairs}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 60))
def test_distances_and_second_nearest_are_the_oracles(seed, n, m):
    queries, targets, geometry = mixed(seed, n, m)
    targets = np.unique(targets, axis=0)
    apart = np.sqrt(((points(queries, geometry)[:, None] - points(targets, geometry)[None]) ** 2).sum(axis=2))
    assert distances(queries, targets, geometry) == pytest.approx(apart.min(axis=1), abs=1e-12)
    both = geometry.squared_distances(geometry.coordinates(queries), geometry.coordinates(targets[[0] * n]))
    assert np.sqrt(both) == pytest.approx(apart[:, 0], abs=1e-12)
    found = match(queries, targets, geometry, second=True)
    ordered = np.sort(np.column_stack([apart, np.full(n, np.inf)]), axis=1)[:, 1]
    lost = ~found.exact[found.queries]
    assert found.second[found.queries][lost] == pytest.approx(ordered[lost], abs=1e-12)


def test_a_deep_tree_finds_what_a_double_loop_finds():
    rng = np.random.default_rng(3)
    geometry = Geometry(
        centers=np.zeros(4),
        scales=np.ones(4),
        unordered=np.array([True, False, True, False]),
        mismatch=np.array([2.0, 0.0, 1.5, 0.0]),
        blank=np.array([1.0, 0.0, 0.75, 0.0]),
        n_levels=np.array([200.0, 0.0, 4.0, 0.0]),
    )

    def draw(n):
        county = np.minimum(rng.zipf(1.3, n), 200)  # 200 is blank
        return np.column_stack([county, rng.normal(size=n), rng.integers(0, 5, n), rng.exponential(size=n) ** 3])

    queries, targets = draw(150), draw(3000)
    flat = points(queries, geometry), points(targets, geometry)
    expected = np.sqrt(((flat[0][:, None] - flat[1][None]) ** 2).sum(axis=2))
    assert distances(queries, targets, geometry) == pytest.approx(expected.min(axis=1), abs=1e-12)
    found = match(queries, targets, geometry)
    assert found.n_ties()[found.queries].tolist() == (
        (expected <= expected.min(axis=1, keepdims=True) * (1 + 1e-9)).sum(axis=1).tolist()
    )


@pytest.fixture
def costly(monkeypatch):
    """Every search counts as too much to ask all rows: 40 are drawn."""
    monkeypatch.setattr(nearest, "_SMALL", 0)
    monkeypatch.setattr(nearest, "_AFFORDABLE", 0)
    monkeypatch.setattr(nearest, "_MANY_TIES", 0)
    monkeypatch.setattr(nearest, "_FEWEST", 40)
    monkeypatch.setattr(nearest, "_MOST", 40)


@pytest.mark.usefixtures("costly")
def test_a_sample_is_matched_exactly_and_whatever_the_row_order():
    rng = np.random.default_rng(5)
    queries, targets = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    plain = Geometry.plain(2)
    found, whole = match(queries, targets, plain, seed=3), match(queries, targets, plain, everyone=True)
    assert found.sampled
    assert not whole.sampled
    assert len(found.rows) == len(found.queries) == 40
    order = rng.permutation(300)
    moved = match(queries[order], targets, plain, seed=3)
    assert sorted(order[moved.rows]) == found.rows.tolist()
    assert match(queries, targets, plain, seed=4).rows.tolist() != found.rows.tolist()
    nearest_of_all = dict(zip(whole.query.tolist(), whole.target.tolist(), strict=True))
    chosen = [targets[found.targets == t][0].tolist() for t in found.target[np.argsort(found.query)]]
    expected = [
        targets[whole.targets == nearest_of_all[whole.queries[row]]][0].tolist()
        for row in found.rows[np.argsort(found.queries)]
    ]
    assert chosen == expected


@pytest.mark.usefixtures("costly")
def test_a_table_no_larger_than_a_sample_is_asked_in_full():
    found = match(np.arange(40.0)[:, None], np.arange(40.0)[:, None] + 0.4, Geometry.plain(1))
    assert not found.sampled


def test_a_cheap_search_asks_everybody_however_many_they_are():
    values = np.random.default_rng(0).normal(size=30_000)
    found = match(values[:, None], values[::-1, None] + 1e-9, Geometry.plain(1))
    assert not found.sampled
    frugal = match(values[:, None], values[::-1, None] + 1e-9, Geometry.plain(1), frugal=True)
    assert len(frugal.rows) == 5_000


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_code_order_does_not_depend_on_the_rows_order(seed, n):
    codes = grid(seed, n)
    codes[0, 0] = -0.0
    moved = np.random.default_rng(seed).permutation(n)
    assert (codes[in_code_order(codes)] == codes[moved][in_code_order(codes[moved])]).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(2, 40), st.integers(0, 1))
def test_all_pairs_and_the_tree_find_the_same(seed, n, m, skip):
    geometry = Geometry(
        centers=np.zeros(3),
        scales=np.ones(3),
        unordered=np.array([False, True, True]),
        mismatch=np.array([0.0, 2.0, 0.5]),
        blank=np.array([0.0, 1.0, 0.75]),
        n_levels=np.array([0.0, 3.0, 4.0]),
    )
    queries, targets = grid(seed, n, 3, 5) / 3, np.unique(grid(seed + 1, m, 3, 5) / 3, axis=0)
    slow, fast = (
        nearest.Searcher(targets=targets, geometry=geometry, look=1, small=small).ask(queries, skip)
        for small in (True, False)
    )
    if skip == 0:
        assert sorted(zip(slow.query, slow.target, strict=True)) == sorted(zip(fast.query, fast.target, strict=True))
    else:  # of several nearest, any is the one that is left out
        assert np.bincount(slow.query, minlength=n).tolist() == np.bincount(fast.query, minlength=n).tolist()
    assert slow.nearest.tolist() == fast.nearest.tolist()
    assert slow.following.tolist() == fast.following.tolist()
    k = min(len(targets), 5)
    tree = build(geometry.coordinates(targets), *(getattr(geometry, name) for name in PARTS))
    assert (all_pairs.nearest_few(geometry, targets, queries, k)[0] == nearest_few(tree, queries, k)[0]).all()
