"""Forms from the parameters' own declarations: what can be asked of a method, and its answers read back.

No parameter is declared twice: name, rule, default and help text are those of `shoal.params`. A value for each of some
columns is a mapping whose values may be texts, so that a column's name may hold anything; the words of the command
line, ``age=5/zip=2`` and ``036/059``, are read as well.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from shoal.errors import ParameterError
from shoal.method import Family
from shoal.method import Method as Registered
from shoal.params import ColumnNames, Parameter, build, number, parameters
from shoal.recipe import Recipe, known_method, read_recipe
from shoal.web.recoding import read_step, split_steps

__all__ = ["ROWS", "Field", "FieldError", "FieldKind", "fields", "read", "read_words"]

M = TypeVar("M")

FieldKind = Literal["whole", "number", "choice", "flag", "text", "list", "columns", "map", "step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One question of a form.

    Parameters
    ----------
    name, label, help
        The parameter's name, the same in plain letters, and what it does.
    kind
        How to ask: a whole number, a number, one of some choices, yes or no, a text, texts, some of the columns, or a
        value for each of some columns (``{"age": 5}``).
    each, single
        Of a value for each of some columns: how to ask for one of them, and for one that stands for all (None: there
        is no such answer).
    default
        What is taken if nothing is answered.
    minimum, maximum, above, below
        The ends of its range, the last two left out of it; None: no end.
    choices
        What can be chosen.
    optional
        Whether "none" is an answer.
    required
        Whether there is no default.

    Examples
    --------
    >>> import shoal
    >>> from shoal.web.forms import fields
    >>> [(field.name, field.kind, field.default) for field in fields(shoal.Crest)][:3]
    [('k', 'whole', 5), ('alpha', 'number', 0.5), ('neighbours', 'whole', None)]
    """

    name: str
    label: str
    help: str
    kind: FieldKind
    each: FieldKind | None = None
    single: FieldKind | None = None
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[Any, ...] = ()
    optional: bool = False
    required: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The field as JSON-safe words."""
        words = dataclasses.asdict(self)
        return {**words, "choices": list(self.choices), "default": _plain(self.default)}


class FieldError(ParameterError):
    """An answer that can't be taken; `field` names the question, `column` the line of it, where there are several.

    Examples
    --------
    >>> import shoal
    >>> from shoal.web.forms import FieldError, read
    >>> try:
    ...     read(shoal.MDAV, {"k": "1"})
    ... except FieldError as error:
    ...     print(error.field, "-", error)
    k - MDAV: k must be a whole number at least 2; got 1.
    """

    def __init__(
        self, owner: str, rule: str, *, got: str = "", hint: str = "", field: str = "", column: str = ""
    ) -> None:
        super().__init__(owner, rule, got=got, hint=hint)
        self.field, self.column = field, column


ROWS = Field(
    name="rows",
    label="rows",
    help="number of rows to draw, chosen without looking at the table; none: the model's noisy total",
    kind="whole",
    minimum=1,
    optional=True,
)
"""The question that every synthesizer's form has beside its parameters."""


def fields(cls: type) -> tuple[Field, ...]:
    """The questions of a method class, one for each of its parameters, in their order."""
    missing = {entry.name for entry in dataclasses.fields(cls) if entry.default is dataclasses.MISSING}
    return tuple(_field(parameter, required=parameter.name in missing) for parameter in parameters(cls))


def read(cls: type[M], answers: Mapping[str, Any]) -> M:
    """Make a checked method from the answers of its form.

    An answer of None or an empty text means none where none is allowed, else the default. A wrong answer is a
    FieldError that names its field.
    """
    known = {field.name: field for field in fields(cls)}
    words = {name: _answer(cls.__name__, known.get(name), value) for name, value in answers.items()}
    try:
        return build(cls, {name: value for name, value in words.items() if value is not _DEFAULT})
    except ParameterError as error:
        raise _named(error, known) from None
    except TypeError:  # a parameter without a default
        asked = next(name for name, field in known.items() if field.required)
        raise FieldError(cls.__name__, f"{asked} must be given", field=asked) from None


def read_words(words: Mapping[str, Any]) -> Recipe:
    """Read a recipe whose values may be texts, as forms give them."""
    given = words.get("synthesize")
    if isinstance(given, Mapping):
        words = {**words, "synthesize": {**given, "rows": _rows(given.get("rows"))}}
    return read_recipe(words, _method)


_DEFAULT = object()


def _method(family: Family, words: Mapping[str, Any]) -> Any:
    answers = {name: value for name, value in words.items() if name != "method"}
    return read(known_method(family, str(words.get("method", ""))), answers)


def _rows(given: Any) -> int | None:
    if given in (None, "", "none"):
        return None
    try:
        return int(given)
    except (TypeError, ValueError):
        rule = "rows must be a whole number of at least 1"
        raise FieldError("synthesize", rule, got=repr(given)[:40], field="rows") from None


