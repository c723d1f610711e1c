"""Inverse transforms against (7) to (9) read literally.

The cell dither: cells, draws, forward distribution functions, and Theorem 2 without a single mismatch.
"""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from shoal.mask.rosenblatt import (
    cell_edges,
    dimension_order,
    draw_cells,
    draw_merged,
    forward_cells,
    forward_merged,
    inverse,
    inverse_ranked,
    masses,
    merged_cells,
    pick_members,
)

tables = st.integers(1, 4).flatmap(
    lambda d: st.lists(st.lists(st.integers(-2, 2).map(float), min_size=d, max_size=d), min_size=1, max_size=25)
)
uniform = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 5e-324, np.nextafter(1.0, 0.0)]), st.floats(0, 1))


def oracle(u, target, mass):
    """(9): the first value whose conditional distribution function reaches u, counting in integers."""
    found = np.empty_like(u)
    for i, row in enumerate(u):
        inside = mass > 0
        for j, level in enumerate(row):
            total, reached = int(mass[inside].sum()), 0
            for value in np.unique(target[inside, j]):
                reached += int(mass[inside & (target[:, j] == value)].sum())
                if reached / total >= level:
                    break
            found[i, j] = value
            inside = inside & (target[:, j] == value)
    return found


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_inverse_is_the_generalised_inverse(data):
    target = np.array(data.draw(tables))
    n, d = target.shape
    u = np.array(data.draw(st.lists(st.lists(uniform, min_size=d, max_size=d), min_size=1, max_size=10)))
    mass = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n, max_size=n)))
    mass[0] += 1
    assert_array_equal(inverse(u, target, mass), oracle(u, target, mass))
    assert_array_equal(inverse(u, target), oracle(u, target, np.ones(n, dtype=np.int64)))


def test_steps_are_closed_above():
    """F = 1/3, 2/3, 1: u exactly on a step belongs to the value below it, the next double to the one above."""
    target = np.array([[1.0], [2.0], [3.0]])
    steps = np.array([[0.0], [1 / 3], [np.nextafter(1 / 3, 1)], [2 / 3], [np.nextafter(2 / 3, 1)], [1.0]])
    assert inverse(steps, target)[:, 0].tolist() == [1, 1, 2, 2, 3, 3]


def test_every_output_is_an_observed_combination_of_positive_mass():
    rng = np.random.default_rng(1)
    target = np.column_stack([rng.integers(0, 3, 400), rng.integers(0, 20, 400), rng.standard_normal(400)])
    mass = rng.integers(0, 3, 400)
    found = inverse(rng.random((2000, 3)), target, mass)
    assert set(map(tuple, found)) <= set(map(tuple, target[mass > 0]))


def test_a_fine_grid_gives_every_row_its_share():
    """u on a grid of n equal steps in one column returns the column itself, sorted."""
    rng = np.random.default_rng(2)
    column = rng.integers(0, 7, (101, 1)).astype(float)
    grid = ((np.arange(101) + 0.5) / 101)[:, None]
    assert_array_equal(inverse(grid, column), np.sort(column, axis=0))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_ranked_inverse_returns_the_rows_themselves(data):
    target = np.array(data.draw(tables))
    u = np.array(data.draw(st.lists(st.lists(uniform, min_size=target.shape[1], max_size=target.shape[1]),
                                    min_size=len(target), max_size=len(target))))  # fmt: skip
    found = inverse_ranked(u, target)
    assert Counter(map(tuple, found)) == Counter(map(tuple, target))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_ranked_inverse_ranks_within_blocks(data):
    """Oracle: hand out the sorted first column by rank, then do the same with the rest of each block."""
    target = np.array(data.draw(tables))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    u = rng.random(target.shape)

    def hand_out(rows, donors, j):
        if j == target.shape[1]:
            return
        rows = sorted(rows, key=lambda i: u[i, j])
        donors = sorted(donors, key=lambda i: target[i, j])
        for value in {target[i, j] for i in donors}:
            places = [place for place, donor in enumerate(donors) if target[donor, j] == value]
            for place in places:
                expected[rows[place], j] = value
            hand_out([rows[place] for place in places], [donors[place] for place in places], j + 1)

    expected = np.empty_like(target)
    hand_out(range(len(target)), range(len(target)), 0)
    assert_array_equal(inverse_ranked(u, target), expected)


def test_ranked_inverse_of_equal_numbers_follows_row_order():
    target = np.array([[3.0], [1.0], [2.0]])
    assert inverse_ranked(np.full((3, 1), 0.5), target)[:, 0].tolist() == [1, 2, 3]


def test_dimension_order_counts_distinct_values_and_keeps_ties():
    values = np.array([[1.0, 0.0, 5.0, 1.0], [2.0, 0.0, 5.0, 2.0], [3.0, 1.0, 6.0, 3.0]])
    assert dimension_order(values).tolist() == [1, 2, 0, 3]


