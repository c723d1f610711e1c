"""A recipe as a command line and as TOML, so that what was tried in the browser can be run anywhere.

The command line is read back before it is given out; a recipe that it can't spell (a column whose name holds a comma, a
chain that no option builds) is an error that says so, and has its TOML.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from shoal.coarsening import Coarsener, Recode
from shoal.compliance import preset as preset_of
from shoal.errors import ParameterError
from shoal.params import number, parameters, to_dict
from shoal.recipe import (
    COARSENERS,
    GROUPERS,
    MASKS,
    AnyRecipe,
    Coarsening,
    Recipe,
    Synthesis,
    method_name,
    read_method,
    synthesizers,
)

__all__ = ["command_line", "recipe_toml"]

_PAIRS = {"importance": "--importance", "limits": "--limit"}
_LONGEST = 300  # letters of a comment
_PROTECT = ("k", "minimum", "epsilon")
_TEXTS = {"diversity": "--diversity", "closeness": "--closeness"}


def command_line(
    recipe: AnyRecipe,
    file: str | Path,
    schema_file: str | Path,
    out: str | Path,
    seed: int | None = None,
    *,
    preset: str | None = None,
    accept: bool = False,
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
        Rules that a coarsened table is held to (`shoal coarsen --preset`, `--accept`).
    limit, account
        The limit of a synthesis' account, and whether it is kept at all.
    reading
        The delimiter, encoding and decimal sign that were asked for.

    Raises
    ------
    ParameterError
        The command line has no words for this recipe; its TOML has.

    Examples
    --------
    >>> import shoal
    >>> from shoal.recipe import Recipe
    >>> from shoal.command import command_line
    >>> print(command_line(Recipe.of(shoal.MDAV(k=10), shoal.Centroid()), "my people.csv", "schema.toml", "release"))
    shoal anonymize 'my people.csv' --schema schema.toml --out release --group mdav:k=10 --mask centroid
    """
    if isinstance(recipe, Recipe):
        command, options = "anonymize", _anonymize(recipe)
    elif isinstance(recipe, Coarsening):
        command, options = "coarsen", _coarsen(recipe, preset, accept)
    else:
        command, options = "synthesize", _synthesize(recipe, limit, account)
        if seed is not None:
            raise _unspoken("a seed of a synthesis")
    places = [command, _path(file), "--schema", str(schema_file), "--out", str(out)]
    return shlex.join(["shoal", *places, *options, *_rest(seed, format, reading)])


def recipe_toml(recipe: AnyRecipe, *, preset: str | None = None) -> str:
    """The recipe as a ``[[recipe]]`` table of TOML, as ``shoal compare --recipes`` reads it.

    Examples
    --------
    >>> import shoal, tomllib
    >>> from shoal.recipe import Coarsening, read_recipe
    >>> from shoal.command import recipe_toml
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


def _anonymize(recipe: Recipe) -> list[str]:
    masks = [part for mask in recipe.masks for part in ("--mask", _spelled(mask, MASKS))]
    return ["--group", _spelled(recipe.group, GROUPERS), *masks]


def _synthesize(recipe: Synthesis, limit: float | None, account: bool) -> list[str]:
    rows = [] if recipe.rows is None else ["--rows", str(recipe.rows)]
    most = [] if limit is None else ["--limit", repr(float(limit))]
    return ["--method", _spelled(recipe.method, synthesizers()), *rows, *most, *([] if account else ["--no-account"])]


def _coarsen(recipe: Coarsening, preset: str | None, accept: bool) -> list[str]:
    rest = list(recipe.methods)
    options = _recoded(rest.pop(0)) if isinstance(rest[0], Recode) else []
    if preset is not None:
        options += ["--preset", preset, *_of_preset(preset, rest)]
    if len(rest) > 1 or any(isinstance(method, Recode) for method in rest):
        raise _unspoken("this chain of coarseners")
    options += _last(rest[0]) if rest else ["--method", "none"]
    return [*options, *(["--accept"] if accept else [])]


def _recoded(recode: Coarsener) -> list[str]:
    """A step for each column, as ``age=cap:high=90``."""
    options = []
    for column, words in to_dict(recode)["steps"].items():
        parts = {name: value for name, value in words.items() if name != "kind" and value != "none"}
        if "=" in column or not column or not all(_is_plain(value) for value in parts.values()):
            raise _unspoken(f"the step of the column '{column}'")
        said = ",".join(f"{name}={_text(value)}" for name, value in parts.items())
        options += ["--recode", f"{column}={words['kind']}{':' if said else ''}{said}"]
    return options


def _is_plain(value: Any) -> bool:
    """Whether a step's value comes back from the command line as it is: it knows numbers and short texts."""
    text = _text(value)
    return not isinstance(value, bool | list | tuple | Mapping) and not set(text) & set(",=") and number(text) == value


