"""CertifiedTree: one readable tree that is ε-differentially private as a whole; answers are free.

Thresholds and levels are public. The budget is shared:

- **questions**: at each level of the tree every record is in one node, so all choices of a level cost one ε_level
  (parallel composition), and the levels add. A question is chosen by permute-and-flip (OpenDP's noisy maximum) on
  n × Gini gain, whose sensitivity is 1 (`shoal.score.splits`);
- **leaves**: the class counts of all leaves get discrete Laplace noise once; a record is in one leaf, so sensitivity 1.
  A numeric outcome (`CertifiedRegressor`) adds its share u to one class and 1 − u to the other, on a grid of G steps:
  sensitivity G in steps, 1 in records.

The tree always has its full depth: stopping early by looking at the data would tell something. Probabilities are made
from the noisy counts: each node's share is drawn towards its parent's, the more the noisier it is.

The promise of a certified model, in sentences that a steward can quote.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, BoolArray, FloatArray, IntArray
from shoal.claim import Claim
from shoal.domain.declared import content_of
from shoal.dp import Budget, ProtectedUnit, noise
from shoal.dp.unit import FIT_STOPS, rows_within
from shoal.errors import ParameterError
from shoal.frame import Frame
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.score.alpha_tree import check_tree, tree_importances
from shoal.score.explanation import Contribution, Explanation
from shoal.score.features import Features
from shoal.score.model import Records, RiskModel, require
from shoal.score.splits import GINI_SENSITIVITY, Splits, gini_gain
from shoal.score.tree import Choice, Tree, grow
from shoal.value import canonical

__all__ = [
    "Certified",
    "CertifiedTree",
    "check_promise",
    "noisy_counts",
    "private_tree",
    "tree_parts",
    "tree_risks",
    "tree_shares",
]


class Certified:
    """What certified models have in common: the whole model costs ε once, and answers are post-processing."""

    epsilon: float
    rows_per_person: int
    schema: Schema | None

    @property
    def unit(self) -> ProtectedUnit:
        """Who is protected; once fitted, it says whether the table named its persons."""
        return ProtectedUnit(rows=self.rows_per_person, held=getattr(self, "held_", False))

    @property
    def per_row(self) -> Budget:
        """What one row may cost, so that a person costs ε."""
        return self.unit.per_row(Budget(epsilon=self.epsilon))

    @property
    def claims(self) -> tuple[Claim, ...]:
        """ε-DP for the whole model: proved."""
        return (_certified_claim(self.epsilon, self.unit),)

    @property
    def spent(self) -> Budget | None:
        """ε, once."""
        return Budget(epsilon=self.epsilon)

    @property
    def cost(self) -> Budget | None:
        """Nothing: answers are post-processing."""
        return Budget(epsilon=0)

    def explain(self, values: Mapping[str, Any], outcome: str | None = None) -> Explanation:
        """What each of a person's values added to the log-odds of a class; costs nothing.

        Parameters
        ----------
        values
            One person's values by feature name.
        outcome
            The class to explain; None: the risk (the last class), or of more than two classes the likeliest.
        """
        self._fitted()  # type: ignore[attr-defined]
        cells = self.features_.cells(values)
        shares = self._probabilities(np.array([cells], dtype=np.int64))[0]
        place = _place(self.classes_, outcome, shares, type(self).__name__)
        return replace(self._explained(cells, place), outcome=str(self.classes_[place]), score=float(shares[place]))

    def _explained(self, cells: Sequence[int], place: int) -> Explanation:
        base, added = self._parts(cells, place)
        parts = [
            Contribution(feature=axis.name, cell=axis.label(cell), log_odds=float(more))
            for axis, cell, more in zip(self.features_.axes, cells, added, strict=True)
            if more
        ]
        ordered = sorted(parts, key=lambda part: -abs(part.log_odds))
        return Explanation(outcome="", score=0.0, base=float(base), contributions=tuple(ordered))

    features_: Features
    classes_: AnyArray

    @abstractmethod
    def _probabilities(self, codes: IntArray) -> FloatArray:
        """The share of each class, one row a person."""

    @abstractmethod
    def _parts(self, cells: Sequence[int], place: int) -> tuple[float, FloatArray]:
        """Where the log-odds of a class start, and what each feature adds."""

    def _leaf_text(self, shares: FloatArray) -> str:
        """The shares of the classes at a leaf, in words."""
        if len(shares) == 2:
            return f"risk {shares[1]:.2f} of class {self.classes_[1]}"
        return ", ".join(f"{label} {share:.2f}" for label, share in zip(self.classes_, shares, strict=True))

    def _within_unit(self, frame: Frame, cells: IntArray, kept: BoolArray) -> BoolArray:
        """The rows that are left when no person has more than they may, if the table says whose they are."""
        name = None if self.schema is None else self.schema.unit
        self.held_ = name is not None and name in frame.columns
        if name is None or not self.held_:
            return kept
        seed = getattr(self, "random_state", None)
        key = int(stream(fresh_seed() if seed is None else int(seed), "rows of a person").integers(2**63))
        persons = canonical(content_of(frame, name)).filter(pl.Series(kept))
        out = kept.copy()
        out[kept] = rows_within(persons, cells[kept], self.rows_per_person, key)
        return out


def _certified_claim(epsilon: float, unit: ProtectedUnit) -> Claim:
    """ε-DP for the whole model, once, and any number of answers."""
    return Claim(
        kind="epsilon-DP",
        value=float(epsilon),
        scope="per data set",
        basis="proved",
        statement=(
            f"The whole model is {epsilon:g}-differentially private: adding or removing one person makes no model more "
            f"than e^{epsilon:g} times likelier. {unit.statement} Answers are free: any number of them tells no more "
            "than the model."
        ),
        assumptions=(
            *unit.assumptions,
            "For replacing a person the price is twice epsilon.",
            "Levels, bounds, edges, missing rules, classes and all parameters were chosen from public knowledge.",
            FIT_STOPS,
        ),
    )


def _place(classes: AnyArray, outcome: str | None, shares: FloatArray, owner: str) -> int:
    if outcome is None:
        return 1 if len(classes) == 2 else int(shares.argmax())
    known = [str(label) for label in classes]
    if outcome not in known:
        raise ParameterError(owner, f"outcome must be one of its {len(known)} classes")
    return known.index(outcome)


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
        The classes, two or more, the risk last; None: 0 and 1, or the levels of the target in the schema.
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
        return self._probabilities(codes)[:, -1]

    def _probabilities(self, codes: IntArray) -> FloatArray:
        return self._shares[self.model_.apply(codes)]

    def _one(self, cells: tuple[int, ...]) -> float:
        return float(self._shares[self.model_.leaf(cells), -1])

    def _parts(self, cells: Sequence[int], place: int) -> tuple[float, FloatArray]:
        return tree_parts([self.model_], [self._shares], cells, place)

    def _importances(self) -> FloatArray:
        return tree_importances([self.model_], len(self.features_))

    def _lines(self) -> list[str]:
        return self.model_.lines(self.features_, lambda node: self._leaf_text(self._shares[node]))

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
    splits = Splits.of(records.features, records.n_classes)
    allowed = np.arange(len(splits)) if variables is None else np.flatnonzero(np.isin(splits.variable, variables))
    keys = splits.keys(records.codes, records.y)
    tree = grow(keys, splits, _private_choice(per_level, max_depth, allowed, records.grid), records.weights)
    exact = np.rint(tree.counts[tree.leaves]).astype(np.int64)
    counts, scale = noisy_counts(exact, leaves, records.grid)
    return tree.with_leaf_counts(counts), scale


def noisy_counts(exact: IntArray, budget: Budget, grid: int, tables: int = 1) -> tuple[FloatArray, float]:
    """Counts in steps of the grid with noise that costs `budget`, as records; and the scale of the noise.

    One record adds `grid` steps to each of as many tables as share the budget: sensitivity tables × grid.
    """
    scale = noise.laplace_scale(budget.epsilon, tables * grid)
    return noise.discrete_laplace(exact, scale) / grid, scale / grid


def _private_choice(per_level: float, max_depth: int, allowed: IntArray, grid: int) -> Choice:
    def choose(tables: FloatArray, total: FloatArray, depth: int) -> int:
        if depth >= max_depth or len(allowed) == 0:
            return -1
        scores = gini_gain(tables[allowed] / grid)
        return int(allowed[noise.noisy_max(scores, GINI_SENSITIVITY, per_level)])

    return choose


def tree_shares(tree: Tree, scale: float, base: FloatArray | None = None) -> FloatArray:
    """The shares of the classes at every node, each drawn towards its parent's (or `base`) as its noise demands."""
    counts = np.maximum(tree.counts, 0.0)
    n_classes = counts.shape[1]
    strength = 1.0 + n_classes * scale
    prior = np.tile(np.full(n_classes, 1.0 / n_classes) if base is None else base, (len(counts), 1))
    shares = prior.copy()
    for node in range(len(counts)):  # parents come before their children
        shares[node] = (counts[node] + strength * prior[node]) / (counts[node].sum() + strength)
        if base is None and tree.variable[node] >= 0:
            prior[[tree.no[node], tree.yes[node]]] = shares[node]
    return shares


