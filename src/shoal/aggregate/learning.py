"""Train on reconstructed targets, predict for new people (4.5.2).

1. rebuild the masked column from aggregates and individual covariates,
2. train any scikit-learn regressor on covariates and rebuilt column,
3. predict for new rows with the same covariates.

A linear model trained on a linear reconstruction can only learn that reconstruction's slope, blurred by the group
offsets: look at the reconstruction's warnings before the model's predictions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.aggregate.covariates import Coding, covariates
from shoal.aggregate.published import Aggregate
from shoal.aggregate.reconstruction import Reconstruction, Reconstructor
from shoal.arrays import FloatArray
from shoal.errors import ParameterError
from shoal.extras import need

__all__ = ["Learnt", "learn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learnt:
    """A model trained on reconstructed targets, with the reconstruction and the coding of covariates."""

    model: Any
    reconstruction: Reconstruction
    coding: Coding

    def predict(self, X: Any) -> FloatArray:
        """Predict for rows that have the training table's columns; unknown levels count as the first one."""
        return np.asarray(self.model.predict(self.coding.matrix(X)), dtype=np.float64)


def learn(
    model: Any,
    X: Any,
    aggregates: Sequence[Aggregate],
    *,
    method: Reconstructor,
    weights: Any = None,
    log: bool = False,
    seed: int = 0,
) -> Learnt:
    """Rebuild the target by `method` and train a copy of `model` on it.

    Parameters
    ----------
    model
        Any scikit-learn regressor or pipeline; it is cloned, not changed.
    X, aggregates, weights, log, seed
        As for `Reconstructor.reconstruct`. With weights the model is trained with them if it takes `sample_weight`.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from shoal.aggregate import Aggregate, EcologicalRegression, learn
    >>> groups = Aggregate(by=[0, 0, 1, 1], mean=[1.5, 4.0])
    >>> learnt = learn(LinearRegression(), [[0.0], [1.0], [2.0], [4.0]], [groups], method=EcologicalRegression())
    >>> learnt.predict([[10.0]]).round(6).tolist()
    [11.0]
    """
    need("sklearn", "learn")
    from sklearn.base import clone
    from sklearn.utils.validation import has_fit_parameter

    if not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise ParameterError("learn", "model must have fit and predict", got=type(model).__name__)
    coded = covariates(X)
    found = method.reconstruct(X, aggregates, weights=weights, log=log, seed=seed)
    extra = {"sample_weight": weights} if weights is not None and has_fit_parameter(model, "sample_weight") else {}
    trained = clone(model).fit(coded.matrix, found.values, **extra)
    return Learnt(model=trained, reconstruction=found, coding=coded.coding)
