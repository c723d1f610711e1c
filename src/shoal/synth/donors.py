"""Imputation by donors: a value is taken from a record that a model finds alike (section 2.3).

Three ways to find it, all for a column y given regressors X and rows `new` to be filled:

- **matching** (predictive mean matching; Little 1988): β̂ predicts the records, a posterior draw β* the new rows,

      donor of row i  ~  uniform over the `DONORS` records j with the least |x_jᵀβ̂ − x_iᵀβ*|;

- **tree** (CART; Reiter 2005): a tree of y on X with at least `LEAF` records a leaf; the donor is a record of the row's
  leaf;
- **forest** (Caiola and Reiter 2010): the same, each row by one of `TREES` trees grown on bootstrap samples.

Promised: nothing. What is drawn is a real record's value; with few records a leaf is a small group of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray

__all__ = ["DONORS", "LEAF", "TREES", "leaf_draw", "nearest_donors"]

DONORS = 5
LEAF = 5
TREES = 20
_SEEDS = 2**31 - 1


def nearest_donors(predicted: FloatArray, wanted: FloatArray, rng: Generator) -> IntArray:
    """For each wanted number, one of the `DONORS` records whose predicted number is nearest, at random.

    Records are in the order of their predictions, ties in random order, so the nearest lie side by side: the window of
    `DONORS` records around the place of a wanted number is moved until no record outside it is nearer.
    """
    shuffled = rng.permutation(len(predicted))
    order = shuffled[np.argsort(predicted[shuffled], kind="stable")]
    in_order, most = predicted[order], min(DONORS, len(order))
    start = np.clip(np.searchsorted(in_order, wanted) - most, 0, len(order) - most)
    for _ in range(most):
        after = np.minimum(start + most, len(order) - 1)
        moves = (start + most < len(order)) & (in_order[after] - wanted < wanted - in_order[start])
        start = start + moves
    return np.asarray(order[start + rng.integers(0, most, len(wanted))], dtype=np.int64)


def leaf_draw(X: FloatArray, y: FloatArray, new: FloatArray, rng: Generator, *, cells: bool, trees: int) -> FloatArray:
    """Values of records that share a leaf with each new row, in one of so many `trees`; `cells`: y has levels."""
    out = np.empty(len(new))
    which = rng.integers(0, trees, len(new))
    for tree in range(trees):
        rows = which == tree
        if rows.any():
            grown_on = np.arange(len(y)) if trees == 1 else rng.integers(0, len(y), len(y))
            out[rows] = _one_tree(X[grown_on], y[grown_on], new[rows], rng, cells)
    return out


def _one_tree(X: FloatArray, y: FloatArray, new: FloatArray, rng: Generator, cells: bool) -> FloatArray:
    model = _tree(cells, int(rng.integers(_SEEDS))).fit(X, y)
    leaf = model.apply(X)
    order = np.argsort(leaf, kind="stable")
    wanted = model.apply(new)
    first = np.searchsorted(leaf[order], wanted, side="left")
    size = np.searchsorted(leaf[order], wanted, side="right") - first
    return np.asarray(y[order[first + rng.integers(0, size)]], dtype=np.float64)


def _tree(cells: bool, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeClassifier if cells else DecisionTreeRegressor
    return kind(min_samples_leaf=LEAF, random_state=seed)
