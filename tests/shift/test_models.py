"""Cost models against plain formulas and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ColumnError, ParameterError
from shoal.shift.models import MODELS, check_costs, fitter_of, least_squares, market_logit, model_name

ROW = np.repeat(np.arange(3), [40, 30, 50])
SATURATED = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])  # three cells, one parameter for each


def costs(seed, zeros=True):
    rng = np.random.default_rng(seed)
    y = rng.gamma(0.8, np.array([500.0, 1500.0, 4000.0])[ROW])
    return np.where(rng.random(len(y)) < 0.25, 0.0, y) if zeros else y, rng.uniform(0.5, 2, len(y))


def cell_means(y, w):
    return np.array([np.average(y[c == ROW], weights=w[c == ROW]) for c in range(3)])


@given(seed=st.integers(0, 10_000))
def test_least_squares_is_lstsq(seed):
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(30, 4)), rng.normal(size=30), rng.uniform(0.1, 3, 30)
    Z, root = np.column_stack((np.ones(30), X)), np.sqrt(w)
    expected = np.linalg.lstsq(Z * root[:, None], y * root)[0]
    assert np.allclose(least_squares(X, w, y), expected, atol=1e-8)


def test_least_squares_in_batches():
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(30, 2)), rng.normal(size=(2, 1, 30)), rng.uniform(0.1, 3, (3, 30))
    batch = least_squares(X, w, y)
    assert batch.shape == (2, 3, 3)
    assert np.allclose(batch[1, 2], least_squares(X, w[2], y[1, 0]))


def test_dependent_columns_change_no_prediction():
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(40, 2)), rng.normal(size=40), rng.uniform(0.1, 3, 40)
    wide = np.column_stack((X, X[:, 0] + X[:, 1], np.zeros(40)))
    plain, dependent = least_squares(X, w, y), least_squares(wide, w, y)
    assert np.allclose(plain[0] + X @ plain[1:], dependent[0] + wide @ dependent[1:])


@pytest.mark.parametrize("model", ["least-squares", "two-part", "gamma", "tweedie", "multiplicative"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_saturated_model_gives_the_weighted_mean_of_each_cell(model, seed):
    y, w = costs(seed, zeros=model != "gamma")
    predicted = MODELS[model](SATURATED, ROW, y, w)(SATURATED)
    assert np.allclose(predicted, cell_means(y, w), rtol=1e-4)


def test_log_with_smearing_by_hand():
    y, w = costs(3, zeros=False)
    found = MODELS["log"](SATURATED, ROW, y, w)(SATURATED)
    line = cell_means(np.log(y), w)
    residuals = np.log(y) - line[ROW]
    smearing = np.sum(w * np.exp(residuals)) / np.sum(w)
    assert np.allclose(found, np.exp(line) * smearing)


@pytest.mark.parametrize("model", ["gamma", "tweedie"])
def test_generalised_linear_models_against_scikit_learn_on_single_rows(model):
    from sklearn.linear_model import GammaRegressor, TweedieRegressor

    y, w = costs(4, zeros=model == "tweedie")
    X = np.array([[0.0], [1.0], [2.0]])
    other = (
        GammaRegressor(alpha=0, tol=1e-8, max_iter=5000)
        if model == "gamma"
        else TweedieRegressor(power=1.5, link="log", alpha=0, tol=1e-8, max_iter=5000)
    )
    expected = other.fit(X[ROW], y / 1000, sample_weight=w).predict(X) * 1000
    assert np.allclose(MODELS[model](X, ROW, y, w)(X), expected, rtol=1e-3)


def test_two_part_without_zeros_is_gamma():
    y, w = costs(5, zeros=False)
    X = np.array([[0.0], [1.0], [2.0]])
    assert np.allclose(MODELS["two-part"](X, ROW, y, w)(X), MODELS["gamma"](X, ROW, y, w)(X))


def test_any_regressor_with_sample_weight():
    from sklearn.linear_model import LinearRegression
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeRegressor

    y, w = costs(6)
    for model in (DecisionTreeRegressor(), LinearRegression(), make_pipeline(StandardScaler(), LinearRegression())):
        assert np.allclose(fitter_of(model)(SATURATED, ROW, y, w)(SATURATED), cell_means(y, w))
    with pytest.raises(ParameterError, match="sample_weight.*KNeighborsRegressor"):
        fitter_of(KNeighborsRegressor())
    with pytest.raises(ParameterError, match="got int"):
        fitter_of(3)
    with pytest.raises(ParameterError, match="least-squares, two-part, log, gamma, tweedie"):
        fitter_of("ols")


def test_names():
    assert [model_name(None), model_name("gamma")] == ["least-squares", "gamma"]


@pytest.mark.parametrize("model", ["log", "gamma"])
def test_zero_costs_are_refused_without_telling_them(model):
    with pytest.raises(ColumnError, match="greater than 0.*2 rows.*two-part") as caught:
        check_costs(model, "cost", np.array([0.0, 12345.0, -1.0]))
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize("model", ["two-part", "tweedie"])
def test_negative_costs_are_refused(model):
    with pytest.raises(ColumnError, match="1 rows below 0"):
        check_costs(model, "cost", np.array([0.0, 5.0, -1.0]))
    with pytest.raises(ColumnError, match="not all 0"):
        check_costs(model, "cost", np.zeros(3))
    check_costs(None, "cost", np.array([-1.0, 0.0]))


def test_market_logit_is_stationary_and_notices_separation():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(50, 3))
    ones, zeros = rng.uniform(0, 1, 50), rng.uniform(0, 1, 50)
    fit = market_logit(X, zeros, ones)
    mu = fit.probability(X)
    gradient = np.column_stack((np.ones(50), X)).T @ (ones - (ones + zeros) * mu)
    assert np.abs(gradient).max() < 1e-6
    assert not fit.separated
    apart = market_logit(X, (X[:, 0] < 0).astype(float), (X[:, 0] >= 0).astype(float))
    assert apart.separated
    assert np.isfinite(apart.coefficients).all()
