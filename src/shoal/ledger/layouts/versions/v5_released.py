"""Layout 5: the marks of the people of each release; the service's role never sees them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

__all__ = ["upgrade"]

revision = "5"
down_revision = "4"


def upgrade() -> None:
    """Add the table of marks."""
    op.create_table(
        "released",
        sa.Column("release", sa.String(16), primary_key=True),
        sa.Column("kind", sa.String(8), primary_key=True),
        sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.CheckConstraint("kind IN ('people', 'values', 'sample')", name="known_marks"),
    )
