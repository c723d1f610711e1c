"""What every result shares: a frozen value with JSON-safe words, which says whether it may leave the secure
environment."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date
from typing import Any, ClassVar

__all__ = ["Interval", "Record"]

Interval = tuple[float, float]


class Record:
    """The shared part of every result; subclasses are frozen dataclasses of plain values and other records.

    Attributes
    ----------
    releasable
        Whether the record may be released; False for what only the publisher may see.
    private
        Fields that `to_dict` omits: values of single records.
    derived
        Properties that `to_dict` adds to the fields.
    """

    __slots__ = ()

    releasable: ClassVar[bool] = True
    private: ClassVar[tuple[str, ...]] = ()
    derived: ClassVar[tuple[str, ...]] = ()

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-safe words, nested records included."""
        fields = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        names = [name for name in fields if name not in self.private]
        return {name: _plain(getattr(self, name)) for name in (*names, *self.derived)}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):  # another record, a schema, a recipe
        return value.to_dict()
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
