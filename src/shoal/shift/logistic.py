"""Who belongs to which market: logistic regression on counts per distinct row.

With masses n₁ and n₀ of ones and zeros on each row, scaled to a sum of 1, it is `shoal.logistic` with an intercept and
ρ = 1e-9, which only keeps the equations solvable where columns depend on each other. If ones and zeros can be told
apart (almost) perfectly there is no maximum; `separated` says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal import logistic
from shoal.arrays import FloatArray

__all__ = ["MarketLogit", "market_logit"]

_RIDGE = 1e-9
_TOLD_APART = 1e-3  # mean log-loss below which ones and zeros don't overlap; no information is log 2


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
    fit = logistic.newton_logit(rows, np.multiply(ones, 1 / total), (zeros + ones) / total, ridge=_RIDGE)
    return MarketLogit(coefficients=fit.coefficients, separated=fit.loss < _TOLD_APART)
