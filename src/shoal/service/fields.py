"""What a query must look like: each field held to the model's schema before anything is charged.

Everything checked here is public (names, kinds, levels, bounds), so a refusal tells nothing about the data. A number
outside its public bounds is moved to the bound, and the reply says so. What comes out is canonical: the same person
gives the same text, whatever the order of fields or the spelling of a number, so that the same question is known
again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, TypeAlias

from shoal.domain import Axis, Domain
from shoal.errors import ColumnError
from shoal.service.errors import Problem

__all__ = ["Reading", "read"]

Value: TypeAlias = float | str | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A query that fits: the values, and what was changed on the way."""

    values: dict[str, Value]
    notes: tuple[str, ...]

    @property
    def canonical(self) -> str:
        """The same text for the same values, however they were written."""
        return json.dumps(self.values, sort_keys=True)


def read(domain: Domain, features: object) -> Reading:
    """Hold a query to the model's domain; a `Problem` names every field that does not fit.

    Examples
    --------
    >>> from shoal.domain import Axis, Domain
    >>> domain = Domain(axes=(Axis(name="age", kind="numeric", bounds=(0, 120)),))
    >>> read(domain, {"age": 41}).canonical == read(domain, {"age": 41.0}).canonical
    True
    """
    if not isinstance(features, dict):
        raise Problem("bad-json", "The member 'features' must be an object of field names and values.")
    errors, values, notes = _unknown(domain, features), {}, []
    for axis in domain.axes:
        try:
            values[axis.name], note = _value(axis, features)
            notes += [note] if note else []
        except ColumnError as error:
            errors.append({"field": axis.name, "rule": error.rule})
    if errors:
        raise Problem("bad-features", _said(errors), errors=errors)
    return Reading(values=values, notes=tuple(notes))


def _value(axis: Axis, features: dict[str, Any]) -> tuple[Value, str]:
    if axis.name not in features:
        raise ColumnError(axis.name, "is missing")
    return axis.read(features[axis.name])


def _unknown(domain: Domain, features: dict[str, Any]) -> list[dict[str, str]]:
    unknown = [name for name in features if name not in domain.names][:20]
    return [{"field": _printable(name), "rule": "is not a field of this model"} for name in unknown]


def _printable(name: str) -> str:
    """A name that came from outside, fit to be shown: JSON can hold half a character, which no reply can."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name[:100])


def _said(errors: list[dict[str, str]]) -> str:
    shown = "; ".join(f"{error['field']} {error['rule']}" for error in errors[:5])
    return f"{shown}{'; and more' if len(errors) > 5 else ''}. Nothing was charged."
