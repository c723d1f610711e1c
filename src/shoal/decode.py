"""Read a released column in the original's codes, whatever was written there.

A masked column holds values or levels of the original and is read as it stands. A coarsened one holds intervals, sets,
wider categories or a mark of suppression. Each such cell is read as the typical value of the records that it stands
for: the mean of a numeric column, the middle level of an ordinal one, the most frequent of a nominal one. It is a
reading for measures that need numbers; what counts for classes is what was written.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.encode import Coding, Encoder
from shoal.equivalence import codes as cells_of
from shoal.errors import ColumnError
from shoal.frame import Frame, series
from shoal.value import codes_of

__all__ = ["Reading", "read_column", "read_release"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A release in the original's codes; `exact` says which cells are values of their own and no coarser."""

    codes: FloatArray
    exact: BoolArray

    @property
    def is_coarse(self) -> bool:
        """Whether any cell stands for more than one value."""
        return not bool(self.exact.all())


def read_release(frame: Frame, encoder: Encoder, original: FloatArray, source_rows: IntArray) -> Reading:
    """Read the quasi-identifiers of a release; `original` are the original's codes, by row."""
    read = [
        read_column(series(frame, coding.name), coding, original[:, j], source_rows)
        for j, coding in enumerate(encoder.codings)
    ]
    shape = (len(frame), len(read))
    return Reading(
        codes=np.column_stack([codes for codes, _ in read]) if read else np.empty(shape),
        exact=np.column_stack([exact for _, exact in read]) if read else np.ones(shape, dtype=np.bool_),
    )


def read_column(
    column: pl.Series, coding: Coding, original: FloatArray, source_rows: IntArray
) -> tuple[FloatArray, BoolArray]:
    """One column's codes, and which of its cells are exact."""
    try:
        codes = coding.codes(column)
        return codes, ~_blanked(codes, coding)
    except ColumnError:
        if column.dtype == pl.Null or not (source_rows >= 0).any():
            raise  # nothing to tell by what the cells stand for
        return _coarse(column.cast(pl.String), coding, original, source_rows)


def _coarse(
    texts: pl.Series, coding: Coding, original: FloatArray, source_rows: IntArray
) -> tuple[FloatArray, BoolArray]:
    own = _own_values(texts, coding)
    absent: BoolArray = texts.is_null().to_numpy()
    exact = ~np.isnan(own) | (absent & (coding.has_missing and coding.levels is not None))
    cell = cells_of(texts)
    known = source_rows >= 0
    typical = _typical(coding, cell.values[known], original[source_rows[known]], cell.n)
    codes = np.where(np.isnan(own), typical[cell.values], own)
    if coding.levels is not None:
        codes[absent] = len(coding.levels)
    elif not _keeps_empty(coding):
        codes[absent] = np.nan
    return codes, exact


def _keeps_empty(coding: Coding) -> bool:
    """Whether an empty cell of a numeric column is a level of its own."""
    return coding.atoms is not None and any(np.isnan(number) for number in coding.absent)


def _blanked(codes: FloatArray, coding: Coding) -> BoolArray:
    """Where a value is missing that the original has: it was left out on purpose and stands for any."""
    if coding.levels is None:
        return np.isnan(codes)
    blank: BoolArray = (codes == len(coding.levels)) & (not coding.has_missing)
    return blank


def _own_values(texts: pl.Series, coding: Coding) -> FloatArray:
    """The codes of cells that are single values of the original; NaN elsewhere."""
    if coding.levels is None:
        numbers = texts.cast(pl.Float64, strict=False)
        unread = (numbers.is_null() & texts.is_not_null()).to_numpy()
        return np.where(unread, np.nan, coding.codes(numbers))
    codes = codes_of(texts, coding.levels).astype(np.float64)
    return np.where((codes < 0) | (codes == len(coding.levels)), np.nan, codes)


def _typical(coding: Coding, cell: IntArray, original: FloatArray, n: int) -> FloatArray:
    """The typical code of the records behind each cell; the centre of all where there are none."""
    counts = np.bincount(cell, minlength=n)
    if coding.atoms is not None and coding.levels is None:
        return _typical_number_or_reason(coding, cell, original, n)
    if coding.kind == "numeric":
        sums = np.bincount(cell, weights=np.nan_to_num(original, nan=coding.center), minlength=n)
        return np.where(counts > 0, sums / np.maximum(counts, 1), coding.center)
    if coding.kind == "ordinal":
        return _middle_levels(coding, cell, original, counts)
    return _modes(cell, original.astype(np.int64), n)


def _middle_levels(coding: Coding, cell: IntArray, original: FloatArray, counts: IntArray) -> FloatArray:
    """The middle of the levels behind each cell, or the most frequent absence where most have no level."""
    n, absent = len(counts), coding.is_absent(original)
    n_has = np.bincount(cell[~absent], minlength=n)
    order, starts = np.lexsort((original, cell)), np.cumsum(counts) - counts
    middle = np.minimum(starts + n_has // 2, max(0, len(cell) - 1))
    levels = np.where(counts > 0, original[order][middle], 0.0)
    reasons = _modes(cell[absent], original[absent].astype(np.int64), n)
    return np.where(2 * n_has < counts, reasons, levels)


def _typical_number_or_reason(coding: Coding, cell: IntArray, original: FloatArray, n: int) -> FloatArray:
    """The mean of the numbers behind each cell, or the most frequent reason where most have none."""
    reason, has = coding.reason(original), ~coding.is_absent(original)
    counts, n_has = np.bincount(cell, minlength=n), np.bincount(cell[has], minlength=n)
    means = np.bincount(cell[has], weights=original[has], minlength=n) / np.maximum(n_has, 1)
    modes = _modes(cell[~has], reason[~has], n).astype(np.int64)
    reasons = np.asarray(coding.atoms)[np.maximum(modes, 1) - 1]
    return np.where(counts == 0, coding.center, np.where(2 * n_has >= counts, means, reasons))


def _modes(cell: IntArray, level: IntArray, n: int) -> FloatArray:
    """The most frequent level in each of `n` cells, of ties the first; 0 where a cell is empty."""
    width = int(level.max(initial=0)) + 1
    pairs, counts = np.unique(cell * width + level, return_counts=True)
    order = np.lexsort((-pairs, counts))  # the last one written wins: the most frequent, and of these the first
    modes = np.zeros(n)
    modes[pairs[order] // width] = pairs[order] % width
    return modes
