"""Spell a recipe: as a text, as a short name, as a command line, as TOML; `shoal.recipe.read` reads them all.

Methods are written by their name, parameters after a colon::

    k-member:k=5,response_weight=0.5        gaussian-dither:alpha=1/3,exact=true        mondrian:k=5

A command line is read back before it is given out; a recipe that it can't spell (a column whose name holds a comma, a
chain that no option builds) is an error that says so, and has its TOML.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from shoal.coarsening import Recode
from shoal.compliance import preset as preset_of
from shoal.errors import ParameterError
from shoal.method import Method
from shoal.params import Parameter, number, parameters, to_dict

if TYPE_CHECKING:
    from shoal.coarsening import Coarsener
    from shoal.recipe.recipe import Recipe

__all__ = ["argument", "coarsen_options", "command_line", "recipe_toml", "short", "spell", "unspoken"]

_PAIRS = {"importance": "--importance", "limits": "--limit"}
_LONGEST = 300  # letters of a comment
_PROTECT = ("k", "minimum", "epsilon")
_TEXTS = {"diversity": "--diversity", "closeness": "--closeness", "risk": "--risk", "population": "--population"}


def spell(method: Method) -> str:
    """A method with all its parameters, as it is written on the command line; numbers to six digits."""
    return _joined(method, {name: _short(value) for name, value in to_dict(method).items() if value != "none"})


def short(method: Method) -> str:
    """A method with the parameters that aren't at their defaults; of a recode its columns and what is done to them.

    Examples
    --------
    >>> import shoal
    >>> from shoal.recipe import short
    >>> short(shoal.GaussianDither(exact=True))
    'gaussian-dither:exact=true'
    """
    words = to_dict(method)
    steps = words.get("steps")
    if isinstance(steps, Mapping):  # its trees and edges fill pages
        return _joined(method, {column: step["kind"] for column, step in steps.items()})
    shown = [name for name in _shown_parameters(method) if words[name] != "none" and (name, words[name]) != ("k", 1)]
    return _joined(method, {name: _short(words[name]) for name in shown})


def _joined(method: Method, parts: Mapping[str, str]) -> str:
    return ":".join(filter(None, (method.name, ",".join(f"{name}={text}" for name, text in parts.items()))))


def argument(method: Method, given: Mapping[str, Any] | None = None) -> str:
    """A method as an argument of the command line, held to be read back as it is.

    `given` are the parameters that have options of their own.
    """
    from shoal.recipe.read import read_method

    apart, words = given or {}, to_dict(method)
    text = _joined(method, {name: _text(words[name]) for name in _shown_parameters(method) if name not in apart})
    try:
        same = to_dict(read_method(text, method.family, apart)) == words
    except ParameterError:
        same = False
    if not same:
        raise unspoken(f"these parameters of {method.name}")
    return text


def command_line(
    recipe: Recipe,
    file: str | Path,
    schema_file: str | Path,
    out: str | Path,
    seed: int | None = None,
    *,
    preset: str | None = None,
    accept: bool = False,
    allow: Sequence[str] = (),
    limit: float | None = None,
    account: bool = True,
    format: str | None = None,
    reading: Mapping[str, Any] | None = None,
) -> str:
    """The command that runs `recipe` on `file`, quoted for a shell.

    Parameters
    ----------
    recipe, file, schema_file, out, seed, format
        What is run on what, where its schema lies and where the release goes.
    preset, accept
        Rules that the release is held to (`--preset`, `--accept`).
    allow
        Columns that a person has looked at and lets stand (`--allow`); those of the recipe's own steps come with them.
    limit, account
        The limit of a synthesis' account, and whether it is kept at all.
    reading
        The delimiter, encoding and decimal sign that were asked for.

    Raises
    ------
    ParameterError
        The command line can't express this recipe; TOML can.

    Examples
    --------
    >>> import shoal
    >>> from shoal.recipe import Anonymization, command_line
    >>> recipe = Anonymization.of(shoal.MDAV(k=10), shoal.Centroid())
    >>> print(command_line(recipe, "my people.csv", "schema.toml", "release"))
    shoal anonymize 'my people.csv' --schema schema.toml --out release --group mdav:k=10 --mask centroid
    """
    options = recipe.options(seed=seed, preset=preset, accept=accept, limit=limit, account=account)
    within = {name for method in recipe.methods for name in getattr(method, "allow", ())}
    options += [part for name in allow if name not in within for part in ("--allow", name)]
    places = [recipe.command, _path(file), "--schema", str(schema_file), "--out", str(out)]
    return shlex.join(["shoal", *places, *options, *_rest(seed, format, reading)])


def recipe_toml(recipe: Recipe, *, preset: str | None = None) -> str:
    """The recipe as a ``[[recipe]]`` table of TOML, as ``shoal compare --recipes`` reads it.

    Examples
    --------
    >>> import shoal, tomllib
    >>> from shoal.recipe import Coarsening, read_recipe, recipe_toml
    >>> text = recipe_toml(Coarsening.of(shoal.Mondrian(k=5)))
    >>> str(read_recipe(tomllib.loads(text)["recipe"][0]))
    'mondrian:k=5,relaxed=false,write=sets'
    """
    held = f"# The finished table is held to the rules of the preset {preset}.\n" if preset else ""
    return f"# {_one_line(str(recipe))}\n{held}{tomli_w.dumps({'recipe': [recipe.to_dict()]})}"


def _one_line(text: str) -> str:
    """A comment must not end before its line does, whatever a column is called."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}…"


