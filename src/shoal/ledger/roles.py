"""Two roles for a PostgreSQL ledger: its owner, who made the tables, and the service, which may add and not rewrite.

The service reads everything, adds entries, answers and keys, and moves the sums of accounts; it can't change or remove
an entry or an answer, drop a trigger, or alter a table. A sum that it moved without an entry shows when the ledger is
opened. The chain's key is best kept outside then (``SHOAL_LEDGER_KEY``).
"""

from __future__ import annotations

import re

from shoal.errors import ParameterError
from shoal.ledger.ledger import Ledger

__all__ = ["grant", "script"]

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def script(role: str) -> list[str]:
    """The statements that the owner runs.

    Examples
    --------
    >>> print(script("shoal_service")[1])
    GRANT INSERT ON journal, answer, request, account, api_key TO shoal_service
    """
    if not _NAME.fullmatch(role):
        raise ParameterError("--service-role", "must be a plain lower-case name", got=repr(role)[:60])
    return [
        f"GRANT SELECT ON meta, head, account, journal, answer, request, api_key TO {role}",
        f"GRANT INSERT ON journal, answer, request, account, api_key TO {role}",
        f"GRANT UPDATE ON head, account, api_key TO {role}",
        f"GRANT USAGE ON SEQUENCE account_id_seq TO {role}",
    ]


def grant(ledger: Ledger, role: str) -> None:
    """Give the service's role what it needs, and no more; the role must be there."""
    statements = script(role)
    if ledger.engine.dialect.name != "postgresql":
        raise ParameterError("--service-role", "is for PostgreSQL", hint="A SQLite file has its owner's permissions.")
    with ledger.writing() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
