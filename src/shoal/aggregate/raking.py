"""Raking: scale positive values group by group until their means are the aggregates.

For one set of groups one step is exact: v_i s_g / mean_g(v). Stacked sets take turns (iterative proportional fitting)
until no mean is off, or until the turns stop helping because the sets contradict each other.
"""

from __future__ import annotations

import numpy as np

from shoal.aggregate.problem import Problem
from shoal.arrays import FloatArray

__all__ = ["raked"]

_CLOSE = 1e-12
_MOST_TURNS = 500


def raked(problem: Problem, values: FloatArray) -> FloatArray:
    """Positive `values` whose group means are exp of the problem's (logged) aggregates, as nearly as they can be."""
    for _ in range(1 if len(problem.sets) == 1 else _MOST_TURNS):
        values, change = _turn(problem, values)
        if change < _CLOSE:
            break
    return values


def _turn(problem: Problem, values: FloatArray) -> tuple[FloatArray, float]:
    change = 0.0
    for groups in problem.sets:
        weighted = values if problem.weights is None else problem.weights * values
        ratio = np.exp(groups.s) * groups.mass / np.bincount(groups.labels, weighted, minlength=groups.p)
        values = values * ratio[groups.labels]
        change = max(change, float(np.abs(ratio - 1).max()))
    return values, change
