"""Hold a table to its schema before anything else looks at it.

`prepare` settles the kind of each column, applies the schema's rules for missing numbers and refuses what breaks a
rule: an error names the column, the rule and the remedy, never a value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.domain.declared import declared_kind, declared_levels, floats
from shoal.errors import ColumnError, InputError, SchemaError
from shoal.fact import Fact, sentences
from shoal.frame import Frame, adopt, enter, pick, series, with_columns
from shoal.schema import Column, Kind, Schema
from shoal.value import codes_of

__all__ = ["Prepared", "check_columns", "floats", "kind_of", "levels_like", "prepare", "unit_numbers", "unit_rule"]

Value = TypeVar("Value")

_LARGEST = 1e100  # squares and their sums stay finite


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A table that fits its schema: kinds settled, missing numbers dealt with.

    `rows` holds the original position of each row that is left, `facts` what was done.
    """

    frame: Frame = field(repr=False)
    schema: Schema
    rows: IntArray = field(repr=False)
    n_original: int
    facts: tuple[Fact, ...] = ()
    _memo: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done, in sentences."""
        return sentences(self.facts)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def once(self, name: Hashable, compute: Callable[[], Value]) -> Value:
        """What `compute` gives, computed the first time that something asks this table for it by `name`.

        A column is coded once, whoever asks: method, risk, utility or report. It must follow from the table alone;
        whoever uses it leaves it as it is.
        """
        if name not in self._memo:
            self._memo[name] = compute()
        found: Value = self._memo[name]
        return found

    def weights(self) -> FloatArray | None:
        """Survey weights, if the schema names a weight column."""
        name = self.schema.weight
        return None if name is None else floats(series(self.frame, name))

    def units(self) -> IntArray:
        """Which person each row belongs to, as numbers from 0; without a unit column, each row is a person."""
        return self.once("units", self._units)

    def _units(self) -> IntArray:
        name = self.schema.unit
        return np.arange(self.n) if name is None else unit_numbers(series(self.frame, name))


def prepare(table: Any, schema: Schema) -> Prepared:
    """Hold `table` to `schema` and apply its rules for missing numbers.

    Raises
    ------
    SchemaError
        A column of the table has no role, or one of the schema is not in the table.
    ColumnError
        A column breaks its entry: wrong type, infinity, missing number without a rule, level or number outside the
        declared domain. The message names column, rule and remedy, never a value.
    InputError
        There are no rows, or none is left once those with missing numbers are dropped.
    """
    frame = enter(table)
    check_columns(frame, schema)
    n = len(frame)
    if n == 0:
        raise InputError("table", "must have at least one row", got="0 rows")
    settled = schema.with_columns(_settle(series(frame, c.name), c) for c in schema.columns if _is_used(c))
    frame, rows, facts = _treat_missing(frame, settled)
    used = [column for column in settled.columns if _is_used(column)]
    for column in used:
        if column.kind == "numeric":
            _check_numbers(series(frame, column.name), column)
    frame = _respelled(frame, [column for column in used if column.levels is not None])
    return Prepared(frame=frame, schema=settled, rows=rows, n_original=n, facts=(*facts, *_unit_fact(frame, settled)))


def _unit_fact(frame: Frame, schema: Schema) -> tuple[Fact, ...]:
    if schema.unit is None or series(frame, schema.unit).null_count() == 0:
        return ()
    return (unit_rule(schema.unit),)


def unit_rule(unit: str) -> Fact:
    """How rows without a value of the unit column count."""
    return Fact(says="{column}: each row without a person's number counts as a person of its own", column=unit)


def _is_used(column: Column) -> bool:
    return column.role in ("quasi", "sensitive", "weight")


def check_columns(frame: Frame, schema: Schema) -> None:
    """Refuse a table whose columns are not those of the schema."""
    for column in schema.columns:
        if column.name not in frame.columns:
            raise SchemaError(
                "schema",
                f"column '{column.name}' is not in the table",
                hint="Correct its name or remove its entry.",
            )
    for name in frame.columns:
        if name not in schema:
            raise SchemaError(
                "schema",
                f"column '{name}' of the table has no role",
                hint="Give it one of: identifier, quasi, sensitive, weight, unit, other.",
            )


def _settle(content: pl.Series, column: Column) -> Column:
    if column.kind is None and column.levels is None:
        _check_not_mixed(content, column)
    kind = column.kind or kind_of(content, column)
    levels = column.levels
    if kind == "ordinal" and levels is None and content.dtype == pl.Enum:
        levels = tuple(content.dtype.categories)  # type: ignore[attr-defined]
    return replace(column, kind=kind, levels=levels)


def _check_not_mixed(content: pl.Series, column: Column) -> None:
    """A text column in which most values, but not all, are numbers wants a person's word."""
    if content.dtype != pl.String:
        return
    stripped = content.str.strip_chars()
    numbers = int(stripped.cast(pl.Float64, strict=False).is_not_null().sum())
    texts = int((stripped != "").sum()) - numbers
    if numbers > texts > 0:
        raise ColumnError(
            column.name,
            "mixes numbers and texts, and the schema names no kind for it",
            got=f"{texts} texts among {numbers} numbers",
            hint='Correct the texts, or declare kind = "nominal" if the values are codes.',
        )


