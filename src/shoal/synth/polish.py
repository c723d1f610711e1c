"""Polishing: rows are moved, one cell at a time, until their tables of pairs are those that were wanted.

Rows drawn at random err by sampling, which at a large ε is most of the error. Let N be the table of a pair over all
rows, W the wanted one scaled to as many rows. Rows are visited in random order, and each of their cells takes the level
that lowers

    Σ_pairs Σ_cells |N − W| + 0.02 (N − W)²

most, if any does. It stops when a round moves fewer than one row in a thousand, and after half a million visits (at
least three rounds): the first round takes away nine tenths of the error, and three rounds nearly all that any number
does. Only wanted tables and drawn rows are looked at: post-processing of noisy tables. Polished rows are not
independent draws, so intervals computed from them as if they were are wrong.

Cost of a round: rows times levels times columns. The cost of one more row in each cell is kept in a table for each
ordered pair of columns, so that all levels of a cell are weighed by adding up M − 1 short rows of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numba import njit

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.synth.tables import pair_counts

__all__ = ["loss", "polished"]

SQUARE = 0.02
_ROUNDS, _FEWEST_ROUNDS = 30, 3
_VISITS = 500_000  # of rows
_STILL = 0.001  # of the rows: a round that moves fewer is the last


def polished(
    Y: IntArray, wanted: Mapping[tuple[int, int], FloatArray], allowed: Sequence[BoolArray], rng: Generator
) -> IntArray:
    """Rows near `Y` whose tables of pairs are near `wanted`; a column only takes levels that are `allowed`.

    Wanted tables of all pairs (i, j), i < j, on any scale.
    """
    sizes = np.array([len(levels) for levels in allowed], dtype=np.int64)
    n, M = Y.shape
    if M < 2 or n == 0:
        return Y
    at, D = _gaps(Y, wanted, sizes.tolist())
    add = _price(D + 1) - _price(D)
    may = np.concatenate(allowed)
    rows = np.ascontiguousarray(Y)
    for _ in range(_rounds(n)):
        if _round(rows, rng.permutation(n), sizes, at, D, add, may) < _STILL * n:
            break
    return np.asfortranarray(rows)


def _rounds(n: int) -> int:
    """The most rounds for n rows."""
    return min(_ROUNDS, max(_FEWEST_ROUNDS, _VISITS // n))


def loss(Y: IntArray, wanted: Mapping[tuple[int, int], FloatArray], sizes: Sequence[int]) -> float:
    """What polishing lowers."""
    return float(sum(_price(_gap(Y, wanted[i, j], sizes, i, j)).sum() for i, j in wanted))


def _gap(Y: IntArray, table: FloatArray, sizes: Sequence[int], i: int, j: int) -> FloatArray:
    """N − W of a pair."""
    return np.asarray(pair_counts(Y, sizes, i, j) - table * (len(Y) / max(table.sum(), 1e-300)), dtype=np.float64)


def _gaps(
    Y: IntArray, wanted: Mapping[tuple[int, int], FloatArray], sizes: Sequence[int]
) -> tuple[IntArray, FloatArray]:
    """N − W of all ordered pairs (i, j), each by rows of x_j and columns of x_i, flat, from at[i, j]."""
    M = len(sizes)
    at, parts, end = np.zeros((M, M), dtype=np.int64), [], 0
    for i in range(M):
        for j in range(M):
            if i != j:
                pair = (min(i, j), max(i, j))
                gap = _gap(Y, wanted[pair], sizes, *pair)
                parts.append((gap.T if i < j else gap).ravel())
                at[i, j], end = end, end + gap.size
    return at, np.concatenate(parts)


def _price(D: FloatArray) -> FloatArray:
    return np.asarray(np.abs(D) + SQUARE * D * D, dtype=np.float64)


@njit(cache=True, nogil=True)
def _round(
    Y: IntArray, order: IntArray, sizes: IntArray, at: IntArray, D: FloatArray, add: FloatArray, may: BoolArray
) -> int:
    """Visit all rows once; gives how many changed."""
    M, moved = Y.shape[1], 0
    gain = np.empty(sizes.max())
    for r in order:
        row, changed, first = Y[r], False, 0
        for i in range(M):
            C, a = sizes[i], row[i]
            gain[:C] = 0.0
            taken = 0.0
            for j in range(M):
                if j != i:
                    start = at[i, j] + row[j] * C
                    for c in range(C):
                        gain[c] += add[start + c]
                    d = D[start + a]
                    taken += abs(d - 1) - abs(d) + SQUARE * (1 - 2 * d)
            best, to = -1e-9, a
            for c in range(C):
                if c != a and may[first + c] and gain[c] + taken < best:
                    best, to = gain[c] + taken, c
            if to != a:
                _move(row, i, a, to, sizes, at, D, add)
                changed = True
            first += C
        moved += changed
    return moved


@njit(cache=True, nogil=True)
def _move(
    row: IntArray, i: int, a: int, to: int, sizes: IntArray, at: IntArray, D: FloatArray, add: FloatArray
) -> None:
    """Give column i of a row the level `to` in place of `a`, in the row and in all its tables."""
    for j in range(row.size):
        if j != i:
            for level, by in ((a, -1.0), (to, 1.0)):
                here = at[i, j] + row[j] * sizes[i] + level
                there = at[j, i] + level * sizes[j] + row[j]
                d = D[here] + by
                price = abs(d + 1) - abs(d) + SQUARE * (2 * d + 1)
                D[here] = D[there] = d
                add[here] = add[there] = price
    row[i] = to
