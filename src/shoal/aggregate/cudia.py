"""CUDIA: clusters that explain covariates and aggregates at once (Park and Ghosh; chapter 4.2).

People fall into K clusters; group p mixes them by π_p ~ Dirichlet(α). Covariates follow the cluster, p(x|θ_z), and y
has the mean η_z there. A mean over N_p people is normal by the central limit theorem:

    s_p ~ N(μ_p, Σ_p²),   μ_p = π_pᵀη,   Σ_p² = [π_pᵀ(η² + T²) − μ_p²]/N_p.            (4.2)-(4.4)

Monte-Carlo EM: the E-step draws z by Gibbs and π_p by independence Metropolis (Dirichlet(α + counts) proposed,
accepted on N(s_p; ·)); the M-step estimates θ, α, η and one common T². ŷ_i = Σ_k P(z_i = k) η_k, then the correction.
The hard variant assigns each row to one cluster, greedily.

Not promised: which clusters come out. η is poorly identified when groups are about as few as components, or when all
groups have the same mix; several starts are made and the one with the best fit is kept.

The mixture behind CUDIA: covariates given the cluster, and what a cluster's members are worth.

p(x|k) is a normal density with its own variance for each numeric covariate and a table of shares for each nominal one,
independent given the cluster. Estimates from memberships r (n × K, rows add up to 1) and weights w:

    θ_k: weighted means, variances, shares;    η = (ΠᵀWΠ + λI)⁻¹ ΠᵀW s, W = diag(N_p);    α by moments of Π.

Π holds the groups' mean memberships. E[π], which the prior shrinks, would blow η up where groups are small.

λ counts as that many people of every cluster at the overall mean. T² isn't identified from means: one common T² is
taken from the residuals N_p(s_p − π_pᵀη)², whose mean estimates the variance of y within groups.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal, TypeAlias

import numpy as np

from shoal.aggregate.problem import Problem
from shoal.aggregate.reconstruction import Fit, Reconstructor
from shoal.arrays import FloatArray, Generator, IntArray
from shoal.params import Help, Range

__all__ = ["Clusters", "Cudia", "Rows", "affordable", "worth"]

_FULL, _SAMPLED = 20_000, 200_000  # rows
_BURN = 0.3  # share of an E-step's sweeps that is thrown away
_FLOOR = 1e-3  # least variance of a covariate in a cluster, its variance overall being 1
_PSEUDO = 0.5  # people added to every level of every cluster
_LEAST_SHARE = 0.05  # of the variance within groups that is left to T²
_PRECISION = (1.0, 200.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cudia(Reconstructor):
    """Rebuild values from clusters: every row has the mean of the clusters it may belong to.

    Promised: with `correct` the values' group means are the aggregates. Good where people do fall into clusters, of
    which groups have different shares; it smooths away everything finer.

    Parameters
    ----------
    components
        Number K of clusters. There should be several times as many groups.
    restarts
        Starts from different seeds; the best fit is kept. More of them find better clusters and take longer.
    iterations
        Rounds of EM.
    sweeps
        Draws of every E-step; more of them steady it.
    variant
        ``"sampled"`` is Monte-Carlo EM; ``"hard"`` assigns each row to one cluster without drawing, and is faster.
    ridge
        As many people of every cluster at the overall mean are added. Raising it steadies η and draws it in.
    correct
        Shift every group so that its mean is the aggregate.

    Notes
    -----
    The mixture sees the first set of groups; further sets enter through the correction. Numeric covariates are
    standardised, nominal ones enter as shares of levels. Weights count as people. `memberships` of the result holds
    P(z_i = k). Cost: rows × components × sweeps × iterations × restarts.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.aggregate import Aggregate, Cudia
    >>> person, group = np.arange(400), np.arange(400) // 40
    >>> ill = person % 10 < group
    >>> x, y = 5.0 * ill + person % 3, np.where(ill, 10.0, 1.0)
    >>> means = np.bincount(group, y) / 40
    >>> result = Cudia(components=2).reconstruct(x, [Aggregate(by=group, mean=means)], seed=1)
    >>> bool(np.abs(result.values - y).max() < 0.5)
    True
    """

    components: Annotated[int, Range(low=1, high=100), Help("number of clusters")] = 3
    restarts: Annotated[int, Range(low=1), Help("number of starts; the best fit is kept")] = 3
    iterations: Annotated[int, Range(low=1), Help("rounds of EM")] = 25
    sweeps: Annotated[int, Range(low=2), Help("draws of every E-step")] = 20
    variant: Annotated[Literal["sampled", "hard"], Help("Monte-Carlo EM, or greedy assignment")] = "sampled"
    ridge: Annotated[float, Range(above=0), Help("people added to every cluster at the overall mean")] = 1.0
    correct: Annotated[bool, Help("shift groups so that the aggregates match")] = True

    def _fit(self, problem: Problem, rng: Generator) -> Fit:
        rows = Rows.of(problem.X, problem.mu, problem.sd, problem.nominal, problem.weights)
        task = _Task.of(problem, rows)
        step = _sampled_round if self.variant == "sampled" else _hard_round
        runs = [self._run(task, step, rng) for _ in range(self.restarts)]
        state, trace = max(runs, key=lambda run: run[1][-1])
        return Fit(
            beta=np.zeros(problem.m),
            rows=state.member @ state.eta,
            trace=tuple(trace),
            warnings=self._warnings(problem),
            details=_details(problem, state),
            memberships=state.member,
        )

    def _run(self, task: _Task, step: _Round, rng: Generator) -> tuple[_State, list[float]]:
        state = _first(task, _seeded(task.rows, self.components, rng), self.ridge)
        trace = [_score(task, state)]
        for _ in range(self.iterations):
            state = step(task, state, self.sweeps, self.ridge, rng)
            trace.append(_score(task, state))
            if state.settled:
                break
        return state, trace

    def _warnings(self, problem: Problem) -> tuple[str, ...]:
        said = []
        first = problem.sets[0]
        if first.p < self.components:
            said.append(
                f"groups fewer than components: {first.p} groups, {self.components} components; η isn't identified"
            )
        elif first.p < 3 * self.components:
            said.append(f"hardly more groups than components: {first.p} groups, {self.components} components")
        if len(problem.sets) > 1:
            said.append(f"the mixture sees the set '{first.name}' only; other sets enter through the correction")
        return tuple(said)


def affordable(n: int, components: int = 3) -> Cudia:
    """CUDIA for a comparison on `n` rows that shouldn't take minutes: fewer draws, and none beyond 200,000 rows."""
    if n <= _FULL:
        return Cudia(components=components)
    if n <= _SAMPLED:
        return Cudia(components=components, restarts=1, iterations=10, sweeps=8)
    return Cudia(components=components, restarts=1, iterations=10, variant="hard")


