"""Cost models: what a person of covariates x costs, learnt from weighted members.

Health costs are skewed and often zero, so several named models stand beside plain least squares:

- ``"least-squares"``: the weighted least squares fit of a linear function; of minimum norm where the columns depend
  on each other (a level that no member has).
- ``"two-part"``: P(cost > 0 | x), a logistic regression, times E[cost | cost > 0, x], a gamma model with log link.
- ``"log"``: least squares on log cost, carried back by Duan's smearing factor Σ w e^r / Σ w over the residuals r.
- ``"gamma"``, ``"tweedie"``: generalised linear models with log link (scikit-learn); Tweedie has power 1.5.
- ``"multiplicative"``: a product of one factor for each column, e^(β₀ + βᵀx), by least squares on the costs themselves;
  zeros are allowed, and no smearing is needed because nothing is fitted to logarithms.

Any scikit-learn regressor that takes `sample_weight` may stand in their place. Rows that share their covariates are
pooled for the named models, which changes none of their solutions.

Who belongs to which market: logistic regression on counts per distinct row.

With masses n₁ and n₀ of ones and zeros on each row, scaled to a sum of 1, it is `shoal.logistic` with an intercept and
ρ = 1e-9, which only keeps the equations solvable where columns depend on each other. If ones and zeros can be told
apart (almost) perfectly there is no maximum; `separated` says so.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from shoal import logistic
from shoal.arrays import FloatArray, IntArray
from shoal.errors import ColumnError, ParameterError
from shoal.extras import need
from shoal.shift.people import ratio, sums_by

__all__ = [
    "MODELS",
    "Fitter",
    "MarketLogit",
    "Predictor",
    "check_costs",
    "fitter_of",
    "least_squares",
    "market_logit",
    "model_name",
]

Predictor: TypeAlias = Callable[[FloatArray], FloatArray]
Fitter: TypeAlias = Callable[[FloatArray, IntArray, FloatArray, FloatArray], Predictor]
"""From distinct rows X, the row of each member, costs y and weights w to a prediction for any rows."""
_LOGIT_RIDGE = 1e-9
_TOLD_APART = 1e-3  # mean log-loss below which ones and zeros don't overlap; no information is log 2
_TWEEDIE_POWER = 1.5
_RIDGE = 1e-8  # on the scale of the mean cost: only keeps dependent columns solvable


def fitter_of(model: Any) -> Fitter:
    """The fitter of a named model or of a scikit-learn regressor; anything else is an error that lists the names."""
    if model is None:
        return _fit_least_squares
    if isinstance(model, str):
        if model not in MODELS:
            raise ParameterError("MarketRisk", f"model must be one of {', '.join(MODELS)}", got=repr(model)[:40])
        return MODELS[model]
    return _fit_estimator(model)


def model_name(model: Any) -> str:
    """What a model is called in a report."""
    return "least-squares" if model is None else model if isinstance(model, str) else type(model).__name__


def check_costs(model: Any, name: str, y: FloatArray) -> None:
    """Refuse costs that the model can't take."""
    word = model if isinstance(model, str) else ""
    if word in ("log", "gamma") and (y <= 0).any():
        raise ColumnError(
            name,
            f"must be greater than 0 for the model '{word}'",
            got=f"{int((y <= 0).sum())} rows at 0 or below",
            hint="Use model='two-part' or 'tweedie', which allow zeros, or least squares.",
        )
    if word in ("two-part", "tweedie", "multiplicative") and ((y < 0).any() or not (y > 0).any()):
        raise ColumnError(
            name,
            f"must be at least 0, and not all 0, for the model '{word}'",
            got=f"{int((y < 0).sum())} rows below 0",
            hint="Use least squares, or correct the costs.",
        )


def least_squares(X: FloatArray, weights: FloatArray, targets: FloatArray) -> FloatArray:
    """Coefficients β, intercept first, of least Σ weights·(target − β₀ − βᵀx)²; of minimum norm if there are many.

    `weights` and `targets` may have leading dimensions: one fit for each.
    """
    Z = np.column_stack((np.ones(len(X)), X))
    gram = np.swapaxes(weights[..., None] * Z, -1, -2) @ Z
    right = (weights * targets) @ Z
    scale = np.sqrt(np.einsum("...ii->...i", gram))
    scale = np.where(scale > 0, scale, 1.0)
    balanced = gram / scale[..., :, None] / scale[..., None, :]
    inverse = np.linalg.pinv(balanced, rcond=1e-10, hermitian=True)
    solution: FloatArray = (inverse @ (right / scale)[..., None])[..., 0] / scale
    return solution


def _fit_least_squares(X: FloatArray, row: IntArray, y: FloatArray, w: FloatArray) -> Predictor:
    mass, mean = _pooled(len(X), row, y, w)
    return _linear(least_squares(X, mass, mean))


def _fit_log(X: FloatArray, row: IntArray, y: FloatArray, w: FloatArray) -> Predictor:
    mass, mean = _pooled(len(X), row, np.log(y), w)
    line = _linear(least_squares(X, mass, mean))
    smearing = float(w @ np.exp(np.log(y) - line(X)[row]) / w.sum())
    return lambda new: np.exp(line(new)) * smearing


