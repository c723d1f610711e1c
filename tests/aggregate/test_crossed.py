"""Crossed regression beside its formula written out, and what a second set can tell."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.aggregate import Aggregate, CrossedRegression, Ludia, PseudoInverse, RidgeEcological, held_out_error
from shoal.errors import ParameterError


def averaging(labels, w):
    A = (labels[None, :] == np.arange(labels.max() + 1)[:, None]) * w
    return A / A.sum(axis=1, keepdims=True)


def scene(seed, n=400, p=8, confounded=1.0, noise=0.3):
    """Hospitals that are dear where cases are heavy; severity bands cross them."""
    rng = np.random.default_rng(seed)
    hospital = np.concatenate([np.arange(p), rng.integers(0, p, n - p)])
    effect = rng.normal(0, 1, p)
    X = np.column_stack([effect[hospital] * 0.7 + rng.normal(0, 1, n), rng.normal(0, 1, n)])
    y = X @ [1.0, -0.5] + 2 * confounded * effect[hospital] + rng.normal(0, noise, n)
    band = 4 * (X[:, 0] > np.median(X[:, 0])) + np.digitize(X[:, 1], [-0.6, 0, 0.6])
    return X, y, hospital, np.unique(band, return_inverse=True)[1]


def of(labels, y, w=None):
    w = np.ones(len(y)) if w is None else w
    return Aggregate(by=labels, mean=np.bincount(labels, w * y) / np.bincount(labels, w))


@given(st.integers(0, 10**6), st.booleans())
@settings(max_examples=15, deadline=None)
def test_it_is_the_formula(seed, weighted):
    X, y, first, second = scene(seed, n=120)
    w = np.random.default_rng(seed).uniform(0.5, 2, 120) if weighted else np.ones(120)
    A1, A2 = averaging(first, w), averaging(second, w)
    s1, s2 = A1 @ y, A2 @ y
    inside = X - (A1 @ X)[first]
    root = np.sqrt(np.bincount(second, w))
    beta = np.linalg.lstsq(root[:, None] * (A2 @ inside), root * (s2 - A2 @ s1[first]), rcond=None)[0]
    got = CrossedRegression(correct=False).reconstruct(
        X, [of(first, y, w), of(second, y, w)], weights=w if weighted else None
    )
    np.testing.assert_allclose(got.values, s1[first] + inside @ beta, atol=1e-8)
    matched = CrossedRegression().reconstruct(X, [of(first, y, w), of(second, y, w)], weights=w if weighted else None)
    np.testing.assert_allclose(A1 @ matched.values, s1, atol=1e-8)
    np.testing.assert_allclose(A2 @ matched.values, s2, atol=1e-8)


def test_confounding_of_the_first_set_cancels():
    """Ten scenes: the slope is found where regressions between hospitals are off by the confounding."""
    slopes, between = [], []
    for seed in range(10):
        X, y, hospital, band = scene(seed)
        slopes.append(CrossedRegression().reconstruct(X, [of(hospital, y), of(band, y)]).coefficients)
        between.append(RidgeEcological().reconstruct(X, [of(hospital, y)]).coefficients)
    first = [[next(iter(found.values())) for found in many] for many in (slopes, between)]
    assert np.mean(first[0]) == pytest.approx(1.0, abs=0.1)
    assert np.mean(first[1]) > 1.5


def test_the_error_on_an_unseen_set_orders_methods_as_the_truth_does():
    right = 0
    for seed in range(12):
        X, y, hospital, band = scene(seed)
        sets = [of(hospital, y), of(band, y)]
        unseen = [held_out_error(method, X, sets) for method in (PseudoInverse(), Ludia())]
        truth = [np.abs(m.reconstruct(X, sets[:1]).values - y).mean() for m in (PseudoInverse(), Ludia())]
        right += (unseen[0] < unseen[1]) == (truth[0] < truth[1])
    assert right >= 9


def test_what_it_needs():
    X, y, hospital, _ = scene(1)
    with pytest.raises(ParameterError, match="two crossing sets"):
        CrossedRegression().reconstruct(X, [of(hospital, y)])
    with pytest.raises(ParameterError, match="two sets or more"):
        held_out_error(Ludia(), X, [of(hospital, y)])
    nested = CrossedRegression().reconstruct(X, [of(hospital, y), of(hospital // 2, y)])
    assert any("do not vary" in text for text in nested.warnings)
    np.testing.assert_allclose(nested.values, PseudoInverse().reconstruct(X, [of(hospital, y)]).values, atol=1e-8)
