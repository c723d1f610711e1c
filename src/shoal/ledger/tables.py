"""The tables of the ledger, the same for SQLite and PostgreSQL.

- ``account``: one row for each client, model and data set, with its limit and what it has spent. The database itself
  refuses a sum above the limit (CHECK), whatever a program asks of it.
- ``journal``: one row for each charge and each change of a limit, append-only by trigger. The sums in ``account``
  follow from it.
- ``answer``: the one answer that was ever given for a charge; append-only too.
- ``request``: which charge an idempotency key stands for.
- ``api_key``: who may ask, by the hash of a secret.
- ``meta``: the version of this layout, and the ledger's own secret.

A charge is known by its *mark*, a keyed hash of client, model and canonical input: no input is kept.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = ["ACCOUNT", "ANSWER", "API_KEY", "GUARDS", "JOURNAL", "META", "REQUEST", "TABLES"]

TABLES = MetaData()
_number = BigInteger().with_variant(Integer, "sqlite")

META = Table("meta", TABLES, Column("name", String(32), primary_key=True), Column("value", Text, nullable=False))

ACCOUNT = Table(
    "account",
    TABLES,
    Column("id", _number, primary_key=True, autoincrement=True),
    Column("kind", String(8), nullable=False),
    Column("name", String(200), nullable=False),
    Column("cap", _number),
    Column("spent", _number, nullable=False, default=0),
    UniqueConstraint("kind", "name"),
    CheckConstraint("kind IN ('client', 'model', 'data')", name="known_kind"),
    CheckConstraint("spent >= 0 AND (cap IS NULL OR spent <= cap)", name="never_above_the_cap"),
    CheckConstraint("kind = 'model' OR cap IS NOT NULL", name="only_models_may_be_open"),
)

JOURNAL = Table(
    "journal",
    TABLES,
    Column("id", _number, primary_key=True, autoincrement=True),
    Column("at", String(40), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("client_id", _number, ForeignKey("account.id")),
    Column("model_id", _number, ForeignKey("account.id")),
    Column("data_id", _number, ForeignKey("account.id")),
    Column("amount", _number, nullable=False),
    Column("mark", String(64), unique=True),
    CheckConstraint("kind IN ('charge', 'fit', 'limit')", name="known_entry"),
    CheckConstraint("amount >= 0", name="no_refund"),
    CheckConstraint("kind = 'limit' OR mark IS NOT NULL", name="charges_are_marked"),
)

ANSWER = Table(
    "answer",
    TABLES,
    Column("mark", String(64), ForeignKey("journal.mark"), primary_key=True),
    Column("score", String(40), nullable=False),
    Column("at", String(40), nullable=False),
)

REQUEST = Table(
    "request",
    TABLES,
    Column("client_id", _number, ForeignKey("account.id"), primary_key=True),
    Column("token", String(64), primary_key=True),
    Column("mark", String(64), ForeignKey("journal.mark"), nullable=False),
)

API_KEY = Table(
    "api_key",
    TABLES,
    Column("id", String(16), primary_key=True),
    Column("client_id", _number, ForeignKey("account.id"), nullable=False),
    Column("hash", String(64), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("made", String(40), nullable=False),
    Column("revoked", String(40)),
)
Index("api_key_client", API_KEY.c.client_id)


def _sqlite_guard(table: str, verb: str) -> str:
    return (
        f"CREATE TRIGGER IF NOT EXISTS {table}_no_{verb} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    )


_FUNCTION = """CREATE OR REPLACE FUNCTION shoal_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'append-only'; END $$"""


def _postgresql_guard(table: str) -> str:
    return (
        f"CREATE OR REPLACE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION shoal_append_only()"
    )


GUARDS = {
    "sqlite": [_sqlite_guard(table, verb) for table in ("journal", "answer") for verb in ("UPDATE", "DELETE")],
    "postgresql": [_FUNCTION, *(_postgresql_guard(table) for table in ("journal", "answer"))],
}