def _field(parameter: Parameter, *, required: bool) -> Field:
    options = _asked(option for option in _options(parameter.type) if option is not type(None))
    ends = parameter.range
    return Field(
        name=parameter.name,
        label=parameter.name.replace("_", " "),
        help=parameter.help,
        kind=_kind(parameter, options),
        each=_each(parameter, options),
        single=_single(options),
        default=parameter.default,
        minimum=_end(ends.low if ends else math.inf),
        maximum=_end(ends.high if ends else math.inf),
        above=_end(ends.above if ends else math.inf),
        below=_end(ends.below if ends else math.inf),
        choices=tuple(choice for option in options for choice in _choices(option)),
        optional=type(None) in _options(parameter.type),
        required=required,
    )


def _asked(options: Iterable[Any]) -> list[Any]:
    """The types that a form asks for: a method is given by its name."""
    found = list(options)
    return [str] if any(isinstance(option, type) and issubclass(option, Registered) for option in found) else found


_PLAIN: dict[Any, FieldKind] = {bool: "flag", int: "whole", float: "number", str: "text"}
_EACH: dict[str, FieldKind] = {"steps": "step", "parents": "columns"}


def _kind(parameter: Parameter, options: Sequence[Any]) -> FieldKind:
    """How to ask for a value of these types; a mixture is asked for as text, which the declaration can read."""
    if any(map(_is_mapping, options)):
        return "map"
    if len(options) > 1:
        return "text"
    option = options[0]
    if get_origin(option) is Literal:
        return "choice"
    return _PLAIN.get(option) or ("columns" if _names_columns(parameter) else "list")


def _names_columns(parameter: Parameter) -> bool:
    return any(isinstance(mark, ColumnNames) for mark in parameter.metadata)


def _each(parameter: Parameter, options: Sequence[Any]) -> FieldKind | None:
    """How to ask for the value of one column."""
    mapping = next((option for option in options if _is_mapping(option)), None)
    return None if mapping is None else _EACH.get(parameter.name) or _PLAIN.get(get_args(mapping)[1], "text")


def _single(options: Sequence[Any]) -> FieldKind | None:
    """How to ask for one value that stands for all columns."""
    if not any(map(_is_mapping, options)):
        return None
    return next((_PLAIN[option] for option in options if option in _PLAIN), None)


def _is_mapping(option: Any) -> bool:
    return (get_origin(option) or option) in (dict, Mapping)


def _answer(owner: str, field: Field | None, value: Any) -> Any:
    if _is_blank(value):
        return _nothing(field)
    if field is not None and field.kind == "map":
        return _mapping(owner, field, value)
    if field is not None and field.kind == "list" and isinstance(value, str) and ";" in value:
        value = [part.strip() for part in value.split(";") if part.strip()]
    return tuple(value) if isinstance(value, list) else _settled(field, value)


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _nothing(field: Field | None) -> Any:
    return None if field is not None and field.optional else _DEFAULT


def _mapping(owner: str, field: Field, value: Any) -> Any:
    """A value for each of some columns, each read; lines that were left empty say nothing."""
    given = split_steps(value) or value if field.each == "step" and isinstance(value, str) else value
    if not isinstance(given, Mapping):
        return given
    lines = {column: item for column, item in given.items() if not _is_blank(item) and item not in ({}, [])}
    return {column: _line(owner, field, column, item) for column, item in lines.items()} or _nothing(field)


def _line(owner: str, field: Field, column: str, item: Any) -> Any:
    if field.each == "step":
        return _step(owner, field, column, item)
    if field.each == "columns":
        return tuple(item) if isinstance(item, list) else item
    read = number(item.strip()) if isinstance(item, str) else item
    whole = isinstance(read, int) or (field.each == "number" and isinstance(read, float))
    if whole and not isinstance(read, bool):
        return read
    rule = f"{field.name} of '{column}' must be a {'' if field.each == 'number' else 'whole '}number"
    raise FieldError(owner, rule, got=repr(item)[:40], field=field.name, column=column)


def _step(owner: str, field: Field, column: str, words: Any) -> Any:
    try:
        return read_step(words)
    except ParameterError as error:
        facts = {"got": error.got, "hint": error.hint, "field": field.name, "column": column}
        raise FieldError(f"{owner}, step of '{column}'", error.rule, **facts) from None


def _settled(field: Field | None, value: Any) -> Any:
    """Browsers send whole numbers as 5.0."""
    whole = field is not None and field.kind == "whole" and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def _named(error: ParameterError, known: Mapping[str, Field]) -> FieldError:
    field = error.parameter if error.parameter in known else ""
    return FieldError(error.owner, error.rule, got=error.got, hint=error.hint, field=field)


def _options(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _choices(option: Any) -> tuple[Any, ...]:
    return get_args(option) if get_origin(option) is Literal else ()


def _end(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, tuple) else value
