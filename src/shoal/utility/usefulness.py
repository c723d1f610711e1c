"""Train on the release, test on real people: is a model that learnt from released rows as good as one from real rows?

Two models of different sorts predict a column from all others, a regression (logistic for categories, ridge for
numbers) and a forest of trees. Each is trained twice, on released rows and on original ones, and tested on the
same original records, which the second did not see:

    two classes   AUROC, the chance that a person of the second class is ranked above one of the first (1/2: no model)
    more classes  share predicted right (no model: that of the most frequent class)
    a number      R² = 1 − squared error / variance (no model: 0)

The release was made from all records, the tested ones included, so it may remember them; with a control group of people
who took no part in it, these are tested instead. Intervals are bootstraps of the tested records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.conform import prepare
from shoal.errors import InputError, SchemaError
from shoal.frame import enter
from shoal.pair import Pair
from shoal.record import Interval, Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.learners import forest, regression
from shoal.utility.tables import Both, both_columns, side_by_side

__all__ = ["Trained", "Usefulness", "usefulness", "usefulness_of"]

_MOST_ROWS = 5_000
_TESTED_SHARE = 0.25
_MOST_LEVELS = 24
_MOST_CLASSES = 50
_DRAWS = 100

Measure = Literal["AUROC", "share right", "R²"]
Learner = Literal["regression", "trees"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trained(Record):
    """One sort of model, trained on the release and on the original, with 95% intervals."""

    releasable: ClassVar[bool] = False

    learner: Learner
    on_released: float
    released_interval: Interval
    on_original: float
    original_interval: Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Usefulness(Record):
    """How well models predict real people.

    Parameters
    ----------
    target, measure
        What is predicted, and what is measured; larger is better.
    no_model
        What guessing without any column has.
    models
        The two models.
    n_train, n_test
        Released rows trained on, original records trained on, records tested on.
    with_control
        Whether the tested people took no part in the release.
    """

    releasable: ClassVar[bool] = False

    target: str
    measure: Measure
    no_model: float
    models: tuple[Trained, ...]
    n_train: tuple[int, int]
    n_test: int
    with_control: bool


def usefulness(
    original: Any,
    released: Any,
    schema: Schema,
    source_rows: Any = None,
    *,
    target: str | None = None,
    control: Any = None,
    seed: int = 0,
) -> Usefulness | None:
    """Train two models on the release and on the original, and test both on real people.

    Parameters
    ----------
    original, released, schema, source_rows
        The two tables and what their columns are; rows need not correspond.
    target
        The column to predict; None: the first sensitive one that varies, else the last quasi-identifier that does.
    control
        A table of people of the same population who took no part in the release: these are tested then.
    seed
        Repeats the split and the bootstraps.

    Returns
    -------
    The measure, or None where no column varies in both tables or there are fewer than eight records.

    Notes
    -----
    At most 5,000 rows of either table are trained on. Missing numbers are the mean, with an indicator; a missing
    category is a level. Rows whose target is missing are left out. Weights play no part. Cost: four models, seconds.

    Examples
    --------
    >>> import numpy as np, polars as pl, shoal
    >>> from shoal.utility import usefulness
    >>> x = np.arange(400) % 20
    >>> table = pl.DataFrame({"x": x, "y": np.where(x > 9, "high", "low")})
    >>> schema = shoal.Schema.of(quasi=["x"], sensitive=["y"], kinds={"x": "numeric"})
    >>> found = usefulness(table, table, schema)
    >>> found.measure, found.models[1].on_released
    ('AUROC', 1.0)
    """
    pair = side_by_side(original, released, schema, source_rows)
    return usefulness_of(pair, target=target, control=control, seed=seed)


def usefulness_of(pair: Pair, *, target: str | None = None, control: Any = None, seed: int = 0) -> Usefulness | None:
    """`usefulness` of a pair that is already at hand."""
    columns = both_columns(pair)
    chosen = _target(columns, target)
    if chosen is None or pair.original.n < 8:
        return None
    tested = None if control is None else _control_codes(pair, columns, control)
    return _measured(pair, columns, chosen, tested, stream(seed, "usefulness"))


def _target(columns: Sequence[Both], named: str | None) -> Both | None:
    """The column to predict: one that varies among known values of both tables."""
    if named is not None and named not in [column.name for column in columns]:
        raise SchemaError("usefulness", f"the target '{named}' must be a released quasi-identifier or sensitive column")
    by_interest = [c for c in columns if c.role == "sensitive"] + [c for c in reversed(columns) if c.role == "quasi"]
    able = [c for c in by_interest if named in (None, c.name) and len(columns) > 1 and _varies(c)]
    return able[0] if able else None


def _varies(column: Both) -> bool:
    known = [codes[column.is_known(codes)] for codes in (column.original, column.released)]
    few = column.coding.levels is None or len(np.unique(known[0])) <= _MOST_CLASSES
    return few and all(len(codes) > 3 and np.ptp(codes) > 0 for codes in known)


def _control_codes(pair: Pair, columns: Sequence[Both], control: Any) -> dict[str, FloatArray]:
    """The control people in the codes of the original."""
    frame = enter(control, owner="control table")
    for column in columns:
        if column.name not in frame.columns:
            raise SchemaError("control table", f"must have the column '{column.name}'")
    if len(frame) == 0:
        raise InputError("control table", "must have at least one row", got="0 rows")
    sensitive = [column.name for column in columns if column.role == "sensitive"]
    encoders = {pair.schema.quasi: pair.encoder, tuple(sensitive): pair.codes_of(sensitive)[0]}
    out: dict[str, FloatArray] = {}
    for names, encoder in encoders.items():
        if names:
            rules = Schema(tuple(replace(pair.schema[name], missing="error", role="sensitive") for name in names))
            out |= dict(zip(names, encoder.codes(prepare(frame.select(names), rules).frame).T, strict=True))
    return out


def _measured(
    pair: Pair, columns: Sequence[Both], target: Both, tested: dict[str, FloatArray] | None, rng: Generator
) -> Usefulness:
    order = rng.permutation(pair.original.n)
    n_aside = 0 if tested is not None else max(2, round(_TESTED_SHARE * pair.original.n))
    aside, rest = order[:n_aside], order[n_aside:][:_MOST_ROWS]
    shown = rng.permutation(len(pair.released))[:_MOST_ROWS]
    task = _Task.of(columns, target)
    real = task.rows({c.name: c.original[rest] for c in columns})
    made = task.rows({c.name: c.released[shown] for c in columns})
    test = task.rows(tested if tested is not None else {c.name: c.original[aside[:_MOST_ROWS]] for c in columns})
    again = [rng.integers(0, len(test[1]), len(test[1])) for _ in range(_DRAWS)]
    learners: tuple[Learner, ...] = ("regression", "trees")
    return Usefulness(
        target=target.name,
        measure=task.measure,
        no_model=task.without(test[1]),
        models=tuple(_trained(task, learner, made, real, test, again) for learner in learners),
        n_train=(len(made[1]), len(real[1])),
        n_test=len(test[1]),
        with_control=tested is not None,
    )


Rows = tuple[FloatArray, FloatArray]


def _trained(task: _Task, learner: Learner, made: Rows, real: Rows, test: Rows, again: Sequence[IntArray]) -> Trained:
    (a, a_interval), (b, b_interval) = (task.scored(learner, rows, test, again) for rows in (made, real))
    return Trained(
        learner=learner, on_released=a, released_interval=a_interval, on_original=b, original_interval=b_interval
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What is predicted from what: the same matrix for every table."""

    columns: Sequence[Both]
    target: Both
    classes: FloatArray | None

    @classmethod
    def of(cls, columns: Sequence[Both], target: Both) -> _Task:
        known = target.original[target.is_known(target.original)]
        classes = None if target.coding.levels is None else np.unique(known)
        return cls(columns=[c for c in columns if c.name != target.name], target=target, classes=classes)

    @property
    def measure(self) -> Measure:
        if self.classes is None:
            return "R²"
        return "AUROC" if len(self.classes) == 2 else "share right"

    def rows(self, codes: dict[str, FloatArray]) -> Rows:
        """Regressors and target of the rows whose target is known."""
        y = codes[self.target.name]
        known = self.target.is_known(y)
        X = np.hstack([_regressors(column, codes[column.name]) for column in self.columns])
        return X[known], y[known]

    def without(self, y: FloatArray) -> float:
        if self.measure == "share right":
            return float(np.unique(y, return_counts=True)[1].max() / len(y))
        return 0.5 if self.measure == "AUROC" else 0.0

    def scored(self, learner: Learner, train: Rows, test: Rows, again: Sequence[IntArray]) -> tuple[float, Interval]:
        """The measure on the tested rows, and its interval."""
        predicted = self._predicted(learner, train, test[0])
        score = _SCORES[self.measure]
        drawn = [score(test[1][rows], predicted[rows]) for rows in again]
        low, high = np.quantile(drawn, [0.025, 0.975])
        return score(test[1], predicted), (float(low), float(high))

    def _predicted(self, learner: Learner, train: Rows, X: FloatArray) -> FloatArray:
        known = np.unique(train[1])
        if len(known) < 2:
            return np.full(len(X), float(train[1][0]) if len(train[1]) else 0.0)
        if self.classes is None:
            centre = float(train[1].mean())
            return _learnt(learner, train[0], train[1][:, None] - centre, X)[:, 0] + centre
        chances = _learnt(learner, train[0], (train[1][:, None] == known) * 1.0, X)
        if self.measure != "AUROC":
            return np.asarray(known[chances.argmax(axis=1)])
        return chances[:, list(known).index(self.classes[1])]


