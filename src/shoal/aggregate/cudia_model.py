"""The mixture behind CUDIA: covariates given the cluster, and what a cluster's members are worth.

p(x|k) is a normal density with its own variance for each numeric covariate and a table of shares for each nominal one,
independent given the cluster. Estimates from memberships r (n × K, rows add up to 1) and weights w:

    θ_k: weighted means, variances, shares;    η = (ΠᵀWΠ + λI)⁻¹ ΠᵀW s, W = diag(N_p);    α by moments of Π.

Π holds the groups' mean memberships. E[π], which the prior shrinks, would blow η up where groups are small.

λ counts as that many people of every cluster at the overall mean. T² isn't identified from means: one common T² is
taken from the residuals N_p(s_p − π_pᵀη)², whose mean estimates the variance of y within groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, Generator

__all__ = ["Clusters", "Rows", "mixing_prior", "seeded", "within_variance", "worth"]

_FLOOR = 1e-3  # least variance of a covariate in a cluster, its variance overall being 1
_PSEUDO = 0.5  # people added to every level of every cluster
_LEAST_SHARE = 0.05  # of the variance within groups that is left to T²
_PRECISION = (1.0, 200.0)


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


def seeded(rows: Rows, K: int, rng: Generator, rounds: int = 5) -> FloatArray:
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


def within_variance(s: FloatArray, mass: FloatArray, pi: FloatArray, eta: FloatArray) -> tuple[float, float]:
    """The variance of y within groups, by moments, and the T² that is left of it beside the clusters' spread."""
    P, K = pi.shape
    free = max(P - K, 1) / P
    within = float(np.mean(mass * (s - pi @ eta) ** 2)) / free
    between = float(np.average(pi @ eta**2 - (pi @ eta) ** 2, weights=mass))
    within = max(within, between, 1e-9)
    return within, max(within - between, _LEAST_SHARE * within)


def mixing_prior(pi: FloatArray) -> FloatArray:
    """α by moments of the groups' mixing weights, with a bounded precision."""
    mean = pi.mean(axis=0)
    spread = float(pi.var(axis=0).sum())
    precision = (1 - float((mean**2).sum())) / max(spread, 1e-9) - 1
    out: FloatArray = np.maximum(mean, 1e-3) * float(np.clip(precision, *_PRECISION))
    return out
