"""Random intercepts and slopes by group, fitted to what a method leaves of the aggregates (4.4.1).

With G the rows' indicators of the first set's groups, and their products with the covariates that get slopes,

    v_a = ((AG)ᵀ W AG)⁺ (AG)ᵀ W (s − A ŷ),        ŷ += G v_a.

For intercepts alone AG is the identity and v_a = s − Aŷ: **that is the correction line**, nothing is gained by it. With
slopes there are more unknowns than groups: of all v_a that fit, the shortest is taken, covariates standardised so that
"shortest" doesn't depend on their units. It isn't identified: groups with an average case mix get no slope at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoal.aggregate.problem import Problem
from shoal.aggregate.reconstruction import Fit
from shoal.arrays import FloatArray

__all__ = ["random_effects"]

_NULL = 1e-10


def random_effects(problem: Problem, fit: Fit, columns: Sequence[int], *, intercepts: bool) -> Fit:
    """The fit with random effects by the groups of the first set added to its rows."""
    nu = np.zeros(problem.p) if fit.nu is None else fit.nu
    gap = problem.s - (fit.level + problem.spectrum.times(nu) + problem.B @ fit.beta)
    Z = _effect_columns(problem, columns, intercepts)
    v_a = _closed(problem, Z, gap) if len(problem.sets) == 1 else _least_squares(problem, Z, gap)
    labels = problem.sets[0].labels
    rows = np.einsum("ij,ij->i", Z, v_a[labels])
    names = [*(["intercept"] if intercepts else []), *(problem.names[j] for j in columns)]
    said = ("random slopes are not identified by group means: the smallest that fit are taken",) if columns else ()
    effects = {name: (problem.scale * v_a[:, k]).tolist() for k, name in enumerate(names)}
    return replace(fit, rows=rows, warnings=(*fit.warnings, *said), details={**fit.details, "effects": effects})


def _effect_columns(problem: Problem, columns: Sequence[int], intercepts: bool) -> FloatArray:
    chosen = list(columns)
    slopes = (problem.X[:, chosen] - problem.mu[chosen]) / problem.sd[chosen]
    return np.column_stack((np.ones(problem.n), slopes)) if intercepts else slopes


def _closed(problem: Problem, Z: FloatArray, gap: FloatArray) -> FloatArray:
    """One set: each group has one equation z̄ᵀv = gap, whose shortest solution is z̄ gap / |z̄|²."""
    means = np.column_stack([problem.means(Z[:, k]) for k in range(Z.shape[1])])
    length = (means**2).sum(axis=1)
    share = np.where(length > _NULL, gap / np.where(length > _NULL, length, 1.0), 0.0)
    return means * share[:, None]


def _least_squares(problem: Problem, Z: FloatArray, gap: FloatArray) -> FloatArray:
    """Stacked sets: the shortest of the weighted least squares solutions, with the first set's effects seen by all."""
    first, q = problem.sets[0], Z.shape[1]
    AG = np.concatenate([_seen(problem, Z, at) for at in range(len(problem.sets))])
    root = 1 / np.sqrt(problem.spectrum.sigma)
    rotate = problem.spectrum.rotate
    found = np.linalg.lstsq(root[:, None] * rotate(AG), root * rotate(gap), rcond=_NULL)[0]
    return np.ascontiguousarray(found.reshape(first.p, q))


def _seen(problem: Problem, Z: FloatArray, at: int) -> FloatArray:
    """Mean of each effect column in each group of set `at`."""
    first, groups = problem.sets[0], problem.sets[at]
    keys = groups.labels * first.p + first.labels
    w = np.ones(problem.n) if problem.weights is None else problem.weights
    blocks = [np.bincount(keys, w * Z[:, k], minlength=groups.p * first.p) for k in range(Z.shape[1])]
    table = np.stack(blocks, axis=-1).reshape(groups.p, first.p * Z.shape[1])
    out: FloatArray = table / groups.mass[:, None]
    return out
