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
- y is one column in every equation, "without loss of generality". With d of them (`shared`) v_y becomes V_y, r × d,
  beside one U, V_x and Π for all: each column is fitted with the factors that all of them shape.

LUDIA's alternating minimisation in sums: iterations that don't depend on the number of rows.

With X (intercept included) and A multiplied by √w where there are weights, the objective is

    ‖X − U V_xᵀ‖² + ‖√W (s − Π v_y)‖² + ‖A U − Π‖²,    W = (AAᵀ)⁺,                (4.9)

and the steps are, in turn,

    U   :  U V_xᵀV_x + AᵀA U = X V_x + AᵀΠ,
    Π   :  Π + W Π V_y V_yᵀ = W s V_yᵀ + A U,
    V_x :  Xᵀ U (UᵀU)⁻¹,              V_y : (ΠᵀWΠ)⁻¹ΠᵀW s        (Algorithm 2 prints AAᵀ for W here).

With V_xᵀV_x = Q diag(λ) Qᵀ the first splits into r systems (λ_k I + AᵀA)u = X a + Aᵀb, whose solution by Woodbury is

    u = X a/λ_k + Aᵀ (λ_k I + S)⁻¹ (b − A X a/λ_k),     S = AAᵀ.

So U = X M + AᵀN always, and G = XᵀX, B = AX, S and s suffice. Everything is kept in the basis in which S is diagonal,
null space left out. The second is of rank d: π_g = h_g + (s_g − h_g V_y)(I/w_g + V_yᵀV_y)⁻¹ V_yᵀ with h = AU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from shoal.aggregate.ecological import group_regression, random_effects
from shoal.aggregate.problem import Problem
from shoal.aggregate.reconstruction import Fit, Reconstructor
from shoal.arrays import FloatArray, Generator
from shoal.errors import ParameterError
from shoal.params import Help, Range

__all__ = ["Ludia", "State", "Sums", "iterate", "objective"]

Start = Literal["mean", "ecological", "random"]
_RANK = 1e-10
_NULL = 1e-12  # eigenvalues of V_xᵀV_x below this share of the largest are 0


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
    shared
        Columns that are rebuilt together (`reconstruct_columns`) share U and Π; off, each has factors of its own. On
        real hospital stays sharing was no better.
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
    shared: Annotated[bool, Help("columns rebuilt together share their factors")] = False
    correct: Annotated[bool, Help("shift groups so that the aggregates match")] = True

    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        return self._as_printed(problem) if self.printed else self._shared_fit([problem], rng)[0]

    def _fit_columns(self, problems: Sequence[Problem], seed: int) -> list[Fit]:
        if not self.shared or len(problems) == 1:
            return super(Ludia, self)._fit_columns(problems, seed)
        if self.printed:
            raise ParameterError("Ludia", "printed and shared exclude each other: what is printed has one column")
        if any(not _same_groups(problems[0], problem) for problem in problems[1:]):
            raise ParameterError(
                "Ludia", "columns that share their factors must be published for the same groups",
                hint="Rebuild the others on their own, or leave shared out.",
            )  # fmt: skip
        return self._shared_fit(problems, self._stream(seed))

    def _shared_fit(self, problems: Sequence[Problem], rng: Generator) -> list[Fit]:
        sums, unit = _sums(problems, self.standardise)
        full = _rank(problems[0])
        r = min(full, self.rank or full)
        state, trace = self._descend(sums, _start(self.start, problems, sums, unit, r, rng))
        fits = []
        for j, problem in enumerate(problems):
            level, beta = _own_units(state.beta()[:, j], problem, unit, self.standardise)
            fit = Fit(
                level=level,
                beta=beta,
                nu=problem.spectrum.back(state.nu()[:, j]),
                trace=tuple(trace),
                warnings=self._warnings(problem, r, full),
                details={"rank": r, "iterations": len(trace) - 1},
            )
            fits.append(self._with_effects(problem, fit) if self.intercepts or self.slopes else fit)
        return fits

    def _as_printed(self, problem: Problem) -> Fit:
        """No intercept, X and y on their own scales; the result back on the problem's."""
        rotate, n, mu = problem.spectrum.rotate, float(problem.n), problem.mu
        known = rotate(problem.original(problem.s))[:, None]
        G = problem.C + n * np.outer(mu, mu)
        sums = Sums(G=G, B=rotate(problem.B + mu), sigma=problem.spectrum.sigma, s=known)
        r = max(1, min(problem.m, self.rank or problem.m))
        start = _from_svd(sums, np.zeros((problem.m, 1)), sums.s / sums.sigma[:, None], r)
        state, trace = self._descend(sums, start)
        beta = state.beta()[:, 0] / problem.scale
        level = float(mu @ beta) - problem.centre / problem.scale
        nu = problem.spectrum.back(state.nu()[:, 0]) / problem.scale
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


