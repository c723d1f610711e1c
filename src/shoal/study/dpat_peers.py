"""diffprivlib's models for the study, where it is installed and its scikit-learn fits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["peers"]


def peers() -> dict[str, tuple[str, Callable[[float], Any]]]:
    """Names, promises and makers; nothing where diffprivlib can't be imported."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from diffprivlib import models  # type: ignore[import-not-found, unused-ignore]
    except Exception:  # it subclasses private classes of scikit-learn, so its import can fail in any way
        return {}
    promise = "ε for the model, proved"
    unit = (0.0, 1.0)
    return {
        "diffprivlib naive Bayes": (promise, lambda e: _Scaled(models.GaussianNB(epsilon=e, bounds=unit))),
        "diffprivlib logistic": (promise, lambda e: _Scaled(models.LogisticRegression(epsilon=e, data_norm=3.0))),
    }


class _Scaled:
    """A peer on numbers scaled by the range of the training half (which is kind to it: the range is not public)."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Any, y: Any) -> _Scaled:
        values = X.to_numpy().astype(np.float64)
        self.low, self.span = values.min(axis=0), np.maximum(np.ptp(values, axis=0), 1e-9)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model.fit((values - self.low) / self.span, y)
        return self

    def predict_proba(self, X: Any) -> Any:
        values = np.clip((X.to_numpy().astype(np.float64) - self.low) / self.span, 0, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.nan_to_num(self.model.predict_proba(values))
