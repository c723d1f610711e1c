"""StableTree and StableForest: the published private trees (DPaT and EDPaT), with their misprints corrected.

**Structure** (Algorithm 5): the question with the largest κ is asked only if κ ≥ λ of every question about another
variable, κ and λ being the smallest and largest α-gain over the eight one-record changes of its 2×2 table.
**Answer**: n₁/n + Laplace(Δ/ε) with Δ = φ − χ of the leaf,

    φ = max((n₁+1)/(n+1), n₁/(n−1)),    χ = min(n₁/(n+1), (n₁−1)/(n−1)),    within [0, 1]; [0, 1] for n ≤ 1.

**Forest**: several α; the leaves' shares and their Δ are averaged.

What the paper claims, and why it can't be: a deterministic structure that is the same for all neighbours is, by walking
from neighbour to neighbour, the same for *all* data sets, hence a constant. The test protects the arg max and not its
own outcome: one record decides whether a node splits. And noise scaled to the leaf's *own* Δ is not ε-private:
neighbours have different scales, so the ratio of the two densities has no bound. Both counter-examples are in the
tests. The models carry the basis ``published``: Shoal does not vouch for the number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.claim import Claim
from shoal.dp import Budget, noise
from shoal.schema import Schema
from shoal.score.alpha_tree import check_tree, tree_importances
from shoal.score.model import Records, RiskModel, require
from shoal.score.splits import Splits, alpha_gain, gain_range
from shoal.score.tree import Choice, Tree, grow

__all__ = ["ORDERS", "StableForest", "StableTree", "distinct_alphas", "leaf_range", "stable_choice"]

ORDERS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0)
"""Candidates for α."""

_GRID = 1 << 20  # answers and their noise live on a grid: noise on floats can be read from the low bits

_FLAWS = (
    "Shoal does not vouch for this: whether a node splits depends on single records, so the structure isn't 0-private.",
    "The noise is scaled to the leaf's own sensitivity, which differs between neighbours: the privacy loss of an "
    "answer has no bound.",
    "Every answer costs epsilon; a person who asks m times has to be charged m times epsilon.",
)


class _Published(RiskModel):
    """What tree and forest share: published structures, and answers with noise that is drawn anew each time."""

    alphas_: ClassVar[tuple[float, ...]] = ()
    epsilon: float
    max_depth: int
    model_: tuple[Tree, ...]

    def _orders(self) -> tuple[float, ...]:
        raise NotImplementedError

    def _check(self) -> None:
        positive = _positive(self.epsilon)
        require(self, "epsilon", positive, "be a finite number greater than 0")
        check_tree(self)

    def _learn(self, records: Records) -> tuple[Tree, ...]:
        splits = Splits.of(records.features)
        keys = splits.keys(records.codes, records.y)
        choices = [stable_choice(alpha, splits, self.max_depth) for alpha in self._orders()]
        return self._kept(grow(keys, splits, choose) for choose in choices)

    def _kept(self, trees: Iterable[Tree]) -> tuple[Tree, ...]:
        """The trees, with the values of their nodes made once for all answers."""
        found = tuple(trees)
        self._values = [_leaf_values(tree) for tree in found]
        return found

    def exact(self, codes: IntArray) -> tuple[FloatArray, FloatArray]:
        """The shares n₁/n and the Δ of rows of cells, averaged over the trees: before the noise, so for inside only."""
        shares = np.zeros(len(codes))
        widths = np.zeros(len(codes))
        for tree, (share, width) in zip(self.model_, self._values, strict=True):
            leaves = tree.apply(codes)
            shares += share[leaves] / len(self.model_)
            widths += width[leaves] / len(self.model_)
        return shares, widths

    def answers(self, X: Any) -> FloatArray:
        """The published answers n₁/n + Laplace(Δ/ε), not clipped to 0..1; fresh noise at every call."""
        return self._risks(self._codes(X))

    def _risks(self, codes: IntArray) -> FloatArray:
        shares, widths = self.exact(codes)
        out = np.empty(len(codes))
        for width in np.unique(widths):
            rows = widths == width
            out[rows] = self._noisy(shares[rows], float(width))
        return out

    def answers_to(self, people: Sequence[Mapping[str, Any]]) -> list[float]:
        """The answers for people whose values were read; one draw for all who share a Δ, as a draw costs most."""
        codes = np.array([self.features.cells_of(read) for read in people], dtype=np.int64)
        return [float(risk) for risk in np.clip(self._risks(codes), 0.0, 1.0)]

    def _one(self, cells: tuple[int, ...]) -> float:
        share = width = 0.0
        for tree, (shares, widths) in zip(self.model_, self._values, strict=True):
            leaf = tree.leaf(cells)
            share += float(shares[leaf]) / len(self.model_)
            width += float(widths[leaf]) / len(self.model_)
        return float(self._noisy(np.array([share]), width)[0])

    def _noisy(self, shares: FloatArray, width: float) -> FloatArray:
        """Shares with noise for one and the same Δ, on the grid."""
        whole = np.round(shares * _GRID).astype(np.int64)
        return noise.discrete_laplace(whole, scale=_GRID * width / float(self.epsilon)) / _GRID

    def _importances(self) -> FloatArray:
        return tree_importances(self.model_, len(self.features_))

    def _lines(self) -> list[str]:
        out = []
        for alpha, tree, (share, width) in zip(self._orders(), self.model_, self._values, strict=True):
            out.append(f"tree with α = {alpha:g}")
            out += tree.lines(
                self.features_,
                lambda node, share=share, width=width: (  # type: ignore[misc]
                    f"risk {share[node]:.2f} of class {self.classes_[1]}, Δ = {width[node]:.3f}"
                ),
            )
        return out

    def _body(self) -> dict[str, Any]:
        return {"trees": [tree.to_dict() for tree in self.model_]}

    def _restore(self, words: Mapping[str, Any]) -> tuple[Tree, ...]:
        return self._kept(Tree.from_dict(tree) for tree in words["trees"])

    @property
    def claims(self) -> tuple[Claim, ...]:
        """The paper's ε for one answer, on the basis ``published``."""
        said = (
            f"A paper says that each answer is {self.epsilon:g}-differentially private and the structure 0-private; "
            "this is refuted, and nothing is promised."
        )
        return (
            Claim(
                kind="epsilon-DP",
                value=float(self.epsilon),
                scope="per query",
                basis="published",
                statement=said,
                assumptions=_FLAWS,
            ),
        )

    @property
    def spent(self) -> Budget | None:
        """None: the paper prices the fit at 0, which is refuted, and no true price is known."""
        return None

    @property
    def cost(self) -> Budget | None:
        """ε for every answer."""
        return Budget(epsilon=self.epsilon)

    @property
    def words(self) -> str:
        """The model in plain words."""
        orders = ", ".join(f"{alpha:g}" for alpha in self._orders())
        return (
            f"A published private tree (α = {orders}). Every answer has its own noise and is priced at "
            f"ε = {self.epsilon:g}. The paper's guarantee is refuted: the structure and the noise level depend on "
            "single records."
        )


