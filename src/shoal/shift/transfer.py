"""Transfer weights: let the training rows of all tasks help to learn one of them.

With m tasks, each with its own p(x, y | t), and a test distribution q(x | t), rows of the pooled training tables are
weighted by (Wei, Ramamurthy and Varshney 2018, section 2; Bickel, Sawade and Scheffer 2009)

    w(x, y | t) = p(x, y | t) / Σ_t' p(t') p(x, y | t')  ·  q(x | t) / p(x | t).

The first factor makes the pool look like task t, the second makes task t look like the test phase. Then the weighted
risk over the pool converges to task t's risk on q.

- **ratio**: empirical distributions on cells of x, and of x with the quantile bins of y. Rows of other tasks count only
  in cells where task t has rows too.
- **logistic**: p(x, y | t) / Σ_t' p(t') p(x, y | t') = p(t | x, y) / p(t), by a regression of "is task t" on x and y
  (dummy-coded x, linear and squared standardised y); the second factor as in `logistic_weights`.

A model for one task, learnt from the rows of all tasks: transfer weights, then a weighted fit.

The rows of every task weigh survey weight times w(x, y | t) (see above), so that the weighted risk over
the pool converges to the risk of the target task on the new covariates; a cost model (`shoal.shift.models`) is fitted
to them. Promised: nothing about the error. `weights_.borrowed_share` says how much of the weight lies on rows of other
tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.design import Design, joint_cells
from shoal.domain.bins import midpoints, quantiles
from shoal.errors import InputError, ParameterError
from shoal.params import Help, Range, check
from shoal.schema import Schema
from shoal.shift.models import Predictor, check_costs, fitter_of, market_logit
from shoal.shift.people import Members, ratio, read_market, read_members, sums_by
from shoal.shift.populations import Populations, check_codings, effective_sample_size, learn_design, meet
from shoal.shift.weights import Shift

__all__ = [
    "Pool",
    "Transfer",
    "TransferOptions",
    "TransferWeights",
    "pool_of",
    "transfer_density_ratio",
    "transfer_weights",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferWeights:
    """Weights of the rows of every task for learning one of them.

    `values` holds an array per task, in the order of its table's rows (0 for a row left out because of a missing
    number); pooled and survey-weighted they have mean 1. `uncovered_share` is the share of the test table in cells
    where the target task has no training rows, `borrowed_share` the share of the total weight on rows of other tasks.
    """

    releasable: ClassVar[bool] = False

    target: str
    values: Mapping[str, FloatArray]
    effective_sample_size: float
    effective_sample_size_alone: float
    uncovered_share: float
    borrowed_share: float

    def to_dict(self) -> dict[str, Any]:
        """The diagnostics as JSON-safe words, without the weights of single rows."""
        return {
            "target": self.target,
            "n": {name: len(values) for name, values in self.values.items()},
            "effective_sample_size": self.effective_sample_size,
            "effective_sample_size_alone": self.effective_sample_size_alone,
            "uncovered_share": self.uncovered_share,
            "borrowed_share": self.borrowed_share,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferOptions:
    """How the densities are estimated."""

    method: Annotated[Literal["ratio", "logistic"], Help("how densities are estimated")] = "ratio"
    response_bins: Annotated[int, Range(low=1), Help("bins for the response")] = 10
    bins: Annotated[int, Range(low=2), Help("bins for a numeric column")] = 20
    limit: Annotated[float, Range(low=0, high=1), Help("largest share of the test table without weight")] = 0.2


def transfer_weights(
    tasks: Mapping[str, Any],
    target: str,
    new: Any,
    schema: Schema,
    *,
    method: Literal["ratio", "logistic"] = "ratio",
    response: str | None = None,
    response_bins: int = 10,
    bins: int = 20,
    limit: float = 0.2,
) -> TransferWeights:
    """Weigh the training rows of all tasks for learning the task `target` on covariates like those of `new`.

    Parameters
    ----------
    tasks
        Training tables with covariates and response, by the name of the task. The share p(t) of a task is its share
        of the pooled survey weight.
    target
        The task to learn.
    new
        Covariates of the test phase of that task, distributed like q(x | t).
    schema
        The quasi-identifiers are x, the numeric sensitive column is y; survey weights count where there are any.
    method
        ``"ratio"`` or ``"logistic"``, see the module.
    response
        Name of y, if the schema has several numeric sensitive columns.
    response_bins
        Cells of y (ratio): one for each value if there are no more, else at the pool's quantiles. More of them tell
        tasks apart more finely and borrow less.
    bins
        A numeric covariate with more distinct values is cut into this many cells.
    limit
        Largest share of `new` that may lie where the target task has no rows.

    Notes
    -----
    Cost: O(n log n) in the pooled rows.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"], kinds={"age": "nominal"})
    >>> north = pl.DataFrame({"age": ["young", "old"] * 50, "cost": [1.0, 3.0] * 50})
    >>> south = pl.DataFrame({"age": ["young", "old"] * 50, "cost": [1.0, 9.0] * 50})
    >>> w = shoal.shift.transfer_weights({"north": north, "south": south}, "north", north, schema)
    >>> [round(float(x), 6) for x in w.values["north"][:2]], [round(float(x), 6) for x in w.values["south"][:2]]
    ([1.0, 2.0], [1.0, 0.0])
    """
    options = TransferOptions(method=method, response_bins=response_bins, bins=bins, limit=limit)
    check(options)
    return pool_of(tasks, target, new, schema, response, bins, limit).weights(options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The tables of all tasks and of the test phase, on one set of combinations."""

    members: list[Members]
    names: list[str]
    target: str
    schema: Schema
    populations: Populations

    def rows(self) -> IntArray:
        """The combination of each pooled row."""
        return _points(self.populations)

    def weights(self, options: TransferOptions) -> TransferWeights:
        """The weights of the rows of every task."""
        return _describe(options, self.members, self.names, self.target, self.populations)


