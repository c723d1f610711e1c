"""Table to matrix of comparable numbers, and back.

Two steps. `Encoder.codes` turns the chosen columns into numbers: a numeric column into its values, an ordinal one into
the position of its level, a nominal one into the frequency rank of its level (most frequent 0). `Encoder.points`
makes the numbers comparable:

- numeric and ordinal columns, and nominal ones with two levels: (code − mean) / standard deviation;
- nominal columns with L > 2 levels of shares p_1..p_L: L indicators, each divided by sqrt(1 − Σ p_l²), so that any two
  different levels are equally far apart and the column has total variance 1, like every other. (For two levels
  this is the standardised 0/1 column: the two rules agree.)

A missing category is a level of its own, after the last. Constant columns become zeros. Means and deviations are
summed in sorted order, so a permutation of the rows changes no bit of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared, floats, levels_like
from shoal.domain import Axis
from shoal.domain.learning import learn_levels
from shoal.errors import ColumnError
from shoal.frame import Frame, enter, series, with_columns
from shoal.schema import Column, Kind
from shoal.value import codes_of

__all__ = ["Coding", "Encoder"]

_WIDEST_MATRIX = 2**31  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """How one column becomes numbers: its levels, its place and spread, and a row that shows each level."""

    axis: Axis
    has_missing: bool = False
    shares: FloatArray | None = None
    examples: IntArray | None = None
    center: float
    scale: float
    integral: bool

    @property
    def name(self) -> str:
        """The column."""
        return self.axis.name

    @property
    def kind(self) -> Kind:
        """How its values compare."""
        return self.axis.kind

    @property
    def levels(self) -> pl.Series | None:
        """Its levels in the order of their codes, in the original's type; None for a number."""
        return self.axis.levels

    @property
    def n_levels(self) -> int:
        """Number of levels, a missing one included; 0 for a numeric column."""
        return 0 if self.levels is None else len(self.levels) + self.has_missing

    @property
    def unordered(self) -> bool:
        """Whether the column is spread over one indicator per level."""
        return self.kind == "nominal" and self.n_levels > 2

    @property
    def height(self) -> float:
        """Height of its indicators in `Encoder.points`, 1 / sqrt(1 − Σ p²); 0 where it takes one column."""
        if not self.unordered or self.shares is None:
            return 0.0
        return 1.0 / (float(np.sqrt(1.0 - np.sum(self.shares**2))) or 1.0)

    @property
    def width(self) -> int:
        """Number of matrix columns it takes in `Encoder.points`."""
        return self.n_levels if self.unordered else 1

    def codes(self, column: pl.Series) -> FloatArray:
        """The numbers of a column: values, or positions of levels."""
        return self.axis.numbers(column)

    def standardise(self, codes: FloatArray) -> FloatArray:
        """Codes on the scale where the original has mean 0 and variance 1."""
        return (codes - self.center) / self.scale

    def snap(self, codes: FloatArray) -> FloatArray:
        """The nearest code whose level occurs in the original (ties go down); numeric codes stay."""
        if self.examples is None:
            return codes
        seen = np.flatnonzero(self.examples >= 0)
        cuts = (seen[1:] + seen[:-1]) / 2
        return seen[np.searchsorted(cuts, codes, side="left")].astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """Learnt from one table, applies to it and to its releases."""

    codings: tuple[Coding, ...]

    @classmethod
    def fit(cls, prepared: Prepared, names: Iterable[str]) -> Encoder:
        """Learn the codes, places and spreads of the columns `names`."""
        return cls(codings=tuple(prepared.once(("coding", name), partial(_learnt, prepared, name)) for name in names))

    @property
    def names(self) -> tuple[str, ...]:
        """The encoded columns, in order."""
        return tuple(coding.name for coding in self.codings)

    def codes(self, table: Any) -> FloatArray:
        """One row per record, one number per column."""
        frame = enter(table)
        columns = [coding.codes(series(frame, coding.name)) for coding in self.codings]
        return np.column_stack(columns) if columns else np.empty((len(frame), 0))

    def own_codes(self, prepared: Prepared) -> FloatArray:
        """`codes` of the table that it was learnt from, made once; whoever uses them leaves them as they are."""
        return prepared.once(("codes", self.names), partial(self.codes, prepared.frame))

    def standardise(self, codes: FloatArray) -> FloatArray:
        """Codes on the standardised scale, column by column (nominal ones by frequency rank)."""
        return (codes - self._centers) / self._scales

    def restore(self, standardised: FloatArray) -> FloatArray:
        """Undo `standardise`, to rounding error."""
        return standardised * self._scales + self._centers

    def points(self, codes: FloatArray) -> FloatArray:
        """Codes as points between which Euclidean distance makes sense."""
        self.check_width(len(codes))
        blocks = [_block(coding, codes[:, j]) for j, coding in enumerate(self.codings)]
        stacked = np.hstack(blocks) if blocks else np.empty((len(codes), 0))
        return np.ascontiguousarray(stacked)

    def decode(self, codes: FloatArray, original: Frame, rows: Frame) -> Frame:
        """Put `codes` as values into the frame `rows`, in the original's own types.

        Levels are copied from a row of `original` that shows them, so categories, enums and dates stay what they
        were. Numbers of an integer column stay integers if all released ones are.
        """
        columns = {c.name: _values(c, codes[:, j], original) for j, c in enumerate(self.codings)}
        return with_columns(rows, columns)

    @property
    def _centers(self) -> FloatArray:
        return np.array([coding.center for coding in self.codings])

    @property
    def _scales(self) -> FloatArray:
        return np.array([coding.scale for coding in self.codings])

    def check_width(self, n: int) -> None:
        """Refuse a matrix of points that would be too large, and name the widest column."""
        widest = max(self.codings, key=lambda coding: coding.width, default=None)
        if widest and 8 * n * sum(coding.width for coding in self.codings) > _WIDEST_MATRIX:
            raise ColumnError(
                widest.name,
                "has too many levels for a table of this many records",
                got=f"{widest.width} levels",
                hint="Coarsen it first, declare it ordinal, or give it the role other.",
            )


