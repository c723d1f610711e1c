"""The public domain of a column as one line of text: ``0 to 120`` for a range, ``none; school; college`` for levels.

A level that would be taken for something else stands in quotes, as in JSON: ``"1 to 5"; "a; b"; other``. What is shown
is read back as it was.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from shoal.errors import SchemaError
from shoal.params import number
from shoal.web.inspect import ColumnView

__all__ = ["is_number", "read_domain", "show_domain"]

_RANGE = re.compile(r"([^\s;]+)\s+to\s+([^\s;]+)")
_LEVEL = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")\s*(?=;|$)|([^;]*))(?:;|$)')
_HINT = 'Write it as: 0 to 120. Put a level that contains the word "to" in quotes: "one to many".'


def is_number(column: ColumnView) -> bool:
    """Whether a column of the file holds numbers."""
    return column.type in ("whole number", "number")


def show_domain(words: Mapping[str, Any], *, numbers: bool = False) -> str:
    """The bounds or levels of a column's words as text; `numbers` as for `read_domain`."""
    if words.get("bounds") is not None:
        return " to ".join(map(_shown_number, words["bounds"]))
    return "; ".join(_shown(level, numbers) for level in words.get("levels") or ())


def read_domain(name: str, text: str, *, numbers: bool) -> dict[str, Any]:
    """The bounds or levels that `text` says; `numbers` tells whether the column's cells are numbers."""
    if not text.strip():
        return {}
    found = None if text.lstrip().startswith('"') else _RANGE.fullmatch(text.strip())
    if found is None:
        return {"levels": list(_levels(text, numbers))}
    ends = [number(end) for end in found.groups()]
    if any(isinstance(end, str) for end in ends):
        raise SchemaError(f"column '{name}'", "its range must be two numbers", hint=_HINT)
    return {"bounds": ends}


def _levels(text: str, numbers: bool) -> Iterator[Any]:
    for quoted, plain in _LEVEL.findall(text):
        if quoted:
            yield _unquoted(quoted)
        elif level := plain.strip():
            yield number(level) if numbers else level


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:  # a backslash that means itself
        return text[1:-1]


def _shown(level: Any, numbers: bool) -> str:
    if not isinstance(level, str):
        return _shown_number(level) if isinstance(level, int | float) else str(level)
    plain = level != "" and level == level.strip() and level.isprintable()
    mistaken = '"' in level or ";" in level or _RANGE.fullmatch(level) or (numbers and number(level) != level)
    return level if plain and not mistaken else json.dumps(level, ensure_ascii=False)


def _shown_number(value: float) -> str:
    """All its digits, and none that it doesn't have: 1000000 rather than 1e+06."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return str(int(value)) if whole else str(value)
