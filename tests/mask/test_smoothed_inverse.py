"""The smoothed inverse: what it keeps exactly, and what it keeps closely."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.stats import ks_2samp

from shoal.mask.rosenblatt import inverse, masses
from shoal.mask.smoothed_inverse import _cells, continuous, inverse_smooth


def correlated(n, d, seed, r=0.7):
    """Normal columns, each correlated r with the first."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    x[:, 1:] = r * x[:, :1] + np.sqrt(1 - r * r) * x[:, 1:]
    return x, rng


def mixed(n, seed):
    """A sex, a degree that depends on it, an income with a third of zeros, a continuous age that rises with it."""
    x, rng = correlated(n, 4, seed)
    income = np.where(x[:, 2] < -0.4, 0.0, np.exp(x[:, 2]))
    table = np.column_stack([x[:, 0] > 0, np.clip(np.round(x[:, 1]), -2, 2), income, 40 + 10 * x[:, 3]])
    return table, np.array([False, False, True, True]), rng


def test_without_continuous_columns_it_is_the_exact_inverse():
    rng = np.random.default_rng(1)
    target = np.column_stack([rng.integers(0, 3, 500), rng.integers(0, 5, 500), rng.integers(0, 30, 500)]).astype(float)
    u, mass = rng.random((800, 3)), rng.integers(0, 4, 500)
    for numeric in (np.zeros(3, dtype=bool), np.array([False, True, True])):
        assert_array_equal(inverse_smooth(u, target, numeric, mass), inverse(u, target, mass))


def test_one_column_is_read_off_its_straightened_quantile_function():
    column = np.sort(np.random.default_rng(13).lognormal(size=500))
    u = np.linspace(0.001, 0.999, 4999)
    value = inverse_smooth(u[:, None], column[:, None], np.array([True]))[:, 0]
    assert np.abs(np.interp(value, column, (np.arange(500) + 0.5) / 500) - u).max() < 0.2 / 500
    assert (np.diff(value) > 0).all()


def test_continuous_columns_are_numeric_and_hardly_repeat():
    rng = np.random.default_rng(2)
    values = np.column_stack([rng.random(1000), rng.random(1000), rng.integers(0, 90, 1000)])
    assert continuous(values, np.array([True, False, True])).tolist() == [True, False, False]


def test_marginals_and_correlations_stay_close():
    """n = 15,000: distances are those of a bootstrap, not of a smoother."""
    for d, seed in ((2, 3), (4, 4), (8, 5)):
        x, rng = correlated(15_000, d, seed)
        released = inverse_smooth(rng.random(x.shape), x, np.ones(d, dtype=bool))
        assert max(ks_2samp(a, b).statistic for a, b in zip(x.T, released.T, strict=True)) < 0.02
        assert np.abs(np.corrcoef(x.T) - np.corrcoef(released.T)).max() < 0.025
        assert np.abs(released.std(axis=0) / x.std(axis=0) - 1).max() < 0.025


def test_curved_dependence_is_followed():
    x, rng = correlated(15_000, 2, 6)
    x[:, 1] = x[:, 0] ** 2 + 0.2 * rng.standard_normal(15_000)
    released = inverse_smooth(rng.random(x.shape), x, np.ones(2, dtype=bool))
    spread = np.std(released[:, 1] - released[:, 0] ** 2) / np.std(x[:, 1] - x[:, 0] ** 2)
    assert 0.9 < spread < 1.1


def test_no_original_row_comes_back():
    for n in (60, 300, 5000):
        x, rng = correlated(n, 3, 7)
        u = rng.random(x.shape)
        numeric = np.ones(3, dtype=bool)
        originals = set(map(tuple, x))
        assert not originals & set(map(tuple, inverse_smooth(u, x, numeric)))
        assert originals >= set(map(tuple, inverse(u, x)))  # while the exact inverse returns nothing else


def test_mixed_tables_keep_codes_zeros_and_dependence():
    table, numeric, rng = mixed(15_000, 8)
    released = inverse_smooth(rng.random(table.shape), table, numeric)
    assert set(map(tuple, released[:, :2])) <= set(map(tuple, table[:, :2]))
    assert abs((released[:, 2] == 0).mean() - (table[:, 2] == 0).mean()) < 0.015
    assert np.abs(np.corrcoef(table.T) - np.corrcoef(released.T)).max() < 0.03
    whole = set(map(tuple, table))
    assert not any(tuple(row) in whole for row in released[released[:, 2] != 0])


def test_coded_columns_after_a_continuous_one_keep_observed_combinations():
    x, rng = correlated(3000, 3, 9)
    table = np.column_stack([np.round(x[:, 0]), x[:, 1], np.round(2 * x[:, 2])])
    released = inverse_smooth(rng.random(table.shape), table, np.array([False, True, False]))
    assert set(map(tuple, released[:, [0, 2]])) <= set(map(tuple, table[:, [0, 2]]))


def test_weights_move_the_distribution():
    x, rng = correlated(8000, 2, 10)
    weights = np.exp(x[:, 0])  # tilts the mean of a standard normal from 0 to 1
    mass = masses(weights, np.array([0, 8000]))
    released = inverse_smooth(rng.random((8000, 2)), x, np.ones(2, dtype=bool), mass)
    weighted = np.average(x, axis=0, weights=weights)
    assert np.abs(released.mean(axis=0) - weighted).max() < 0.06


def test_rows_of_no_mass_are_not_used():
    x, rng = correlated(400, 2, 11)
    mass = (x[:, 0] < 0).astype(np.int64)
    released = inverse_smooth(rng.random((400, 2)), x, np.ones(2, dtype=bool), mass)
    assert released[:, 0].max() < 0


def test_cells_for_continuous_columns_hold_enough_rows():
    rng = np.random.default_rng(12)
    table = np.column_stack([rng.geometric(0.3, 3000), rng.integers(0, 40, 3000), rng.random(3000)]).astype(float)
    for amounts in ([], [1], [1, 2]):
        codes = np.setdiff1d(np.arange(3), amounts)
        cells, places = _cells(table, table, codes, np.array(amounts, dtype=np.int64), 50, 50)
        assert np.bincount(cells).min() >= 50
        assert_array_equal(places, cells)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 120), st.integers(1, 4), st.integers(1, 40))
def test_any_table_gives_finite_values_in_range(seed, n, d, minimum):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 3, d)
    columns = [rng.standard_cauchy(n) if kind else rng.integers(0, 4, n).astype(float) for kind in kinds]
    target = np.column_stack(columns)
    if d > 1 and kinds[-1] == 2:
        target[:, -1] = target[:, 0]  # collinear
    mass = rng.integers(0, 3, n)
    mass[0] = 1
    u = rng.random((30, d))
    u[0], u[1] = 0.0, 1.0
    released = inverse_smooth(u, target, kinds > 0, mass, minimum)
    kept = target[mass > 0]
    assert (released >= kept.min(axis=0)).all()
    assert (released <= kept.max(axis=0)).all()
    for j in np.flatnonzero(~continuous(kept, kinds > 0)):
        assert set(released[:, j]) <= set(kept[:, j])
