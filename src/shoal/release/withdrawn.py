"""Whether a written release still stands in the register: one that was withdrawn is not signed or handed over.

Who withdraws a release says that it never left; nothing is held against it from then on. So it must not leave later. It
is known by its commitment to the input, which is drawn anew for each release and doesn't change when it is signed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import FileError, GuaranteeError, InputError
from shoal.register.own_ledger import other_ledgers, own_ledger
from shoal.release.folders import MANIFEST, place, replay_of
from shoal.release.manifest import read_manifest, read_replay

if TYPE_CHECKING:
    from shoal.ledger.ledger import Ledger

__all__ = ["entry_of", "require_standing"]


def entry_of(folder: str | Path, releases: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The entry of the release that lies in a folder, or that was last written to it if there is nothing any more."""
    where = place(folder)
    if (where / MANIFEST).is_file():
        found = _committed(read_manifest(where), releases)
        return found[-1] if found else None
    written = [words for words in releases if words.get("folder") == str(where)]
    return written[-1] if written else None


def require_standing(folder: Path, manifest: Mapping[str, Any], verb: str) -> None:
    """Refuse to sign or hand over a release that was withdrawn from a register of the user's."""
    if "register" not in manifest:
        return
    for book in _ledgers(folder):
        for words in _committed(manifest, book.releases()):
            if words["withdrawn"] is not None:
                hint = "Make the release again: it is then checked against those still in the register."
                raise GuaranteeError(verb, "must not let out a release that was withdrawn from the register", hint=hint)


def _committed(manifest: Mapping[str, Any], releases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    own = manifest.get("input")
    commitment = own.get("commitment") if isinstance(own, Mapping) else None
    return [words for words in releases if commitment is not None and words.get("commitment") == commitment]


def _ledgers(folder: Path) -> Iterator[Ledger]:
    """The ledgers that the release may be entered in, as far as they can be opened from here."""
    from shoal.ledger.engine import LedgerError
    from shoal.ledger.ledger import Ledger

    for url in dict.fromkeys([*_noted(folder), *_of_user()]):
        with suppress(LedgerError, InputError, FileError), closing(Ledger.open(url, create=False, keep=False)) as book:
            yield book


def _noted(folder: Path) -> list[str]:
    """The ledger that the replay file names, where it is at hand."""
    with suppress(FileError, InputError):
        found = read_replay(replay_of(folder)).get("register", {}).get("ledger")
        return [found] if found else []
    return []


def _of_user() -> list[str]:
    named = os.environ.get("SHOAL_LEDGER")
    return [*([named] if named else []), own_ledger(), *other_ledgers()]
