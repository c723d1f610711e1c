"""What every risk score shares: scikit-learn's conventions, a price that is charged first, and one way to be asked.

A model is fitted on any dataframe (or array), charges an account *before* anything is computed, and afterwards answers

- `predict_proba`, `predict`, `classes_`, `feature_importances_`: as scikit-learn's classifiers do;
- `risk(values)`: the probability of the last class for one person's values by name (`score(values)` is the same);
- `claims`, `spent`, `cost`, `words`: what is promised, what the fit cost, what one more answer costs, in plain words;
- `to_text`, `to_svg`, `save`: to be read by people, and by `shoal.score.load`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import AnyArray, BoolArray, FloatArray, IntArray
from shoal.claim import Claim
from shoal.dp import Budget
from shoal.errors import GuaranteeError, InputError, ParameterError
from shoal.frame import Frame
from shoal.schema import Schema
from shoal.score.estimator import Classifier
from shoal.score.features import Features, settle
from shoal.score.rows import is_frame, named_rows
from shoal.score.target import read_target, read_weights

__all__ = ["Records", "RiskModel", "require"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What a fit looks at: cells of the features, classes as 0 and 1, weights; and the way to cut numbers anew."""

    frame: Frame
    features: Features
    codes: IntArray
    y: IntArray
    weights: FloatArray | None
    kept: AnyArray

    def recut(self, schema: Schema | None, cuts: int, *, public: bool, owner: str) -> Records:
        """The same records with `cuts` equal cuts in numbers that declare bounds only."""
        features = settle(self.frame, schema, cuts=cuts, public=public, owner=owner)
        codes = features.rows(self.frame)[0][self.kept]
        return Records(frame=self.frame, features=features, codes=codes, y=self.y, weights=self.weights, kept=self.kept)


