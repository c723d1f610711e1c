"""The individual covariates X as one matrix of numbers.

Numbers enter as they are; texts, categories and true/false become one indicator per level but the first, a missing
category being a level of its own, the last; dates count days. A missing or infinite number is an error that names the
column. A column without variation carries nothing beside the intercept, which every method adds, and is left out.

A `Coding` is learnt from one table and codes another alike: a level that the first table lacks counts as missing, and
as the first level where nothing was missing there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray
from shoal.design import Design, Factor
from shoal.domain import Axis
from shoal.errors import ColumnError, InputError
from shoal.frame import Frame, enter, series
from shoal.schema import Column

__all__ = ["Coding", "Covariates", "covariates"]

_LARGEST = 1e100  # squares and their sums stay finite


@dataclass(frozen=True, slots=True, kw_only=True)
class Coding:
    """The coding of all columns, with those left out because they never vary."""

    design: Design
    constant: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns of the matrix stand for."""
        return tuple(self.design.column_names("numeric"))

    @property
    def nominal(self) -> tuple[slice, ...]:
        """The columns of the matrix that belong to one nominal covariate, for each of these."""
        factors = self.design.factors
        ends = np.cumsum([0, *(len(factor.column_names("numeric")) for factor in factors)])
        spans = (slice(int(a), int(b)) for a, b in pairwise(ends))
        return tuple(s for factor, s in zip(factors, spans, strict=True) if not factor.axis.numeric)

    def matrix(self, X: Any) -> FloatArray:
        """Code a table or array that has the same columns."""
        frame = _frame(X)
        factors = self.design.factors
        absent = [factor.name for factor in factors if factor.name not in frame.columns]
        if absent:
            raise InputError("X", "must have the columns the model was fitted to", got=f"{len(absent)} of them missing")
        codes = [_codes(factor, series(frame, factor.name)) for factor in factors]
        return self.design.matrix(np.column_stack(codes) if codes else np.empty((len(frame), 0)), "numeric")


@dataclass(frozen=True, slots=True, kw_only=True)
class Covariates:
    """The matrix (n × m, no intercept) and its coding."""

    matrix: FloatArray
    coding: Coding

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns stand for."""
        return self.coding.names


def covariates(X: Any, only: Sequence[str] | None = None) -> Covariates:
    """Code the table or array `X`, or its columns `only`; columns without variation are left out."""
    frame = _frame(X)
    if len(frame) == 0:
        raise InputError("X", "must have at least one row", got="0 rows")
    names = list(frame.columns) if only is None else list(only)
    learnt = [_learn(series(frame, name)) for name in names]
    kept = tuple(found for found in learnt if found is not None)
    constant = tuple(name for name, found in zip(names, learnt, strict=True) if found is None)
    coding = Coding(design=Design(factors=kept), constant=constant)
    return Covariates(matrix=coding.matrix(frame), coding=coding)


def _frame(X: Any) -> Frame:
    """Any dataframe, or an array whose columns are named x1, x2 and so on."""
    if isinstance(X, np.ndarray | list | tuple):
        return enter(_array_frame(X), owner="X")
    return enter(X, owner="X")


def _array_frame(X: Any) -> pl.DataFrame:
    try:
        array = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("X", "must hold numbers if it is an array", hint="Use a dataframe for texts.") from None
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or array.shape[1] == 0:
        raise InputError("X", "must have rows and columns", got=f"an array of {array.ndim} dimensions")
    return pl.DataFrame({f"x{j + 1}": array[:, j] for j in range(array.shape[1])})


def _codes(factor: Factor, column: pl.Series) -> FloatArray:
    return _numbers(column) if factor.axis.numeric else factor.codes(column)


def _learn(column: pl.Series) -> Factor | None:
    """A number as it is, or one indicator per level; None without variation."""
    if _is_number(column):
        axis = Axis(name=column.name, kind="numeric")
        return Factor(axis=axis, seen=np.ones(1, dtype=np.bool_)) if np.ptp(_numbers(column)) > 0 else None
    axis = Axis.learn([column], Column(name=column.name, role="other", kind="nominal"), unknown="missing")
    seen = np.ones(axis.size, dtype=np.bool_)
    seen[-1] = column.null_count() > 0
    return Factor(axis=axis, seen=seen) if seen.sum() > 1 else None


def _is_number(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype.is_temporal()


def _numbers(column: pl.Series) -> FloatArray:
    if column.dtype.is_temporal():
        column = column.cast(pl.Datetime("us"), strict=False).cast(pl.Int64) / 86_400e6
    if not column.dtype.is_numeric():
        raise ColumnError(column.name, "must hold numbers, as in the table the model was fitted to")
    values: FloatArray = column.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    _check_finite(column.name, np.isfinite(values) & (np.abs(np.nan_to_num(values)) <= _LARGEST))
    return values


def _check_finite(name: str, good: BoolArray) -> None:
    if not good.all():
        raise ColumnError(
            name,
            "must hold finite numbers to serve as a covariate",
            got=f"{int((~good).sum())} missing, infinite or too large",
            hint="Fill them in, or drop the rows or the column.",
        )
