"""Forward Gaussian Rosenblatt against a transparent oracle, equation by equation."""

import math
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr

from shoal.errors import ParameterError
from shoal.mask import mixture as module
from shoal.mask.dither import neighbourhoods
from shoal.mask.mixture import Mixture, components, draw, forward, merge


def oracle(x, p_L, centroid, Lambda):
    """(12) to (14) as printed, with the sign of the conditional mean put right; row by row, dimension by dimension."""
    u = np.empty_like(x)
    for i, row in enumerate(x):
        log_p = np.log(p_L)
        for j in range(len(row)):
            mu, variance = np.empty(len(p_L)), np.empty(len(p_L))
            for g, (mean, cov) in enumerate(zip(centroid, Lambda, strict=True)):
                a = np.linalg.solve(cov[:j, :j], cov[:j, j]) if j else np.empty(0)
                mu[g] = mean[j] + a @ (row[:j] - mean[:j])
                variance[g] = cov[j, j] - a @ cov[:j, j]
            z = (row[j] - mu) / np.sqrt(variance)
            p = np.exp(log_p - log_p.max())
            u[i, j] = (p / p.sum()) @ ndtr(z)
            log_p = log_p - z**2 / 2 - np.log(variance) / 2
    return u


def grouped(rng, n=200, d=3, k=5, correlation=0.7):
    """Correlated rows, cut into groups of k along a random direction, and where each group starts."""
    values = rng.standard_normal((n, d))
    values[:, 1:] += correlation * values[:, :1]
    values = values[np.argsort(values @ rng.standard_normal(d), kind="stable")]
    return values, np.append(np.arange(0, n - k + 1, k), n)


def drawn(values, offsets, rng, alpha=1 / 3, mass=None):
    mixture, component = merge(components(values, offsets, alpha, mass))
    home = np.repeat(component, np.diff(offsets))
    return draw(mixture, home, rng), mixture, home


def test_components_are_means_and_covariances_divided_by_n():
    rng = np.random.default_rng(1)
    values, offsets = grouped(rng, n=53, k=5)
    mixture = components(values, offsets, 0.2)
    for g in range(len(offsets) - 1):
        rows = values[offsets[g] : offsets[g + 1]]
        assert_allclose(mixture.share[g], len(rows) / 53)
        assert_allclose(mixture.centroid[g], rows.mean(axis=0))
        assert_allclose(mixture.covariance[g], np.cov(rows.T, bias=True) + 0.2 * np.eye(3))
    assert_array_equal(mixture.factor, np.tril(mixture.factor))


def test_components_weigh_by_mass():
    rng = np.random.default_rng(2)
    values, offsets = grouped(rng, n=40, k=8)
    mass = rng.integers(1, 9, 40)
    mixture = components(values, offsets, 0.1, mass)
    spelled_out = components(
        np.repeat(values, mass, axis=0),
        np.concatenate([[0], np.cumsum(np.add.reduceat(mass, offsets[:-1]))]),
        0.1,
    )
    assert_allclose(mixture.share, spelled_out.share)
    assert_allclose(mixture.centroid, spelled_out.centroid, atol=1e-14)
    assert_allclose(mixture.covariance, spelled_out.covariance, atol=1e-14)


def test_equal_rows_give_equal_components_whatever_their_number():
    values = np.repeat([[0.1, 0.7], [1 / 3, -2.9], [0.1, 0.7]], [5, 6, 7], axis=0)
    mixture, index = merge(components(values, np.array([0, 5, 11, 18]), 1 / 3))
    assert index.tolist() == [0, 1, 0]
    assert_allclose(mixture.share, [12 / 18, 6 / 18])
    assert_array_equal(mixture.centroid, [[0.1, 0.7], [1 / 3, -2.9]])
    assert_array_equal(mixture.factor, np.broadcast_to(math.sqrt(1 / 3) * np.eye(2), (2, 2, 2)))


