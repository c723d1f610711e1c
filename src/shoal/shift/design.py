"""One coding for all three tables, so that a level means the same in training and in every market.

A `Design` is learnt from the existing market and the members and then applies to any market. It gives

- **codes**: a numeric column's value, else the position of the level (a missing category comes after the last);
- **cells**: for each column the level, or for a number the interval, that it falls in; `joint_cells` numbers their
  combinations, on which the ratio of two empirical distributions is taken;
- the **matrix** of a sum of univariate functions. ``"dummy"``: one indicator per cell but the first, so each function
  is arbitrary. ``"numeric"``: numbers and the positions of ordinal levels enter as they are, so each function is
  linear; nominal columns have no order and keep their indicators. No intercept: the models add it.

A numeric column of at most `bins` distinct values has one cell per value; another is cut at the quantiles of the
existing market. Numbers and positions are standardised, which changes no prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.conform import floats
from shoal.frame import series
from shoal.schema import Column, Kind, Schema
from shoal.shift.people import People, texts

__all__ = ["Coding", "Design", "Factor", "distinct_rows", "joint_cells"]

Coding = Literal["dummy", "numeric"]

_MOST_KEYS = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """How one quasi-identifier becomes numbers.

    `levels` is None for a numeric column, whose cells `cuts` separates; `seen` says which cells the tables it was
    learnt from hold (the last one is for missing categories).
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] | None
    cuts: FloatArray
    centre: float
    scale: float
    seen: BoolArray

    @property
    def n_cells(self) -> int:
        """Number of cells, the one for missing categories and unknown levels included."""
        return (len(self.cuts) + 1 if self.levels is None else len(self.levels)) + 1

    def codes(self, people: People) -> FloatArray:
        """The column's numbers; a missing category and an unknown level come after the last level."""
        column = series(people.frame, self.name)
        if self.levels is None:
            return floats(column)
        places = pl.Series(np.arange(len(self.levels)))
        found = texts(column).replace_strict(
            pl.Series(list(self.levels), dtype=pl.String), places, default=len(self.levels), return_dtype=pl.Int64
        )
        return found.to_numpy().astype(np.float64)

    def strange_levels(self, people: People) -> list[str]:
        """Levels of a table that those it was learnt from don't have."""
        if self.levels is None:
            return []
        found = texts(series(people.frame, self.name)).drop_nulls().unique().sort()
        return [level for level in found if level not in self.levels]

    def cells(self, codes: FloatArray) -> IntArray:
        """The cell of each code."""
        if self.levels is not None:
            return codes.astype(np.int64)
        return np.searchsorted(self.cuts, codes, side="left").astype(np.int64)

    def labels(self) -> list[str]:
        """What each cell is called."""
        if self.levels is not None:
            return [*self.levels, "missing"]
        ends = [f"{cut:.6g}" for cut in self.cuts]
        middle = [f"{low} to {high}" for low, high in pairwise(ends)]
        outer = [f"up to {ends[0]}", *middle, f"above {ends[-1]}"] if ends else ["all"]
        return [*outer, "missing"]

    def columns(self, codes: FloatArray, coding: Coding) -> FloatArray:
        """The column's share of the design matrix."""
        if coding == "dummy" or self.kind == "nominal":
            return self._indicators(self.cells(codes))
        if self.levels is None:
            return ((codes - self.centre) / self.scale)[:, None]
        missing = codes == len(self.levels)
        linear = np.where(missing, 0.0, (codes - self.centre) / self.scale)
        return np.column_stack((linear, missing)) if self.seen[-1] else linear[:, None]

    def column_names(self, coding: Coding) -> list[str]:
        """What the columns of its share of the design matrix stand for."""
        if coding == "dummy" or self.kind == "nominal":
            labels = self.labels()
            return [f"{self.name} = {labels[cell]}" for cell in np.flatnonzero(self.seen)[1:]]
        missing = [f"{self.name} = missing"] if self.levels is not None and self.seen[-1] else []
        return [self.name, *missing]

    def _indicators(self, cells: IntArray) -> FloatArray:
        """One column for each cell that was seen, but the first of them."""
        kept = np.flatnonzero(self.seen)[1:]
        out: FloatArray = (cells[:, None] == kept[None, :]).astype(np.float64)
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """The coding of all quasi-identifiers."""

    factors: tuple[Factor, ...]

    @classmethod
    def learn(cls, tables: Sequence[People], schema: Schema, bins: int = 20) -> Design:
        """Learn levels from all `tables`, and places, spreads and quantiles from the first of them."""
        return cls(factors=tuple(_learn(tables, schema[name], bins) for name in schema.quasi))

    def codes(self, people: People) -> FloatArray:
        """One row per person, one number per column."""
        return np.column_stack([factor.codes(people) for factor in self.factors])

    def cells(self, codes: FloatArray) -> IntArray:
        """The cell of each number, column by column."""
        return np.column_stack([factor.cells(codes[:, j]) for j, factor in enumerate(self.factors)])

    def matrix(self, codes: FloatArray, coding: Coding) -> FloatArray:
        """The design matrix without an intercept."""
        blocks = [factor.columns(codes[:, j], coding) for j, factor in enumerate(self.factors)]
        return np.ascontiguousarray(np.hstack(blocks))

    def column_names(self, coding: Coding) -> list[str]:
        """What the columns of the design matrix stand for."""
        return [name for factor in self.factors for name in factor.column_names(coding)]


