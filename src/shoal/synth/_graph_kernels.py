"""The loops of the graphical model: messages along a junction tree, mirror descent, margins of pairs, drawing rows.

All tables lie flat in one array each; `Wiring` holds, for every clique's cells, to which cell of a separator or of a
measured table they belong, so that a margin is one pass over the cells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.synth.junction import Junction, Region, projection

__all__ = ["Wiring", "calibrated", "descend", "draw_keyed", "pairs_with", "wired"]

_TINY = 1e-300


class Wiring(NamedTuple):
    """A junction tree in flat arrays; what belongs to clique (or table) q starts at the offset q of its `…_at`."""

    above: IntArray
    cell_at: IntArray  # cells of the cliques
    inner: IntArray  # a clique's cell → cell of the separator to its parent, as `cell_at`
    outer: IntArray  # a parent's cell → cell of the separator to clique q, from outer_at[q]
    outer_at: IntArray
    sep_at: IntArray  # cells of the separators
    home: IntArray  # the clique of each table
    table: IntArray  # a clique's cell → cell of table r, from map_at[r]
    map_at: IntArray
    table_at: IntArray  # cells of the tables
    sizes: IntArray
    level_at: IntArray  # levels of the columns, all numbered together
    member: IntArray  # columns of the cliques
    member_at: IntArray
    stride: IntArray  # of each member within its clique
    of: IntArray  # a clique that holds each column


def wired(tree: Junction, regions: tuple[Region, ...]) -> Wiring:
    """The maps of a tree and the tables inside it."""
    Q, sizes = len(tree.cliques), tree.sizes
    homes = [tree.home(region) for region in regions]
    if None in homes:
        raise ValueError("every table must lie in a clique")
    home = [q for q in homes if q is not None]
    inner = [projection(tree.cliques[q], sizes, tree.shared(q)) for q in range(Q)]
    outer = [
        projection(tree.cliques[tree.above[q]], sizes, tree.shared(q)) if tree.above[q] >= 0 else np.empty(0, np.int64)
        for q in range(Q)
    ]
    tables = [projection(tree.cliques[q], sizes, region) for q, region in zip(home, regions, strict=True)]
    strides = [_strides([sizes[i] for i in clique]) for clique in tree.cliques]
    columns = [tree.home((i,)) or 0 for i in range(len(sizes))]
    return Wiring(
        above=_whole(tree.above),
        cell_at=_offsets([tree.cells(clique) for clique in tree.cliques]),
        inner=_joined(inner),
        outer=_joined(outer),
        outer_at=_offsets([len(part) for part in outer]),
        sep_at=_offsets([tree.cells(tree.shared(q)) for q in range(Q)]),
        home=_whole(home),
        table=_joined(tables),
        map_at=_offsets([len(part) for part in tables]),
        table_at=_offsets([tree.cells(region) for region in regions]),
        sizes=_whole(sizes),
        level_at=_offsets(list(sizes)),
        member=_whole([i for clique in tree.cliques for i in clique]),
        member_at=_offsets([len(clique) for clique in tree.cliques]),
        stride=_whole([s for part in strides for s in part]),
        of=_whole(columns),
    )


def _strides(shape: list[int]) -> list[int]:
    out = [1] * len(shape)
    for k in range(len(shape) - 2, -1, -1):
        out[k] = out[k + 1] * shape[k + 1]
    return out


def _whole(values: AnyArray | list[int] | tuple[int, ...]) -> IntArray:
    return np.asarray(values, dtype=np.int64)


def _joined(parts: list[IntArray]) -> IntArray:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _offsets(lengths: list[int]) -> IntArray:
    return np.cumsum([0, *lengths]).astype(np.int64)


@njit(cache=True, nogil=True)
def calibrated(w: Wiring, theta: FloatArray, total: float) -> FloatArray:
    """The margins of all cliques: potentials multiplied, collected towards the roots, then spread (Hugin)."""
    Q = w.above.size
    psi = _products(w, theta)
    for q in range(Q - 1, -1, -1):
        if w.above[q] >= 0:
            _collect(w, psi, q)
    for q in range(Q):
        if w.above[q] >= 0:
            _spread(w, psi, q)
        else:
            _scale(psi, w.cell_at[q], w.cell_at[q + 1], total)
    return psi


@njit(cache=True, nogil=True)
def _products(w: Wiring, theta: FloatArray) -> FloatArray:
    """exp of the summed potentials of every clique, the largest 1."""
    Q = w.above.size
    psi = np.zeros(w.cell_at[Q])
    for r in range(w.home.size):
        first, at, table = w.cell_at[w.home[r]], w.map_at[r], w.table_at[r]
        for c in range(w.map_at[r + 1] - at):
            psi[first + c] += theta[table + w.table[at + c]]
    for q in range(Q):
        top = -np.inf
        for c in range(w.cell_at[q], w.cell_at[q + 1]):
            top = max(top, psi[c])
        for c in range(w.cell_at[q], w.cell_at[q + 1]):
            psi[c] = np.exp(psi[c] - top)
    return psi


@njit(cache=True, nogil=True)
def _scale(psi: FloatArray, first: int, end: int, total: float) -> None:
    mass = 0.0
    for c in range(first, end):
        mass += psi[c]
    factor = total / max(mass, _TINY)
    for c in range(first, end):
        psi[c] *= factor


@njit(cache=True, nogil=True)
def _collect(w: Wiring, psi: FloatArray, q: int) -> None:
    message = np.zeros(w.sep_at[q + 1] - w.sep_at[q])
    for c in range(w.cell_at[q], w.cell_at[q + 1]):
        message[w.inner[c]] += psi[c]
    top = _TINY
    for s in range(message.size):
        top = max(top, message[s])
    for s in range(message.size):
        message[s] /= top
    first, at = w.cell_at[w.above[q]], w.outer_at[q]
    for c in range(w.outer_at[q + 1] - at):
        psi[first + c] *= message[w.outer[at + c]]


@njit(cache=True, nogil=True)
def _spread(w: Wiring, psi: FloatArray, q: int) -> None:
    S = w.sep_at[q + 1] - w.sep_at[q]
    wanted, have = np.zeros(S), np.zeros(S)
    first, at = w.cell_at[w.above[q]], w.outer_at[q]
    for c in range(w.outer_at[q + 1] - at):
        wanted[w.outer[at + c]] += psi[first + c]
    for c in range(w.cell_at[q], w.cell_at[q + 1]):
        have[w.inner[c]] += psi[c]
    for c in range(w.cell_at[q], w.cell_at[q + 1]):
        s = w.inner[c]
        psi[c] *= wanted[s] / max(have[s], _TINY)


@njit(cache=True, nogil=True)
def _margins(w: Wiring, psi: FloatArray) -> FloatArray:
    """The margins of all tables, flat."""
    mu = np.zeros(w.table_at[w.home.size])
    for r in range(w.home.size):
        first, at, table = w.cell_at[w.home[r]], w.map_at[r], w.table_at[r]
        for c in range(w.map_at[r + 1] - at):
            mu[table + w.table[at + c]] += psi[first + c]
    return mu


@njit(cache=True, nogil=True)
def descend(
    w: Wiring, theta: FloatArray, y: FloatArray, precision: FloatArray, total: float, step: float, steps: int
) -> tuple[FloatArray, float]:
    """Lower Σ precision (μ − y)² / 2 over the potentials; gives them and the step it ended with."""
    mu = _margins(w, calibrated(w, theta, total))
    loss = _misfit(precision, mu, y)
    for _ in range(steps):
        trial = np.empty(theta.size)
        for c in range(theta.size):
            trial[c] = theta[c] - step * (precision[c] * (mu[c] - y[c]))
        mu2 = _margins(w, calibrated(w, trial, total))
        loss2, promised = _misfit(precision, mu2, y), 0.0
        for c in range(theta.size):
            promised += precision[c] * (mu[c] - y[c]) * (mu[c] - mu2[c])
        if loss - loss2 >= 0.5 * promised > 0.0:
            close = loss - loss2 < 1e-5 * max(loss, 1.0)
            theta, mu, loss, step = trial, mu2, loss2, 1.1 * step
            if close:
                break
        else:
            step *= 0.5
    return theta, step


@njit(cache=True, nogil=True)
def _misfit(precision: FloatArray, mu: FloatArray, y: FloatArray) -> float:
    total = 0.0
    for c in range(mu.size):
        total += precision[c] * ((mu[c] - y[c]) * (mu[c] - y[c]))
    return 0.5 * total


@njit(cache=True, nogil=True)
def pairs_with(w: Wiring, psi: FloatArray, i: int) -> FloatArray:
    """The tables of column i (rows) with every column, side by side; zeros for columns that no path leads to.

    The table of column i and a separator, T, is passed from clique to clique along the tree.
    """
    Q = w.above.size
    T, out = np.zeros((w.sizes[i], w.sep_at[Q])), np.zeros((w.sizes[i], w.level_at[w.sizes.size]))
    came = np.empty(Q, dtype=np.int64)  # the edge through which a clique was reached, −1 for the first, −2 not yet
    for q in range(Q):
        came[q] = -2
    queue, edges = np.empty(Q, dtype=np.int64), np.empty(Q, dtype=np.int64)  # edge q leads to q's parent
    queue[0], came[w.of[i]] = w.of[i], -1
    n_queue = 1
    for k in range(Q):
        if k < n_queue:
            q = queue[k]
            n_edges = 0
            for other in range(Q):
                if came[other] == -2 and (w.above[other] == q or w.above[q] == other):
                    came[other] = other if w.above[other] == q else q
                    queue[n_queue], edges[n_edges] = other, came[other]
                    n_queue += 1
                    n_edges += 1
            _pass_on(w, psi, i, q, came[q], edges[:n_edges], T, out)
    return out


@njit(cache=True, nogil=True)
def _pass_on(
    w: Wiring, psi: FloatArray, i: int, q: int, e: int, edges: IntArray, T: FloatArray, out: FloatArray
) -> None:
    """From T of edge e (or column i itself) to the tables of i with q's columns, and T of the edges ahead."""
    C, first = w.sizes[i], w.cell_at[q]
    own = _member(w, q, i)
    if own < 0:
        _normalise(T, w.sep_at[e], w.sep_at[e + 1])
    J = np.zeros(C)
    for c in range(w.cell_at[q + 1] - first):
        low, high = 0, C
        if own >= 0:
            low = (c // w.stride[own]) % C
            high = low + 1
            J[low] = psi[first + c]
        else:
            s = _separator(w, q, e, c)
            for x in range(C):
                J[x] = psi[first + c] * T[x, s]
        for m in range(w.member_at[q], w.member_at[q + 1]):
            if w.of[w.member[m]] == q:
                level = (c // w.stride[m]) % w.sizes[w.member[m]]
                _add(out, low, high, w.level_at[w.member[m]] + level, J)
        for edge in edges:
            _add(T, low, high, _separator(w, q, edge, c), J)


@njit(cache=True, nogil=True)
def _normalise(T: FloatArray, first: int, end: int) -> None:
    """Make the columns from `first` up to `end` sum to one."""
    for s in range(first, end):
        mass = 0.0
        for x in range(len(T)):
            mass += T[x, s]
        for x in range(len(T)):
            T[x, s] /= max(mass, _TINY)


@njit(cache=True, nogil=True)
def _add(table: FloatArray, low: int, high: int, column: int, J: FloatArray) -> None:
    for x in range(low, high):
        table[x, column] += J[x]


@njit(cache=True, nogil=True)
def _member(w: Wiring, q: int, i: int) -> int:
    """Where column i stands among the members of clique q, −1 if it does not."""
    for m in range(w.member_at[q], w.member_at[q + 1]):
        if w.member[m] == i:
            return m
    return -1


@njit(cache=True, nogil=True)
def _separator(w: Wiring, q: int, edge: int, c: int) -> int:
    """The cell of an edge's separator that cell c of clique q belongs to."""
    return int(w.sep_at[edge] + (w.inner[w.cell_at[q] + c] if edge == q else w.outer[w.outer_at[edge] + c]))


@njit(cache=True, nogil=True)
def draw_keyed(shares: FloatArray, key: IntArray, rank: IntArray, start: float) -> AnyArray:
    """One cell for each row from the row `key` of `shares`, by numbers spread evenly along the ranks."""
    n, C = key.size, shares.shape[1]
    out = np.empty(n, dtype=np.int64)
    for r in range(n):
        total = 0.0
        for c in range(C):
            total += shares[key[r], c]
        u = ((start + rank[r] * 0.6180339887498949) % 1.0) * total
        got = -1
        for c in range(C):
            p = shares[key[r], c]
            if p > 0.0:
                got = c
                u -= p
                if u < 0.0:
                    break
        out[r] = max(got, 0)
    return out
