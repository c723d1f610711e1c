"""LUDIA's alternating minimisation in sums: iterations that don't depend on the number of rows.

With X (intercept included) and A multiplied by √w where there are weights, the objective is

    ‖X − U V_xᵀ‖² + ‖√W (s − Π v_y)‖² + ‖A U − Π‖²,    W = (AAᵀ)⁺,                (4.9)

and the steps are, in turn,

    U   :  U V_xᵀV_x + AᵀA U = X V_x + AᵀΠ,
    Π   :  Π + W Π v_y v_yᵀ = W s v_yᵀ + A U,
    V_x :  Xᵀ U (UᵀU)⁻¹,              v_y : (ΠᵀWΠ)⁻¹ΠᵀW s        (Algorithm 2 prints AAᵀ for W here).

With V_xᵀV_x = Q diag(λ) Qᵀ the first splits into r systems (λ_k I + AᵀA)u = X a + Aᵀb, whose solution by Woodbury is

    u = X a/λ_k + Aᵀ (λ_k I + S)⁻¹ (b − A X a/λ_k),     S = AAᵀ.

So U = X M + AᵀN always, and G = XᵀX, B = AX, S and s suffice. Everything is kept in the basis in which S is diagonal,
null space left out. The second is rank one: π_g = h_g + w_g (s_g − h_gᵀv_y)/(1 + w_g|v_y|²) v_y with h = AU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoal.arrays import FloatArray

__all__ = ["State", "Sums", "from_svd", "iterate", "objective"]

_NULL = 1e-12  # eigenvalues of V_xᵀV_x below this share of the largest are 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """G = XᵀX, B = EᵀAX, σ and ŝ = Eᵀs, with S = E diag(σ) Eᵀ."""

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
    vy: FloatArray

    def aggregated(self, sums: Sums) -> FloatArray:
        """Eᵀ A U."""
        return sums.B @ self.M + sums.sigma[:, None] * self.N

    def beta(self) -> FloatArray:
        """U v_y = X β + AᵀE ν: this is β."""
        return self.M @ self.vy

    def nu(self) -> FloatArray:
        """U v_y = X β + AᵀE ν: this is ν."""
        return self.N @ self.vy


def from_svd(sums: Sums, beta: FloatArray, nu: FloatArray, r: int) -> State:
    """The start: the rank-r SVD of [X ȳ] with ȳ = X β + AᵀE ν, halves of the singular values on either side."""
    y = sums.G @ beta + sums.B.T @ nu
    square = beta @ y + nu @ (sums.B @ beta + sums.sigma * nu)
    gram = np.block([[sums.G, y[:, None]], [y[None, :], np.array([[square]])]])
    values, vectors = np.linalg.eigh(gram)
    root = np.sqrt(np.sqrt(np.maximum(values[::-1][:r], np.finfo(float).tiny)))  # γ^½; the values are γ²
    V = vectors[:, ::-1][:, :r]
    last = V[-1] / root
    M = V[:-1] / root + np.outer(beta, last)
    state = State(M=M, N=np.outer(nu, last), Pi=np.empty(0), Vx=V[:-1] * root, vy=V[-1] * root)
    return replace(state, Pi=state.aggregated(sums))


def iterate(sums: Sums, state: State, printed: bool = False) -> State:
    """One round: U, Π, V_x, v_y; the last as Algorithm 2 prints it, with AAᵀ for its inverse, if asked for."""
    return _vy_step(sums, _vx_step(sums, _pi_step(sums, _u_step(sums, state))), printed)


def objective(sums: Sums, state: State) -> float:
    """(4.9), from X(I − M V_xᵀ) − AᵀN V_xᵀ rather than from its square's parts, which would cancel."""
    P = np.eye(len(sums.G)) - state.M @ state.Vx.T
    R = state.N @ state.Vx.T
    first = np.sum(P * (sums.G @ P)) - 2 * np.sum(R * (sums.B @ P)) + np.sum(sums.sigma[:, None] * R**2)
    second = np.sum((sums.s - state.Pi @ state.vy) ** 2 / sums.sigma)
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
    pull = (sums.s - h @ state.vy) / (sums.sigma + state.vy @ state.vy)  # w/(1 + w|v|²) with w = 1/σ
    return replace(state, Pi=h + np.outer(pull, state.vy))


def _vx_step(sums: Sums, state: State) -> State:
    cross = sums.B @ state.M
    gram = state.M.T @ sums.G @ state.M + cross.T @ state.N + state.N.T @ cross
    gram += state.N.T @ (sums.sigma[:, None] * state.N)
    XU = sums.G @ state.M + sums.B.T @ state.N
    return replace(state, Vx=_solve(gram, XU.T).T)


def _vy_step(sums: Sums, state: State, printed: bool) -> State:
    root = np.sqrt(sums.sigma) if printed else 1 / np.sqrt(sums.sigma)
    vy: FloatArray = np.linalg.lstsq(root[:, None] * state.Pi, root * sums.s, rcond=None)[0].astype(np.float64)
    return replace(state, vy=vy)


def _solve(gram: FloatArray, right: FloatArray) -> FloatArray:
    """gram⁻¹ right, balanced first; of minimum norm where columns of U depend on each other."""
    size = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    balanced = gram / size[:, None] / size[None, :]
    solution: FloatArray = np.linalg.pinv(balanced, rcond=1e-14, hermitian=True) @ (right / size[:, None])
    return solution / size[:, None]
