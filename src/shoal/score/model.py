"""What every risk score shares: scikit-learn's conventions, a price that is charged first, and one way to be asked.

A model is fitted on any dataframe (or array), charges an account *before* anything is computed, and afterwards answers

- `predict_proba`, `predict`, `classes_`, `feature_importances_`: as scikit-learn's classifiers do;
- `risk(values)`: the probability of the last class for one person's values by name (`score(values)` is the same);
- `claims`, `spent`, `cost`, `words`: what is promised, what the fit cost, what one more answer costs, in plain words;
- `to_text`, `to_svg`, `save`: to be read by people, and by `shoal.score.load`.

What scikit-learn expects of a classifier, without loading it: parameters by name, tags, accuracy.

scikit-learn asks an estimator for methods, not for its ancestors. It is loaded only where one of its own parts is
needed: a service that answers with a fitted model starts in a third of the time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import AnyArray, BoolArray, FloatArray, IntArray
from shoal.claim import Claim, claim_rows
from shoal.dp import Budget
from shoal.errors import GuaranteeError, InputError, ParameterError
from shoal.extras import need
from shoal.frame import Frame
from shoal.method import Estimator
from shoal.record import html_table
from shoal.schema import Schema
from shoal.score.explanation import Explanation
from shoal.score.features import Features, features_of
from shoal.score.target import is_frame, named_rows, read_target, read_weights

__all__ = ["Classifier", "Records", "RiskModel", "require"]


class Classifier(Estimator):
    """What scikit-learn expects of a classifier, beside `fit`, `predict` and `predict_proba`.

    Examples
    --------
    >>> from shoal.score import AlphaTree
    >>> AlphaTree(max_depth=3).get_params()["max_depth"]
    3
    >>> AlphaTree().set_params(max_depth=2)
    AlphaTree(max_depth=2)
    """

    _estimator_type: ClassVar[str] = "classifier"

    def __repr__(self) -> str:
        defaults = {name: part.default for name, part in signature(type(self).__init__).parameters.items()}
        changed = {name: value for name, value in self.get_params().items() if not _same(value, defaults[name])}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def accuracy(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is the predicted one."""
        need("sklearn", type(self).__name__)
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))  # type: ignore[attr-defined]

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn says of any classifier."""
        from sklearn.base import BaseEstimator, ClassifierMixin

        class Plain(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
            pass

        return Plain().__sklearn_tags__()


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """What a fit looks at: cells of the features, classes as 0, 1 and so on, weights; and the way to cut numbers anew.

    A numeric outcome u on a grid of G steps is two classes at once: each record stands here twice, in class 1 with the
    weight u G and in class 0 with the weight G − u G, so that it weighs G in all; `grid` is G, else 1.
    """

    frame: Frame
    features: Features
    codes: IntArray
    y: IntArray
    weights: FloatArray | None
    kept: AnyArray
    n_classes: int = 2
    grid: int = 1

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.y) // (2 if self.grid > 1 else 1)

    def of_number(self, grid: int) -> Records:
        """The records with a numeric outcome, which `y` holds in steps of the grid."""
        n = len(self.y)
        return replace(
            self,
            codes=np.asfortranarray(np.concatenate([self.codes, self.codes])),
            y=np.repeat([0, 1], n),
            weights=np.concatenate([grid - self.y, self.y]).astype(np.float64),
            grid=grid,
        )

    def counts(self, cells: IntArray, size: int) -> IntArray:
        """The (cell, class) table of some cells, one for each row, in steps of the grid."""
        found = np.bincount(cells * self.n_classes + self.y, self.weights, minlength=size * self.n_classes)
        return np.rint(found).astype(np.int64).reshape(size, self.n_classes)

    def recut(self, schema: Schema | None, cuts: int, *, public: bool, owner: str) -> Records:
        """The same records with `cuts` equal cuts in numbers that declare bounds only."""
        features = features_of(self.frame, schema, cuts=cuts, public=public, owner=owner)
        codes = features.rows(self.frame)[0][self.kept]
        codes = codes if self.grid == 1 else np.concatenate([codes, codes])
        return replace(self, features=features, codes=np.asfortranarray(codes))


def _in_short(value: Any) -> str:
    """A parameter's value in a cell of a table."""
    return f"{len(value.columns)} columns" if isinstance(value, Schema) else str(value)


