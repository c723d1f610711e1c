"""The two attacks on a score service that open chapter 5, carried out.

*Bob and Alice* (case 5.0.1): Bob saw Alice's score and knows her values but one. He asks the service about every value
that she may have and takes the one whose score is nearest to hers; among equals the most frequent. What counts is how
often he is right beside somebody who always takes the most frequent value.

*Bob and Dave* (case 5.0.2): Bob knows all training records but Dave's outcome. He fits the model both ways, many times
where fits are random, and sets a threshold between the two sorts of answers to Dave's own query; on fresh answers he is
right in a share of cases, where a coin has one half. Daves are the records with fewest others in their leaf of C4.5.

An ε-differentially private model bounds the second attack, and every other on training records: exchanging an outcome
removes a record and adds one, so nobody is right more often than e^{2ε} / (1 + e^{2ε}). It does nothing about the
first: Alice need not be in the data, and the score is a function of her values that everybody may ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy.special import stdtrit

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.domain import Axis
from shoal.rng import stream
from shoal.schema import Schema
from shoal.score import AlphaTree, CertifiedForest, StableForest

__all__ = ["Attack", "nearest_cells", "on_outcome", "on_value", "threshold_success"]

_PEOPLE = 100  # Alices of one half at most
_HALVES = 8  # random halves: others are fitted, others are asked
_ANSWERS = 40  # to each Dave, half with either outcome, half of these to learn from
_DRAWS = 4  # values tried in each cell: a model may cut finer
_ORDERS = (0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """How often an attack is right, half the width of its 95% interval, and what it must beat or may not pass."""

    model: str
    shown: str
    n: int
    success: float
    half: float
    chance: float
    bound: float | None = None


def on_value(X: pl.DataFrame, y: IntArray, rules: Schema, seed: int) -> tuple[str, tuple[Attack, ...]]:
    """Bob and Alice, by model and by how the score is shown: the hidden column, and how often Bob is right."""
    hidden = int(AlphaTree(1.0, schema=rules).fit(X, y).feature_importances_.argmax())
    halves = [_one_half(X, y, rules, hidden, stream(seed, "dpat", "Alice", at)) for at in range(_HALVES)]
    return X.columns[hidden], tuple(_over_halves(found) for found in zip(*halves, strict=True))


def _one_half(X: pl.DataFrame, y: IntArray, rules: Schema, hidden: int, rng: Generator) -> tuple[Attack, ...]:
    """Models of one half of the records, asked about people of the other."""
    order = rng.permutation(len(y))
    train, people = order[: len(y) // 2], order[len(y) // 2 :][:_PEOPLE]
    plain = AlphaTree(1.0, schema=rules).fit(X[train], y[train])
    certified = CertifiedForest(1.0, rules).fit(X[train], y[train])
    published = StableForest(_ORDERS, 1.0, schema=rules).fit(X[train], y[train])
    axis = plain.features_.axes[hidden]
    prior = np.bincount(axis.encode(X[train][axis.name]), minlength=axis.size)
    alice = _Alice(X=X[people], axis=axis, prior=prior.astype(np.float64))
    return (
        alice.attack("C4.5, no privacy", "in full", _risk(plain)),
        alice.attack("CertifiedForest, ε = 1", "in full", _risk(certified)),
        alice.attack("CertifiedForest, ε = 1", "in whole percent", _risk(certified), 2),
        alice.attack("CertifiedForest, ε = 1", "in steps of 10%", _risk(certified), 1),
        alice.attack("EDPaT, ε = 1 a query", "with its noise", published.answers),
    )


def _over_halves(found: Sequence[Attack]) -> Attack:
    """The mean over halves, with Student's interval: it holds the luck of the people and of the fit."""
    success, n = np.array([attack.success for attack in found]), sum(attack.n for attack in found)
    chance = float(np.mean([attack.chance for attack in found]))
    return replace(found[0], n=n, success=float(success.mean()), half=_half(success), chance=chance)


