"""Logistic regression by Newton's method, steady on separable data.

Maximises the log-likelihood less λ|b|²/2 with λ = 1e-4: without effect where the data have a say, and a finite answer
where they separate the classes.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray
from shoal.utility.design import Design

__all__ = ["logistic_probabilities"]

_RIDGE = 1e-4


def logistic_probabilities(design: Design, labels: FloatArray, most_steps: int = 40) -> tuple[FloatArray, bool]:
    """Fitted probabilities of label 1, and whether the steps converged."""
    coefficients = np.zeros(design.width)
    loss = _loss(design.dot(coefficients), labels, coefficients)
    for _ in range(most_steps):
        chances = _logistic(design.dot(coefficients))
        slope = design.cross(labels - chances) - _RIDGE * coefficients
        curvature = design.gram(chances * (1 - chances)) + _RIDGE * np.eye(design.width)
        step: FloatArray = np.linalg.solve(curvature, slope).astype(np.float64)
        coefficients, new_loss = _descend(design, labels, coefficients, step, loss)
        if loss - new_loss <= 1e-9 * (abs(loss) + 1e-9):
            return _logistic(design.dot(coefficients)), True
        loss = new_loss
    return _logistic(design.dot(coefficients)), False


def _descend(
    design: Design, labels: FloatArray, start: FloatArray, step: FloatArray, loss: float
) -> tuple[FloatArray, float]:
    """The Newton step, halved until it does not raise the loss."""
    for halvings in range(30):
        moved = start + step / 2**halvings
        new_loss = _loss(design.dot(moved), labels, moved)
        if new_loss <= loss:
            return moved, new_loss
    return start, loss


def _loss(scores: FloatArray, labels: FloatArray, coefficients: FloatArray) -> float:
    return float(np.sum(np.logaddexp(0.0, scores) - labels * scores)) + _RIDGE / 2 * float(coefficients @ coefficients)


def _logistic(scores: FloatArray) -> FloatArray:
    return np.exp(-np.logaddexp(0.0, -scores))
