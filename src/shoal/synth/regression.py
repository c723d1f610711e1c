"""Regressions of one column on the others: multinomial logistic for cells, linear for numbers.

Regressors are indicators of the cells of nominal columns and the standardised position of ordinal and binned ones (a
missing cell has an indicator of its own).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.domain import Axis, Domain

__all__ = ["Logistic", "features", "fit_logistic", "indicator_block", "logistic_of", "solve_logistic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Logistic:
    """Coefficients of a multinomial logistic regression of column `column`; cells never seen have probability 0."""

    domain: Domain
    column: int
    others: tuple[int, ...]
    cells: IntArray
    coefficients: FloatArray
    intercepts: FloatArray

    def probabilities(self, codes: IntArray) -> FloatArray:
        """Probability of every cell, row by row."""
        out = np.zeros((len(codes), self.domain.sizes[self.column]))
        if len(self.cells) == 1:
            out[:, self.cells[0]] = 1.0
            return out
        scores = features(self.domain, codes, self.others) @ self.coefficients.T + self.intercepts
        scores -= scores.max(axis=1, keepdims=True)
        e = np.exp(scores)
        out[:, self.cells] = e / e.sum(axis=1, keepdims=True)
        return out


def fit_logistic(domain: Domain, codes: IntArray, column: int) -> Logistic:
    """Fit column `column` to all others."""
    others = tuple(j for j in range(len(domain.axes)) if j != column)
    return logistic_of(domain, codes, column, others)


def logistic_of(domain: Domain, codes: IntArray, column: int, others: Sequence[int]) -> Logistic:
    """Fit column `column` to the columns `others`, with a mild ridge penalty."""
    cells, y = np.unique(codes[:, column], return_inverse=True)
    X = features(domain, codes, others)
    if len(cells) == 1:
        coefficients, intercepts = np.zeros((1, X.shape[1])), np.zeros(1)
    else:
        coefficients, intercepts = solve_logistic(X, y, len(cells))
    return Logistic(
        domain=domain,
        column=column,
        others=tuple(others),
        cells=cells.astype(np.int64),
        coefficients=coefficients,
        intercepts=intercepts,
    )


def features(domain: Domain, codes: IntArray, columns: Sequence[int]) -> FloatArray:
    """Regressors of the columns, one after the other; at least one column of zeros."""
    parts = [indicator_block(domain.axes[j], codes[:, j]) for j in columns]
    return np.asarray(np.hstack(parts) if parts else np.zeros((len(codes), 1)), dtype=np.float64)


def indicator_block(axis: Axis, cells: IntArray) -> FloatArray:
    """One column as regressors: an indicator for each level; for ordered levels the place and its square."""
    if axis.kind == "nominal":
        return np.asarray(cells[:, None] == np.arange(axis.size), dtype=np.float64)
    known = cells < axis.n_known
    half = max(1.0, (axis.n_known - 1) / 2)
    position = np.where(known, (cells - half) / half, 0.0)
    parts = [position, position**2]
    return np.column_stack([*parts, ~known] if axis.has_missing else parts).astype(np.float64)


def solve_logistic(X: FloatArray, y: IntArray, C: int) -> tuple[FloatArray, FloatArray]:
    """Coefficients and intercepts of a multinomial logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):  # small matrices: threads only wait for each other
        warnings.simplefilter("ignore")  # a fit that stopped early is a model too, and the claim doesn't depend on it
        model = LogisticRegression(C=1.0, max_iter=60, tol=1e-3).fit(X, y)
    coefficients, intercepts = model.coef_, model.intercept_
    if C == 2:
        return np.vstack([-coefficients, coefficients]) / 2, np.concatenate([-intercepts, intercepts]) / 2
    return coefficients, intercepts
