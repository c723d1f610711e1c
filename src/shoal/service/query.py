"""What a query must look like: its body, and each field held to the model's domain before anything is charged.

Everything checked here is public (names, kinds, levels, bounds), so a refusal tells nothing about the data. A number
outside its public bounds is moved to the bound, and the reply says so. What comes out is canonical: the same person
gives the same text, whatever the order of fields or the spelling of a number, so that the same question is known
again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from starlette.requests import Request

from shoal.domain import Axis, Domain
from shoal.errors import ColumnError
from shoal.service.errors import Problem

__all__ = [
    "Asked",
    "Message",
    "Query",
    "Receive",
    "Value",
    "idempotency_key",
    "json_object",
    "member",
    "read",
    "read_all",
]

_TOKEN = re.compile(r"[\x21-\x7e]{1,200}")

Value: TypeAlias = float | str | bool | None
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


class Asked:
    """A request as a score needs it: its headers and its body. The framework's own costs as much as the answer."""

    __slots__ = ("_headers", "receive", "scope")

    def __init__(self, scope: Message, receive: Receive, headers: dict[bytes, bytes]) -> None:
        self.scope, self.receive, self._headers = scope, receive, headers

    @classmethod
    def of(cls, request: Request) -> Asked:
        """The same of the framework's request."""
        return cls(request.scope, request.receive, dict(reversed(request.scope["headers"])))

    def header(self, name: str) -> str | None:
        """One header, by its name in lower case."""
        value = self._headers.get(name.encode())
        return None if value is None else value.decode("latin-1")

    @property
    def address(self) -> str:
        """Where it comes from."""
        client = self.scope.get("client")
        return str(client[0]) if client else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query that fits: the values, and what was changed on the way."""

    values: dict[str, Value]
    notes: tuple[str, ...]

    @property
    def canonical(self) -> str:
        """The same text for the same values, however they were written."""
        return json.dumps(self.values, sort_keys=True)


def json_object(body: bytes) -> dict[str, Any]:
    """The object that the body is."""
    try:
        words = _DECODER.decode(body.decode())
    except _TwiceError:
        raise Problem("bad-json", "No object may name a member twice: readers differ on which one counts.") from None
    except (ValueError, RecursionError):
        rule = "The body must be one JSON object in UTF-8, without NaN, Infinity or numbers of thousands of digits."
        raise Problem("bad-json", rule) from None
    if not isinstance(words, dict):
        raise Problem("bad-json", "The body must be an object.")
    return words


def member(body: bytes, name: str) -> object:
    """The one member of the object that the body is."""
    words = json_object(body)
    if set(words) != {name}:
        raise Problem("bad-json", f"The body must be an object with the one member '{name}'.")
    return words[name]


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


class _TwiceError(ValueError):
    """A member is named twice."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _TwiceError
    return members


_DECODER = json.JSONDecoder(
    parse_constant=_no_constant, object_pairs_hook=_each_once
)  # made once, as making one costs more than using it


def idempotency_key(asked: Asked) -> str | None:
    """The header by which a query that is sent again is known; a problem where it is not usable."""
    token = asked.header("idempotency-key")
    if token is not None and not _TOKEN.fullmatch(token):
        raise Problem("bad-header")
    return token


def read(domain: Domain, features: object) -> Query:
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
    errors, values, notes = [], {}, []
    for axis in domain.axes:
        try:
            values[axis.name], note = _value(axis, features)
            if note:
                notes.append(note)
        except ColumnError as error:
            errors.append({"field": axis.name, "rule": error.rule})
    if errors or len(features) > len(values):
        errors = _unknown(domain, features) + errors
        raise Problem("bad-features", _said(errors), errors=errors)
    return Query(values=values, notes=tuple(notes))


def read_all(domain: Domain, rows: list[Any]) -> list[Query]:
    """Each row held to the domain; a problem that names the first row that does not fit."""
    queries = []
    for number, row in enumerate(rows):
        try:
            queries.append(read(domain, row))
        except Problem as problem:
            raise Problem(problem.name, f"Row {number}: {problem.detail}", row=number, **problem.more) from None
    return queries


def _value(axis: Axis, features: dict[str, Any]) -> tuple[Value, str]:
    if axis.name not in features:
        raise ColumnError(axis.name, "is missing")
    return axis.read(features[axis.name])


def _unknown(domain: Domain, features: dict[str, Any]) -> list[dict[str, str]]:
    known = set(domain.names)
    unknown = [name for name in features if name not in known][:20]
    return [{"field": _printable(name), "rule": "is not a field of this model"} for name in unknown]


def _printable(name: str) -> str:
    """A name that came from outside, fit to be shown: JSON can hold half a character, which no reply can."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name[:100])


def _said(errors: list[dict[str, str]]) -> str:
    shown = "; ".join(f"{error['field']} {error['rule']}" for error in errors[:5])
    return f"{shown}{'; and more' if len(errors) > 5 else ''}. Nothing was charged."