def _fit_two_part(X: FloatArray, row: IntArray, y: FloatArray, w: FloatArray) -> Predictor:
    spends = y > 0
    ones = sums_by(row, w * spends, len(X))
    zeros = sums_by(row, w * ~spends, len(X))
    amount = _fit_gamma(X, row[spends], y[spends], w[spends])
    if zeros.sum() == 0:
        return amount
    any_cost = market_logit(X, zeros, ones)
    return lambda new: any_cost.probability(new) * amount(new)


def _fit_gamma(X: FloatArray, row: IntArray, y: FloatArray, w: FloatArray) -> Predictor:
    need("sklearn", "MarketRisk")
    from sklearn.linear_model import GammaRegressor

    return _fit_glm(GammaRegressor(alpha=_RIDGE, solver="newton-cholesky", max_iter=200, tol=1e-8), X, row, y, w)


def _fit_tweedie(X: FloatArray, row: IntArray, y: FloatArray, w: FloatArray) -> Predictor:
    return _fit_power(_TWEEDIE_POWER, X, row, y, w)


def _fit_multiplicative(X: FloatArray, row: IntArray, y: FloatArray, w: FloatArray) -> Predictor:
    return _fit_power(0.0, X, row, y, w)


def _fit_power(power: float, X: FloatArray, row: IntArray, y: FloatArray, w: FloatArray) -> Predictor:
    """A generalised linear model with log link and variance mean^power; power 0 is least squares."""
    need("sklearn", "MarketRisk")
    from sklearn.linear_model import TweedieRegressor

    solver = {"alpha": _RIDGE, "solver": "newton-cholesky", "max_iter": 200, "tol": 1e-8}
    return _fit_glm(TweedieRegressor(power=power, link="log", **solver), X, row, y, w)


def _fit_glm(model: Any, X: FloatArray, row: IntArray, y: FloatArray, w: FloatArray) -> Predictor:
    mass, mean = _pooled(len(X), row, y, w)
    there = mass > 0
    unit = float(mass @ mean / mass.sum())
    fitted = _quietly(model, X[there], mean[there] / unit, mass[there] / mass[there].mean())
    return lambda new: np.asarray(fitted.predict(new), dtype=np.float64) * unit


def _fit_estimator(model: Any) -> Fitter:
    name = _weight_parameter(model)

    def fit(X: FloatArray, row: IntArray, y: FloatArray, w: FloatArray) -> Predictor:
        from sklearn.base import clone

        there = w > 0
        fitted = clone(model).fit(X[row[there]], y[there], **{name: w[there] / w[there].mean()})
        return lambda new: np.asarray(fitted.predict(new), dtype=np.float64).reshape(-1)

    return fit


def _weight_parameter(model: Any) -> str:
    """The name by which a regressor takes sample weights; a pipeline hands them to its last step."""
    rule = "model must be a named model or a scikit-learn regressor that takes sample_weight"
    if not (hasattr(model, "fit") and hasattr(model, "predict") and hasattr(model, "get_params")):
        raise ParameterError("MarketRisk", rule, got=type(model).__name__, hint=f"Names: {', '.join(MODELS)}.")
    steps = getattr(model, "steps", None)
    last = model if steps is None else steps[-1][1]
    if "sample_weight" not in inspect.signature(last.fit).parameters:
        raise ParameterError("MarketRisk", rule, got=type(last).__name__)
    return "sample_weight" if steps is None else f"{steps[-1][0]}__sample_weight"


def _quietly(model: Any, X: FloatArray, y: FloatArray, w: FloatArray) -> Any:
    """Fit on one thread, since the tables are small, and without the solver's remarks about dependent columns.

    Its fallback finds the same prediction.
    """
    with warnings.catch_warnings(), _pools().limit(limits=1):
        warnings.simplefilter("ignore")
        return model.fit(X, y, sample_weight=w)


@cache
def _pools() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _pooled(n: int, row: IntArray, y: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weight and weighted mean of the members on each distinct row."""
    mass = sums_by(row, w, n)
    return mass, ratio(sums_by(row, w * y, n), mass)


def _linear(beta: FloatArray) -> Predictor:
    return lambda X: beta[0] + X @ beta[1:]


MODELS: dict[str, Fitter] = {
    "least-squares": _fit_least_squares,
    "two-part": _fit_two_part,
    "log": _fit_log,
    "gamma": _fit_gamma,
    "tweedie": _fit_tweedie,
    "multiplicative": _fit_multiplicative,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketLogit:
    """Coefficients, the intercept first."""

    coefficients: FloatArray
    separated: bool

    def log_odds(self, X: FloatArray) -> FloatArray:
        """βᵀx without the intercept."""
        odds: FloatArray = X @ self.coefficients[1:]
        return odds

    def probability(self, X: FloatArray) -> FloatArray:
        """μ(x)."""
        return logistic.sigmoid(self.log_odds(X) + self.coefficients[0])


def market_logit(X: FloatArray, zeros: FloatArray, ones: FloatArray) -> MarketLogit:
    """Fit the masses `ones` against `zeros` on the rows of X."""
    total = zeros.sum() + ones.sum()
    rows = logistic.Matrix.with_constant(X)
    fit = logistic.newton_logit(rows, np.multiply(ones, 1 / total), (zeros + ones) / total, ridge=_LOGIT_RIDGE)
    return MarketLogit(coefficients=fit.coefficients, separated=fit.loss < _TOLD_APART)