_Round: TypeAlias = "Callable[[_Task, _State, int, float, Generator], _State]"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """Rows by group, and the first set's aggregates."""

    rows: Rows
    labels: IntArray
    order: IntArray
    starts: IntArray
    s: FloatArray
    mass: FloatArray

    @classmethod
    def of(cls, problem: Problem, rows: Rows) -> _Task:
        first = problem.sets[0]
        return cls(
            rows=rows,
            labels=first.labels,
            order=np.argsort(first.labels, kind="stable"),
            starts=np.concatenate(([0], np.cumsum(first.sizes))).astype(np.int64),
            s=np.ascontiguousarray(problem.s[: first.p]),
            mass=first.mass,
        )

    def mixing(self, member: FloatArray) -> FloatArray:
        """Mean membership of each group, never quite 0."""
        w = self.rows.w
        sums = [np.bincount(self.labels, w * column, minlength=len(self.s)) for column in member.T]
        pi = np.column_stack(sums) / self.mass[:, None] + 1e-6
        out: FloatArray = pi / pi.sum(axis=1, keepdims=True)
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Memberships and parameters after a round."""

    member: FloatArray
    pi: FloatArray
    clusters: Clusters
    eta: FloatArray
    alpha: FloatArray
    variance: float
    within: float
    accepted: float = 1.0
    settled: bool = False


def _first(task: _Task, member: FloatArray, ridge: float) -> _State:
    pi = task.mixing(member)
    eta = worth(pi, task.s, task.mass, ridge)
    within, variance = _within_variance(task.s, task.mass, pi, eta)
    clusters = Clusters.estimate(task.rows, member)
    alpha = _mixing_prior(pi)
    return _State(member=member, pi=pi, clusters=clusters, eta=eta, alpha=alpha, variance=variance, within=within)


def _sampled_round(task: _Task, state: _State, sweeps: int, ridge: float, rng: Generator) -> _State:
    from shoal.aggregate._cudia_kernels import sample

    density = state.clusters.log_density(task.rows)
    likelihood = np.exp(density - density.max(axis=1, keepdims=True))
    by_group, n = task.order, len(density)  # rows of a group side by side: the loop is bound by memory
    member = np.empty_like(likelihood)
    member[by_group], pi, accepted = sample(
        likelihood[by_group], task.rows.w[by_group], np.arange(n), task.starts, task.s, task.mass, state.eta,
        state.variance, state.alpha, np.ascontiguousarray(state.pi), sweeps, max(1, int(_BURN * sweeps)), rng,
    )  # fmt: skip
    mix = task.mixing(member)
    eta = worth(mix, task.s, task.mass, ridge)
    within, variance = _within_variance(task.s, task.mass, mix, eta)
    return _State(
        member=member,
        pi=pi,
        clusters=Clusters.estimate(task.rows, member),
        eta=eta,
        alpha=_mixing_prior(mix),
        variance=variance,
        within=within,
        accepted=float(accepted),
    )


def _hard_round(task: _Task, state: _State, sweeps: int, ridge: float, rng: Generator) -> _State:
    from shoal.aggregate._cudia_kernels import assign

    K = len(state.eta)
    z = np.argmax(state.member, axis=1).astype(np.int64)
    fit = state.clusters.log_density(task.rows)
    moved = assign(fit, task.rows.w, task.order, task.starts, task.s, task.mass, state.eta, state.within, z)
    member = (z[:, None] == np.arange(K)).astype(np.float64)
    return replace(_first(task, member, ridge), settled=moved == 0)


def _score(task: _Task, state: _State) -> float:
    """log p(x, s | π, θ, η): how well rows and aggregates are explained."""
    density = state.clusters.log_density(task.rows)
    top = density.max(axis=1)
    inside = np.einsum("ik,ik->i", np.exp(density - top[:, None]), state.pi[task.labels])
    rows = task.rows.w @ (top + np.log(np.maximum(inside, 1e-300)))
    mu = state.pi @ state.eta
    spread = np.maximum(state.pi @ state.eta**2 - mu**2 + state.variance, 1e-12) / task.mass
    return float(rows - 0.5 * np.sum((task.s - mu) ** 2 / spread + np.log(spread)))


def _details(problem: Problem, state: _State) -> dict[str, object]:
    w = np.ones(problem.n) if problem.weights is None else problem.weights
    return {
        "cluster_shares": (w @ state.member / w.sum()).tolist(),
        "cluster_values": problem.original(state.eta).tolist(),
        "accepted_share": state.accepted,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Covariates for the mixture: numeric ones standardised, nominal ones as indicators by block, first level out."""

    numeric: FloatArray
    blocks: tuple[FloatArray, ...]
    w: FloatArray

    @classmethod
    def of(
        cls, X: FloatArray, mu: FloatArray, sd: FloatArray, nominal: tuple[slice, ...], w: FloatArray | None
    ) -> Rows:
        """Split the matrix of covariates."""
        is_number = np.ones(X.shape[1], dtype=np.bool_)
        for part in nominal:
            is_number[part] = False
        numeric = (X[:, is_number] - mu[is_number]) / sd[is_number]
        return cls(
            numeric=np.ascontiguousarray(numeric),
            blocks=tuple(np.ascontiguousarray(X[:, part]) for part in nominal),
            w=np.ones(len(X)) if w is None else w,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """θ: centres and variances (K × numeric covariates), and shares of levels (K × levels) for each nominal one."""

    centres: FloatArray
    variances: FloatArray
    shares: tuple[FloatArray, ...]

    @classmethod
    def estimate(cls, rows: Rows, member: FloatArray) -> Clusters:
        """θ from memberships."""
        r = member * rows.w[:, None]
        mass = np.maximum(r.sum(axis=0), 1e-12)[:, None]
        centres = r.T @ rows.numeric / mass
        squares = r.T @ rows.numeric**2 / mass - centres**2
        return cls(
            centres=centres,
            variances=np.maximum(squares, _FLOOR),
            shares=tuple(_shares(r.T @ block, mass) for block in rows.blocks),
        )

    def log_density(self, rows: Rows) -> FloatArray:
        """log p(x_i|k), up to a constant."""
        precision = 1 / self.variances
        out = rows.numeric**2 @ (-0.5 * precision).T + rows.numeric @ (self.centres * precision).T
        out -= 0.5 * (self.centres**2 * precision + np.log(self.variances)).sum(axis=1)
        for block, shares in zip(rows.blocks, self.shares, strict=True):
            logs = np.log(shares)
            out += block @ (logs[:, 1:] - logs[:, :1]).T + logs[:, 0]
        return out


def _shares(seen: FloatArray, mass: FloatArray) -> FloatArray:
    counts = np.column_stack((mass[:, 0] - seen.sum(axis=1), seen))
    counts = np.maximum(counts, 0) + _PSEUDO
    out: FloatArray = counts / counts.sum(axis=1, keepdims=True)
    return out


def _seeded(rows: Rows, K: int, rng: Generator, rounds: int = 5) -> FloatArray:
    """Starting memberships: centres far apart (k-means++), then a few rounds of hard clustering."""
    points = np.hstack((rows.numeric, *rows.blocks)) if rows.blocks else rows.numeric
    n = len(points)
    chosen = [int(rng.integers(n))]
    for _ in range(K - 1):
        near = np.min([((points - points[c]) ** 2).sum(axis=1) for c in chosen], axis=0)
        chosen.append(int(rng.choice(n, p=near / near.sum())) if near.sum() > 0 else int(rng.integers(n)))
    centres = points[chosen]
    for _ in range(rounds):
        z = np.argmin((centres**2).sum(axis=1) - 2 * points @ centres.T, axis=1)
        member = (z[:, None] == np.arange(K)).astype(np.float64)
        mass = member.sum(axis=0)[:, None]
        centres = np.where(mass > 0, member.T @ points / np.maximum(mass, 1), centres)
    out: FloatArray = member
    return out


def worth(pi: FloatArray, s: FloatArray, mass: FloatArray, ridge: float) -> FloatArray:
    """η by ridge regression of the aggregates on the groups' mixing weights."""
    weighted = mass[:, None] * pi
    out: FloatArray = np.linalg.solve(pi.T @ weighted + ridge * np.eye(pi.shape[1]), weighted.T @ s).astype(np.float64)
    return out


def _within_variance(s: FloatArray, mass: FloatArray, pi: FloatArray, eta: FloatArray) -> tuple[float, float]:
    """The variance of y within groups, by moments, and the T² that is left of it beside the clusters' spread."""
    P, K = pi.shape
    free = max(P - K, 1) / P
    within = float(np.mean(mass * (s - pi @ eta) ** 2)) / free
    between = float(np.average(pi @ eta**2 - (pi @ eta) ** 2, weights=mass))
    within = max(within, between, 1e-9)
    return within, max(within - between, _LEAST_SHARE * within)


def _mixing_prior(pi: FloatArray) -> FloatArray:
    """α by moments of the groups' mixing weights, with a bounded precision."""
    mean = pi.mean(axis=0)
    spread = float(pi.var(axis=0).sum())
    precision = (1 - float((mean**2).sum())) / max(spread, 1e-9) - 1
    out: FloatArray = np.maximum(mean, 1e-3) * float(np.clip(precision, *_PRECISION))
    return out
