"""The public domain of a score's features: every feature as a short list of cells, fixed before the data are looked at.

A nominal or ordinal feature has one cell for each declared level and one for a missing value. A numeric one is cut by
thresholds, cell = number of thresholds ≤ x: the schema's inner `edges`, or equal cuts within its `bounds` (between the
whole numbers where the schema says `whole`, or says nothing and has whole bounds; only models that promise nothing look
at the column's type instead). A number outside the bounds is clipped to them, and `Features.clipped` says so. A missing
number follows the schema's rule.

Values are read by what the schema declares, not by the type that they came in (`shoal.domain`): 1, 1.0 and "1" are the
same level. A certified model has its features in the order of the schema, and needs every feature declared: a threshold
or level that only the data know would give a person away. Without a schema (models that promise nothing) ranges and
levels are read from the data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.conform import floats, kind_of
from shoal.domain import Axis, Domain, Missing
from shoal.domain.declared import content_of, declared_levels
from shoal.errors import ColumnError, InputError, ParameterError, SchemaError
from shoal.frame import Frame
from shoal.schema import Column, Schema
from shoal.value import plain

__all__ = ["Features", "features_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Features(Domain):
    """All features of a model, in order: their schema, and the way from values to cells."""

    def cells(self, values: Mapping[str, Any]) -> tuple[int, ...]:
        """The cells of one person's values; unknown and missing fields are named in the error."""
        if values.keys() != set(self.names):
            raise InputError("features", self._explained(values))
        return self.cells_of({axis.name: axis.read(values[axis.name])[0] for axis in self.axes})

    def cells_of(self, read: Mapping[str, Any]) -> tuple[int, ...]:
        """The cells of one person's values, each as `Axis.read` gave it."""
        return tuple(axis.cell(read[axis.name]) for axis in self.axes)

    def clipped(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Sentences about the values that lie outside their public bounds."""
        return tuple(note for axis in self.axes if (note := axis.read(values[axis.name])[1]))

    def rows(self, frame: Frame) -> tuple[IntArray, BoolArray]:
        """The cells of all rows, and which rows the schema's rules for missing numbers keep."""
        codes = self.encode(frame, "features")
        kept: BoolArray = np.asarray((codes >= 0).all(axis=1), dtype=np.bool_)
        return np.asfortranarray(np.maximum(codes, 0)), kept

    def question(self, place: int, cell: int) -> str:
        """The split of a feature at `cell`, in words: is the answer yes for the right branch?"""
        axis = self.axes[place]
        if axis.numeric:
            return f"{axis.name} ≥ {axis.cuts[cell - 1]:g}"
        return f"{axis.name} {'from' if axis.kind == 'ordinal' else '='} {axis.label(cell)}"

    def _explained(self, values: Mapping[str, Any]) -> str:
        unknown = [str(name)[:60] for name in values if name not in self.names]
        absent = [name for name in self.names if name not in values]
        parts = [f"missing field {', '.join(absent)}"] if absent else []
        return "; ".join([*parts, *([f"unknown field {', '.join(unknown)}"] if unknown else [])])

    def to_words(self) -> list[dict[str, Any]]:
        """The features as a model file has them."""
        return [_words(axis) for axis in self.axes]

    @classmethod
    def from_words(cls, words: Sequence[Mapping[str, Any]]) -> Features:
        """Read the features back from a model file."""
        return cls(axes=tuple(_from_words(entry) for entry in words))


def _words(axis: Axis) -> dict[str, Any]:
    words: dict[str, Any] = {"name": axis.name, "kind": axis.kind}
    if axis.levels is not None:
        return words | {"missing": "error", "levels": plain(axis.levels)}
    rule = "error" if axis.missing == "refuse" else axis.missing
    bounds = None if axis.bounds is None else list(axis.bounds)
    reasons = {"reasons": list(axis.reasons)} if axis.reasons else {}
    return words | {"missing": rule, "cuts": list(axis.cuts), "bounds": bounds, **reasons}


def _from_words(words: Mapping[str, Any]) -> Axis:
    name, kind, bounds = words["name"], words["kind"], words.get("bounds")
    if kind != "numeric":
        levels = declared_levels(Column(name=name, role="other", kind=kind, levels=tuple(words["levels"])))
        return Axis(name=name, kind=kind, levels=levels, declared=True)
    low, high = bounds or (-np.inf, np.inf)
    return Axis(
        name=name,
        kind=kind,
        edges=np.array([low, *words["cuts"], high], dtype=np.float64),
        bounds=None if bounds is None else (low, high),
        missing=_rule(words["missing"]),
        unknown="clip",
        reasons=tuple(words.get("reasons", ())),
        declared=True,
    )


def features_of(frame: Frame, schema: Schema | None, *, cuts: int, public: bool, owner: str) -> Features:
    """The features of a table's columns, each with the public domain that the schema declares for it."""
    if public and schema is None:
        hint = "Public levels, bounds or edges of every feature; thresholds from the data would break the promise."
        raise ParameterError(owner, "schema must be given", hint=hint)
    columns = [_column(schema, name) for name in _ordered(frame.columns, schema, public)]
    if public:
        axes = [_declared(column, cuts, owner) for column in columns]
    else:
        axes = [_learnt(content_of(frame, column.name), column, cuts) for column in columns]
    return Features(axes=tuple(axes))


def _ordered(names: Sequence[str], schema: Schema | None, public: bool) -> list[str]:
    """The features as the schema orders them; where nothing is promised, as the table does.

    A table made from records takes its order from the first person's. The unit says whose a row is, and is no feature.
    """
    if schema is None or not public:
        return list(names)
    places = {column.name: place for place, column in enumerate(schema.columns)}
    return sorted((name for name in names if name != schema.unit), key=lambda name: places.get(name, len(places)))


def _column(schema: Schema | None, name: str) -> Column:
    if schema is None:
        return Column(name=name, role="quasi")
    if name not in schema:
        raise SchemaError("schema", f"has no entry for the feature '{name}'", hint="Declare it, or drop it from X.")
    column = schema[name]
    if column.role in ("identifier", "unit", "weight"):
        rule = f"'{name}' has the role {column.role} and can't be a feature"
        raise SchemaError("schema", rule, hint="Drop it from X.")
    return column


def _declared(column: Column, cuts: int, owner: str) -> Axis:
    """A feature by its schema entry alone."""
    if column.missing == "median":
        hint = f'{owner} takes "drop" or a declared number.'
        rule = "fills missing numbers with a median, which depends on other people's records"
        raise ColumnError(column.name, rule, hint=hint)
    return _clipped(Axis.declare(column, cuts + 1), column.missing)


def _learnt(content: pl.Series, column: Column, cuts: int) -> Axis:
    axis = Axis.learn([content], replace(column, kind=kind_of(content, column)), cuts + 1)
    return _clipped(axis, _median(content) if column.missing == "median" and axis.numeric else column.missing)


def _clipped(axis: Axis, missing: Any) -> Axis:
    """Numbers outside the bounds are clipped, missing ones follow the schema; a missing category has its own cell."""
    return replace(axis, missing=_rule(missing), unknown="clip") if axis.numeric else axis


def _rule(missing: Literal["error", "drop", "level"] | float) -> Missing:
    return "refuse" if missing == "error" else missing


def _median(content: pl.Series) -> float:
    values = floats(content)
    return float(np.nanmedian(values)) if np.isfinite(values).any() else 0.0
