"""The public domain of a score's features: every feature as a short list of cells, fixed before the data are looked at.

A nominal or ordinal feature has one cell for each declared level and one for a missing value. A numeric one is cut by
thresholds, cell = number of thresholds ≤ x: the schema's inner `edges`, or equal cuts within its `bounds` (between the
whole numbers where the schema says `whole`, or says nothing and has whole bounds; only models that promise nothing look
at the column's type instead). A number outside the bounds is clipped to them, and `Features.clipped` says so. A missing
number follows the schema's rule.

Values are read by what the schema declares, not by the type that they came in (`shoal.declared`): 1, 1.0 and "1" are
the same level. A certified model has its features in the order of the schema, and needs every feature declared: a
threshold or level that only the data know would give a person away. Without a schema (models that promise nothing)
ranges and levels are read from the data.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.conform import floats, kind_of
from shoal.declared import codes_of, content_of, declared_kind, declared_levels, each_of, is_whole, numbers_of
from shoal.errors import ColumnError, InputError, ParameterError, SchemaError
from shoal.frame import Frame
from shoal.schema import Column, Kind, Missing, Schema

__all__ = ["Feature", "Features", "settle"]

Level = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """The cells of one feature: `levels` and a missing cell, or the bins between `cuts`."""

    name: str
    kind: Kind
    levels: tuple[Level, ...] = ()
    cuts: tuple[float, ...] = ()
    bounds: tuple[float, float] | None = None
    missing: Missing = "error"

    @property
    def numeric(self) -> bool:
        """Whether it is cut by thresholds."""
        return self.kind == "numeric"

    @property
    def size(self) -> int:
        """Number of cells."""
        return len(self.cuts) + 1 if self.numeric else len(self.levels) + 1

    @property
    def n_ordered(self) -> int:
        """How many of the cells, from the first, stand in an order; 0 for a nominal feature."""
        return {"numeric": self.size, "ordinal": len(self.levels), "nominal": 0}[self.kind]

    def cell(self, value: object) -> int:
        """The cell of one value; raises a ColumnError without quoting it."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return self._missing_cell()
        if self.numeric:
            return bisect_right(self.cuts, self._number(value))
        for code, level in enumerate(self.levels):
            if level == value and isinstance(level, str) == isinstance(value, str):
                return code
        raise ColumnError(self.name, "must be one of the public levels", hint=f"They are: {_few(self.levels)}.")

    def outside(self, value: object) -> bool:
        """Whether a number lies outside the public bounds, so that it is clipped."""
        if self.bounds is None or not self.numeric or isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return not self.bounds[0] <= value <= self.bounds[1]

    def cells(self, content: pl.Series) -> IntArray:
        """The cells of a column; −1 where the schema drops the row."""
        return self._bins(content) if self.numeric else self._level_cells(content)

    def label(self, cell: int) -> str:
        """What a cell holds, in words."""
        if not self.numeric:
            return str(self.levels[cell]) if cell < len(self.levels) else "missing"
        if not self.cuts:
            return "any number"
        if cell == 0:
            return f"below {self.cuts[0]:g}"
        if cell == self.size - 1:
            return f"{self.cuts[-1]:g} and above"
        return f"{self.cuts[cell - 1]:g} to {self.cuts[cell]:g}"

    def question(self, cell: int) -> str:
        """The split at `cell`, in words: is the answer yes for the right branch?"""
        if self.numeric:
            return f"{self.name} ≥ {self.cuts[cell - 1]:g}"
        return f"{self.name} from {self.label(cell)}" if self.kind == "ordinal" else f"{self.name} = {self.label(cell)}"

    def _number(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise ColumnError(self.name, "must be a number", got=type(value).__name__)
        if not math.isfinite(value):
            raise ColumnError(self.name, "must be a finite number")
        return float(value)

    def _missing_cell(self) -> int:
        if not self.numeric:
            return len(self.levels)
        if self.missing in ("error", "drop", "median"):
            raise ColumnError(self.name, "must be given: the schema names no number to put in its place")
        return bisect_right(self.cuts, float(self.missing))

    def _bins(self, content: pl.Series) -> IntArray:
        values = numbers_of(content)
        if np.isinf(values).any():
            raise ColumnError(self.name, "must hold finite numbers (infinity found)")
        absent = np.isnan(values)
        if absent.any():
            values = np.where(absent, self._filler(int(absent.sum())), values)
        codes = np.searchsorted(np.array(self.cuts), values, side="right").astype(np.int64)
        return np.where(absent & (self.missing == "drop"), -1, codes)

    def _filler(self, count: int) -> float:
        if self.missing == "error":
            raise ColumnError(
                self.name,
                "has missing numbers (NaN) and the schema has no rule for them",
                got=f"{count} missing",
                hint='Set missing = "drop" or missing = a number to put there.',
            )
        return 0.0 if self.missing in ("drop", "median") else float(self.missing)

    def _level_cells(self, content: pl.Series) -> IntArray:
        column = Column(name=self.name, role="other", kind=self.kind, levels=self.levels)
        found = codes_of(content, declared_levels(column))
        outside = int((found < 0).sum())
        if outside:
            raise ColumnError(
                self.name,
                "must hold only the public levels",
                got=f"{outside} values outside",
                hint="Correct the values or add the level to the schema.",
            )
        return found

    def to_dict(self) -> dict[str, Any]:
        """The feature as JSON-safe words."""
        words: dict[str, Any] = {"name": self.name, "kind": self.kind, "missing": self.missing}
        if not self.numeric:
            return words | {"levels": list(self.levels)}
        return words | {"cuts": list(self.cuts), "bounds": None if self.bounds is None else list(self.bounds)}

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Feature:
        """Read a feature back from its words."""
        bounds = words.get("bounds")
        return cls(
            name=words["name"],
            kind=words["kind"],
            levels=tuple(words.get("levels", ())),
            cuts=tuple(words.get("cuts", ())),
            bounds=None if bounds is None else (bounds[0], bounds[1]),
            missing=words["missing"],
        )


@dataclass(frozen=True, slots=True)
class Features:
    """All features of a model, in order: their schema, and the way from values to cells."""

    items: tuple[Feature, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(feature.name for feature in self.items)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each."""
        return tuple(feature.size for feature in self.items)

    def __len__(self) -> int:
        return len(self.items)

    def only(self, places: IntArray) -> Features:
        """Some of them, by their places."""
        return Features(tuple(self.items[int(j)] for j in places))

    def cells(self, values: Mapping[str, Any]) -> tuple[int, ...]:
        """The cells of one person's values; unknown and missing fields are named in the error."""
        if values.keys() != set(self.names):
            raise InputError("features", self._complaint(values))
        return tuple(feature.cell(values[feature.name]) for feature in self.items)

    def clipped(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Sentences about the values that lie outside their public bounds."""
        return tuple(
            f"{feature.name}: outside the public bounds {_span(feature.bounds)}, and clipped to them"
            for feature in self.items
            if feature.bounds is not None and feature.outside(values.get(feature.name))
        )

    def encode(self, frame: Frame) -> tuple[IntArray, BoolArray]:
        """The cells of all rows, and which rows the schema's rules for missing numbers keep."""
        absent = [name for name in self.names if name not in frame.columns]
        if absent:
            raise InputError("features", f"must have the column '{absent[0]}'")
        columns = each_of(lambda feature: feature.cells(content_of(frame, feature.name)), self.items)
        codes = np.column_stack(columns)
        kept: BoolArray = np.asarray((codes >= 0).all(axis=1), dtype=np.bool_)
        return np.asfortranarray(np.maximum(codes, 0)), kept

    def _complaint(self, values: Mapping[str, Any]) -> str:
        unknown = [str(name)[:60] for name in values if name not in self.names]
        absent = [name for name in self.names if name not in values]
        parts = [f"missing field {', '.join(absent)}"] if absent else []
        return "; ".join([*parts, *([f"unknown field {', '.join(unknown)}"] if unknown else [])])

    def to_dict(self) -> list[dict[str, Any]]:
        """The features as JSON-safe words."""
        return [feature.to_dict() for feature in self.items]

    @classmethod
    def from_dict(cls, words: Sequence[Mapping[str, Any]]) -> Features:
        """Read the features back from their words."""
        return cls(tuple(Feature.from_dict(entry) for entry in words))

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of one person's values, for forms and services."""
        return {
            "type": "object",
            "properties": {feature.name: _property(feature) for feature in self.items},
            "required": list(self.names),
            "additionalProperties": False,
        }


def settle(frame: Frame, schema: Schema | None, *, cuts: int, public: bool, owner: str) -> Features:
    """The features of a table's columns, each with the public domain that the schema declares for it."""
    if public and schema is None:
        hint = "Public levels, bounds or edges of every feature; thresholds from the data would break the promise."
        raise ParameterError(owner, "schema must be given", hint=hint)
    columns = [_column(schema, name) for name in _ordered(frame.columns, schema, public)]
    return Features(tuple(_feature(content_of(frame, c.name), c, cuts, public, owner) for c in columns))


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
        raise SchemaError("schema", f"has no entry for the feature '{name}'", hint="Declare it, or leave it out of X.")
    column = schema[name]
    if column.role in ("identifier", "unit", "weight"):
        rule = f"'{name}' has the role {column.role} and can't be a feature"
        raise SchemaError("schema", rule, hint="Leave it out of X.")
    return column


def _feature(content: pl.Series, column: Column, cuts: int, public: bool, owner: str) -> Feature:
    declared = column.levels is not None or column.bounds is not None or column.edges is not None
    if public and not declared:
        raise ColumnError(
            column.name,
            "has no public domain, and one read from the data would break the promise",
            hint="Declare its levels (categories), or bounds or edges (numbers), from public knowledge.",
        )
    if public and column.missing == "median":
        hint = f'{owner} takes "drop" or a declared number.'
        rule = "fills missing numbers with a median, which other people's records decide"
        raise ColumnError(column.name, rule, hint=hint)
    kind = declared_kind(column) or kind_of(content, column)
    return _numeric(content, column, cuts, public) if kind == "numeric" else _category(content, column, kind)


def _numeric(content: pl.Series, column: Column, cuts: int, public: bool) -> Feature:
    missing = _median(content) if column.missing == "median" else column.missing
    if column.edges is not None:
        inner, bounds = column.edges[1:-1], (column.edges[0], column.edges[-1])
    else:
        bounds = column.bounds or _range(content)
        inner = tuple(_equal_cuts(*bounds, cuts, _whole(content, column, public)))
    return Feature(
        name=column.name, kind="numeric", cuts=tuple(float(cut) for cut in inner), bounds=bounds, missing=missing
    )


def _whole(content: pl.Series, column: Column, public: bool) -> bool:
    """Whether a number is whole: as declared, else by its bounds; by the data's type only where nothing is promised.

    One person with 3.5 in a column of whole numbers changes its type, and would move every published cut.
    """
    if column.whole is not None or (public and column.bounds is not None):
        return is_whole(column)
    return content.dtype.is_integer()


def _equal_cuts(low: float, high: float, cuts: int, whole: bool) -> FloatArray:
    """Equal cuts; between the whole numbers, and no finer, where the column holds those."""
    if whole:
        first, last = math.ceil(low), math.floor(high)
        bins = max(1, min(cuts + 1, last - first + 1))
        return np.linspace(first - 0.5, last + 0.5, bins + 1)[1:-1]
    return np.linspace(low, high, cuts + 2)[1:-1]


def _range(content: pl.Series) -> tuple[float, float]:
    values = floats(content)
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return (0.0, 1.0)
    low, high = float(values.min()), float(values.max())
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _median(content: pl.Series) -> float:
    values = floats(content)
    return float(np.nanmedian(values)) if np.isfinite(values).any() else 0.0


def _category(content: pl.Series, column: Column, kind: Kind) -> Feature:
    levels = column.levels
    if levels is None:
        found = content.drop_nulls()
        if found.dtype in (pl.Categorical, pl.Enum) or found.dtype.is_temporal():
            found = found.cast(pl.String)
        levels = tuple(found.unique().sort().to_list())
    return Feature(name=column.name, kind=kind, levels=levels, missing="error")


def _property(feature: Feature) -> dict[str, Any]:
    if not feature.numeric:
        return {"enum": [*feature.levels, None], "description": "null is a missing value"}
    given = feature.missing not in ("error", "drop", "median")
    words: dict[str, Any] = {"type": ["number", "null"] if given else "number"}
    if feature.bounds is not None:
        words["description"] = f"public bounds {_span(feature.bounds)}; numbers outside are clipped"
    return words


def _span(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:g} to {bounds[1]:g}"


def _few(levels: Sequence[Level]) -> str:
    shown = ", ".join(str(level) for level in levels[:20])
    return shown + (", …" if len(levels) > 20 else "")
