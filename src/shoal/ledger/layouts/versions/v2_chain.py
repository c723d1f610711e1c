"""Layout 2: the journal is a chain of keyed hashes, answers are sealed; data sets have a label, δ, ρ and a reservation.

Every row is read, the tables are made anew, and the rows are written again with links and seals.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from shoal.ledger.chain import link_after, seal
from shoal.ledger.engine import chain_key, founding_rows, read_meta

__all__ = ["upgrade"]

revision = "2"
down_revision = "1"

_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_TABLES = ("answer", "request", "api_key", "journal", "account")  # in the order in which they can be dropped


def upgrade() -> None:
    """Write the journal again as a chain."""
    connection = op.get_bind()
    old = {
        name: [dict(row) for row in connection.execute(sa.text(f"SELECT * FROM {name}")).mappings()] for name in _TABLES
    }
    meta = _founded(connection)
    for name in _TABLES:
        op.drop_table(name)
    tables = {name: op.create_table(name, *parts) for name, parts in _new_tables().items()}
    op.create_index("api_key_client", "api_key", ["client_id"])
    _guard(connection.dialect.name)
    _fill(tables, old, chain_key(meta), meta["name"])
    if connection.dialect.name == "postgresql":
        op.execute("SELECT setval(pg_get_serial_sequence('account', 'id'), coalesce(max(id), 1)) FROM account")


def _founded(connection: sa.Connection) -> dict[str, str]:
    """Give the ledger a name, and note its key where that is kept outside."""
    meta = read_meta(connection)
    new = {name: value for name, value in founding_rows(meta["secret"]).items() if name not in meta}
    table = sa.table("meta", sa.column("name"), sa.column("value"))
    op.bulk_insert(table, [{"name": name, "value": value} for name, value in new.items()])
    return meta | new


def _fill(tables: dict[str, sa.Table], old: dict[str, list[dict[str, Any]]], key: bytes, name: str) -> None:
    journal = sorted(old["journal"], key=lambda row: int(row["id"]))
    answered = _answered(journal)
    missing = {"label": None, "reserved": None, "delta_cap": 0, "delta_spent": 0, "conversion": None, "content": None}
    more = {**missing, "currency": "epsilon"}
    _write(tables["account"], ({**row, **more, "answered": answered[row["id"]]} for row in old["account"]))
    chain = _chained(journal, key, name)
    _write(tables["journal"], chain)
    last = chain[-1] if chain else {"id": 0, "link": name}
    _write(tables["head"], [{"id": 1, "number": last["id"], "link": last["link"], "pulse": 0}])
    _write(tables["answer"], ({**row, "seal": seal(key, row["mark"], row["score"])} for row in old["answer"]))
    _write(tables["request"], old["request"])
    keys = ({**row, "role": "client", "expires": None, "used": None} for row in old["api_key"])
    _write(tables["api_key"], keys)


def _chained(journal: Sequence[dict[str, Any]], key: bytes, name: str) -> list[dict[str, Any]]:
    """The entries, numbered without a gap, each with its link."""
    rows, link = [], name
    for number, row in enumerate(journal, 1):
        words = {**row, "id": number, "delta": 0, "note": None}
        link = link_after(key, link, number, words)
        rows.append({**words, "link": link})
    return rows


def _answered(journal: Iterable[dict[str, Any]]) -> dict[int, int]:
    """What each account was charged for answers."""
    sums: dict[int, int] = defaultdict(int)
    for row in journal:
        if row["kind"] == "charge":
            for kind in ("client", "model", "data"):
                sums[row[f"{kind}_id"]] += row["amount"]
    return sums


def _write(table: sa.Table, rows: Iterable[dict[str, Any]]) -> None:
    op.bulk_insert(table, list(rows))


def _new_tables() -> dict[str, list[sa.schema.SchemaItem]]:
    return {
        "head": [
            sa.Column("id", sa.Integer, primary_key=True),
            sa.Column("number", _number, nullable=False),
            sa.Column("link", sa.String(64), nullable=False),
            sa.Column("pulse", _number, nullable=False),
            sa.CheckConstraint("id = 1", name="one_head"),
        ],
        "account": _account(),
        "journal": _journal(),
        "answer": [
            sa.Column("mark", sa.String(64), sa.ForeignKey("journal.mark"), primary_key=True),
            sa.Column("score", sa.String(40), nullable=False),
            sa.Column("at", sa.String(40), nullable=False),
            sa.Column("seal", sa.String(64), nullable=False),
        ],
        "request": [
            sa.Column("client_id", _number, sa.ForeignKey("account.id"), primary_key=True),
            sa.Column("token", sa.String(64), primary_key=True),
            sa.Column("mark", sa.String(64), sa.ForeignKey("journal.mark"), nullable=False),
        ],
        "api_key": [
            sa.Column("id", sa.String(16), primary_key=True),
            sa.Column("client_id", _number, sa.ForeignKey("account.id"), nullable=False),
            sa.Column("hash", sa.String(64), nullable=False),
            sa.Column("scopes", sa.Text, nullable=False),
            sa.Column("role", sa.String(16), nullable=False),
            sa.Column("made", sa.String(40), nullable=False),
            *(sa.Column(name, sa.String(40)) for name in ("expires", "used", "revoked")),
            sa.CheckConstraint("role IN ('client', 'auditor', 'administrator')", name="known_role"),
        ],
    }


def _account() -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("id", _number, primary_key=True, autoincrement=True),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("label", sa.String(200)),
        sa.Column("cap", _number),
        sa.Column("spent", _number, nullable=False),
        sa.Column("answered", _number, nullable=False),
        sa.Column("reserved", _number),
        sa.Column("delta_cap", _number, nullable=False),
        sa.Column("delta_spent", _number, nullable=False),
        sa.Column("currency", sa.String(8), nullable=False),
        sa.Column("conversion", sa.Text),
        sa.Column("content", sa.String(64)),
        sa.UniqueConstraint("kind", "name"),
        sa.CheckConstraint("kind IN ('client', 'model', 'data')", name="known_kind"),
        sa.CheckConstraint("currency IN ('epsilon', 'rho')", name="known_currency"),
        sa.CheckConstraint("spent >= 0 AND (cap IS NULL OR spent <= cap)", name="never_above_the_cap"),
        sa.CheckConstraint("kind = 'model' OR cap IS NOT NULL", name="only_models_may_be_open"),
        sa.CheckConstraint("answered >= 0 AND answered <= spent", name="answers_are_part_of_what_is_spent"),
        sa.CheckConstraint(
            "reserved IS NULL OR (answered <= reserved AND spent - answered + reserved <= cap)",
            name="reserved_is_kept_free",
        ),
        sa.CheckConstraint("delta_spent >= 0 AND delta_spent <= delta_cap", name="delta_never_above_the_cap"),
    ]


def _journal() -> list[sa.schema.SchemaItem]:
    return [
        sa.Column("id", _number, primary_key=True, autoincrement=False),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        *(sa.Column(f"{kind}_id", _number, sa.ForeignKey("account.id")) for kind in ("client", "model", "data")),
        sa.Column("amount", _number, nullable=False),
        sa.Column("delta", _number, nullable=False),
        sa.Column("mark", sa.String(64), unique=True),
        sa.Column("note", sa.Text),
        sa.Column("link", sa.String(64), nullable=False),
        sa.CheckConstraint(
            "kind IN ('charge', 'fit', 'limit', 'reserve', 'admit', 'release', 'data', 'restore')", name="known_entry"
        ),
        sa.CheckConstraint("amount >= 0 AND delta >= 0", name="no_refund"),
        sa.CheckConstraint("kind NOT IN ('charge', 'fit') OR mark IS NOT NULL", name="charges_are_marked"),
    ]


def _guard(database: str) -> None:
    """The triggers of the tables that were made anew; PostgreSQL's function is there already."""
    for statement in _GUARDS[database]:
        op.execute(statement)


_GUARDS = {
    "sqlite": [
        *(
            f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
            for table in ("journal", "answer")
            for verb in ("UPDATE", "DELETE")
        ),
        "CREATE TRIGGER journal_no_REPLACE BEFORE INSERT ON journal "
        "WHEN EXISTS (SELECT 1 FROM journal WHERE id = NEW.id OR mark = NEW.mark) "
        "BEGIN SELECT RAISE(ABORT, 'journal is append-only'); END",
        "CREATE TRIGGER answer_no_REPLACE BEFORE INSERT ON answer "
        "WHEN EXISTS (SELECT 1 FROM answer WHERE mark = NEW.mark) BEGIN SELECT RAISE(IGNORE); END",
    ],
    "postgresql": [
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION shoal_append_only()"
        for table in ("journal", "answer")
    ],
}
