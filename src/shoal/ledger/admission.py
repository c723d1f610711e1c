"""Models are admitted: the ledger holds what a model file is, what it costs and which claim it makes, and nothing else
is served.

A model file can vouch for itself no better than a stranger can: whoever edits the ε in it can rewrite its hash too. So
the ledger notes, when a model is fitted to one of its data sets or when a person admits the file, the SHA-256 of the
file, the data set, the price of an answer, what the fit cost, and the claims. The service compares.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from shoal.ledger.chain import Head, append, entry, lock_head
from shoal.ledger.tables import JOURNAL
from shoal.record import Record

__all__ = ["Admission", "admissions", "admit", "is_admitted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission(Record):
    """A model file that may be served.

    Parameters
    ----------
    digest
        SHA-256 of the file.
    model
        Its name when it was admitted.
    data
        The name of its data set in the ledger.
    cost, spent
        What an answer costs and what the fit cost, in words (``Budget.to_dict``).
    claims
        What it promises, in words.
    by
        ``"fit"``, where this ledger was charged for it, or ``"person"``.
    """

    digest: str
    model: str
    data: str
    cost: dict[str, Any]
    spent: dict[str, Any] | None
    claims: tuple[dict[str, Any], ...]
    by: str

    @classmethod
    def from_dict(cls, words: dict[str, Any]) -> Admission:
        """Read an admission back."""
        return cls(**{**words, "claims": tuple(words["claims"])})


def admit(connection: Connection, key: bytes, model: int, data: int, admission: Admission) -> Head:
    """Note an admission, once for each file."""
    head = lock_head(connection)
    if is_admitted(connection, admission):
        return head
    purpose = {"purpose": f"model '{admission.model}' may be served"}
    note = json.dumps({**purpose, "admission": admission.to_dict()}, ensure_ascii=False, allow_nan=False)
    return append(connection, key, [entry("admit", model_id=model, data_id=data, note=note)], head)


def is_admitted(connection: Connection, admission: Admission) -> bool:
    """Whether this file was admitted for this data set before."""
    file = admission.digest, admission.data
    return any((known.digest, known.data) == file for known in admissions(connection))


def admissions(connection: Connection) -> list[Admission]:
    """Every model file that was admitted, oldest first."""
    rows = connection.execute(select(JOURNAL.c.note).where(JOURNAL.c.kind == "admit").order_by(JOURNAL.c.id))
    return [Admission.from_dict(json.loads(note)["admission"]) for (note,) in rows]
