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

Synthetic rows in the kind of dataframe that the data came in.

Types are those of the domain, whichever rows were drawn: where a column can have missing values, pandas gets its
nullable types (Int64, boolean), so that one missing value doesn't turn whole numbers into floats; a date is a
`datetime.date`. A model that is read from a file gives Polars frames: the file says nothing of the dataframe that the
data came in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import narwhals as nw
import numpy as np
import polars as pl

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.conform import as_written, check_columns, prepare
from shoal.domain import Axis, Domain
from shoal.domain.absence import coded, numbers
from shoal.domain.declared import content_of, dated, declared_kind, each_of, numbers_of
from shoal.dp import ProtectedUnit
from shoal.dp.unit import rows_within
from shoal.errors import ColumnError, InputError, SchemaError
from shoal.frame import Backend, Frame, enter, series
from shoal.schema import Column, Schema
from shoal.schema.constraint import Rule
from shoal.synth.counts import RowCounts, Tabulated
from shoal.value import canonical

__all__ = ["ALL_DROPPED", "EncodedTable", "Missing", "PublicTable", "backend_of", "encode_table", "give"]

Missing = Literal["level", "refuse"]
ALL_DROPPED = "must have at least one row after those with missing numbers are dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodedTable:
    """A table held to its public domain: the cells of its rows, and what was done, in words."""

    domain: Domain
    codes: IntArray
    notes: tuple[str, ...]
    places: Mapping[int, FloatArray] = field(default_factory=dict)
    """Where in its bin each number lies, by the position of its column; NaN where there is none."""

    @property
    def counts(self) -> RowCounts:
        """The exact counts of its rows."""
        return RowCounts(codes=self.codes, sizes=self.domain.sizes, places=self.places)

    @property
    def tabulated(self) -> Tabulated:
        """The domain with the exact counts, which is all that a fit with data-set scope looks at."""
        return Tabulated(domain=self.domain, counts=self.counts, notes=self.notes)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)


def encode_table(
    table: Any,
    schema: Schema,
    *,
    bins: int,
    missing: Missing,
    public: bool,
    owner: str,
    unit: ProtectedUnit | None = None,
    rng: Generator | None = None,
) -> EncodedTable:
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
    frame = enter(table)
    if not public:
        return _read_from(frame, schema, bins, missing, owner, backend_of(table))
    held = PublicTable.of(schema, bins=bins, missing=missing, owner=owner, unit=unit)
    domain = replace(held.domain, backend=backend_of(table))
    check_columns(frame, schema)
    if len(frame) == 0:
        raise InputError("table", "must have at least one row", got="0 rows")
    codes, rows, places = held.cells(dated(frame, schema))
    if len(rows) == 0:
        raise InputError("table", ALL_DROPPED, got="0 rows")
    if schema.unit is not None and unit is not None and rng is not None:
        persons = canonical(content_of(frame, schema.unit)).gather(pl.Series(rows))
        stay = rows_within(persons, codes, unit.rows, int(rng.integers(2**63)))
        codes, places = codes[stay], {i: place[stay] for i, place in places.items()}
    return EncodedTable(domain=domain, codes=np.asfortranarray(codes), notes=held.notes, places=places)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicTable:
    """How rows are held to a public domain: nothing of it follows from the rows, so any part of them can be read."""

    columns: tuple[Column, ...]
    domain: Domain
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls, schema: Schema, *, bins: int, missing: Missing, owner: str, unit: ProtectedUnit | None = None
    ) -> PublicTable:
        """What a schema declares; a column without a public domain is an error."""
        kept, notes = _synthesized(schema, owner)
        axes = tuple(each_of(lambda column: Axis.declare(column, bins, missing), kept))
        if schema.unit is not None and unit is not None:
            notes.append(f"{schema.unit}: of a person with more rows, {unit.rows} are kept at random")
        domain = Domain(axes=axes, rules=_rules(schema, axes))
        return cls(columns=tuple(kept), domain=domain, notes=(*notes, *_rule_notes(kept)))

    def cells(self, frame: Frame) -> tuple[IntArray, IntArray, dict[int, FloatArray]]:
        """The cells of the rows that the rules for missing numbers leave, where these rows stand, and their places in
        bins."""
        return _cells(frame, self.columns, self.domain)


def _rules(schema: Schema, axes: Sequence[Axis]) -> tuple[Rule, ...]:
    """The rules that speak of released columns only."""
    names = {axis.name for axis in axes}
    return tuple(rule for rule in schema.rules if names.issuperset(rule.columns))


