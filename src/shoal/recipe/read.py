"""Read a recipe from whatever names one: methods, pairs of a grouper and masks, words, a command line, a TOML file.

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
from shoal.method import Family, find
from shoal.params import build, check
from shoal.recipe.anonymization import Anonymization
from shoal.recipe.coarsening import Coarsening
from shoal.recipe.linked import LinkedRecipe
from shoal.recipe.recipe import ReadMethod, Recipe, offer
from shoal.recipe.synthesis import Synthesis

__all__ = ["as_recipe", "as_recipes", "kind_of", "known_method", "read_method", "read_recipe", "read_recipes"]

KINDS: tuple[type[Recipe], ...] = (Anonymization, Coarsening, Synthesis, LinkedRecipe)
_FORM = "must be a recipe, a pair (grouper, mask or masks), a coarsener or a list of them, or a synthesizer"


def read_method(text: str, family: Family, defaults: Mapping[str, Any] | None = None) -> Any:
    """Read a method such as ``gaussian-dither:alpha=0.2`` of a family.

    Examples
    --------
    >>> from shoal.recipe import read_method
    >>> read_method("gaussian-dither:alpha=1/4", "mask").alpha
    0.25
    """
    name, _, rest = text.partition(":")
    words: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = item.partition("=")
        if not equals:
            raise ParameterError(name, "parameters must be written name=value", got=repr(item[:40]))
        words[key.strip().replace("-", "_")] = value.strip()
    return build(known_method(family, name), {**(defaults or {}), **words})


def known_method(family: Family, name: str) -> type[Any]:
    """The class of a method by its name in recipes."""
    cls = find(family, name)
    if cls is None:
        raise ParameterError("recipe", "must name a known method", got=repr(name[:40]), hint=offer(family))
    return cls


def read_recipe(words: Any, method: ReadMethod | None = None) -> Recipe:
    """Read a recipe of any kind from its words: those of `to_dict`, or methods as they are written on the command line.

    `method` reads one method from its words; a form has words of its own.
    """
    kind = kind_of(words)
    if kind is None:
        rule = "must have group and mask, or coarsen (either with events), or synthesize (and rows)"
        raise ParameterError("recipe", rule, got=_keys(words))
    return kind.read(words, method or _method)


def kind_of(words: Any) -> type[Recipe] | None:
    """The kind of recipe that words name, whether or not its methods can be read; None where they name none."""
    names = frozenset(words) if isinstance(words, Mapping) else frozenset()
    return next((kind for kind in KINDS if names in kind.entries), None)


def _method(family: Family, given: Any) -> Any:
    if isinstance(given, str):
        return read_method(given, family)
    if not isinstance(given, Mapping) or not isinstance(given.get("method"), str):
        raise ParameterError("recipe", "a method must be a string, or a table that names its method")
    name = str(given["method"]).partition(":")[0]
    return build(known_method(family, name), {key: value for key, value in given.items() if key != "method"})


def as_recipes(given: Sequence[Any]) -> tuple[Recipe, ...]:
    """Each of `given` as a recipe, in order, without repeats."""
    if isinstance(given, str | Mapping) or not isinstance(given, Sequence):
        raise ParameterError("compare", "recipes must be a list of recipes", got=type(given).__name__)
    if not given:
        raise ParameterError("compare", "recipes must hold at least one recipe", got="none")
    recipes = [_named(f"compare, recipe {i}", as_recipe, one) for i, one in enumerate(given, start=1)]
    return _once(recipes)


def _once(recipes: list[Recipe]) -> tuple[Recipe, ...]:
    words = [recipe.to_dict() for recipe in recipes]  # a list and a tuple are the same words
    return tuple(recipe for i, recipe in enumerate(recipes) if words[i] not in words[:i])


def as_recipe(given: Any) -> Recipe:
    """A recipe from whatever names one."""
    if isinstance(given, Recipe):
        for method in given.methods:
            check(method)
        return given
    if getattr(given, "family", None) == "synthesize":
        return Synthesis.of(given)
    if isinstance(given, Mapping):
        return read_recipe(given)
    return _of_methods(given)


def _of_methods(given: Any) -> Recipe:
    methods = [given] if isinstance(given, Coarsener) else given
    if isinstance(methods, list | tuple) and methods:
        if all(isinstance(method, Coarsener) for method in methods):
            return Coarsening.of(methods)
        if len(methods) == 2 and isinstance(methods[0], Grouper):
            return Anonymization.of(methods[0], methods[1])
    raise ParameterError("recipe", _FORM, got=type(given).__name__)


def read_recipes(path: str | PathLike[str]) -> tuple[Recipe, ...]:
    """Read the recipes of a TOML file; an error names the entry.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from shoal.recipe import read_recipes
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "recipes.toml"
    >>> _ = path.write_text('[[recipe]]\\ngroup = "mdav:k=5"\\nmask = "centroid"\\n')
    >>> [str(recipe) for recipe in read_recipes(path)]
    ['mdav:k=5, then centroid:center=mean']
    """
    entries = _entries(Path(path))
    recipes = [_named(f"{path}, recipe {i}", read_recipe, entry) for i, entry in enumerate(entries, start=1)]
    return _once(recipes)


def _entries(path: Path) -> list[Any]:
    try:
        words = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FileError(str(path), "recipe file must be readable", got=(error.strerror or "").lower()) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(str(path), f"must be a TOML file ({error})") from None
    entries = words.get("recipe")
    if set(words) != {"recipe"} or not isinstance(entries, list) or not entries:
        raise ParameterError(str(path), "must hold one or more [[recipe]] tables and nothing else", got=_keys(words))
    return entries


def _named(place: str, read: Any, given: Any) -> Recipe:
    """Read one entry; an error says which it was."""
    try:
        recipe: Recipe = read(given)
    except ShoalError as error:
        raise ParameterError(f"{place}, {error.owner}", error.rule, got=error.got, hint=error.hint) from None
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise ParameterError(place, "can't be read", got=type(error).__name__) from None
    return recipe


def _keys(words: Any) -> str:
    return ", ".join(map(str, words))[:60] or "nothing" if isinstance(words, Mapping) else type(words).__name__
