"""The cells of a table: its axes, and the rules between them.

`Domain.encode` turns rows into cells and `Domain.decode` cells into rows; `read` takes one person's values, as a query
gives them. A domain is `declared` if all of its axes are: then nothing in it tells of a person.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, Generator, IntArray
from shoal.domain.absence import coded
from shoal.domain.axis import Axis
from shoal.domain.declared import content_of, dated, declared_kind, each_of, numbers_of
from shoal.errors import InputError, ParameterError
from shoal.frame import Backend, Frame, enter
from shoal.schema import Column, Level, Schema
from shoal.schema.constraint import Rule

__all__ = ["Domain", "conformed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """The axes of some columns, the rules between them, and the kind of dataframe that rows come back as."""

    axes: tuple[Axis, ...]
    rules: tuple[Rule, ...] = ()
    backend: Backend = "polars"

    def __len__(self) -> int:
        return len(self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(axis.name for axis in self.axes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return tuple(axis.size for axis in self.axes)

    @property
    def declared(self) -> bool:
        """Whether all of it follows from the schema alone."""
        return all(axis.declared for axis in self.axes)

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

    def encode(self, table: Any, owner: str = "table") -> IntArray:
        """The cells of a table's rows, one column for each axis; what is wrong is said of all columns at once."""
        frame = enter(table)
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise InputError(owner, f"must have the column '{absent[0]}'")
        return self.encode_columns({name: content_of(frame, name) for name in self.names}, len(frame))

    def encode_columns(self, contents: Mapping[str, pl.Series], n: int) -> IntArray:
        """The cells of columns that are at hand."""
        columns = each_of(lambda axis: axis.encode(contents[axis.name]), self.axes)
        return np.asfortranarray(np.column_stack(columns)) if columns else np.empty((n, 0), dtype=np.int64)

    def decode(self, codes: IntArray, rng: Generator) -> pl.DataFrame:
        """Rows of values for rows of cells."""
        return pl.DataFrame([axis.decode(codes[:, j], rng) for j, axis in enumerate(self.axes)])

    def broken(self, rows: pl.DataFrame) -> BoolArray:
        """Which rows break a rule."""
        columns, codes = {name: rows[name] for name in rows.columns}, self.codes
        found = np.zeros(len(rows), dtype=np.bool_)
        for rule in self.rules:
            found |= rule.broken(columns, codes)
        return found

    @property
    def codes(self) -> dict[str, tuple[Level, ...]]:
        """The values of each column that stand for an absence."""
        return {axis.name: axis.reasons for axis in self.axes if axis.reasons}

    def uniform(self, n: int, rng: Generator) -> IntArray:
        """Rows drawn uniformly from the domain: they know nothing of the data."""
        columns = [rng.integers(0, size, n) for size in self.sizes]
        return np.asfortranarray(np.column_stack(columns)).astype(np.int64)

    def only(self, places: IntArray) -> Self:
        """Some of the axes, by their places."""
        return type(self)(axes=tuple(self.axes[int(j)] for j in places), backend=self.backend)

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of one person's values: it allows what `Axis.read` takes."""
        return {
            "type": "object",
            "properties": {axis.name: axis.json_schema() for axis in self.axes},
            "required": list(self.names),
            "additionalProperties": False,
        }

    def example(self) -> dict[str, Any]:
        """One person's values that fit."""
        return {axis.name: axis.example() for axis in self.axes}

    def to_dict(self) -> dict[str, Any]:
        """The domain as JSON-safe words; the kind of dataframe is the caller's affair and isn't among them."""
        return {
            "columns": [axis.to_dict() for axis in self.axes],
            "rules": [rule.to_dict() for rule in self.rules],
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Self:
        """Read a domain back from its words."""
        return cls(
            axes=tuple(Axis.from_dict(axis) for axis in words["columns"]),
            rules=tuple(Rule.from_dict(rule) for rule in words["rules"]),
        )


def conformed(frame: Frame, schema: Schema) -> pl.DataFrame:
    """The table with every column that has a public domain in its declared type; the others as they are.

    Numbers stay as exact as they are (floats, also of a `whole` column). What is no level or no number is an error that
    names all columns concerned.
    """
    declared = {c.name: c for c in schema.columns if c.role not in ("identifier", "unit", "weight")}
    read = dated(frame, schema)
    return pl.DataFrame(each_of(lambda name: _conformed(read, name, declared.get(name)), frame.columns))


def _conformed(frame: Frame, name: str, column: Column | None) -> pl.Series:
    if column is not None and column.levels is not None:
        axis = Axis.declare(column)
        return axis.decode(axis.encode(content_of(frame, name)))
    if column is not None and column.missing_codes and declared_kind(column) == "numeric":
        return coded(content_of(frame, name), replace(column, kind="numeric"))
    if column is not None and (column.bounds is not None or column.edges is not None):
        return pl.Series(name, numbers_of(content_of(frame, name))).fill_nan(None)
    try:
        return frame[name].to_polars().alias(name)
    except Exception:  # the library's message quotes cells, so it must not be shown
        return content_of(frame, name)
