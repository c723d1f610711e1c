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
from shoal.errors import ColumnError
from shoal.frame import Frame, enter, series, with_columns
from shoal.schema import Column, Kind

__all__ = ["Coding", "Encoder"]

_WIDEST_MATRIX = 2**31  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """How one column becomes numbers: its levels, its place and spread, and a row that shows each level."""

    name: str
    kind: Kind
    levels: pl.Series | None
    has_missing: bool
    shares: FloatArray | None
    examples: IntArray | None
    center: float
    scale: float
    integral: bool
    bounds: tuple[float, float] | None = None

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
        if self.levels is None:
            return floats(column)
        return _positions(column, self.levels).astype(np.float64)

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
                "has too many levels to compare rows of this many records",
                got=f"{widest.width} levels",
                hint="Coarsen it first, declare it ordinal, or give it the role other.",
            )


def _learnt(prepared: Prepared, name: str) -> Coding:
    return _learn(series(prepared.frame, name), prepared.schema[name])


def _learn(content: pl.Series, column: Column) -> Coding:
    if column.kind == "numeric":
        return _learn_numeric(content, column)
    levels = _find_levels(content, column)
    positions = _positions(content, levels)
    has_missing = bool(content.is_null().any())
    n_levels = len(levels) + has_missing
    counts = np.bincount(positions, minlength=n_levels)
    first = np.full(n_levels, -1, dtype=np.int64)
    first[positions[::-1]] = np.arange(len(positions) - 1, -1, -1)
    center, scale = _place(positions.astype(np.float64))
    return Coding(
        name=column.name,
        kind=column.kind or "nominal",
        levels=levels,
        has_missing=has_missing,
        shares=counts / max(1, counts.sum()),
        examples=first,
        center=center,
        scale=scale,
        integral=True,
    )


def _learn_numeric(content: pl.Series, column: Column) -> Coding:
    values = floats(content)
    center, scale = _place(values[~np.isnan(values)])
    return Coding(
        name=column.name,
        kind="numeric",
        levels=None,
        has_missing=False,
        shares=None,
        examples=None,
        center=center,
        scale=scale,
        integral=content.dtype.is_integer(),
        bounds=column.bounds,
    )


def _find_levels(content: pl.Series, column: Column) -> pl.Series:
    if column.kind == "ordinal":
        return levels_like(content, column) if column.levels is not None else content.drop_nulls().unique().sort()
    return _by_frequency(content, column)


def _by_frequency(content: pl.Series, column: Column) -> pl.Series:
    """Nominal levels, most frequent first; ties in declared order, else in sorted order."""
    present = content.drop_nulls()
    base = levels_like(content, column) if column.levels is not None else _sorted_levels(present)
    positions = _positions(present, base)
    counts = np.bincount(positions, minlength=len(base))[: len(base)]
    return base.gather(np.argsort(-counts, kind="stable"))


def _sorted_levels(present: pl.Series) -> pl.Series:
    levels = present.unique()
    if levels.dtype in (pl.Categorical, pl.Enum):
        return levels.gather(levels.cast(pl.String).arg_sort())
    return levels.sort()


def _positions(content: pl.Series, levels: pl.Series) -> IntArray:
    """Position of each value among `levels`; a missing one comes after the last."""
    if content.dtype in (pl.Categorical, pl.Enum):
        content = content.cast(pl.String)
    if levels.dtype in (pl.Categorical, pl.Enum):
        levels = levels.cast(pl.String)
    if levels.dtype != content.dtype and content.dtype != pl.Null:
        levels = _cast_levels(levels, content)
    codes = content.replace_strict(levels, pl.Series(np.arange(len(levels))), default=-1, return_dtype=pl.Int64)
    found = codes.to_numpy().copy()
    found[content.is_null().to_numpy()] = len(levels)
    if (found < 0).any():
        raise ColumnError(
            content.name,
            "holds levels that the original does not have",
            got=f"{int((found < 0).sum())} values",
            hint="Compare tables that share their levels.",
        )
    return found


def _cast_levels(levels: pl.Series, content: pl.Series) -> pl.Series:
    try:
        return levels.cast(content.dtype)
    except pl.exceptions.PolarsError:
        raise ColumnError(
            content.name,
            f"must have the type of the original's column ({levels.dtype.base_type()})",
            got=f"type {content.dtype.base_type()}",
        ) from None


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
