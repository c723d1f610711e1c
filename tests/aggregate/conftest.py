"""Slow transparent forms of chapter 4, written from the formulas: dense A, Kronecker products, rows of U."""

import numpy as np
import pytest


def averaging(labels, weights=None):
    """A: each row averages one group."""
    labels = np.asarray(labels)
    w = np.ones(len(labels)) if weights is None else np.asarray(weights, float)
    A = (labels[None, :] == np.unique(labels)[:, None]) * w
    return A / A.sum(axis=1, keepdims=True)


def objective(X, A, s, U, Vx, vy, Pi):
    W = np.linalg.pinv(A @ A.T, rcond=1e-10)
    gap = s - Pi @ vy
    return np.sum((X - U @ Vx.T) ** 2) + gap @ W @ gap + np.sum((A @ U - Pi) ** 2)


def start(X, A, s, r):
    ybar = np.linalg.pinv(A, rcond=1e-10) @ s
    U, gamma, Vt = np.linalg.svd(np.column_stack((X, ybar)), full_matrices=False)
    U, V = U[:, :r] * np.sqrt(gamma[:r]), Vt[:r].T * np.sqrt(gamma[:r])
    return U, V[:-1], V[-1], A @ U


def kronecker_round(X, A, s, U, Vx, vy, Pi, misprint=False):
    """Algorithm 2 as printed, vec by columns; W where v_y's line prints AAᵀ, unless the misprint is asked for."""
    (n, r), p = U.shape, len(s)
    W = np.linalg.pinv(A @ A.T, rcond=1e-10)
    left = np.kron(Vx.T @ Vx, np.eye(n)) + np.kron(np.eye(r), A.T @ A)
    U = np.linalg.solve(left, (X @ Vx + A.T @ Pi).reshape(-1, order="F")).reshape(n, r, order="F")
    left = np.eye(r * p) + np.kron(np.outer(vy, vy), W)
    Pi = np.linalg.solve(left, (W @ np.outer(s, vy) + A @ U).reshape(-1, order="F")).reshape(p, r, order="F")
    Vx = np.linalg.lstsq(U, X, rcond=None)[0].T
    K = A @ A.T if misprint else W
    vy = np.linalg.pinv(Pi.T @ K @ Pi) @ Pi.T @ K @ s
    return U, Vx, vy, Pi


def row_round(X, A, s, U, Vx, vy, Pi):
    """The same without the Kronecker product: r systems for U, one per row for Π."""
    W = np.linalg.pinv(A @ A.T, rcond=1e-10)
    lam, Q = np.linalg.eigh(Vx.T @ Vx)
    F = (X @ Vx + A.T @ Pi) @ Q
    K = A @ A.T
    columns = [
        (F[:, k] - A.T @ np.linalg.solve(lam[k] * np.eye(len(s)) + K, A @ F[:, k])) / lam[k] for k in range(len(lam))
    ]
    U = np.column_stack(columns) @ Q.T
    e, E = np.linalg.eigh(W)
    H, t = E.T @ A @ U, E.T @ s
    rows = [np.linalg.solve(np.eye(len(vy)) + e[g] * np.outer(vy, vy), e[g] * t[g] * vy + H[g]) for g in range(len(t))]
    Pi = E @ np.array(rows)
    Vx = np.linalg.lstsq(U, X, rcond=None)[0].T
    root = E @ np.diag(np.sqrt(np.maximum(e, 0))) @ E.T
    return U, Vx, np.linalg.lstsq(root @ Pi, root @ s, rcond=1e-12)[0], Pi


@pytest.fixture
def oracle():
    class Oracle:
        pass

    for function in (averaging, objective, start, kronecker_round, row_round):
        setattr(Oracle, function.__name__, staticmethod(function))
    return Oracle


@pytest.fixture
def draw():
    """Covariates with a different case mix per group, y linear with noise and random intercepts."""

    def make(n=120, m=3, p=8, seed=0, noise=0.3, effect=0.2):
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.arange(n) % p)
        X = rng.standard_normal((n, m)) + rng.standard_normal((p, m))[labels] + np.arange(m)
        y = 3 + X @ rng.standard_normal(m) + noise * rng.standard_normal(n) + effect * rng.standard_normal(p)[labels]
        return X, y, labels, np.bincount(labels, y) / np.bincount(labels)

    return make