def kind_of(content: pl.Series, column: Column) -> Kind:
    """The kind of a column for which the schema names none."""
    declared = declared_kind(column)
    if declared is not None or column.role == "weight":
        return declared or "numeric"
    if content.dtype == pl.Enum or content.dtype.is_temporal():
        return "ordinal"
    return "numeric" if content.dtype.is_numeric() else "nominal"


def _treat_missing(frame: Frame, schema: Schema) -> tuple[Frame, IntArray, tuple[Fact, ...]]:
    """Leave rows out, then fill: a row that is left out has no part in a median."""
    keep = np.ones(len(frame), dtype=np.bool_)
    facts: list[Fact] = []
    fill: list[Column] = []
    for column in schema.columns:
        absent = _absent(frame, column)
        if absent is None:
            continue
        facts.append(_missing_fact(column, int(absent.sum())))
        if column.missing == "drop":
            keep &= ~absent
        else:
            fill.append(column)
    rows = np.flatnonzero(keep)
    if len(rows) == 0:
        raise InputError("table", "must have a row left after dropping those with missing numbers", got="0 rows")
    frame = frame if keep.all() else pick(frame, rows)
    filled = {column.name: _fill(series(frame, column.name), column) for column in fill}
    return with_columns(frame, filled), rows, tuple(facts)


def _absent(frame: Frame, column: Column) -> BoolArray | None:
    """Which numbers of a column are missing; None where none is, or where the rule lets them stand."""
    if not _is_used(column) or column.kind != "numeric" or (column.role == "sensitive" and column.missing == "error"):
        return None
    absent = series(frame, column.name).is_null().to_numpy()
    return absent if absent.any() else None


def _missing_fact(column: Column, count: int) -> Fact:
    if column.missing == "error":
        raise ColumnError(
            column.name,
            "has missing numbers and the schema has no rule for them",
            got=f"{count} missing",
            hint='Set missing = "drop" (leave those rows out), missing = "median", or missing = a number to put there.',
        )
    if column.missing == "drop":
        says = "{column}: rows with a missing number were left out"
        return Fact(says=says, values={"n": count}, column=column.name, counts="records")
    what = "the median" if column.missing == "median" else "the number declared in the schema"
    says = "{column}: missing numbers were replaced by {what}"
    return Fact(says=says, values={"what": what, "n": count}, column=column.name, counts="cells")


def _fill(content: pl.Series, column: Column) -> FloatArray:
    values = floats(content)
    absent = np.isnan(values)
    present = values[~absent]
    if column.missing == "median" and len(present) == 0:
        raise ColumnError(column.name, "has no number to take a median of")
    value = float(np.median(present)) if column.missing == "median" else float(column.missing)
    return np.where(absent, value, values)


