"""The anchor: the last head that was seen, kept outside the database, so that an old copy put back is noticed.

The anchor of ``ledger.db`` is ``ledger.db.anchor`` beside it; that of a PostgreSQL ledger lies in the folder that
``SHOAL_ANCHORS`` names, or in the user's state folder. It is written after each commit, in place and without waiting
for the disk: it may lag behind the database, never run ahead of it. Opening a ledger that does not hold the anchored
entry is refused. What is not noticed: whoever puts back both the database and the anchor. For that, compare with a
head from elsewhere: the service's log, or a manifest (`shoal ledger verify --head`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Engine

from shoal.ledger.chain import Head

__all__ = ["Anchor"]

_WIDTH = 20 + 1 + 64 + 1


class Anchor:
    """Where the last head is noted.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> anchor = Anchor(pathlib.Path(folder.name, "ledger.db.anchor"))
    >>> anchor.read() is None
    True
    >>> anchor.note(Head(number=3, link="ab" * 32)); anchor.read().number
    3
    >>> anchor.close(); folder.cleanup()
    """

    def __init__(self, place: Path) -> None:
        self.place = place
        self._handle: int | None = None
        self._noted = 0

    @classmethod
    def of(cls, engine: Engine, name: str) -> Anchor:
        """The anchor of the ledger in that database."""
        if engine.dialect.name == "sqlite":
            return cls(Path(f"{engine.url.database}.anchor"))
        return cls(_folder() / f"{name}.anchor")

    def read(self) -> Head | None:
        """The head that was noted; none where nothing is."""
        with suppress(OSError, ValueError, IndexError):
            number, link = self.place.read_text(encoding="ascii").split()
            return Head(number=int(number), link=link)
        return None

    def note(self, head: Head) -> None:
        """Note a head; one that is older than what this process noted already is left out."""
        if head.number <= self._noted:
            return
        with suppress(OSError):  # a full disk must not undo what is committed
            os.pwrite(self._open(), f"{head.number:020d} {head.link}\n".encode(), 0)
            self._noted = head.number

    def set_back(self, head: Head) -> None:
        """Note a head that a person accepted, though it is older."""
        self._noted = -1
        self.note(head)

    def close(self) -> None:
        """Give the file back."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _open(self) -> int:
        if self._handle is None:
            self.place.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self.place, os.O_RDWR | os.O_CREAT, 0o600)
        return self._handle


def _folder() -> Path:
    given = os.environ.get("SHOAL_ANCHORS")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(given) if given else Path(state) / "shoal"
