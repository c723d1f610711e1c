"""What can be chosen: goals in the words of the person who publishes, and the methods behind them.

A goal is a place to start, with a recipe that serves it; every part of the recipe can be changed afterwards. What a
method promises is said in one line, in the words of its own page; what a release promises is in its claims.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from shoal.coarsening import Generalize, Mondrian
from shoal.compliance import SafeHarbor
from shoal.errors import ParameterError
from shoal.group import MDAV, Ball, Crest, KMember
from shoal.mask import Centroid, GaussianDither, MicroPerturb, PushBack, Resample, Shuffle
from shoal.method import Family
from shoal.method import methods as registered
from shoal.recipe import Anonymization, Coarsening, Recipe, Synthesis
from shoal.schema import Schema
from shoal.web.forms import ROWS, Field, fields

__all__ = ["Family", "Goal", "Method", "bare_columns", "goal", "goals", "methods"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """A method that can be chosen.

    Parameters
    ----------
    name, family
        Its name in recipes and on the command line, and where it stands in one.
    title, words, promise
        What it is called, what it does, and what it promises, one line each; nothing is promised where `promise` is
        empty.
    fields
        The questions of its form.

    Examples
    --------
    >>> from shoal.web.catalogue import methods
    >>> [method.name for method in methods("synthesize")][:2]
    ['pegs', 'perturbed-imputation']
    """

    name: str
    family: Family
    title: str
    words: str
    promise: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What a person wants to reach.

    Parameters
    ----------
    name, title, words
        Its name, and what it is for.
    families
        The families its recipe is made of.
    recipe
        The recipe to start with, in words.
    preset
        Rules that the finished table is held to; None: none.
    lacking
        Says of a schema what the recipe would lack; an empty text if nothing.

    Examples
    --------
    >>> import shoal
    >>> from shoal.web.catalogue import goal
    >>> print(goal("synthetic").lacks(shoal.Schema.of(quasi=["age"])))
    Declare the publicly known levels or bounds of age.
    """

    name: str
    title: str
    words: str
    families: tuple[Family, ...]
    recipe: dict[str, Any]
    preset: str | None = None
    lacking: Callable[[Schema], str] | None = None

    @property
    def for_linked(self) -> bool:
        """Whether it can be reached for linked tables: by groups and masks, or by coarsening without a preset."""
        return "synthesize" not in self.families and self.preset is None

    def lacks(self, schema: Schema) -> str:
        """What `schema` would have to say for the recipe to run; empty if nothing."""
        if not schema.quasi:
            return "Give the role quasi to at least one column that others could know about a person."
        return self.lacking(schema) if self.lacking else ""


@cache
def methods(family: Family) -> tuple[Method, ...]:
    """The methods of a family, the usual one first."""
    return tuple(_method(cls) for cls in registered(family))


@cache
def goals() -> tuple[Goal, ...]:
    """The goals, the usual one first."""
    return (
        _distribution(),
        _regressions(),
        _classes(),
        _clusters(),
        _moments(),
        _familiar(),
        _fixed_bands(),
        _synthetic(),
        _safe_harbor(),
    )


def goal(name: str) -> Goal:
    """The goal of this name."""
    for known in goals():
        if known.name == name:
            return known
    raise ParameterError("goal", f"must be one of {', '.join(known.name for known in goals())}", got=repr(name)[:40])


# Goals


def _distribution() -> Goal:
    return Goal(
        name="distribution",
        title="Keep the distribution",
        words="Preserves shares, cross-tabulations, weights and types of the quasi-identifiers exactly.",
        families=("group", "mask"),
        recipe=_words(Anonymization.of(KMember(k=5), GaussianDither(exact=True))),
    )


def _regressions() -> Goal:
    return Goal(
        name="regressions",
        title="Keep regressions",
        words="Groups are also similar in the numeric sensitive columns, which best preserves their regressions on "
        "the others.",
        families=("group", "mask"),
        recipe=_words(Anonymization.of(KMember(k=5, response_weight=1.0), Resample(replace=False))),
        lacking=lambda schema: _lacks_sensitive(schema, ("numeric", None), "a numeric column whose regression matters"),
    )


