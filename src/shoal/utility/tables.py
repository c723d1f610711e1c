"""An original and its release, column by column and row by row: what every utility measure starts from.

Utility compares distributions, so most measures need no link between rows. `side_by_side` therefore also takes a
release of another length than the original (a synthetic one); then no row's source is known, and what needs it is
left out.

Both tables on one grid: each column cut into cells, so that shares can be compared.

A categorical column has one cell per level. A numeric one whose original has at most 50 distinct values has one cell
per value, and a released number counts where the nearest of them is (ties go down): a centroid is rounded to the
nearest level. Any other numeric column is cut at the quantiles of the original into `bins` cells. Missing is a cell of
its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.conform import floats, prepare
from shoal.design import joint_cells
from shoal.domain import Axis
from shoal.domain.bins import midpoints, quantiles
from shoal.encode import Coding, Encoder
from shoal.errors import ColumnError, ParameterError, SchemaError
from shoal.frame import enter, series
from shoal.pair import NOBODY, Pair
from shoal.schema import Role, Schema

__all__ = [
    "MOST_VALUES",
    "Both",
    "Cells",
    "both_columns",
    "cells_of",
    "check_share",
    "check_whole",
    "counts",
    "grid",
    "is_linked",
    "joint",
    "quasi_columns",
    "row_weights",
    "sample_rows",
    "shares",
    "side_by_side",
]


def side_by_side(original: Any, released: Any, schema: Schema, source_rows: Any = None) -> Pair:
    """`Pair.of`, but a release of another length without `source_rows` is taken as one whose sources are unknown.

    Coarsened cells can't be read then: what they stand for is told by their records.
    """
    frame = enter(released, owner="released table")
    if source_rows is not None or len(frame) == 0:
        return Pair.of(original, frame, schema, source_rows)
    same_length = len(frame) == prepare(original, schema).n
    return Pair.of(original, frame, schema, None if same_length else np.full(len(frame), NOBODY))


@dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    """One column of both tables, in the original's codes."""

    name: str
    role: Role
    coding: Coding
    original: FloatArray
    released: FloatArray

    @property
    def is_number(self) -> bool:
        """Whether its codes can be added and averaged: numeric or ordinal."""
        return self.coding.kind != "nominal"

    def numbers(self) -> tuple[FloatArray, FloatArray]:
        """The codes of both tables with missing ones as NaN."""
        return self._present(self.original), self._present(self.released)

    def _present(self, codes: FloatArray) -> FloatArray:
        levels, present = self.coding.levels, self.coding.present(codes)
        return present if levels is None else np.where(codes >= len(levels), np.nan, present)

    def is_known(self, codes: FloatArray) -> BoolArray:
        """Which codes are no absence."""
        return ~np.isnan(self._present(codes))


def quasi_columns(pair: Pair) -> tuple[Both, ...]:
    """The quasi-identifiers as codes of both tables."""
    if not pair.schema.quasi:
        raise SchemaError("schema", "must name at least one quasi-identifier")
    return _zip("quasi", pair.encoder, pair.original_codes, pair.released_codes)


def both_columns(pair: Pair) -> tuple[Both, ...]:
    """The quasi-identifiers, then the sensitive columns that the release has, as codes of both tables."""
    return pair.once("both columns", lambda: quasi_columns(pair) + _sensitive_columns(pair))


def _sensitive_columns(pair: Pair) -> tuple[Both, ...]:
    names = [name for name in pair.schema.sensitive if name in pair.released.columns]
    return _zip("sensitive", *pair.codes_of(names))


def row_weights(pair: Pair, weighted: bool, owner: str) -> tuple[FloatArray, FloatArray]:
    """Survey weights of the original's and the release's rows; all 1 where `weighted` is False."""
    if not weighted:
        return np.ones(pair.original.n), np.ones(len(pair.released))
    original, name = pair.original.weights(), pair.schema.weight
    if original is None or name is None:
        raise ParameterError(
            owner,
            "weighted must be False if the schema has no weight column",
            hint="Give the column of survey weights the role weight.",
        )
    if name not in pair.released.columns:
        raise SchemaError("released table", f"must have the weight column '{name}' for a weighted measure")
    released = floats(series(pair.released, name))
    if not (np.isfinite(released).all() and (released >= 0).all() and released.sum() > 0):
        raise ColumnError(name, "of the released table holds weights, which must be at least 0 and not all 0")
    return original, released


