"""Bias, R² and equation (3.6) by hand and by simulation."""

import numpy as np
import pytest

from shoal.shift import group_error, r_squared, relative_bias


def test_by_hand():
    y, f, v = np.array([100.0, 300.0]), np.array([150.0, 200.0]), np.array([3.0, 1.0])
    # means: true (300 + 300) / 4 = 150, predicted (450 + 200) / 4 = 162.5
    assert relative_bias(f, y, v) == pytest.approx(12.5 / 150)
    # variance: (3·50² + 150²) / 4 = 7500; squared error: (3·50² + 100²) / 4 = 4375
    assert r_squared(f, y, v) == pytest.approx(1 - 4375 / 7500)
    # (3/4)·(1/12)² + (4375/7500)/4 · 7500/150²
    assert group_error(4, 12.5 / 150, 1 - 4375 / 7500, 7500 / 150**2) ** 2 == pytest.approx(
        0.75 / 144 + 4375 / 150**2 / 4
    )


def test_group_error_against_simulation():
    rng = np.random.default_rng(0)
    cost = np.array([1.0, 2.0, 9.0])
    share, predicted = np.array([0.5, 0.3, 0.2]), np.array([1.5, 2.0, 8.0])
    mean, variance = share @ cost, share @ cost**2 - (share @ cost) ** 2
    bias = share @ predicted / mean - 1
    fit = 1 - share @ (predicted - cost) ** 2 / variance
    m = 200
    group = rng.choice(3, (20_000, m), p=share)
    error = (predicted[group] - cost[group]).mean(axis=1) / mean
    assert group_error(m, bias, fit, variance / mean**2) == pytest.approx(np.sqrt(np.mean(error**2)), rel=0.02)


def test_bias_stays_and_variance_goes():
    assert group_error(10**9, 0.03, 0.1, 7) == pytest.approx(0.03, rel=1e-3)
    assert group_error(1, 0.03, 0.0, 9) == pytest.approx(3)


def test_constant_costs_have_no_r_squared():
    assert np.isnan(r_squared(np.ones(3), np.ones(3)))
