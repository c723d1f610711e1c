"""The loops of the chain: raking rows of probabilities to margins, judging a margin's noise, and drawing.

P holds for each row r of a pool the probabilities of column i; x is an earlier column of the pool.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit, prange

from shoal.arrays import AnyArray, FloatArray, IntArray

__all__ = ["draw_chain", "draw_rows", "judge", "margin", "rake", "weigh"]

_GOLDEN = 0.6180339887498949
_PART = 8192  # rows that a thread takes at once


@njit(cache=True, nogil=True)
def margin(P: FloatArray, x: IntArray, A: int) -> FloatArray:
    """Σ_r P[r, c] over the rows with x = a, as a table (a, c)."""
    out = np.zeros((A, P.shape[1]))
    for r in range(P.shape[0]):
        for c in range(P.shape[1]):
            out[x[r], c] += P[r, c]
    return out


@njit(cache=True, nogil=True)
def weigh(P: FloatArray, x: IntArray, W: FloatArray) -> None:
    """Multiply each row by W[x] and make it sum to 1 again; a row that dies becomes uniform."""
    C = P.shape[1]
    for r in range(P.shape[0]):
        total = 0.0
        for c in range(C):
            P[r, c] *= W[x[r], c]
            total += P[r, c]
        for c in range(C):
            P[r, c] = P[r, c] / total if total > 0.0 else 1.0 / C


@njit(cache=True, nogil=True)
def rake(P: FloatArray, x: IntArray, target: FloatArray, W: FloatArray) -> float:
    """One step of iterative proportional fitting to `target`, a table (a, c); gives the share that was off."""
    current = margin(P, x, target.shape[0])
    off = 0.0
    ratio = np.ones_like(target)
    for a in range(target.shape[0]):
        rows, wanted = 0.0, 0.0
        for c in range(target.shape[1]):
            rows += current[a, c]
            wanted += target[a, c]
        if rows <= 0.0 or wanted <= 0.0:
            continue
        for c in range(target.shape[1]):
            goal = target[a, c] * rows / wanted
            off += abs(goal - current[a, c])
            if current[a, c] > 1e-12:
                ratio[a, c] = goal / current[a, c]
            W[a, c] *= ratio[a, c]
    weigh(P, x, ratio)
    return float(off / P.shape[0])


@njit(cache=True, nogil=True)
def judge(D: FloatArray, expected: FloatArray, variance: float) -> tuple[float, float, float]:
    """How much of the deviations D is more than noise: prior variance t m^g of the truth, by maximum likelihood.

    Gives t, g and the gain in log likelihood over "all is noise".
    """
    n = D.size
    d, m = D.ravel(), expected.ravel()
    nothing, mean = 0.0, 0.0
    for k in range(n):
        nothing += math.log(variance) + d[k] * d[k] / variance
        mean += max(m[k], 1e-9)
    mean /= n
    best, best_t, best_g = -1e300, 0.0, 0.0
    for g in range(3):
        for step in range(17):
            scaled = 10.0 ** (-4.0 + 0.5 * step)
            t = scaled * variance / mean**g
            value = 0.0
            for k in range(n):
                v = variance + t * max(m[k], 1e-9) ** g
                value += math.log(v) + d[k] * d[k] / v
            if -value > best:
                best, best_t, best_g = -value, t, float(g)
    return best_t, best_g, 0.5 * (best + nothing)


@njit(cache=True, nogil=True)
def draw_rows(P: FloatArray, rank: IntArray, start: float) -> IntArray:
    """One cell for each row by numbers spread evenly along the ranks."""
    n, C = P.shape
    out = np.empty(n, dtype=np.int64)
    for r in range(n):
        u = (start + rank[r] * _GOLDEN) % 1.0
        got = -1
        for c in range(C):
            if P[r, c] > 0.0:
                got = c
                u -= P[r, c]
                if u < 0.0:
                    break
        out[r] = max(got, 0)
    return out


@njit(cache=True, nogil=True, parallel=True)
def draw_chain(
    Y: AnyArray, rank: IntArray, start: float, base: FloatArray, parents: IntArray, W: FloatArray, at: IntArray
) -> AnyArray:
    """One cell for each row of Y: weights base[c] Π_j W_j[x_j, c], numbers spread evenly along the ranks.

    W holds the parents' tables one after the other, flat, that of parent p from at[p].
    """
    n, C, K = Y.shape[0], base.size, parents.size
    out = np.empty(n, dtype=np.int32)
    n_parts = n // _PART + 1
    for part in prange(n_parts):
        p = np.empty(C)
        for r in range(part * _PART, min(n, (part + 1) * _PART)):
            p[:] = base
            for q in range(K):
                row = at[q] + np.int64(Y[r, parents[q]]) * C
                for c in range(C):
                    p[c] *= W[row + c]
            total = 0.0
            for c in range(C):
                total += p[c]
            if not total > 0.0:
                p[:] = base
                total = 1.0
            u = ((start + rank[r] * _GOLDEN) % 1.0) * total
            got = 0
            for c in range(C):
                if p[c] > 0.0:
                    got = c
                    u -= p[c]
                    if u < 0.0:
                        break
            out[r] = got
    return out
