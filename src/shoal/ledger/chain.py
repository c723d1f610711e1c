"""The chain: each entry of the journal carries a keyed hash over the hash before it and its own content.

link(n) = HMAC-SHA256(key, link(n − 1) ‖ entry n), and link(0) is the name of the ledger. The last link, the *head*,
stands for the whole history: it is printed by `shoal ledger show`, in the service's log and in manifests. Whoever
changes, removes or exchanges an entry without the key breaks every link after it; whoever has the key still can't make
an old head, noted elsewhere, fit a new history.

Entries are numbered from 1 without a gap. Writers lock the one row of ``head``, so that they come one after another.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from shoal.errors import GuaranteeError
from shoal.ledger.engine import Bulk
from shoal.ledger.tables import HEAD, JOURNAL

__all__ = ["Head", "append", "broken_at", "entry", "lock_head", "now", "read_head", "refuse_break", "seal"]

_ADVANCE = update(HEAD).where(HEAD.c.id == 1).values(number=bindparam("to"), link=bindparam("by"))
_WRITE = Bulk(insert(JOURNAL))


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
    """An entry of the journal, made now; what it does not name is empty."""
    empty = {"client_id": None, "model_id": None, "data_id": None, "delta": 0, "mark": None, "note": None}
    return {"at": now(), "kind": kind, "amount": amount, **empty, **words}


def lock_head(connection: Connection) -> Head:
    """The head, which nobody else can move until this transaction ends; to be locked before any account."""
    return _head(connection.execute(_LOCK).one())


def read_head(connection: Connection) -> Head:
    """The head as this transaction sees it."""
    return _head(connection.execute(select(HEAD)).one())


_LOCK = select(HEAD).with_for_update()


def append(connection: Connection, key: bytes, entries: Sequence[dict[str, Any]], head: Head | None = None) -> Head:
    """Write entries behind the head, in their order; the new head."""
    head = head or lock_head(connection)
    number, link = head.number, head.link
    rows = []
    for words in entries:
        number += 1
        link = _link(key, link, number, words)
        rows.append({**words, "id": number, "link": link})
    _WRITE.execute(connection, rows)
    connection.execute(_ADVANCE, {"to": number, "by": link})
    return Head(number=number, link=link)


def broken_at(rows: Iterable[Any], key: bytes, before: Head) -> tuple[int | None, Head]:
    """The number of the first entry that does not fit the chain (or none), and where the chain ends."""
    number, link = before.number, before.link
    for row in rows:
        number += 1
        if row.id != number or not hmac.compare_digest(row.link, _link(key, link, number, row._mapping)):
            return number, Head(number=number - 1, link=link)
        link = row.link
    return None, Head(number=number, link=link)


def seal(key: bytes, mark: str, score: str) -> str:
    """The seal of a stored answer."""
    return hmac.digest(key, f"answer|{mark}|{score}".encode(), "sha256").hex()


def refuse_break(number: int | None) -> None:
    """A GuaranteeError where the chain is broken at `number`."""
    if number is not None:
        hint = "The database was edited by hand or is damaged. Restore an intact backup."
        raise GuaranteeError(
            "ledger", "every entry must match the hash chain of the journal", got=f"entry {number}", hint=hint
        )


def _link(key: bytes, before: str, number: int, e: Any) -> str:
    """Only the note is free text, and it comes last, so no two entries have one spelling."""
    text = (
        f"{before}|{number}|{e['at']}|{e['kind']}|{e['client_id']}|{e['model_id']}|{e['data_id']}|{e['amount']}"
        f"|{e['delta']}|{e['mark']}|{e['note']}"
    )
    return hmac.digest(key, text.encode(), "sha256").hex()


def _head(row: Any) -> Head:
    return Head(number=row.number, link=row.link)