def pool_of(
    tasks: Mapping[str, Any], target: str, new: Any, schema: Schema, response: str | None, bins: int, limit: float
) -> Pool:
    """Hold the tables to the schema and bring them together."""
    _check_target(tasks, target)
    members = {name: read_members(table, schema, response) for name, table in tasks.items()}
    typed = members[target].schema
    test = read_market(new, typed, "new market")
    design = learn_design(list(members.values()), typed, bins)
    return Pool(
        members=list(members.values()),
        names=list(members),
        target=target,
        schema=typed,
        populations=meet(design, [*members.values(), test], limit),
    )


def transfer_density_ratio(p_xy: FloatArray, p_t: FloatArray, q_x: FloatArray, p_x: FloatArray, t: int) -> FloatArray:
    """The weight of each cell of (x, y) for task `t`, from densities.

    Parameters
    ----------
    p_xy
        p(x, y | t'), one row per task, one column per cell of (x, y).
    p_t
        p(t').
    q_x, p_x
        q(x | t) and p(x | t), at the x of each cell.
    """
    pooled = p_t @ p_xy
    return ratio(p_xy[t], pooled) * ratio(q_x, p_x)


def _describe(
    options: TransferOptions, members: list[Members], names: list[str], target: str, populations: Populations
) -> TransferWeights:
    t = names.index(target)
    v = np.concatenate([table.weights for table in members])
    ends = np.cumsum([table.n for table in members])[:-1]
    factor = _ratio if options.method == "ratio" else _logistic
    w = factor(options, members, t, populations)
    total = float(v @ w)
    if total <= 0:
        raise InputError("transfer weights", "must not all be 0", hint="Use coarser levels or method='logistic'.")
    w = w * (v.sum() / total)
    parts = np.split(v * w, ends)
    own = members[t].weights * _second_factor(options, t, populations)[populations.tables[t].point]
    return TransferWeights(
        target=target,
        values={name: _spread(m, p) for name, m, p in zip(names, members, np.split(w, ends), strict=True)},
        effective_sample_size=effective_sample_size(v * w),
        effective_sample_size_alone=effective_sample_size(own),
        uncovered_share=_uncovered(options, t, populations),
        borrowed_share=float(1 - parts[t].sum() / (v @ w)),
    )


def _ratio(options: TransferOptions, members: list[Members], t: int, populations: Populations) -> FloatArray:
    x_cell = [populations.cell[table.point] for table in populations.tables[:-1]]
    y = np.concatenate([table.costs for table in members])
    v = np.concatenate([table.weights for table in members])
    values = np.unique(y)
    few = len(values) <= options.response_bins
    cuts = midpoints(values) if few else quantiles(y, v, options.response_bins)
    y_cell = np.searchsorted(cuts, y, side="left")
    (cell,), n_cells = joint_cells([np.column_stack((np.concatenate(x_cell), y_cell)).astype(np.int64)])
    task = np.repeat(np.arange(len(members)), [table.n for table in members])
    p_xy = np.array([sums_by(cell, v * (task == i), n_cells) for i in range(len(members))])
    totals = p_xy.sum(axis=1)
    first = ratio(p_xy[t] / totals[t], totals / totals.sum() @ (p_xy / totals[:, None]))
    return first[cell] * _second_factor(options, t, populations)[_points(populations)]


def _logistic(options: TransferOptions, members: list[Members], t: int, populations: Populations) -> FloatArray:
    y = np.concatenate([table.costs for table in members])
    v = np.concatenate([table.weights for table in members])
    z = (y - np.average(y, weights=v)) / (np.sqrt(np.cov(y, aweights=v)) or 1.0)
    X = populations.design.matrix(populations.points, "dummy")[_points(populations)]
    X = np.column_stack((X, z, z**2))
    is_target = np.repeat(np.arange(len(members)) == t, [table.n for table in members])
    fit = market_logit(X, v * ~is_target, v * is_target)
    return fit.probability(X) * _second_factor(options, t, populations)[_points(populations)]


def _second_factor(options: TransferOptions, t: int, populations: Populations) -> FloatArray:
    """q(x | t) / p(x | t) on each combination."""
    own, new = populations.tables[t], populations.tables[-1]
    shift = Shift(method=options.method, bins=options.bins, limit=options.limit)
    meeting = Populations(
        design=populations.design,
        points=populations.points,
        cell=populations.cell,
        n_cells=populations.n_cells,
        tables=(own, own, new),
    )
    return shift.factors(meeting, own.mass, new.mass)


def _uncovered(options: TransferOptions, t: int, populations: Populations) -> float:
    own = populations.in_cells(populations.tables[t].mass)
    new = populations.in_cells(populations.tables[-1].mass)
    share = float(new[own == 0].sum() / new.sum())
    if options.method == "ratio" and share > options.limit:
        raise InputError(
            "transfer weights",
            f"need rows of the target task in at least {1 - options.limit:.0%} of the new market by weight",
            got=f"{share:.0%} of it without weight",
            hint="Use coarser levels or fewer bins, or method='logistic'.",
        )
    return share


def _points(populations: Populations) -> IntArray:
    return np.concatenate([table.point for table in populations.tables[:-1]])


def _spread(table: Members, w: FloatArray) -> FloatArray:
    values = np.zeros(table.n_original)
    values[table.rows] = w
    return values


def _check_target(tasks: Mapping[str, Any], target: str) -> None:
    if target not in tasks:
        known = ", ".join(map(str, tasks)) or "none"
        raise ParameterError("transfer_weights", f"target must be one of the tasks ({known})", got=repr(target)[:40])


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