def _classes() -> Goal:
    return Goal(
        name="class-mix",
        title="Keep means and covariances, with mixed classes",
        words="Group members are similar but mixed in their sensitive class, so that a group reveals no diagnosis; "
        "means and covariances of numbers are preserved exactly.",
        families=("group", "mask"),
        recipe=_words(Anonymization.of(Crest(k=5), MicroPerturb(noise="exact"))),
        lacking=lambda schema: _lacks_sensitive(schema, ("nominal", "ordinal", None), "a nominal or ordinal column"),
    )


def _clusters() -> Goal:
    return Goal(
        name="clusters",
        title="Keep clusters and places, hide those who stand out",
        words="Works for codes, places and anything with a distance; outliers are moved into the nearest group, then "
        "values are swapped within it. The remaining risk is measured, not bounded.",
        families=("group", "mask"),
        recipe=_words(Anonymization.of(Ball(minimum=5), [PushBack(), Shuffle()])),
    )


def _moments() -> Goal:
    return Goal(
        name="microaggregation",
        title="Classical microaggregation",
        words="Replaces every group of k by its mean, as sdcMicro does. Anyone can check k; variances shrink.",
        families=("group", "mask"),
        recipe=_words(Anonymization.of(MDAV(k=5), Centroid())),
    )


def _familiar() -> Goal:
    return Goal(
        name="familiar",
        title="Simple and familiar",
        words="Intervals and sets instead of exact values, just wide enough for k people to share each combination.",
        families=("coarsen",),
        recipe=_words(Coarsening.of(Mondrian(k=5))),
    )


def _fixed_bands() -> Goal:
    return Goal(
        name="fixed-bands",
        title="The same bands everywhere",
        words="One level of detail for a whole column (ten-year age bands for everyone), as ARX does; a few records "
        "are suppressed.",
        families=("coarsen",),
        recipe=_words(Coarsening.of(Generalize(k=5))),
    )


def _synthetic() -> Goal:
    from shoal.synth import PeGS

    return Goal(
        name="synthetic",
        title="A public file with a formal guarantee",
        words="New rows that belong to no real person, with differential privacy: one epsilon holds whatever others "
        "know. Statistics of columns and pairs are preserved, rare combinations are not.",
        families=("synthesize",),
        recipe=_words(Synthesis.of(PeGS(epsilon=1.0))),
        lacking=_lacks_domain,
    )


def _safe_harbor() -> Goal:
    return Goal(
        name="safe-harbor",
        title="Remove Safe Harbor identifiers",
        words="ZIP codes, dates and ages as 45 CFR 164.514(b)(2) requires; direct identifiers are refused. No k "
        "is promised; whether this is enough is for a person to decide.",
        families=("coarsen",),
        recipe=_words(Coarsening.of(SafeHarbor())),
        preset="safe-harbor",
    )


def _words(recipe: Recipe) -> dict[str, Any]:
    return recipe.to_dict()


def _lacks_sensitive(schema: Schema, kinds: tuple[str | None, ...], what: str) -> str:
    if any(schema[name].kind in kinds for name in schema.sensitive):
        return ""
    return f"Give {what} the role sensitive."


def bare_columns(schema: Schema) -> list[str]:
    """The columns that synthesis draws and that have no public range or levels; others are left out without one."""
    drawn = [c for c in schema.columns if c.role in ("quasi", "sensitive") and not c.derived]
    return [column.name for column in drawn if not (column.levels or column.bounds or column.edges)]


def _lacks_domain(schema: Schema) -> str:
    bare = bare_columns(schema)
    if not bare:
        return ""
    shown = ", ".join(bare[:5]) + (f" and {len(bare) - 5:,} more" if len(bare) > 5 else "")
    return f"Declare the publicly known levels or bounds of {shown}."


# Methods


def _method(cls: type[Any]) -> Method:
    questions = fields(cls)
    return Method(
        name=cls.name,
        family=cls.family,
        title=cls.title,
        words=cls.summary,
        promise=cls.promise,
        fields=(*questions, ROWS) if cls.family == "synthesize" else questions,
    )
