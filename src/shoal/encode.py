"""Table to matrix of comparable numbers, and back.

Two steps. `Encoder.codes` turns the chosen columns into numbers: a numeric column into its values, an ordinal one into
the position of its level, a nominal one into the frequency rank of its level (most frequent 0). `Encoder.points`
makes the numbers comparable:

- numeric and ordinal columns, and nominal ones with two levels: (code − mean) / standard deviation;
- nominal columns with L > 2 levels of shares p_1..p_L: L indicators, each divided by sqrt(1 − Σ p_l²), so that any two
  different levels are equally far apart and the column has total variance 1, like every other. (For two levels
  this is the standardised 0/1 column: the two rules agree.)

- a number or a reason (`shoal.domain.absence`): two parts. The number as above, by mean and deviation of the numbers,
  where a reason lies at the mean; and a nominal column whose levels are "a number" and each reason. So any two reasons
  are equally far apart, and a reason is at least that far from every number.

As a code, a reason is a number beyond the largest: as far from it as the smallest is (the range), each further one
a range farther. What a mask writes is a number up to the middle of that gap, a reason beyond.

- a level or a reason: an ordinal column in which some levels stand for an absence (`Column.absences`) or cells are
  empty has the same two parts. Its codes are positions, those of absences after all levels; `Coding.apart` moves them
  as far away as those of a number lie.

A missing category is a level of its own, after the last. Constant columns become zeros. Means and deviations are
summed in sorted order, so a permutation of the rows changes no bit of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.conform import Prepared, kind_of, levels_like
from shoal.domain import Axis
from shoal.domain.absence import numbers
from shoal.domain.declared import learn_levels
from shoal.errors import ColumnError
from shoal.frame import Frame, adopt, enter, series, with_columns
from shoal.schema import NAMING, Column, Kind
from shoal.value import codes_of, same_as

__all__ = ["Coding", "Encoder", "absences", "coding_of_counts", "palette", "readable", "step_of", "with_atoms"]

_WIDEST_MATRIX = 2**31  # bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """How one column becomes numbers: its levels, its place and spread, and a row that shows each level.

    `shares` are those of the levels; of a column with atoms, those of a value and of each reason.
    `step` is what all numbers of the column are multiples of, if anything. `absent` are the numbers that stand for an
    absence (NaN: an empty cell), `atoms` their codes, `edge` what all of these exceed; without atoms an absence has no
    code and is NaN.
    `n_distinct` is the number of different values in the whole table, where it was learnt from more than is at hand.
    """

    axis: Axis
    has_missing: bool = False
    shares: FloatArray | None = None
    examples: IntArray | None = None
    center: float
    scale: float
    integral: bool
    step: float | None = None
    absent: tuple[float, ...] = ()
    atoms: FloatArray | None = None
    edge: float = np.inf
    n_distinct: int | None = None

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
        if self.shares is None or not (self.unordered or self.atoms is not None):
            return 0.0
        return 1.0 / (float(np.sqrt(1.0 - np.sum(self.shares**2))) or 1.0)

    @property
    def width(self) -> int:
        """Number of matrix columns it takes in `Encoder.points`."""
        if self.atoms is not None:
            return len(self.atoms) + 2
        return self.n_levels if self.unordered else 1

    @property
    def reach(self) -> float:
        """How far apart two values can be; infinite where nothing says so."""
        if self.levels is not None and self.atoms is not None:
            return max(float(self.atoms[0]) - 1, 1.0)
        return np.inf if self.atoms is None else float(2 * (self.atoms[0] - self.edge))

    def codes(self, column: pl.Series) -> FloatArray:
        """The numbers of a column: values, positions of levels, or the atom of a reason."""
        values = self.axis.numbers(column)
        if not self.absent:
            return values
        codes = np.minimum(values, self.edge)
        for place, number in enumerate(self.absent):
            stands = np.isnan(values) if np.isnan(number) else values == number
            codes[stands] = np.nan if self.atoms is None else self.atoms[place]
        return codes

    def numbers_and_levels(self, column: pl.Series) -> tuple[FloatArray | None, IntArray | None]:
        """Return what has an order as numbers, NaN where there is none, and what has none as levels, absences too."""
        values = self.axis.numbers(column)
        if self.kind == "nominal":
            return None, values.astype(np.int64)
        if self.kind == "ordinal":
            levels = self.reason(values)
            return np.where(levels > 0, np.nan, values), (levels if levels.any() else None)
        levels = np.where(np.isnan(values), len(self.absent) + 1, 0)
        for place, number in enumerate(self.absent):
            levels[values == number] = place + 1
        return np.where(levels > 0, np.nan, values), (levels if levels.any() else None)

    def is_absent(self, codes: FloatArray) -> BoolArray:
        """Which codes are those of a reason."""
        beyond: BoolArray = codes > self.edge
        return beyond

    def present(self, codes: FloatArray) -> FloatArray:
        """The codes as numbers, NaN for a reason."""
        return codes if self.atoms is None else np.where(self.is_absent(codes), np.nan, codes)

    def reason(self, codes: FloatArray) -> IntArray:
        """Which reason each code is, from 1; 0 for a number."""
        if self.atoms is None:
            return np.zeros(len(codes), dtype=np.int64)
        cuts = np.concatenate(([self.edge], (self.atoms[1:] + self.atoms[:-1]) / 2))
        if self.levels is not None:  # a release may hold empty cells where the original has none
            cuts = np.append(cuts, self.n_levels - 0.5)
        return np.searchsorted(cuts, codes, side="left")

    def apart(self, codes: FloatArray) -> FloatArray:
        """The codes with each absence among levels as far beyond them as one of numbers lies beyond these."""
        if self.atoms is None or self.levels is None:
            return codes
        top, reason = self.atoms[0] - 1, self.reason(codes)
        return np.where(reason > 0, top + max(top, 1.0) * reason, codes)

    def parts(self, codes: FloatArray) -> list[tuple[FloatArray, float]]:
        """The column as coordinates, or as levels with the height of their indicators: one part, or two (see above)."""
        if self.unordered:
            return [(codes, self.height)]
        number = np.nan_to_num(self.standardise(self.present(codes)), nan=0.0)
        if self.atoms is None:
            return [(number, 0.0)]
        return [(number, 0.0), (self.reason(codes).astype(np.float64), self.height)]

    def to_step(self, codes: FloatArray) -> FloatArray:
        """Numbers rounded to the column's step, halves to even: whole numbers stay whole."""
        return codes if self.step is None else np.round(codes / self.step) * self.step

    def standardise(self, codes: FloatArray) -> FloatArray:
        """Codes on the scale where the original has mean 0 and variance 1."""
        return (codes - self.center) / self.scale

    def snap(self, codes: FloatArray) -> FloatArray:
        """The nearest code whose level occurs in the original (ties go down); numeric codes stay."""
        if self.examples is None:
            return codes if self.atoms is None else self._snap_reasons(codes)
        seen = np.flatnonzero(self.examples >= 0)
        known, absent = seen[seen <= self.edge], seen[seen > self.edge]
        if not len(known) or not len(absent):
            return _nearest(seen, codes)
        return np.where(self.is_absent(codes), _nearest(absent, codes), _nearest(known, codes))

    def _snap_reasons(self, codes: FloatArray) -> FloatArray:
        found = self.reason(codes)
        return np.where(found > 0, np.asarray(self.atoms)[np.maximum(found, 1) - 1], codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """Learnt from one table, applies to it and to its releases."""

    codings: tuple[Coding, ...]

    @classmethod
    def of(cls, prepared: Prepared, names: Sequence[str]) -> Encoder:
        """The encoder of the columns `names`, shared by all who ask: a column is learnt when first asked for."""
        new = [name for name in names if name not in _shared(prepared)]
        if new:
            cls.fit(prepared, new).share(prepared)
        return cls(codings=tuple(_shared(prepared)[name] for name in names))

    @classmethod
    def fit(cls, prepared: Prepared, names: Iterable[str]) -> Encoder:
        """Learn the codes, places and spreads of the columns `names`."""
        return cls(codings=tuple(_learn(series(prepared.frame, name), prepared.schema[name]) for name in names))

    def share(self, prepared: Prepared) -> None:
        """Let all who ask for an encoder of `prepared` get these codings, wherever they were learnt."""
        _shared(prepared).update((coding.name, coding) for coding in self.codings)

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

    def apart(self, codes: FloatArray) -> FloatArray:
        """Codes with absences among levels as far away as those of numbers."""
        return np.column_stack([c.apart(codes[:, j]) for j, c in enumerate(self.codings)]) if self.codings else codes

    def restore(self, standardised: FloatArray) -> FloatArray:
        """Undo `standardise`, to rounding error."""
        return standardised * self._scales + self._centers

    def points(self, codes: FloatArray) -> FloatArray:
        """Codes as points between which Euclidean distance makes sense."""
        self.check_width(len(codes))
        blocks = [_block(coding, codes[:, j]) for j, coding in enumerate(self.codings)]
        stacked = np.hstack(blocks) if blocks else np.empty((len(codes), 0))
        return np.ascontiguousarray(stacked)

    def decode(self, codes: FloatArray, original: Frame, rows: Frame, literal: Collection[str] = frozenset()) -> Frame:
        """Put `codes` as values into the frame `rows`, in the original's own types.

        Levels are copied from a row of `original` that shows them, so categories, enums and dates stay what they
        were; a code between two levels is the nearest that occurs. In columns that are `literal` a code is its level,
        whether or not anybody has it. Numbers of an integer column stay integers if all released ones are.
        """
        made = {
            c.name: _literal(c, codes[:, j], original) if c.name in literal else _values(c, codes[:, j], original)
            for j, c in enumerate(self.codings)
        }
        return with_columns(rows, made)

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


def readable(prepared: Prepared, names: Iterable[str]) -> dict[str, Coding]:
    """Return the coding of each of these columns that can be read, whatever its role; names of people have none."""
    found = {}
    for name in names:
        column = prepared.schema[name]
        if column.role in NAMING:
            continue
        with suppress(ColumnError):  # of mixed types: nobody reads it
            if column.role in ("quasi", "sensitive", "weight"):
                found[name] = Encoder.of(prepared, [name]).codings[0]
            else:
                content = series(prepared.frame, name)
                kind = column.kind or kind_of(content, column)
                found[name] = _learn(content, Column(name=name, role="sensitive", kind=kind))
    return found


def _nearest(seen: IntArray, codes: FloatArray) -> FloatArray:
    """The nearest of the codes `seen`; ties go down."""
    cuts = (seen[1:] + seen[:-1]) / 2
    return seen[np.searchsorted(cuts, codes, side="left")].astype(np.float64)


def _shared(prepared: Prepared) -> dict[str, Coding]:
    return prepared.once("codings", dict)


def coding_of_counts(values: pl.Series, counts: IntArray, column: Column) -> Coding:
    """The coding of a column of categories, from its different values and how often each occurs.

    Row i of what `palette` gives shows level i, so that is what its `examples` point to.
    """
    axis = Axis(name=column.name, kind=column.kind or "nominal", levels=_find_levels(values, column, counts))
    codes = axis.encode(values)
    has_missing = bool(values.is_null().any())
    total = np.bincount(codes, weights=counts, minlength=axis.n_known + has_missing)
    number = np.arange(len(total), dtype=np.float64)
    coding = Coding(
        axis=axis,
        has_missing=has_missing,
        shares=total / total.sum(),
        examples=np.where(total > 0, np.arange(len(total)), -1),
        center=0.0,
        scale=1.0,
        integral=True,
        n_distinct=int((total > 0).sum()),
    )
    coding = _set_apart(coding, column)
    own = np.where(coding.is_absent(number), 0.0, total)
    center = float((number * own).sum() / (own.sum() or 1.0))
    scale = float(np.sqrt((own * (number - center) ** 2).sum() / (own.sum() or 1.0))) or 1.0
    return replace(coding, center=center, scale=scale)


def palette(codings: Iterable[Coding]) -> pl.DataFrame:
    """A table whose row i shows level i of each column of categories, and a missing value after the last.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.domain import Axis
    >>> from shoal.encode import Coding, palette
    >>> axis = Axis(name="sex", kind="nominal", levels=pl.Series(["f", "m"]))
    >>> palette([Coding(axis=axis, center=0.5, scale=0.5, integral=True)])["sex"].to_list()
    ['f', 'm', None]
    """
    columns = [coding.levels.alias(coding.name) for coding in codings if coding.levels is not None]
    longest = 1 + max(map(len, columns), default=0)
    number = pl.Series("#level", range(longest))
    return pl.DataFrame([number, *(column.extend_constant(None, longest - len(column)) for column in columns)])


def _learn(content: pl.Series, column: Column) -> Coding:
    if column.kind == "numeric":
        return _learn_numbers(content, column)
    axis = Axis(name=column.name, kind=column.kind or "nominal", levels=_find_levels(content, column))
    codes = axis.encode(content)
    has_missing = bool(content.is_null().any())
    n_levels = axis.n_known + has_missing
    counts = np.bincount(codes, minlength=n_levels)
    first = np.full(n_levels, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    shares = counts / max(1, counts.sum())
    coding = Coding(
        axis=axis, has_missing=has_missing, shares=shares, examples=first, center=0.0, scale=1.0, integral=True
    )
    coding = _set_apart(coding, column)
    positions = codes.astype(np.float64)
    center, scale = _place(positions[~coding.is_absent(positions)])
    return replace(coding, center=center, scale=scale)


def _set_apart(coding: Coding, column: Column) -> Coding:
    """The coding of ordered levels with the last ones, which stand for an absence, as reasons."""
    if coding.kind != "ordinal" or coding.levels is None or coding.shares is None:
        return coding
    n_known = len(coding.levels) - int(same_as(coding.levels, column.absences).sum())
    if n_known == coding.n_levels:
        return coding
    shares = np.append(coding.shares[:n_known].sum(), coding.shares[n_known:])
    return replace(coding, shares=shares, atoms=np.arange(n_known, coding.n_levels, dtype=float), edge=n_known - 0.5)


def _learn_numbers(content: pl.Series, column: Column) -> Coding:
    values = numbers(content, column)
    known = values[~np.isnan(values)]
    center, scale = _place(known)
    axis = Axis(name=column.name, kind="numeric", bounds=column.bounds)
    integral = content.dtype.is_integer()
    coding = Coding(axis=axis, center=center, scale=scale, integral=integral, step=step_of(column, integral))
    if not column.keeps_absence:
        return coding
    coding = replace(coding, absent=absences(column))
    return _with_atoms(coding, content, known) if column.role == "quasi" else coding


def step_of(column: Column, integral: bool) -> float | None:
    """What all numbers of a column are multiples of: as declared, or one where they are whole."""
    if column.step is not None:
        return column.step
    whole = integral if column.whole is None else column.whole
    return 1.0 if whole else None


def _with_atoms(coding: Coding, content: pl.Series, known: FloatArray) -> Coding:
    """The coding with a code for each reason, and the share of records that have each."""
    ends = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    coding = with_atoms(coding, ends)
    counts = np.bincount(coding.reason(coding.codes(content)), minlength=len(coding.absent) + 1)
    return replace(coding, shares=counts / max(1, counts.sum()))


def absences(column: Column) -> tuple[float, ...]:
    """The numbers that stand for an absence that is kept, NaN for an empty cell."""
    return (*([np.nan] if column.missing == "level" else []), *column.reasons)


def with_atoms(coding: Coding, ends: tuple[float, float]) -> Coding:
    """The coding with a code for each reason, beyond all numbers: the declared bounds, or the `ends` that there are."""
    low, high = coding.axis.bounds or ends
    gap = high - low if high > low else 1.0
    atoms = high + gap * np.arange(1.0, len(coding.absent) + 1)
    return replace(coding, atoms=atoms, edge=high + gap / 2)


def _find_levels(content: pl.Series, column: Column, weights: IntArray | None = None) -> pl.Series:
    """Ordinal levels in their order; nominal ones by frequency, ties as declared, else sorted."""
    levels = learn_levels([content], column) if column.levels is None else levels_like(content, column)
    if column.kind == "ordinal":
        return levels
    own = None if weights is None else weights[content.is_not_null().to_numpy()]
    counts = np.bincount(codes_of(content.drop_nulls(), levels), weights=own, minlength=len(levels))
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
    n_levels = coding.n_levels if coding.atoms is None else len(coding.atoms) + 1
    parts = coding.parts(codes)
    return np.hstack([_indicators(part, n_levels, height) if height else part[:, None] for part, height in parts])


def _indicators(codes: FloatArray, n_levels: int, height: float) -> FloatArray:
    # A release may hold missing values where the original has none: such a row is at the origin, far from all levels.
    known = np.flatnonzero(codes < n_levels)
    indicators = np.zeros((len(codes), n_levels))
    indicators[known, codes[known].astype(np.int64)] = height
    return indicators


def _literal(coding: Coding, codes: FloatArray, original: Frame) -> Any:
    """The level of each code; the number after the last is a missing value."""
    levels = coding.levels
    assert levels is not None
    known = pl.concat([levels, pl.Series(levels.name, [None], dtype=levels.dtype)])
    return adopt(known.gather(codes.astype(np.int64)).alias(coding.name), original)


def _values(coding: Coding, codes: FloatArray, original: Frame) -> Any:
    if coding.examples is not None:
        seen = coding.snap(codes).astype(np.int64)
        return original[coding.name].gather_every(1)[coding.examples[seen]]
    if coding.atoms is not None:
        return adopt(_number_or_reason(coding, codes), original)
    if coding.integral and np.all(codes == np.round(codes)):
        return _whole(codes.astype(np.int64), coding.name, original)
    return codes


def _number_or_reason(coding: Coding, codes: FloatArray) -> pl.Series:
    """Numbers, and the number that stands for each reason; an empty cell is missing."""
    stands = np.append(np.nan, coding.absent)
    reason = coding.reason(codes)
    values = pl.Series(coding.name, np.where(reason > 0, stands[reason], codes)).fill_nan(None)
    whole = coding.integral and bool((values == values.round()).fill_null(True).all())
    return values.cast(pl.Int64) if whole else values


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
