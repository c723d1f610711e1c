"""Are the u's uniform and independent? The final histogram hides a fault in the forward transform; the u's don't.

Seeds are fixed. With fresh ones each test would fail by chance in fewer than 1 run of 1,000: single checks
are made at the level 1e-5 (KS, chi-square) or 4.5 standard deviations (correlations), and no test makes more than 30.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chisquare, kstest, spearmanr

from shoal.mask.dither import neighbourhoods
from shoal.mask.mixture import components, draw, forward, merge
from shoal.mask.rosenblatt import draw_cells, forward_cells, inverse, inverse_ranked, masses, pick_members

LEVEL = 1e-5


def table(seed, n=6000):
    """Three correlated columns, one of few values, one skewed."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 3)) @ np.array([[1.0, 0.8, 0.7], [0.0, 0.6, 0.3], [0.0, 0.0, 0.6]])
    x = np.column_stack([np.round(2 * z[:, 0]), z[:, 1], np.exp(z[:, 2])])
    return (x - x.mean(axis=0)) / x.std(axis=0), rng


def groups_of(x, k):
    """Neighbours along the main axis; groups are stretched across it, so their covariances matter."""
    axis = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2][0]
    return x[np.argsort(x @ axis, kind="stable")], np.append(np.arange(0, len(x) - k + 1, k), len(x))


def p_values(u):
    """KS against uniform for each column, chi-square against independence in 5 × 5 cells for each pair."""
    single = [kstest(column, "uniform").pvalue for column in u.T]
    pairs = []
    for a, b in combinations(u.T, 2):
        counts = np.histogram2d(a, b, bins=5, range=[[0, 1], [0, 1]])[0]
        pairs.append(chisquare(counts.ravel()).pvalue)
    return single, pairs


def correlations(u):
    return np.corrcoef(u.T)[np.triu_indices(u.shape[1], 1)] * np.sqrt(len(u))


def misprinted(x, mixture):
    """(12) to (14) with the minus that the paper prints in the conditional mean."""
    u, Lambda = np.empty_like(x), mixture.covariance
    log_p = np.broadcast_to(np.log(mixture.share), (len(x), len(mixture.share)))
    for j in range(x.shape[1]):
        a = np.linalg.solve(Lambda[:, :j, :j], Lambda[:, :j, j, None])[..., 0]
        shift = np.einsum("cj,icj->ic", a, x[:, None, :j] - mixture.centroid[None, :, :j])
        sigma = np.sqrt(Lambda[:, j, j] - (a * Lambda[:, :j, j]).sum(axis=1))
        z = (x[:, j, None] - (mixture.centroid[:, j] - shift)) / sigma
        p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
        u[:, j] = (p * ndtr(z)).sum(axis=1) / p.sum(axis=1)
        log_p = log_p - z**2 / 2 - np.log(sigma)
    return u


def dithered(seed, k, alpha, weighted=False):
    x, rng = table(seed)
    values, offsets = groups_of(x, k)
    mass = masses(rng.lognormal(0, 0.5, len(x)), offsets) if weighted else None
    mixture, component = merge(components(values, offsets, alpha, mass))
    home = np.repeat(component, np.diff(offsets))
    return draw(mixture, home, rng), mixture, home, values


@pytest.mark.parametrize(("k", "alpha"), [(5, 1 / 3), (50, 1 / 3), (20, 0.02)])
def test_gaussian_numbers_are_uniform_and_independent(k, alpha):
    x, mixture, home, _ = dithered(1, k, alpha)
    u = forward(x, mixture, home)
    single, pairs = p_values(u)
    assert min(single) > LEVEL
    assert min(pairs) > LEVEL
    assert np.abs(correlations(u)).max() < 4.5


@pytest.mark.parametrize("most", [400, 60])
def test_gaussian_numbers_are_uniform_and_independent_in_blocks(most):
    """Over all blocks together: each is uniform by its own mixture, which is what its rows are drawn from."""
    x, mixture, home, _ = dithered(1, 5, 1 / 3)
    u = np.empty_like(x)
    for block in neighbourhoods(mixture, home, most):
        u[block.rows] = forward(x[block.rows], block.mixture, block.home)
    single, pairs = p_values(u)
    assert min(single + pairs) > LEVEL
    assert np.abs(correlations(u)).max() < 4.5


def test_the_misprinted_sign_is_caught():
    """On groups that are themselves correlated; the right sign passes on the same draws."""
    values, rng = table(1)
    mixture = components(values, np.arange(0, 6001, 60), 1 / 3)
    home = np.repeat(np.arange(100), 60)
    x = draw(mixture, home, rng)
    right, wrong = p_values(forward(x, mixture, home)), p_values(misprinted(x, mixture))
    assert min(right[0] + right[1]) > LEVEL
    assert wrong[0][0] > LEVEL  # the first dimension has no condition
    assert max(wrong[0][1:]) < 1e-50
    assert min(wrong[1]) < 1e-50


def test_weighted_mixture_numbers_are_uniform_for_draws_from_it():
    """Under weights x̃ must be drawn by p_L for the u's to be uniform, not once per record."""
    _, mixture, _, _ = dithered(2, 20, 1 / 3, weighted=True)
    rng = np.random.default_rng(3)
    home = rng.choice(len(mixture.share), 6000, p=mixture.share)
    single, pairs = p_values(forward(draw(mixture, home, rng), mixture, home))
    assert min(single + pairs) > LEVEL


@pytest.mark.parametrize("k", [5, 100])
def test_cell_numbers_are_uniform_and_independent(k):
    x, rng = table(4)
    values, offsets = groups_of(x, k)
    u = forward_cells(draw_cells(values[pick_members(offsets, rng)], values, rng), values)
    single, pairs = p_values(u)
    assert min(single) > LEVEL
    assert min(pairs) > LEVEL
    assert np.abs(correlations(u)).max() < 4.5


def test_released_marginals_are_the_original_ones():
    """The exact inverse of the u's: a sample from the empirical distribution; the ranked one: that distribution."""
    x, mixture, home, values = dithered(5, 5, 1 / 3)
    u = forward(x, mixture, home)
    released = inverse(u, values)
    levels, observed = np.unique(values[:, 0], return_counts=True)
    counts = np.array([(released[:, 0] == level).sum() for level in levels])
    common = observed >= 10
    pooled = np.append(counts[common], counts[~common].sum()), np.append(observed[common], observed[~common].sum())
    assert chisquare(*pooled).pvalue > LEVEL
    assert np.abs(spearmanr(released).statistic - spearmanr(values).statistic).max() < 0.05
    assert np.array_equal(np.sort(inverse_ranked(u, values), axis=0), np.sort(values, axis=0))
