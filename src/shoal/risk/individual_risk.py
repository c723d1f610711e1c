"""Individual risk: how likely is it that a match with a register picks out just this person?

The risk of a record is E(1/F | f): f persons of the table share its quasi-identifiers, and F of the population. Models:

- ``"negative binomial"`` (Benedetti and Franconi 1998): p = f / Σ weights of the class, or n/N without weights;
- ``"log-linear"`` (Skinner and Shlomo 2008): F − f ~ Poisson(v), where v follows from how common the values of the
  combination are. It tells sample uniques apart, which the other does only through weights. Weights give each class
  its sampling fraction here too;
- ``"census"``: the table is the population, r = 1/f, the worst case; taken where nothing says how large it is.

A missing key is a level of its own, or a wildcard that fits every value (see below).

The file's risk is the sum over records (expected re-identifications) and their mean; neither shows the tail, so the
largest and the number above a threshold stand beside them.

Missing keys as wildcards: a record may be anybody whose known values it doesn't contradict.

A missing quasi-identifier is a level of its own everywhere else, which is right where the gap itself can be known (a
question that was not asked). Where a value was suppressed, the gap fits every value: record i then has

    f_i = Σ_m c_im,   F_i = Σ_m c_im w_m,   m over all records that agree with i wherever both have a value,

with c = 1 for its own class (the same values, the same gaps) and for complete records, and α for other incomplete ones
(sdcMicro's α). Records with the same gaps are compared with those of every other pattern of gaps, so the cost is O(n)
for each pattern that occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from shoal import frequency as posterior
from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.equivalence import Classes, Codes, combine
from shoal.errors import ParameterError
from shoal.frame import Frame, enter
from shoal.frequency import drawn_alike, estimated_size, person_weights, row_weights, sampling_fractions
from shoal.record import Record
from shoal.risk.class_sizes import table_classes
from shoal.risk.keys import coded_keys, missing_keys
from shoal.risk.log_linear import Fit, LogLinear, fit_log_linear
from shoal.schema import Schema

__all__ = ["IndividualRisk", "Model", "expected_risks", "individual", "measure", "wildcard_counts"]

Model = Literal["negative binomial", "log-linear", "census"]
_SPARSE = 0.1  # share of unique records from which the log-linear model is taken


@dataclass(frozen=True, slots=True, kw_only=True)
class IndividualRisk(Record):
    """The risk of each record, for inside only; `to_dict` has summaries without the single records.

    Parameters
    ----------
    model
        What the risks follow from: ``"negative binomial"``, ``"log-linear"`` or ``"census"``.
    population
        Persons in the population; None where the table is taken to be it.
    expected, rate
        Expected number of re-identifications over all records, and its mean.
    largest
        The largest expected risk. A record that is unique in the population has risk 1, whatever stands here.
    threshold, n_above, above_share
        How many records have a larger risk than the threshold.
    quantiles
        The risk that 50, 90, 95, 99 and 99.9% of the records don't exceed, by percentage.
    expected_uniques
        Expected number of population uniques among the table's uniques.
    n_weightless
        Records whose class has fewer persons by its weights than in the table (weights of 0, missing, below 1): they
        are taken to be all there are of their kind, r = 1/f.
    fit
        Of the log-linear model: what it expects beside what is seen; else None.
    risks
        The risk of each row, in the table's order.
    """

    releasable: ClassVar[bool] = False
    private: ClassVar[tuple[str, ...]] = ("risks",)

    model: Model
    population: float | None
    expected: float
    rate: float
    largest: float
    threshold: float
    n_above: int
    above_share: float
    quantiles: dict[str, float]
    expected_uniques: float
    n_weightless: int = 0
    fit: Fit | None = None
    risks: FloatArray = field(repr=False, compare=False)

    def riskiest(self, most: int = 10) -> IntArray:
        """The rows with the largest risks, riskiest first, ties by position: for inside only."""
        return np.argsort(-self.risks, kind="stable")[:most]

    def threshold_for(self, rate: float) -> float:
        """The largest risk r* of the file for which capping every risk at r* brings the mean below `rate`."""
        ordered = np.sort(self.risks)
        n = len(ordered)
        capped = np.cumsum(ordered) + ordered * np.arange(n - 1, -1, -1)
        below = np.flatnonzero(capped < rate * n)
        return float(ordered[below[-1]]) if len(below) else 0.0


def individual(
    table: Any,
    schema: Schema,
    population: float | None = None,
    model: Model | Literal["auto"] = "auto",
    threshold: float = 0.2,
    missing: Literal["level", "wildcard"] = "level",
    alpha: float = 1.0,
) -> IndividualRisk:
    """The risk of every record, E(1/F | f), and of the file.

    Parameters
    ----------
    table, schema
        A table of any dataframe type with the schema's quasi-identifiers, and which they are.
    population
        Number of persons that the table was drawn from. None: the sum of the survey weights where the table has
        them, else the table is taken to be the population. With both, weights are scaled to the number.
    model
        ``"auto"``: negative binomial where weights differ or few are unique, log-linear where more than a tenth of
        the records are unique and all had the same chance to be drawn.
    threshold
        Records with a larger risk are counted.
    missing
        ``"level"``: a missing quasi value is a level of its own. ``"wildcard"``: it fits every value, as a suppressed
        one does; then records count (no unit), and the model is not the log-linear one.
    alpha
        Of wildcards: what a match with an incomplete record of another class counts, from 0 to 1. Lowering it raises
        the risks.

    Notes
    -----
    With a unit column classes count persons, and every row of a person
    has the risk of its class. Cost: O(n) for the classes; the log-linear model adds seconds at most.

    References
    ----------
    Benedetti and Franconi 1998; Skinner and Holmes 1998; Skinner and Shlomo 2008.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 41, 41, 57]})
    >>> found = shoal.risk.individual(table, shoal.Schema.of(quasi=["age"]), population=60, model="negative binomial")
    >>> round(found.largest, 7), round(found.expected, 7)
    (0.2558428, 0.5603163)
    """
    if missing == "wildcard":
        return _by_wildcards(enter(table), schema, population, model, threshold, alpha)
    if missing != "level":
        raise ParameterError("individual", "missing must be level or wildcard", got=repr(missing)[:60])
    return measure(enter(table), schema, population, model, threshold)


def measure(
    frame: Frame,
    schema: Schema,
    population: float | None = None,
    model: Model | Literal["auto"] = "auto",
    threshold: float = 0.2,
    *,
    found: Classes | None = None,
    keys: Sequence[Codes] | None = None,
    fitted: LogLinear | None = None,
) -> IndividualRisk:
    """`individual` of a frame that has already entered.

    `found`, `keys` and `fitted` are its classes, coded quasi columns and log-linear model, where they are known.
    """
    _check(model, threshold)
    found = table_classes(frame, schema) if found is None else found
    size = estimated_size(frame, schema, found, population)
    chosen = _chosen(model, size, found, schema, frame)
    risk, unique, fit = expected_risks(frame, schema, found, size, chosen, keys, fitted)
    summary = _summary(found, risk, unique, chosen, size, threshold, fit)
    return (
        summary if chosen != "negative binomial" else replace(summary, n_weightless=_weightless(frame, schema, found))
    )


def _weightless(frame: Frame, schema: Schema, found: Classes) -> int:
    weights = person_weights(frame, schema, found)
    return 0 if weights is None else int((weights < found.sizes)[found.labels].sum())


def expected_risks(
    frame: Frame,
    schema: Schema,
    found: Classes,
    size: float | None,
    model: Model,
    keys: Sequence[Codes] | None = None,
    fitted: LogLinear | None = None,
) -> tuple[FloatArray, FloatArray, Fit | None]:
    """E(1/F | f) and P(F = 1 | f) of each class, and the fit of the log-linear model."""
    f = found.sizes
    if size is None or model == "census":
        return 1.0 / f, (f == 1).astype(np.float64), None
    p = sampling_fractions(frame, schema, found, size)
    if model == "log-linear":
        fitted = (
            fit_log_linear(coded_keys(frame, schema) if keys is None else keys, found) if fitted is None else fitted
        )
        v = fitted.means * (1 - p) / p
        return posterior.poisson(f, v), np.where(f == 1, np.exp(-v), 0.0), fitted.fit
    return posterior.negative_binomial(f, p), np.where(f == 1, np.minimum(p, 1.0), 0.0), None


def _chosen(model: str, size: float | None, found: Classes, schema: Schema, frame: Frame) -> Model:
    if size is None:
        return "census"
    if model != "auto":
        return model  # type: ignore[return-value]
    sparse = float((found.sizes == 1).sum()) > _SPARSE * float(found.sizes.sum())
    alike = drawn_alike(person_weights(frame, schema, found), found.sizes)
    return "log-linear" if sparse and alike else "negative binomial"


def _summary(
    found: Classes,
    risk: FloatArray,
    unique: FloatArray,
    model: Model,
    size: float | None,
    threshold: float,
    fit: Fit | None,
) -> IndividualRisk:
    expected = float(risk @ found.sizes)
    rate = expected / float(found.sizes.sum())
    return _of_rows(risk[found.labels], expected, rate, float(unique.sum()), model, size, threshold, fit)


def _of_rows(
    risks: FloatArray,
    expected: float,
    rate: float,
    expected_uniques: float,
    model: Model,
    size: float | None,
    threshold: float,
    fit: Fit | None = None,
) -> IndividualRisk:
    n_above = int((risks > threshold).sum())
    return IndividualRisk(
        model=model,
        population=size,
        expected=expected,
        rate=rate,
        largest=float(risks.max()),
        threshold=threshold,
        n_above=n_above,
        above_share=n_above / len(risks),
        quantiles={f"{share:g}": float(np.quantile(risks, share / 100)) for share in (50, 90, 95, 99, 99.9)},
        expected_uniques=expected_uniques,
        fit=fit,
        risks=risks,
    )


def _by_wildcards(
    frame: Frame, schema: Schema, population: float | None, model: str, threshold: float, alpha: float
) -> IndividualRisk:
    """`individual` where a missing key fits every value."""
    _check(model, threshold)
    _check_wildcards(schema, model, alpha)
    size = estimated_size(frame, schema, table_classes(frame, schema), population)
    given = None if schema.weight is None or schema.weight not in frame.columns else row_weights(frame, schema.weight)
    f, F = wildcard_counts(coded_keys(frame, schema), missing_keys(frame, schema), given, alpha)
    if size is None or model == "census":
        alone = float((f == 1).sum())
        return _of_rows(1 / f, float((1 / f).sum()), float((1 / f).mean()), alone, "census", None, threshold)
    scale = size / (len(f) if given is None else float(given.sum()))
    p = np.minimum(1.0, np.divide(f, F * scale, out=np.ones(len(f)), where=F * scale > f))
    risks = posterior.negative_binomial(f, p)
    uniques = float(p[f == 1].sum())
    return _of_rows(risks, float(risks.sum()), float(risks.mean()), uniques, "negative binomial", size, threshold)


def _check_wildcards(schema: Schema, model: str, alpha: float) -> None:
    if model == "log-linear":
        raise ParameterError("individual", "model can't be log-linear where a missing key is a wildcard")
    if schema.counts_persons:
        raise ParameterError("individual", "wildcards count records, and the schema names a unit", parameter="missing")
    if not 0 <= alpha <= 1:
        raise ParameterError("individual", "alpha must be a number from 0 to 1", got=repr(alpha)[:60])


def _check(model: object, threshold: float) -> None:
    known = ("auto", "negative binomial", "log-linear", "census")
    if model not in known:
        raise ParameterError("individual", f"model must be one of {', '.join(known)}", got=repr(model)[:60])
    if not 0 <= threshold <= 1:
        raise ParameterError("individual", "threshold must be a number from 0 to 1", got=repr(threshold)[:60])


def wildcard_counts(
    keys: Sequence[Codes], missing: BoolArray, weights: FloatArray | None = None, alpha: float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """f and F of each row; F is f where there are no weights.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.equivalence import Codes
    >>> town = Codes(values=np.array([0, 0, 1, 2]), n=3)  # 2 stands for a gap
    >>> wildcard_counts([town], np.array([[False], [False], [False], [True]]))[0].tolist()
    [3.0, 3.0, 2.0, 4.0]
    """
    n = len(missing)
    counts = np.ones((n, 1)) if weights is None else np.column_stack([np.ones(n), weights])
    patterns, which = np.unique(missing, axis=0, return_inverse=True)
    rows = [np.flatnonzero(which.reshape(-1) == p) for p in range(len(patterns))]
    total = np.zeros_like(counts)
    for a, mine in enumerate(rows):
        for b, theirs in enumerate(rows):
            share = 1.0 if a == b or not patterns[b].any() else alpha
            shared = [key for key, gap in zip(keys, patterns[a] | patterns[b], strict=True) if not gap]
            total[mine] += share * _agreeing(shared, mine, theirs, counts)
    return total[:, 0], total[:, -1]


def _agreeing(keys: Sequence[Codes], mine: IntArray, theirs: IntArray, counts: FloatArray) -> FloatArray:
    """For each row of `mine` the sum of `counts` over the rows of `theirs` that have the same keys."""
    both = np.concatenate([mine, theirs])
    key = combine([Codes(values=key.values[both], n=key.n) for key in keys], n_rows=len(both))
    held = [np.bincount(key.values[len(mine) :], weights=column[theirs], minlength=key.n) for column in counts.T]
    found: FloatArray = np.column_stack(held).astype(np.float64)
    return found[key.values[: len(mine)]]
