"""Recipes as people write them: methods, pairs of a grouper and masks, words of a TOML file.

A file of recipes holds one ``[[recipe]]`` table for each, in the words of `recipe.to_dict()` or as on the command
line::

    [[recipe]]
    group = "k-member:k=5"
    mask = ["gaussian-dither:exact=true"]

    [[recipe]]
    coarsen = "mondrian:k=5"

    [[recipe]]
    synthesize = "pegs:epsilon=1"
    rows = 10000
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from shoal.coarsening import Coarsener
from shoal.errors import FileError, ParameterError, ShoalError
from shoal.group import Grouper
from shoal.recipe import (
    COARSENERS,
    GROUPERS,
    MASKS,
    AnyRecipe,
    Coarsening,
    Recipe,
    Synthesis,
    read_method,
    read_recipe,
    synthesizers,
)
from shoal.synth.synthesizer import Synthesizer

__all__ = ["as_recipe", "as_recipes", "read_entry", "read_recipes"]

_FORM = "must be a recipe, a pair (grouper, mask or masks), a coarsener or a list of them, or a synthesizer"
_ENTRIES = ({"group", "mask"}, {"coarsen"}, {"synthesize"}, {"synthesize", "rows"})


def as_recipes(given: Sequence[Any]) -> tuple[AnyRecipe, ...]:
    """Each of `given` as a recipe, in order, without repeats."""
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise ParameterError("compare", "recipes must be a list of recipes", got=type(given).__name__)
    if not given:
        raise ParameterError("compare", "recipes must hold at least one", got="none")
    recipes = [_named(f"compare, recipe {i}", as_recipe, one) for i, one in enumerate(given, start=1)]
    return _once(recipes)


def _once(recipes: list[AnyRecipe]) -> tuple[AnyRecipe, ...]:
    words = [recipe.to_dict() for recipe in recipes]  # a list and a tuple are the same words
    return tuple(recipe for i, recipe in enumerate(recipes) if words[i] not in words[:i])


def as_recipe(given: Any) -> AnyRecipe:
    """A recipe from whatever names one."""
    if isinstance(given, Recipe):
        return Recipe.of(given.group, given.masks)
    if isinstance(given, Coarsening):
        return Coarsening.of(given.methods)
    if isinstance(given, Synthesis):
        return Synthesis.of(given.method, given.rows)
    if isinstance(given, Synthesizer):
        return Synthesis.of(given)
    if isinstance(given, Mapping):
        return read_entry(given)
    return _of_methods(given)


def _of_methods(given: Any) -> AnyRecipe:
    methods = [given] if isinstance(given, Coarsener) else given
    if isinstance(methods, list | tuple) and methods:
        if all(isinstance(method, Coarsener) for method in methods):
            return Coarsening.of(methods)
        if len(methods) == 2 and isinstance(methods[0], Grouper):
            return Recipe.of(methods[0], methods[1])
    raise ParameterError("recipe", _FORM, got=type(given).__name__)


def read_recipes(path: str | PathLike[str]) -> tuple[AnyRecipe, ...]:
    """Read the recipes of a TOML file; an error names the entry.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from shoal.comparison import read_recipes
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "recipes.toml"
    >>> _ = path.write_text('[[recipe]]\\ngroup = "mdav:k=5"\\nmask = "centroid"\\n')
    >>> [str(recipe) for recipe in read_recipes(path)]
    ['mdav:k=5, then centroid:center=mean']
    """
    entries = _entries(Path(path))
    recipes = [_named(f"{path}, recipe {i}", read_entry, entry) for i, entry in enumerate(entries, start=1)]
    return _once(recipes)


def read_entry(words: Any) -> AnyRecipe:
    """One recipe from its words: those of `to_dict`, or methods as they are written on the command line."""
    if not isinstance(words, Mapping) or set(words) not in _ENTRIES:
        raise ParameterError(
            "recipe", "must have group and mask, or coarsen, or synthesize (and rows)", got=_keys(words)
        )
    if "group" in words:
        return Recipe.of(_method(words["group"], GROUPERS), [_method(m, MASKS) for m in _listed(words["mask"])])
    if "coarsen" in words:
        return Coarsening.of([_method(method, COARSENERS) for method in _listed(words["coarsen"])])
    given = words["synthesize"]
    if isinstance(given, str):
        return Synthesis.of(_method(given, synthesizers()), words.get("rows"))
    whole = read_recipe({"synthesize": {**given, **({"rows": words["rows"]} if "rows" in words else {})}})
    return as_recipe(whole)


def _entries(path: Path) -> list[Any]:
    try:
        words = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FileError(str(path), "file of recipes must be readable", got=(error.strerror or "").lower()) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(str(path), f"must be a TOML file ({error})") from None
    entries = words.get("recipe")
    if set(words) != {"recipe"} or not isinstance(entries, list) or not entries:
        raise ParameterError(str(path), "must hold [[recipe]] tables, at least one, and nothing else", got=_keys(words))
    return entries


def _method(given: Any, choices: Sequence[type[Any]]) -> Any:
    if isinstance(given, str):
        return read_method(given, choices)
    if not isinstance(given, Mapping) or not isinstance(given.get("method"), str):
        raise ParameterError("recipe", "a method must be a text or a table that names its method")
    name = str(given["method"])
    return read_method(name.partition(":")[0], choices, {key: value for key, value in given.items() if key != "method"})


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _named(place: str, read: Any, given: Any) -> AnyRecipe:
    """Read one entry; an error says which it was."""
    try:
        recipe: AnyRecipe = read(given)
    except ShoalError as error:
        raise ParameterError(f"{place}, {error.owner}", error.rule, got=error.got, hint=error.hint) from None
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ParameterError(place, "can't be read", got=type(error).__name__) from None
    return recipe


def _keys(words: Any) -> str:
    return ", ".join(map(str, words))[:60] or "nothing" if isinstance(words, Mapping) else type(words).__name__
