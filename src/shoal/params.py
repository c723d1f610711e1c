"""Parameters declared once: the annotation of a field is its check, its help text and its JSON schema.

A method is a frozen dataclass whose constructor only stores. Its fields carry their rule::

    k: Annotated[int, Range(low=2), Help("smallest group size")] = 5

and `check(method)`, called by the method's verb, holds every field to it. `build` makes a method from words (the
command line, a TOML file) and `to_dict` gives the words back.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from annotated_types import BaseMetadata, Ge, GroupedMetadata, Gt, Interval, Le, Lt

from shoal.errors import ParameterError

__all__ = [
    "ColumnNames",
    "Help",
    "Parameter",
    "Range",
    "build",
    "check",
    "declared",
    "json_schema",
    "number",
    "parameters",
    "to_dict",
]

M = TypeVar("M")


@dataclass(frozen=True, slots=True, kw_only=True)
class Range(GroupedMetadata):
    """The values from `low` to `high`; `above` and `below` are the same with the end left out.

    It is metadata in the sense of `annotated_types`: pydantic, Hypothesis and editors read it as Ge, Le, Gt and Lt.
    """

    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf
    below: float = math.inf

    @classmethod
    def of(cls, extras: Sequence[Any]) -> Range | None:
        """The range that the metadata of an annotation name, ours or annotated_types' own; None: they name none."""
        found = [extra for extra in extras if isinstance(extra, Range | Interval | Ge | Gt | Le | Lt)]
        ends = {_ENDS[type(bound)]: _end(bound) for extra in found for bound in _bounds(extra)}
        return cls(**ends) if found else None

    def __iter__(self) -> Iterator[BaseMetadata]:
        ends: list[tuple[Any, float]] = [(Ge, self.low), (Gt, self.above), (Le, self.high), (Lt, self.below)]
        return (bound(end) for bound, end in ends if math.isfinite(end))

    def holds(self, value: float) -> bool:
        """Whether `value` lies inside; NaN never does."""
        return (
            self.low <= value <= self.high
            and (self.above < value or self.above == -math.inf)
            and (value < self.below or self.below == math.inf)
        )

    def __str__(self) -> str:
        ends = [
            (self.low, "at least"),
            (self.above, "greater than"),
            (self.high, "at most"),
            (self.below, "less than"),
        ]
        return " and ".join(f"{word} {end:g}" for end, word in ends if math.isfinite(end)) or "any number"


_ENDS: dict[type, str] = {Ge: "low", Gt: "above", Le: "high", Lt: "below"}


def _bounds(extra: Any) -> tuple[Any, ...]:
    return tuple(extra) if isinstance(extra, GroupedMetadata) else (extra,)


def _end(bound: Any) -> Any:
    return getattr(bound, type(bound).__name__.lower())


@dataclass(frozen=True, slots=True)
class Help:
    """What a parameter does, in one line."""

    text: str


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Marks a parameter whose value is a list of the table's columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One declared parameter of a method."""

    name: str
    type: Any
    default: Any
    range: Range | None
    help: str
    metadata: tuple[Any, ...] = ()

    @property
    def rule(self) -> str:
        """What a value must be, in words."""
        words = _type_words(self.type)
        return f"be {words} {self.range}" if self.range else f"be {words}"

    def accepts(self, value: object) -> bool:
        """Whether `value` has the declared type and lies in the declared range."""
        if not any(_is_of(value, option) for option in _options(self.type)):
            return False
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        return self.range is None or not numeric or self.range.holds(value)  # type: ignore[arg-type]


def parameters(cls: type) -> tuple[Parameter, ...]:
    """The declared parameters of a method class, in their order."""
    if cls not in _DECLARED:
        _DECLARED[cls] = _parameters(cls)
    return _DECLARED[cls]


_DECLARED: WeakKeyDictionary[type, tuple[Parameter, ...]] = WeakKeyDictionary()


def _parameters(cls: type) -> tuple[Parameter, ...]:
    hints = get_type_hints(cls, include_extras=True)
    return tuple(
        declared(field.name, hints[field.name], field.default) for field in dataclasses.fields(cls) if field.init
    )


def declared(name: str, hint: Any, default: Any) -> Parameter:
    """What the annotation `hint` of a field, or of a function's parameter, declares."""
    extras = getattr(hint, "__metadata__", ())
    return Parameter(
        name=name,
        type=getattr(hint, "__origin__", hint) if extras else hint,
        default=None if default is dataclasses.MISSING else default,
        range=Range.of(extras),
        help=next((extra.text for extra in extras if isinstance(extra, Help)), ""),
        metadata=extras,
    )