class RiskModel(Classifier):
    """A binary risk score; see the module for what every one of them can do."""

    kind: ClassVar[str] = ""
    public: ClassVar[bool] = False
    whole: ClassVar[bool] = True
    releasable: ClassVar[bool] = False
    held_: bool = False
    schema: Schema | None
    classes: Sequence[Any] | None

    # ---- to be said by each model

    @abstractmethod
    def _check(self) -> None:
        """Hold the parameters to their rules."""

    @abstractmethod
    def _learn(self, records: Records) -> Any:
        """Fit; what it returns is kept and saved, so it may hold only what the model's claim covers."""

    @abstractmethod
    def _risks(self, codes: IntArray) -> FloatArray:
        """The risk of rows of cells."""

    @abstractmethod
    def _one(self, cells: tuple[int, ...]) -> float:
        """The risk of one person's cells."""

    @abstractmethod
    def _importances(self) -> FloatArray:
        """How much each feature moves the risk; they add up to 1."""

    @abstractmethod
    def _lines(self) -> list[str]:
        """The model as lines of text."""

    @abstractmethod
    def _body(self) -> dict[str, Any]:
        """What is saved of the fit."""

    @abstractmethod
    def _restore(self, words: Mapping[str, Any]) -> Any:
        """What `_learn` gave, from what `_body` gave."""

    @property
    @abstractmethod
    def claims(self) -> tuple[Claim, ...]:
        """What is promised."""

    @property
    @abstractmethod
    def spent(self) -> Budget | None:
        """What the fit costs the data set; None where no price is known."""

    @property
    @abstractmethod
    def cost(self) -> Budget | None:
        """What one answer costs; nothing for a certified model, None where no price is known."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The model in plain words."""

    def _cuts(self) -> int:
        return int(getattr(self, "cuts", None) or 9)

    # ---- fitting

    def fit(self, X: Any, y: Any, sample_weight: Any = None, account: Any = None) -> Any:
        """Fit the model.

        Parameters
        ----------
        X
            Features: any dataframe whose columns the schema declares, or an array of numbers in the schema's order. A
            certified model also takes the unit column of the schema: no person counts with more than
            `rows_per_person` rows then.
        y
            Two classes; the last one is the risk.
        sample_weight
            Weights of the records. Models with an ε count each record as one and take 0 and 1 only.
        account
            A `shoal.dp.Account` of the data set. It is charged after the input was checked and before anything is
            computed; if it can't pay, nothing is computed or spent. (An argument of the fit and not of the model, so
            that `clone` and grid searches copy settings, never an account.)
        """
        self._check()
        records = self.records(X, y, sample_weight)
        self._check_records(records)
        if account is not None:
            self._charge(account)
        self.data_: str | None = None if account is None else account.data_set
        self.model_ = self._learn(records)
        return self

    def records(self, X: Any, y: Any, sample_weight: Any) -> Records:
        """The rows as coded by the features of this model, checked."""
        owner = type(self).__name__
        if self.schema is not None and not isinstance(self.schema, Schema):
            raise ParameterError(owner, "schema must be a Schema", got=type(self.schema).__name__)
        frame = named_rows(X, None, self.schema, y, owner)
        target, classes = read_target(y, self.classes, self.schema, len(frame), owner, public=self.public)
        weights = read_weights(sample_weight, len(frame), owner, whole=self.whole)
        features = settle(frame, self.schema, cuts=self._cuts(), public=self.public, owner=owner)
        codes, kept = features.rows(frame)
        kept = kept if weights is None else kept & (weights > 0)
        kept = self._within_unit(frame, np.column_stack([codes, target]), kept)
        if not self.public and len(np.unique(target[kept])) < 2:
            raise InputError(owner, "needs records of both classes; y contains only one class", got="1 class")
        self.classes_, self.n_features_in_ = classes, len(features)
        if is_frame(X):
            names = [name for name in frame.columns if name in features.names]
            self.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.features_ = features
        return Records(
            frame=frame,
            features=features,
            codes=codes[kept],
            y=target[kept],
            weights=None if weights is None or self.whole else weights[kept],
            kept=kept,
        )

    def _within_unit(self, frame: Frame, cells: IntArray, kept: BoolArray) -> BoolArray:
        """The rows that count; a certified model leaves some of a person's out."""
        return kept

    def _check_records(self, records: Records) -> None:
        """Hold parameters that speak of features to the features; before anything is charged."""

    def _charge(self, account: Any) -> None:
        if self.spent is None:
            return
        claims = self.claims
        account.charge(self.spent, purpose=f"risk score {type(self).__name__}", claim=claims[0] if claims else None)

    # ---- answering

    def _codes(self, X: Any) -> IntArray:
        self._fitted()
        fitted = tuple(getattr(self, "feature_names_in_", self.features_.names))
        frame = named_rows(X, fitted, None, None, type(self).__name__)
        unit = None if self.schema is None else self.schema.unit
        unknown = [name for name in frame.columns if name not in self.features_.names and name != unit]
        if unknown:
            words = f"The feature names should match those that were passed during fit: '{unknown[0]}' is unknown"
            raise InputError("X", words)
        codes, kept = self.features_.rows(frame)
        if not kept.all():
            raise InputError("X", "must have no missing numbers unless the schema gives a number to fill in")
        return codes

    def predict_proba(self, X: Any) -> FloatArray:
        """The probabilities of the two classes, one row a person."""
        risks = np.clip(self._risks(self._codes(X)), 0.0, 1.0)
        return np.column_stack([1.0 - risks, risks])

    def predict(self, X: Any) -> AnyArray:
        """The likelier class."""
        chosen = (self.predict_proba(X)[:, 1] >= 0.5).astype(np.int64)
        return self.classes_[chosen]

    def risk(self, values: Mapping[str, Any]) -> float:
        """The risk of one person, given by feature name; errors name unknown and missing fields."""
        self._fitted()
        return float(min(1.0, max(0.0, self._one(self.features_.cells(values)))))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """One person's risk for a mapping of values; with `y`, the accuracy on rows X, as scikit-learn has it."""
        if y is None and isinstance(X, Mapping):
            return self.risk(X)
        return self.accuracy(X, y, sample_weight)

    @property
    def features(self) -> Features:
        """The public schema of the features."""
        self._fitted()
        return self.features_

    @property
    def feature_importances_(self) -> FloatArray:
        """How much each feature moves the risk; they add up to 1."""
        self._fitted()
        return self._importances()

    # ---- reading and keeping

    def to_text(self) -> str:
        """The model as text that a person can follow by hand."""
        self._fitted()
        return "\n".join(self._lines())

    def to_svg(self) -> str:
        """The model as a picture."""
        from shoal.score.drawing import draw

        self._fitted()
        return draw(self)

    def save(self, path: str | Path, *, internal: bool = False) -> None:
        """Write the model as JSON with its claims, the schema of its features and a hash of all of it.

        A model that holds exact counts of the data is only written with ``internal=True``, and the file says so.
        """
        from shoal.score.store import write

        self._fitted()
        if not self.releasable and not internal:
            raise GuaranteeError(
                type(self).__name__,
                "this model holds exact counts of the data and must not leave the secure environment",
                hint="For internal use, save it with internal=True. To publish one, use CertifiedForest.",
            )
        write(self, path)

    def _fitted(self) -> None:
        if not hasattr(self, "model_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has been called."""
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """Two classes only."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.non_deterministic = type(self).__name__ != "AlphaTree"
        return tags


def require(model: object, name: str, holds: bool, rule: str) -> None:
    """Hold one parameter to its rule."""
    if not holds:
        owner, value = type(model).__name__, getattr(model, name)
        raise ParameterError(owner, f"{name} must {rule}", got=repr(value)[:60])
