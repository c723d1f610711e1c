"""Crossed regression: the slope from a second set of means, after the first set's own effects are taken out.

One set of means shows slopes *between* its groups, which confounding bends. A second set that crosses the first shows,
inside the first's groups, the slope that is wanted. With A₁ the first set and A₂ the others,

    s₂ − A₂A₁⁺s₁ ≈ A₂(X − A₁⁺A₁X) β,   groups weighted by size;      ŷ = A₁⁺s₁ + (X − A₁⁺A₁X) β  (+ A⁺(s − Aŷ)).

Whatever is the same for everybody in a first-set group cancels on both sides. Right if slopes are the same in all
groups and the second set's groups differ in nothing that moves y and X lacks: put into X what that set is made of.
`held_out_error` measures methods by a set that they did not see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from shoal.aggregate.covariates import covariates
from shoal.aggregate.problem import Problem, pose
from shoal.aggregate.published import Aggregate
from shoal.aggregate.reconstruction import Fit, Reconstructor
from shoal.arrays import FloatArray, Generator
from shoal.errors import ParameterError
from shoal.params import Help

__all__ = ["CrossedRegression", "held_out_error"]

_FLAT = 1e-8  # of the largest singular value: directions in which the second set does not vary


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedRegression(Reconstructor):
    """Slopes from a second set of means that crosses the first, applied inside the first set's groups.

    Needs two sets or more; the order of the sets matters: the first one's groups may be confounded, the others should
    not be. Exact if y is a first-set effect plus linear in X, and the sets cross in as many ways as X has columns.

    Parameters
    ----------
    correct
        Match all sets afterwards. Off matches the first alone.

    Notes
    -----
    Weights enter the means. Directions of X that do not vary over the other sets inside the first have slope 0, with a
    warning. Cost: one pass over the rows for each set.

    Examples
    --------
    >>> from shoal.aggregate import Aggregate, CrossedRegression
    >>> X = [[0.0], [1.0], [0.0], [1.0]]
    >>> hospital = Aggregate(by=["a", "a", "b", "b"], mean={"a": 1.0, "b": 11.0})
    >>> severity = Aggregate(by=["low", "high", "low", "high"], mean={"low": 5.0, "high": 7.0})
    >>> CrossedRegression().reconstruct(X, [hospital, severity]).values.round(6).tolist()
    [0.0, 2.0, 10.0, 12.0]
    """

    correct: Annotated[bool, Help("shift groups so that all aggregates match")] = True

    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        if len(problem.sets) < 2:
            raise ParameterError(
                "CrossedRegression",
                "aggregates must hold two crossing sets",
                got="1 set",
                hint="With one set of means use Ludia.",
            )
        first = problem.sets[0]
        inside = problem.X - problem.mu - problem.B[: first.p][first.labels]
        T = np.column_stack([problem.means(inside[:, j])[first.p :] for j in range(problem.m)])
        start = problem.s[: first.p]
        gap = problem.s[first.p :] - problem.means(start[first.labels])[first.p :]
        beta, flat = _least_squares(T, gap, problem.mass[first.p :], problem.sd)
        nu = np.concatenate([first.mass * (start - problem.B[: first.p] @ beta), np.zeros(problem.p - first.p)])
        said = (
            f"{flat} direction(s) of the covariates do not vary over the other sets inside '{first.name}': slope 0"
            if flat
            else ""
        )
        return Fit(beta=beta, nu=nu, warnings=(said,) if said else ())


def held_out_error(
    method: Reconstructor,
    X: Any,
    aggregates: Sequence[Aggregate],
    *,
    weights: Any = None,
    log: bool = False,
    seed: int = 0,
) -> float:
    """How far a method that sees all sets but the last is from the last set's means (root mean square by group size).

    This can choose between methods, as differences of a crossing set inside the first groups show the slope that is
    wanted; leaving groups of the same set out can't.
    """
    if len(aggregates) < 2:
        raise ParameterError("held_out_error", "aggregates must hold two sets or more", got=f"{len(aggregates)}")
    found = method.reconstruct(X, aggregates[:-1], weights=weights, log=log, seed=seed)
    problem = pose(covariates(X), [aggregates[-1]], weights)
    gap = problem.means(found.values) - problem.known
    return float(np.sqrt(np.average(gap**2, weights=problem.mass)))


def _least_squares(T: FloatArray, gap: FloatArray, mass: FloatArray, sd: FloatArray) -> tuple[FloatArray, int]:
    """Weighted least squares of minimum norm on standardised columns, and how many directions are flat."""
    if T.shape[1] == 0:
        return np.zeros(0), 0
    root = np.sqrt(mass / mass.mean())
    U, d, Vt = np.linalg.svd(root[:, None] * T / sd, full_matrices=False)
    there = d > max(_FLAT, _FLAT * float(d[0]))
    beta = Vt[there].T @ ((U[:, there].T @ (root * gap)) / d[there])
    return np.asarray(beta / sd, dtype=np.float64), int(T.shape[1] - there.sum())