def test_merging_changes_nothing_but_rounding():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 2, (300, 3)).astype(float)
    offsets = np.arange(0, 301, 5)
    values = np.concatenate([v[np.lexsort(v.T[::-1])] for v in np.split(values, 60)])
    whole = components(values, offsets, 0.5)
    merged, index = merge(whole)
    assert len(merged.share) < len(whole.share)
    assert_array_equal(merged.centroid[index], whole.centroid)
    x = draw(whole, np.repeat(np.arange(60), 5), rng)
    assert_allclose(forward(x, merged), forward(x, whole), atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("alpha", [1.0, 1 / 3, 0.01, 1e-4])
def test_forward_is_within_the_promised_error(d, alpha):
    rng = np.random.default_rng(4)
    values, offsets = grouped(rng, n=600, d=d, k=5)
    x, mixture, home = drawn(values, offsets, rng, alpha)
    sample = rng.choice(600, 40, replace=False)
    expected = oracle(x[sample], mixture.share, mixture.centroid, mixture.covariance)
    for u in (forward(x, mixture), forward(x, mixture, home)):
        assert np.abs(u[sample] - expected).max() <= 1e-9
        assert ((u >= 0) & (u <= 1)).all()


def test_skipping_components_stays_within_the_tolerance_and_does_happen(monkeypatch):
    """With a loose tolerance the bound must hold as well, and results must show that something was left out."""
    rng = np.random.default_rng(5)
    values, offsets = grouped(rng, n=4000, d=4, k=5)
    x, mixture, home = drawn(values, offsets, rng, 0.02)
    full = forward(x, mixture)
    for tolerance in (1e-2, 1e-4, 1e-6):
        error = np.abs(forward(x, mixture, home, tolerance) - full).max()
        assert 1e-15 < error <= tolerance


def test_the_first_dimension_is_a_plain_sum():
    rng = np.random.default_rng(6)
    values, offsets = grouped(rng, n=3000, d=1, k=10)
    x, mixture, home = drawn(values, offsets, rng, 0.1)
    exact = (mixture.share * ndtr((x - mixture.centroid[:, 0]) / mixture.factor[:, 0, 0])).sum(axis=1)
    assert np.abs(forward(x, mixture, home)[:, 0] - exact).max() <= 1e-11


def test_fast_functions_keep_their_stated_errors():
    a = np.concatenate([np.linspace(0, 24, 200_001), [0.0, 1e-300, 24.0]])
    for z in (-a, a):
        below, total, weight = np.zeros_like(a), np.zeros_like(a), np.ones_like(a)
        module._add_conditional(z, 1.0, weight, below, total)
        assert np.abs(below - ndtr(z)).max() <= 1.2e-12
        assert np.abs(weight / np.exp(-a * a / 2) - 1).max() <= 1e-13


def test_rows_far_from_everything_go_through_logarithms():
    """1e6 standard deviations out the densities are 0 in double precision; ratios of them are not."""
    rng = np.random.default_rng(7)
    centroid = rng.standard_normal((4, 3))
    factor = np.broadcast_to(0.6 * np.eye(3), (4, 3, 3)).copy()
    factor[:, 2, 0] = [0.1, 0.2, 0.3, 0.4]
    mixture = Mixture(share=np.full(4, 0.25), centroid=centroid, factor=factor)
    x = np.array([[60.0, -50.0, 70.0], [1e6, 0.0, 0.0], [0.1, 0.2, 1e6], [-1e6, 1e6, -1e6], [1e200, 1.0, 1.0]])
    u = forward(x, mixture)
    assert np.isfinite(u).all()
    assert ((u >= 0) & (u <= 1)).all()
    assert_allclose(u[0], oracle(x[:1], mixture.share, centroid, mixture.covariance)[0], atol=1e-9)
    nearest = np.argmin((x[1, 0] - centroid[:, 0]) ** 2)  # all weight goes to it
    assert_allclose(u[1, 1], ndtr((x[1, 1] - centroid[nearest, 1]) / 0.6), atol=1e-9)


def test_logarithms_agree_with_products_where_both_work():
    rng = np.random.default_rng(8)
    values, offsets = grouped(rng, n=100, d=4)
    x, mixture, _ = drawn(values, offsets, rng)
    u = forward(x, mixture)
    again = u.copy()
    again[:, 1:] = np.nan
    module._logarithm_span(0, 100, x, np.arange(100), *module._parts(mixture), again)
    assert_allclose(again, u, atol=1e-11)


def test_outliers_in_the_data_give_no_nan():
    rng = np.random.default_rng(9)
    values, offsets = grouped(rng, n=100, d=3)
    values[3] = [1e6, -1e6, 1e6]
    values[97, 1] = -1e6
    for alpha in (1 / 3, 1e-8):
        x, mixture, home = drawn(values, offsets, rng, alpha)
        u = forward(x, mixture, home)
        assert np.isfinite(u).all()
        assert ((u >= 0) & (u <= 1)).all()


@pytest.mark.parametrize("alpha", [1e-3, 1e-6, 1e-12, 1e-30])
def test_rank_deficient_groups_work_for_any_positive_alpha(alpha):
    rng = np.random.default_rng(10)
    values, offsets = grouped(rng, n=40, d=6, k=4)
    values[:, 5] = values[:, 4]
    values[:, 3] = 2.5
    x, mixture, home = drawn(values, offsets, rng, alpha)
    assert (np.diagonal(mixture.factor, axis1=1, axis2=2) >= math.sqrt(alpha) * (1 - 1e-15)).all()
    u = forward(x, mixture, home)
    assert np.isfinite(u).all()
    assert ((u >= 0) & (u <= 1)).all()


def test_constant_columns_carry_their_own_noise():
    rng = np.random.default_rng(11)
    values = np.column_stack([np.full(50, 3.0), rng.standard_normal(50)])
    x, mixture, _ = drawn(values, np.arange(0, 51, 5), rng)
    assert_allclose(forward(x, mixture)[:, 0], ndtr((x[:, 0] - 3.0) / math.sqrt(1 / 3)), atol=1e-9)


def test_one_group_is_one_gaussian():
    rng = np.random.default_rng(12)
    values = rng.standard_normal((20, 2))
    x, mixture, home = drawn(values, np.array([0, 20]), rng)
    z = np.linalg.solve(mixture.factor[0], (x - mixture.centroid[0]).T).T
    assert_allclose(forward(x, mixture, home), ndtr(z), atol=1e-9)


def test_components_of_no_mass_do_no_harm():
    rng = np.random.default_rng(13)
    values, offsets = grouped(rng, n=30, d=2)
    x, mixture, home = drawn(values, offsets, rng)
    share = mixture.share.copy()
    share[0] = 0.0
    u = forward(x, Mixture(share=share / share.sum(), centroid=mixture.centroid, factor=mixture.factor), home)
    assert np.isfinite(u).all()


def test_results_do_not_depend_on_the_number_of_threads(monkeypatch):
    rng = np.random.default_rng(14)
    values, offsets = grouped(rng, n=3000, d=3)
    x, mixture, home = drawn(values, offsets, rng, 0.05)
    monkeypatch.setattr(module, "_cores", lambda: 1)
    one = forward(x, mixture, home)
    monkeypatch.setattr(module, "_cores", lambda: 7)
    assert_array_equal(forward(x, mixture, home), one)


def test_draws_have_the_component_mean_and_covariance():
    rng = np.random.default_rng(15)
    values, offsets = grouped(rng, n=10, d=3)
    mixture = components(values, offsets, 0.3)
    x = draw(mixture, np.ones(200_000, dtype=np.int64), rng)
    assert_allclose(x.mean(axis=0), mixture.centroid[1], atol=0.02)
    assert_allclose(np.cov(x.T), mixture.covariance[1], atol=0.03)


def test_tolerance_has_a_floor():
    mixture = Mixture(share=np.ones(1), centroid=np.zeros((1, 1)), factor=np.ones((1, 1, 1)))
    with pytest.raises(ParameterError, match="at least 1e-10"):
        forward(np.zeros((1, 1)), mixture, tolerance=1e-12)


def test_no_rows_give_no_numbers():
    mixture = Mixture(share=np.ones(1), centroid=np.zeros((1, 2)), factor=np.eye(2)[None])
    assert forward(np.empty((0, 2)), mixture).shape == (0, 2)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 6), st.sampled_from([1.0, 1 / 3, 0.03]))