def check(method: Any) -> None:
    """Hold every parameter of `method` to its declared rule, or raise a ParameterError that names it."""
    for parameter in parameters(type(method)):
        value = getattr(method, parameter.name)
        if not parameter.accepts(value):
            raise ParameterError(
                type(method).__name__,
                f"{parameter.name} must {parameter.rule}",
                got=repr(value)[:60],
                parameter=parameter.name,
            )


def build(cls: type[M], words: Mapping[str, Any]) -> M:
    """Make a checked method from words; strings are read by the declared type of the parameter."""
    declared = {parameter.name: parameter for parameter in parameters(cls)}
    for name in words:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise ParameterError(cls.__name__, f"has no parameter '{name}'", hint=f"Its parameters are: {known}.")
    method = cls(**{name: _read(declared[name], value) for name, value in words.items()})
    check(method)
    return method


def to_dict(method: Any) -> dict[str, Any]:
    """The parameters of a method as JSON-safe words, such that ``build(type(method), ...)`` gives it back."""
    return {p.name: _plain(getattr(method, p.name)) for p in parameters(type(method))}


def json_schema(cls: type) -> dict[str, Any]:
    """The JSON schema of a method's parameters, for forms and services."""
    return {
        "title": cls.__name__,
        "type": "object",
        "properties": {p.name: _property(p) for p in parameters(cls)},
        "additionalProperties": False,
    }


def _options(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _is_of(value: object, option: Any) -> bool:
    if get_origin(option) is Literal:
        return value in get_args(option)
    if option is type(None) or option is None:
        return value is None
    if option is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
    if option is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if _is_list(option):
        return isinstance(value, list | tuple)
    origin = get_origin(option) or option
    return isinstance(origin, type) and isinstance(value, origin)


def _type_words(kind: Any) -> str:
    names = {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "a text",
        type(None): "none",
    }
    words = []
    for option in _options(kind):
        if get_origin(option) is Literal:
            words.append("one of " + ", ".join(repr(choice) for choice in get_args(option)))
        elif _is_list(option):
            words.append("a list")
        elif _is_mapping(option):
            words.append("a value for each of some columns")
        else:
            words.append(names.get(option, getattr(option, "__name__", str(option))))
    return " or ".join(words)


def _read(parameter: Parameter, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    for option in sorted(_options(parameter.type), key=lambda option: option is not type(None)):
        reading = _read_as(option, value)
        if reading is not _UNREADABLE:
            return reading
    return value


_UNREADABLE = object()
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def _read_as(option: Any, text: str) -> Any:
    if option is bool:
        return _TRUTH.get(text.lower(), _UNREADABLE)
    if option is type(None):
        return None if text.lower() == "none" else _UNREADABLE
    if option in (int, float):
        try:
            return option(text) if "/" not in text else _fraction(option, text)
        except ValueError:
            return _UNREADABLE
    if _is_list(option):
        return tuple(part for part in text.split("/") if part)
    if _is_mapping(option):
        pairs = [part.split("=", 1) for part in text.split("/")]
        return {pair[0]: number(pair[1]) for pair in pairs} if all(len(p) == 2 for p in pairs) else _UNREADABLE
    return text if option is str or get_origin(option) is Literal else _UNREADABLE


def _is_list(option: Any) -> bool:
    return (get_origin(option) or option) in (list, tuple, Sequence)


def _is_mapping(option: Any) -> bool:
    return (get_origin(option) or option) in (dict, Mapping)


def number(text: str) -> Any:
    """A text as a whole number or a number, where it is one."""
    try:
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    except ValueError:
        return text


def _fraction(option: Any, text: str) -> Any:
    top, bottom = text.split("/", 1)
    return float(top) / float(bottom) if option is float and float(bottom) else _UNREADABLE


def _plain(value: Any) -> Any:
    if value is None:
        return "none"  # TOML has no null
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def _property(parameter: Parameter) -> dict[str, Any]:
    names = {int: "integer", float: "number", bool: "boolean", str: "string", type(None): "null"}
    out: dict[str, Any] = {"description": parameter.help, "default": parameter.default}
    options = _options(parameter.type)
    choices = [choice for option in options if get_origin(option) is Literal for choice in get_args(option)]
    kinds = [names[option] for option in options if option in names]
    if choices:
        out["enum"] = choices
    if kinds:
        out["type"] = kinds[0] if len(kinds) == 1 else kinds
    ends = parameter.range or Range()
    limits = {
        "minimum": ends.low,
        "maximum": ends.high,
        "exclusiveMinimum": ends.above,
        "exclusiveMaximum": ends.below,
    }
    return out | {key: end for key, end in limits.items() if math.isfinite(end)}
