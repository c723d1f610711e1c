"""Whether an analyst gets the same regression from the release, and predicts people as well with it.

A numeric sensitive column is regressed on the quasi-identifiers of each table, with survey weights if there are any.
Compared are the coefficients b of the original with those of the release::

    coefficient distance    sum over j of |Δb_j / b_j|                      (001 section 3.3.3; explodes near b_j = 0)
    coefficient similarity  exp(-|Δb|²), slopes in standard deviations of the original, without the intercept
    interval overlap        mean of overlap / length of either 95% interval, 0 if disjoint    (Karr et al. 2006)

and predictions: the model is trained on the released rows of one half of the people and tested on the original rows
of the other half, beside a model trained on the original rows of the first half. Relative bias is (mean prediction -
mean truth) / mean truth in percent; R² is 1 - squared error / variance of the truth and may be negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator
from shoal.errors import InputError, ParameterError
from shoal.pair import Pair
from shoal.record import Interval, Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.design import Code, Design, Fit, Layout, designs, least_squares
from shoal.utility.tables import Both, both_columns, check_share, check_whole, row_weights, side_by_side

__all__ = ["Coefficient", "Prediction", "Regression", "interval_overlap", "regression", "regression_of", "targets"]

_TINY = 1e-9  # relative size below which a coefficient, or an interval around it, is rounding error


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficient(Record):
    """One coefficient in both tables, with 95% intervals; `lost` says that the release does not determine it.

    `difference` is in standard errors of the original. It stays inside: the coefficient of a level that one person
    has tells that person's response.
    """

    releasable: ClassVar[bool] = False

    term: str
    original: float
    released: float
    original_interval: Interval | None
    released_interval: Interval | None
    overlap: float | None
    difference: float | None
    lost: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction(Record):
    """How a model predicts the tested people: relative bias in percent and R², with 95% intervals."""

    relative_bias: float | None
    relative_bias_interval: Interval | None
    r_squared: float | None
    r_squared_interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression(Record):
    """What became of a regression. Its summary may leave the secure environment, its `coefficients` may not.

    Parameters
    ----------
    target, coding, weighted
        What was regressed, and how.
    coefficient_distance, coefficient_similarity, mean_overlap
        See the module. A lost coefficient counts as 0 in the release, with overlap 0.
    n_coefficients, n_lost, n_undetermined, n_skipped
        Coefficients compared; of these lost in the release; not determined by the original either, hence left out;
        left out of the distance because they are 0 in the original.
    trained_on_released, trained_on_original
        Predictions of the tested people by either model.
    bias_difference, bias_difference_interval
        Relative bias of the first minus that of the second, in points, on the same people.
    held_out
        Whether the tested people were left out of training. Their rows still took part in the grouping and masking
        of others, so a little of them is in the release. False: no row's source is known; tested in sample.
    n_train, n_test
        Released rows trained on, original rows tested on.
    """

    releasable: ClassVar[bool] = False

    target: str
    coding: Code
    weighted: bool
    coefficient_distance: float
    coefficient_similarity: float
    mean_overlap: float | None
    n_coefficients: int
    n_lost: int
    n_undetermined: int
    n_skipped: int
    trained_on_released: Prediction
    trained_on_original: Prediction
    bias_difference: float | None
    bias_difference_interval: Interval | None
    held_out: bool
    n_train: int
    n_test: int
    coefficients: tuple[Coefficient, ...]


def regression(
    original: Any,
    released: Any,
    schema: Schema,
    source_rows: Any = None,
    *,
    target: str | None = None,
    coding: Code = "dummy",
    test_share: float = 0.5,
    bins: int = 20,
    weighted: bool | None = None,
    seed: int = 0,
) -> Regression:
    """Regress a numeric sensitive column on the quasi-identifiers of both tables and compare.

    Parameters
    ----------
    original, released, schema
        The two tables and what their columns are.
    source_rows
        Original row number of each released row, to keep the tested people out of training; None says that both have
        the same row order, or, if they differ in length, that nothing is known and the test is in sample.
    target
        The numeric sensitive column to explain; None: the first one.
    coding
        ``"dummy"``: a free function of each column (a released number counts at the nearest value or in its bin).
        ``"numeric"``: linear in numeric and ordinal columns.
    test_share
        Share of the people that is tested; raising it steadies the test and weakens the models.
    bins
        Number of quantile bins of a dummy-coded numeric column with more than 50 distinct values.
    weighted
        Use survey weights; None: if the schema names them and the release has them.
    seed
        Repeats the split of the people.

    Notes
    -----
    Rows without the response are left out; a missing quasi-identifier is a value of its own. Collinear columns are
    handled: a coefficient that the data do not determine is not compared. Of columns with very many levels the rarest
    are merged. With weights, intervals are of the sandwich kind. Cost: n x columns², and the cube of the number of
    coefficients.

    References
    ----------
    Karr, Kohnen, Oganian, Reiter, Sanil (2006), A framework for evaluating the utility of data altered to protect
    confidentiality, The American Statistician 60.

    Examples
    --------
    >>> import numpy as np, polars as pl, shoal
    >>> from shoal.utility import regression
    >>> age = np.arange(20.0, 80.0)
    >>> table = pl.DataFrame({"age": age, "cost": 100.0 + 2.0 * age + np.cos(age)})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"])
    >>> result = regression(table, table, schema, coding="numeric")
    >>> result.mean_overlap, result.coefficient_distance, round(result.trained_on_released.r_squared, 3)
    (1.0, 0.0, 0.999)
    """
    pair = side_by_side(original, released, schema, source_rows)
    return regression_of(
        pair, target=target, coding=coding, test_share=test_share, bins=bins, weighted=weighted, seed=seed
    )


def regression_of(
    pair: Pair,
    *,
    target: str | None = None,
    coding: Code = "dummy",
    test_share: float = 0.5,
    bins: int = 20,
    weighted: bool | None = None,
    seed: int = 0,
) -> Regression:
    """`regression` of a pair that is already at hand."""
    check_whole("regression", "bins", bins, 2)
    check_share("regression", "test_share", test_share)
    if coding not in get_args(Code):
        raise ParameterError("regression", "coding must be 'dummy' or 'numeric'", got=repr(coding)[:60])
    columns = both_columns(pair)
    response = _find_target(columns, target)
    if weighted is None:
        weighted = pair.schema.weight is not None and pair.schema.weight in pair.released.columns
    study = _study(pair, columns, response, coding, bins, weighted)
    train, test = _split(pair, study, test_share, stream(seed, "regression split"))
    return _report(study, response.name, coding, train, test)


def targets(columns: Sequence[Both]) -> list[str]:
    """The columns that a regression can explain: numeric sensitive ones with a value in both tables."""
    return [column.name for column in columns if _can_explain(column)]


def interval_overlap(original: Interval, released: Interval, tolerance: float = 0.0) -> float:
    """Mean of the overlap's share in either interval: 1 for equal intervals, 0 for disjoint ones (Karr et al. 2006).

    Both intervals are widened by `tolerance` on either side, so that points equal up to rounding overlap.
    """
    low_o, high_o = original[0] - tolerance, original[1] + tolerance
    low_r, high_r = released[0] - tolerance, released[1] + tolerance
    part = min(high_o, high_r) - max(low_o, low_r)
    if part < 0:
        return 0.0
    return (_share(part, high_o - low_o) + _share(part, high_r - low_r)) / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """One table, ready to fit: rows without a response have weight 0 and response 0."""

    design: Design
    response: FloatArray
    weights: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class _Study:
    original: _Table
    released: _Table
    layout: Layout
    weighted: bool
    scale: float

    def fit(self, table: _Table, rows: BoolArray | None = None) -> Fit:
        weights = table.weights if rows is None else table.weights * rows
        return least_squares(table.design, self.layout, table.response, weights, robust=self.weighted)


def _study(pair: Pair, columns: Sequence[Both], response: Both, coding: Code, bins: int, weighted: bool) -> _Study:
    quasi = [column for column in columns if column.role == "quasi"]
    original, released, layout = designs(quasi, coding, bins)
    weights = row_weights(pair, weighted, "regression")
    return _Study(
        original=_table(original, response.original, weights[0]),
        released=_table(released, response.released, weights[1]),
        layout=layout,
        weighted=weighted,
        scale=response.coding.scale,
    )


def _table(design: Design, response: FloatArray, weights: FloatArray) -> _Table:
    absent = np.isnan(response)
    weights = np.where(absent, 0.0, weights)
    if weights.sum() <= 0:
        raise InputError("regression", "target must have a value in a row of positive weight of both tables")
    return _Table(design=design, response=np.where(absent, 0.0, response), weights=weights)


def _split(pair: Pair, study: _Study, share: float, rng: Generator) -> tuple[tuple[BoolArray, BoolArray], BoolArray]:
    """Rows to train on (original, released) and original rows to test on; the same all where nothing is linked."""
    units = pair.original.units()
    n_people = int(units.max()) + 1
    n_test = min(max(1, round(share * n_people)), n_people - 1)
    tested = np.zeros(n_people, dtype=np.bool_)
    tested[rng.permutation(n_people)[:n_test]] = True
    test = tested[units]
    linked = pair.source_rows >= 0
    train = linked & ~test[pair.source_rows]
    used = [study.original.weights @ test, study.original.weights @ ~test, study.released.weights @ train]
    if min(used) <= 0:
        everyone = np.ones(len(units), dtype=np.bool_)
        return (everyone, np.ones(len(linked), dtype=np.bool_)), everyone
    return (~test, train), test


def _report(
    study: _Study, target: str, coding: Code, train: tuple[BoolArray, BoolArray], test: BoolArray
) -> Regression:
    before, after = study.fit(study.original), study.fit(study.released)
    compared = _coefficients(study.layout.terms, before, after)
    by_original = study.fit(study.original, train[0]).predict(study.original.design)[test]
    by_released = study.fit(study.released, train[1]).predict(study.original.design)[test]
    truth, weights = study.original.response[test], study.original.weights[test]
    bias, bias_interval = _relative(by_released - by_original, truth, weights)
    relative = _relative_steps(study, before, after)
    overlaps = [c.overlap for c in compared if c.overlap is not None]
    return Regression(
        target=target,
        coding=coding,
        weighted=study.weighted,
        coefficient_distance=float(relative.sum()),
        coefficient_similarity=_similarity(study, before, after),
        mean_overlap=float(np.mean(overlaps)) if overlaps else None,
        n_coefficients=len(compared),
        n_lost=sum(one.lost for one in compared),
        n_undetermined=len(study.layout.terms) - len(compared),
        n_skipped=len(compared) - len(relative),
        trained_on_released=_prediction(by_released, truth, weights),
        trained_on_original=_prediction(by_original, truth, weights),
        bias_difference=bias,
        bias_difference_interval=bias_interval,
        held_out=not bool(test.all()),
        n_train=int((study.released.weights * train[1] > 0).sum()),
        n_test=int((weights > 0).sum()),
        coefficients=tuple(compared),
    )


def _relative_steps(study: _Study, before: Fit, after: Fit) -> FloatArray:
    """|Δb / b| of the determined coefficients that are not 0 in the original."""
    units = np.ones(len(before.coefficients))
    units[: len(study.layout.scales)] = study.layout.scales
    kept = before.estimable & (np.abs(before.coefficients) * units > _TINY * study.scale)
    released = np.where(after.estimable, after.coefficients, 0.0)
    return np.abs(released - before.coefficients)[kept] / np.abs(before.coefficients[kept])


def _coefficients(terms: Sequence[str], before: Fit, after: Fit) -> list[Coefficient]:
    return [_coefficient(term, j, before, after) for j, term in enumerate(terms) if before.estimable[j]]


def _coefficient(term: str, j: int, before: Fit, after: Fit) -> Coefficient:
    lost = not bool(after.estimable[j])
    original, released = float(before.coefficients[j]), 0.0 if lost else float(after.coefficients[j])
    original_interval = _interval(original, before.half_widths[j])
    released_interval = None if lost else _interval(released, after.half_widths[j])
    error = float(before.errors[j])
    return Coefficient(
        term=term,
        original=original,
        released=released,
        original_interval=original_interval,
        released_interval=released_interval,
        overlap=0.0 if lost else _overlap(original_interval, released_interval),
        difference=(released - original) / error if error > _TINY * abs(original) else None,
        lost=lost,
    )


def _overlap(original: Interval | None, released: Interval | None) -> float | None:
    if original is None or released is None:
        return None
    size = max(abs(end) for end in original + released)
    return interval_overlap(original, released, _TINY * size)


def _interval(middle: float, half_width: float) -> Interval | None:
    return (middle - half_width, middle + half_width) if np.isfinite(half_width) else None


def _share(part: float, whole: float) -> float:
    return min(1.0, part / whole) if whole > 0 else 1.0


def _similarity(study: _Study, before: Fit, after: Fit) -> float:
    """exp(-|Δb|²) over the slopes on standardised numbers and 0/1 variables, response in standard deviations."""
    steps = np.where(after.estimable, after.working, 0.0) - before.working
    return float(np.exp(-np.sum((steps[1:][before.estimable[1:]] / study.scale) ** 2)))


def _prediction(predicted: FloatArray, truth: FloatArray, weights: FloatArray) -> Prediction:
    bias, bias_interval = _relative(predicted - truth, truth, weights)
    r_squared, r_squared_interval = _r_squared(predicted, truth, weights)
    return Prediction(
        relative_bias=bias,
        relative_bias_interval=bias_interval,
        r_squared=r_squared,
        r_squared_interval=r_squared_interval,
    )


def _relative(steps: FloatArray, truth: FloatArray, weights: FloatArray) -> tuple[float | None, Interval | None]:
    """Mean step over mean truth, in percent."""
    mean = float(np.average(truth, weights=weights))
    if abs(mean) <= 1e-12 * float(np.abs(truth).max()):
        return None, None
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = float(np.average(steps, weights=weights)) / mean
        influence = 100 * steps / mean
    return _with_interval(100 * ratio, influence, weights)


def _r_squared(predicted: FloatArray, truth: FloatArray, weights: FloatArray) -> tuple[float | None, Interval | None]:
    squares = (truth - float(np.average(truth, weights=weights))) ** 2
    variance = float(np.average(squares, weights=weights))
    if variance <= 1e-24 * float(np.abs(truth).max()) ** 2:
        return None, None
    with np.errstate(over="ignore", invalid="ignore"):
        errors = (truth - predicted) ** 2
        loss = float(np.average(errors, weights=weights)) / variance
        influence = (errors - loss * squares) / variance
    return _with_interval(1 - loss, influence, weights)


def _with_interval(
    value: float, influence: FloatArray, weights: FloatArray
) -> tuple[float, Interval] | tuple[None, None]:
    """A weighted mean with its 95% interval from the spread of its terms (first order, rows independent).

    None where the terms are too far apart in size to be squared.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        parts = weights * (influence - np.average(influence, weights=weights)) / weights.sum()
        half = 1.96 * float(np.sqrt(np.sum(parts**2)))
    if not (np.isfinite(half) and np.isfinite(value)):
        return None, None
    return value, (value - half, value + half)


def _can_explain(column: Both) -> bool:
    if column.role != "sensitive" or column.coding.kind != "numeric":
        return False
    return not (np.isnan(column.original).all() or np.isnan(column.released).all())


def _find_target(columns: Sequence[Both], target: str | None) -> Both:
    able = [column for column in columns if _can_explain(column) and target in (None, column.name)]
    if not able:
        raise ParameterError(
            "regression",
            "target must be a numeric sensitive column with values in both tables",
            got="none in the schema" if target is None else repr(target)[:60],
        )
    return able[0]
