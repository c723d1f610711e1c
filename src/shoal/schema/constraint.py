"""Rules between columns that every row obeys, and a synthetic row must obey too: newborns are of age 0.

A condition on a column is a list of its levels, or a range of numbers. A rule says: *when* all its conditions hold,
*then* these must hold as well; a rule without `then` says that its combination never occurs (a structural zero)::

    [[rules]]
    when = { admission = ["newborn"] }
    then = { age = { max = 0 } }

    [[rules]]
    never = { sex = ["male"], diagnosis = ["pregnancy"] }

Rules are public knowledge about the world, written by a person, never learnt from the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray
from shoal.errors import SchemaError
from shoal.value import same_as

__all__ = ["Condition", "Rule"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What the value of one column must be: one of `levels`, or a number from `min` to `max`."""

    levels: tuple[Any, ...] | None = None
    min: float = -np.inf
    max: float = np.inf

    @classmethod
    def from_words(cls, column: str, words: Any) -> Condition:
        """Read a condition: a level, a list of levels, or a mapping with min and max."""
        if isinstance(words, Mapping):
            ends = {name: value for name, value in words.items() if name in ("min", "max") and _is_number(value)}
            if len(ends) < len(words) or not ends or ends.get("min", -np.inf) > ends.get("max", np.inf):
                raise SchemaError(f"rules, column '{column}'", "a range must be numbers called min and max, in order")
            return cls(min=float(ends.get("min", -np.inf)), max=float(ends.get("max", np.inf)))
        levels = tuple(words) if isinstance(words, list | tuple) else (words,)
        if not levels or not all(isinstance(level, str | int | float | bool) for level in levels):
            raise SchemaError(f"rules, column '{column}'", "a condition must list levels, or give min and max")
        return cls(levels=levels)

    def to_words(self) -> Any:
        """The condition as TOML- and JSON-safe words."""
        if self.levels is not None:
            return list(self.levels)
        ends = {"min": self.min, "max": self.max}
        return {name: value for name, value in ends.items() if np.isfinite(value)}

    def holds(self, column: pl.Series) -> BoolArray:
        """In which rows the condition holds; a missing value meets none."""
        if self.levels is None:
            return column.cast(pl.Float64).is_between(self.min, self.max).fill_null(False).to_numpy()
        return same_as(column, self.levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """When all of `when` holds, all of `then` must; with an empty `then`, all of `when` never holds at once."""

    when: Mapping[str, Condition]
    then: Mapping[str, Condition]

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Rule:
        """Read a rule from its words: when and then, or never."""
        known = {"when", "then"} if "when" in words else {"never"}
        parts = [part for part in words.values() if isinstance(part, Mapping) and part]
        if set(words) != known or len(parts) < len(words):
            raise SchemaError("rules", "each must have `when` and `then`, or `never`, with a condition for each column")
        return cls(when=_conditions(words.get("when", words.get("never", {}))), then=_conditions(words.get("then", {})))

    def to_dict(self) -> dict[str, Any]:
        """The rule as TOML- and JSON-safe words."""
        first = {name: condition.to_words() for name, condition in self.when.items()}
        second = {name: condition.to_words() for name, condition in self.then.items()}
        return {"when": first, "then": second} if second else {"never": first}

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it speaks of."""
        return (*self.when, *self.then)

    def broken(self, columns: Mapping[str, pl.Series]) -> BoolArray:
        """In which rows the rule is broken."""
        when = np.logical_and.reduce([condition.holds(columns[name]) for name, condition in self.when.items()])
        if not self.then:
            return np.asarray(when, dtype=np.bool_)
        then = np.logical_and.reduce([condition.holds(columns[name]) for name, condition in self.then.items()])
        return np.asarray(when & ~then, dtype=np.bool_)


def _conditions(words: Mapping[str, Any]) -> dict[str, Condition]:
    return {name: Condition.from_words(name, condition) for name, condition in words.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
