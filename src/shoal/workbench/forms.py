"""Forms from the parameters' own declarations: what can be asked of a method, and its answers read back.

No parameter is declared twice: name, rule, default and help text are those of `shoal.params`. What a form can't offer
as a number, a choice or a list of columns is a text in the words of the command line: ``age=5/zip=2`` for a value
for each of some columns, ``036/059`` for a list.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from shoal.errors import ParameterError
from shoal.params import Parameter, build, number, parameters
from shoal.recipe import AnyRecipe, Synthesis, read_recipe

__all__ = ["ROWS", "Field", "FieldError", "FieldKind", "fields", "read", "read_words"]

M = TypeVar("M")

FieldKind = Literal["whole", "number", "choice", "flag", "text", "columns", "map"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One question of a form.

    Parameters
    ----------
    name, label, help
        The parameter's name, the same in plain letters, and what it does.
    kind
        How to ask: a whole number, a number, one of some choices, yes or no, a text, some of the columns, or a value
        for each of some columns (``{"age": 5}`` or ``"age=5/zip=2"``).
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
    >>> from shoal.workbench.forms import fields
    >>> [(field.name, field.kind, field.default) for field in fields(shoal.Crest)][:3]
    [('k', 'whole', 5), ('alpha', 'number', 0.5), ('neighbours', 'whole', None)]
    """

    name: str
    label: str
    help: str
    kind: FieldKind
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
    """An answer that can't be taken; `field` names the question.

    Examples
    --------
    >>> import shoal
    >>> from shoal.workbench.forms import FieldError, read
    >>> try:
    ...     read(shoal.MDAV, {"k": "1"})
    ... except FieldError as error:
    ...     print(error.field, "-", error)
    k - MDAV: k must be a whole number at least 2; got 1.
    """

    def __init__(self, owner: str, rule: str, *, got: str = "", hint: str = "", field: str = "") -> None:
        super().__init__(owner, rule, got=got, hint=hint)
        self.field = field


ROWS = Field(
    name="rows",
    label="rows",
    help="how many rows to draw, chosen without a look at the table; none: as many as the model says",
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
    words = {name: _answer(known.get(name), value) for name, value in answers.items()}
    try:
        return build(cls, {name: value for name, value in words.items() if value is not _DEFAULT})
    except ParameterError as error:
        raise _named(error, known) from None
    except TypeError:  # a parameter without a default
        asked = next(name for name, field in known.items() if field.required)
        raise FieldError(cls.__name__, f"{asked} must be given", field=asked) from None


def read_words(words: Mapping[str, Any]) -> AnyRecipe:
    """Read a recipe whose values may be texts, as forms give them."""
    if "synthesize" not in words:
        return read_recipe({name: _cleaned(part) for name, part in words.items() if name in _PARTS})
    parts = dict(words["synthesize"])
    rows = parts.pop("rows", None)
    recipe = read_recipe({"synthesize": _cleaned(parts)})
    assert isinstance(recipe, Synthesis)
    return Synthesis.of(recipe.method, _rows(rows))


_PARTS = ("group", "mask", "coarsen")
_DEFAULT = object()


def _cleaned(part: Any) -> Any:
    """The words of one method or several, with emptied fields left out."""
    if isinstance(part, Mapping):
        return {name: value for name, value in _stepped(part).items() if value not in ("", None)}
    return [_cleaned(entry) for entry in part]


def _stepped(words: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**words, "steps": _steps(words["steps"])} if words.get("method") == "recode" and "steps" in words else words


def _steps(given: Any) -> Any:
    """Recoding steps in words: ``{"age": "cap:high=90"}`` or ``age=cap:high=90/zip=prefix:keep=3``."""
    if isinstance(given, str):
        pairs = [part.partition("=") for part in given.split("/") if part.strip()]
        given = {name.strip(): step for name, _, step in pairs} if all(equals for _, equals, _ in pairs) else given
    if not isinstance(given, Mapping):
        return given
    return {name: _step(step) if isinstance(step, str) else step for name, step in given.items()}


def _step(text: str) -> dict[str, Any]:
    kind, _, rest = text.strip().partition(":")
    parts = [part.partition("=") for part in rest.split(",") if part]
    return {"kind": kind, **{name.strip(): number(value.strip()) for name, _, value in parts}}


def _rows(given: Any) -> int | None:
    if given in (None, "", "none"):
        return None
    try:
        return int(given)
    except (TypeError, ValueError):
        rule = "rows must be a whole number of at least 1"
        raise FieldError("synthesize", rule, got=repr(given)[:40], field="rows") from None


def _field(parameter: Parameter, *, required: bool) -> Field:
    options = [option for option in _options(parameter.type) if option is not type(None)]
    ends = parameter.range
    return Field(
        name=parameter.name,
        label=parameter.name.replace("_", " "),
        help=parameter.help,
        kind=_kind(parameter, options),
        default=parameter.default,
        minimum=_end(ends.low if ends else math.inf),
        maximum=_end(ends.high if ends else math.inf),
        above=_end(ends.above if ends else math.inf),
        below=_end(ends.below if ends else math.inf),
        choices=tuple(choice for option in options for choice in _choices(option)),
        optional=type(None) in _options(parameter.type),
        required=required,
    )


def _kind(parameter: Parameter, options: Sequence[Any]) -> FieldKind:
    """How to ask for a value of these types; a mixture is asked for as text, which the declaration can read."""
    if len(options) > 1:
        return "text"
    option = options[0]
    if get_origin(option) is Literal:
        return "choice"
    plain: dict[Any, FieldKind] = {bool: "flag", int: "whole", float: "number", str: "text"}
    if option in plain:
        return plain[option]
    origin = get_origin(option) or option
    if origin in (dict, Mapping):
        return "map"
    return "columns" if parameter.help.startswith("columns") else "text"


def _answer(field: Field | None, value: Any) -> Any:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None if field is not None and field.optional else _DEFAULT
    if field is not None and field.kind == "map" and field.name == "steps":
        return _steps(value)
    if field is not None and field.kind == "map" and isinstance(value, Mapping):
        return {name: number(item) if isinstance(item, str) else item for name, item in value.items()}
    return tuple(value) if isinstance(value, list) else _settled(field, value)


def _settled(field: Field | None, value: Any) -> Any:
    """Browsers send whole numbers as 5.0."""
    whole = field is not None and field.kind == "whole" and isinstance(value, float) and value.is_integer()
    return int(value) if whole else value


def _named(error: ParameterError, known: Mapping[str, Field]) -> FieldError:
    first = error.rule.split(" ", 1)[0]
    field = first if first in known else ""
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
