"""A recipe: which grouper and which masks, in words that a file, a command line and a person can share.

Methods are written by their name in small letters with hyphens, parameters after a colon::

    k-member:k=5,response_weight=0.5        gaussian-dither:alpha=1/3,exact=true
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import ParameterError
from shoal.group import MDAV, MST, Crest, Grouper, KMember, TCloseMST
from shoal.mask import BlindMask, CellDither, Centroid, GaussianDither, MicroPerturb, Resample
from shoal.params import build, check, to_dict

__all__ = ["GROUPERS", "MASKS", "Recipe", "method_name", "read_method"]

GROUPERS: tuple[type[Grouper], ...] = (KMember, MDAV, MST, TCloseMST, Crest)
MASKS: tuple[type[BlindMask], ...] = (Centroid, Resample, CellDither, GaussianDither, MicroPerturb)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """One grouper and a chain of masks."""

    group: Grouper
    masks: tuple[BlindMask, ...]

    @classmethod
    def of(cls, group: Grouper, mask: BlindMask | Sequence[BlindMask]) -> Recipe:
        """Take one mask or several; a wrong parameter is an error here, before any data is read."""
        masks = (mask,) if isinstance(mask, BlindMask) else tuple(mask)
        if not isinstance(group, Grouper):
            raise ParameterError(
                "anonymize", "group must be a grouper", got=type(group).__name__, hint=_offer(GROUPERS)
            )
        wrong = [type(item).__name__ for item in masks if not isinstance(item, BlindMask)]
        if wrong or not masks:
            got = wrong[0] if wrong else "none"
            raise ParameterError("anonymize", "mask must be a mask or a list of masks", got=got, hint=_offer(MASKS))
        for method in (group, *masks):
            check(method)
        return cls(group=group, masks=masks)

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


def method_name(cls: type) -> str:
    """The name of a method class in small letters with hyphens: GaussianDither is gaussian-dither."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", cls.__name__).lower()


def spell(method: Any) -> str:
    """A method with its parameters, as it is written on the command line."""
    words = [f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in _parts(method)]
    return ":".join(part for part in (method_name(type(method)), ",".join(words).lower()) if part)


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


def _parts(method: Any) -> list[tuple[str, Any]]:
    return list(to_dict(method).items())


def _words(method: Any) -> dict[str, Any]:
    return {"method": method_name(type(method)), **to_dict(method)}


def _from_words(words: Mapping[str, Any], choices: Sequence[type[Any]]) -> Any:
    parameters = {name: value for name, value in words.items() if name != "method"}
    return build(_find(str(words.get("method", "")), choices), parameters)