def _learnt(learner: Learner, X: FloatArray, Y: FloatArray, new: FloatArray) -> FloatArray:
    return forest(X, Y, new, stream(0, "forest")) if learner == "trees" else regression(X, Y, new)


def _regressors(column: Both, codes: FloatArray) -> FloatArray:
    """A number with an indicator of absence; ordered levels by their place; others by indicators of the commonest."""
    if column.coding.levels is None or column.coding.kind == "ordinal":
        known = column.is_known(column.original)
        mean = float(column.original[known].mean()) if known.any() else 0.0
        absent = ~column.is_known(codes)
        return np.column_stack([np.where(absent, mean, codes), absent]).astype(np.float64)
    levels, counts = np.unique(column.original, return_counts=True)
    common = levels[np.argsort(-counts, kind="stable")][:_MOST_LEVELS]
    return np.asarray(codes[:, None] == common, dtype=np.float64)


def auroc(y: FloatArray, score: FloatArray) -> float:
    """Chance that a row of the second class has the higher score, ties half; 1/2 where there is one class only."""
    second = y == y.max()
    n, m = int(second.sum()), int((~second).sum())
    if not n or not m:
        return 0.5
    _, place, counts = np.unique(score, return_inverse=True, return_counts=True)
    middle = counts.cumsum() - (counts - 1) / 2  # ties share their mean rank
    return float((middle[place[second]].sum() - n * (n + 1) / 2) / (n * m))


def share_right(y: FloatArray, predicted: FloatArray) -> float:
    """Share of rows predicted right."""
    return float((y == predicted).mean())


def r_squared(y: FloatArray, predicted: FloatArray) -> float:
    """1 − squared error / variance; 0 where the truth does not vary."""
    spread = float(((y - y.mean()) ** 2).sum())
    return 1.0 - float(((y - predicted) ** 2).sum()) / spread if spread else 0.0


_SCORES: dict[Measure, Callable[[FloatArray, FloatArray], float]] = {
    "AUROC": auroc,
    "share right": share_right,
    "R²": r_squared,
}
