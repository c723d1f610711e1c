"""The three tables of market risk: members with their costs, the existing market, and a new one.

Members are held to the schema like any table. Market tables come from elsewhere (a census, another file): they need
the quasi-identifiers and may have the weight column; whatever else they hold is left aside. Market tables are public
demographics, so an error about them names the levels it found; an error about members never does.

Sums of values by place: the one operation that tables, cells and levels share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import floats, prepare
from shoal.domain.declared import declared_levels
from shoal.errors import ColumnError, InputError, SchemaError
from shoal.frame import Frame, enter, series
from shoal.schema import Column, Kind, Schema
from shoal.value import canonical, unknown_levels

__all__ = [
    "LEAST_MEMBERS",
    "MEMBERS",
    "Members",
    "People",
    "named",
    "ratio",
    "read_market",
    "read_members",
    "sums_by",
    "with_kinds",
]

MEMBERS = "members"
LEAST_MEMBERS = 30
"""Fewer members say nothing about a market."""


@dataclass(frozen=True, slots=True, kw_only=True)
class People:
    """A table held to the schema: its frame, the survey weight of each row, and which rows of the input are left."""

    owner: str
    frame: Frame
    weights: FloatArray
    rows: IntArray
    n_original: int

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def public(self) -> bool:
        """Whether an error may name its levels: markets yes, members never."""
        return self.owner != MEMBERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Members(People):
    """People whose cost is known."""

    schema: Schema
    response: str
    costs: FloatArray


def read_members(table: Any, schema: Schema, response: str | None = None) -> Members:
    """Hold the members to the schema; a release is taken as its table."""
    frame = enter(_table_of(table), owner=MEMBERS)
    name = _response(schema, response)
    columns = [c for c in schema.columns if c.role in ("quasi", "weight") or c.name == name]
    _check_columns(MEMBERS, frame, [column.name for column in columns])
    _check_quasi(schema)
    prepared = prepare(frame.select([column.name for column in columns]), Schema(tuple(columns)))
    weights = prepared.weights()
    costs = floats(series(prepared.frame, name))
    _check_costs(name, costs)
    return Members(
        owner=MEMBERS,
        frame=prepared.frame,
        weights=np.ones(prepared.n) if weights is None else weights,
        rows=prepared.rows,
        n_original=prepared.n_original,
        schema=prepared.schema,
        response=name,
        costs=costs,
    )


def read_market(table: Any, schema: Schema, owner: str) -> People:
    """Hold a market table to the quasi-identifiers of a schema whose kinds are known."""
    frame = enter(table, owner=owner)
    _check_columns(owner, frame, schema.quasi)
    weighted = schema.weight is not None and schema.weight in frame.columns
    names = [*schema.quasi, *([schema.weight] if weighted and schema.weight else [])]
    _check_levels(owner, frame, schema)
    relaxed = Schema(tuple(replace(schema[name], levels=None) for name in names))
    try:
        prepared = prepare(frame.select(names), relaxed)
    except ColumnError as error:
        raise ColumnError(error.column, f"in the {owner} {error.rule}", got=error.got, hint=error.hint) from None
    except InputError as error:
        raise InputError(owner, error.rule, got=error.got, hint=error.hint) from None
    weights = prepared.weights()
    return People(
        owner=owner,
        frame=prepared.frame,
        weights=np.ones(prepared.n) if weights is None else weights,
        rows=prepared.rows,
        n_original=prepared.n_original,
    )


def with_kinds(table: Any, schema: Schema, owner: str) -> Schema:
    """The quasi-identifiers and the weight of `schema`, with the kinds that `table` shows where none are declared."""
    frame = enter(table, owner=owner)
    _check_quasi(schema)
    _check_columns(owner, frame, schema.quasi)
    names = [c.name for c in schema.columns if c.role in ("quasi", "weight") and c.name in frame.columns]
    relaxed = Schema(tuple(replace(schema[name], missing="median", bounds=None, levels=None) for name in names))
    kinds = prepare(frame.select(names), relaxed).schema
    columns = (c for c in schema.columns if c.role in ("quasi", "weight"))
    return Schema(tuple(replace(c, kind=c.kind or _kind(c, kinds)) for c in columns))


def named(levels: Sequence[str], most: int = 5) -> str:
    """The first few levels, quoted, and how many more there are."""
    shown = ", ".join(f"'{level[:30]}'" for level in levels[:most])
    return shown if len(levels) <= most else f"{shown} and {len(levels) - most} more"


def _table_of(members: Any) -> Any:
    """A release stands for its table (told by its shape, since releases are made two layers above)."""
    known = isinstance(members, nw.DataFrame | nw.LazyFrame) or nw.dependencies.is_into_dataframe(members)
    return members if known else getattr(members, "table", members)


def _kind(column: Column, kinds: Schema) -> Kind:
    if column.role == "weight" or column.bounds is not None:
        return "numeric"
    if column.levels is not None:
        return "ordinal"
    return kinds[column.name].kind or "nominal"


def _response(schema: Schema, response: str | None) -> str:
    if response is not None:
        if response not in schema.sensitive:
            raise SchemaError("schema", f"the response '{response}' must be a sensitive column")
        return response
    numeric = [name for name in schema.sensitive if schema[name].kind in (None, "numeric")]
    if len(numeric) != 1:
        raise SchemaError(
            "schema",
            "must have one numeric sensitive column, the cost",
            got=f"{len(numeric)}",
            hint="Name the cost with response=COLUMN.",
        )
    return numeric[0]


def _check_columns(owner: str, frame: Frame, names: Sequence[str]) -> None:
    for name in names:
        if name not in frame.columns:
            raise SchemaError(owner, f"must have the column '{name}'", hint="Correct its name, or the schema's.")
    if len(frame) == 0:
        raise InputError(owner, "must have at least one row", got="0 rows")


def _check_quasi(schema: Schema) -> None:
    if not schema.quasi:
        raise SchemaError("schema", "must name at least one quasi-identifier, the covariates of the shift")


def _check_costs(name: str, costs: FloatArray) -> None:
    absent = int(np.isnan(costs).sum())
    if absent:
        raise ColumnError(
            name,
            "has missing numbers and the schema has no rule for them",
            got=f"{absent} missing",
            hint='Set missing = "drop" (drop those members), missing = "median", or missing = a number.',
        )
    if len(costs) < LEAST_MEMBERS:
        raise InputError(MEMBERS, f"must be at least {LEAST_MEMBERS}", got=f"{len(costs)}")


def _check_levels(owner: str, frame: Frame, schema: Schema) -> None:
    for name in schema.quasi:
        column = schema[name]
        if column.levels is None or column.kind == "numeric":
            continue
        declared = declared_levels(column)
        strange = unknown_levels(series(frame, name), declared)
        if strange:
            raise ColumnError(
                name,
                f"must hold only levels listed in the schema in the {owner}",
                got=f"{len(strange)} others" if owner == MEMBERS else named(strange),
                hint=f"Code all files in the same way; the schema lists {named(sorted(canonical(declared)), 12)}.",
            )


def sums_by(place: IntArray, values: FloatArray, n: int) -> FloatArray:
    """The sum of `values` at each of the places 0..n-1."""
    return np.bincount(place, weights=values, minlength=n).astype(np.float64)


def ratio(q: FloatArray, p: FloatArray) -> FloatArray:
    """q / p, and 0 where p is 0."""
    out: FloatArray = np.divide(q, p, out=np.zeros_like(q), where=p > 0)
    return out
