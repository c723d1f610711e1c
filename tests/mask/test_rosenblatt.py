"""Inverse transforms against (7) to (9) read literally."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from shoal.mask.rosenblatt import dimension_order, inverse, inverse_ranked, masses

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
