"""What Safe Harbor did to a column, as a fact for inside that has no sentence of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from shoal.fact import Fact

__all__ = ["TREATMENTS", "Treatment", "treatment", "treatments_in"]

Treatment: TypeAlias = Literal["years", "digits", "pooled", "suppressed"]

_TITLES: Mapping[Treatment, str] = MappingProxyType(
    {
        "years": "dates written as years",
        "digits": "ZIP codes cut to three digits",
        "pooled": "ages over 89 pooled",
        "suppressed": "places and unreadable dates suppressed",
    }
)
TREATMENTS: tuple[str, ...] = tuple(_TITLES.values())
"""What can be done to a column, in words."""


def treatment(column: str, done: Treatment) -> Fact:
    """Say what was done to a column."""
    return Fact(says="", column=column, values={"treatment": done})


def treatments_in(facts: Iterable[Fact]) -> dict[str, list[str]]:
    """The columns by what was done to them, in words."""
    found: dict[str, list[str]] = {}
    for fact in facts:
        if "treatment" in fact.values and fact.column is not None:
            columns = found.setdefault(_TITLES[fact.values["treatment"]], [])
            columns.extend([fact.column] if fact.column not in columns else [])
    return found
