"""Two models of different sorts for a few thousand rows: a penalised regression and a forest, in NumPy alone.

A target is a matrix with a column for each class (1 in the row's own) or with one centred number; both learners
predict such a matrix. The regression is ridge, or multinomial logistic with the same penalty, whose steps use the fixed
bound ½ (XᵀX) of the curvature, so that one factorisation serves every step and every class and the loss never rises.
The forest grows all its trees at once, level by level: a level is one count over (tree, node, bin, class).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray

__all__ = ["forest", "regression"]

_RIDGE = 1.0
_MOST_STEPS = 200
_ENOUGH = 1e-5  # gain of a step relative to the loss
_TREES = 20
_DEPTH = 8
_MOST_BINS = 64
_LEAST = 2  # rows drawn into a leaf


def regression(X: FloatArray, Y: FloatArray, new: FloatArray) -> FloatArray:
    """Fit rows `X` to the target `Y` and predict that of the rows `new`: probabilities of classes, or the number."""
    centre, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0.0] = 1.0
    design, asked = (np.column_stack([np.ones(len(rows)), (rows - centre) / scale]) for rows in (X, new))
    penalty = np.full(design.shape[1], _RIDGE)
    penalty[0] = 1e-9  # the intercept is free
    curvature = design.T @ design
    if Y.shape[1] == 1:
        return asked @ np.linalg.solve(curvature + np.diag(penalty), design.T @ Y)
    return _softmax(asked @ _multinomial(design, Y, curvature, penalty))


def _multinomial(X: FloatArray, Y: FloatArray, gram: FloatArray, penalty: FloatArray) -> FloatArray:
    inverse = np.linalg.inv(0.5 * gram + np.diag(penalty))
    beta = np.zeros((X.shape[1], Y.shape[1]))
    ahead, pace, loss = beta, 1.0, np.inf
    for _ in range(_MOST_STEPS):
        P = _softmax(X @ ahead)
        step = ahead + inverse @ (X.T @ (Y - P) - penalty[:, None] * ahead)
        new = _loss(X @ step, Y, step, penalty)
        if new > loss:  # the momentum overshot: begin it anew
            ahead, pace = beta, 1.0
            continue
        next_pace = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead, beta, pace = step + (pace - 1) / next_pace * (step - beta), step, next_pace
        if loss - new <= _ENOUGH * new:
            break
        loss = new
    return beta


def _loss(scores: FloatArray, Y: FloatArray, beta: FloatArray, penalty: FloatArray) -> float:
    top = scores.max(axis=1)
    normal = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    return float(normal.sum() - (scores * Y).sum() + 0.5 * (penalty[:, None] * beta**2).sum())


def _softmax(scores: FloatArray) -> FloatArray:
    grown: FloatArray = np.exp(scores - scores.max(axis=1, keepdims=True))
    grown /= grown.sum(axis=1, keepdims=True)
    return grown


def forest(X: FloatArray, Y: FloatArray, new: FloatArray, rng: Generator) -> FloatArray:
    """Fit trees to rows drawn from `X` with their target `Y`, and predict that of the rows `new` as the mean of all."""
    bins = int(
        np.clip(200 // Y.shape[1], 8, _MOST_BINS)
    )  # with many classes fewer, or the counts would fill the memory
    edges = [_edges(column, bins) for column in X.T]
    rows, asked = (_binned(table, edges) for table in (X, new))
    drawn = rng.integers(0, len(X), (_TREES, len(X)))
    node, at = np.zeros(drawn.shape, dtype=np.int64), np.zeros((_TREES, len(new)), dtype=np.int64)
    tree = np.arange(_TREES)[:, None]
    for level in range(_DEPTH):
        cuts = _best_cuts(rows, Y, drawn, node + tree * 2**level, _TREES * 2**level, _tries(rng, X.shape[1]))
        node = cuts.sides(rows, drawn, node, level)
        at = cuts.sides(asked, np.broadcast_to(np.arange(len(new)), at.shape), at, level)
    leaves = _leaves(Y, drawn, node + tree * 2**_DEPTH, _TREES * 2**_DEPTH)
    return np.asarray(leaves[at + tree * 2**_DEPTH].mean(axis=0))


def _edges(column: FloatArray, bins: int) -> FloatArray:
    levels = np.unique(column)
    if len(levels) > bins:
        levels = np.unique(np.quantile(column, np.linspace(0, 1, bins)))
    return (levels[1:] + levels[:-1]) / 2


def _binned(table: FloatArray, edges: list[FloatArray]) -> IntArray:
    codes = [np.searchsorted(cuts, column) for cuts, column in zip(edges, table.T, strict=True)]
    return np.stack(codes).astype(np.int64)


def _tries(rng: Generator, n_columns: int) -> Iterator[IntArray]:
    """Which columns each tree may cut at a level: about a third of them, three to ten."""
    n_tried = min(n_columns, max(3, min(10, n_columns // 3)))
    order = np.argsort(rng.random((_TREES, n_columns)), axis=1)
    return iter(order[:, :n_tried].T)


@dataclass(slots=True)
class _Cuts:
    """The best cut of every node of a level: its gain, column and last bin on the left; by default all rows go left."""

    gain: FloatArray
    column: IntArray
    bin: IntArray

    def sides(self, rows: IntArray, drawn: IntArray, node: IntArray, level: int) -> IntArray:
        """The nodes of the next level."""
        own = node + np.arange(len(node))[:, None] * 2**level
        right: IntArray = rows[self.column[own], drawn] > self.bin[own]
        return 2 * node + right


def _best_cuts(
    rows: IntArray, Y: FloatArray, drawn: IntArray, place: IntArray, n: int, tries: Iterator[IntArray]
) -> _Cuts:
    bins = int(rows.max()) + 1
    best = _Cuts(np.full(n, 1e-9), np.zeros(n, dtype=np.int64), np.full(n, bins))
    for columns in tries:
        codes = np.take_along_axis(rows[columns], drawn, axis=1)
        sums, counts = _sums(place * bins + codes, Y, drawn, n * bins)
        gain, cut = _best_of(sums.reshape(n, bins, -1), counts.reshape(n, bins))
        better = gain > best.gain
        own = np.repeat(columns, n // _TREES)
        best.gain[better], best.column[better], best.bin[better] = gain[better], own[better], cut[better]
    return best


def _sums(cell: IntArray, Y: FloatArray, drawn: IntArray, n: int) -> tuple[FloatArray, FloatArray]:
    """Sums of the target and counts of rows in every cell."""
    flat, width = cell.ravel(), Y.shape[1]
    if width == 1:
        counts = np.bincount(flat, minlength=n).astype(np.float64)
        return np.bincount(flat, Y[drawn, 0].ravel(), n).astype(np.float64)[:, None], counts
    own = Y.argmax(axis=1)[drawn].ravel()
    sums = np.bincount(flat * width + own, minlength=n * width).reshape(n, width).astype(np.float64)
    return sums, sums.sum(axis=1)


def _best_of(sums: FloatArray, counts: FloatArray) -> tuple[FloatArray, IntArray]:
    """The gain of the best cut of each node: squared error of the target taken away (Gini's, for classes)."""
    left, n_left = sums.cumsum(axis=1), counts.cumsum(axis=1)
    whole, n = left[:, -1:], n_left[:, -1:]
    n_right = n - n_left
    after = _explained(left, n_left) + _explained(whole - left, n_right)
    gain = np.where((n_left >= _LEAST) & (n_right >= _LEAST), after - _explained(whole, n), 0.0)
    cut = gain.argmax(axis=1)
    return np.take_along_axis(gain, cut[:, None], axis=1)[:, 0], cut


def _explained(sums: FloatArray, counts: FloatArray) -> FloatArray:
    out: FloatArray = (sums**2).sum(axis=-1) / np.maximum(counts, 1.0)
    return out


def _leaves(Y: FloatArray, drawn: IntArray, place: IntArray, n: int) -> FloatArray:
    sums, counts = _sums(place, Y, drawn, n)
    return sums / np.maximum(counts, 1.0)[:, None]
