"""The tables of the ledger, the same for SQLite and PostgreSQL, and who may write to them.

- ``account``: one row for each client, model and data set, with its limit and what it has spent. A data set's limit is
  one number over all uses; a part of it may be reserved for answers. The database itself refuses a sum above the limit
  (CHECK), whatever a program asks of it.
- ``journal``: one row for each charge, each change of a limit or a reservation, each admitted model and each release;
  append-only by trigger, and chained by keyed hashes (see `shoal.ledger.chain`). The sums in ``account`` follow.
- ``head``: the number and the hash of the last entry. Whoever writes locks it first, so entries come one after another.
- ``answer``: the one answer that was ever given for a charge, sealed; append-only too.
- ``checkpoint``: what every account held at one entry, sealed, so that opening need not replay what is before it.
- ``archive``: where the chain begins after old charges were moved to a file, sealed (`shoal.ledger.archive`).
- ``request``: which charge an idempotency key stands for.
- ``api_key``: who may ask, by the hash of a secret.
- ``released``: the marks of the people of each release (`shoal.register`), whose SHA-256 is in the journal. They mean
  nothing without the register's key, which is never in the database; the service's role can't read them.
- ``meta``: the ledger's name and its secret.
- ``layout``: the version of these tables, as Alembic keeps it (`shoal.ledger.layouts`).

A charge is known by its *mark*, a keyed hash of client, model and canonical input: no input is kept.

A PostgreSQL ledger has two roles: its owner, who made the tables, and the service, which may add and not rewrite. The
service reads everything, adds entries, answers and keys, and moves the sums of accounts; it can't change or remove
an entry or an answer, drop a trigger, or alter a table. A sum that it moved without an entry shows when the ledger is
opened. The chain's key is best kept outside then (``SHOAL_LEDGER_KEY``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from shoal.errors import ParameterError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from shoal.ledger.ledger import Ledger

__all__ = [
    "ACCOUNT",
    "ANSWER",
    "API_KEY",
    "ARCHIVE",
    "CHECKPOINT",
    "GUARDS",
    "HEAD",
    "JOURNAL",
    "META",
    "RELEASED",
    "REQUEST",
    "REVISION",
    "TABLES",
    "grant",
    "grant_like_the_journal",
    "script",
]

TABLES = MetaData()
_number = BigInteger().with_variant(Integer, "sqlite")

META = Table("meta", TABLES, Column("name", String(32), primary_key=True), Column("value", Text, nullable=False))

REVISION = Table(
    "layout",
    TABLES,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="layout_pkc"),
)

HEAD = Table(
    "head",
    TABLES,
    Column("id", Integer, primary_key=True),
    Column("number", _number, nullable=False),
    Column("link", String(64), nullable=False),
    Column("pulse", _number, nullable=False, default=0),
    CheckConstraint("id = 1", name="one_head"),
)

ACCOUNT = Table(
    "account",
    TABLES,
    Column("id", _number, primary_key=True, autoincrement=True),
    Column("kind", String(8), nullable=False),
    Column("name", String(200), nullable=False),
    Column("label", String(200)),
    Column("cap", _number),
    Column("spent", _number, nullable=False, default=0),
    Column("answered", _number, nullable=False, default=0),
    Column("reserved", _number),
    Column("delta_cap", _number, nullable=False, default=0),
    Column("delta_spent", _number, nullable=False, default=0),
    Column("currency", String(8), nullable=False, default="epsilon"),
    Column("conversion", Text),
    Column("content", String(64)),
    UniqueConstraint("kind", "name"),
    CheckConstraint("kind IN ('client', 'model', 'data')", name="known_kind"),
    CheckConstraint("currency IN ('epsilon', 'rho')", name="known_currency"),
    CheckConstraint("spent >= 0 AND (cap IS NULL OR spent <= cap)", name="never_above_the_cap"),
    CheckConstraint("kind = 'model' OR cap IS NOT NULL", name="only_models_may_be_open"),
    CheckConstraint("answered >= 0 AND answered <= spent", name="answers_are_part_of_what_is_spent"),
    CheckConstraint(
        "reserved IS NULL OR (answered <= reserved AND spent - answered + reserved <= cap)",
        name="reserved_is_kept_free",
    ),
    CheckConstraint("delta_spent >= 0 AND delta_spent <= delta_cap", name="delta_never_above_the_cap"),
)

JOURNAL = Table(
    "journal",
    TABLES,
    Column("id", _number, primary_key=True, autoincrement=False),
    Column("at", String(40), nullable=False),
    Column("kind", String(8), nullable=False),
    Column("client_id", _number, ForeignKey("account.id")),
    Column("model_id", _number, ForeignKey("account.id")),
    Column("data_id", _number, ForeignKey("account.id")),
    Column("amount", _number, nullable=False),
    Column("delta", _number, nullable=False, default=0),
    Column("mark", String(64), unique=True),
    Column("note", Text),
    Column("link", String(64), nullable=False),
    CheckConstraint(
        "kind IN ('charge', 'fit', 'limit', 'reserve', 'admit', 'release', 'data', 'restore')", name="known_entry"
    ),
    CheckConstraint("amount >= 0 AND delta >= 0", name="no_refund"),
    CheckConstraint("kind NOT IN ('charge', 'fit') OR mark IS NOT NULL", name="charges_are_marked"),
)

ANSWER = Table(
    "answer",
    TABLES,
    Column("mark", String(64), ForeignKey("journal.mark"), primary_key=True),
    Column("score", String(40), nullable=False),
    Column("at", String(40), nullable=False),
    Column("seal", String(64), nullable=False),
)

CHECKPOINT = Table(
    "checkpoint",
    TABLES,
    Column("id", _number, ForeignKey("journal.id"), primary_key=True, autoincrement=False),
    Column("at", String(40), nullable=False),
    Column("link", String(64), nullable=False),
    Column("held", Text, nullable=False),
    Column("seal", String(64), nullable=False),
)

ARCHIVE = Table(
    "archive",
    TABLES,
    Column("id", _number, primary_key=True, autoincrement=False),
    Column("at", String(40), nullable=False),
    Column("link", String(64), nullable=False),
    Column("held", Text, nullable=False),
    Column("kept", String(64), nullable=False),
    Column("file", String(64), nullable=False),
    Column("seal", String(64), nullable=False),
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
    Column("role", String(16), nullable=False, default="client"),
    Column("made", String(40), nullable=False),
    Column("expires", String(40)),
    Column("used", String(40)),
    Column("revoked", String(40)),
    CheckConstraint("role IN ('client', 'auditor', 'administrator')", name="known_role"),
)
Index("api_key_client", API_KEY.c.client_id)

RELEASED = Table(
    "released",
    TABLES,
    Column("release", String(16), primary_key=True),
    Column("kind", String(8), primary_key=True),
    Column("part", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
    CheckConstraint("kind IN ('people', 'values', 'sample')", name="known_marks"),
)


def _sqlite_guard(table: str, verb: str) -> str:
    return (
        f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    )


# INSERT OR REPLACE deletes the old row without firing the trigger for DELETE, so an insertion looks for itself.
_NO_REPLACING = (
    "CREATE TRIGGER journal_no_REPLACE BEFORE INSERT ON journal "
    "WHEN EXISTS (SELECT 1 FROM journal WHERE id = NEW.id OR mark = NEW.mark) "
    "BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END"
)
_FIRST_ANSWER = (
    "CREATE TRIGGER answer_no_REPLACE BEFORE INSERT ON answer "
    "WHEN EXISTS (SELECT 1 FROM answer WHERE mark = NEW.mark) BEGIN SELECT RAISE(IGNORE); END"
)

_FUNCTION = """CREATE OR REPLACE FUNCTION shoal_append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'append-only'; END $$"""


def _postgresql_guard(table: str) -> str:
    return (
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION shoal_append_only()"
    )


GUARDS: dict[str, dict[str, str]] = {
    "sqlite": {
        **{
            f"{table}_no_{verb}": _sqlite_guard(table, verb)
            for table in ("journal", "answer")
            for verb in ("UPDATE", "DELETE")
        },
        "journal_no_REPLACE": _NO_REPLACING,
        "answer_no_REPLACE": _FIRST_ANSWER,
    },
    "postgresql": {
        "shoal_append_only": _FUNCTION,
        **{f"{table}_append_only": _postgresql_guard(table) for table in ("journal", "answer")},
    },
}


_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def script(role: str) -> list[str]:
    """The statements that the owner runs.

    Examples
    --------
    >>> print(script("shoal_service")[1])
    GRANT INSERT ON journal, answer, checkpoint, request, account, api_key TO shoal_service
    """
    if not _NAME.fullmatch(role):
        raise ParameterError("--service-role", "must be a plain lower-case name", got=repr(role)[:60])
    read = "meta, layout, head, account, journal, answer, checkpoint, archive, request, api_key"
    return [
        f"GRANT SELECT ON {read} TO {role}",
        f"GRANT INSERT ON journal, answer, checkpoint, request, account, api_key TO {role}",
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


def grant_like_the_journal(connection: Connection, table: str, rights: str) -> None:
    """Whoever may read the journal of a PostgreSQL ledger gets rights on a new table too."""
    if connection.dialect.name == "postgresql":
        query = (
            "SELECT DISTINCT grantee FROM information_schema.role_table_grants "
            "WHERE table_name = 'journal' AND table_schema = current_schema()"
        )
        for (role,) in connection.exec_driver_sql(query).all():
            connection.exec_driver_sql(f'GRANT {rights} ON {table} TO "{role}"')
