"""What this process has charged: so that whoever stops it hears the truth about what was spent."""

from __future__ import annotations

__all__ = ["charged", "note_charge"]

_CHARGED: list[str] = []


def note_charge(what: str) -> None:
    """Remember a charge that is on the disk."""
    _CHARGED.append(what)


def charged() -> tuple[str, ...]:
    """Every charge of this process, in words."""
    return tuple(_CHARGED)
