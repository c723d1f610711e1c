"""What stands against trusting a reconstruction, said in words and counts, never in a cell's value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np

from shoal.aggregate.design import Groups
from shoal.aggregate.problem import Problem

__all__ = ["remarks"]

_OTHER_UNIT = 5.0  # ratio of two sets' overall means, or spreads, beyond which they look like different units
_FAR_OUT = 100.0  # a group's mean over the median of all, beyond which it looks like another unit
_CONTRADICTION = 1e-6  # of the spread of the means; less is rounding
_SMALL = 5


def remarks(problem: Problem, constant: Sequence[str]) -> tuple[str, ...]:
    """Warnings that hold for every method."""
    return (*_about_covariates(problem, constant), *_about_groups(problem), *_about_units(problem))


def _about_covariates(problem: Problem, constant: Sequence[str]) -> Iterator[str]:
    if constant:
        yield f"{len(constant)} covariate(s) without variation were left out"
    if problem.m == 0:
        yield "no covariate varies: every method gives the group means"
    if problem.n <= problem.m:
        yield f"fewer rows than covariates: {problem.n} rows, {problem.m} covariates"
    independent = len(problem.spectrum.sigma)
    if problem.m > 0 and independent < problem.m + 1:
        yield (
            f"fewer groups than covariates: {independent} independent groups, {problem.m} covariates and an intercept; "
            "slopes are not identified, the smallest that fit are taken"
        )


def _about_groups(problem: Problem) -> Iterator[str]:
    if problem.p == 1:
        yield "one group only: its mean says nothing about slopes"
    small = sum(int((groups.sizes < _SMALL).sum()) for groups in problem.sets)
    if small:
        yield f"{small} group(s) have fewer than {_SMALL} rows: their aggregate comes close to giving values away"
    for (i, finer), (j, coarser) in permutations(enumerate(problem.sets), 2):
        if _nested(finer, coarser) and (finer.p > coarser.p or i < j):
            yield f"the set '{coarser.name}' adds nothing: its groups are unions of groups of '{finer.name}'"
    centred = problem.known - problem.known.mean()
    gap = np.abs(centred - problem.spectrum.project(centred)).max() / (centred.std() or 1.0)
    if gap > _CONTRADICTION:
        yield (
            f"stacked sets contradict each other by up to {gap:.2g} times the spread of the means: no values match "
            "them all; they are matched as nearly as possible"
        )


def _nested(finer: Groups, coarser: Groups) -> bool:
    """Whether every group of `finer` lies in one group of `coarser`."""
    return len(np.unique(finer.labels * coarser.p + coarser.labels)) == finer.p


def _about_units(problem: Problem) -> Iterator[str]:
    known = problem.known
    typical = float(np.median(np.abs(known)))
    far = int((np.abs(known) > _FAR_OUT * typical).sum()) if typical > 0 else 0
    if far:
        yield f"{far} aggregate(s) are more than {_FAR_OUT:.0f} times the typical one: check their units"
    levels = [float(groups.mass @ problem.published(groups.s) / groups.mass.sum()) for groups in problem.sets]
    for groups, level in zip(problem.sets[1:], levels[1:], strict=True):
        if _ratio(level, levels[0]) > _OTHER_UNIT:
            yield (
                f"the sets '{problem.sets[0].name}' and '{groups.name}' have overall means that differ by a factor of "
                f"{_ratio(level, levels[0]):.3g}: check their units"
            )


def _ratio(a: float, b: float) -> float:
    low, high = sorted((abs(a), abs(b)))
    return high / low if low > 0 else (1.0 if high == 0 else np.inf)
