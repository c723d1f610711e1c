"""The layouts of the ledger's tables, one Alembic revision each: how an earlier one becomes the present one.

A revision in ``versions/`` is frozen: it makes the tables as they were in its layout, whatever `shoal.ledger.tables`
says today. New ledgers are made from `shoal.ledger.tables` alone, without Alembic, which is loaded where a ledger is
brought up to date and nowhere else. A test holds both ways to the same tables, constraints and triggers.

All revisions run inside the one transaction of the caller, on SQLite and on PostgreSQL, DDL included, so an
interrupted upgrade leaves the ledger as it was. There is no way down: a ledger does not go back in time.
"""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

__all__ = ["stamp", "upgrade"]


def stamp(connection: Connection, layout: str) -> None:
    """Note the layout of a ledger from before Alembic kept it."""
    command.stamp(_config(connection), layout)


def upgrade(connection: Connection, layout: str = "head") -> None:
    """Run the revisions up to a layout, inside the transaction of the connection."""
    command.upgrade(_config(connection), layout)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", "shoal.ledger:layouts")
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config
