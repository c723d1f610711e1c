"""Where the register lies by default: one ledger for each user, found from every folder.

A book beside each file would begin anew with each copy of it. ``SHOAL_LEDGER`` names a shared one. Other ledgers that
the user entered releases in are remembered, so that a copy of a file is looked for there too.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from shoal.files.atomic import reporting, write_text

__all__ = ["other_ledgers", "own_ledger", "remember_ledger"]

_OTHERS = "ledgers.txt"


def own_ledger() -> str:
    """The URL of the user's own ledger; its folder, made where there is none, can be read by its owner only."""
    return f"sqlite:///{_home() / 'ledger.db'}"


def other_ledgers() -> tuple[str, ...]:
    """The URLs, without passwords, of other ledgers that releases were entered in."""
    file = _home() / _OTHERS
    with reporting(file):
        return tuple(file.read_text(encoding="utf-8").split("\n")[:-1]) if file.exists() else ()


def remember_ledger(url: str) -> None:
    """Look for people in that ledger too, from now on."""
    known = other_ledgers()
    if url != own_ledger() and url not in known:
        write_text(_home() / _OTHERS, "".join(f"{one}\n" for one in (*known, url)))


def _home() -> Path:
    place = _data_folder().resolve() / "shoal"
    with reporting(place):
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def _data_folder() -> Path:
    if named := os.environ.get("XDG_DATA_HOME"):
        return Path(named)
    if sys.platform == "win32" and (local := os.environ.get("LOCALAPPDATA")):
        return Path(local)
    return Path.home() / ".local" / "share"