class RiskModel(Classifier):
    """A risk score; see the module for what every one of them can do."""

    kind: ClassVar[str] = ""
    public: ClassVar[bool] = False
    whole: ClassVar[bool] = True
    releasable: ClassVar[bool] = False
    held_: bool = False
    schema: Schema | None
    classes: Sequence[Any] | None

    def _repr_html_(self) -> str:
        """The model as a notebook shows it: its parameters, and once it is fitted what it promises and what it cost."""
        given = [(name, _in_short(value)) for name, value in self.get_params().items() if value is not None]
        parameters = html_table("parameters", given, ("parameter", "value"))
        if not self.__sklearn_is_fitted__():
            return html_table(f"{type(self).__name__}, not fitted", given, ("parameter", "value"))
        title = f"{type(self).__name__}, spent: {self.spent or 'nothing'}"
        return html_table(title, claim_rows(self.claims), ("basis", "promise", "what it says")) + parameters

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
            Classes; the last one is the risk. Certified models take more than two, if they are public.
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
        target = self._read_outcome(y, len(frame))
        weights = read_weights(sample_weight, len(frame), owner, whole=self.whole)
        features = features_of(frame, self.schema, cuts=self._cuts(), public=self.public, owner=owner)
        codes, kept = features.rows(frame)
        kept = kept if weights is None else kept & (weights > 0)
        kept = self._within_unit(frame, np.column_stack([codes, target]), kept)
        if not self.public and len(np.unique(target[kept])) < 2:
            raise InputError(owner, "needs records of both classes; y contains only one class", got="1 class")
        self.n_features_in_ = len(features)
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
            n_classes=len(getattr(self, "classes_", (0, 1))),
        )

    def _read_outcome(self, y: Any, n: int) -> IntArray:
        """y in whole numbers; notes the classes."""
        owner = type(self).__name__
        target, self.classes_ = read_target(y, self.classes, self.schema, n, owner, public=self.public)
        return target

    def _within_unit(self, frame: Frame, cells: IntArray, kept: BoolArray) -> BoolArray:
        """The rows that count; a certified model leaves some of a person's out."""
        return kept

    def _check_records(self, records: Records) -> None:
        """Hold parameters that speak of features to the features; before anything is charged."""

    def _charge(self, account: Any) -> None:
        if self.spent is None:
            return
        need("opendp", type(self).__name__)  # the noise that is paid for
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
        """The probabilities of the classes, one row a person."""
        return self._probabilities(self._codes(X))

    def _probabilities(self, codes: IntArray) -> FloatArray:
        risks = np.clip(self._risks(codes), 0.0, 1.0)
        return np.column_stack([1.0 - risks, risks])

    def predict(self, X: Any) -> AnyArray:
        """The likeliest class; the last one of those that are equally likely."""
        found = self.predict_proba(X)
        return np.asarray(self.classes_[found.shape[1] - 1 - found[:, ::-1].argmax(axis=1)])

    def risk(self, values: Mapping[str, Any]) -> float:
        """The risk of one person, given by feature name; errors name unknown and missing fields."""
        self._fitted()
        return self._risk(self.features_.cells(values))

    def _risk(self, cells: tuple[int, ...]) -> float:
        return float(min(1.0, max(0.0, self._one(cells))))

    def answer(self, values: Mapping[str, Any]) -> float:
        """What a service answers about one person: the risk, or the expected value of a numeric outcome."""
        self._fitted()
        return self._answer(self.features_.cells(values))

    def answers_to(self, people: Sequence[Mapping[str, Any]]) -> list[float]:
        """The answers for people whose values were read by the axes of `features`: nothing is checked again."""
        return [self._answer(self.features.cells_of(read)) for read in people]

    def _answer(self, cells: tuple[int, ...]) -> float:
        return self._risk(cells)

    def probabilities(self, values: Mapping[str, Any]) -> dict[str, float]:
        """The probability of each class for one person."""
        self._fitted()
        found = self._probabilities(np.array([self.features_.cells(values)], dtype=np.int64))[0]
        return {str(label): float(share) for label, share in zip(self.classes_, found, strict=True)}

    def explain(self, values: Mapping[str, Any], outcome: str | None = None) -> Explanation:
        """What each value contributed to a person's score; certified models only."""
        raise GuaranteeError(
            type(self).__name__,
            "an explanation shows exact counts of the data, which no price covers",
            hint="Certified models explain their scores at no cost.",
        )

    @property
    def outcome(self) -> str:
        """The class whose probability the risk is."""
        return str(self.classes_[-1])

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
        from shoal.score.model_file import write

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
            need("sklearn", type(self).__name__)
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(f"This {type(self).__name__} instance is not fitted yet. Call 'fit' first.")

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has been called."""
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        """Two classes, or more where they are public."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.public
        tags.non_deterministic = type(self).__name__ != "AlphaTree"
        return tags


def require(model: object, name: str, holds: bool, rule: str) -> None:
    """Hold one parameter to its rule."""
    if not holds:
        owner, value = type(model).__name__, getattr(model, name)
        raise ParameterError(owner, f"{name} must {rule}", got=repr(value)[:60])
