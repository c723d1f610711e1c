"""The Moore-Penrose solution: everybody has the mean of their group.

    ŷ = A⁺ s,    A⁺ = Aᵀ(AAᵀ)⁻¹                                        (the paper prints A for Aᵀ)

is the shortest y with the given aggregates; covariates play no part. With weights it is D⁻¹Aᵀ(AD⁻¹Aᵀ)⁺s, still the
group mean; with stacked sets it adds up offsets of the groups a row is in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.aggregate.problem import Problem
from shoal.aggregate.reconstruction import Fit, Reconstructor
from shoal.arrays import Generator

__all__ = ["PseudoInverse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudoInverse(Reconstructor):
    """Give every row its group's mean: the plain guess that other methods must beat.

    Promised: the values' group means are the aggregates, to rounding, unless stacked sets contradict each other. On
    real hospital charges with many covariates it beat every regression, because hospitals differed in what covariates
    didn't show.

    Notes
    -----
    Covariates don't enter. Cost: linear in the rows; the cube of the number of groups for stacked sets.

    Examples
    --------
    >>> from shoal.aggregate import Aggregate, PseudoInverse
    >>> groups = Aggregate(by=[0, 0, 1], mean=[2.0, 5.0])
    >>> PseudoInverse().reconstruct([[1.0], [3.0], [4.0]], [groups]).values.tolist()
    [2.0, 2.0, 5.0]
    """

    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        return Fit(beta=np.zeros(problem.m))
