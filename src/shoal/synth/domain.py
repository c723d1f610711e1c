"""The public domain of a table: every column as a short list of cells, fixed before the data are looked at.

A nominal or ordinal column has one cell for each declared level, a numeric one has bins: the schema's `edges`, or bins
of equal width within its `bounds`. A missing value has a cell of its own. Cells are numbered 0..C−1; all synthesis
works on these numbers, and `Domain.decode` turns them back into values: a level into itself, a bin into a uniform draw
from it (whole numbers stay whole).

Nothing here may be learnt from the data where a differential-privacy claim is made: a level that only the data know
would give away that somebody has it, and so would a type (`shoal.domain.declared`), an order of columns or a missing
cell that is there because somebody has one. Cells, types, order and missing cells follow from schema and parameters
alone. A column without a public domain is an error that names the remedy. Values that break the schema are an error
too, raised before anything is computed or paid: whoever sees it learns that the table breaks the schema, and claims say
so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from shoal.arrays import Generator, IntArray
from shoal.conform import check_columns, prepare
from shoal.domain import Axis, Domain
from shoal.domain.declared import content_of, declared_kind, each_of, numbers_of
from shoal.dp import ProtectedUnit
from shoal.dp.unit import rows_within
from shoal.errors import ColumnError, InputError, SchemaError
from shoal.frame import Backend, Frame, enter, series
from shoal.schema import Column, Schema
from shoal.schema.constraint import Rule
from shoal.synth.output import backend_of
from shoal.value import canonical

__all__ = ["Missing", "Settled", "settle"]

Missing = Literal["level", "refuse"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A table held to its public domain: the cells of its rows, and what was done, in words."""

    domain: Domain
    codes: IntArray
    notes: tuple[str, ...]

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)


def settle(
    table: Any,
    schema: Schema,
    *,
    bins: int,
    missing: Missing,
    public: bool,
    owner: str,
    unit: ProtectedUnit | None = None,
    rng: Generator | None = None,
) -> Settled:
    """Hold a table to the public domain that its schema declares.

    Parameters
    ----------
    bins
        Number of bins of a numeric column that declares bounds and no edges.
    missing
        ``"level"``: a missing value is a cell of its own; ``"refuse"``: it is an error.
    public
        True: the domain must be declared, and nothing but the cells follows from the data. False (no
        differential-privacy claim): what is not declared is read from the data.
    owner
        Who asks, for messages.
    unit, rng
        Who is protected: if the schema has a unit column, a person keeps no more than so many rows, drawn by `rng`.
    """
    kept, notes = _released(schema)
    if not kept:
        raise SchemaError(owner, "the schema must have a quasi, sensitive or other column with a public domain")
    _refuse_medians(kept, owner)
    frame = enter(table)
    if not public:
        return _read_from(frame, schema, kept, notes, bins, missing, backend_of(table))
    axes = tuple(each_of(lambda column: Axis.declare(column, bins, missing), kept))
    domain = Domain(axes=axes, rules=_rules(schema, axes), backend=backend_of(table))
    codes, rows = _cells(frame, schema, kept, domain)
    if schema.unit is not None and unit is not None and rng is not None:
        persons = canonical(content_of(frame, schema.unit)).gather(pl.Series(rows))
        codes = codes[rows_within(persons, codes, unit.rows, int(rng.integers(2**63)))]
        notes.append(f"{schema.unit}: of a person with more rows, {unit.rows} are kept at random")
    return Settled(domain=domain, codes=np.asfortranarray(codes), notes=(*notes, *_rule_notes(kept)))


def _rules(schema: Schema, axes: Sequence[Axis]) -> tuple[Rule, ...]:
    """The rules that speak of released columns only."""
    names = {axis.name for axis in axes}
    return tuple(rule for rule in schema.rules if names.issuperset(rule.columns))


def _cells(frame: Frame, schema: Schema, kept: Sequence[Column], domain: Domain) -> tuple[IntArray, IntArray]:
    """The cells of the rows that the rules for missing numbers leave, and the places of these rows."""
    check_columns(frame, schema)
    if len(frame) == 0:
        raise InputError("table", "must have at least one row", got="0 rows")
    contents = {column.name: content_of(frame, column.name) for column in kept}
    staying = np.ones(len(frame), dtype=np.bool_)
    for column in kept:
        if column.missing == "error" or declared_kind(column) != "numeric":
            continue
        values = numbers_of(contents[column.name])
        if column.missing == "drop":
            staying &= ~np.isnan(values)
        else:
            filled = np.where(np.isnan(values), float(column.missing), values)
            contents[column.name] = pl.Series(column.name, filled)
    rows = np.flatnonzero(staying)
    if len(rows) == 0:
        raise InputError(
            "table", "must have at least one row after those with missing numbers are dropped", got="0 rows"
        )
    left = {name: content.gather(pl.Series(rows)) for name, content in contents.items()}
    return domain.encode_columns(left, len(rows)), rows


def _read_from(
    frame: Frame, schema: Schema, kept: list[Column], notes: list[str], bins: int, missing: Missing, backend: Backend
) -> Settled:
    """A table with a domain that is partly read from it: for what carries no claim."""
    prepared = prepare(frame, _all_sensitive(schema, kept))
    contents = [(series(prepared.frame, column.name), prepared.schema[column.name]) for column in kept]
    axes = [_learnt(content, column, bins, missing) for content, column in contents]
    domain = Domain(axes=tuple(axes), rules=_rules(schema, axes), backend=backend)
    return Settled(domain=domain, codes=domain.encode(prepared.frame), notes=(*notes, *_rule_notes(kept)))


def _released(schema: Schema) -> tuple[list[Column], list[str]]:
    """The columns that can be synthesised, and words about those that can't."""
    kept, notes = [], []
    for column in schema.columns:
        declared = column.levels is not None or column.bounds is not None or column.edges is not None
        if column.role in ("quasi", "sensitive") or (column.role == "other" and declared):
            kept.append(column)
        elif column.role in ("other", "weight"):
            why = "it has no public domain" if column.role == "other" else "a synthetic row stands for itself"
            notes.append(f"{column.name}: left out, as {why}")
    return kept, notes


def _refuse_medians(columns: list[Column], owner: str) -> None:
    def refuse(column: Column) -> None:
        if column.missing == "median":
            raise ColumnError(
                column.name,
                "fills missing numbers with a median, which depends on other people's records",
                hint=f"{owner} keeps missing numbers as a separate cell: remove the rule, or declare a number.",
            )

    each_of(refuse, columns)


def _all_sensitive(schema: Schema, kept: list[Column]) -> Schema:
    """The schema by which missing numbers are let through and everything else is checked."""
    names = {column.name for column in kept}
    roles = [
        replace(column, role="sensitive") if column.name in names else replace(column, role="other")
        for column in schema.columns
    ]
    return Schema(tuple(roles))


def _rule_notes(columns: list[Column]) -> list[str]:
    """What the schema's rules for missing numbers say, whether or not a record needed them: nothing of the data."""
    said = []
    for column in columns:
        if column.missing == "drop":
            said.append(f"{column.name}: rows with a missing number are left out, as the schema says")
        elif column.missing != "error":
            said.append(f"{column.name}: a missing number is replaced by the declared one, as the schema says")
    return said


def _learnt(content: pl.Series, column: Column, bins: int, missing: Missing) -> Axis:
    axis = Axis.learn([content], column, bins, missing)
    if axis.n_known == 0:
        raise ColumnError(column.name, "has no values to derive levels from")
    return axis
