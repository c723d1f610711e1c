"""Recipes in few words: a name with what differs from the defaults, a family, and the command that runs it."""

from __future__ import annotations

from typing import Any

from shoal.coarsening import Recode
from shoal.command import command_line
from shoal.errors import ParameterError
from shoal.params import Parameter, parameters, to_dict
from shoal.recipe import AnyRecipe, Coarsening, Recipe, Synthesis, spell

__all__ = ["FAMILIES", "command_of", "family_of", "name_of"]

FAMILIES = ("blind masks", "aware masks", "coarsening", "synthesis")
"""Blind masks carry a proved bound on re-identification, aware ones are measured only."""

_ALWAYS = ("k", "minimum", "epsilon")


def name_of(recipe: AnyRecipe) -> str:
    """A recipe as it is written on the command line, without parameters that are at their defaults.

    Examples
    --------
    >>> import shoal
    >>> from shoal.comparison.naming import name_of
    >>> from shoal.recipe import Recipe
    >>> name_of(Recipe.of(shoal.KMember(k=5), shoal.GaussianDither(exact=True)))
    'k-member:k=5, then gaussian-dither:exact=true'
    """
    return ", then ".join(_short(method) for method in methods_of(recipe)) + _rows(recipe)


def family_of(recipe: AnyRecipe) -> str:
    """Which of `FAMILIES` a recipe belongs to."""
    if isinstance(recipe, Synthesis):
        return "synthesis"
    if isinstance(recipe, Coarsening):
        return "coarsening"
    return "blind masks" if recipe.is_blind else "aware masks"


def methods_of(recipe: AnyRecipe) -> tuple[Any, ...]:
    """The methods of a recipe in their order."""
    if isinstance(recipe, Recipe):
        return (recipe.group, *recipe.masks)
    return recipe.methods if isinstance(recipe, Coarsening) else (recipe.method,)


def command_of(recipe: AnyRecipe) -> str | None:
    """The command line that makes a release by this recipe; None where it has no words for it."""
    try:
        return command_line(recipe, "FILE", "SCHEMA", "FOLDER")
    except ParameterError:
        return None


def _short(method: Any) -> str:
    """`shoal.recipe.spell` without what is at its default; parts of a spelled value stay with it.

    Of a recode the columns and what is done to them: its trees and edges fill pages.
    """
    if isinstance(method, Recode):
        return "recode:" + ",".join(f"{column}={words['kind']}" for column, words in to_dict(method)["steps"].items())
    name, _, words = spell(method).partition(":")
    quiet = {parameter.name for parameter in parameters(type(method)) if _goes_without_saying(method, parameter)}
    told = [word for word in words.split(",") if word and word.partition("=")[0] not in quiet]
    return ":".join(filter(None, (name, ",".join(told))))


def _goes_without_saying(method: Any, parameter: Parameter) -> bool:
    value, default = (
        tuple(v) if isinstance(v, list) else v for v in (getattr(method, parameter.name), parameter.default)
    )
    return value == default and (parameter.name not in _ALWAYS or (parameter.name == "k" and value == 1))


def _rows(recipe: AnyRecipe) -> str:
    return f" ({recipe.rows:,} rows)" if isinstance(recipe, Synthesis) and recipe.rows else ""
