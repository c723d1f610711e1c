"""The hash chain of the journal, and the anchor: its last head, kept outside the database.

Each entry of the journal carries a keyed hash over the hash before it and its own content:

link(n) = HMAC-SHA256(key, link(n − 1) ‖ entry n), and link(0) is the name of the ledger. The last link, the *head*,
stands for the whole history: it is printed by `shoal ledger show`, in the service's log and in manifests. Whoever
changes, removes or exchanges an entry without the key breaks every link after it; whoever has the key still can't make
an old head, noted elsewhere, fit a new history.

Entries are numbered from 1 without a gap. Writers lock the one row of ``head``, so that they come one after another.

By the anchor an old copy that is put back is noticed. The anchor of ``ledger.db`` is ``ledger.db.anchor`` beside it;
that of a PostgreSQL ledger lies in the folder that ``SHOAL_ANCHORS`` names, or in the user's state folder. It is
written after each commit, in place and without waiting for the disk: it may lag behind the database, never run ahead of
it. Opening a ledger that does not hold the anchored entry is refused. What is not noticed: whoever puts back both the
database and the anchor. For that, compare with a head from elsewhere: the service's log, or a manifest (`shoal ledger
verify --head`).

HMAC-SHA256 under one key, for many short texts.

HMAC(k, t) = H(k ⊕ opad ‖ H(k ⊕ ipad ‖ t)) (RFC 2104). What depends on the key alone is hashed once; each text then
costs a quarter of the time of `hmac.digest`, which besides gives Python's lock up for every text, however short.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, select

from shoal.errors import GuaranteeError
from shoal.ledger.statements import Statement, Step, insertion, locking, run
from shoal.ledger.tables import HEAD

__all__ = [
    "LOCKED_HEAD",
    "Anchor",
    "Head",
    "append",
    "broken_at",
    "entry",
    "keyed_hash",
    "link_after",
    "linked",
    "lock_head",
    "now",
    "read_head",
    "refuse_break",
    "seal",
    "spelled",
]

LOCKED_HEAD = locking("head", ["number", "link"])
_WRITE = insertion(
    "journal",
    {
        "id": "bigint",
        "at": "text",
        "kind": "text",
        "client_id": "bigint",
        "model_id": "bigint",
        "data_id": "bigint",
        "amount": "bigint",
        "delta": "bigint",
        "mark": "text",
        "note": "text",
        "link": "text",
    },
)
_ADVANCE = Statement(
    sqlite="UPDATE head SET (number, link) = (SELECT json_extract(?1, '$[0]'), json_extract(?1, '$[1]'))",
    postgresql="UPDATE head SET number = (given->>0)::bigint, link = given->>1 FROM (SELECT %s::json AS given) AS new",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of the chain: how many entries there are, and the last link.

    Examples
    --------
    >>> print(Head(number=3, link="ab" * 32))
    3:abababababababab
    """

    number: int
    link: str

    def __str__(self) -> str:
        return f"{self.number}:{self.link[:16]}"


def now() -> str:
    """The moment, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def entry(kind: str, *, amount: int = 0, **words: Any) -> dict[str, Any]:
    """An entry of the journal, made now unless it names its moment (`at`); what it does not name is empty."""
    empty = {"client_id": None, "model_id": None, "data_id": None, "delta": 0, "mark": None, "note": None}
    moment = {} if "at" in words else {"at": now()}
    return {**moment, "kind": kind, "amount": amount, **empty, **words}


def lock_head(connection: Connection) -> Head:
    """The head, which nobody else can move until this transaction ends; to be locked before any account."""
    (found,) = run(connection, [(LOCKED_HEAD, None)])
    return Head(number=found[0], link=found[1])


def read_head(connection: Connection) -> Head:
    """The head as this transaction sees it."""
    row = connection.execute(select(HEAD.c.number, HEAD.c.link)).one()
    return Head(number=row.number, link=row.link)


def append(connection: Connection, key: bytes, entries: Sequence[dict[str, Any]], head: Head | None = None) -> Head:
    """Write entries behind the head, in their order; the new head."""
    steps, end = linked(key, entries, head or lock_head(connection))
    run(connection, steps)
    return end


def linked(key: bytes, entries: Sequence[dict[str, Any]], head: Head) -> tuple[list[Step], Head]:
    """The steps that write entries behind a locked head, and the new head."""
    number, link = head.number, head.link
    rows = []
    for words in entries:
        number += 1
        link = link_after(key, link, number, words)
        rows.append({**words, "id": number, "link": link})
    return [(_WRITE, rows), (_ADVANCE, [number, link])], Head(number=number, link=link)


def broken_at(rows: Iterable[Any], key: bytes, before: Head) -> tuple[int | None, Head]:
    """The number of the first entry that does not fit the chain (or none), and where the chain ends."""
    number, link = before.number, before.link
    for row in rows:
        number += 1
        if row.id != number or not hmac.compare_digest(row.link, link_after(key, link, number, row._mapping)):
            return number, Head(number=number - 1, link=link)
        link = row.link
    return None, Head(number=number, link=link)


def seal(key: bytes, mark: str, score: str) -> str:
    """The seal of a stored answer."""
    return keyed_hash(key, f"answer|{mark}|{score}")


def refuse_break(number: int | None) -> None:
    """A GuaranteeError where the chain is broken at `number`."""
    if number is not None:
        hint = "The database was edited by hand or is damaged. Restore an intact backup."
        raise GuaranteeError(
            "ledger", "every entry must match the hash chain of the journal", got=f"entry {number}", hint=hint
        )


def spelled(number: int, e: Any) -> str:
    """An entry as text. Only the note is free text, and it comes last, so no two entries have one spelling."""
    return (
        f"{number}|{e['at']}|{e['kind']}|{e['client_id']}|{e['model_id']}|{e['data_id']}|{e['amount']}"
        f"|{e['delta']}|{e['mark']}|{e['note']}"
    )


def link_after(key: bytes, before: str, number: int, e: Any) -> str:
    """The link of entry `number`, behind the link before it."""
    return keyed_hash(key, f"{before}|{spelled(number, e)}")


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


_BLOCK = 64  # bytes that SHA-256 takes at a time


def keyed_hash(key: bytes, text: str) -> str:
    """The keyed hash of a text, in hexadecimal digits.

    Examples
    --------
    >>> import hmac
    >>> keyed_hash(b"key", "text") == hmac.digest(b"key", b"text", "sha256").hex()
    True
    """
    first, second = _begun(key)
    inner, outer = first.copy(), second.copy()
    inner.update(text.encode())
    outer.update(inner.digest())
    return outer.hexdigest()


@lru_cache(maxsize=64)
def _begun(key: bytes) -> tuple[hashlib._Hash, hashlib._Hash]:
    block = (hashlib.sha256(key).digest() if len(key) > _BLOCK else key).ljust(_BLOCK, b"\0")
    first, second = (hashlib.sha256(bytes(byte ^ pad for byte in block)) for pad in (0x36, 0x5C))
    return first, second
