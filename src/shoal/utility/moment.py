"""How far means, deviations and correlations are kept, and how far values moved.

With X_j a column of the original and Y_j the same of the release (002, equations 14-16)::

    ABIM  = mean over j    of |(mean Y_j - mean X_j) / mean X_j|
    ABISD = mean over j    of |(s(Y_j) - s(X_j)) / s(X_j)|
    ABICO = mean over j<h  of |(r(Y_j, Y_h) - r(X_j, X_h)) / r(X_j, X_h)|

Relative biases explode where a mean or a correlation is near 0 (002 reports 400%), so absolute differences stand
beside them. Columns are numeric and ordinal quasi-identifiers (an ordinal one by the position of its level) and
numeric sensitive columns. What decays first as groups grow is the link between quasi-identifiers and the response:
`response_correlation_difference` shows it by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, FloatArray
from shoal.encode import Coding
from shoal.errors import ParameterError
from shoal.pair import Pair
from shoal.record import Record
from shoal.schema import Role, Schema
from shoal.utility.tables import Both, both_columns, quasi_columns, row_weights, side_by_side

__all__ = ["ColumnMoments", "FreshMoments", "Moments", "moments", "moments_of"]

_TINY = 1e-12  # relative size below which a number is rounding error


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMoments(Record):
    """One column: relative bias in mean and deviation, and the shift of the mean in the original's deviations.

    None where a denominator is 0, or where the release has no value left.
    """

    column: str
    role: Role
    mean_bias: float | None
    deviation_bias: float | None
    mean_shift: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshMoments(Record):
    """What a fresh sample of as many rows is expected to lose, on average over the same columns and pairs.

    An estimate is off by √(2/π) of its standard error: that of a mean is s/√n, that of a deviation s/√(2n) and that of
    a correlation (1 − r²)/√n, the latter two for normal columns; n counts weighted rows by (Σw)²/Σw².
    """

    abim: float | None
    abisd: float | None
    correlation_difference: float | None
    response_correlation_difference: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments(Record):
    """Loss in means, deviations, correlations; 0 means none.

    Parameters
    ----------
    abim, abisd, abico
        Average absolute relative bias in mean, standard deviation and correlation. None: nothing to measure.
    n_skipped_means, n_skipped_deviations, n_skipped_correlations
        How many were left out of these because their denominator is 0.
    mean_shift, largest_mean_shift
        Absolute difference of means in standard deviations of the original: average, largest.
    correlation_difference, largest_correlation_difference
        Absolute difference of correlations over all pairs of columns.
    response_correlation_difference, largest_response_correlation_difference
        The same over pairs of a quasi-identifier and a sensitive column.
    mean_similarity
        exp(-|ΔE[x]|²) with x in standard deviations of the original: 1 for equal means. None where there is no mean.
    sse_sst
        Mean squared distance between a released row's quasi-identifiers and its person's, over the total variance:
        the information loss of microaggregation. None where no row's source is known.
    fresh
        What a fresh sample of the same people would lose.
    """

    columns: tuple[ColumnMoments, ...]
    abim: float | None
    abisd: float | None
    abico: float | None
    n_skipped_means: int
    n_skipped_deviations: int
    n_skipped_correlations: int
    mean_shift: float | None
    largest_mean_shift: float | None
    correlation_difference: float | None
    largest_correlation_difference: float | None
    response_correlation_difference: float | None
    largest_response_correlation_difference: float | None
    mean_similarity: float | None
    sse_sst: float | None
    weighted: bool
    fresh: FreshMoments | None = None


def moments(
    original: Any,
    released: Any,
    schema: Schema,
    source_rows: Any = None,
    *,
    columns: Sequence[str] | None = None,
    weighted: bool = False,
) -> Moments:
    """ABIM, ABISD, ABICO and their absolute companions, and SSE/SST, of a release.

    Parameters
    ----------
    original, released, schema
        The two tables and what their columns are.
    source_rows
        Original row number of each released row, for SSE/SST; None says that both have the same row order. The rest
        needs no correspondence.
    columns
        The columns to average over; None: numeric and ordinal quasi-identifiers and numeric sensitive columns. The
        quasi-identifiers alone (`schema.quasi`) are what 002 averages over.
    weighted
        Weigh means, deviations and correlations by the weight column of each table. SSE/SST counts rows.

    Notes
    -----
    A missing number, or a missing level of an ordinal column, is left out of every mean and correlation it would
    enter. A correlation with a column that has become constant in the release counts as 0. SSE/SST is taken on
    standardised codes; a nominal value costs the same for any other level. Cost: one matrix product of n x J x J.

    References
    ----------
    Domingo-Ferrer and Torra (2001), Disclosure control methods and information loss for microdata.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.utility import moments
    >>> original = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": [1.0, 3.0, 2.0, 4.0]})
    >>> released = pl.DataFrame({"a": [1.5, 1.5, 3.5, 3.5], "b": [2.0, 2.0, 3.0, 3.0]})
    >>> loss = moments(original, released, shoal.Schema.of(quasi=["a", "b"]))
    >>> loss.abim, round(loss.abisd, 3), round(loss.abico, 3), round(loss.sse_sst, 3)
    (0.0, 0.329, 0.25, 0.5)
    """
    pair = side_by_side(original, released, schema, source_rows)
    return moments_of(pair, columns=columns, weighted=weighted)


def moments_of(pair: Pair, *, columns: Sequence[str] | None = None, weighted: bool = False) -> Moments:
    """`moments` of a pair that is already at hand."""
    original_weights, released_weights = row_weights(pair, weighted, "moments")
    chosen = _choose(both_columns(pair), columns)
    original = _side(chosen, [column.numbers()[0] for column in chosen], original_weights)
    released = _side(chosen, [column.numbers()[1] for column in chosen], released_weights)
    found = _compare(chosen, original, released, information_loss(pair), weighted)
    n = float(released_weights.sum()) ** 2 / float((released_weights**2).sum())
    return replace(found, fresh=_fresh(chosen, original, released, n))


def information_loss(pair: Pair) -> float | None:
    """SSE/SST on standardised codes of the quasi-identifiers, over the rows whose source is known."""
    linked = pair.source_rows >= 0
    if not linked.any():
        return None
    sources, columns = pair.source_rows[linked], quasi_columns(pair)
    sse = sum(_squared_error(c.coding, c.original[sources], c.released[linked]) for c in columns)
    sst = sum(_variance(c.coding, c.original) for c in columns)
    if sst == 0:
        return 0.0 if sse == 0 else None
    return sse / sst


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    """Moments of one table on the original's standardised scale; NaN where there is none.

    `is_flat` marks columns without variation, whose correlations mean nothing; `sizes` are the largest absolute
    values as they were, the yardstick for rounding error.
    """

    means: FloatArray
    deviations: FloatArray
    correlations: FloatArray
    is_flat: BoolArray
    sizes: FloatArray


def _side(columns: Sequence[Both], values: Sequence[FloatArray], weights: FloatArray) -> _Side:
    codings = [column.coding for column in columns]
    matrix = np.column_stack(values) if columns else np.empty((len(weights), 0))
    sizes = np.max(np.abs(matrix), axis=0, initial=0.0, where=~np.isnan(matrix))
    centers, scales = _places(codings)
    means, deviations, correlations = weighted_moments((matrix - centers) / scales, weights)
    is_flat = ~(deviations * scales > _TINY * sizes)
    return _Side(means=means, deviations=deviations, correlations=correlations, is_flat=is_flat, sizes=sizes)


def weighted_moments(values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means, deviations and correlations over the values that are present; NaN where there is none."""
    present = ~np.isnan(values)
    complete = bool(present.all())
    total = np.full(values.shape[1], weights.sum()) if complete else weights @ present
    with np.errstate(invalid="ignore", divide="ignore"):
        means = weights @ np.where(present, values, 0.0) / total
        centred = np.where(present, values - means, 0.0)
        products = centred.T @ (weights[:, None] * centred)
        deviations = np.sqrt(np.diag(products) / total)
        spreads = np.sqrt(np.diag(products))
        if complete:
            return means, deviations, products / np.outer(spreads, spreads)
        return means, deviations, _pairwise(centred, present.astype(np.float64), weights, products)


