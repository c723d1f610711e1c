"""Whether a ledger is in order: a quick look when it is opened, and everything when a person asks or tables change.

`shoal.ledger.replay` says what each check looks at; here is which of them are made, in which order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, select

from shoal.errors import ParameterError
from shoal.ledger import archive, checkpoint
from shoal.ledger.chain import Head, read_head
from shoal.ledger.checkpoint import Checkpoint
from shoal.ledger.engine import Founded
from shoal.ledger.replay import (
    check_anchor,
    check_answers,
    check_chain,
    check_guards,
    check_orphans,
    check_sums,
)
from shoal.ledger.tables import ACCOUNT, JOURNAL

__all__ = ["Opened", "Verified", "look", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """What `look` found in order: where the chain ends, what each account holds, and whether a checkpoint is due."""

    end: Checkpoint
    due: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What `Ledger.verify` found in order; `unseen` entries are in archives that were not given."""

    head: Head
    answers: int
    accounts: int
    key_outside: bool
    unseen: int = 0


def look(connection: Connection, founded: Founded, anchored: Head | None) -> Opened:
    """Replay the journal since the last checkpoint; a GuaranteeError where sums do not follow, or tampering shows."""
    check_guards(connection)
    beginning = archive.base(connection, founded.key, founded.name)
    archive.check_kept(connection, founded.key, beginning.head)
    since = checkpoint.latest(connection, founded.key, beginning)
    if not since.head.number:
        check_orphans(connection)
    held = check_sums(connection, since)
    due = read_head(connection).number - since.head.number >= checkpoint.EVERY
    head = check_chain(connection, founded.key, since.head, whole=due)
    check_anchor(connection, anchored, beginning.head)
    return Opened(end=Checkpoint(head=head, held=held), due=due)


def verify(
    connection: Connection,
    founded: Founded,
    anchored: Head | None,
    *,
    head: str | None = None,
    archives: Sequence[Path] = (),
) -> Verified:
    """Look at everything: guards, sums, every link, every seal, the anchor, archives, and a head noted elsewhere."""
    key, name = founded.key, founded.name
    check_guards(connection)
    check_orphans(connection)
    links, unseen = archive.check_files(connection, key, name, archives)
    beginning = archive.base(connection, key, name)
    archive.check_kept(connection, key, beginning.head)
    for since in (beginning, checkpoint.latest(connection, key, beginning)):
        check_sums(connection, since)
    found = check_chain(connection, key, beginning.head, whole=True)
    check_anchor(connection, anchored, beginning.head)
    if head is not None:
        _check_noted(connection, head, links, beginning.head)
    return Verified(
        head=found,
        answers=check_answers(connection, key),
        accounts=connection.execute(select(func.count()).select_from(ACCOUNT)).scalar_one(),
        key_outside=founded.key_outside,
        unseen=unseen,
    )


def _check_noted(connection: Connection, head: str, links: Mapping[int, str], beginning: Head) -> None:
    """Hold the ledger, or an archive of it, to a printed head: the number and the beginning of a link."""
    number, _, start = head.strip().partition(":")
    if not number.isdigit() or len(start) < 8:
        raise ParameterError("--head", "must be as printed: number:beginning of the hash", got=repr(head)[:60])
    place = int(number)
    found = connection.execute(select(JOURNAL.c.link).where(JOURNAL.c.id == place)).scalar() or links.get(place)
    if found is None and place < beginning.number:
        raise ParameterError("--head", "the entry is in an archive", hint="Give that with --archive.")
    link = beginning.link if place == beginning.number else found
    if link is None or not link.startswith(start):
        check_anchor(connection, Head(number=place, link=start), Head(number=-1, link=""))