def coarsen_options(methods: Sequence[Coarsener], preset: str | None, accept: bool) -> list[str]:
    """The options of a chain of coarseners: fixed steps, the steps of a preset, then the one that sees to k."""
    rest = list(methods)
    options = _recoded(rest.pop(0)) if isinstance(rest[0], Recode) else []
    if preset is not None:
        options += ["--preset", preset, *_of_preset(preset, rest)]
    if len(rest) > 1 or any(isinstance(method, Recode) for method in rest):
        raise unspoken("this chain of coarseners")
    options += _last(rest[0]) if rest else ["--method", "none"]
    return [*options, *(["--accept"] if accept else [])]


def _recoded(recode: Coarsener) -> list[str]:
    """A step for each column, as ``age=cap:high=90``."""
    options = []
    for column, words in to_dict(recode)["steps"].items():
        parts = {name: value for name, value in words.items() if name != "kind" and value != "none"}
        if "=" in column or not column or not all(_is_plain(value) for value in parts.values()):
            raise unspoken(f"the step of the column '{column}'")
        said = ",".join(f"{name}={_text(value)}" for name, value in parts.items())
        options += ["--recode", f"{column}={words['kind']}{':' if said else ''}{said}"]
    return options


def _is_plain(value: Any) -> bool:
    """Whether a step's value comes back from the command line as it is: it knows numbers and short texts."""
    text = _text(value)
    return not isinstance(value, bool | list | tuple | Mapping) and not set(text) & set(",=") and number(text) == value


def _of_preset(name: str, rest: list[Coarsener]) -> list[str]:
    """What is said beside a preset whose own steps begin the chain; they are taken off `rest`."""
    said: list[str] = []
    for wanted in preset_of(name).first:
        if not rest or type(rest[0]) is not type(wanted):
            raise unspoken(f"the preset {name} without its own first step")
        given = rest.pop(0)
        said += step_options(given)
        if {**to_dict(given), **_SAID} != {**to_dict(wanted), **_SAID}:
            raise unspoken(f"other parameters of {given.name} under the preset {name}")
    return said


_SAID: Mapping[str, Any] = {"allow": [], "year": None}


def step_options(step: Coarsener) -> list[str]:
    """What the step of a preset was given: columns that stay, and the year of the data."""
    year = getattr(step, "year", None)
    allowed = [part for column in getattr(step, "allow", ()) for part in ("--allow", column)]
    return [*allowed, *([] if year is None else ["--year", str(year)])]


def preset_options(preset: str | None, accept: bool) -> list[str]:
    """The options of a preset beside a recipe that doesn't hold its steps."""
    return [*([] if preset is None else ["--preset", preset]), *(["--accept"] if accept else [])]


def _last(method: Coarsener) -> list[str]:
    """The coarsener that sees to k; values that hold commas or belong to columns have options of their own."""
    words = to_dict(method)
    apart = {name: words[name] for name in (*_PAIRS, *_TEXTS) if words.get(name, "none") != "none"}
    options = [part for name, value in apart.items() for part in _apart(name, value)]
    given = {name: dict(getattr(method, name)) if name in _PAIRS else value for name, value in apart.items()}
    if method.k >= 2:
        options = ["--k", str(method.k), *options]
        given["k"] = method.k
    return ["--method", argument(method, given), *options]


def _apart(name: str, value: Any) -> list[str]:
    if name in _TEXTS:
        return [_TEXTS[name], _text(value)]
    if any("=" in column for column in value):
        raise unspoken(f"the {name} of a column with = in its name")
    return [part for column, item in value.items() for part in (_PAIRS[name], f"{column}={_text(item)}")]


def _shown_parameters(method: Method) -> list[str]:
    """The parameters worth saying: those that protect, and those that aren't as usual."""
    return [p.name for p in parameters(type(method)) if p.name in _PROTECT or not _is_usual(method, p)]


def _is_usual(method: Method, parameter: Parameter) -> bool:
    given, usual = (
        tuple(v) if isinstance(v, list) else v for v in (getattr(method, parameter.name), parameter.default)
    )
    return bool(given == usual)


def _short(value: Any) -> str:
    """A value as text, numbers to six digits; an empty list is none."""
    return "none" if value in ([], {}) else _text(value, "g")


def _text(value: Any, digits: str = "") -> str:
    if isinstance(value, Mapping):
        return "/".join(f"{name}={_text(item, digits)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return "/".join(_text(item, digits) for item in value)
    if isinstance(value, bool):
        return str(value).lower()
    return format(value, digits) if isinstance(value, float) else str(value)


def _rest(seed: int | None, format: str | None, reading: Mapping[str, Any] | None) -> list[str]:
    asked = {"--seed": seed, "--format": format}
    asked |= {f"--{name}": value for name, value in (reading or {}).items() if (name, value) != ("decimal", ".")}
    return [part for name, value in asked.items() if value is not None for part in (name, str(value))]


def _path(file: str | Path) -> str:
    """A file name that is no option."""
    return f"./{file}" if str(file).startswith("-") else str(file)


def unspoken(what: str) -> ParameterError:
    """The error of what only TOML can say."""
    return ParameterError("command line", f"can't express {what}", hint="Use the recipe as TOML.")
