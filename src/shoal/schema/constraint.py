"""Rules between columns that every row obeys, and a released row must obey too: newborns are of age 0.

A condition on a column is a list of its levels, a range of numbers, or whether it is absent. A rule says: *when* all
its conditions hold, *then* these must hold as well; a rule without `then` says that its combination never occurs (a
structural zero)::

    [[rules]]
    when = { admission = ["newborn"] }
    then = { age = { max = 0 } }

    [[rules]]
    never = { sex = ["male"], diagnosis = ["pregnancy"] }

    [[rules]]
    when = { marital = ["single"] }
    then = { year_of_marriage = { absent = true } }

Two more say how numbers or dates of a row stand to each other, in every row or when a condition holds. A row in which
one of them is absent obeys::

    [[rules]]
    order = ["born", "admitted", "discharged"]              # none before the one to its left

    [[rules]]
    sum = { wages = 1, rent = 1, income = -1 }              # wages + rent - income
    equals = 0                                              # or min, max, or both

Rules are public knowledge about the world, written by a person, never learnt from the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.errors import ColumnError, SchemaError
from shoal.value import Level, same_as

__all__ = ["Codes", "Condition", "Rule"]

Codes = Mapping[str, Sequence[Level]]
"""The values of each column that stand for an absence."""

_SLACK = 1e-9  # of the largest term: what adding up decimals may do


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What the value of one column must be: one of `levels`, a number from `min` to `max`, or absent or not."""

    levels: tuple[Any, ...] | None = None
    min: float = -np.inf
    max: float = np.inf
    absent: bool | None = None

    @classmethod
    def from_words(cls, column: str, words: Any) -> Condition:
        """Read a condition: a level, a list of levels, or a mapping with min and max, or with absent."""
        if isinstance(words, Mapping) and set(words) == {"absent"} and isinstance(words["absent"], bool):
            return cls(absent=words["absent"])
        if isinstance(words, Mapping):
            ends = _range(f"rules, column '{column}'", words)
            return cls(min=ends["min"], max=ends["max"])
        levels = tuple(words) if isinstance(words, list | tuple) else (words,)
        if not levels or not all(isinstance(level, str | int | float | bool) for level in levels):
            raise SchemaError(f"rules, column '{column}'", "a condition must list levels, or give min and max")
        return cls(levels=levels)

    def to_words(self) -> Any:
        """The condition as TOML- and JSON-safe words."""
        if self.levels is not None:
            return list(self.levels)
        return _ends(self.min, self.max) if self.absent is None else {"absent": self.absent}

    def holds(self, column: pl.Series, codes: Sequence[Level] = ()) -> BoolArray:
        """In which rows the condition holds; an absent value meets no level and no range."""
        if self.absent is not None:
            absent = _absent(column, codes)
            return absent if self.absent else ~absent
        if self.levels is not None:
            return same_as(column, self.levels)
        found = _numbers(column, codes)
        within: BoolArray = (found >= self.min) & (found <= self.max)
        return within

    def side(self, column: pl.Series, codes: Sequence[Level] = ()) -> IntArray:
        """Where each value lies: in, below or above a range, or absent; what lies between two of one side does too."""
        if self.absent is not None or self.levels is not None:
            return self.holds(column, codes).astype(np.int64)
        found = _numbers(column, codes)
        return np.where(np.isnan(found), 3, np.where(found < self.min, 0, np.where(found > self.max, 2, 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When all of `when` holds, all of `then` must, and `order` and `sum`; with none of these, `when` never holds."""

    when: Mapping[str, Condition] = field(default_factory=dict)
    then: Mapping[str, Condition] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    sum: Mapping[str, float] = field(default_factory=dict)
    min: float = -np.inf
    max: float = np.inf

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Rule:
        """Read a rule from its words: never; or order, sum or then, the last with when."""
        if "order" in words:
            return _read(cls, words, {"order"}, order=_order(words["order"]))
        if "sum" in words:
            ends = {name: words[name] for name in ("min", "max", "equals") if name in words}
            return _read(cls, words, {"sum", *ends}, sum=_terms(words["sum"]), **_range("rules, sum", ends))
        known = {"when", "then"} if "when" in words else {"never"}
        parts = [part for part in words.values() if isinstance(part, Mapping) and part]
        if set(words) != known or len(parts) < len(words):
            raise SchemaError(
                "rules",
                "each must have `when` and `then`, or `never`, with a condition for each column; or `order`, or `sum` "
                "with `equals`, `min` or `max`",
            )
        return cls(when=_conditions(words.get("when", words.get("never", {}))), then=_conditions(words.get("then", {})))

    def to_dict(self) -> dict[str, Any]:
        """The rule as TOML- and JSON-safe words."""
        first = {name: condition.to_words() for name, condition in self.when.items()}
        second = {name: condition.to_words() for name, condition in self.then.items()}
        if self.order:
            return ({"when": first} if first else {}) | {"order": list(self.order)}
        if self.sum:
            ends = {"equals": self.min} if self.min == self.max else _ends(self.min, self.max)
            return ({"when": first} if first else {}) | {"sum": dict(self.sum)} | ends
        return {"when": first, "then": second} if second else {"never": first}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it speaks of."""
        return (*self.when, *self.then, *self.order, *self.sum)

    @property
    def compares(self) -> bool:
        """Whether it compares values of a row with each other, so that no column alone can tell whether it holds."""
        return bool(self.order or self.sum)

    def broken(self, columns: Mapping[str, pl.Series], codes: Codes | None = None) -> BoolArray:
        """In which rows the rule is broken."""
        known = codes or {}
        n = len(columns[self.columns[0]])
        when = _all(self.when, columns, known, n)
        if self.order:
            return when & ~self._in_order(columns, known)
        if self.sum:
            return when & ~self._within(columns, known)
        return when & ~_all(self.then, columns, known, n) if self.then else when

    def _in_order(self, columns: Mapping[str, pl.Series], codes: Codes) -> BoolArray:
        holds = np.ones(len(columns[self.order[0]]), dtype=np.bool_)
        for first, second in pairwise(self.order):
            holds &= _not_after(_present(columns[first], codes), _present(columns[second], codes))
        return holds

    def _within(self, columns: Mapping[str, pl.Series], codes: Codes) -> BoolArray:
        terms = [factor * _numbers(columns[name], codes.get(name, ())) for name, factor in self.sum.items()]
        total, slack = np.sum(terms, axis=0), _SLACK * np.max(np.abs(terms), axis=0)
        holds = (total >= self.min - slack) & (total <= self.max + slack)
        return np.asarray(holds | np.isnan(total), dtype=np.bool_)


def _read(cls: type[Rule], words: Mapping[str, Any], own: set[str], **parts: Any) -> Rule:
    when = words.get("when", {})
    if set(words) - own - {"when"} or not isinstance(when, Mapping):
        raise SchemaError("rules", f"with `{min(own)}` may have `when` beside it, and nothing else")
    return cls(when=_conditions(when), **parts)


def _order(words: Any) -> tuple[str, ...]:
    names = tuple(words) if isinstance(words, list | tuple) else ()
    if len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise SchemaError("rules", "order must list at least two columns")
    return names


def _terms(words: Any) -> dict[str, float]:
    if not isinstance(words, Mapping) or not words or not all(map(_is_number, words.values())):
        raise SchemaError("rules", "sum must give each column the number that it counts")
    return {str(name): float(factor) for name, factor in words.items()}


def _range(owner: str, words: Mapping[str, Any]) -> dict[str, float]:
    given = {"min": words["equals"], "max": words["equals"]} if set(words) == {"equals"} else words
    ends = {name: value for name, value in given.items() if name in ("min", "max") and _is_number(value)}
    if len(ends) < len(given) or not ends or ends.get("min", -np.inf) > ends.get("max", np.inf):
        raise SchemaError(owner, "a range must be numbers called min and max, in order")
    return {"min": float(ends.get("min", -np.inf)), "max": float(ends.get("max", np.inf))}


def _ends(low: float, high: float) -> dict[str, float]:
    return {name: value for name, value in {"min": low, "max": high}.items() if np.isfinite(value)}


def _conditions(words: Mapping[str, Any]) -> dict[str, Condition]:
    return {name: Condition.from_words(name, condition) for name, condition in words.items()}


def _all(conditions: Mapping[str, Condition], columns: Mapping[str, pl.Series], codes: Codes, n: int) -> BoolArray:
    found = np.ones(n, dtype=np.bool_)
    for name, condition in conditions.items():
        found &= condition.holds(columns[name], codes.get(name, ()))
    return found


def _absent(column: pl.Series, codes: Sequence[Level]) -> BoolArray:
    empty = column.fill_nan(None) if column.dtype.is_float() else column
    found = empty.is_null().to_numpy()
    return np.asarray(found | same_as(column, codes) if codes else found, dtype=np.bool_)


def _numbers(column: pl.Series, codes: Sequence[Level]) -> FloatArray:
    """The numbers of a column; NaN where it is absent or holds none."""
    values = column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy().astype(np.float64)
    return np.where(same_as(column, codes), np.nan, values) if codes else values


def _present(column: pl.Series, codes: Codes) -> pl.Series:
    known = codes.get(column.name, ())
    return column.set(pl.Series(same_as(column, known)), None) if known else column


def _not_after(first: pl.Series, second: pl.Series) -> BoolArray:
    """Where the first is not after the second, or one of them is absent."""
    if pl.String in (first.dtype, second.dtype) and {first.dtype, second.dtype} & {pl.Date, pl.Datetime}:
        first, second = first.cast(pl.String), second.cast(pl.String)  # dates as ISO has them sort as texts
    try:
        return np.asarray((first <= second).fill_null(True).to_numpy(), dtype=np.bool_)
    except pl.exceptions.PolarsError:
        raise ColumnError(first.name, f"can't be put in order with '{second.name}', being of another type") from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
