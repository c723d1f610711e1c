"""Logistic regression by Newton's method, the one that everything here uses.

With masses n₁ of ones among n on each row x of a design, it minimises

    Σ n log(1 + exp(βᵀx)) − n₁ βᵀx + ρ/2·|β|²,     μ(x) = 1 / (1 + exp(−βᵀx)),

each step halved until it gains. A small ρ keeps the equations solvable where columns depend on each other, and the
answer finite where ones and zeros can be told apart; it has no effect where the data have a say. Where the curvature
costs by far the most, `reuse` keeps it for the next step as long as that gains at most this part of the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shoal.arrays import FloatArray

__all__ = ["Logit", "Matrix", "Rows", "newton_logit", "sigmoid"]


class Rows(Protocol):
    """A design: rows x, the constant among their columns, that need not be written out."""

    @property
    def width(self) -> int:
        """How many columns it has."""

    def dot(self, coefficients: FloatArray) -> FloatArray:
        """βᵀx of every row."""

    def cross(self, values: FloatArray) -> FloatArray:
        """Σ value·x over the rows."""

    def gram(self, weights: FloatArray) -> FloatArray:
        """Σ weight·x xᵀ over the rows."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Rows that are written out."""

    rows: FloatArray

    @classmethod
    def with_constant(cls, X: FloatArray) -> Matrix:
        """The rows of X with a first column of ones."""
        return cls(np.column_stack((np.ones(len(X)), X)))

    @property
    def width(self) -> int:
        """How many columns it has."""
        return int(self.rows.shape[1])

    def dot(self, coefficients: FloatArray) -> FloatArray:
        """βᵀx of every row."""
        out: FloatArray = self.rows @ coefficients
        return out

    def cross(self, values: FloatArray) -> FloatArray:
        """Σ value·x over the rows."""
        out: FloatArray = self.rows.T @ values
        return out

    def gram(self, weights: FloatArray) -> FloatArray:
        """Σ weight·x xᵀ over the rows."""
        out: FloatArray = (self.rows * weights[:, None]).T @ self.rows
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Logit:
    """A fit: coefficients, the loss they reach, and whether the steps converged."""

    coefficients: FloatArray
    loss: float
    converged: bool


def newton_logit(
    design: Rows,
    ones: FloatArray,
    masses: FloatArray | float = 1.0,
    *,
    ridge: float,
    tolerance: float = 1e-14,
    reuse: float = 0.0,
    most_steps: int = 60,
) -> Logit:
    """Fit the masses `ones` among `masses` on the rows of `design`.

    It ends at a step that gains at most `tolerance` of the loss (and, with a curvature kept, at most `reuse` of the
    step before).

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.logistic import Matrix, newton_logit
    >>> fit = newton_logit(Matrix(np.ones((4, 1))), np.array([1.0, 1.0, 1.0, 0.0]), ridge=1e-9)
    >>> round(float(fit.coefficients[0]), 6)  # log 3
    1.098612
    """
    beta, curvature, gained = np.zeros(design.width), None, np.inf
    loss = _loss(design.dot(beta), beta, ones, masses, ridge)
    for _ in range(most_steps):
        mu = sigmoid(design.dot(beta))
        is_fresh = curvature is None
        if curvature is None:
            curvature = design.gram(masses * mu * (1 - mu)) + ridge * np.eye(design.width)
        step: FloatArray = np.linalg.solve(curvature, design.cross(ones - masses * mu) - ridge * beta).astype(
            np.float64
        )
        beta, new = _descend(design, beta, step, ones, masses, ridge, loss)
        gain, loss = loss - new, new
        if gain <= tolerance * (abs(loss) + tolerance) and (is_fresh or gain <= reuse * gained):
            return Logit(coefficients=beta, loss=loss, converged=True)
        curvature, gained = (curvature if gain <= reuse * gained else None), gain
    return Logit(coefficients=beta, loss=loss, converged=False)


def sigmoid(scores: FloatArray) -> FloatArray:
    """1 / (1 + exp(−score)), without overflow."""
    out: FloatArray = np.exp(-np.logaddexp(0.0, -scores))
    return out


def _descend(
    design: Rows,
    start: FloatArray,
    step: FloatArray,
    ones: FloatArray,
    masses: FloatArray | float,
    ridge: float,
    loss: float,
) -> tuple[FloatArray, float]:
    """The Newton step, halved until it does not raise the loss."""
    for halvings in range(30):
        moved = start + step / 2**halvings
        new = _loss(design.dot(moved), moved, ones, masses, ridge)
        if new <= loss:
            return moved, new
    return start, loss


def _loss(scores: FloatArray, beta: FloatArray, ones: FloatArray, masses: FloatArray | float, ridge: float) -> float:
    fit = np.sum(masses * np.logaddexp(0.0, scores) - ones * scores)
    return float(fit) + ridge / 2 * float(beta @ beta)