def _of_preset(name: str, rest: list[Coarsener]) -> list[str]:
    """What is said beside a preset whose own steps begin the chain; they are taken off `rest`."""
    allowed: tuple[str, ...] = ()
    for wanted in preset_of(name).first:
        if not rest or type(rest[0]) is not type(wanted):
            raise _unspoken(f"the preset {name} without its own first step")
        given = rest.pop(0)
        allowed = tuple(getattr(given, "allow", ()))
        if {**to_dict(given), "allow": []} != {**to_dict(wanted), "allow": []}:
            raise _unspoken(f"other parameters of {method_name(type(given))} under the preset {name}")
    return [part for column in allowed for part in ("--allow", column)]


def _last(method: Coarsener) -> list[str]:
    """The coarsener that sees to k; values that hold commas or belong to columns have options of their own."""
    words = to_dict(method)
    apart = {name: words[name] for name in (*_PAIRS, *_TEXTS) if words.get(name, "none") != "none"}
    options = [part for name, value in apart.items() for part in _apart(name, value)]
    given = {name: dict(getattr(method, name)) if name in _PAIRS else value for name, value in apart.items()}
    if method.k >= 2:
        options = ["--k", str(method.k), *options]
        given["k"] = method.k
    return ["--method", _spelled(method, COARSENERS, given), *options]


def _apart(name: str, value: Any) -> list[str]:
    if name in _TEXTS:
        return [_TEXTS[name], _text(value)]
    if any("=" in column for column in value):
        raise _unspoken(f"the {name} of a column with = in its name")
    return [part for column, item in value.items() for part in (_PAIRS[name], f"{column}={_text(item)}")]


def _spelled(method: Any, choices: Sequence[type[Any]], given: Mapping[str, Any] | None = None) -> str:
    """A method with the parameters that differ from their defaults, held to be read back as it is."""
    apart, words = given or {}, to_dict(method)
    parts = [f"{name}={_text(words[name])}" for name in _telling(method) if name not in apart]
    text = ":".join(part for part in (method_name(type(method)), ",".join(parts)) if part)
    try:
        same = to_dict(read_method(text, choices, apart)) == words
    except ParameterError:
        same = False
    if not same:
        raise _unspoken(f"these parameters of {method_name(type(method))}")
    return text


def _telling(method: Any) -> list[str]:
    """The parameters worth saying: those that protect, and those that aren't as usual."""
    return [p.name for p in parameters(type(method)) if p.name in _PROTECT or getattr(method, p.name) != p.default]


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "/".join(f"{name}={_text(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return "/".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _rest(seed: int | None, format: str | None, reading: Mapping[str, Any] | None) -> list[str]:
    asked = {"--seed": seed, "--format": format}
    asked |= {f"--{name}": value for name, value in (reading or {}).items() if (name, value) != ("decimal", ".")}
    return [part for name, value in asked.items() if value is not None for part in (name, str(value))]


def _path(file: str | Path) -> str:
    """A file name that is no option."""
    return f"./{file}" if str(file).startswith("-") else str(file)


def _unspoken(what: str) -> ParameterError:
    return ParameterError("command line", f"has no words for {what}", hint="Take the recipe as TOML.")
