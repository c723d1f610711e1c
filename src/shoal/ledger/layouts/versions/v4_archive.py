"""Layout 4: old charges may be moved to a file."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from shoal.ledger.tables import grant_like_the_journal

__all__ = ["upgrade"]

revision = "4"
down_revision = "3"


def upgrade() -> None:
    """Add the table of archives."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "archive",
        sa.Column("id", number, primary_key=True, autoincrement=False),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("link", sa.String(64), nullable=False),
        sa.Column("held", sa.Text, nullable=False),
        sa.Column("kept", sa.String(64), nullable=False),
        sa.Column("file", sa.String(64), nullable=False),
        sa.Column("seal", sa.String(64), nullable=False),
    )
    grant_like_the_journal(op.get_bind(), "archive", "SELECT")