def _pairwise(centred: FloatArray, present: FloatArray, weights: FloatArray, products: FloatArray) -> FloatArray:
    """Correlations over the rows where both columns have a value."""
    weighed = weights[:, None] * present
    counts = present.T @ weighed
    sums = centred.T @ weighed  # row j, column h: of column j where h is present
    variances = (centred**2).T @ weighed - sums**2 / counts
    return (products - sums * sums.T / counts) / np.sqrt(variances * variances.T)


def _compare(
    columns: Sequence[Both], original: _Side, released: _Side, sse_sst: float | None, weighted: bool
) -> Moments:
    by_column = tuple(_column(column, j, original, released) for j, column in enumerate(columns))
    mean_biases = _known(one.mean_bias for one in by_column)
    deviation_biases = _known(one.deviation_bias for one in by_column)
    shifts = _known(one.mean_shift for one in by_column)
    original_r, released_r, response = _correlations(columns, original, released)
    gaps = np.abs(released_r - original_r)
    relative = gaps[np.abs(original_r) > _TINY] / np.abs(original_r[np.abs(original_r) > _TINY])
    n_pairs = len(columns) * (len(columns) - 1) // 2
    return Moments(
        columns=by_column,
        abim=_mean(np.abs(mean_biases)),
        abisd=_mean(np.abs(deviation_biases)),
        abico=_mean(relative),
        n_skipped_means=len(columns) - len(mean_biases),
        n_skipped_deviations=len(columns) - len(deviation_biases),
        n_skipped_correlations=n_pairs - len(relative),
        mean_shift=_mean(np.abs(shifts)),
        largest_mean_shift=_largest(np.abs(shifts)),
        correlation_difference=_mean(gaps),
        largest_correlation_difference=_largest(gaps),
        response_correlation_difference=_mean(gaps[response]),
        largest_response_correlation_difference=_largest(gaps[response]),
        mean_similarity=float(np.exp(-np.sum(shifts**2))) if len(shifts) else None,
        sse_sst=sse_sst,
        weighted=weighted,
    )