def _cells(frame: Frame, kept: Sequence[Column], domain: Domain) -> tuple[IntArray, IntArray, dict[int, FloatArray]]:
    contents = {column.name: content_of(frame, column.name) for column in kept}
    staying = np.ones(len(frame), dtype=np.bool_)
    for column in kept:
        if column.missing in ("error", "level") or declared_kind(column) != "numeric":
            continue
        values = _numbers(contents[column.name], column)
        if column.missing == "drop":
            staying &= ~np.isnan(values)
        else:
            filled = np.where(np.isnan(values), float(column.missing), values)
            contents[column.name] = pl.Series(column.name, filled)
    rows = np.flatnonzero(staying)
    left = {name: content.gather(pl.Series(rows)) for name, content in contents.items()}
    codes = domain.encode_columns(left, len(rows))
    numeric = [(i, axis) for i, axis in enumerate(domain.axes) if axis.levels is None and axis.edges is not None]
    return codes, rows, {i: axis.places(left[axis.name], codes[:, i]) for i, axis in numeric}


def _numbers(content: pl.Series, column: Column) -> FloatArray:
    """The numbers of a column; NaN where one is absent, for whatever reason."""
    own = replace(column, kind="numeric")
    return numbers(coded(content, own), own) if own.missing_codes else numbers_of(content)


def _read_from(frame: Frame, schema: Schema, bins: int, missing: Missing, owner: str, backend: Backend) -> EncodedTable:
    """A table with a domain that is partly read from it: for what carries no claim."""
    kept, notes = _synthesized(schema, owner)
    prepared = prepare(frame, _all_sensitive(schema, kept))
    written = as_written(prepared.frame, prepared.schema)
    contents = [(series(written, column.name), prepared.schema[column.name]) for column in kept]
    axes = [_learnt(content, column, bins, missing) for content, column in contents]
    domain = Domain(axes=tuple(axes), rules=_rules(schema, axes), backend=backend)
    return EncodedTable(domain=domain, codes=domain.encode(written), notes=(*notes, *_rule_notes(kept)))


def _synthesized(schema: Schema, owner: str) -> tuple[list[Column], list[str]]:
    """The columns that can be synthesised, at least one, without medians; and words about those that can't."""
    kept, notes = _released(schema)
    if not kept:
        raise SchemaError(owner, "the schema must have a quasi, sensitive or other column with a public domain")
    _refuse_medians(kept, owner)
    return kept, notes


def _released(schema: Schema) -> tuple[list[Column], list[str]]:
    """The columns that can be synthesised, and words about those that can't."""
    kept, notes = [], []
    for column in schema.columns:
        declared = column.levels is not None or column.bounds is not None or column.edges is not None
        if column.derived:
            notes.append(f"{column.name}: left out, as it follows from {' and '.join(column.derived)}")
        elif column.role in ("quasi", "sensitive") or (column.role == "other" and declared):
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
        elif column.missing not in ("error", "level"):
            said.append(f"{column.name}: a missing number is replaced by the declared one, as the schema says")
    return said


def _learnt(content: pl.Series, column: Column, bins: int, missing: Missing) -> Axis:
    axis = Axis.learn([content], column, bins, missing)
    if axis.n_known == 0:
        raise ColumnError(column.name, "has no values to derive levels from")
    return axis


def backend_of(table: Any) -> Backend:
    """Which kind of dataframe `table` is."""
    if isinstance(table, nw.DataFrame):
        return "narwhals"
    if isinstance(table, pl.LazyFrame):
        return "lazy"
    module = type(table).__module__.split(".")[0].lstrip("_")
    known = {"polars", "pandas", "pyarrow", "duckdb"}
    if module not in known:
        raise InputError("table", "must be a pandas, Polars or PyArrow table or a DuckDB relation", got=module)
    return cast(Backend, module)


def give(rows: pl.DataFrame, backend: Backend, nullable: Collection[str] = ()) -> Any:
    """The rows as a dataframe of that kind; `nullable` are the columns that can have missing values."""
    if backend == "lazy":
        return rows.lazy()
    if backend == "pandas":
        return _to_pandas(rows, nullable)
    if backend == "pyarrow":
        return rows.to_arrow()
    if backend == "duckdb":
        import duckdb

        return duckdb.from_arrow(rows.to_arrow())
    return nw.from_native(rows) if backend == "narwhals" else rows


def _to_pandas(rows: pl.DataFrame, nullable: Collection[str]) -> Any:
    out = rows.to_pandas()
    for column in rows:
        if column.name in nullable and column.dtype in (pl.Int64, pl.Boolean):
            out[column.name] = _with_missing(column)
        elif column.dtype == pl.Date:  # pandas has no such type, and would write a time of day
            out[column.name] = np.array(column.to_list(), dtype=object)
    return out


def _with_missing(column: pl.Series) -> Any:
    """A column of pandas' nullable type, exact where a float would not be."""
    import pandas as pd

    whole = column.dtype == pl.Int64
    values = pd.array(column.fill_null(0 if whole else False).to_numpy(), dtype="Int64" if whole else "boolean")
    values[column.is_null().to_numpy()] = pd.NA
    return values
