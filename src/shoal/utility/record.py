"""What a measure hands back: a frozen record that turns itself into JSON-safe words.

A record never holds the table. `releasable` says whether its whole content may leave the secure room.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

__all__ = ["Interval", "Record"]

Interval = tuple[float, float]


class Record:
    """The shared part of every result of a utility measure; subclasses are frozen dataclasses."""

    __slots__ = ()

    releasable: ClassVar[bool] = True

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-safe words, nested records included."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: _plain(getattr(self, field.name)) for field in fields}


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