def test_forward_matches_the_oracle_on_tied_tables(seed, d, groups, alpha):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, groups)
    values = rng.integers(-2, 3, (sizes.sum(), d)).astype(float)
    mass = rng.integers(1, 1000, len(values))
    x, mixture, home = drawn(values, np.concatenate([[0], np.cumsum(sizes)]), rng, alpha, mass)
    expected = oracle(x, mixture.share, mixture.centroid, mixture.covariance)
    assert np.abs(forward(x, mixture, home) - expected).max() <= 1e-9


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 5),
    st.integers(2, 40),
    st.sampled_from([1.0, 1 / 3, 0.03, 1e-3]),
    st.sampled_from([1e-3, 1e-6, 1e-9]),
    st.sampled_from([1.0, 1e-3, 1e3]),
)
def test_the_error_in_a_block_is_within_the_tolerance(seed, d, most, alpha, tolerance, spread):
    """Against the oracle of the block's own components: normal, heavy-tailed or tight data, any tolerance."""
    rng = np.random.default_rng(seed)
    values = spread * rng.standard_t(2, (120, d))
    x, mixture, home = drawn(values, np.arange(0, 121, 3), rng, alpha)
    for block in islice(neighbourhoods(mixture, home, most), 2):
        rows, part = block.rows[:6], block.mixture
        expected = oracle(x[rows], part.share, part.centroid, part.covariance)
        assert np.abs(forward(x[block.rows], part, block.home, tolerance)[:6] - expected).max() <= tolerance


@pytest.mark.parametrize("d", [1, 3, 8])
@pytest.mark.parametrize("alpha", [1.0, 1 / 3, 0.01])
def test_the_error_in_blocks_of_many_rows_is_within_the_tolerance(d, alpha):
    rng = np.random.default_rng(16)
    values, offsets = grouped(rng, n=3000, d=d, k=5)
    x, mixture, home = drawn(values, offsets, rng, alpha)
    for block in islice(neighbourhoods(mixture, home, 200), 2):
        sample = rng.choice(len(block.rows), 8, replace=False)
        part = block.mixture
        expected = oracle(x[block.rows[sample]], part.share, part.centroid, part.covariance)
        assert np.abs(forward(x[block.rows], part, block.home)[sample] - expected).max() <= 1e-9
