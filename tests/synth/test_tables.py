"""Noise is taken away, patterns stay, and what is clear is left as it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from shoal.synth.tables import believed, low_rank

SHAPES = [(8, 30), (30, 8), (20, 20)]


def pattern(shape, size):
    rows, columns = (np.linspace(-1, 1, n) for n in shape)
    return size * np.outer(rows, columns)


def squared(a, b):
    return float(((a - b) ** 2).sum())


@pytest.mark.parametrize("shape", SHAPES)
def test_noise_alone_leaves_next_to_nothing(shape):
    noise = np.random.default_rng(1).normal(0, 7, (50, *shape))
    left = sum((low_rank(table, 49.0) ** 2).sum() for table in noise)
    assert left < 0.1 * (noise**2).sum()


@pytest.mark.parametrize("shape", SHAPES)
def test_a_pattern_that_is_faint_in_each_cell_is_found(shape):
    rng, truth = np.random.default_rng(2), pattern(shape, 12.0)
    seen = truth + rng.normal(0, 7, shape)
    prior = np.full(shape, float((truth**2).mean()))
    cell_by_cell = prior / (prior + 49) * seen
    assert squared(low_rank(seen, 49.0), truth) < 0.6 * squared(cell_by_cell, truth)
    assert squared(believed(seen, prior, 49.0), truth) < 0.7 * squared(cell_by_cell, truth)


def test_singular_values_shrink_by_the_formula():
    beta, n = 0.5, 40
    values = np.array([9.0, 4.0, 2.0, 1.2])
    D = np.zeros((20, n))
    D[range(4), range(4)] = values * np.sqrt(n)
    wanted = [np.sqrt((y**2 - beta - 1) ** 2 - 4 * beta) / y if y > 1 + beta**0.5 else 0.0 for y in values]
    assert np.diag(low_rank(D, 1.0))[:4] / np.sqrt(n) == pytest.approx(wanted, abs=1e-12)


@given(arrays(np.float64, (4, 6), elements=st.floats(-1e4, 1e4)), st.floats(1e-12, 1e6))
def test_it_turns_with_the_table_and_never_grows(D, variance):
    found = low_rank(D, variance)
    assert np.allclose(low_rank(D.T, variance).T, found, atol=1e-6)
    assert (found**2).sum() <= (D**2).sum() * (1 + 1e-9) + 1e-9


def test_without_noise_all_is_believed():
    D = np.random.default_rng(3).normal(0, 50, (6, 9))
    assert believed(D, np.full((6, 9), 2500.0), 1e-12) == pytest.approx(D, rel=1e-6)


def test_few_rows_are_believed_cell_by_cell():
    D = np.random.default_rng(4).normal(0, 50, (2, 9))
    assert believed(D, np.full((2, 9), 100.0), 300.0) == pytest.approx(D / 4)
