"""LUDIA: low-rank factorisation using different levels of aggregation (Park, chapter 4).

[X y] ≈ U[V_xᵀ v_yᵀ] with U tied to the groups through Π ≈ AU, by alternating minimisation of

    ‖X − U V_xᵀ‖² + ‖√W (s − Π v_y)‖² + ‖A U − Π‖²,    W = (AAᵀ)⁻¹,                (4.9)

from the SVD of [X ȳ], ȳ = A⁺s. Then ŷ = U v_y, and the correction ŷ += A⁺(s − Aŷ).

What the paper doesn't say:

- The objective is degenerate: U = cX, v_y = b/c with a fitting Π sends it to 0 for every b as c → 0, so its minimum
  knows nothing. **The number of iterations is the tuning knob**: few give group means, more move towards ecological
  regression, many diverge.
- Every U is XM + AᵀN, so ŷ is a common slope plus an offset per group; after the correction, with one set of groups,
  LUDIA and ecological regression differ in the slope alone.
- Without an intercept everything collapses as soon as y's level isn't 0; here one is always added.
- Rescaling y or X changes the answer. y is centred and divided by a guess of its spread from its known means; X is
  standardised unless `standardise` is off, which was as good or better on average in all families of tables tried.
- ``printed=True`` is Algorithm 2 letter by letter, for comparison: no intercept, X and y as given, AAᵀ in the line of
  v_y where its inverse belongs. Its objective may rise.
- Random intercepts fitted afterwards (4.4.1) are the correction line itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from shoal.aggregate.ecological import group_regression
from shoal.aggregate.ludia_steps import State, Sums, from_svd, iterate, objective
from shoal.aggregate.multilevel import random_effects
from shoal.aggregate.problem import Problem
from shoal.aggregate.reconstruction import Fit, Reconstructor
from shoal.arrays import FloatArray, Generator
from shoal.errors import ParameterError
from shoal.params import Help, Range

__all__ = ["Ludia"]

Start = Literal["mean", "ecological", "random"]
_RANK = 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class Ludia(Reconstructor):
    """Rebuild values by a low-rank factorisation of covariates and aggregates.

    Promised: with `correct` the values' group means are the aggregates; the objective never increases. Not promised:
    that it beats `RidgeEcological`. It does where slopes between groups are far from those inside them, as in real
    hospital stays; where groups differ by chance alone, ridge is better. One set of means can't tell which is the case,
    and of the methods for one set this one loses least where it is wrong.

    Parameters
    ----------
    iterations
        How far to go from group means (few) towards ecological regression (many). There is no best number that the
        aggregates would show.
    rank
        Rank r of the factorisation; none: the rank of X with its intercept, as published. Noise in X makes that the
        number of columns, so a true lower rank is found only if it is named.
    intercepts
        Random intercepts by the groups of the first set, fitted afterwards: the same as the correction.
    slopes
        Names of covariates with random slopes by the groups of the first set. There are more of them than groups, so
        the smallest are taken; nothing identifies them.
    start
        ``"mean"`` from group means, as published; ``"ecological"`` from ecological regression; ``"random"``.
    standardise
        Standardise the covariates first; off leaves their units to decide.
    printed
        As Algorithm 2 prints it; see the module.
    correct
        Shift every group so that its mean is the aggregate. Off where the aggregates are noisy.

    Notes
    -----
    Weights multiply the rows' squares and enter the group means. Cost: one pass over the rows, then iterations in
    p m r that don't depend on the number of rows; stacked sets cost p³ once.

    Examples
    --------
    >>> from shoal.aggregate import Aggregate, Ludia
    >>> X = [[0.0], [1.0], [2.0], [4.0], [3.0], [7.0]]
    >>> groups = Aggregate(by=[0, 0, 1, 1, 2, 2], mean=[1.5, 4.0, 6.0])
    >>> Ludia(iterations=50).reconstruct(X, aggregates=[groups]).values.round(1).tolist()
    [1.0, 2.0, 3.0, 5.0, 4.0, 8.0]
    """

    iterations: Annotated[int, Range(low=0, high=1_000_000), Help("from group means towards regression")] = 50
    rank: Annotated[int | None, Range(low=1), Help("rank of the factorisation; none: that of X")] = None
    intercepts: Annotated[bool, Help("random intercepts, fitted afterwards")] = False
    slopes: Annotated[tuple[str, ...] | list[str], Help("covariates with random slopes, fitted afterwards")] = ()
    start: Annotated[Start, Help("group means, ecological regression or random")] = "mean"
    standardise: Annotated[bool, Help("standardise the covariates first")] = True
    printed: Annotated[bool, Help("exactly as published")] = False
    correct: Annotated[bool, Help("shift groups so that the aggregates match")] = True

    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        if self.printed:
            return self._as_printed(problem)
        sums, unit = _sums(problem, self.standardise)
        full = _rank(problem)
        r = min(full, self.rank or full)
        state, trace = self._descend(sums, _start(self.start, problem, sums, unit, r, rng))
        level, beta = _own_units(state.beta(), problem, unit, self.standardise)
        fit = Fit(
            level=level,
            beta=beta,
            nu=problem.spectrum.back(state.nu()),
            trace=tuple(trace),
            warnings=self._warnings(problem, r, full),
            details={"rank": r, "iterations": len(trace) - 1},
        )
        return fit if not (self.intercepts or self.slopes) else self._with_effects(problem, fit)

    def _as_printed(self, problem: Problem) -> Fit:
        """No intercept, X and y on their own scales; the result back on the problem's."""
        rotate, n, mu = problem.spectrum.rotate, float(problem.n), problem.mu
        known = rotate(problem.original(problem.s))
        G = problem.C + n * np.outer(mu, mu)
        sums = Sums(G=G, B=rotate(problem.B + mu), sigma=problem.spectrum.sigma, s=known)
        r = max(1, min(problem.m, self.rank or problem.m))
        start = from_svd(sums, np.zeros(problem.m), sums.s / sums.sigma, r)
        state, trace = self._descend(sums, start)
        beta, level = state.beta() / problem.scale, float(mu @ state.beta() - problem.centre) / problem.scale
        nu = problem.spectrum.back(state.nu()) / problem.scale
        details = {"rank": r, "iterations": len(trace) - 1}
        return Fit(level=level, beta=beta, nu=nu, trace=tuple(trace), details=details)

    def _descend(self, sums: Sums, state: State) -> tuple[State, list[float]]:
        """Iterate; stop early only if numbers overflow, which the degenerate objective invites."""
        trace = [objective(sums, state)]
        for _ in range(self.iterations):
            with np.errstate(all="ignore"):
                new = iterate(sums, state, self.printed)
                value = objective(sums, new)
            if not (np.isfinite(value) and np.isfinite(new.beta()).all() and np.isfinite(new.nu()).all()):
                break
            state = new
            trace.append(value)
        return state, trace

    def _warnings(self, problem: Problem, r: int, full: int) -> tuple[str, ...]:
        said = []
        if self.rank is not None and self.rank > full:
            said.append(f"rank {self.rank} is more than X has: {full} is taken")
        groups = len(problem.spectrum.sigma)
        if r > groups:
            said.append(f"rank {r} is more than the {groups} independent groups: v_y is of minimum norm")
        return tuple(said)

    def _with_effects(self, problem: Problem, fit: Fit) -> Fit:
        columns = [_column(problem, name) for name in self.slopes]
        return random_effects(problem, fit, columns, intercepts=self.intercepts)


