"""Readings as results keep them, read back, and held to the risk that is accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from shoal.reading import Reading

__all__ = ["held_to", "reading_of"]

_FIELDS = frozenset(field.name for field in fields(Reading))


def reading_of(words: Mapping[str, Any]) -> Reading:
    """A reading from its words."""
    known = {name: value for name, value in words.items() if name in _FIELDS}
    interval = known.get("interval")
    return Reading(**{**known, "interval": None if interval is None else tuple(interval)})


def held_to(words: Mapping[str, Any], accepted: float) -> Reading:
    """A reading, held to the accepted risk where it is a share that should be low and has no stricter limit."""
    one = reading_of(words)
    is_risk = one.first and one.shows == "share" and one.better == "lower"
    if not is_risk or (one.limit is not None and one.limit <= accepted):
        return one
    return replace(one, limit=accepted, basis="accepted")