def _same_groups(one: Problem, other: Problem) -> bool:
    """Whether the sets of both have the same members."""
    pairs = zip(one.sets, other.sets, strict=False)
    return len(one.sets) == len(other.sets) and all(np.array_equal(a.labels, b.labels) for a, b in pairs)


def _sums(problems: Sequence[Problem], standardise: bool) -> tuple[Sums, FloatArray]:
    """The sums of [1 X], and the unit of each covariate; problems that differ in s only."""
    problem = problems[0]
    unit = problem.sd if standardise else np.ones(problem.m)
    mu = np.zeros(problem.m) if standardise else problem.mu
    n = float(problem.n)
    G = np.zeros((problem.m + 1, problem.m + 1))
    G[0, 0], G[0, 1:], G[1:, 0] = n, n * mu, n * mu
    G[1:, 1:] = problem.C / unit[:, None] / unit[None, :] + n * np.outer(mu, mu)
    B = np.column_stack((np.ones(problem.p), problem.B / unit + mu))
    rotate = problem.spectrum.rotate
    s = np.column_stack([each.s for each in problems])
    return Sums(G=G, B=rotate(B), sigma=problem.spectrum.sigma, s=rotate(s)), unit


def _rank(problem: Problem) -> int:
    """Rank of X with its intercept, told on standardised columns so that units don't matter."""
    if problem.m == 0:
        return 1
    R = problem.C / problem.sd[:, None] / problem.sd[None, :] / problem.n
    values = np.linalg.eigvalsh(R)
    return 1 + int((values > _RANK * values[-1]).sum())


def _start(kind: Start, problems: Sequence[Problem], sums: Sums, unit: FloatArray, r: int, rng: Generator) -> State:
    m, q, d = len(sums.G), len(sums.sigma), len(problems)
    if kind == "random":
        draw = rng.standard_normal
        return State(M=np.zeros((m, r)), N=np.zeros((q, r)), Pi=draw((q, r)), Vx=draw((m, r)), Vy=draw((r, d)))
    if kind == "mean":
        return _from_svd(sums, np.zeros((m, d)), sums.s / sums.sigma[:, None], r)
    return _from_svd(sums, np.column_stack([_regressed(problem, unit) for problem in problems]), np.zeros((q, d)), r)


def _regressed(problem: Problem, unit: FloatArray) -> FloatArray:
    """Intercept and slopes of ecological regression, by unit."""
    level, beta = group_regression(problem)
    shift = 0.0 if np.any(unit != 1) else float(problem.mu @ beta)
    return np.concatenate(([level - shift], beta * unit))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """G = XᵀX, B = EᵀAX, σ and ŝ = Eᵀs (one column for each that is masked), with S = E diag(σ) Eᵀ."""

    G: FloatArray
    B: FloatArray
    sigma: FloatArray
    s: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """U = X M + AᵀE N with its factors; N and Π in the basis of S."""

    M: FloatArray
    N: FloatArray
    Pi: FloatArray
    Vx: FloatArray
    Vy: FloatArray

    def aggregated(self, sums: Sums) -> FloatArray:
        """Eᵀ A U."""
        return sums.B @ self.M + sums.sigma[:, None] * self.N

    def beta(self) -> FloatArray:
        """U V_y = X β + AᵀE ν: this is β."""
        return self.M @ self.Vy

    def nu(self) -> FloatArray:
        """U V_y = X β + AᵀE ν: this is ν."""
        return self.N @ self.Vy