def _check_numbers(content: pl.Series, column: Column) -> None:
    if not (content.dtype.is_numeric() or content.dtype == pl.Boolean or content.dtype == pl.Null):
        raise ColumnError(
            column.name,
            "is declared numeric and must hold numbers",
            got=f"type {content.dtype.base_type()}",
            hint="Convert it (a decimal comma: read it with decimal=','), or declare it ordinal or nominal.",
        )
    values = floats(content)
    if np.isinf(values).any():
        raise ColumnError(column.name, "must hold finite numbers", got=f"{int(np.isinf(values).sum())} infinite")
    if content.dtype.is_integer() and (np.abs(values) > 2**53).any():
        raise ColumnError(
            column.name,
            "holds whole numbers too large to compute with exactly",
            hint="Declare it nominal if they are codes, or give it the role identifier.",
        )
    if (np.abs(values) > _LARGEST).any():
        raise ColumnError(column.name, f"must hold numbers of a size up to {_LARGEST:g}", hint="Rescale the column.")
    if column.role == "weight" and not (np.nanmin(values) >= 0 and np.nansum(values) > 0):
        raise ColumnError(column.name, "holds weights, which must be at least 0 and not all 0")
    if column.bounds is not None:
        outside = int(((values < column.bounds[0]) | (values > column.bounds[1])).sum())
        if outside:
            raise ColumnError(
                column.name,
                "must lie within the bounds of the schema",
                got=f"{outside} values outside",
                hint="Correct the values or widen the bounds.",
            )


def _respelled(frame: Frame, columns: list[Column]) -> Frame:
    """The table with its levels in the schema's spelling, where a column has another: "1.0" for 1."""
    found = {column.name: _in_declared_spelling(series(frame, column.name), column) for column in columns}
    return with_columns(frame, {name: adopt(content, frame) for name, content in found.items() if content is not None})


def _in_declared_spelling(content: pl.Series, column: Column) -> pl.Series | None:
    """The column with its levels as declared; None where each value is a level as it stands."""
    known = _own_levels(content, column)
    if known is not None and bool((content.is_null() | content.is_in(known.implode())).all()):
        return None
    levels = declared_levels(column)
    codes = codes_of(content, levels)
    outside = int((codes < 0).sum())
    if outside:
        raise ColumnError(
            column.name,
            "must hold only the levels that the schema lists",
            got=f"{outside} values outside",
            hint="Correct the values or add the level.",
        )
    spelled = levels if known is None else known  # a type of its own stays: one person's spelling changes no type
    return spelled.gather(pl.Series(codes).replace(len(levels), None)).alias(column.name)


def levels_like(content: pl.Series, column: Column) -> pl.Series:
    """The declared levels in the column's own type; those of a prepared table always have one."""
    levels = _own_levels(content, column)
    if levels is None:
        raise ColumnError(
            column.name,
            "has declared levels of another type than its values",
            got=f"values of type {content.dtype.base_type()}",
            hint="Write the levels as the column has them (numbers without quotes, texts with).",
        )
    return levels


def _own_levels(content: pl.Series, column: Column) -> pl.Series | None:
    """The declared levels in the column's own type; None where that type can't hold them."""
    declared = pl.Series(column.name, list(column.levels or ()), strict=False)
    try:
        if content.dtype in (pl.Categorical, pl.Enum):
            return declared.cast(pl.String).cast(content.dtype)
        levels = declared.cast(content.dtype)
    except pl.exceptions.PolarsError:
        return None
    rounded = content.dtype.is_integer() and declared.dtype.is_float()  # a level of 1.5 is none of whole numbers
    return None if rounded and (levels.cast(declared.dtype) != declared).any() else levels


def unit_numbers(column: pl.Series) -> IntArray:
    """Equal values get equal numbers from 0 up; each missing value is a person of their own."""
    ranks = column.cast(pl.String).rank("dense").cast(pl.Int64).fill_null(0).to_numpy() - 1
    absent = np.flatnonzero(ranks < 0)
    numbers = ranks.astype(np.int64)
    numbers[absent] = numbers.max(initial=-1) + 1 + np.arange(len(absent))
    return numbers
