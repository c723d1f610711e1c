"""Checkpoints: what every account held at one entry of the journal, sealed, so that opening replays only what follows.

A checkpoint is made by whoever opens a ledger with 50,000 entries since the last one, after their sums, limits and
links were checked; so each is as good as the one before it and the entries in between, and the first rests on all of
them. Its seal is a keyed hash under the key of the chain: without that key nobody makes one, and an edited one is
refused. `shoal ledger verify` takes no checkpoint's word and looks at every entry.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sqlalchemy import Connection, insert, select

from shoal.errors import GuaranteeError
from shoal.ledger.chain import Head, now
from shoal.ledger.tables import CHECKPOINT, JOURNAL

__all__ = ["EVERY", "Checkpoint", "Held", "latest", "write"]

EVERY = 50_000
_BY_HAND = "The database was edited by hand or is damaged. Restore an intact backup."

Held: TypeAlias = tuple[int, int, int, int | None, int, int | None]
"""Of one account: spent, answered, spent of δ, limit, limit of δ, reserved for answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The end of the chain at one entry, and what each account held there; at entry 0 nothing is held."""

    head: Head
    held: Mapping[int, Held] = field(default_factory=dict)


def latest(connection: Connection, key: bytes, beginning: Checkpoint) -> Checkpoint:
    """The last checkpoint, held to its seal and to the journal; the beginning of the chain where there is none."""
    row = connection.execute(select(CHECKPOINT).order_by(CHECKPOINT.c.id.desc()).limit(1)).first()
    if row is None:
        return beginning
    link = connection.execute(select(JOURNAL.c.link).where(JOURNAL.c.id == row.id)).scalar()
    if link != row.link or not hmac.compare_digest(row.seal, _seal(key, row.id, row.link, row.held)):
        raise GuaranteeError("ledger", "every checkpoint must match its seal and the journal", hint=_BY_HAND)
    held = {int(number): tuple(amounts) for number, amounts in json.loads(row.held).items()}
    return Checkpoint(head=Head(number=row.id, link=row.link), held=held)


def write(connection: Connection, key: bytes, made: Checkpoint) -> None:
    """Keep a checkpoint whose entries were checked; one that another process made meanwhile stays."""
    number, link = made.head.number, made.head.link
    if connection.execute(select(CHECKPOINT.c.id).where(CHECKPOINT.c.id == number)).first():
        return
    held = json.dumps({str(account): list(amounts) for account, amounts in sorted(made.held.items())})
    row = {"id": number, "at": now(), "link": link, "held": held, "seal": _seal(key, number, link, held)}
    connection.execute(insert(CHECKPOINT), [row])


def _seal(key: bytes, number: int, link: str, held: str) -> str:
    return hmac.digest(key, f"checkpoint|{number}|{link}|{held}".encode(), "sha256").hex()
