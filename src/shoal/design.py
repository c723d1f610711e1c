"""The design matrix of a sum of functions of one column each, on the axes of a domain.

A `Design` is learnt from one or more tables and then applies to any other, so that a level means the same in all. It
gives

- **codes**: a numeric column's value, else the position of the level; a missing category, and a level that no table
  had which the design was learnt from, come after the last;
- **cells**: for each column the level, or for a number the bin, that it falls in; `joint_cells` numbers their
  combinations;
- the **matrix**. ``"dummy"``: one indicator per cell but the first, so each function is arbitrary. ``"numeric"``:
  numbers and the positions of ordinal levels enter as (x − centre) / scale, so each function is linear; nominal columns
  have no order and keep their indicators. An absence, coded or missing, has an indicator beside the number, which is 0
  for it. No intercept: the models add it.

Only cells that were seen get an indicator: others fall in with the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray, numbered
from shoal.domain import Axis
from shoal.domain.bins import midpoints, quantiles
from shoal.domain.declared import declared_levels, floats, learn_levels
from shoal.frame import Frame, series
from shoal.schema import Column
from shoal.value import same_as, unknown_levels

__all__ = ["Coding", "Design", "Factor", "distinct_rows", "joint_cells"]

Coding = Literal["dummy", "numeric"]

_MOST_KEYS = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Factor:
    """One column: its axis, place and spread, and which cells the tables it was learnt from hold."""

    axis: Axis
    seen: BoolArray
    centre: float = 0.0
    scale: float = 1.0
    n_absent: int = 0

    @classmethod
    def learn(cls, contents: Sequence[pl.Series], weights: FloatArray, column: Column, bins: int) -> Factor:
        """Levels from all `contents`; place, spread and quantiles from the first of them, with its weights.

        A number of at most `bins` distinct values has one cell per value; another is cut at quantiles.
        """
        axis = _numeric_axis(contents, weights, column, bins) if column.kind == "numeric" else _axis(contents, column)
        codes = [_codes(axis, content) for content in contents]
        n_absent = 0 if axis.levels is None else int(same_as(axis.levels, column.absences).sum())
        weights = weights if axis.numeric else np.where(codes[0] < axis.n_known - n_absent, weights, 0.0)
        centre, scale = _place(codes[0], weights)
        seen = np.bincount(_cells(axis, np.concatenate(codes)), minlength=axis.size) > 0
        return cls(axis=axis, seen=seen, centre=centre, scale=scale, n_absent=n_absent)

    @property
    def name(self) -> str:
        """The column."""
        return self.axis.name

    def codes(self, content: pl.Series) -> FloatArray:
        """The column's numbers."""
        return _codes(self.axis, content)

    def cells(self, codes: FloatArray) -> IntArray:
        """The cell of each code."""
        return _cells(self.axis, codes)

    def strange_levels(self, content: pl.Series) -> list[str]:
        """Levels of a table that those it was learnt from don't have."""
        return [] if self.axis.levels is None else unknown_levels(content, self.axis.levels)

    def columns(self, codes: FloatArray, coding: Coding) -> FloatArray:
        """The column's share of the design matrix."""
        if self._spread(coding):
            kept = np.flatnonzero(self.seen)[1:]
            return np.asarray(self.cells(codes)[:, None] == kept[None, :], dtype=np.float64)
        linear = (codes - self.centre) / self.scale
        if self.axis.numeric:
            return linear[:, None]
        absent = codes[:, None] == self._absent_cells
        return np.column_stack((np.where(codes >= self._n_present, 0.0, linear), absent))

    def column_names(self, coding: Coding) -> list[str]:
        """What the columns of its share of the design matrix stand for."""
        if self._spread(coding):
            return [f"{self.name} = {self.axis.label(int(cell))}" for cell in np.flatnonzero(self.seen)[1:]]
        cells = () if self.axis.numeric else self._absent_cells
        return [self.name, *(f"{self.name} = {self.axis.label(int(cell))}" for cell in cells)]

    @property
    def _n_present(self) -> int:
        """How many levels are no absence; those that are come after them."""
        return self.axis.n_known - self.n_absent

    @property
    def _absent_cells(self) -> IntArray:
        """The cells of absences that were seen: codes for one, and a missing level."""
        cells = np.arange(self._n_present, self.axis.n_known + 1)
        return cells[self.seen[cells]]

    def _spread(self, coding: Coding) -> bool:
        return coding == "dummy" or self.axis.kind == "nominal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """All columns of the matrix."""

    factors: tuple[Factor, ...]

    @classmethod
    def learn(cls, frames: Sequence[Frame], weights: FloatArray, columns: Sequence[Column], bins: int = 20) -> Design:
        """Learn every column from `frames`; `weights` are those of the first frame's rows."""
        contents = {column.name: [series(frame, column.name) for frame in frames] for column in columns}
        return cls(factors=tuple(Factor.learn(contents[c.name], weights, c, bins) for c in columns))

    def codes(self, frame: Frame) -> FloatArray:
        """One row per record, one number per column."""
        return np.column_stack([factor.codes(series(frame, factor.name)) for factor in self.factors])

    def cells(self, codes: FloatArray) -> IntArray:
        """The cell of each number, column by column."""
        return np.column_stack([factor.cells(codes[:, j]) for j, factor in enumerate(self.factors)])

    def matrix(self, codes: FloatArray, coding: Coding) -> FloatArray:
        """The design matrix without an intercept."""
        blocks = [factor.columns(codes[:, j], coding) for j, factor in enumerate(self.factors)]
        return np.ascontiguousarray(np.hstack(blocks)) if blocks else np.empty((len(codes), 0))

    def column_names(self, coding: Coding) -> list[str]:
        """What the columns of the design matrix stand for."""
        return [name for factor in self.factors for name in factor.column_names(coding)]


def joint_cells(tables: Sequence[IntArray]) -> tuple[list[IntArray], int]:
    """Number the combinations of cells that occur in any of the tables, from 0; and how many there are."""
    present, numbers = numbered(_keys(np.concatenate(tables)))
    ends = np.cumsum([len(table) for table in tables])[:-1]
    return np.split(numbers, ends), len(present)


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
            keys = numbered(keys)[1]
            size = int(keys.max(initial=0)) + 1
        keys, size = keys * width + column, size * width
    return keys


def _place(codes: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Weighted mean and deviation; 0 and 1 where nothing has a weight."""
    if not weights.sum() > 0:
        return 0.0, 1.0
    centre = float(np.average(codes, weights=weights))
    scale = float(np.sqrt(np.average((codes - centre) ** 2, weights=weights)))
    return centre, 1.0 if scale <= 1e-12 * max(1.0, abs(centre)) else scale


def _axis(contents: Sequence[pl.Series], column: Column) -> Axis:
    levels = declared_levels(column) if column.levels is not None else learn_levels(contents, column)
    return Axis(name=column.name, kind=column.kind or "nominal", levels=levels, unknown="missing")


def _numeric_axis(contents: Sequence[pl.Series], weights: FloatArray, column: Column, bins: int) -> Axis:
    first, values = floats(contents[0]), np.unique(np.concatenate([floats(content) for content in contents]))
    if len(values) <= bins:
        return Axis.cut(column.name, midpoints(values))
    cuts = quantiles(first, weights, bins)
    return Axis.cut(column.name, cuts[cuts < first.max()])


def _codes(axis: Axis, content: pl.Series) -> FloatArray:
    return floats(content) if axis.numeric else axis.encode(content).astype(np.float64)


def _cells(axis: Axis, codes: FloatArray) -> IntArray:
    return axis.bins(codes) if axis.numeric else codes.astype(np.int64)
