"""CertifiedRegressor: a numeric outcome, expected from a person's values; ε-differentially private as a whole.

The outcome y has public bounds, and what counts is its share u = (y − low) / (high − low) of that range, on a grid of
2²⁰ steps. A person adds u to one class of a `CertifiedForest` and 1 − u to the other, so everything is as with two
classes: one record adds 1 in all to each noisy table, every sensitivity is the same, and so are price and proof. What
the forest calls the risk is the expected u; the answer is low + (high − low) u. In the tree designs a question is
chosen by n × Gini gain, which for u is the drop in squared error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.extras import need
from shoal.schema import Schema
from shoal.score.certified_forest import CertifiedForest
from shoal.score.explanation import Explanation
from shoal.score.model import Records
from shoal.score.target import GRID, read_number

__all__ = ["CertifiedRegressor"]


class CertifiedRegressor(CertifiedForest):
    """The expected value of a numeric outcome; ε-differentially private as a whole, so answers are free.

    Parameters
    ----------
    epsilon
        Privacy loss of the whole model; raising it means less privacy and less noise.
    schema
        Public levels, bounds or edges of every feature; the bounds of the outcome, where `bounds` is not given.
    bounds
        Public range of the outcome; a number outside counts as the nearer end. A range that is far wider than the
        values makes them small shares, which noise hides: give the narrowest that is public knowledge.
    calibration_share
        As in `CertifiedForest`, where it is smaller: shares of a range vary less than two classes do, so an
        overconfident sum costs a number more.
    design, cuts, max_features, n_trees, max_depth, weights, rows_per_person, random_state
        As in `CertifiedForest`.

    Notes
    -----
    Scikit-learn's conventions for regressors: `predict` gives numbers, `score(X, y)` is R². The fitted curve is that of
    a mean between the bounds (logistic in the sum of points), so answers never leave them. Missing values, weights and
    cost as in `CertifiedForest`.

    Examples
    --------
    >>> from shoal.datasets.pima import pima_like, pima_like_schema
    >>> from shoal.score import CertifiedRegressor
    >>> table = pima_like(800, seed=1)
    >>> model = CertifiedRegressor(epsilon=2.0, schema=pima_like_schema())
    >>> _ = model.fit(table.drop("glucose", "diabetes"), table["glucose"])
    >>> low, high = model.bounds_
    >>> low <= model.answer(table.drop("glucose", "diabetes").row(0, named=True)) <= high
    True
    >>> print(model.claims[0].kind, model.claims[0].value, model.claims[0].basis)
    epsilon-DP 2.0 proved
    """

    kind: ClassVar[str] = "certified regressor"
    _estimator_type: ClassVar[str] = "regressor"
    _noun: ClassVar[str] = "A score of an expected value"

    def __init__(
        self,
        epsilon: float = 1.0,
        schema: Schema | None = None,
        *,
        bounds: tuple[float, float] | None = None,
        design: Literal["histogram", "random", "private"] = "histogram",
        cuts: int | None = None,
        max_features: int | None = None,
        n_trees: int | None = None,
        max_depth: int = 4,
        weights: Mapping[str, float] | None = None,
        calibration_share: float = 0.1,
        random_state: int | None = None,
        rows_per_person: int = 1,
    ) -> None:
        super().__init__(
            epsilon,
            schema,
            design=design,
            cuts=cuts,
            max_features=max_features,
            n_trees=n_trees,
            max_depth=max_depth,
            weights=weights,
            calibration_share=calibration_share,
            random_state=random_state,
            rows_per_person=rows_per_person,
        )
        self.bounds = bounds

    bounds_: tuple[float, float]

    def _read_outcome(self, y: Any, n: int) -> IntArray:
        target, self.bounds_ = read_number(y, self.bounds, self.schema, n, type(self).__name__)
        name = getattr(y, "name", None)
        self.outcome_ = name if isinstance(name, str) else "outcome"
        return target

    def records(self, X: Any, y: Any, sample_weight: Any) -> Records:
        """The rows as coded by the features of this model, with the outcome as shares of its range."""
        return super().records(X, y, sample_weight).of_number(GRID)

    # ---- answering

    def _values(self, shares: FloatArray) -> FloatArray:
        low, high = self.bounds_
        return np.asarray(low + (high - low) * shares)

    def predict(self, X: Any) -> FloatArray:
        """The expected outcome, one number a person."""
        return self._values(self._risks(self._codes(X)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Not for a number."""
        raise AttributeError("a CertifiedRegressor has no classes; use predict")

    def _answer(self, cells: tuple[int, ...]) -> float:
        return float(self._values(np.array(self._risk(cells))))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The expected outcome for a mapping of values; with `y`, R² on rows X, as scikit-learn has it."""
        if y is None and isinstance(X, Mapping):
            return self.answer(X)
        need("sklearn", type(self).__name__)
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))

    def explain(self, values: Mapping[str, Any], outcome: str | None = None) -> Explanation:
        """What each of a person's values added, in log-odds of the share of the range; costs nothing."""
        self._fitted()
        found = self._explained(self.features_.cells(values), 1)
        return replace(found, outcome=self.outcome, score=self.answer(values))

    @property
    def outcome(self) -> str:
        """The name of the outcome."""
        return str(self.outcome_)

    def _leaf_text(self, shares: FloatArray) -> str:
        return f"expected {float(self._values(shares[-1])):.4g}"

    def _body(self) -> dict[str, Any]:
        return {**super()._body(), "bounds": list(self.bounds_), "outcome": self.outcome_}

    def _restore(self, words: Mapping[str, Any]) -> Any:
        low, high = words["bounds"]
        self.bounds_, self.outcome_ = (float(low), float(high)), str(words["outcome"])
        return super()._restore(words)

    def __sklearn_tags__(self) -> Any:
        """A regressor."""
        from sklearn.base import BaseEstimator, RegressorMixin

        class Plain(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
            pass

        tags = Plain().__sklearn_tags__()
        tags.non_deterministic = True
        return tags