def joint_cells(tables: Sequence[IntArray]) -> tuple[list[IntArray], int]:
    """Number the combinations of cells that occur in any of the tables, from 0; and how many there are."""
    stacked = np.concatenate(tables)
    keys = _keys(stacked)
    present, numbers = np.unique(keys, return_inverse=True)
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return [part.astype(np.int64) for part in np.split(numbers.reshape(-1), ends)], len(present)


def distinct_rows(codes: FloatArray) -> tuple[FloatArray, IntArray]:
    """The distinct rows of `codes`, and for each row of `codes` which of them it is."""
    ranks = np.column_stack([np.unique(column, return_inverse=True)[1].reshape(-1) for column in codes.T])
    _, first, row = np.unique(_keys(ranks.astype(np.int64)), return_index=True, return_inverse=True)
    return np.ascontiguousarray(codes[first]), row.reshape(-1).astype(np.int64)


def _keys(cells: IntArray) -> IntArray:
    """One whole number per row, equal where rows are equal."""
    keys, size = np.zeros(len(cells), dtype=np.int64), 1
    for column in cells.T:
        width = int(column.max(initial=0)) + 1
        if size * width > _MOST_KEYS:
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64)
            size = int(keys.max(initial=0)) + 1
        keys, size = keys * width + column, size * width
    return keys


def _learn(tables: Sequence[People], column: Column, bins: int) -> Factor:
    if column.kind == "numeric":
        return _learn_numeric(tables, column, bins)
    levels = _levels(tables, column)
    blank = Factor(
        name=column.name,
        kind=column.kind or "nominal",
        levels=levels,
        cuts=np.empty(0),
        centre=0.0,
        scale=1.0,
        seen=np.ones(len(levels) + 1, dtype=np.bool_),
    )
    return _placed(blank, tables, [blank.codes(table) for table in tables])


def _learn_numeric(tables: Sequence[People], column: Column, bins: int) -> Factor:
    codes = [floats(series(table.frame, column.name)) for table in tables]
    values = np.unique(np.concatenate(codes))
    cuts = midpoints(values) if len(values) <= bins else weighted_quantiles(codes[0], tables[0].weights, bins)
    blank = Factor(
        name=column.name, kind="numeric", levels=None, cuts=cuts, centre=0.0, scale=1.0,
        seen=np.ones(len(cuts) + 2, dtype=np.bool_),
    )  # fmt: skip
    return _placed(blank, tables, codes)


def _placed(blank: Factor, tables: Sequence[People], codes: Sequence[FloatArray]) -> Factor:
    """The factor with its cells seen, and its place and spread in the first table."""
    cells = blank.cells(np.concatenate(codes))
    weights = tables[0].weights
    present = codes[0] if blank.levels is None else np.minimum(codes[0], max(0, len(blank.levels) - 1))
    centre = float(np.average(present, weights=weights))
    scale = float(np.sqrt(np.average((present - centre) ** 2, weights=weights)))
    seen = np.bincount(cells, minlength=blank.n_cells) > 0
    return replace(blank, seen=seen, centre=centre, scale=scale if scale > 1e-12 * max(1.0, abs(centre)) else 1.0)


def _levels(tables: Sequence[People], column: Column) -> tuple[str, ...]:
    if column.levels is not None:
        return tuple(texts(pl.Series(list(column.levels), strict=False)))
    found = [series(table.frame, column.name).drop_nulls() for table in tables]
    if all(part.dtype.is_numeric() for part in found):
        numbers = np.unique(np.concatenate([part.cast(pl.Float64).to_numpy() for part in found]))
        return tuple(texts(pl.Series(numbers)))
    if column.kind == "ordinal" and all(part.dtype == found[0].dtype for part in found):
        return tuple(dict.fromkeys(texts(pl.concat(found).unique().sort())))
    return tuple(sorted({level for part in found for level in texts(part)}))


def midpoints(values: FloatArray) -> FloatArray:
    """Cuts that give each of the sorted `values` a cell of its own."""
    middle: FloatArray = values[:-1] / 2 + values[1:] / 2
    return middle


def weighted_quantiles(values: FloatArray, weights: FloatArray, bins: int) -> FloatArray:
    """Where the weighted distribution function passes 1/bins, 2/bins and so on."""
    order = np.argsort(values, kind="stable")
    heights = np.cumsum(weights[order])
    targets = heights[-1] * np.arange(1, bins) / bins
    cuts = np.unique(values[order][np.searchsorted(heights, targets)])
    below: FloatArray = cuts[cuts < values.max()]
    return below
