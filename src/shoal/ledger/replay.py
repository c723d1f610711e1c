"""The journal read again from its first line: sums and limits must follow from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Column, Connection, func, select

from shoal.errors import GuaranteeError
from shoal.ledger.amount import to_text
from shoal.ledger.tables import ACCOUNT, JOURNAL

__all__ = ["check_sums", "journal_rows"]

_HOLDERS: dict[str, Column[Any]] = {
    "client": JOURNAL.c.client_id,
    "model": JOURNAL.c.model_id,
    "data": JOURNAL.c.data_id,
}


def check_sums(connection: Connection) -> None:
    """Compare every account with the replay of the journal; a GuaranteeError where one differs."""
    replayed = {kind: _sums(connection, kind) for kind in _HOLDERS}
    caps = _caps(connection)
    for row in connection.execute(select(ACCOUNT)):
        if row.spent != replayed[row.kind].get(row.id, 0) or row.cap != caps.get(row.id):
            hint = "Somebody wrote into the database by hand, or it is damaged. Bring back an unharmed copy."
            raise GuaranteeError("ledger", f"the account of a {row.kind} must follow from the journal", hint=hint)


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
        }


def _sums(connection: Connection, kind: str) -> dict[int, int]:
    holder = _HOLDERS[kind]
    counted = ["charge", "fit"] if kind == "data" else ["charge"]  # a fit is on the data set's account only
    wanted = select(holder, func.sum(JOURNAL.c.amount)).where(JOURNAL.c.kind.in_(counted)).group_by(holder)
    return {number: int(total) for number, total in connection.execute(wanted) if number is not None}


def _caps(connection: Connection) -> dict[int, int]:
    holders = list(_HOLDERS.values())
    wanted = select(*holders, JOURNAL.c.amount).where(JOURNAL.c.kind == "limit").order_by(JOURNAL.c.id)
    return {next(n for n in numbers if n is not None): cap for *numbers, cap in connection.execute(wanted)}
