"""An entry of the register that is ready but not made: the release has been written where nobody sees it yet.

A release that is tried in private is held against the register when it is run and entered when it leaves. What the book
will be told lies beside it meanwhile, the marks of its people included, which mean nothing without the register's key.
If anything was entered since it was run, it is not entered: nobody knows how it stands beside that.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal.dp import Budget
from shoal.errors import FileError, GuaranteeError
from shoal.files.atomic import reporting, write_text
from shoal.ledger.ledger import Ledger
from shoal.ledger.tag import without_password
from shoal.register.own_ledger import remember_ledger

__all__ = ["Pending"]

LIMIT = Budget(epsilon=10.0, delta=1e-6)
_WORDS = "entry.json"
_MARKS = ("people", "values", "sample")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Pending:
    """What the ledger records of a release.

    Parameters
    ----------
    ledger
        The URL of the book, without a password.
    data, label, content, is_new
        The data set, what it is called, the keyed hash of its file, and whether it begins with this release.
    words, marks
        The entry, and by kind the marks of its people, of the sensitive values of its classes, and the sample of its
        columns.
    after, known
        How many releases the data set, and the whole book, had when this one was held against them.
    replaces
        The release that this one takes the place of; None: none.
    """

    ledger: str
    data: str
    label: str
    content: str | None
    is_new: bool
    words: Mapping[str, Any]
    marks: Mapping[str, bytes]
    after: int
    known: int
    replaces: str | None = None

    @property
    def release(self) -> str:
        """The name of the release."""
        return str(self.words["release"])

    @property
    def title(self) -> str:
        """Its number among the releases of the data set, and its name: *2 (0f3a9c1e)*."""
        return f"{self.after + 1} ({self.release})"

    def to(self, recipient: str | None, folder: str = "") -> Pending:
        """The same for a recipient who was named since, and the folder that it leaves by (empty: by none)."""
        return replace(self, words={**self.words, "recipient": recipient or None, "folder": folder})

    def enter(self, book: Ledger, digest: str) -> None:
        """Enter it in the ledger, which is open; `digest` is the SHA-256 of the manifest before it is signed."""
        if self.is_new:
            book.begin_data_set(self.label, limit=LIMIT, name=self.data, content=self.content)
        book.register(self.data, digest=digest, words=self.words, marks=self.marks, after=self.after)
        remember_ledger(self.ledger)
        if self.replaces is not None:
            book.withdraw(self.replaces, f"replaced by {self.release} before it left")

    def enter_now(self, digest: str) -> None:
        """The same some time after the run: a GuaranteeError if anything was entered meanwhile."""
        book = Ledger.open(_url(self.ledger), create=False, keep=False)
        try:
            if len(book.releases()) != self.known:
                rule = "has changed since this release was run: another one was entered"
                hint = "Run it again; it is then checked against what was released meanwhile."
                raise GuaranteeError("register", rule, hint=hint)
            self.enter(book, digest)
        finally:
            book.close()

    def withdraw(self, reason: str) -> None:
        """Note that it was entered but didn't leave."""
        book = Ledger.open(_url(self.ledger), create=False, keep=False)
        try:
            book.withdraw(self.release, reason)
        finally:
            book.close()

    def write(self, folder: Path) -> None:
        """Write it to a private folder, which is made."""
        names = ("ledger", "data", "label", "content", "is_new", "words", "after", "known", "replaces")
        with reporting(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for kind in _MARKS:
                (folder / f"{kind}.bin").write_bytes(self.marks.get(kind, b""))
        write_text(folder / _WORDS, json.dumps({name: getattr(self, name) for name in names}))

    @classmethod
    def read(cls, folder: Path) -> Pending | None:
        """Read it back; None where nothing is pending."""
        try:
            words = json.loads((folder / _WORDS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise FileError(str(folder), "must hold the whole entry of a release") from None
        with reporting(folder):
            return cls(**words, marks={kind: (folder / f"{kind}.bin").read_bytes() for kind in _MARKS})


def _url(place: str) -> str:
    """A ledger's URL; the shared one has its password in ``SHOAL_LEDGER``."""
    shared = os.environ.get("SHOAL_LEDGER", "")
    return shared if shared and without_password(shared) == place else place
