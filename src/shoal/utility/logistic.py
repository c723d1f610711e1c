"""Logistic regression by Newton's method, steady on separable data.

Maximises the log-likelihood less λ|b|²/2 with λ = 1e-4: without effect where the data have a say, and a finite answer
where they separate the classes. The curvature costs by far the most, so it is kept for the next steps as long as each
gains at most a tenth of what the step before gained.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray
from shoal.utility.design import Design

__all__ = ["logistic_probabilities"]

_RIDGE = 1e-4
_SMALL = 1e-9  # of the loss: a step that gains no more is the last
_SLOW = 0.1


def logistic_probabilities(design: Design, labels: FloatArray, most_steps: int = 40) -> tuple[FloatArray, bool]:
    """Fitted probabilities of label 1, and whether the steps converged."""
    coefficients, curvature, gained = np.zeros(design.width), None, np.inf
    loss = _loss(design.dot(coefficients), labels, coefficients)
    for _ in range(most_steps):
        chances = _logistic(design.dot(coefficients))
        slope = design.cross(labels - chances) - _RIDGE * coefficients
        is_fresh = curvature is None
        if curvature is None:
            curvature = design.gram(chances * (1 - chances)) + _RIDGE * np.eye(design.width)
        step: FloatArray = np.linalg.solve(curvature, slope).astype(np.float64)
        coefficients, new_loss = _descend(design, labels, coefficients, step, loss)
        gain, loss = loss - new_loss, new_loss
        if gain <= _SMALL * (abs(loss) + _SMALL) and (is_fresh or gain <= _SLOW * gained):
            return _logistic(design.dot(coefficients)), True
        curvature, gained = (curvature if gain <= _SLOW * gained else None), gain
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
