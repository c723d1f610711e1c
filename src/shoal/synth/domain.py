"""The public domain of a table: every column as a short list of cells, fixed before the data are looked at.

A nominal or ordinal column has one cell for each declared level, a numeric one has bins: the schema's `edges`, or bins
of equal width within its `bounds`. A missing value has a cell of its own. Cells are numbered 0..C−1; all synthesis
works on these numbers, and `Domain.decode` turns them back into values: a level into itself, a bin into a uniform draw
from it (whole numbers stay whole).

Nothing here may be learnt from the data where a differential-privacy claim is made: a level that only the data know
would give away that somebody has it, and so would a type (see `shoal.declared`), an order of columns or a missing cell
that is there because somebody has one. Cells, types, order and missing cells follow from schema and parameters alone. A
column without a public domain is an error that names the remedy. Values that break the schema are an error too, raised
before anything is computed or paid: whoever sees it learns that the table breaks the schema, and claims say so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.conform import check_columns, floats, prepare
from shoal.declared import (
    canonical,
    codes_of,
    content_of,
    declared_kind,
    declared_levels,
    each_of,
    is_whole,
    numbers_of,
)
from shoal.dp import ProtectedUnit
from shoal.dp.unit import rows_within
from shoal.errors import ColumnError, InputError, ParameterError, SchemaError
from shoal.frame import Frame, enter, series
from shoal.schema import Column, Kind, Schema
from shoal.schema.constraint import Rule
from shoal.synth.output import Backend, backend_of, dtype_named, dtype_word

__all__ = ["Axis", "Domain", "Missing", "Settled", "settle"]

Missing = Literal["level", "refuse"]
_ROLES = ("quasi", "sensitive", "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The cells of one column: `levels` in their own type, or the `edges` of bins; last comes the missing cell."""

    name: str
    kind: Kind
    levels: pl.Series | None
    edges: FloatArray | None
    whole: bool
    has_missing: bool
    dtype: pl.DataType

    @property
    def n_known(self) -> int:
        """Number of cells without the missing one."""
        if self.levels is not None:
            return len(self.levels)
        return 0 if self.edges is None else len(self.edges) - 1

    @property
    def size(self) -> int:
        """Number of cells C."""
        return self.n_known + self.has_missing

    def encode(self, content: pl.Series) -> IntArray:
        """The cell of each value; a value outside the domain is an error that names the column."""
        codes = codes_of(content, self.levels) if self.levels is not None else self._bin_codes(numbers_of(content))
        if not self.has_missing and (codes == self.n_known).any():
            raise _refused(self.name)
        outside = int((codes < 0).sum())
        if outside:
            raise ColumnError(
                self.name,
                "must hold only what its public domain lists",
                got=f"{outside} values outside",
                hint="Correct the values, or widen levels, bounds, edges or the rule for missing values.",
            )
        return codes

    def decode(self, codes: IntArray, rng: Generator) -> pl.Series:
        """Values for cells: levels as they are, bins by a uniform draw."""
        absent = codes >= self.n_known
        if self.levels is not None:
            place = pl.Series(np.where(absent, 0, codes))
            values = self.levels.gather(place).alias(self.name)
        else:
            values = self._unbinned(np.where(absent, 0, codes), rng)
        return values.set(pl.Series(absent), None) if absent.any() else values

    def _bin_codes(self, values: FloatArray) -> IntArray:
        """Bins are closed on the left, the last one on both sides; a missing number has the cell after them."""
        edges = self._edges
        codes = np.searchsorted(edges, values, side="right") - 1
        codes = np.where(values == edges[-1], len(edges) - 2, codes)
        inside = np.where((values >= edges[0]) & (values <= edges[-1]), codes, -1)
        return np.where(np.isnan(values), self.n_known, inside).astype(np.int64)

    def _unbinned(self, codes: IntArray, rng: Generator) -> pl.Series:
        edges = self._edges
        u = rng.random(len(codes))
        if not self.whole:
            low, high = edges[codes], edges[codes + 1]
            return pl.Series(self.name, low + (high - low) * u).cast(self.dtype)
        first, last = np.ceil(edges[:-1]), np.ceil(edges[1:]) - 1
        last[-1] = math.floor(edges[-1])
        whole = first[codes] + np.floor(u * (last - first + 1)[codes])
        return pl.Series(self.name, whole.astype(np.int64)).cast(self.dtype)

    @property
    def _edges(self) -> FloatArray:
        if self.edges is None:
            raise ColumnError(self.name, "has no bins")
        return self.edges

    def to_dict(self) -> dict[str, Any]:
        """The cells as JSON-safe words."""
        levels = None if self.levels is None else _plain_levels(self.levels)
        return {
            "name": self.name,
            "kind": self.kind,
            "dtype": dtype_word(self.dtype),
            "levels": levels,
            "edges": None if self.edges is None else self.edges.tolist(),
            "whole": self.whole,
            "missing": self.has_missing,
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Axis:
        """Read the cells back from their words."""
        dtype = dtype_named(words["dtype"], words["levels"])
        levels = words["levels"]
        return cls(
            name=words["name"],
            kind=words["kind"],
            levels=None if levels is None else pl.Series(words["name"], levels).cast(dtype),
            edges=None if words["edges"] is None else np.array(words["edges"], dtype=np.float64),
            whole=words["whole"],
            has_missing=words["missing"],
            dtype=dtype,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The public domain of all released columns, the rules between them, and the kind of dataframe to give back."""

    axes: tuple[Axis, ...]
    rules: tuple[Rule, ...]
    backend: Backend

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(axis.name for axis in self.axes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return tuple(axis.size for axis in self.axes)

    @property
    def nullable(self) -> tuple[str, ...]:
        """Names of the columns that can have missing values."""
        return tuple(axis.name for axis in self.axes if axis.has_missing)

    @property
    def n_cells(self) -> int:
        """Number of cells of the full cross-table."""
        return math.prod(self.sizes)

    def position(self, name: str, owner: str) -> int:
        """Where a column stands; a name that is not there is an error of `owner`."""
        if name not in self.names:
            raise ParameterError(owner, f"there is no released column '{name}'", hint=f"There are: {self.names}.")
        return self.names.index(name)

    def encode(self, table: Any) -> IntArray:
        """The cells of a table's rows, one column for each of the domain's."""
        frame = enter(table)
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise InputError("start rows", f"must have the column '{absent[0]}'")
        return self._stacked({axis.name: content_of(frame, axis.name) for axis in self.axes}, len(frame))

    def _stacked(self, contents: Mapping[str, pl.Series], n: int) -> IntArray:
        """The cells of all columns."""
        columns = each_of(lambda axis: axis.encode(contents[axis.name]), self.axes)
        return np.asfortranarray(np.column_stack(columns)) if columns else np.empty((n, 0), dtype=np.int64)

    def decode(self, codes: IntArray, rng: Generator) -> pl.DataFrame:
        """Rows of values for rows of cells."""
        return pl.DataFrame([axis.decode(codes[:, j], rng) for j, axis in enumerate(self.axes)])

    def broken(self, rows: pl.DataFrame) -> BoolArray:
        """Which rows break a rule."""
        columns = {name: rows[name] for name in rows.columns}
        found = np.zeros(len(rows), dtype=np.bool_)
        for rule in self.rules:
            found |= rule.broken(columns)
        return found

    def uniform(self, n: int, rng: Generator) -> IntArray:
        """Rows drawn uniformly from the domain: they know nothing of the data."""
        columns = [rng.integers(0, size, n) for size in self.sizes]
        return np.asfortranarray(np.column_stack(columns)).astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """The domain as JSON-safe words; the kind of dataframe is the caller's affair and isn't among them."""
        return {
            "columns": [axis.to_dict() for axis in self.axes],
            "rules": [rule.to_dict() for rule in self.rules],
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Domain:
        """Read a domain back from its words."""
        return cls(
            axes=tuple(Axis.from_dict(axis) for axis in words["columns"]),
            rules=tuple(Rule.from_dict(rule) for rule in words["rules"]),
            backend="polars",
        )


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
    kept, notes = _released(schema, public)
    if not kept:
        raise SchemaError(owner, "the schema must have a quasi, sensitive or other column with a public domain")
    _refuse_medians(kept, owner)
    frame = enter(table)
    if not public:
        return _read_from(frame, schema, kept, notes, bins, missing, backend_of(table))
    axes = tuple(_declared_axis(column, bins, missing == "level") for column in kept)
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


def _declared_axis(column: Column, bins: int, has_missing: bool) -> Axis:
    """The cells of a column by its schema entry alone."""
    if declared_kind(column) == "numeric":
        whole = is_whole(column)
        edges = _edges(column, column.bounds or (0.0, 1.0), bins, whole)
        return _binned(column.name, edges, whole=whole, has_missing=has_missing)
    return _levelled(replace(column, kind=declared_kind(column)), declared_levels(column), has_missing)


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
        raise InputError("table", "must have a row left after dropping those with missing numbers", got="0 rows")
    left = {name: content.gather(pl.Series(rows)) for name, content in contents.items()}
    return domain._stacked(left, len(rows)), rows


def _read_from(
    frame: Frame, schema: Schema, kept: list[Column], notes: list[str], bins: int, missing: Missing, backend: Backend
) -> Settled:
    """A table with a domain that is partly read from it: for what carries no claim."""
    prepared = prepare(frame, _all_sensitive(schema, kept))
    contents = [(series(prepared.frame, column.name), prepared.schema[column.name]) for column in kept]
    axes = [_axis(content, column, bins, missing == "level") for content, column in contents]
    domain = Domain(axes=tuple(axes), rules=_rules(schema, axes), backend=backend)
    return Settled(domain=domain, codes=domain.encode(prepared.frame), notes=(*notes, *_rule_notes(kept)))


def _refused(name: str) -> ColumnError:
    return ColumnError(name, "has missing values", hint="Set missing='level', or put a level in their place.")


def _released(schema: Schema, public: bool) -> tuple[list[Column], list[str]]:
    """The columns that can be synthesised, and words about those that can't."""
    kept, notes = [], []
    for column in schema.columns:
        declared = column.levels is not None or column.bounds is not None or column.edges is not None
        if column.role in ("quasi", "sensitive") or (column.role == "other" and declared):
            if public and not declared:
                raise _undeclared(column.name)
            kept.append(column)
        elif column.role in ("other", "weight"):
            why = "it has no public domain" if column.role == "other" else "a synthetic row stands for itself"
            notes.append(f"{column.name}: left out, as {why}")
    return kept, notes


def _undeclared(name: str) -> ColumnError:
    return ColumnError(
        name,
        "has no public domain, and one read from the data would break the promise",
        hint="Declare its levels (categories), or bounds or edges (numbers), from public knowledge.",
    )


def _refuse_medians(columns: list[Column], owner: str) -> None:
    for column in columns:
        if column.missing == "median":
            raise ColumnError(
                column.name,
                "fills missing numbers with a median, which other people's records decide",
                hint=f"{owner} keeps a missing number as a cell of its own: drop the rule, or declare a number.",
            )


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


def _axis(content: pl.Series, column: Column, bins: int, has_missing: bool) -> Axis:
    """The cells of a column, with what is not declared read from its content."""
    if column.kind != "numeric":
        levels = declared_levels(column) if column.levels is not None else _levels_found(content)
        return _levelled(column, levels, has_missing)
    whole = content.dtype.is_integer() if column.whole is None else column.whole
    bounds = (0.0, 1.0) if column.edges is not None else column.bounds or _range(content)
    return _binned(column.name, _edges(column, bounds, bins, whole), whole=whole, has_missing=has_missing)


def _binned(name: str, edges: FloatArray, *, whole: bool, has_missing: bool) -> Axis:
    dtype = pl.Int64() if whole else pl.Float64()
    return Axis(name=name, kind="numeric", levels=None, edges=edges, whole=whole, has_missing=has_missing, dtype=dtype)


def _levelled(column: Column, levels: pl.Series, has_missing: bool) -> Axis:
    return Axis(
        name=column.name,
        kind=column.kind or "nominal",
        levels=levels,
        edges=None,
        whole=False,
        has_missing=has_missing,
        dtype=levels.dtype,
    )


def _levels_found(content: pl.Series) -> pl.Series:
    found = content.drop_nulls().unique()
    if len(found) == 0:
        raise ColumnError(content.name, "has no value to take levels from")
    return found.gather(found.cast(pl.String).arg_sort()) if found.dtype in (pl.Categorical, pl.Enum) else found.sort()


def _edges(column: Column, bounds: tuple[float, float], bins: int, whole: bool) -> FloatArray:
    if column.edges is not None:
        edges = np.array(column.edges, dtype=np.float64)
        return _with_whole_numbers(edges) if whole else edges
    low, high = bounds
    if not whole:
        return np.linspace(low, high, bins + 1)
    first, last = math.ceil(low), math.floor(high)
    if first > last:
        raise ColumnError(column.name, "has bounds with no whole number between them")
    return np.linspace(first - 0.5, last + 0.5, min(bins, last - first + 1) + 1)


def _range(content: pl.Series) -> tuple[float, float]:
    values = floats(content)
    values = values[~np.isnan(values)]
    if len(values) == 0:
        raise ColumnError(content.name, "has no number to take a range from")
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _with_whole_numbers(edges: FloatArray) -> FloatArray:
    """The edges without those that would leave a bin with no whole number in it."""
    kept = [edges[0]]
    for edge in edges[1:-1]:
        if math.ceil(edge) > math.ceil(kept[-1]):
            kept.append(edge)
    while len(kept) > 1 and math.floor(edges[-1]) < math.ceil(kept[-1]):
        kept.pop()
    return np.array([*kept, edges[-1]])


def _plain_levels(levels: pl.Series) -> list[Any]:
    simple = levels.dtype.is_numeric() or levels.dtype == pl.Boolean
    return levels.to_list() if simple else levels.cast(pl.String).to_list()
