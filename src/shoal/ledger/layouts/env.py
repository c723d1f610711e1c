"""What Alembic runs the revisions in: the given connection, whose transaction the caller begins and ends."""

from __future__ import annotations

from alembic import context

__all__ = ["run"]


def run() -> None:
    """Run the revisions that are due."""
    connection = context.config.attributes["connection"]
    if not connection.in_transaction():
        raise RuntimeError("the ledger is upgraded inside a transaction of the caller")
    context.configure(connection=connection, version_table="layout", transactional_ddl=True)
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # the name that Alembic loads it by
    run()