def _fresh(columns: Sequence[Both], original: _Side, released: _Side, n: float) -> FreshMoments:
    """The loss to expect of a fresh sample of `n` rows."""
    off = math.sqrt(2 / (math.pi * n))
    centers, scales = _places([column.coding for column in columns])
    means = np.abs(centers + scales * original.means)
    varying = (means > _TINY * original.sizes) & ~original.is_flat
    r, _, response = _correlations(columns, original, released)
    return FreshMoments(
        abim=_mean(off * (scales * original.deviations)[varying] / means[varying]),
        abisd=off / math.sqrt(2) if (~original.is_flat).any() else None,
        correlation_difference=_mean(off * (1 - r**2)),
        response_correlation_difference=_mean(off * (1 - r[response] ** 2)),
    )


def _column(column: Both, j: int, original: _Side, released: _Side) -> ColumnMoments:
    coding = column.coding
    mean = coding.center + coding.scale * original.means[j]
    shift = released.means[j] - original.means[j]
    widening = released.deviations[j] - original.deviations[j]
    return ColumnMoments(
        column=column.name,
        role=column.role,
        mean_bias=_ratio(coding.scale * shift, mean, _TINY * original.sizes[j]),
        deviation_bias=None if original.is_flat[j] else _ratio(widening, original.deviations[j], 0.0),
        mean_shift=_ratio(shift, 1.0, 0.0),
    )


def _correlations(
    columns: Sequence[Both], original: _Side, released: _Side
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Both tables' correlations of the pairs that have one in the original, and which of them are with a response."""
    first, second = np.triu_indices(len(columns), k=1)
    before, after = original.correlations[first, second], released.correlations[first, second]
    lost = released.is_flat[first] | released.is_flat[second] | np.isnan(after)
    exists = ~(original.is_flat[first] | original.is_flat[second] | np.isnan(before))
    sensitive = np.array([column.role == "sensitive" for column in columns], dtype=np.bool_)
    response = sensitive[first] != sensitive[second]
    return _bounded(before)[exists], _bounded(np.where(lost, 0.0, after))[exists], response[exists]


def _choose(columns: Sequence[Both], names: Sequence[str] | None) -> list[Both]:
    usable = [c for c in columns if c.coding.kind == "numeric" or (c.is_number and c.role == "quasi")]
    if names is None:
        return usable
    known = {column.name: column for column in columns if column.is_number}
    if isinstance(names, str) or any(name not in known for name in names):
        raise ParameterError(
            "moments",
            "columns must list numeric or ordinal columns (quasi-identifiers or sensitive) that both tables have",
            got=repr(names)[:60],
        )
    return [known[name] for name in names]


def _places(codings: Sequence[Coding]) -> tuple[FloatArray, FloatArray]:
    return np.array([coding.center for coding in codings]), np.array([coding.scale for coding in codings])


def _squared_error(coding: Coding, original: FloatArray, released: FloatArray) -> float:
    """Mean squared distance of one column's points (see `Encoder.points`)."""
    if coding.unordered:
        return float(np.mean(original != released)) * 2.0 / _spread(coding)
    before, after = (
        np.nan_to_num(coding.standardise(coding.present(codes)), nan=0.0) for codes in (original, released)
    )
    return float(np.mean((before - after) ** 2))


def _variance(coding: Coding, original: FloatArray) -> float:
    if coding.unordered:
        return _gini(coding) / _spread(coding)
    return float(np.nanmean(coding.standardise(coding.present(original)) ** 2))


def _spread(coding: Coding) -> float:
    return _gini(coding) or 1.0


def _gini(coding: Coding) -> float:
    return 0.0 if coding.shares is None else 1.0 - float(np.sum(coding.shares**2))


def _ratio(top: float, bottom: float, tiny: float) -> float | None:
    if not np.isfinite(top) or not abs(bottom) > tiny:
        return None
    return float(top / bottom)


def _known(values: Iterable[float | None]) -> FloatArray:
    return np.array([value for value in values if value is not None], dtype=np.float64)


def _bounded(correlations: FloatArray) -> FloatArray:
    return np.clip(correlations, -1.0, 1.0)


def _mean(values: FloatArray) -> float | None:
    return float(values.mean()) if len(values) else None


def _largest(values: FloatArray) -> float | None:
    return float(values.max()) if len(values) else None
