"""The loops of CUDIA over rows: the sampling E-step and the greedy hard assignment."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, Generator, IntArray

__all__ = ["assign", "sample"]


@njit(cache=True, nogil=True)
def sample(
    likelihood: FloatArray,
    w: FloatArray,
    order: IntArray,
    starts: IntArray,
    s: FloatArray,
    mass: FloatArray,
    eta: FloatArray,
    variance: float,
    alpha: FloatArray,
    pi: FloatArray,
    sweeps: int,
    burn: int,
    rng: Generator,
) -> tuple[FloatArray, FloatArray, float]:
    """Gibbs for z, independence Metropolis for π: means of p(z|π) and of π, and the share of proposals accepted.

    z_i ~ π_pk p(x_i|k); π_p is proposed from Dirichlet(α + counts) and accepted on N(s_p; π_pᵀη, Σ_p²), Σ_p² of (4.4).
    `pi` is the chain's state and is changed in place.
    """
    n, K = likelihood.shape
    P = len(s)
    member, mean_pi = np.zeros((n, K)), np.zeros((P, K))
    counts, chance, proposal = np.empty(K), np.empty(K), np.empty(K)
    accepted = 0
    for sweep in range(burn + sweeps):
        kept = 1.0 if sweep >= burn else 0.0
        for p in range(P):
            counts[:] = alpha
            for at in range(starts[p], starts[p + 1]):
                i = order[at]
                counts[_draw(pi[p], likelihood[i], chance, rng)] += w[i]
                _add(member[i], chance, kept)
            _dirichlet(counts, proposal, rng)
            gain = _log_normal(s[p], mass[p], proposal, eta, variance) - _log_normal(
                s[p], mass[p], pi[p], eta, variance
            )
            if gain >= 0.0 or rng.random() < math.exp(gain):
                pi[p] = proposal
                accepted += 1
            _add(mean_pi[p], pi[p], kept)
    return member / sweeps, mean_pi / sweeps, accepted / (P * (burn + sweeps))


@njit(cache=True, nogil=True)
def _add(total: FloatArray, values: FloatArray, times: float) -> None:
    """Add without a temporary array: this runs once per row and sweep."""
    for k in range(len(total)):
        total[k] += times * values[k]


@njit(cache=True, nogil=True)
def _draw(pi: FloatArray, likelihood: FloatArray, chance: FloatArray, rng: Generator) -> int:
    """A cluster with probability proportional to π_k p(x|k); the probabilities are left in `chance`."""
    total = 0.0
    for k in range(len(pi)):
        chance[k] = pi[k] * likelihood[k]
        total += chance[k]
    u, z = rng.random(), -1
    for k in range(len(pi)):
        chance[k] /= total
        u -= chance[k]
        if u < 0.0 and z < 0:
            z = k
    return z if z >= 0 else len(pi) - 1


@njit(cache=True, nogil=True)
def _dirichlet(counts: FloatArray, out: FloatArray, rng: Generator) -> None:
    """Draw from Dirichlet(counts) into `out`."""
    for k in range(len(counts)):
        out[k] = max(rng.standard_gamma(counts[k]), 1e-300)
    out /= out.sum()


@njit(cache=True, nogil=True)
def _log_normal(s: float, mass: float, pi: FloatArray, eta: FloatArray, variance: float) -> float:
    """log N(s; μ, Σ²) up to a constant, with μ = πᵀη and Σ² = (πᵀ(η² + T²) − μ²)/mass."""
    mu, second = 0.0, variance
    for k in range(len(pi)):
        mu += pi[k] * eta[k]
        second += pi[k] * eta[k] ** 2
    spread = max(second - mu * mu, 1e-12) / mass
    return -0.5 * math.log(spread) - 0.5 * (s - mu) ** 2 / spread


@njit(cache=True, nogil=True)
def assign(
    fit: FloatArray,
    w: FloatArray,
    order: IntArray,
    starts: IntArray,
    s: FloatArray,
    mass: FloatArray,
    eta: FloatArray,
    variance: float,
    z: IntArray,
) -> int:
    """One greedy pass: each row takes the cluster with the least −log p(x|k) + mass (s − mean of η_z)²/2V; how many
    moved.

    `z` is changed in place; how many rows moved is returned.
    """
    K = fit.shape[1]
    moved = 0
    for p in range(len(s)):
        total = 0.0
        for at in range(starts[p], starts[p + 1]):
            total += w[order[at]] * eta[z[order[at]]]
        for at in range(starts[p], starts[p + 1]):
            i = order[at]
            rest = total - w[i] * eta[z[i]]
            best, least = z[i], math.inf
            for k in range(K):
                gap = s[p] - (rest + w[i] * eta[k]) / mass[p]
                cost = -w[i] * fit[i, k] + 0.5 * mass[p] * gap * gap / variance
                if cost < least:
                    best, least = k, cost
            if best != z[i]:
                moved += 1
                z[i] = best
            total = rest + w[i] * eta[best]
    return moved