def _learnt(prepared: Prepared, name: str) -> Coding:
    return _learn(series(prepared.frame, name), prepared.schema[name])


def _learn(content: pl.Series, column: Column) -> Coding:
    if column.kind == "numeric":
        values = floats(content)
        center, scale = _place(values[~np.isnan(values)])
        axis = Axis(name=column.name, kind="numeric", bounds=column.bounds)
        return Coding(axis=axis, center=center, scale=scale, integral=content.dtype.is_integer())
    axis = Axis(name=column.name, kind=column.kind or "nominal", levels=_find_levels(content, column))
    codes = axis.encode(content)
    has_missing = bool(content.is_null().any())
    n_levels = axis.n_known + has_missing
    counts = np.bincount(codes, minlength=n_levels)
    first = np.full(n_levels, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    center, scale = _place(codes.astype(np.float64))
    shares = counts / max(1, counts.sum())
    return Coding(
        axis=axis, has_missing=has_missing, shares=shares, examples=first, center=center, scale=scale, integral=True
    )


def _find_levels(content: pl.Series, column: Column) -> pl.Series:
    """Ordinal levels in their order; nominal ones by frequency, ties as declared, else sorted."""
    levels = learn_levels([content], column) if column.levels is None else levels_like(content, column)
    if column.kind == "ordinal":
        return levels
    counts = np.bincount(codes_of(content.drop_nulls(), levels), minlength=len(levels))
    return levels.gather(np.argsort(-counts, kind="stable"))


def _place(values: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation; sorted sums, so that the order of rows changes no bit."""
    if len(values) == 0:
        return 0.0, 1.0
    ordered = np.sort(values)
    center = float(ordered.mean())
    scale = float(np.sqrt(np.mean((ordered - center) ** 2)))
    tiny = 1e-12 * max(1.0, float(np.abs(ordered[[0, -1]]).max()))
    return center, scale if scale > tiny else 1.0


def _block(coding: Coding, codes: FloatArray) -> FloatArray:
    if not coding.unordered:
        standard = coding.standardise(codes)
        return np.nan_to_num(standard, nan=0.0)[:, None]
    # A release may hold missing values where the original has none: such a row is at the origin, far from all levels.
    known = np.flatnonzero(codes < coding.n_levels)
    indicators = np.zeros((len(codes), coding.n_levels))
    indicators[known, codes[known].astype(np.int64)] = coding.height
    return indicators


def _values(coding: Coding, codes: FloatArray, original: Frame) -> Any:
    if coding.examples is not None:
        seen = coding.snap(codes).astype(np.int64)
        return original[coding.name].gather_every(1)[coding.examples[seen]]
    if coding.integral and np.all(codes == np.round(codes)):
        return _whole(codes.astype(np.int64), coding.name, original)
    return codes


def _whole(values: IntArray, name: str, original: Frame) -> Any:
    """Whole numbers in the original's type, or in the widest one where they don't fit it."""
    wide = nw.new_series(name, values, backend=original.implementation)
    ends = _ENDS.get(str(original.schema[name]))
    fits = ends is not None and len(values) > 0 and ends[0] <= values.min() and values.max() <= ends[1]
    return wide.cast(original.schema[name]) if fits else wide


_ENDS = {
    f"{kind}{bits}": (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind == "Int" else (0, 2**bits - 1)
    for kind in ("Int", "UInt")
    for bits in (8, 16, 32, 64)
}
