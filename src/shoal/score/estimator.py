"""What scikit-learn expects of a classifier, without loading it: parameters by name, tags, accuracy.

scikit-learn asks an estimator for methods, not for its ancestors. It is loaded only where one of its own parts is
needed: a service that answers with a fitted model starts in a third of the time.
"""

from __future__ import annotations

from inspect import signature
from typing import Any, ClassVar

from shoal.method import Estimator

__all__ = ["Classifier"]


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
