"""Weighted logistic regression by Newton's method, on counts per distinct row.

With masses n₁ and n₀ of ones and zeros on each row x, it maximises

    Σ n₁ log μ(x) + n₀ log(1 − μ(x)) − ρ/2·|β|²,     μ(x) = 1 / (1 + exp(−β₀ − βᵀx)),

where the masses are scaled to a sum of 1 and ρ = 1e-9 only keeps the equations solvable where columns depend on each
other. If ones and zeros can be told apart (almost) perfectly there is no maximum; `separated` says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray

__all__ = ["Logit", "newton_logit"]

_RIDGE = 1e-9
_ITERATIONS = 60
_TOLD_APART = 1e-3  # mean log-loss below which ones and zeros don't overlap; no information is log 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Logit:
    """Coefficients, the intercept first."""

    coefficients: FloatArray
    separated: bool

    def log_odds(self, X: FloatArray) -> FloatArray:
        """βᵀx without the intercept."""
        odds: FloatArray = X @ self.coefficients[1:]
        return odds

    def probability(self, X: FloatArray) -> FloatArray:
        """μ(x)."""
        return _sigmoid(self.log_odds(X) + self.coefficients[0])


def newton_logit(X: FloatArray, zeros: FloatArray, ones: FloatArray) -> Logit:
    """Fit the masses `ones` against `zeros` on the rows of X."""
    total = zeros.sum() + ones.sum()
    zeros, both = np.multiply(zeros, 1 / total), np.multiply(zeros + ones, 1 / total)
    Z = np.column_stack((np.ones(len(X)), X))
    beta: FloatArray = np.zeros(Z.shape[1])
    value = _loss(Z, beta, zeros, both)
    for _ in range(_ITERATIONS):
        step = _step(Z, beta, zeros, both)
        beta, new = _descend(Z, beta, step, zeros, both, value)
        if value - new < 1e-14:
            break
        value = new
    return Logit(coefficients=beta, separated=value < _TOLD_APART)


def _step(Z: FloatArray, beta: FloatArray, zeros: FloatArray, both: FloatArray) -> FloatArray:
    mu = _sigmoid(Z @ beta)
    gradient = Z.T @ (both * mu - (both - zeros)) + _RIDGE * beta
    hessian: FloatArray = (Z * (both * mu * (1 - mu))[:, None]).T @ Z
    hessian[np.diag_indices_from(hessian)] += _RIDGE
    return np.linalg.solve(hessian, gradient).astype(np.float64)


def _descend(
    Z: FloatArray, beta: FloatArray, step: FloatArray, zeros: FloatArray, both: FloatArray, value: float
) -> tuple[FloatArray, float]:
    """The Newton step, halved until it gains."""
    for _ in range(30):
        trial = beta - step
        new = _loss(Z, trial, zeros, both)
        if new <= value:
            return trial, new
        step = step / 2
    return beta, value


def _loss(Z: FloatArray, beta: FloatArray, zeros: FloatArray, both: FloatArray) -> float:
    eta = Z @ beta
    ones = both - zeros
    return float(both @ np.logaddexp(0.0, eta) - ones @ eta + 0.5 * _RIDGE * beta @ beta)


def _sigmoid(eta: FloatArray) -> FloatArray:
    out: FloatArray = np.exp(-np.logaddexp(0.0, -eta))
    return out
