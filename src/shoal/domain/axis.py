"""One column as a short list of cells, or as a number: the one place where a value meets its code.

An axis has `levels`, or the `edges` of bins, or neither: then its code is the number itself. Cells are numbered from 0.
What is done with values that are none of these is an argument, not a habit of the caller:

- *missing*: ``"level"``, a cell of its own after the last; ``"refuse"``, an error; ``"drop"``, the code −1, for the
  caller to leave the row out; or a number to put in its place;
- *unknown* (no level, or outside the edges): ``"refuse"``, an error; ``"clip"``, the nearest bin; ``"missing"``, as if
  it were missing;
- *reasons*: values that stand for an absence (−8, "not applicable"): one more cell each, after the missing one.

Levels meet values as `shoal.value` says: 1, 1.0 and "1" are one level, in a table, in a file and in a query.

An axis made by `Axis.declare` follows from its schema entry and nothing else: the function is given no data, so that no
person can change it. `Axis.learn` reads from the data what the entry leaves open, and `declared` says so.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.domain.bins import equal_edges, labels_of, places_in, values_in, warped, whole_numbers
from shoal.domain.declared import (
    declared_kind,
    declared_levels,
    floats,
    is_whole,
    learn_levels,
    learn_range,
    numbers_of,
    type_named,
    type_word,
)
from shoal.errors import ColumnError
from shoal.schema import Column, Kind, Level
from shoal.value import codes_of, identity, plain, same_as, spelled, spellings, text_of

__all__ = ["Axis", "Missing", "Unknown"]

Missing: TypeAlias = Literal["level", "refuse", "drop"] | float
Unknown = Literal["refuse", "clip", "missing"]
Value: TypeAlias = float | str | bool | None
_NUMBERS = (int, float, np.integer, np.floating)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Axis:
    """The cells of one column.

    Parameters
    ----------
    levels, edges
        The levels in their own type, or the edges of bins, ends included. Neither: the code is the number itself.
    closed
        Which end belongs to a bin: ``"left"`` (the last one has both) or ``"right"`` (the first one has both).
    bounds, whole
        The public range of a number, and whether it is written whole.
    missing, unknown, reasons
        See the module.
    declared
        Whether all of it follows from the schema alone.
    within
        For each bin the shares of its equal parts, where numbers are not drawn evenly from it.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema import Column
    >>> stage = Axis.declare(Column(name="stage", role="quasi", levels=(1, 2, 3)))
    >>> stage.encode(pl.Series("stage", ["1", "3.0", None])).tolist()
    [0, 2, 3]
    """

    name: str
    kind: Kind
    levels: pl.Series | None = None
    edges: FloatArray | None = None
    closed: Literal["left", "right"] = "left"
    bounds: tuple[float, float] | None = None
    whole: bool = False
    missing: Missing = "level"
    unknown: Unknown = "refuse"
    reasons: tuple[Level, ...] = ()
    declared: bool = False
    within: tuple[FloatArray, ...] | None = None
    _index: dict[Hashable, int] = field(default_factory=dict, init=False, repr=False)
    _plain_edges: list[tuple[float, float, tuple[float, ...]]] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def declare(cls, column: Column, bins: int = 10, missing: Missing = "level", unknown: Unknown = "refuse") -> Axis:
        """The axis of a column by its schema entry alone; bounds without edges are cut into `bins` bins."""
        kind = declared_kind(column)
        if kind is None or _is_open(column):
            raise ColumnError(
                column.name,
                "has no public domain, and one derived from the data would void the guarantee",
                hint="Declare its levels (categories), or bounds or edges (numbers), from public knowledge.",
            )
        if kind == "numeric":
            axis = cls._binned(column, column.bounds, bins, is_whole(column))
        else:
            axis = cls(name=column.name, kind=kind, levels=declared_levels(column))
        return replace(axis, missing=missing, unknown=unknown, reasons=_reasons(column, kind), declared=True)

    @classmethod
    def learn(
        cls,
        contents: Sequence[pl.Series],
        column: Column,
        bins: int = 10,
        missing: Missing = "level",
        unknown: Unknown = "refuse",
    ) -> Axis:
        """The axis of a column whose kind is known; what its entry leaves open is read from the data.

        Levels are those that occur in any of `contents`, in sorted order; bins lie between the least and the largest
        number of the first, which also tells by its type whether numbers are whole.
        """
        is_declared = not _is_open(column) and (column.kind != "numeric" or column.whole is not None)
        reasons = _reasons(column, column.kind)
        contents = [_without(content, reasons) for content in contents] if reasons else contents
        if column.kind == "numeric":
            bounds = None if column.edges is not None else column.bounds or learn_range(contents[0])
            whole = contents[0].dtype.is_integer() if column.whole is None else column.whole
            axis = cls._binned(column, bounds, bins, whole)
        else:
            levels = declared_levels(column) if column.levels is not None else learn_levels(contents, column)
            axis = cls(name=column.name, kind=column.kind or "nominal", levels=levels)
        return replace(axis, missing=missing, unknown=unknown, reasons=reasons, declared=is_declared)

    @classmethod
    def cut(cls, name: str, cuts: FloatArray) -> Axis:
        """Bins of all numbers: bin j holds cuts[j−1] < x ≤ cuts[j]."""
        return cls(name=name, kind="numeric", edges=np.array([-np.inf, *cuts, np.inf]), closed="right")

    @classmethod
    def _binned(cls, column: Column, bounds: tuple[float, float] | None, bins: int, whole: bool) -> Axis:
        if column.edges is not None:
            bounds = column.edges[0], column.edges[-1]
        ends = bounds or (0.0, 1.0)
        edges = equal_edges(column, ends, bins, whole)
        return cls(name=column.name, kind="numeric", edges=edges, bounds=ends, whole=whole)

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers, in bins or as they are."""
        return self.levels is None

    @property
    def n_known(self) -> int:
        """Number of levels or bins."""
        if self.levels is not None:
            return len(self.levels)
        return 0 if self.edges is None else len(self.edges) - 1

    @property
    def has_missing(self) -> bool:
        """Whether a missing value has a cell of its own, number `n_known`."""
        return self.missing == "level"

    @property
    def missing_cell(self) -> int | None:
        """The number of the missing value's cell, if it has one."""
        return self.n_known if self.has_missing else None

    @property
    def size(self) -> int:
        """Number of cells."""
        return self.n_known + self.has_missing + len(self.reasons)

    @property
    def n_ordered(self) -> int:
        """How many of the cells, from the first, stand in an order; 0 for a nominal column."""
        return 0 if self.kind == "nominal" else self.n_known

    @property
    def cuts(self) -> tuple[float, ...]:
        """The edges between bins."""
        return () if self.edges is None else self._ends_and_cuts()[2]

    def _ends_and_cuts(self) -> tuple[float, float, tuple[float, ...]]:
        """The first and the last edge and those between, as plain numbers, made once: a query asks for one number."""
        if not self._plain_edges:
            first, *cuts, last = self._edges.tolist()
            self._plain_edges.append((first, last, tuple(cuts)))
        return self._plain_edges[0]

    @property
    def dtype(self) -> pl.DataType:
        """The type of its values."""
        if self.levels is not None:
            return self.levels.dtype
        if any(isinstance(reason, str) for reason in self.reasons):
            return pl.String()
        whole = self.whole and all(float(reason).is_integer() for reason in self.reasons)
        return pl.Int64() if whole else pl.Float64()

    def label(self, cell: int) -> str:
        """What a cell holds, in words."""
        return self.labels()[cell]

    def labels(self) -> list[str]:
        """What each cell holds, in words."""
        known = spelled(self.levels) if self.levels is not None else labels_of(self.cuts, self.closed)
        return [*known[: self.n_known], *(["missing"] if self.has_missing else []), *map(str, self.reasons)]

    # ---- from values to codes

    def encode(self, content: pl.Series) -> IntArray:
        """The cell of each value; −1 only where a missing one is to be dropped."""
        excused = self._excused(content)
        if excused is None:
            return self._by_rules(self._places(content))
        codes = np.where(excused < 0, 0, self.n_known + self.has_missing + excused)
        codes[excused < 0] = self._by_rules(self._places(content.filter(pl.Series(excused < 0))))
        return codes

    def numbers(self, content: pl.Series) -> FloatArray:
        """The codes as floats: the number itself where the axis has no cells, NaN where it is missing."""
        if self.levels is None and self.edges is None:
            return floats(content)
        return self.encode(content).astype(np.float64)

    def bins(self, values: FloatArray) -> IntArray:
        """The bin of each number; `n_known` for NaN, −1 outside the edges unless these are clipped."""
        edges = self._edges
        found = np.searchsorted(edges[1:-1], values, side="right" if self.closed == "left" else "left")
        if self.unknown != "clip":
            found = np.where((values >= edges[0]) & (values <= edges[-1]), found, -1)
        return np.where(np.isnan(values), self.n_known, found).astype(np.int64)

    def _places(self, content: pl.Series) -> IntArray:
        """The cell of each value before any rule: `n_known` for a missing, −1 for an unknown one."""
        if self.levels is not None:
            return codes_of(content, self.levels)
        values = numbers_of(content)
        if np.isinf(values).any():
            raise ColumnError(self.name, "must hold finite numbers (infinity found)")
        return self.bins(values)

    def _by_rules(self, found: IntArray) -> IntArray:
        unknown = found < 0
        if self.unknown != "missing" and unknown.any():
            raise self._outside(int(unknown.sum()))
        absent = unknown | (found == self.n_known)
        if self.missing == "refuse" and absent.any():
            raise ColumnError(
                self.name,
                "has missing values (NaN) and no rule for them",
                got=f"{int(absent.sum())} missing",
                hint="Set missing='level' if the method supports it, or missing='drop' or a number in the schema.",
            )
        return np.where(absent, self._stand_in(), found).astype(np.int64)

    def _stand_in(self) -> int:
        """The code of a missing value."""
        if isinstance(self.missing, str):
            return -1 if self.missing == "drop" else self.n_known
        return int(self.bins(np.array([float(self.missing)]))[0])

    def _excused(self, content: pl.Series) -> IntArray | None:
        """Which reason each value is, −1 for none."""
        if not self.reasons:
            return None
        found = codes_of(content, declared_levels(Column(name=self.name, role="other", levels=self.reasons)))
        return np.where(found == len(self.reasons), -1, found)

    def _outside(self, count: int) -> ColumnError:
        if self.declared or self.levels is None:
            rule = f"must hold only the public {'levels' if self.levels is not None else 'domain'}"
            hint = "Correct the values, or widen levels, bounds, edges or the rule for missing values."
        else:
            rule = "holds levels that the original does not have"
            hint = "Declare all levels in the schema, or compare tables that share them."
        return ColumnError(self.name, rule, got=f"{count} values outside", hint=hint)

    # ---- from codes to values

    def decode(self, codes: IntArray, rng: Generator | None = None) -> pl.Series:
        """Values for cells: levels as they are, bins by a uniform draw of `rng`, all else missing."""
        absent = codes >= self.n_known
        known = np.where(absent, 0, codes)
        values = self.levels.gather(pl.Series(known)) if self.levels is not None else self._drawn(known, rng)
        values = values.alias(self.name)
        values = values.set(pl.Series(absent), None) if absent.any() else values
        return self.with_reasons(values, codes - self.n_known - self.has_missing) if self.reasons else values

    def with_reasons(self, values: pl.Series, places: IntArray) -> pl.Series:
        """The values with a reason where its place among the reasons is given, in the type that holds both."""
        values = values.cast(self.dtype)
        for place, reason in enumerate(self.reasons):
            own = text_of(reason) if values.dtype == pl.String else pl.Series([reason]).cast(values.dtype)[0]
            values = values.set(pl.Series(places == place), own)
        return values

    def _drawn(self, codes: IntArray, rng: Generator | None) -> pl.Series:
        u = np.full(len(codes), 0.5) if rng is None else rng.random(len(codes))
        u = u if self.within is None else warped(self.within, codes, u)
        return pl.Series(values_in(self._edges, codes, u, self.whole), dtype=pl.Int64() if self.whole else pl.Float64())

    @property
    def n_whole(self) -> IntArray:
        """How many whole numbers each bin has."""
        return whole_numbers(self._edges)[1]

    def places(self, content: pl.Series, codes: IntArray) -> FloatArray:
        """The share of its bin at which each number lies; NaN where there is none."""
        known = codes < self.n_known
        out = np.full(len(codes), np.nan)
        values = numbers_of(content.filter(pl.Series(known)))
        out[known] = places_in(self._edges, codes[known], values, self.whole)
        return out

    @property
    def _edges(self) -> FloatArray:
        if self.edges is None:
            raise ColumnError(self.name, "has no bins")
        return self.edges

    # ---- one value, as a query gives it

    @property
    def nullable(self) -> bool:
        """Whether a query may leave the value missing."""
        return self.missing not in ("refuse", "drop")

    def read(self, value: object) -> tuple[Value, str]:
        """One value as it counts (a level in its own spelling, a number within bounds), and a note where it was moved.

        What is read is what `json_schema` allows. A ColumnError names the rule and never the value.
        """
        if value is None or (isinstance(value, float) and math.isnan(value)):
            if not self.nullable:
                raise ColumnError(self.name, "must not be missing")
            return None, ""
        if self.levels is not None:
            return plain(self.levels)[self._level(value)], ""
        reason = self._reason(value)
        return self._number(value) if reason is None else (self.reasons[reason], "")

    def _reason(self, value: object) -> int | None:
        """Which reason a value is, if it is one."""
        if not self.reasons:
            return None
        known = [identity(reason) for reason in self.reasons]
        found = identity(value)
        return known.index(found) if found is not None and found in known else None

    def code(self, value: object) -> int:
        """The cell of one value."""
        return self.cell(self.read(value)[0])

    def cell(self, read: Value) -> int:
        """The cell of a value that `read` gave."""
        if read is None:
            return self._stand_in()
        reason = self._reason(read)
        if reason is not None and self.levels is None:
            return self.n_known + self.has_missing + reason
        return self._level(read) if self.levels is not None else self._bin(float(read))

    def _bin(self, number: float) -> int:
        """`bins` for one number, in a tenth of the time."""
        first, last, cuts = self._ends_and_cuts()
        if self.unknown != "clip" and not first <= number <= last:
            return -1
        return (bisect_right if self.closed == "left" else bisect_left)(cuts, number)

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of one value."""
        if self.levels is not None:
            known = [one for level in spellings(self.levels) for one in level]
            return (
                {"enum": [*known, None], "description": "null is a missing value"} if self.nullable else {"enum": known}
            )
        types = ["number", *(["string"] if any(isinstance(reason, str) for reason in self.reasons) else [])]
        types += ["null"] if self.nullable else []
        words: dict[str, Any] = {"type": types if len(types) > 1 else "number"}
        if self.bounds is not None:
            low, high = self.bounds
            words["description"] = f"Public bounds {low:g} to {high:g}; a number outside is moved to them."
        return words

    def form_field(self) -> dict[str, Any]:
        """What a form needs to ask for one value."""
        return {
            "name": self.name,
            "kind": self.kind,
            "required": True,
            "nullable": self.nullable,
            "levels": None if self.levels is None else plain(self.levels),
            "bounds": None if self.bounds is None else [float(end) for end in self.bounds],
        }

    def example(self) -> Value:
        """A value that fits."""
        if self.levels is not None:
            return plain(self.levels)[0]
        return 0.0 if self.bounds is None else round((self.bounds[0] + self.bounds[1]) / 2, 6)

    def _level(self, value: object) -> int:
        if not self._index and self.levels is not None:
            known = spellings(self.levels)
            self._index.update({identity(one): place for place, level in enumerate(known) for one in level})
        place = self._index.get(identity(value))
        if place is None:
            raise ColumnError(self.name, f"must be one of {self.n_known} public levels; see the model's card")
        return place

    def _number(self, value: object) -> tuple[float, str]:
        if type(value) is not float and (isinstance(value, bool) or not isinstance(value, _NUMBERS)):
            raise ColumnError(self.name, "must be a number")
        try:
            number = float(value) + 0.0  # -0.0 and 0.0 are one number
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise ColumnError(self.name, "must be a finite number")
        low, high = self.bounds or (-math.inf, math.inf)
        if low <= number <= high:
            return number, ""
        side, end = ("below", low) if number < low else ("above", high)
        return float(end), f"{self.name} was {side} its public bound and counted as the bound"

    def to_dict(self) -> dict[str, Any]:
        """The cells as JSON-safe words."""
        return {
            "name": self.name,
            "kind": self.kind,
            "dtype": type_word(self.dtype),
            "levels": None if self.levels is None else plain(self.levels),
            "edges": None if self.edges is None else self.edges.tolist(),
            "whole": self.whole,
            "missing": self.has_missing,
            **({"reasons": list(self.reasons)} if self.reasons else {}),
            **({} if self.within is None else {"within": [_short(shares) for shares in self.within]}),
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Axis:
        """Read the cells back from their words; what a file says is declared."""
        levels = words["levels"]
        return cls(
            name=words["name"],
            kind=words["kind"],
            levels=None
            if levels is None
            else pl.Series(words["name"], levels).cast(type_named(words["dtype"], levels)),
            edges=None if words["edges"] is None else np.array(words["edges"], dtype=np.float64),
            whole=words["whole"],
            missing="level" if words["missing"] else "refuse",
            reasons=tuple(words.get("reasons", ())),
            declared=True,
            within=tuple(np.array(shares) for shares in words["within"]) if "within" in words else None,
        )


def _reasons(column: Column, kind: Kind | None) -> tuple[Level, ...]:
    """The codes of a number or a reason, as they are written."""
    numeric = replace(column, kind=kind)
    return tuple(numeric.reasons.values()) if numeric.keeps_absence else ()


def _without(content: pl.Series, reasons: Sequence[Level]) -> pl.Series:
    """The numbers of a column, missing where it holds a reason."""
    left = content.set(pl.Series(same_as(content, reasons)), None)
    if left.dtype.is_numeric():
        return left
    numbers = pl.Series(content.name, numbers_of(left)).fill_nan(None)
    return numbers.cast(pl.Int64) if (numbers == numbers.round()).fill_null(True).all() else numbers


def _short(shares: FloatArray) -> list[float]:
    return [float(f"{share:.6g}") for share in shares]


def _is_open(column: Column) -> bool:
    return column.levels is None and column.bounds is None and column.edges is None
