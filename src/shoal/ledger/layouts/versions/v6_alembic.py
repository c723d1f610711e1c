"""Layout 6: which layout it is stands in Alembic's table and nowhere else.

Earlier versions of Shoal look for a number in ``meta``, find none, and refuse the ledger, as they should.
"""

from __future__ import annotations

from alembic import op

from shoal.ledger.tables import grant_like_the_journal

__all__ = ["upgrade"]

revision = "6"
down_revision = "5"


def upgrade() -> None:
    """Drop the number in ``meta``."""
    op.execute("DELETE FROM meta WHERE name = 'format'")
    grant_like_the_journal(op.get_bind(), "layout", "SELECT")
