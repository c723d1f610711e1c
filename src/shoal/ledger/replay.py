"""The journal read again: sums and limits must follow from it, its links must hold, its guards must stand.

What is looked at when a ledger is opened: every sum and limit (in the database, about a second for a million entries),
the triggers, answers without a charge, the last 10,000 links, and the anchor. `shoal ledger verify` looks at every link
and at the seal of every answer as well.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator
from typing import Any

from sqlalchemy import Column, Connection, func, select

from shoal.errors import GuaranteeError
from shoal.ledger.amount import to_text
from shoal.ledger.chain import Head, broken_at, read_head, refuse_break, seal
from shoal.ledger.tables import ACCOUNT, ANSWER, GUARDS, JOURNAL

__all__ = ["check_anchor", "check_answers", "check_chain", "check_guards", "check_sums", "journal_rows"]

_HOLDERS: dict[str, Column[Any]] = {
    "client": JOURNAL.c.client_id,
    "model": JOURNAL.c.model_id,
    "data": JOURNAL.c.data_id,
}
_BY_HAND = "The database was edited by hand or is damaged. Restore an intact backup."
_MANY = 10_000


def check_sums(connection: Connection) -> None:
    """Compare every account with the replay of the journal; a GuaranteeError where one differs."""
    holders = {kind: _Replayed(connection, kind) for kind in _HOLDERS}
    for row in connection.execute(select(ACCOUNT)):
        if not holders[row.kind].agrees(row):
            raise GuaranteeError("ledger", f"the account of a {row.kind} must follow from the journal", hint=_BY_HAND)


def check_chain(connection: Connection, key: bytes, name: str, *, whole: bool = False) -> Head:
    """Follow the links to the head, from the first entry or over the last 10,000; the head."""
    head = read_head(connection)
    start = 0 if whole else max(0, head.number - _MANY)
    before = Head(number=0, link=name)
    if start:
        link = connection.execute(select(JOURNAL.c.link).where(JOURNAL.c.id == start)).scalar()
        before = Head(number=start, link=link or "")
    rows = connection.execute(select(JOURNAL).where(JOURNAL.c.id > start).order_by(JOURNAL.c.id))
    number, end = broken_at(rows, key, before)
    refuse_break(number)
    if end != head:
        refuse_break(end.number + 1)
    return head


def check_anchor(connection: Connection, anchored: Head | None) -> None:
    """Refuse a ledger that does not hold the entry that was noted outside it."""
    if anchored is None:
        return
    link = connection.execute(select(JOURNAL.c.link).where(JOURNAL.c.id == anchored.number)).scalar()
    if link == anchored.link or anchored.number == 0:
        return
    if link is None:
        got = f"{read_head(connection).number} entries where there were {anchored.number}"
    else:
        got = f"another entry {anchored.number}"
    hint = "An old backup was restored, or entries were removed. See `shoal ledger restore`."
    raise GuaranteeError("ledger", "must not lose entries", got=got, hint=hint)


def check_guards(connection: Connection) -> None:
    """Refuse a database whose triggers are gone, changed or switched off, or that has answers without a charge."""
    if missing := set(GUARDS[connection.dialect.name]) - _standing(connection):
        rule = "the triggers that keep the journal append-only must stand"
        raise GuaranteeError("ledger", rule, got=f"none of the name {min(missing)}", hint=_BY_HAND)
    joined = ANSWER.outerjoin(JOURNAL, ANSWER.c.mark == JOURNAL.c.mark)
    if connection.execute(select(ANSWER.c.mark).select_from(joined).where(JOURNAL.c.mark.is_(None)).limit(1)).first():
        raise GuaranteeError("ledger", "every answer must have its charge", hint=_BY_HAND)


def check_answers(connection: Connection, key: bytes) -> int:
    """Hold every answer to its seal; their number."""
    count = 0
    for row in connection.execute(select(ANSWER)):
        count += 1
        if not hmac.compare_digest(row.seal, seal(key, row.mark, row.score)):
            raise GuaranteeError("ledger", "every answer must match its seal", hint=_BY_HAND)
    return count


def journal_rows(connection: Connection) -> Iterator[dict[str, Any]]:
    """Each entry as JSON-safe words."""
    names = {row.id: row.name for row in connection.execute(select(ACCOUNT.c.id, ACCOUNT.c.name))}
    for row in connection.execute(select(JOURNAL).order_by(JOURNAL.c.id)):
        yield {
            "number": row.id,
            "at": row.at,
            "kind": row.kind,
            "client": names.get(row.client_id),
            "model": names.get(row.model_id),
            "data": names.get(row.data_id),
            "epsilon": to_text(row.amount),
            "purpose": json.loads(row.note).get("purpose") if row.note else None,
        }


class _Replayed:
    """What the accounts of one kind must hold."""

    def __init__(self, connection: Connection, kind: str) -> None:
        holder = self._holder = _HOLDERS[kind]
        spending = ["charge", "fit"] if kind == "data" else ["charge"]  # a fit is on the data set's account only
        self._spent = _sums(connection, holder, JOURNAL.c.amount, spending)
        self._answered = _sums(connection, holder, JOURNAL.c.amount, ["charge"])
        self._delta = _sums(connection, holder, JOURNAL.c.delta, spending)
        self._limits = self._last(connection, "limit")
        self._shares = self._last(connection, "reserve")

    def agrees(self, row: Any) -> bool:
        cap, delta_cap, _ = self._limits.get(row.id, (None, 0, None))
        share, _, note = self._shares.get(row.id, (None, 0, None))
        return (row.spent, row.answered, row.delta_spent, row.cap, row.delta_cap, row.reserved) == (
            self._spent.get(row.id, 0),
            self._answered.get(row.id, 0),
            self._delta.get(row.id, 0),
            cap,
            delta_cap,
            None if note else share,
        )

    def _last(self, connection: Connection, kind: str) -> dict[int, tuple[int, int, str | None]]:
        """(amount, delta, note) of the last entry of that kind, by account."""
        wanted = (
            select(self._holder, JOURNAL.c.amount, JOURNAL.c.delta, JOURNAL.c.note)
            .where(JOURNAL.c.kind == kind, self._holder.is_not(None))
            .order_by(JOURNAL.c.id)
        )
        return {number: (amount, delta, note) for number, amount, delta, note in connection.execute(wanted)}


def _sums(connection: Connection, holder: Column[Any], what: Column[Any], kinds: list[str]) -> dict[int, int]:
    wanted = select(holder, func.sum(what)).where(JOURNAL.c.kind.in_(kinds)).group_by(holder)
    return {number: int(total) for number, total in connection.execute(wanted) if number is not None}


def _standing(connection: Connection) -> set[str]:
    return _STANDING[connection.dialect.name](connection)


def _standing_in_sqlite(connection: Connection) -> set[str]:
    rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    return {name for name, sql in rows if GUARDS["sqlite"].get(name) == sql}


def _standing_in_postgresql(connection: Connection) -> set[str]:
    triggers = connection.exec_driver_sql(
        "SELECT t.tgname FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid "
        "WHERE t.tgenabled = 'O' AND t.tgtype = 58 AND p.proname = 'shoal_append_only'"
    )
    functions = connection.exec_driver_sql(
        "SELECT proname FROM pg_proc WHERE proname = 'shoal_append_only' AND prosrc LIKE '%%RAISE EXCEPTION%%'"
    )
    return {name for (name,) in triggers} | {name for (name,) in functions}


_STANDING: dict[str, Callable[[Connection], set[str]]] = {
    "sqlite": _standing_in_sqlite,
    "postgresql": _standing_in_postgresql,
}
