"""Correlations before and after, of every column whose values have an order.

Numbers count as they are, ordinal levels by their position, two levels as 0 and 1. A category with more levels has
no order and is left out. Pairs with a missing value are left out pair by pair; survey weights count where there are
any. A constant column has no correlation: NaN.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.arrays import FloatArray
from shoal.conform import floats
from shoal.encode import Coding
from shoal.frame import series
from shoal.pair import Pair

__all__ = ["Correlations", "correlations_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlations:
    """Two correlation matrices over the same columns, and the columns that have no order."""

    names: tuple[str, ...]
    before: FloatArray
    after: FloatArray
    left_out: tuple[str, ...]

    @classmethod
    def none(cls) -> Correlations:
        """No column at all."""
        return cls(names=(), before=np.empty((0, 0)), after=np.empty((0, 0)), left_out=())

    def largest_change(self) -> float:
        """The largest absolute change of a correlation; NaN where none is defined."""
        change = np.abs(self.after - self.before)[np.triu_indices(len(self.names), 1)]
        return float(np.nanmax(change)) if np.isfinite(change).any() else float("nan")

    def first(self, most: int) -> Correlations:
        """The same for the first `most` columns."""
        return replace(self, names=self.names[:most], before=self.before[:most, :most], after=self.after[:most, :most])

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words; an undefined correlation is None."""
        return {"names": list(self.names), "before": _plain(self.before), "after": _plain(self.after)}


def correlations_of(pair: Pair) -> Correlations:
    """Correlations of the quasi-identifiers and the numeric sensitive columns.

    Cost: O(n · columns²).
    """
    numeric = [
        name for name in pair.schema.sensitive if pair.schema[name].kind == "numeric" and name in pair.released.columns
    ]
    codings = pair.encoder.codings
    weights = _weights(pair)
    _, before, after = pair.codes_of(numeric)
    return Correlations(
        names=(*(coding.name for coding in codings if not coding.unordered), *numeric),
        before=_correlate(_values(pair.original_codes, codings, before), weights[0]),
        after=_correlate(_values(pair.released_codes, codings, after), weights[1]),
        left_out=tuple(coding.name for coding in codings if coding.unordered),
    )


def _values(codes: FloatArray, codings: tuple[Coding, ...], numbers: FloatArray) -> FloatArray:
    """The ordered quasi-identifiers, then the sensitive numbers."""
    quasi = [_present(codes[:, j], coding) for j, coding in enumerate(codings) if not coding.unordered]
    return np.column_stack([*quasi, numbers])


def _present(codes: FloatArray, coding: Coding) -> FloatArray:
    """A missing level of an ordinal column is no number."""
    if coding.levels is None or coding.kind != "ordinal":
        return coding.present(codes)
    return np.where(codes >= len(coding.levels), np.nan, coding.present(codes))


def _weights(pair: Pair) -> tuple[FloatArray, FloatArray]:
    weights, name = pair.original.weights(), pair.schema.weight
    if weights is None or name not in pair.released.columns:
        return np.ones(pair.original.n), np.ones(len(pair.released))
    return weights, floats(series(pair.released, str(name)))


def _correlate(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted Pearson correlations, each pair over the rows that have both."""
    x, present = _standardised(values)
    if present.all() and (weights == weights[:1]).all():
        return np.clip(x.T @ x / max(len(x), 1), -1.0, 1.0)
    w = present * weights[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        n = w.T @ present
        mean = (w * x).T @ present / n
        variance = (w * x**2).T @ present / n - mean**2
        product = (w * x).T @ x / n - mean * mean.T
        r: FloatArray = product / np.sqrt(variance * variance.T)
    r[~((variance > 1e-12) & (variance.T > 1e-12))] = np.nan
    return np.clip(r, -1.0, 1.0)


def _standardised(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Columns with mean 0 and deviation 1, 0 where missing; a constant one counts as missing. And what is present."""
    x = np.zeros_like(values)
    present = np.zeros_like(values)
    for j, column in enumerate(np.ascontiguousarray(values.T)):
        there = ~np.isnan(column)
        known = column if there.all() else column[there]
        with np.errstate(over="ignore"):
            spread = known.std() if len(known) else 0.0
        if spread > 1e-12 * np.abs(known).max(initial=0.0):
            x[there, j] = (known - known.mean()) / spread
            present[there, j] = 1.0
    return x, present


def _plain(matrix: FloatArray) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in matrix]
