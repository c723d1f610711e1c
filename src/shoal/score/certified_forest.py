"""CertifiedForest: many small looks at the data, ε-differentially private together; answers are free.

Three designs, all with public thresholds and levels, none with anything else learnt from the data than noisy counts:

- ``"histogram"`` (default, best at small ε): one histogram a feature, see `shoal.score.histogram`. One record is in one
  cell of each of k histograms, so noise of scale k/ε on all of them costs ε (OpenDP's map for an L1 sensitivity of k).
- ``"random"``: trees whose questions are drawn at random, without the data; all leaves get noise of scale T/ε. It sees
  interactions, which histograms don't.
- ``"private"``: trees as `CertifiedTree` grows them, at ε/T each, each on a random half of the features. It pays with
  many records or ε above about 5.

**Which features the histograms ask about.** The noise of scale k/ε grows with k. If a feature's true points have the
typical size θ and their noise the spread k s, a sum over k features tells people apart as √(k / (θ² + k² s²)) does.
That is largest where the noise is as large as what it hides, k = θ / s: few features asked well beat many drowned ones.
So k = ε n / (4 c), from 2 to d, with c the mean number of cells of a feature, and the k are drawn at random without
looking at the data; only n, the number of records, is needed, with noise.

**The price**, for adding or removing one record. Every step may depend on the *noisy* results before it, and the prices
add up to ε whatever they were (sequential composition, with a sum that is fixed in advance):

1. 1% of ε: the number of records (sensitivity 1).
2. 4% of ε: if that says that ε n is small, so that k and n matter, the number of records once more (sensitivity 1);
   else, after step 3, a histogram of the scores that calibrates them (a record has one score: sensitivity 1; of K > 2
   classes it has one for each: sensitivity K).
3. The rest: the k histograms. k, the draw and the cuts follow from public things, steps 1 and 2, and chance.

A numeric outcome (`CertifiedRegressor`) is a share u of its public range: a record adds u to one class and 1 − u to the
other, 1 in all, so every sensitivity is the same.

Counting rows exactly to decide k or the cuts, or choosing the features by how well they predict, would break this.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.dp import Budget, noise
from shoal.errors import ParameterError
from shoal.rng import fresh_seed, stream
from shoal.schema import Schema
from shoal.score.alpha_tree import tree_importances
from shoal.score.certified_tree import (
    Certified,
    check_promise,
    noisy_counts,
    private_tree,
    tree_parts,
    tree_risks,
    tree_shares,
)
from shoal.score.histogram import SCORE_EDGES, ClassPoints, Points, calibrated, class_totals, points_of
from shoal.score.model import Records, RiskModel, require
from shoal.score.tree import Tree, random_tree

__all__ = ["CertifiedForest", "number_of_cuts", "number_of_features"]

_SIZE_SHARE = 0.01  # of ε, for the number of records that decides how many features are asked, and how finely
_ENOUGH = 4.0  # ε × records for each cell of a histogram that is worth its noise
_FEWEST_CUTS = 4
_BINS = len(SCORE_EDGES) + 1


class CertifiedForest(Certified, RiskModel):
    """A risk score that is ε-differentially private as a whole; the best choice at small ε.

    Parameters
    ----------
    epsilon
        Privacy loss of the whole model; raising it means less privacy and less noise.
    schema
        Public levels, bounds or edges of every feature.
    design
        ``"histogram"``, ``"random"`` or ``"private"``; see the module.
    cuts
        Equal cuts of a number that declares bounds and no edges. None: histograms take 4, 9 or 19 by a rule in
        ε × records / features asked, with a noisy number of records that ε pays for; random trees
        take 4, private ones 9.
    max_features
        How many features the histograms ask about, drawn at random. None: ε × records / 4 / cells of a feature, from 2
        to all of them; all where `weights` are given. Raising it adds what the others tell, and noise to each.
    n_trees
        Trees of the other designs. None: 20 random ones, or 5 private ones.
    max_depth
        Questions on every way down, in the other designs.
    weights
        How ε is shared over features in the histogram design, named in advance; those not named count 1.
    calibration_share
        Share of ε for a noisy histogram of the scores that calibrates the probabilities (histogram design); spent on
        the number of records instead where ε × records is small. 0: none.
    classes
        The classes, two or more, the risk last; None: 0 and 1, or the levels of the target in the schema.
    rows_per_person
        m, the rows that one person may have: ε is the price of a person with all of them, and the noise is m times as
        large. If X has the unit column of the schema, of a person with more rows m are kept at random; if not, it is
        for you to know.
    random_state
        Repeats the draw of random trees and of features. Protective noise never repeats.

    Notes
    -----
    Fitted attributes hold noisy values only. Missing numbers follow the schema's rule (``"drop"`` or a number), a
    missing category is a level. Weights of records other than 0 and 1 are refused: one person must count as one. Cost:
    linear in records × features, and 10 µs for each noisy cell.

    Examples
    --------
    >>> from shoal.datasets.pima import pima_like, pima_like_schema
    >>> from shoal.score import CertifiedForest
    >>> table = pima_like(400, seed=1)
    >>> model = CertifiedForest(epsilon=1.0, schema=pima_like_schema())
    >>> _ = model.fit(table.drop("diabetes"), table["diabetes"])
    >>> 0 < model.score(table.drop("diabetes").row(0, named=True)) < 1
    True
    >>> print(model.claims[0].kind, model.claims[0].value, model.claims[0].basis, model.cost)
    epsilon-DP 1.0 proved ε = 0
    """

    kind: ClassVar[str] = "certified forest"
    _noun: ClassVar[str] = "A risk score"
    public: ClassVar[bool] = True
    releasable: ClassVar[bool] = True

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: Schema | None = None,
        *,
        design: Literal["histogram", "random", "private"] = "histogram",
        cuts: int | None = None,
        max_features: int | None = None,
        n_trees: int | None = None,
        max_depth: int = 4,
        weights: Mapping[str, float] | None = None,
        calibration_share: float = 0.04,
        classes: Sequence[Any] | None = None,
        random_state: int | None = None,
        rows_per_person: int = 1,
    ) -> None:
        self.epsilon, self.schema, self.design, self.cuts = epsilon, schema, design, cuts
        self.max_features, self.n_trees, self.max_depth, self.weights = max_features, n_trees, max_depth, weights
        self.calibration_share, self.classes, self.random_state = calibration_share, classes, random_state
        self.rows_per_person = rows_per_person

    def _check(self) -> None:
        check_promise(self)
        require(self, "design", self.design in ("histogram", "random", "private"), "be histogram, random or private")
        require(self, "cuts", _none_or_whole(self.cuts, 1, 1000), "be none or a whole number from 1 to 1000")
        require(self, "max_features", _none_or_whole(self.max_features, 1, 2**31), "be none or a whole number from 1")
        require(self, "n_trees", _none_or_whole(self.n_trees, 1, 1000), "be none or a whole number from 1 to 1000")
        require(self, "max_depth", _none_or_whole(self.max_depth, 1, 12), "be a whole number from 1 to 12")
        share = self.calibration_share
        good = isinstance(share, int | float) and 0 <= share < 0.9
        require(self, "calibration_share", good, "be a number from 0 to below 0.9")
        require(self, "random_state", _none_or_whole(self.random_state, 0, 2**63), "be none or a whole number")

    def _check_records(self, records: Records) -> None:
        unknown = [name for name in self.weights or {} if name not in records.features.names]
        if unknown:
            raise ParameterError("CertifiedForest", f"weights name '{unknown[0]}', which is not a feature")
        if self.weights and not all(0 < share < float("inf") for share in self.weights.values()):
            hint = "Drop the feature from X instead."
            raise ParameterError("CertifiedForest", "weights must be finite and greater than 0", hint=hint)

    # ---- fitting

    def _cuts(self) -> int:
        return _FEWEST_CUTS if self.design == "random" and self.cuts is None else super()._cuts()

    def _learn(self, records: Records) -> Points | ClassPoints | tuple[Tree, ...]:
        if self.design == "histogram":
            return self._histograms(records)
        seed = fresh_seed() if self.random_state is None else int(self.random_state)
        trees = self._random_trees(records, seed) if self.design == "random" else self._private_trees(records, seed)
        self._shares = _forest_shares(trees, self.leaf_scale_)
        return trees

    def _histograms(self, records: Records) -> Points | ClassPoints:
        size, calibration, rest = self.per_row.split(self._portions(records))
        n, calibration = self._noisy_size(records, size, calibration)
        asked = self._asked(self._cells(records), n)
        if self._free(records) and self.cuts is None:
            cuts = number_of_cuts(self.per_row.epsilon, n, len(asked))
            records = records.recut(self.schema, cuts, public=True, owner="CertifiedForest")
        self.features_ = records.features
        tables, scales = self._noisy_tables(records, asked, rest)
        make: Any = points_of if records.n_classes == 2 else ClassPoints.of
        points: Points | ClassPoints = make(tables, scales, records.features.only(asked))
        points = points.among(records.features, asked)
        return points if calibration.empty else self._calibrate(points, records, calibration, _size(tables, scales))

    def _portions(self, records: Records) -> list[float]:
        """Shares of ε for the number of records, the calibration, and the histograms."""
        needed = self._draws(len(records.features)) or (self._free(records) and self.cuts is None)
        size = _SIZE_SHARE if needed else 0.0
        return [size, float(self.calibration_share), 1.0 - size - float(self.calibration_share)]

    def _free(self, records: Records) -> bool:
        """Whether there are numbers that the schema leaves uncut."""
        return any(f.numeric and _without_edges(self.schema, f.name) for f in records.features.axes)

    def _draws(self, d: int) -> bool:
        """Whether the number of features is to be decided."""
        return self.max_features is None and not self.weights and d > 2

    def _cells(self, records: Records) -> list[int]:
        """Cells of each feature's histogram; numbers that are left uncut count with the fewest cuts."""
        fewest = _FEWEST_CUTS + 1
        free = [f.numeric and self.cuts is None and _without_edges(self.schema, f.name) for f in records.features.axes]
        return [min(f.size, fewest) if open_ else f.size for f, open_ in zip(records.features.axes, free, strict=True)]

    def _noisy_size(self, records: Records, size: Budget, more: Budget) -> tuple[float, Budget]:
        """A noisy number of records, and what is left of `more`: all of it where one look is enough."""
        if size.empty:
            return 0.0, more
        n, d = np.array([records.n]), len(records.features)
        scale = noise.laplace_scale(size.epsilon)
        first = float(noise.discrete_laplace(n, scale)[0])
        clear = self.per_row.epsilon * (first - 2.0 * scale) >= _ENOUGH * sum(self._cells(records))
        if clear or more.empty or not self._draws(d):
            return first, more
        again = noise.laplace_scale(more.epsilon)
        second = float(noise.discrete_laplace(n, again)[0])
        return (first / scale**2 + second / again**2) / (1.0 / scale**2 + 1.0 / again**2), more - more

    def _asked(self, cells: Sequence[int], n: float) -> IntArray:
        """The features that the histograms ask about, drawn without the data."""
        d, row_epsilon = len(cells), self.per_row.epsilon
        k = number_of_features(row_epsilon, n, cells) if self._draws(d) else min(d, int(self.max_features or d))
        seed = fresh_seed() if self.random_state is None else int(self.random_state)
        return np.sort(stream(seed, "features of histograms").permutation(d)[:k])

    def _noisy_tables(self, records: Records, asked: IntArray, budget: Budget) -> tuple[list[FloatArray], list[float]]:
        """A noisy (cell, class) table for each feature asked, and the scales of their noise."""
        exact = [records.counts(records.codes[:, j], records.features.sizes[j]) for j in asked]
        prices = self._prices([records.features.names[j] for j in asked], budget)
        drawn = [noisy_counts(t, price, records.grid, n) for t, (price, n) in zip(exact, prices, strict=True)]
        return [table for table, _ in drawn], [scale for _, scale in drawn]

    def _prices(self, names: Sequence[str], budget: Budget) -> list[tuple[Budget, int]]:
        """For each feature the price of its table, and how many tables that price is for; at most the budget in all."""
        if not self.weights:
            return [(budget, len(names))] * len(names)
        return [(part, 1) for part in budget.split([self.weights.get(name, 1.0) for name in names])]

    def _calibrate(
        self, points: Points | ClassPoints, records: Records, budget: Budget, n: float
    ) -> Points | ClassPoints:
        """The line that calibrates the scores: of more than two classes, one for the scores of all of them."""
        if isinstance(points, Points):
            table, scale = noisy_counts(records.counts(_bins(points, records), _BINS), budget, records.grid)
            return calibrated(points, table, scale, n)
        own = [np.bincount(_bins(t, records) * 2 + (records.y == c), minlength=2 * _BINS) for c, t in _each(points)]
        table, scale = noisy_counts(np.sum(own, axis=0).reshape(-1, 2), budget, 1, records.n_classes)
        return points.with_line(calibrated(points.tables[0], table, scale, n * records.n_classes))

    def _random_trees(self, records: Records, seed: int) -> tuple[Tree, ...]:
        streams = [stream(seed, "random tree", t) for t in range(self._n())]
        trees = [random_tree(records.features, self.max_depth, rng, records.n_classes) for rng in streams]
        counted = [_counted(tree, records, self.per_row, len(trees)) for tree in trees]
        self.leaf_scale_ = counted[0][1]
        return tuple(tree for tree, _ in counted)

    def _private_trees(self, records: Records, seed: int) -> tuple[Tree, ...]:
        d, parts = len(records.features), self.per_row.split(self._n())
        rng = stream(seed, "features of private trees")
        grown = [
            private_tree(records, part, self.max_depth, 0.5, np.sort(rng.permutation(d)[: max(1, (d + 1) // 2)]))
            for part in parts
        ]
        self.leaf_scale_ = grown[0][1]
        return tuple(tree for tree, _ in grown)

    def _n(self) -> int:
        return int(self.n_trees or {"random": 20, "private": 5}[self.design])

    # ---- answering

    def _risks(self, codes: IntArray) -> FloatArray:
        return self.model_.risks(codes) if isinstance(self.model_, Points) else self._probabilities(codes)[:, -1]

    def _probabilities(self, codes: IntArray) -> FloatArray:
        if isinstance(self.model_, Points):
            risks = self.model_.risks(codes)
            return np.column_stack([1.0 - risks, risks])
        if isinstance(self.model_, ClassPoints):
            return self.model_.probabilities(codes)
        return tree_risks(self.model_, self._shares, codes)

    def _one(self, cells: tuple[int, ...]) -> float:
        if isinstance(self.model_, Points):
            return self.model_.risk(cells)
        return float(self._risks(np.array([cells], dtype=np.int64))[0])

    def _parts(self, cells: Sequence[int], place: int) -> tuple[float, FloatArray]:
        if isinstance(self.model_, Points):
            base, added = self.model_.parts(cells)
            return (base, added) if place else (-base, -added)
        if isinstance(self.model_, ClassPoints):
            return self.model_.tables[place].parts(cells)
        return tree_parts(self.model_, self._shares, cells, place)

    def _importances(self) -> FloatArray:
        if isinstance(self.model_, Points | ClassPoints):
            return self.model_.importances()
        return tree_importances(self.model_, len(self.features_))

    def _lines(self) -> list[str]:
        if isinstance(self.model_, Points):
            return self.model_.lines(self.features_)
        if isinstance(self.model_, ClassPoints):
            named = zip(self.classes_, self.model_.tables, strict=True)
            return [line for label, t in named for line in (f"class {label}", *t.lines(self.features_))]
        out = []
        for t, (tree, share) in enumerate(zip(self.model_, self._shares, strict=True)):
            lines = tree.lines(self.features_, lambda node, share=share: self._leaf_text(share[node]))
            out += [f"tree {t + 1} of {len(self.model_)}", *lines]
        return out

    def _body(self) -> dict[str, Any]:
        if isinstance(self.model_, Points):
            return {"points": self.model_.to_dict()}
        if isinstance(self.model_, ClassPoints):
            return {"classes": [table.to_dict() for table in self.model_.tables]}
        return {"trees": [tree.to_dict() for tree in self.model_], "leaf_scale": self.leaf_scale_}

    def _restore(self, words: Mapping[str, Any]) -> Points | ClassPoints | tuple[Tree, ...]:
        if "points" in words:
            return Points.from_dict(words["points"])
        if "classes" in words:
            return ClassPoints(tables=tuple(Points.from_dict(table) for table in words["classes"]))
        self.leaf_scale_ = float(words["leaf_scale"])
        trees = tuple(Tree.from_dict(tree) for tree in words["trees"])
        self._shares = _forest_shares(trees, self.leaf_scale_)
        return trees

    @property
    def words(self) -> str:
        """The model in plain words."""
        how = {
            "histogram": "adds up points, one for each feature, made from noisy histograms",
            "random": "averages trees with random questions and noisy leaves",
            "private": "averages trees whose questions and leaves were taken with noise",
        }[self.design]
        return (
            f"{self._noun} that {how}. It is {self.epsilon:g}-differentially private as a whole, so no single record "
            "shows. Answers cost nothing."
        )


def number_of_features(epsilon: float, n: float, cells: Sequence[int]) -> int:
    """How many of the features share ε: as many as have 4 records × ε in each of their `cells`, but 2 at least.

    Examples
    --------
    >>> from shoal.score.certified_forest import number_of_features
    >>> [number_of_features(epsilon, 400, [5] * 8) for epsilon in (0.01, 0.1, 0.2, 1.0)]
    [2, 2, 4, 8]
    """
    d = len(cells)
    return min(d, max(2, math.floor(epsilon * n * d / (_ENOUGH * sum(cells)))))


def number_of_cuts(epsilon: float, n: float, k: int) -> int:
    """How many equal cuts a number gets: more where the noise k/ε is small against the records.

    Examples
    --------
    >>> from shoal.score.certified_forest import number_of_cuts
    >>> [number_of_cuts(epsilon, 400, 8) for epsilon in (0.1, 1.0, 10.0)], number_of_cuts(1.0, 30_000, 14)
    ([4, 4, 9], 19)
    """
    signal = epsilon * n / k
    return next((cuts for limit, cuts in ((160, _FEWEST_CUTS), (1000, 9)) if signal < limit), 19)


def _without_edges(schema: Schema | None, name: str) -> bool:
    return schema is not None and schema[name].edges is None


def _forest_shares(trees: Sequence[Tree], scale: float) -> list[FloatArray]:
    """The risks at the nodes of each tree, drawn towards the share of the risk that all trees together have seen."""
    seen = np.maximum(np.sum([tree.counts[0] for tree in trees], axis=0), 1.0)
    return [tree_shares(tree, scale, seen / seen.sum()) for tree in trees]


def _counted(tree: Tree, records: Records, budget: Budget, trees: int) -> tuple[Tree, float]:
    """The tree with noisy counts in its leaves, one of so many that cost `budget` together; and their scale."""
    exact = records.counts(tree.apply(records.codes), len(tree.variable))[tree.leaves]
    counts, scale = noisy_counts(exact, budget, records.grid, trees)
    return tree.with_leaf_counts(counts), scale


def _bins(points: Points, records: Records) -> IntArray:
    """The bin of each record's score among those of the calibration."""
    return np.searchsorted(SCORE_EDGES, points.raw(records.codes), side="right")


def _each(points: ClassPoints) -> list[tuple[int, Points]]:
    return list(enumerate(points.tables))


def _size(tables: Sequence[FloatArray], scales: Sequence[float]) -> float:
    """The noisy number of records, kept away from 0."""
    pairs = [np.column_stack([table[:, :-1].sum(axis=1), table[:, -1]]) for table in tables]
    return float(class_totals(pairs, scales).sum())


def _none_or_whole(value: object, low: int, high: int) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return value is None or (whole and low <= value <= high)  # type: ignore[operator]
