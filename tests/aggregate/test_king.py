"""Bounds beside all ways to fill in the values, and King's model beside sums over a fine grid."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from shoal.aggregate import Aggregate, EcologicalRegression, King, PseudoInverse, mean_bounds
from shoal.aggregate.king import _density, _mass, _on_line, most_likely
from shoal.errors import InputError, ParameterError


def areas(seed, n_areas=60, size=200, tie=0.0, centre=(0.7, 0.3)):
    """Areas with their own shares of y among two groups; `tie` lets the first share follow the area's mix."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, n_areas)
    b = np.clip(centre[0] + tie * (p - 0.5) + rng.normal(0, 0.08, n_areas), 0, 1)
    w = np.clip(centre[1] + rng.normal(0, 0.08, n_areas), 0, 1)
    area = np.repeat(np.arange(n_areas), size)
    x = (rng.random(len(area)) < p[area]).astype(float)
    y = (rng.random(len(area)) < np.where(x == 1, b[area], w[area])).astype(float)
    return x[:, None], y, area


def of(area, y):
    return Aggregate(by=area, mean=np.bincount(area, y) / np.bincount(area), name="area")


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=9))
@settings(max_examples=60, deadline=None)
def test_bounds_are_those_of_all_tables(people):
    """Every 0/1 table with the same total: its means lie within, and the ends are reached up to whole people."""
    x, y = np.array(people, dtype=float).T
    if x.min() == x.max():
        return
    found = mean_bounds(x[:, None], Aggregate(by=np.zeros(len(x), dtype=int), mean=[y.mean()]))
    tables = [t for t in product((0, 1), repeat=len(x)) if sum(t) == y.sum()]
    for ends, group in ((found.overall_with, x == 1), (found.overall_without, x == 0)):
        means = [np.array(t)[group].mean() for t in tables]
        assert (min(means), max(means)) == pytest.approx(ends)


def test_bounds_in_other_units_and_over_areas():
    X, y, area = areas(1, size=12)
    plain, dollars = mean_bounds(X, of(area, y)), mean_bounds(X, of(area, 100 + 50 * y), low=100, high=150)
    assert dollars.overall_with == pytest.approx([100 + 50 * end for end in plain.overall_with])
    assert plain.overall_with[0] <= y[X[:, 0] == 1].mean() <= plain.overall_with[1]
    assert plain.overall_without[0] <= y[X[:, 0] == 0].mean() <= plain.overall_without[1]


PARAMETERS = [(0.6, 0.4, 0.2, 0.3, 0.3), (0.9, 0.1, 0.3, 0.1, -0.5), (1.2, 0.5, 0.4, 0.4, 0.0)]


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_the_model_is_the_truncated_normal_distribution(parameters):
    """Its mass in the unit square, the density of s and the mean of b on a line, by sums over a fine grid."""
    b, w, sb, sw, r = parameters
    law = multivariate_normal([b, w], [[sb**2, r * sb * sw], [r * sb * sw, sw**2]])
    grid = (np.arange(400) + 0.5) / 400
    assert _mass(np.array(parameters)) == pytest.approx(
        law.pdf(np.stack(np.meshgrid(grid, grid), axis=-1)).mean(), rel=1e-3
    )
    for p, s in ((0.3, 0.5), (0.7, 0.2), (0.5, 0.9)):
        along = np.linspace(max(0, (s - 1 + p) / p), min(1, s / p), 4001)
        heights = law.pdf(np.column_stack([along, (s - p * along) / (1 - p)]))
        width = along[1] - along[0]
        density = (heights.sum() - heights[[0, -1]].sum() / 2) * width / (1 - p)
        assert _density(np.array([p]), np.array([s]), np.array(parameters))[0] == pytest.approx(density, rel=1e-3)
        mean = _on_line(np.array([p]), np.array([s]), np.array(parameters))[0]
        assert mean == pytest.approx((heights * along).sum() / heights.sum(), abs=2e-3)


def test_it_finds_both_groups_and_keeps_to_bounds_and_means():
    """Ten scenes without a tie between mix and shares: both means within 0.03, better than area means."""
    gaps = []
    for seed in range(10):
        X, y, area = areas(seed)
        found = King().reconstruct(X, [of(area, y)])
        gaps.append([found.values[X[:, 0] == k].mean() - y[X[:, 0] == k].mean() for k in (0, 1)])
        np.testing.assert_allclose(np.bincount(area, found.values) / 200, np.bincount(area, y) / 200, atol=1e-9)
        assert found.values.min() >= 0
        assert found.values.max() <= 1
        plain = PseudoInverse().reconstruct(X, [of(area, y)]).values
        assert np.square(found.values - y).sum() < np.square(plain - y).sum()
    assert np.abs(np.mean(gaps, axis=0)).max() < 0.03


def test_a_tie_with_the_mix_misleads_it_as_it_misleads_regression():
    X, y, area = areas(3, tie=0.5, centre=(0.5, 0.3))
    king, regression = (m.reconstruct(X, [of(area, y)]).values for m in (King(), EcologicalRegression()))
    truth = y[X[:, 0] == 1].mean()
    assert abs(king[X[:, 0] == 1].mean() - truth) > 0.03
    assert abs(regression[X[:, 0] == 1].mean() - truth) > 0.03


@given(st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_extremes_stay_finite(seed):
    rng = np.random.default_rng(seed)
    p, s = rng.choice([0.0, 0.01, 0.5, 0.99, 1.0], 8), rng.choice([0.0, 1e-6, 0.5, 1.0], 8)
    found = most_likely(p, s)
    assert np.isfinite(found).all()
    b = _on_line(p, s, found)
    assert ((b >= 0) & (b <= 1)).all()


def test_what_it_cannot_take_is_refused():
    X, y, area = areas(1, n_areas=5, size=20)
    with pytest.raises(ParameterError, match="two values"):
        King().reconstruct(np.random.default_rng(1).random((100, 1)), [of(area, y)])
    with pytest.raises(ParameterError, match="two values"):
        King().reconstruct(X, [of(area, y), of(area % 2, y)])
    with pytest.raises(InputError, match="between low and high"):
        King().reconstruct(X, [of(area, 5 * y)])
    with pytest.raises(ParameterError, match="less than"):
        King(low=2.0).reconstruct(X, [of(area, y)])
