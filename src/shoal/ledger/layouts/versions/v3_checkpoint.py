"""Layout 3: checkpoints, so that opening need not replay everything."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from shoal.ledger.tables import grant_like_the_journal

__all__ = ["upgrade"]

revision = "3"
down_revision = "2"


def upgrade() -> None:
    """Add the table of checkpoints."""
    number = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "checkpoint",
        sa.Column("id", number, sa.ForeignKey("journal.id"), primary_key=True, autoincrement=False),
        sa.Column("at", sa.String(40), nullable=False),
        sa.Column("link", sa.String(64), nullable=False),
        sa.Column("held", sa.Text, nullable=False),
        sa.Column("seal", sa.String(64), nullable=False),
    )
    grant_like_the_journal(op.get_bind(), "checkpoint", "SELECT, INSERT")
