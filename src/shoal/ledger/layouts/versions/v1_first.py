"""Layout 1: accounts, a journal without a chain, answers, idempotency keys, API keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["upgrade"]

revision = "1"
down_revision = None

_number = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables of the first layout; only tests begin there."""
    op.create_table(
        "meta", sa.Column("name", sa.String(32), primary_key=True), sa.Column("value", sa.Text, nullable=False)
    )
    op.create_table(
        "account",
        sa.Column("id", _number, primary_key=True, autoincrement=True),
        sa.Column("kind", sa.String(8), nullable=False),
        sa.Column("name", sa.String(200), nullable=False),
        sa.Column("cap", _number),
        sa.Column("spent", _number, nullable=False),
        sa.UniqueConstraint("kind", "name"),
        sa.CheckConstraint("kind IN ('client', 'model', 'data')", name="known_kind"),
        sa.CheckConstraint("spent >= 0 AND (cap IS NULL OR spent <= cap)", name="never_above_the_cap"),
        sa.CheckConstraint("kind = 'model' OR cap IS NOT NULL", name="only_models_may_be_open"),
    )
    op.create_table(
        "journal",
        sa.Column("id", _number, primary_key=True, autoincrement=True),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("kind", sa.String(8), nullable=False),
        *(sa.Column(f"{kind}_id", _number, sa.ForeignKey("account.id")) for kind in ("client", "model", "data")),
        sa.Column("amount", _number, nullable=False),
        sa.Column("mark", sa.String(64), unique=True),
        sa.CheckConstraint("kind IN ('charge', 'fit', 'limit')", name="known_entry"),
        sa.CheckConstraint("amount >= 0", name="no_refund"),
        sa.CheckConstraint("kind = 'limit' OR mark IS NOT NULL", name="charges_are_marked"),
    )
    op.create_table(
        "answer",
        sa.Column("mark", sa.String(64), sa.ForeignKey("journal.mark"), primary_key=True),
        sa.Column("score", sa.String(40), nullable=False),
        sa.Column("at", sa.String(40), nullable=False),
    )
    op.create_table(
        "request",
        sa.Column("client_id", _number, sa.ForeignKey("account.id"), primary_key=True),
        sa.Column("token", sa.String(64), primary_key=True),
        sa.Column("mark", sa.String(64), sa.ForeignKey("journal.mark"), nullable=False),
    )
    op.create_table(
        "api_key",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("client_id", _number, sa.ForeignKey("account.id"), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("made", sa.String(40), nullable=False),
        sa.Column("revoked", sa.String(40)),
    )
    op.create_index("api_key_client", "api_key", ["client_id"])
    for statement in _GUARDS[op.get_bind().dialect.name]:
        op.execute(statement)


_GUARDS = {
    "sqlite": [
        f"CREATE TRIGGER {table}_no_{verb} BEFORE {verb} ON {table} "
        f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
        for table in ("journal", "answer")
        for verb in ("UPDATE", "DELETE")
    ],
    "postgresql": [
        "CREATE FUNCTION shoal_append_only() RETURNS trigger LANGUAGE plpgsql AS\n"
        "$$ BEGIN RAISE EXCEPTION 'append-only'; END $$",
        *(
            f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
            "FOR EACH STATEMENT EXECUTE FUNCTION shoal_append_only()"
            for table in ("journal", "answer")
        ),
    ],
}
