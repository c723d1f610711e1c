"""The public domain of a column as one line of text: ``0 to 120`` for a range, ``none; school; college`` for levels."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from shoal.errors import SchemaError
from shoal.params import number

__all__ = ["read_domain", "show_domain"]

_RANGE = re.compile(r"^\s*(\S+)\s+to\s+(\S+)\s*$")


def show_domain(words: Mapping[str, Any]) -> str:
    """The bounds or levels of a column's words as text."""
    if words.get("bounds") is not None:
        low, high = words["bounds"]
        return f"{low:g} to {high:g}"
    return "; ".join(map(str, words.get("levels") or ()))


def read_domain(name: str, text: str, *, numbers: bool) -> dict[str, Any]:
    """The bounds or levels that `text` says; `numbers` tells whether the column's cells are numbers."""
    if not text.strip():
        return {}
    found = _RANGE.match(text)
    if found:
        ends = [number(end) for end in found.groups()]
        if not all(isinstance(end, int | float) for end in ends):
            raise SchemaError(f"column '{name}'", "its range must be two numbers", hint="Write it as: 0 to 120.")
        return {"bounds": ends}
    levels = [level.strip() for level in text.split(";") if level.strip()]
    return {"levels": [number(level) for level in levels] if numbers else levels}
