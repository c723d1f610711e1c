"""CertifiedTree: one readable tree that is ε-differentially private as a whole; answers are free.

Thresholds and levels are public. The budget is shared:

- **questions**: at each level of the tree every record is in one node, so all choices of a level cost one ε_level
  (parallel composition), and the levels add. A question is chosen by permute-and-flip (OpenDP's noisy maximum) on
  n × Gini gain, whose sensitivity is 1 (`shoal.score.gain`);
- **leaves**: the class counts of all leaves get discrete Laplace noise once; a record is in one leaf, so sensitivity 1.

The tree always has its full depth: stopping early by looking at the data would tell something. Probabilities are made
from the noisy counts: each node's share is drawn towards its parent's, the more the noisier it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.dp import Budget, noise
from shoal.schema import Schema
from shoal.score.alpha_tree import check_tree, tree_importances
from shoal.score.gain import GINI_SENSITIVITY, gini_gain
from shoal.score.model import Records, RiskModel, require
from shoal.score.promise import Certified
from shoal.score.splits import Splits
from shoal.score.tree import Choice, Tree, grow

__all__ = ["CertifiedTree", "check_promise", "private_tree", "tree_risks", "tree_shares"]


class CertifiedTree(Certified, RiskModel):
    """A decision tree that is ε-differentially private as a whole.

    Parameters
    ----------
    epsilon
        Privacy loss of the whole model; raising it means less privacy and less noise.
    schema
        Public levels, bounds or edges of every feature.
    max_depth
        Questions on every way down. Raising it shares ε over more levels and records over more leaves.
    cuts
        Equal cuts of a number that declares bounds and no edges.
    structure_share
        Share of ε for the questions; the rest is for the leaves.
    classes
        The two classes, the risk last; None: 0 and 1, or the levels of the target in the schema.
    rows_per_person
        m, the rows that one person may have: ε is the price of a person with all of them, and the noise is m times as
        large. If X has the unit column of the schema, of a person with more rows m are kept at random; if not, it is
        for you to know.

    Notes
    -----
    Fitted attributes hold noisy values only. Missing numbers follow the schema's rule (``"drop"`` or a number), a
    missing category is a level. Weights other than 0 and 1 are refused: one person must count as one. Cost: 2^depth
    choices of about a millisecond, and records × features a level.

    Examples
    --------
    >>> from shoal.datasets.pima import pima_like, pima_like_schema
    >>> from shoal.score import CertifiedTree
    >>> table = pima_like(400, seed=1)
    >>> tree = CertifiedTree(epsilon=1.0, schema=pima_like_schema(), max_depth=2)
    >>> _ = tree.fit(table.drop("diabetes"), table["diabetes"])
    >>> print(tree.claims[0].basis, tree.spent, tree.cost, sep=" | ")
    proved | ε = 1 | ε = 0
    """

    kind: ClassVar[str] = "certified tree"
    public: ClassVar[bool] = True
    releasable: ClassVar[bool] = True

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: Schema | None = None,
        *,
        max_depth: int = 4,
        cuts: int = 9,
        structure_share: float = 0.5,
        classes: Sequence[Any] | None = None,
        rows_per_person: int = 1,
    ) -> None:
        self.epsilon, self.schema, self.max_depth, self.cuts = epsilon, schema, max_depth, cuts
        self.structure_share, self.classes, self.rows_per_person = structure_share, classes, rows_per_person

    model_: Tree

    def _check(self) -> None:
        check_promise(self)
        check_tree(self)
        require(self, "max_depth", self.max_depth <= 12, "be a whole number from 1 to 12")
        share = self.structure_share
        good = isinstance(share, float) and 0 < share < 1
        require(self, "structure_share", good, "be a number greater than 0 and less than 1")

    def _learn(self, records: Records) -> Tree:
        tree, self.leaf_scale_ = private_tree(records, self.per_row, self.max_depth, self.structure_share, None)
        self._shares = tree_shares(tree, self.leaf_scale_)
        return tree

    def _risks(self, codes: IntArray) -> FloatArray:
        return self._shares[self.model_.apply(codes)]

    def _one(self, cells: tuple[int, ...]) -> float:
        return float(self._shares[self.model_.leaf(cells)])

    def _importances(self) -> FloatArray:
        return tree_importances([self.model_], len(self.features_))

    def _lines(self) -> list[str]:
        say = lambda node: f"risk {self._shares[node]:.2f} of class {self.classes_[1]}"  # noqa: E731
        return self.model_.lines(self.features_, say)

    def _body(self) -> dict[str, Any]:
        return {"tree": self.model_.to_dict(), "leaf_scale": self.leaf_scale_}

    def _restore(self, words: Mapping[str, Any]) -> Tree:
        self.leaf_scale_ = float(words["leaf_scale"])
        tree = Tree.from_dict(words["tree"])
        self._shares = tree_shares(tree, self.leaf_scale_)
        return tree

    @property
    def words(self) -> str:
        """The model in plain words."""
        return (
            f"A decision tree of depth {self.max_depth}, {self.epsilon:g}-differentially private as a whole: its "
            "questions were chosen and its counts taken with noise, so no single record shows. Answers cost nothing."
        )


def private_tree(
    records: Records, budget: Budget, max_depth: int, structure_share: float, variables: IntArray | None
) -> tuple[Tree, float]:
    """A tree that costs `budget`, with noisy counts in all nodes, and the scale of the leaves' noise.

    `variables` are those that may be asked about (chosen without the data); None: all.
    """
    questions, leaves = budget.split([structure_share, 1.0 - structure_share])
    per_level = questions.split(max_depth)[0].epsilon
    splits = Splits.of(records.features)
    allowed = np.arange(len(splits)) if variables is None else np.flatnonzero(np.isin(splits.variable, variables))
    keys = splits.keys(records.codes, records.y)
    tree = grow(keys, splits, _private_choice(per_level, max_depth, allowed))
    scale = noise.laplace_scale(leaves.epsilon)
    exact = tree.counts[tree.leaves].astype(np.int64)
    return tree.with_leaf_counts(noise.discrete_laplace(exact, scale).astype(np.float64)), scale


def _private_choice(per_level: float, max_depth: int, allowed: IntArray) -> Choice:
    def choose(tables: FloatArray, total: FloatArray, depth: int) -> int:
        if depth >= max_depth or len(allowed) == 0:
            return -1
        scores = gini_gain(tables[allowed])
        return int(allowed[noise.noisy_max(scores, GINI_SENSITIVITY, per_level)])

    return choose


def tree_shares(tree: Tree, scale: float, base: float | None = None) -> FloatArray:
    """The risk at every node: noisy shares, each drawn towards its parent's (or `base`) as its noise demands."""
    counts = np.maximum(tree.counts, 0.0)
    strength = 1.0 + 2.0 * scale
    shares = np.full(len(counts), 0.5)
    prior = np.full(len(counts), 0.5 if base is None else base)
    for node in range(len(counts)):  # parents come before their children
        n = counts[node].sum()
        shares[node] = (counts[node, 1] + strength * prior[node]) / (n + strength)
        if base is None and tree.variable[node] >= 0:
            prior[[tree.no[node], tree.yes[node]]] = shares[node]
    return shares


def tree_risks(trees: Sequence[Tree], shares: Sequence[FloatArray], codes: IntArray) -> FloatArray:
    """The mean over trees of the log-odds, as a probability."""
    total = np.zeros(len(codes))
    for tree, share in zip(trees, shares, strict=True):
        leaf = share[tree.apply(codes)]
        total += np.log(leaf / (1.0 - leaf))
    return 1.0 / (1.0 + np.exp(-total / len(trees)))


def check_promise(model: Any) -> None:
    """ε must be a finite number above 0, and a person has one row at least."""
    value = model.epsilon
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    require(model, "epsilon", number and 0 < value < math.inf, "be a finite number greater than 0")
    rows = model.rows_per_person
    whole = isinstance(rows, int | np.integer) and not isinstance(rows, bool)
    require(model, "rows_per_person", whole and rows >= 1, "be a whole number of at least 1")