def _from_svd(sums: Sums, beta: FloatArray, nu: FloatArray, r: int) -> State:
    """The start: the rank-r SVD of [X Ȳ] with Ȳ = X β + AᵀE ν, halves of the singular values on either side."""
    m, y = len(sums.G), sums.G @ beta + sums.B.T @ nu
    square = beta.T @ y + nu.T @ (sums.B @ beta + sums.sigma[:, None] * nu)
    values, vectors = np.linalg.eigh(np.block([[sums.G, y], [y.T, square]]))
    root = np.sqrt(np.sqrt(np.maximum(values[::-1][:r], np.finfo(float).tiny)))  # γ^½; the values are γ²
    V = vectors[:, ::-1][:, :r]
    last = V[m:] / root
    state = State(M=V[:m] / root + beta @ last, N=nu @ last, Pi=np.empty(0), Vx=V[:m] * root, Vy=(V[m:] * root).T)
    return replace(state, Pi=state.aggregated(sums))


def iterate(sums: Sums, state: State, printed: bool = False) -> State:
    """One round: U, Π, V_x, V_y; the last as Algorithm 2 prints it, with AAᵀ for its inverse, if asked for."""
    return _vy_step(sums, _vx_step(sums, _pi_step(sums, _u_step(sums, state))), printed)


def objective(sums: Sums, state: State) -> float:
    """(4.9), from X(I − M V_xᵀ) − AᵀN V_xᵀ rather than from its square's parts, which would cancel."""
    P = np.eye(len(sums.G)) - state.M @ state.Vx.T
    R = state.N @ state.Vx.T
    first = np.sum(P * (sums.G @ P)) - 2 * np.sum(R * (sums.B @ P)) + np.sum(sums.sigma[:, None] * R**2)
    second = np.sum((sums.s - state.Pi @ state.Vy) ** 2 / sums.sigma[:, None])
    third = np.sum((state.aggregated(sums) - state.Pi) ** 2)
    return float(max(first, 0.0) + second + third)


def _u_step(sums: Sums, state: State) -> State:
    lam, Q = np.linalg.eigh(state.Vx.T @ state.Vx)
    there = lam > _NULL * max(lam[-1], np.finfo(float).tiny)
    safe = np.where(there, lam, 1.0)
    a = np.where(there, state.Vx @ Q / safe, 0.0)
    b = state.Pi @ Q
    N = (b - sums.B @ a) / (np.where(there, lam, 0.0)[None, :] + sums.sigma[:, None])
    return replace(state, M=a @ Q.T, N=N @ Q.T)


def _pi_step(sums: Sums, state: State) -> State:
    h = state.aggregated(sums)
    length, Q = np.linalg.eigh(state.Vy.T @ state.Vy)
    pull = ((sums.s - h @ state.Vy) @ Q / (sums.sigma[:, None] + np.maximum(length, 0.0))) @ Q.T  # w = 1/σ
    return replace(state, Pi=h + pull @ state.Vy.T)


def _vx_step(sums: Sums, state: State) -> State:
    cross = sums.B @ state.M
    gram = state.M.T @ sums.G @ state.M + cross.T @ state.N + state.N.T @ cross
    gram += state.N.T @ (sums.sigma[:, None] * state.N)
    XU = sums.G @ state.M + sums.B.T @ state.N
    return replace(state, Vx=_solve(gram, XU.T).T)


def _vy_step(sums: Sums, state: State, printed: bool) -> State:
    root = np.sqrt(sums.sigma)[:, None] if printed else 1 / np.sqrt(sums.sigma)[:, None]
    Vy: FloatArray = np.linalg.lstsq(root * state.Pi, root * sums.s, rcond=None)[0].astype(np.float64)
    return replace(state, Vy=Vy)


def _solve(gram: FloatArray, right: FloatArray) -> FloatArray:
    """gram⁻¹ right, balanced first; of minimum norm where columns of U depend on each other."""
    size = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    balanced = gram / size[:, None] / size[None, :]
    solution: FloatArray = np.linalg.pinv(balanced, rcond=1e-14, hermitian=True) @ (right / size[:, None])
    return solution / size[:, None]
