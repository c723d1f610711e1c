"""What a query must look like: each field held to the model's schema before anything is charged.

Everything checked here is public (names, kinds, levels, bounds), so a refusal tells nothing about the data. A number
outside its public bounds is moved to the bound, and the reply says so. What comes out is canonical: the same person
gives the same text, whatever the order of fields or the spelling of a number, so that the same question is known
again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from shoal.errors import InputError
from shoal.service.errors import Problem

__all__ = ["Field", "Form", "Reading"]

Value: TypeAlias = float | str | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One feature of a model: a number within bounds, or one of some levels.

    Examples
    --------
    >>> Field(name="age", bounds=(0, 120)).read(130)
    (120, 'age was above its public bound and counted as the bound')
    """

    name: str
    kind: str = "numeric"
    levels: tuple[Any, ...] = ()
    bounds: tuple[float, float] | None = None
    may_miss: bool = False

    @classmethod
    def of(cls, name: str, entry: Any) -> Field:
        """Read a feature as a model declares it: a mapping or a record with kind, levels, bounds, missing.

        Where a rule for missing values is declared, a level may always be null (missing is a level of its own) and a
        number where the rule is a number to put in its place.
        """
        get = entry.get if isinstance(entry, Mapping) else lambda word, default=None: getattr(entry, word, default)
        bounds, missing = get("bounds"), get("missing")
        return cls(
            name=name,
            kind=str(get("kind") or "numeric"),
            levels=tuple(get("levels") or ()),
            bounds=(float(bounds[0]), float(bounds[1])) if bounds else None,
            may_miss=missing is not None and (bool(get("levels")) or not isinstance(missing, str)),
        )

    def read(self, value: object) -> tuple[Value, str]:
        """The canonical value and a note; a ValueError with the rule where it does not fit."""
        if value is None:
            if self.may_miss:
                return None, ""
            raise ValueError("must not be missing")
        return (self._level(value), "") if self.levels else self._number(value)

    def to_dict(self) -> dict[str, Any]:
        """The field as JSON-safe words."""
        bounds = list(self.bounds) if self.bounds else None
        words: dict[str, Any] = {"name": self.name, "kind": self.kind, "required": True, "nullable": self.may_miss}
        return {**words, "levels": list(self.levels) or None, "bounds": bounds}

    def json_schema(self) -> dict[str, Any]:
        """The field's JSON schema."""
        empty = [None] if self.may_miss else []
        if self.levels:
            return {"enum": [*self.levels, *empty]}
        words: dict[str, Any] = {"type": ["number", "null"] if self.may_miss else "number"}
        if self.bounds:
            words["description"] = (
                f"Public bounds {self.bounds[0]:g} to {self.bounds[1]:g}; a number outside is moved to them."
            )
        return words

    def example(self) -> Any:
        """A value that fits."""
        if self.levels:
            return self.levels[0]
        return round((self.bounds[0] + self.bounds[1]) / 2, 6) if self.bounds else 0.0

    def _level(self, value: object) -> Any:
        text = _text(value)
        for level in self.levels:
            if text == _text(level):
                return level
        raise ValueError(f"must be one of {len(self.levels)} levels; see the model's card")

    def _number(self, value: object) -> tuple[float, str]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError("must be a number")
        try:
            number = float(value) + 0.0  # -0.0 and 0.0 are one number
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise ValueError("must be a finite number")
        low, high = self.bounds or (-math.inf, math.inf)
        if number < low:
            return low, f"{self.name} was below its public bound and counted as the bound"
        return (
            (number, "")
            if number <= high
            else (high, f"{self.name} was above its public bound and counted as the bound")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A query that fits: the values, and what was changed on the way."""

    values: dict[str, Value]
    notes: tuple[str, ...]

    @property
    def canonical(self) -> str:
        """The same text for the same values, however they were written."""
        return json.dumps(self.values, sort_keys=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The fields of one model.

    Examples
    --------
    >>> form = Form.of({"age": {"kind": "numeric", "bounds": (0, 120)}})
    >>> form.read({"age": 41}).canonical == form.read({"age": 41.0}).canonical
    True
    """

    fields: tuple[Field, ...]

    @classmethod
    def of(cls, features: Mapping[str, Any]) -> Form:
        """The form for a model's features."""
        if not features:
            raise InputError("model", "must have at least one feature")
        return cls(fields=tuple(Field.of(name, entry) for name, entry in features.items()))

    def read(self, features: object) -> Reading:
        """Hold a query to the form; a `Problem` that names every field that does not fit."""
        if not isinstance(features, dict):
            raise Problem("bad-json", "The member 'features' must be an object of field names and values.")
        errors, values, notes = self._unknown(features), {}, []
        for field in self.fields:
            try:
                values[field.name], note = field.read(features[field.name])
            except KeyError:
                errors.append({"field": field.name, "rule": "is missing"})
            except ValueError as error:
                errors.append({"field": field.name, "rule": str(error)})
            else:
                notes += [note] if note else []
        if errors:
            raise Problem("bad-features", _said(errors), errors=errors)
        return Reading(values=values, notes=tuple(notes))

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of a query's features."""
        return {
            "type": "object",
            "properties": {field.name: field.json_schema() for field in self.fields},
            "required": [field.name for field in self.fields],
            "additionalProperties": False,
        }

    def example(self) -> dict[str, Any]:
        """A query that fits."""
        return {field.name: field.example() for field in self.fields}

    def _unknown(self, features: dict[str, Any]) -> list[dict[str, str]]:
        known = {field.name for field in self.fields}
        unknown = [name for name in features if name not in known][:20]
        return [{"field": _printable(name), "rule": "is not a field of this model"} for name in unknown]


def _text(value: object) -> str | None:
    """One spelling for a level, so that 1, 1.0 and "1" are the same; none for what can't be a level."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, str | int | float) else None


def _printable(name: str) -> str:
    """A name that came from outside, fit to be shown: JSON can hold half a character, which no reply can."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name[:100])


def _said(errors: list[dict[str, str]]) -> str:
    shown = "; ".join(f"{error['field']} {error['rule']}" for error in errors[:5])
    return f"{shown}{'; and more' if len(errors) > 5 else ''}. Nothing was charged."
