"""The journal read again: sums and limits must follow from it, its links must hold, its guards must stand.

What is looked at when a ledger is opened: every sum and limit since the last checkpoint (`shoal.ledger.checkpoint`),
the links since then (the last 10,000 of them, and all where a new checkpoint is due), the triggers, the anchor, and,
where there is no checkpoint yet, answers without a charge. `shoal ledger verify` looks at everything from the first
entry on, and at the seal of every answer.
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
from shoal.ledger.checkpoint import Checkpoint, Held
from shoal.ledger.tables import ACCOUNT, ANSWER, GUARDS, JOURNAL

__all__ = [
    "check_anchor",
    "check_answers",
    "check_chain",
    "check_guards",
    "check_orphans",
    "check_sums",
    "journal_rows",
]

_HOLDERS: dict[str, Column[Any]] = {
    "client": JOURNAL.c.client_id,
    "model": JOURNAL.c.model_id,
    "data": JOURNAL.c.data_id,
}
_BY_HAND = "The database was edited by hand or is damaged. Restore an intact backup."
_MANY = 10_000


def check_sums(connection: Connection, since: Checkpoint) -> dict[int, Held]:
    """Compare every account with the replay of the journal since a checkpoint, and give what each holds.

    A GuaranteeError where one differs.
    """
    holders = {kind: _Replayed(connection, kind, since) for kind in _HOLDERS}
    held = {}
    for row in connection.execute(select(ACCOUNT)):
        held[row.id] = (row.spent, row.answered, row.delta_spent, row.cap, row.delta_cap, row.reserved)
        if held[row.id] != holders[row.kind].of(row.id):
            raise GuaranteeError("ledger", f"the account of a {row.kind} must follow from the journal", hint=_BY_HAND)
    return held


def check_chain(connection: Connection, key: bytes, since: Head, *, whole: bool) -> Head:
    """Follow the links from `since` to the head, all of them or the last 10,000; the head."""
    head = read_head(connection)
    before = since
    if not whole and head.number - since.number > _MANY:
        start = head.number - _MANY
        link = connection.execute(select(JOURNAL.c.link).where(JOURNAL.c.id == start)).scalar()
        before = Head(number=start, link=link or "")
    rows = connection.execute(select(JOURNAL).where(JOURNAL.c.id > before.number).order_by(JOURNAL.c.id))
    number, end = broken_at(rows, key, before)
    refuse_break(number)
    if end != head:
        refuse_break(end.number + 1)
    return head


def check_anchor(connection: Connection, anchored: Head | None, beginning: Head) -> None:
    """Refuse a ledger that does not hold the entry that was noted outside it, or has archived it."""
    if anchored is None:
        return
    link = connection.execute(select(JOURNAL.c.link).where(JOURNAL.c.id == anchored.number)).scalar()
    if anchored.number == beginning.number:
        link = beginning.link
    if link == anchored.link or (link is None and anchored.number < beginning.number):
        return
    if link is None:
        got = f"{read_head(connection).number} entries where there were {anchored.number}"
    else:
        got = f"another entry {anchored.number}"
    hint = "An old backup was restored, or entries were removed. See `shoal ledger restore`."
    raise GuaranteeError("ledger", "must not lose entries", got=got, hint=hint)


def check_guards(connection: Connection) -> None:
    """Refuse a database whose triggers are gone, changed or switched off."""
    if missing := set(GUARDS[connection.dialect.name]) - _standing(connection):
        rule = "the triggers that keep the journal append-only must stand"
        raise GuaranteeError("ledger", rule, got=f"none of the name {min(missing)}", hint=_BY_HAND)


def check_orphans(connection: Connection) -> None:
    """Refuse a database that has answers without a charge."""
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
    accounts = connection.execute(select(ACCOUNT.c.id, ACCOUNT.c.name, ACCOUNT.c.currency)).all()
    names, currencies = {row.id: row.name for row in accounts}, {row.id: row.currency for row in accounts}
    for row in connection.execute(select(JOURNAL).order_by(JOURNAL.c.id)):
        in_rho = currencies.get(row.data_id) == "rho"
        in_epsilon = not in_rho or row.client_id is not None  # of ε = 2 both are 2, and one entry says so
        yield {
            "number": row.id,
            "at": row.at,
            "kind": row.kind,
            "client": names.get(row.client_id),
            "model": names.get(row.model_id),
            "data": names.get(row.data_id),
            "epsilon": to_text(row.amount) if in_epsilon else None,
            "rho": to_text(row.amount) if in_rho else None,
            "purpose": json.loads(row.note).get("purpose") if row.note else None,
        }


class _Replayed:
    """What the accounts of one kind must hold: what they held at the checkpoint, and what was written since."""

    def __init__(self, connection: Connection, kind: str, since: Checkpoint) -> None:
        holder, self._since = _HOLDERS[kind], since
        spending = ["charge", "fit"] if kind == "data" else ["charge"]  # a fit is on the data set's account only
        number = since.head.number
        self._holder, self._new = holder, JOURNAL.c.id > number
        self._spent = self._sums(connection, JOURNAL.c.amount, spending)
        self._answered = self._sums(connection, JOURNAL.c.amount, ["charge"])
        self._delta = self._sums(connection, JOURNAL.c.delta, spending)
        self._limits = self._last(connection, "limit")
        self._shares = self._last(connection, "reserve")

    def of(self, number: int) -> Held:
        spent, answered, delta, cap, delta_cap, share = self._since.held.get(number, (0, 0, 0, None, 0, None))
        if number in self._limits:
            cap, delta_cap, _ = self._limits[number]
        if number in self._shares:
            amount, _, dropped = self._shares[number]
            share = None if dropped else amount
        sums = (found.get(number, 0) for found in (self._spent, self._answered, self._delta))
        more, more_answered, more_delta = sums
        return spent + more, answered + more_answered, delta + more_delta, cap, delta_cap, share

    def _sums(self, connection: Connection, what: Column[Any], kinds: list[str]) -> dict[int, int]:
        query = select(self._holder, func.sum(what)).where(self._new, JOURNAL.c.kind.in_(kinds))
        rows = connection.execute(query.group_by(self._holder))
        return {number: int(total) for number, total in rows if number is not None}

    def _last(self, connection: Connection, kind: str) -> dict[int, tuple[int, int, str | None]]:
        """(amount, delta, note) of the last entry of that kind, by account."""
        query = (
            select(self._holder, JOURNAL.c.amount, JOURNAL.c.delta, JOURNAL.c.note)
            .where(self._new, JOURNAL.c.kind == kind, self._holder.is_not(None))
            .order_by(JOURNAL.c.id)
        )
        return {number: (amount, delta, note) for number, amount, delta, note in connection.execute(query)}


def _standing(connection: Connection) -> set[str]:
    return _STANDING[connection.dialect.name](connection)


def _standing_in_sqlite(connection: Connection) -> set[str]:
    rows = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    return {name for name, sql in rows if GUARDS["sqlite"].get(name) == sql}


def _standing_in_postgresql(connection: Connection) -> set[str]:
    """A trigger counts on its own table, without a condition, with the function that a new ledger gets."""
    triggers = connection.exec_driver_sql(
        "SELECT t.tgname, t.tgfoid FROM pg_trigger t "
        "WHERE t.tgenabled IN ('O', 'A') AND t.tgtype = 58 AND t.tgqual IS NULL "
        "AND t.tgrelid = to_regclass(replace(t.tgname, '_append_only', ''))"
    ).all()
    body = GUARDS["postgresql"]["shoal_append_only"].split("$$")[1]
    found = connection.exec_driver_sql(
        "SELECT oid, proname FROM pg_proc WHERE proname = 'shoal_append_only' AND prosrc = %s", (body,)
    )
    functions: dict[int, str] = {row.oid: row.proname for row in found}
    return {name for name, number in triggers if number in functions} | set(functions.values())


_STANDING: dict[str, Callable[[Connection], set[str]]] = {
    "sqlite": _standing_in_sqlite,
    "postgresql": _standing_in_postgresql,
}
