"""A recipe: how a release is made, in words that a file, a command line and a person can share.

There are three sorts: a grouper with a chain of masks (`Recipe`), a chain of coarseners (`Coarsening`), and a
synthesizer (`Synthesis`). Methods are written by their name in small letters with hyphens, parameters after a colon::

    k-member:k=5,response_weight=0.5        gaussian-dither:alpha=1/3,exact=true        mondrian:k=5
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from shoal.coarsening import Coarsener, Generalize, Mondrian, Recode, Suppress
from shoal.compliance import LimitedDataSet, SafeHarbor
from shoal.errors import ParameterError
from shoal.group import MDAV, MST, Ball, Crest, Grouper, KMember, TCloseMST
from shoal.mask import (
    AwareMask,
    BlindMask,
    CellDither,
    Centroid,
    Flatten,
    GaussianDither,
    MicroPerturb,
    PushBack,
    Resample,
    Shuffle,
)
from shoal.params import build, check, to_dict
from shoal.synth.synthesizer import Synthesizer

__all__ = [
    "COARSENERS",
    "GROUPERS",
    "MASKS",
    "AnyRecipe",
    "Coarsening",
    "Mask",
    "Recipe",
    "Synthesis",
    "method_name",
    "read_method",
    "read_recipe",
    "synthesizers",
]

Mask: TypeAlias = BlindMask | AwareMask

GROUPERS: tuple[type[Grouper], ...] = (KMember, MDAV, MST, TCloseMST, Crest, Ball)
MASKS: tuple[type[Mask], ...] = (
    Centroid,
    Resample,
    CellDither,
    GaussianDither,
    MicroPerturb,
    PushBack,
    Flatten,
    Shuffle,
)
COARSENERS: tuple[type[Coarsener], ...] = (Mondrian, Generalize, Suppress, Recode, SafeHarbor, LimitedDataSet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One grouper and a chain of masks."""

    group: Grouper
    masks: tuple[Mask, ...]

    @classmethod
    def of(cls, group: Grouper, mask: Mask | Sequence[Mask]) -> Recipe:
        """Take one mask or several; a wrong parameter is an error here, before any data is read."""
        masks = (mask,) if isinstance(mask, BlindMask | AwareMask) else tuple(mask)
        _check_methods("anonymize", "group must be a grouper", [group], Grouper, GROUPERS)
        _check_methods("anonymize", "mask must be a mask or a list of masks", masks, (BlindMask, AwareMask), MASKS)
        return cls(group=group, masks=masks)

    @property
    def k(self) -> int:
        """How many persons each group holds at least."""
        return self.group.k

    @property
    def is_blind(self) -> bool:
        """Whether the last mask is blind, so that the re-identification bound holds."""
        return isinstance(self.masks[-1], BlindMask)

    @property
    def collapses(self) -> bool:
        """Whether the rows of a group are made equal at the end."""
        last = self.masks[-1]
        return isinstance(last, BlindMask) and last.collapses

    @property
    def blanks_cells(self) -> bool:
        """No mask blanks a cell."""
        return False

    @property
    def leaves_out(self) -> bool:
        """No mask leaves a record out."""
        return False

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Recipe:
        """Read a recipe from the words of `to_dict`."""
        return cls(
            group=_from_words(words["group"], GROUPERS),
            masks=tuple(_from_words(mask, MASKS) for mask in words["mask"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON- and TOML-safe words."""
        return {"group": _words(self.group), "mask": [_words(mask) for mask in self.masks]}

    def __str__(self) -> str:
        return ", then ".join(spell(method) for method in (self.group, *self.masks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Coarsening:
    """A chain of coarseners: each works on what the one before it wrote."""

    methods: tuple[Coarsener, ...]

    @classmethod
    def of(cls, method: Coarsener | Sequence[Coarsener]) -> Coarsening:
        """Take one coarsener or several; a wrong parameter is an error here, before any data is read."""
        methods = (method,) if not isinstance(method, Sequence) else tuple(method)
        rule = "method must be a coarsener or a list of coarseners"
        _check_methods("coarsen", rule, methods, Coarsener, COARSENERS)
        return cls(methods=methods)

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Coarsening:
        """Read a recipe from the words of `to_dict`."""
        return cls(methods=tuple(_from_words(method, COARSENERS) for method in words["coarsen"]))

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON- and TOML-safe words."""
        return {"coarsen": [_words(method) for method in self.methods]}

    @property
    def k(self) -> int:
        """How many persons share each written combination at least; 1 where nothing is promised."""
        return max(method.k for method in self.methods)

    @property
    def is_blind(self) -> bool:
        """The rows of a class are equal: no rule on them tells whose is which."""
        return True

    @property
    def collapses(self) -> bool:
        """Rows of a class are equal by definition."""
        return True

    @property
    def blanks_cells(self) -> bool:
        """Whether single cells of records that are kept may be blanked."""
        return any(method.blanks_cells for method in self.methods)

    @property
    def leaves_out(self) -> bool:
        """Whether records may be suppressed."""
        return any(method.leaves_out for method in self.methods)

    def __str__(self) -> str:
        return ", then ".join(spell(method) for method in self.methods)


@dataclass(frozen=True, slots=True, kw_only=True)
class Synthesis:
    """A synthesizer and the number of rows to draw (None: as many as the model says)."""

    method: Synthesizer
    rows: int | None = None

    @classmethod
    def of(cls, method: Synthesizer, rows: int | None = None) -> Synthesis:
        """A wrong parameter is an error here, before any data is read."""
        _check_methods("synthesize", "method must be a synthesizer", [method], Synthesizer, synthesizers())
        if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 1):
            raise ParameterError("synthesize", "rows must be a whole number, at least 1", got=repr(rows)[:40])
        return cls(method=method, rows=rows)

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Synthesis:
        """Read a recipe from the words of `to_dict`."""
        parts = dict(words["synthesize"])
        rows = parts.pop("rows", "none")
        return cls(method=_from_words(parts, synthesizers()), rows=None if rows == "none" else rows)

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON- and TOML-safe words."""
        return {"synthesize": {**_words(self.method), "rows": "none" if self.rows is None else self.rows}}

    @property
    def k(self) -> int:
        """Nobody hides in a group: there are no people in the table."""
        return 1

    @property
    def is_blind(self) -> bool:
        """No row is anybody's, so there is nothing to exchange."""
        return False

    @property
    def collapses(self) -> bool:
        """No classes are made."""
        return False

    @property
    def blanks_cells(self) -> bool:
        """There are no cells of people to blank."""
        return False

    @property
    def leaves_out(self) -> bool:
        """There are no records of people to leave out."""
        return False

    def __str__(self) -> str:
        return spell(self.method)


def synthesizers() -> tuple[type[Synthesizer], ...]:
    """The synthesizers, loaded when first asked for."""
    from shoal import synth

    return (synth.PeGS, synth.PerturbedImputation, synth.MarginalBootstrap, synth.MultipleImputation)


AnyRecipe: TypeAlias = Recipe | Coarsening | Synthesis


def read_recipe(words: Mapping[str, Any]) -> AnyRecipe:
    """Read a recipe of any sort from the words of its `to_dict`."""
    if "synthesize" in words:
        return Synthesis.from_dict(words)
    return Coarsening.from_dict(words) if "coarsen" in words else Recipe.from_dict(words)


def _check_methods(owner: str, rule: str, given: Sequence[Any], kinds: Any, choices: Sequence[type[Any]]) -> None:
    wrong = [type(method).__name__ for method in given if not isinstance(method, kinds)]
    if wrong or not given:
        raise ParameterError(owner, rule, got=wrong[0] if wrong else "none", hint=_offer(choices))
    for method in given:
        check(method)


def method_name(cls: type) -> str:
    """The name of a method class in small letters with hyphens: GaussianDither is gaussian-dither."""
    if cls.__name__ in _ONE_WORD:
        return cls.__name__.lower()
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()


_ONE_WORD = ("PeGS",)


def spell(method: Any) -> str:
    """A method with its parameters, as it is written on the command line."""
    words = [f"{name}={_short(value)}" for name, value in _parts(method) if value != "none"]
    return ":".join(part for part in (method_name(type(method)), ",".join(words)) if part)


def read_method(text: str, choices: Sequence[type[Any]], defaults: Mapping[str, Any] | None = None) -> Any:
    """Read a method such as ``gaussian-dither:alpha=0.2`` as one of `choices`."""
    name, _, rest = text.partition(":")
    words: dict[str, Any] = {}
    for item in filter(None, (part.strip() for part in rest.split(","))):
        key, equals, value = item.partition("=")
        if not equals:
            raise ParameterError(name, "parameters must be written name=value", got=repr(item[:40]))
        words[key.strip().replace("-", "_")] = value.strip()
    return build(_find(name, choices), {**(defaults or {}), **words})


def _find(name: str, choices: Sequence[type[Any]]) -> type[Any]:
    wanted = re.sub(r"[^a-z]", "", name.lower())
    for cls in choices:
        if cls.__name__.lower() == wanted:
            return cls
    raise ParameterError("recipe", "must name a known method", got=repr(name[:40]), hint=_offer(choices))


def _offer(choices: Sequence[type[Any]]) -> str:
    return f"Choose one of: {', '.join(method_name(cls) for cls in choices)}."


def _short(value: Any) -> str:
    if isinstance(value, Mapping):
        return "/".join(f"{name}={_short(item)}" for name, item in value.items()) or "none"
    if isinstance(value, list | tuple):
        return "/".join(map(_short, value)) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parts(method: Any) -> list[tuple[str, Any]]:
    return list(to_dict(method).items())


def _words(method: Any) -> dict[str, Any]:
    return {"method": method_name(type(method)), **to_dict(method)}


def _from_words(words: Mapping[str, Any], choices: Sequence[type[Any]]) -> Any:
    parameters = {name: value for name, value in words.items() if name != "method"}
    return build(_find(str(words.get("method", "")), choices), parameters)
