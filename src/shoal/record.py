"""What every result shares: a frozen value with JSON-safe words, which says whether it may leave the secure room."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

__all__ = ["Interval", "Record"]

Interval = tuple[float, float]


class Record:
    """The shared part of every result; subclasses are frozen dataclasses of plain values and other records."""

    __slots__ = ()

    releasable: ClassVar[bool] = True

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-safe words, nested records included."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: _plain(getattr(self, field.name)) for field in fields}


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