def _sums(problem: Problem, standardise: bool) -> tuple[Sums, FloatArray]:
    """The sums of [1 X], and the unit of each covariate."""
    unit = problem.sd if standardise else np.ones(problem.m)
    mu = np.zeros(problem.m) if standardise else problem.mu
    n = float(problem.n)
    G = np.zeros((problem.m + 1, problem.m + 1))
    G[0, 0], G[0, 1:], G[1:, 0] = n, n * mu, n * mu
    G[1:, 1:] = problem.C / unit[:, None] / unit[None, :] + n * np.outer(mu, mu)
    B = np.column_stack((np.ones(problem.p), problem.B / unit + mu))
    rotate = problem.spectrum.rotate
    return Sums(G=G, B=rotate(B), sigma=problem.spectrum.sigma, s=rotate(problem.s)), unit


def _rank(problem: Problem) -> int:
    """Rank of X with its intercept, told on standardised columns so that units don't matter."""
    if problem.m == 0:
        return 1
    R = problem.C / problem.sd[:, None] / problem.sd[None, :] / problem.n
    values = np.linalg.eigvalsh(R)
    return 1 + int((values > _RANK * values[-1]).sum())


def _start(kind: Start, problem: Problem, sums: Sums, unit: FloatArray, r: int, rng: Generator) -> State:
    m, q = len(sums.G), len(sums.sigma)
    if kind == "random":
        draw = rng.standard_normal
        return State(M=np.zeros((m, r)), N=np.zeros((q, r)), Pi=draw((q, r)), Vx=draw((m, r)), vy=draw(r))
    if kind == "mean":
        return from_svd(sums, np.zeros(m), sums.s / sums.sigma, r)
    level, beta = group_regression(problem)
    shift = 0.0 if np.any(unit != 1) else float(problem.mu @ beta)
    return from_svd(sums, np.concatenate(([level - shift], beta * unit)), np.zeros(q), r)


def _own_units(beta: FloatArray, problem: Problem, unit: FloatArray, centred: bool) -> tuple[float, FloatArray]:
    """Level at the mean of X, and slopes per unit of each covariate."""
    slopes = beta[1:] / unit
    return float(beta[0] + (0.0 if centred else problem.mu @ slopes)), slopes


def _column(problem: Problem, name: Any) -> int:
    if name not in problem.names:
        raise ParameterError(
            "Ludia", "slopes must name covariates of X that vary", hint="Indicators are 'column = level'."
        )
    return problem.names.index(name)