def tree_risks(trees: Sequence[Tree], shares: Sequence[FloatArray], codes: IntArray) -> FloatArray:
    """The mean over trees of each class's log-odds, as probabilities that add up to 1."""
    total = np.zeros((len(codes), shares[0].shape[1]))
    for tree, share in zip(trees, shares, strict=True):
        total += log_odds(share[tree.apply(codes)])
    risks = 1.0 / (1.0 + np.exp(-total / len(trees)))
    return np.asarray(risks / risks.sum(axis=1, keepdims=True))


def tree_parts(
    trees: Sequence[Tree], shares: Sequence[FloatArray], cells: Sequence[int], place: int
) -> tuple[float, FloatArray]:
    """The mean log-odds of a class at the roots, and what the questions about each feature moved it on the way down."""
    base, added = 0.0, np.zeros(len(cells))
    for tree, share in zip(trees, shares, strict=True):
        way = tree.path(cells)
        at = log_odds(share[way, place])
        base += float(at[0]) / len(trees)
        np.add.at(added, tree.variable[way[:-1]], np.diff(at) / len(trees))
    return base, added


def log_odds(shares: FloatArray) -> FloatArray:
    """log(p / (1 − p)) of shares above 0 and below 1."""
    return np.asarray(np.log(shares / (1.0 - shares)))


def check_promise(model: Any) -> None:
    """ε must be a finite number above 0, and a person has one row at least."""
    value = model.epsilon
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    require(model, "epsilon", number and 0 < value < math.inf, "be a finite number greater than 0")
    rows = model.rows_per_person
    whole = isinstance(rows, int | np.integer) and not isinstance(rows, bool)
    require(model, "rows_per_person", whole and rows >= 1, "be a whole number of at least 1")