def _half(values: FloatArray) -> float:
    """Half the width of the 95% interval of a mean."""
    n = len(values)
    return float(stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alice:
    """People with one hidden column, and how frequent its cells are among others."""

    X: pl.DataFrame
    axis: Axis
    prior: FloatArray

    def attack(self, model: str, shown: str, ask: Callable[[Any], FloatArray], digits: int | None = None) -> Attack:
        def see(X: pl.DataFrame) -> FloatArray:
            return ask(X) if digits is None else np.round(ask(X), digits)

        tried = np.stack([see(self._with(cell)).reshape(_DRAWS, -1) for cell in range(self.axis.size)])
        right = nearest_cells(see(self.X), tried, self.prior) == self._truth
        success, chance = float(right.mean()), float((self._truth == self.prior.argmax()).mean())
        return Attack(model=model, shown=shown, n=len(right), success=success, half=0.0, chance=chance)

    @property
    def _truth(self) -> IntArray:
        return self.axis.encode(self.X[self.axis.name])

    def _with(self, cell: int) -> pl.DataFrame:
        """Everybody with values of that cell in the hidden column, several times over."""
        many = pl.concat([self.X] * _DRAWS)
        values = self.axis.decode(np.full(len(many), cell), stream(0, "dpat", "values", cell))
        return many.with_columns(values.alias(self.axis.name).cast(self.X[self.axis.name].dtype, strict=False))


def nearest_cells(seen: FloatArray, tried: FloatArray, prior: FloatArray) -> IntArray:
    """For each person the cell with the nearest score among those tried (cells × draws × people); ties by `prior`.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.study.dpat_attacks import nearest_cells
    >>> nearest_cells(np.array([0.3]), np.array([[[0.1]], [[0.3]], [[0.3]]]), np.array([5.0, 1.0, 2.0])).tolist()
    [2]
    """
    off = np.abs(tried - seen).min(axis=1)
    equal = off <= off.min(axis=0) + 1e-12
    return np.asarray(np.where(equal, prior[:, None], -1.0).argmax(axis=0), dtype=np.int64)


def on_outcome(X: pl.DataFrame, y: IntArray, rules: Schema, n_daves: int) -> tuple[Attack, ...]:
    """Bob and Dave, by model: the mean over Daves of how often Bob is right."""
    daves = _lonely(X, y, rules)[:n_daves]

    def fresh(make: Callable[[], Any]) -> Callable[[IntArray, int], FloatArray]:
        """A new fit for every answer."""
        return lambda outcome, dave: np.array([_risk(make().fit(X, outcome))(X[[dave]])[0] for _ in range(_ANSWERS)])

    def published(outcome: IntArray, dave: int) -> FloatArray:
        """One fit, and new noise for every answer."""
        model = StableForest(_ORDERS, 1.0, schema=rules).fit(X, outcome)
        return np.asarray(model.answers(pl.concat([X[[dave]]] * _ANSWERS)), dtype=np.float64)

    def exact(outcome: IntArray, dave: int) -> FloatArray:
        return np.repeat(_risk(AlphaTree(1.0, schema=rules).fit(X, outcome))(X[[dave]]), _ANSWERS)

    return (
        _dave("C4.5, no privacy", exact, y, daves),
        _dave("EDPaT, ε = 1 a query", published, y, daves),
        _dave("CertifiedForest, ε = 1", fresh(lambda: CertifiedForest(1.0, rules)), y, daves, epsilon=1.0),
    )


def _dave(
    model: str,
    answers: Callable[[IntArray, int], FloatArray],
    y: IntArray,
    daves: IntArray,
    epsilon: float | None = None,
) -> Attack:
    right = []
    for dave in daves:
        ways = [np.where(np.arange(len(y)) == dave, outcome, y) for outcome in (0, 1)]
        right.append(threshold_success(*(answers(way, int(dave)) for way in ways)))
    half = _half(np.array(right))
    bound = None if epsilon is None else float(1 / (1 + np.exp(-2 * epsilon)))
    return Attack(
        model=model,
        shown="his own query",
        n=len(right),
        success=float(np.mean(right)),
        half=half,
        chance=0.5,
        bound=bound,
    )


def threshold_success(without: FloatArray, having: FloatArray) -> float:
    """How often a threshold between the means, learnt from the first half of the answers, is right on the second.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.study.dpat_attacks import threshold_success
    >>> threshold_success(np.array([0.1, 0.2, 0.1, 0.2]), np.array([0.8, 0.9, 0.1, 0.9]))
    0.75
    """
    k = len(without) // 2
    low, high = without[:k].mean(), having[:k].mean()
    middle, sign = (low + high) / 2, 1.0 if high >= low else -1.0
    if high == low:
        return 0.5
    hits = np.concatenate([sign * (without[k:] - middle) < 0, sign * (having[k:] - middle) > 0])
    return float(hits.mean())


def _lonely(X: pl.DataFrame, y: IntArray, rules: Schema) -> IntArray:
    """All records, those with fewest others in their leaf of C4.5 first."""
    tree = AlphaTree(1.0, min_leaf=1, schema=rules).fit(X, y)
    leaves = tree.model_.apply(tree.records(X, y, None).codes)
    return np.argsort(np.bincount(leaves)[leaves], kind="stable")


def _risk(model: Any) -> Callable[[Any], FloatArray]:
    return lambda X: np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)