def test_masses_count_records_without_weights():
    assert masses(None, np.array([0, 2, 3])).tolist() == [1, 1, 1]
    assert masses(np.zeros(3), np.array([0, 2, 3])).tolist() == [1, 1, 1]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.one_of(st.just(0.0), st.floats(5e-324, 1e300)), min_size=2, max_size=30))
def test_masses_follow_the_weights(weights):
    weights = np.array(weights)
    offsets = np.array([0, 1, len(weights)])
    mass = masses(weights, offsets)
    assert ((mass >= 1) | (weights == 0)).all()
    assert (np.add.reduceat(mass, offsets[:-1]) > 0).all()
    assert mass.sum() <= 2**50 + len(mass)
    if weights.any():
        share = weights / weights.max()
        moved = np.abs(mass / mass.sum() - share / share.sum()).sum()
        assert moved <= len(weights) * 2.0**-49


def test_different_masses_are_different_doubles():
    """The reason for 2^50: neighbouring ratios stay apart, so every step of the distribution function exists."""
    total = 2**50 + 12_345
    below = np.array([1, 2, total // 3, total // 2, total - 2, total - 1])
    assert (below / total < (below + 1) / total).all()


@pytest.mark.parametrize("d", [1, 3])
def test_one_row_is_always_returned(d):
    target = np.arange(d, dtype=float)[None]
    assert_array_equal(inverse(np.random.default_rng(3).random((5, d)), target), np.repeat(target, 5, axis=0))
    assert_array_equal(inverse_ranked(np.full((1, d), 0.2), target), target)


reals = st.floats(-1e6, 1e6)


def cell_oracle(x, values, mass):
    """F(x_j | x^{j−1}) of the mixture over observed rows, uniform on cells: sums over all rows, (19) and (6)."""
    u = np.empty_like(x)
    bounds = [cell_edges(column) for column in values.T]
    for i, row in enumerate(x):
        density = mass.astype(float)
        for j, here in enumerate(row):
            distinct, edges = bounds[j]
            cell = np.searchsorted(distinct, values[:, j])
            lower, upper = edges[cell], edges[cell + 1]
            below = np.clip((here - lower) / (upper - lower), 0.0, 1.0)
            u[i, j] = (density * below).sum() / density.sum()
            density = density * ((lower < here) & (here <= upper)) / (upper - lower)
    return u


def test_edges_are_midpoints_with_mirrored_ends():
    values, edges = cell_edges(np.array([4.0, 1.0, 1.0, 2.0]))
    assert values.tolist() == [1, 2, 4]
    assert edges.tolist() == [0.5, 1.5, 3.0, 5.0]


def test_a_single_value_has_a_cell_of_width_one():
    assert cell_edges(np.array([7.0, 7.0]))[1].tolist() == [6.5, 7.5]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20))
def test_every_value_lies_in_its_own_cell(column):
    values, edges = cell_edges(np.array(column))
    assert (edges[:-1] < values).all()
    assert (values <= edges[1:]).all()


def test_neighbouring_doubles_have_cells_of_their_own():
    column = [1.0]
    for _ in range(4):
        column.append(np.nextafter(column[-1], 2.0))
    values, edges = cell_edges(np.array([*column, 1e17]))
    assert (edges[:-1] < values).all()
    assert (values <= edges[1:]).all()


def test_forward_matches_the_sum_over_all_cells():
    rng = np.random.default_rng(1)
    values = np.column_stack([rng.integers(0, 3, 60), rng.integers(0, 5, 60), rng.integers(0, 4, 60)]) * 1.5
    mass = rng.integers(1, 10, 60)
    x = draw_cells(values[rng.integers(0, 60, 200)], values, rng)
    assert_allclose(forward_cells(x, values, mass), cell_oracle(x, values, mass), atol=1e-12)
    assert_allclose(forward_cells(x, values), cell_oracle(x, values, np.ones(60)), atol=1e-12)


def test_members_come_from_their_own_group_by_mass():
    rng = np.random.default_rng(2)
    offsets = np.array([0, 40_000, 40_004])
    mass = np.ones(40_004, dtype=np.int64)
    mass[40_000:] = [0, 1, 3, 0]
    picked = pick_members(offsets, rng, mass)
    assert picked[:40_000].max() < 40_000
    assert set(picked[40_000:]) <= {40_001, 40_002}
    share = np.mean([pick_members(np.array([0, 4]), rng, mass[40_000:]) == 2 for _ in range(2000)])
    assert abs(share - 0.75) < 0.02  # 8,000 draws: 4 standard deviations


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_theorem_2_holds_without_a_mismatch(data):
    """Tied and untied columns, neighbouring doubles, weights from 1e-300 to 1e300, groups of any size."""
    d = data.draw(st.integers(1, 4))
    pool = data.draw(st.lists(reals, min_size=1, max_size=6))
    pool = [*pool, *np.nextafter(pool, np.inf)]
    sizes = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=6))
    n = sum(sizes)
    cells = data.draw(st.lists(st.sampled_from(pool), min_size=n * d, max_size=n * d))
    values, offsets = np.array(cells).reshape(n, d), np.concatenate([[0], np.cumsum(sizes)])
    weights = data.draw(st.none() | st.lists(st.just(0.0) | st.floats(1e-300, 1e300), min_size=n, max_size=n))
    mass = None if weights is None else masses(np.array(weights), offsets)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    members = values[pick_members(offsets, rng, mass)]
    u = forward_cells(draw_cells(members, values, rng), values, mass)
    assert ((u > 0) & (u <= 1)).all()
    assert_array_equal(inverse(u, values, mass), members)