def is_linked(pair: Pair) -> bool:
    """Whether released rows and original rows correspond one to one."""
    sources = pair.source_rows
    return len(sources) == pair.original.n and bool((np.sort(sources) == np.arange(len(sources))).all())


def sample_rows(pair: Pair, size: int, rng: Generator) -> tuple[IntArray, IntArray]:
    """At most `size` rows of each table at random: the same people where rows correspond, else independent draws."""
    released = rng.permutation(len(pair.released))[:size]
    if is_linked(pair):
        return pair.source_rows[released], released
    return rng.permutation(pair.original.n)[:size], released


def check_whole(owner: str, name: str, value: object, low: int) -> None:
    """Hold a parameter to being a whole number of at least `low`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < low:
        raise ParameterError(owner, f"{name} must be a whole number at least {low}", got=repr(value)[:60])


def check_share(owner: str, name: str, value: object) -> None:
    """Hold a parameter to lying strictly between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise ParameterError(owner, f"{name} must be a number between 0 and 1", got=repr(value)[:60])


def _zip(role: Role, encoder: Encoder, original: FloatArray, released: FloatArray) -> tuple[Both, ...]:
    return tuple(
        Both(name=coding.name, role=role, coding=coding, original=original[:, j], released=released[:, j])
        for j, coding in enumerate(encoder.codings)
    )


MOST_VALUES = 50
"""A numeric column with more distinct values in the original is cut into bins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """One column, or a combination of some, as cell numbers from 0 to `size` - 1."""

    name: str
    role: Role
    original: IntArray
    released: IntArray
    size: int
    binned: bool = False


def grid(columns: Iterable[Both], weights: FloatArray, bins: int) -> tuple[Cells, ...]:
    """Cut every column into cells; `weights` are the original's, for weighted quantiles."""
    return tuple(cells_of(column, weights, bins) for column in columns)


def cells_of(column: Both, weights: FloatArray, bins: int, most_values: int = MOST_VALUES) -> Cells:
    """Cut one column into cells."""
    if column.coding.levels is not None:
        return Cells(
            name=column.name,
            role=column.role,
            original=column.original.astype(np.int64),
            released=column.released.astype(np.int64),
            size=column.coding.axis.size,
        )
    original, released = column.numbers()
    values = np.unique(original[~np.isnan(original)])
    binned = len(values) > most_values
    axis = Axis.cut(column.name, quantiles(original, weights, bins) if binned else midpoints(values))
    return Cells(
        name=column.name,
        role=column.role,
        original=_with_reasons(column.coding, axis, column.original, original),
        released=_with_reasons(column.coding, axis, column.released, released),
        size=axis.size + len(column.coding.absent),
        binned=binned,
    )


def _with_reasons(coding: Coding, axis: Axis, codes: FloatArray, numbers: FloatArray) -> IntArray:
    """The bin of each number, then a cell for a missing value and one for each reason."""
    reason = coding.reason(codes)
    return np.where(reason > 0, axis.size + reason - 1, axis.bins(numbers))


def joint(columns: Sequence[Cells]) -> Cells:
    """The combinations of cells that occur in either table, numbered from 0."""
    tables = [np.column_stack([c.original for c in columns]), np.column_stack([c.released for c in columns])]
    (original, released), size = joint_cells(tables)
    return Cells(name="joint", role="quasi", original=original, released=released, size=size)


def counts(cells: IntArray, size: int, weights: FloatArray) -> FloatArray:
    """The weight in each cell."""
    return np.bincount(cells, weights=weights, minlength=size).astype(np.float64, copy=False)


def shares(cells: IntArray, size: int, weights: FloatArray) -> FloatArray:
    """The share of the weight in each cell."""
    return counts(cells, size, weights) / float(weights.sum())
