"""Radii: how near is near, in every column.

A number is a common radius in mapped units (eq 1): 0.3 stands, in each column, for the distance that the mapping takes
to 0.3. A mapping gives each column its own radius in the column's own units; in words it is written
``age=5/zip=20``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from shoal.arrays import FloatArray
from shoal.distance.space import Space, Spaces
from shoal.errors import ParameterError

__all__ = ["Radius", "radii_of", "read_radius"]

Radius: TypeAlias = float | Mapping[str, float] | str


def radii_of(radius: Radius, spaces: Spaces, owner: str) -> FloatArray:
    """One radius per column, in the column's own units; infinite where every distance is near enough."""
    given = read_radius(radius, owner)
    if not isinstance(given, Mapping):
        return np.array([_reach(space, float(given)) for space in spaces])
    names = [space.name for space in spaces]
    _check_names(given, names, owner)
    return np.array([float(given[name]) for name in names])


def _reach(space: Space, mapped: float) -> float:
    """The largest distance within a mapped radius; for 0/1 distances 0 or no limit, nothing in between."""
    reach = space.mapping.reach(mapped)
    return 0.0 if space.shape == "equal" and reach < 1 else reach


def read_radius(radius: Radius, owner: str) -> float | Mapping[str, float]:
    """A radius given in words, as a number or a mapping; each number is checked."""
    given = _parse(radius, owner) if isinstance(radius, str) else radius
    for value in given.values() if isinstance(given, Mapping) else [given]:
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not value >= 0:
            raise ParameterError(owner, "radius must be at least 0 in every column", got=repr(value)[:40])
    if not isinstance(given, Mapping) and given > 1:
        raise ParameterError(
            owner, "radius must be at most 1 if it is one number for all columns", got=f"{given:g}",
            hint="It is in mapped units. To use a column's own units, give each column its radius.",
        )  # fmt: skip
    return given


def _parse(text: str, owner: str) -> float | dict[str, float]:
    try:
        if "=" not in text:
            return float(text)
        parts = (part.rpartition("=") for part in text.split("/"))
        found = {name.strip(): float(value) for name, _, value in parts}
    except ValueError:
        found = {"": math.nan}
    if "" in found:
        raise ParameterError(owner, "radius must be a number, or written column=radius/column=radius", got=text[:40])
    return found


def _check_names(given: Mapping[str, float], names: list[str], owner: str) -> None:
    unknown = [name for name in given if name not in names]
    absent = [name for name in names if name not in given]
    if unknown or absent:
        said = f"'{unknown[0]}', which is not one" if unknown else f"none for '{absent[0]}'"
        raise ParameterError(
            owner, "radius must be given for each quasi-identifier and for no other column", got=said,
            hint=f"Quasi-identifiers: {', '.join(names)}.",
        )  # fmt: skip
