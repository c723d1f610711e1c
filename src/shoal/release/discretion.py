"""What the manifest doesn't tell: numbers from which a count of 1 to k − 1 people could be worked out.

The released table tells how many rows it has. Where fewer than k records were left out, or rows are not people, the
number of rows that came in is not told beside it. Distances between single columns before and after are shares of
records: one below k/n is given as k/n, and its squares are left out.
"""

from __future__ import annotations

from typing import Any

__all__ = ["discreet"]

_ROWS_IN = {
    "utility": ("n_original", "notes", "propensity.n_rows", "energy.n_rows"),
    "risk": ("reidentification.n_records", "reidentification.n_classes"),
}


def discreet(words: dict[str, Any], *, k: int, n_in: int, n_out: int, has_unit: bool) -> dict[str, Any]:
    """The measures `risk` and `utility` as they may go out."""
    told = {name: _floored(part, k / max(1, n_in)) for name, part in words.items()}
    if has_unit or 0 < n_in - n_out < k:
        for part, places in _ROWS_IN.items():
            for place in places:
                _drop(told[part], place.split("."))
    return told


def _floored(part: Any, least: float) -> Any:
    if isinstance(part, dict):
        small = isinstance(part.get("total_variation"), float) and 0 < part["total_variation"] < least
        if small:
            return {"total_variation": least}
        return {name: _floored(item, least) for name, item in part.items()}
    return [_floored(item, least) for item in part] if isinstance(part, list) else part


def _drop(part: Any, place: list[str]) -> None:
    for name in place[:-1]:
        part = part.get(name, {})
    part.pop(place[-1], None)
