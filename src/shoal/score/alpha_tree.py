"""AlphaTree: a decision tree that splits by α-gain, without any protection.

At each node it asks the question with the largest α-divergence between P(X, Y) and P(X) P(Y) (`shoal.score.splits`).
α = 1 is the information gain of ID3 and C4.5, α = 2 ranks as the Gini index does. It is the yardstick for the others:
it holds exact counts, answers exactly, and promises nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.claim import Claim
from shoal.dp import Budget
from shoal.schema import Schema
from shoal.score.model import Records, RiskModel, require
from shoal.score.splits import Splits, alpha_gain, gini_gain
from shoal.score.tree import Choice, Tree, grow

__all__ = ["AlphaTree", "check_tree", "tree_importances"]


class AlphaTree(RiskModel):
    """A decision tree by α-gain; no privacy.

    Parameters
    ----------
    alpha
        Which divergence: 1 information gain, 2 chi-square, ½ Hellinger, 0 the reverse information gain; any number.
        For alpha ≤ 0 half a record is added to every cell of a table, as an empty one would make the gain infinite.
    max_depth
        Most questions on a way down; raising it fits the data more closely.
    min_leaf
        Least records (weights, where given) on either side of a split.
    cuts
        Equal cuts of a number that declares bounds and no edges.
    schema
        Public levels, bounds and edges, and rules for missing numbers. None: read from the data.
    classes
        The two classes, the risk last. None: found in y.

    Notes
    -----
    Missing numbers follow the schema's rule, a missing category is a level of its own. Cost: records × features a
    level.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.score import AlphaTree
    >>> X = np.array([[20.0], [30.0], [50.0], [60.0]])
    >>> tree = AlphaTree(alpha=1.0, cuts=3, min_leaf=1, classes=("well", "ill")).fit(X, ["well", "well", "ill", "ill"])
    >>> print(tree.to_text())
    x0 ≥ 40? yes
    |   risk 1.00 of class ill (2 records)
    x0 ≥ 40? no
    |   risk 0.00 of class ill (2 records)
    """

    kind: ClassVar[str] = "alpha tree"
    whole: ClassVar[bool] = False

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        max_depth: int = 5,
        min_leaf: float = 5,
        cuts: int = 9,
        schema: Schema | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.alpha, self.max_depth, self.min_leaf, self.cuts = alpha, max_depth, min_leaf, cuts
        self.schema, self.classes = schema, classes

    model_: Tree

    def _check(self) -> None:
        require(self, "alpha", _number(self.alpha) and math.isfinite(self.alpha), "be a finite number")
        check_tree(self)

    def _learn(self, records: Records) -> Tree:
        splits = Splits.of(records.features)
        keys = splits.keys(records.codes, records.y)
        return grow(keys, splits, self._choice(), records.weights)

    def _choice(self) -> Choice:
        """The question with the largest α-gain, while it has one and both sides have enough records."""

        def choose(tables: FloatArray, total: FloatArray, depth: int) -> int:
            if depth >= self.max_depth or min(total) <= 0:
                return -1
            smoothed = tables + 0.5 if self.alpha <= 0 else tables
            sides = tables.sum(axis=2).min(axis=1)
            gains = np.where(sides >= max(self.min_leaf, 1e-9), alpha_gain(smoothed, float(self.alpha)), -1.0)
            best = int(gains.argmax())
            return best if gains[best] > 1e-12 else -1

        return choose

    def _risks(self, codes: IntArray) -> FloatArray:
        return _shares(self.model_)[self.model_.apply(codes)]

    def _one(self, cells: tuple[int, ...]) -> float:
        return float(_shares(self.model_)[self.model_.leaf(cells)])

    def _importances(self) -> FloatArray:
        return tree_importances([self.model_], len(self.features_))

    def _lines(self) -> list[str]:
        shares, counts, label = _shares(self.model_), self.model_.counts, self.classes_[1]
        say = lambda node: f"risk {shares[node]:.2f} of class {label} ({counts[node].sum():g} records)"  # noqa: E731
        return self.model_.lines(self.features_, say)

    def _body(self) -> dict[str, Any]:
        return self.model_.to_dict()

    def _restore(self, words: Mapping[str, Any]) -> Tree:
        return Tree.from_dict(words)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """None: nothing is promised."""
        return ()

    @property
    def spent(self) -> Budget | None:
        """None: no price is known."""
        return None

    @property
    def cost(self) -> Budget | None:
        """None: answers are exact, and no ε covers them."""
        return None

    @property
    def words(self) -> str:
        """The model in plain words."""
        return (
            f"A decision tree that splits by α-gain with α = {self.alpha:g}. Its answers are exact shares of the "
            "training records; nothing is promised about privacy, so it must not answer people outside."
        )


def check_tree(model: Any) -> None:
    """Hold the parameters that all trees share to their rules."""
    require(model, "max_depth", _whole(model.max_depth, 1, 30), "be a whole number from 1 to 30")
    if hasattr(model, "min_leaf"):
        require(model, "min_leaf", _number(model.min_leaf) and model.min_leaf >= 0, "be a number of at least 0")
    require(model, "cuts", _whole(model.cuts, 1, 1000), "be a whole number from 1 to 1000")


def tree_importances(trees: Sequence[Tree], n_features: int) -> FloatArray:
    """n × Gini gain of the questions about each feature, from the trees' own counts; they add up to 1."""
    found = np.zeros(n_features)
    for tree in trees:
        counts = np.maximum(tree.counts, 0.0)
        for node in np.flatnonzero(tree.variable >= 0):
            pair = counts[[tree.no[node], tree.yes[node]]]
            found[tree.variable[node]] += max(0.0, float(gini_gain(pair)))
    return found / found.sum() if found.sum() > 0 else np.full(n_features, 1.0 / n_features)


def _shares(tree: Tree) -> FloatArray:
    n = tree.counts.sum(axis=1)
    return np.where(n > 0, tree.counts[:, 1] / np.where(n > 0, n, 1.0), 0.5)


def _number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _whole(value: object, low: int, high: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(low <= value <= high)