class StableTree(_Published):
    """The published private tree (DPaT): a structure that resists single records, and noisy answers.

    Parameters
    ----------
    alpha
        Which divergence; greater than 0.
    epsilon
        Price of one answer in the paper's words; raising it lowers the noise.
    max_depth, cuts, schema, classes
        As in `AlphaTree`.

    Notes
    -----
    The paper's guarantee does not hold (see the module); the claim's basis is ``published``. For a promise that holds
    use `CertifiedTree` or `CertifiedForest`. Weights other than 0 and 1 are refused, as the eight cases count records.

    Examples
    --------
    >>> from shoal.datasets.pima import pima_like, pima_like_schema
    >>> from shoal.score import StableTree
    >>> table = pima_like(400, seed=1)
    >>> tree = StableTree(alpha=1.0, epsilon=1.0, schema=pima_like_schema())
    >>> answers = tree.fit(table.drop("diabetes"), table["diabetes"]).predict_proba(table.drop("diabetes"))
    >>> answers.shape, tree.claims[0].basis
    ((400, 2), 'published')
    """

    kind: ClassVar[str] = "stable tree"

    def __init__(
        self,
        alpha: float = 1.0,
        epsilon: float = 1.0,
        *,
        max_depth: int = 8,
        cuts: int = 9,
        schema: Schema | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.alpha, self.epsilon, self.max_depth, self.cuts = alpha, epsilon, max_depth, cuts
        self.schema, self.classes = schema, classes

    def _check(self) -> None:
        require(self, "alpha", _positive(self.alpha), "be a finite number greater than 0")
        super()._check()

    def _orders(self) -> tuple[float, ...]:
        return (float(self.alpha),)


class StableForest(_Published):
    """The published ensemble (EDPaT): one stable tree for each α, shares and sensitivities averaged.

    Parameters
    ----------
    alphas
        The divergences; all greater than 0.
    epsilon, max_depth, cuts, schema, classes
        As in `StableTree`.

    Examples
    --------
    >>> from shoal.datasets.pima import pima_like, pima_like_schema
    >>> from shoal.score import StableForest
    >>> table = pima_like(400, seed=1)
    >>> forest = StableForest(alphas=(0.5, 1.0, 2.0), epsilon=1.0, schema=pima_like_schema())
    >>> print(forest.fit(table.drop("diabetes"), table["diabetes"]).cost)
    ε = 1
    """

    kind: ClassVar[str] = "stable forest"

    def __init__(
        self,
        alphas: Sequence[float] = (0.25, 0.5, 1.0, 2.0, 4.0),
        epsilon: float = 1.0,
        *,
        max_depth: int = 8,
        cuts: int = 9,
        schema: Schema | None = None,
        classes: Sequence[Any] | None = None,
    ) -> None:
        self.alphas, self.epsilon, self.max_depth, self.cuts = alphas, epsilon, max_depth, cuts
        self.schema, self.classes = schema, classes

    def _check(self) -> None:
        orders = self.alphas
        good = isinstance(orders, Sequence | np.ndarray) and len(orders) > 0 and all(_positive(a) for a in orders)
        require(self, "alphas", good, "be a list of finite numbers greater than 0")
        super()._check()

    def _orders(self) -> tuple[float, ...]:
        return tuple(float(alpha) for alpha in self.alphas)


def distinct_alphas(
    X: Any,
    y: Any,
    alphas: Sequence[float] = ORDERS,
    *,
    max_depth: int = 8,
    cuts: int = 9,
    schema: Schema | None = None,
    classes: Sequence[Any] | None = None,
) -> dict[float, tuple[float, ...]]:
    """The α values that grow different structures: each kept one, with those of `alphas` that grow the same.

    Two trees of one structure say the same thing twice, so a `StableForest` gains nothing by the second; give it the
    keys. Reading them off the data is one more look at it that no ε covers.

    Parameters
    ----------
    alphas
        Candidates, all greater than 0; the first of equals is kept.
    max_depth, cuts, schema, classes
        As in `StableTree`.

    Notes
    -----
    Cost: one tree for each candidate.

    Examples
    --------
    >>> from shoal.datasets.pima import pima_like, pima_like_schema
    >>> from shoal.score.stable import distinct_alphas
    >>> table = pima_like(400, seed=1)
    >>> found = distinct_alphas(table.drop("diabetes"), table["diabetes"], (1.0, 1.01), schema=pima_like_schema())
    >>> found
    {1.0: (1.0, 1.01)}
    """
    kept: dict[Any, list[float]] = {}
    for alpha in alphas:
        tree = StableTree(alpha, max_depth=max_depth, cuts=cuts, schema=schema, classes=classes).fit(X, y)
        kept.setdefault(tree.model_[0].structure(), []).append(float(alpha))
    return {equal[0]: tuple(equal) for equal in kept.values()}


def stable_choice(alpha: float, splits: Splits, max_depth: int) -> Choice:
    """Algorithm 5: the question with the largest κ, if κ ≥ λ of every question about another variable."""

    def choose(tables: FloatArray, total: FloatArray, depth: int) -> int:
        if depth >= max_depth or min(total) <= 0:
            return -1
        smallest, largest = gain_range(tables, alpha)
        possible = tables.sum(axis=2).min(axis=1) > 0
        kappa = np.where(possible, smallest, -np.inf)
        best = int(kappa.argmax())
        rivals = largest[splits.variable != splits.variable[best]]
        admissible = possible[best] and kappa[best] >= rivals.max(initial=-np.inf)
        return best if admissible and float(alpha_gain(tables[best], alpha)) > 1e-12 else -1

    return choose


def leaf_range(n1: float, n: float) -> tuple[float, float]:
    """χ and φ: the smallest and the largest share n₁/n over the one-record changes of a leaf.

    Examples
    --------
    >>> from shoal.score.stable import leaf_range
    >>> [round(end, 4) for end in leaf_range(n1=3, n=10)]
    [0.2222, 0.3636]
    """
    if n < 2:
        return 0.0, 1.0
    phi = max((n1 + 1) / (n + 1), n1 / (n - 1))
    chi = min(n1 / (n + 1), (n1 - 1) / (n - 1))
    return max(0.0, chi), min(1.0, phi)


def _leaf_values(tree: Tree) -> tuple[FloatArray, FloatArray]:
    n1, n = tree.counts[:, 1], tree.counts.sum(axis=1)
    share = np.where(n > 0, n1 / np.where(n > 0, n, 1.0), 0.5)
    ranges = np.array([leaf_range(one, total) for one, total in zip(n1, n, strict=True)])
    return share, ranges[:, 1] - ranges[:, 0]


def _positive(value: object) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return number and 0 < value < math.inf  # type: ignore[operator]