@pytest.mark.parametrize("share", [0.0, 5e-324, 1e-17, 0.5, np.nextafter(1.0, 0.0)])
def test_theorem_2_holds_at_the_edges_of_cells(share):
    """A draw that falls on, or within rounding of, the border of its cell still comes back as its own value."""

    class Fixed:
        def random(self, size):
            return np.full(size, share)

    rng = np.random.default_rng(3)
    values = np.column_stack([rng.integers(0, 4, 500), rng.standard_normal(500), rng.integers(0, 9, 500) / 7])
    u = forward_cells(draw_cells(values, values, Fixed()), values)
    assert_array_equal(inverse(u, values), values)


def test_theorem_2_on_a_large_table():
    rng = np.random.default_rng(4)
    values = np.column_stack([rng.integers(0, 2, 50_000), rng.integers(18, 90, 50_000), rng.lognormal(9, 1, 50_000)])
    offsets = np.arange(0, 50_001, 5)
    mass = masses(rng.lognormal(0, 2, 50_000), offsets)
    members = values[pick_members(offsets, rng, mass)]
    u = forward_cells(draw_cells(members, values, rng), values, mass)
    assert_array_equal(inverse(u, values, mass), members)


def test_conditions_outside_the_support_have_no_distribution():
    values = np.array([[0.0, 0.0], [1.0, 1.0]])
    u = forward_cells(np.array([[0.1, 0.9]]), values)
    assert u[0, 1] == 1.0  # above the only cell that the condition leaves
    wide = np.column_stack([values, [0.0, 1.0]])
    assert np.isnan(forward_cells(np.array([[0.1, 0.9, 0.1]]), wide)[0, 2])


grouped = st.lists(st.tuples(st.integers(0, 12).map(float), st.integers(0, 2)), min_size=1, max_size=30)


@settings(max_examples=150, deadline=None)
@given(grouped)
def test_merged_cells_are_runs_of_values_that_one_group_has_alone(rows):
    column, groups = np.array([value for value, _ in rows]), np.array([group for _, group in rows])
    owners = {value: {g for v, g in rows if v == value} for value in sorted(set(column))}
    values, expected = list(owners), [0]
    for before, value in itertools.pairwise(values):
        alone = owners[before] == owners[value] and len(owners[value]) == 1
        expected.append(expected[-1] + (not alone))
    cells, edges = merged_cells(column, groups)
    assert cells.tolist() == [expected[values.index(value)] for value in column]
    assert ((edges[cells] < column) & (column <= edges[cells + 1])).all()


@settings(max_examples=150, deadline=None)
@given(grouped, st.data())
def test_merged_cells_give_each_group_its_own_values_by_their_frequency(rows, data):
    """Corollary 3, without chance: P(cell | group) times the share of u's in the cell that lead to a value."""
    rows = sorted(rows, key=lambda row: row[1])
    column, groups = np.array([value for value, _ in rows]), np.array([group for _, group in rows])
    mass = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(rows), max_size=len(rows))))
    cells, edges = merged_cells(column, groups)
    for group in set(groups.tolist()):
        own = groups == group
        reached = Counter()
        for cell in set(cells[own].tolist()):
            points = np.linspace(edges[cell], edges[cell + 1], 1 + int(mass[cells == cell].sum()))[1:]
            points = (points + np.concatenate([[edges[cell]], points[:-1]])) / 2
            found = inverse(forward_merged(points, cells, edges, mass)[:, None], column[:, None], mass)[:, 0]
            for value in found:
                reached[value] += mass[own & (cells == cell)].sum() / len(found)
        for value in set(column[own].tolist()) | set(reached):
            assert_allclose(reached[value], mass[own & (column == value)].sum(), atol=1e-9)


def test_merged_cells_are_filled_evenly():
    """Draws fall beyond the cell of the value that was picked, and F of them is uniform."""
    rng = np.random.default_rng(4)
    column, offsets = np.repeat([1.0, 2.0, 3.0, 10.0], 500), np.array([0, 1500, 2000])
    cells, edges = merged_cells(column, np.repeat([0, 1], [1500, 500]))
    x = draw_merged(pick_members(offsets, rng), cells, edges, rng)
    u = forward_merged(x, cells, edges)
    assert np.abs(np.sort(u) - (np.arange(2000) + 0.5) / 2000).max() < 0.03
    assert (x[:1500] <= 6.5).all()
    assert (x[1500:] > 6.5).all()
