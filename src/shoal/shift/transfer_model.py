"""A model for one task, learnt from the rows of all tasks: transfer weights, then a weighted fit.

The rows of every task weigh survey weight times w(x, y | t) (`shoal.shift.transfer`), so that the weighted risk over
the pool converges to the risk of the target task on the new covariates; a cost model (`shoal.shift.models`) is fitted
to them. Promised: nothing about the error. `weights_.borrowed_share` says how much of the weight lies on rows of other
tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np

from shoal.arrays import FloatArray
from shoal.design import Design
from shoal.errors import ParameterError
from shoal.params import Help, Range, check
from shoal.schema import Schema
from shoal.shift.models import Predictor, check_costs, fitter_of
from shoal.shift.people import read_market
from shoal.shift.populations import check_codings
from shoal.shift.transfer import TransferOptions, TransferWeights, pool_of

__all__ = ["Transfer"]


@dataclass(kw_only=True)
class Transfer:
    """Predict the response of one task from the rows of several.

    Parameters
    ----------
    method
        How densities are estimated: ``"ratio"`` on cells, ``"logistic"`` by a regression, or ``"none"``: all rows of
        the pool count alike, to compare with.
    coding, model
        As in `MarketRisk`.
    response
        Name of the response, if the schema has several numeric sensitive columns.
    response_bins, bins, limit
        As in `transfer_weights`.

    Notes
    -----
    Survey weights count. A missing category is a level of its own. Cost: O(n log n) in the pooled rows.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"], kinds={"age": "nominal"})
    >>> north = pl.DataFrame({"age": ["young", "old"] * 50, "cost": [1.0, 3.0] * 50})
    >>> south = pl.DataFrame({"age": ["young", "old"] * 50, "cost": [1.0, 9.0] * 50})
    >>> model = shoal.shift.Transfer().fit({"north": north, "south": south}, "north", north, schema)
    >>> [round(float(y), 6) for y in model.predict(pl.DataFrame({"age": ["young", "old"]}))]
    [1.0, 3.0]
    """

    method: Annotated[Literal["ratio", "logistic", "none"], Help("how densities are estimated")] = "ratio"
    coding: Annotated[Literal["dummy", "numeric"], Help("how covariates enter the model")] = "dummy"
    model: Annotated[object, Help("cost model")] = None
    response: Annotated[str | None, Help("the response")] = None
    response_bins: Annotated[int, Range(low=1), Help("bins for the response")] = 10
    bins: Annotated[int, Range(low=2), Help("bins for a numeric column with more distinct values")] = 20
    limit: Annotated[float, Range(low=0, high=1), Help("largest share of the new table without weight")] = 0.2
    weights_: TransferWeights | None = field(default=None, init=False, repr=False, compare=False)
    _fitted: _Fitted | None = field(default=None, init=False, repr=False, compare=False)

    def fit(self, tasks: Mapping[str, Any], target: str, new: Any, schema: Schema) -> Transfer:
        """Learn the task `target` for covariates like those of `new` from the tables of all `tasks`."""
        check(self)
        fitter = fitter_of(self.model)
        pool = pool_of(tasks, target, new, schema, self.response, self.bins, self.limit)
        y = np.concatenate([table.costs for table in pool.members])
        check_costs(self.model, pool.members[0].response, y)
        w = np.concatenate([table.weights for table in pool.members])
        if self.method != "none":
            self.weights_ = pool.weights(self._options(self.method))
            kept = [self.weights_.values[name][m.rows] for name, m in zip(pool.names, pool.members, strict=True)]
            w = w * np.concatenate(kept)
        design = pool.populations.design
        X = design.matrix(pool.populations.points, self.coding)
        self._fitted = _Fitted(design=design, schema=pool.schema, predict=fitter(X, pool.rows(), y, w))
        return self

    def predict(self, table: Any) -> FloatArray:
        """The response to expect for each row; NaN for a row that the schema's missing rule leaves out."""
        if self._fitted is None:
            raise ParameterError("Transfer", "fit(tasks, target, new, schema) must come before predict")
        design = self._fitted.design
        people = read_market(table, self._fitted.schema, "table to predict")
        check_codings(design, people, [people], self.limit)
        out = np.full(people.n_original, np.nan)
        out[people.rows] = self._fitted.predict(design.matrix(design.codes(people.frame), self.coding))
        return out

    def _options(self, method: Literal["ratio", "logistic"]) -> TransferOptions:
        return TransferOptions(method=method, response_bins=self.response_bins, bins=self.bins, limit=self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fitted:
    """What `fit` keeps; no row of any table."""

    design: Design
    schema: Schema
    predict: Predictor
