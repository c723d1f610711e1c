"""How good a prediction is, person by person and for a group of m people.

With weights v, predictions ŷ and costs y, ȳ = Σvy / Σv:

    relative bias  b̄ = (Σvŷ − Σvy) / Σvy          (predicted minus true)
    R²             1 − Σv(ŷ − y)² / Σv(y − ȳ)²     (the weighted variance of the population it is used on)

and the relative error ε̄ of the mean cost of m people has (Wei, Ramamurthy and Varshney 2015, equation 3.6)

    E[ε̄²] ≈ (m − 1)/m · b̄² + (1 − R²)/m · var(Y)/E[Y]².

The second term shrinks with m, the first doesn't: for large groups bias is what counts.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray

__all__ = ["group_error", "r_squared", "relative_bias"]


def relative_bias(predicted: FloatArray, costs: FloatArray, weights: FloatArray | None = None) -> float:
    """Predicted minus true weighted mean, as a share of the true one.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.shift import relative_bias
    >>> relative_bias(np.array([110.0, 110.0]), np.array([50.0, 150.0]))
    0.1
    """
    v = np.ones_like(costs) if weights is None else weights
    return float(v @ (predicted - costs) / (v @ costs))


def r_squared(predicted: FloatArray, costs: FloatArray, weights: FloatArray | None = None) -> float:
    """Share of the weighted variance of the costs that the predictions explain; negative if they add to it."""
    v = np.ones_like(costs) if weights is None else weights
    mean = v @ costs / v.sum()
    spread = float(v @ (costs - mean) ** 2)
    return 1.0 - float(v @ (predicted - costs) ** 2) / spread if spread > 0 else float("nan")


def group_error(m: float, bias: float, r_squared: float, cv_squared: float) -> float:
    """Root mean squared relative error of the mean cost of `m` people, equation (3.6).

    Parameters
    ----------
    m
        Number of people.
    bias
        Relative bias b̄.
    r_squared
        R² of single predictions.
    cv_squared
        var(Y) / E[Y]², 5 to 10 for health costs.

    Examples
    --------
    >>> from shoal.shift import group_error
    >>> round(group_error(10_000, 0.03, 0.03, 7.0), 4)
    0.0397
    """
    return float(np.sqrt((m - 1) / m * bias**2 + (1 - r_squared) / m * cv_squared))
