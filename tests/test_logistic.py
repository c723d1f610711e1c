"""The one logit: stationary, the same on weighted and repeated rows, steady where ones and zeros are told apart."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from shoal.logistic import Matrix, newton_logit, sigmoid


def problem(seed, n=60, width=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    masses = rng.random(n) + 0.1
    return Matrix.with_constant(X), masses * rng.random(n), masses


@given(st.integers(0, 1000), st.sampled_from([1e-9, 1e-4, 1.0]))
@settings(max_examples=25, deadline=None)
def test_the_slope_is_nil_at_the_answer(seed, ridge):
    design, ones, masses = problem(seed)
    fit = newton_logit(design, ones, masses, ridge=ridge)
    slope = design.cross(ones - masses * sigmoid(design.dot(fit.coefficients))) - ridge * fit.coefficients
    assert fit.converged
    assert np.abs(slope).max() < 1e-6 * masses.sum()


def test_a_general_optimiser_finds_no_less():
    design, ones, masses = problem(1)

    def loss(beta):
        scores = design.rows @ beta
        return np.sum(masses * np.logaddexp(0, scores) - ones * scores) + 0.05 * beta @ beta

    best = minimize(loss, np.zeros(design.width), tol=1e-12)
    fit = newton_logit(design, ones, masses, ridge=0.1)
    assert fit.loss == pytest.approx(loss(fit.coefficients), rel=1e-12)
    assert fit.loss <= best.fun + 1e-9
    assert fit.coefficients == pytest.approx(best.x, abs=1e-4)


def test_a_kept_curvature_leads_to_the_same_answer():
    design, ones, masses = problem(2, n=300)
    fresh = newton_logit(design, ones, masses, ridge=1e-4)
    kept = newton_logit(design, ones, masses, ridge=1e-4, reuse=0.1)
    assert kept.coefficients == pytest.approx(fresh.coefficients, abs=1e-6)


def test_a_mass_is_a_number_of_rows():
    design = Matrix.with_constant(np.array([[0.0], [1.0], [2.0]]))
    rows = np.repeat(np.arange(3), [4, 6, 2])
    labels = np.array([1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1.0])
    one_by_one = newton_logit(Matrix(design.rows[rows]), labels, ridge=1e-3)
    together = newton_logit(design, np.bincount(rows, labels), np.array([4.0, 6.0, 2.0]), ridge=1e-3)
    assert together.coefficients == pytest.approx(one_by_one.coefficients, abs=1e-8)


def test_what_can_be_told_apart_has_a_finite_answer():
    x = np.linspace(-1, 1, 40)[:, None]
    fit = newton_logit(Matrix.with_constant(x), (x[:, 0] > 0).astype(float), ridge=1e-4)
    assert np.isfinite(fit.coefficients).all()
    assert fit.loss < 1 < 40 * np.log(2)


def test_too_few_steps_are_told():
    design, ones, masses = problem(3)
    assert not newton_logit(design, ones, masses, ridge=1e-9, most_steps=1).converged


def test_sigmoid_has_no_overflow():
    assert sigmoid(np.array([-1e4, 0.0, 1e4])) == pytest.approx([0.0, 0.5, 1.0])
