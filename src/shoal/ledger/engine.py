"""The door to the database: one that says "done" only when the disk has it.

SQLite runs in WAL mode with ``synchronous=FULL`` (a commit is on the disk when it returns) and takes its write lock at
the beginning of a transaction (``BEGIN IMMEDIATE``), so that two processes can't both read a balance and then both
spend it. PostgreSQL runs with ``synchronous_commit=on`` and row locks. Waiting is bounded in both: a database
that doesn't answer becomes a `LedgerError`, and the service says 503 instead of hanging. A server that is there and
says nothing (stopped, or cut off) can't be waited out from its own side; `Lines.cut` ends the wait from ours.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, Engine, Executable, create_engine, event
from sqlalchemy.dialects.sqlite import dialect as sqlite_dialect
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool

from shoal.errors import ParameterError, ShoalError

__all__ = ["Bulk", "LedgerError", "Lines", "file_of", "make_private", "open_engine", "reporting"]

_PATIENCE = 5.0  # seconds for a lock, a connection
_AGAIN = 0.0005  # seconds before a lock is tried again


class LedgerError(ShoalError):
    """The ledger's database can't be reached or doesn't answer; what it has committed stays committed.

    Examples
    --------
    >>> print(LedgerError("ledger", "the database must answer", got="OperationalError"))
    ledger: the database must answer; got OperationalError.
    """

    exit_code = 4


class Lines:
    """The connections of an engine, to be cut when a database does not answer."""

    def __init__(self, engine: Engine) -> None:
        self._open: weakref.WeakSet[Any] = weakref.WeakSet()
        event.listen(engine, "connect", lambda connection, _: self._add(connection))

    def _add(self, connection: Any) -> None:
        if hasattr(connection, "pgconn"):
            self._open.add(connection)

    def cut(self) -> None:
        """Shut every socket down: whoever waits at one gets an error now. What was committed stays committed."""
        for connection in list(self._open):
            with suppress(Exception):  # closed already
                line = socket.socket(fileno=os.dup(connection.pgconn.socket))
                line.shutdown(socket.SHUT_RDWR)
                line.close()


def open_engine(url: str, *, patience: float = _PATIENCE, keep: bool = True) -> Engine:
    """An engine for ``sqlite:///FILE`` or ``postgresql://...``; connects on first use.

    With `keep` off, the connection is closed after each use; nothing but the file is left beside a SQLite ledger.
    """
    place = _read_url(url)
    if place.get_backend_name() == "sqlite":
        return _sqlite(place, patience, keep)
    wait = max(int(patience * 1000), 100)
    limits = f"-c synchronous_commit=on -c lock_timeout={wait} -c statement_timeout={wait} -c timezone=UTC"
    options = {"options": limits, "connect_timeout": max(int(patience), 2), "application_name": "shoal"}
    place = place.set(drivername="postgresql+psycopg")
    if not keep:
        return create_engine(place, poolclass=NullPool, connect_args=options)
    return create_engine(place, pool_pre_ping=True, pool_timeout=patience, pool_size=4, connect_args=options)


def make_private(engine: Engine) -> None:
    """Make the file of a new SQLite ledger, readable by its owner only: it holds answers, and the key of their marks.

    SQLite gives its two companion files the same rights.
    """
    file = engine.url.database
    if engine.dialect.name == "sqlite" and file and not file.startswith("file:"):
        with suppress(OSError):  # it is there already, or it can't be made, which the database will say
            os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def file_of(engine: Engine) -> tuple[int, int] | None:
    """Which file a SQLite ledger is; none where it is gone, and for other databases.

    A file that was deleted or replaced can still be written by those who have it open: what they charge is lost when
    they end. So whoever writes looks first whether the file of that name is still theirs.
    """
    file = engine.url.database
    if engine.dialect.name != "sqlite" or not file or file.startswith("file:"):
        return None
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def reporting() -> Iterator[None]:
    """Turn what the database complains about into a `LedgerError` that quotes no value."""
    try:
        yield
    except (DBAPIError, PoolTimeout, SQLAlchemyError) as error:
        name = type(getattr(error, "orig", None) or error).__name__
        hint = "Is it running, reachable and writable? Nothing was answered; charges stand."
        raise LedgerError("ledger", "the database must answer", got=name, hint=hint) from None


def _read_url(url: str) -> URL:
    hint = "For example sqlite:///ledger.db or postgresql://user@host/name."
    try:
        place = make_url(url)
    except (ArgumentError, ValueError, TypeError):
        raise ParameterError("ledger", "must be a database URL", hint=hint) from None
    if place.get_backend_name() not in ("sqlite", "postgresql"):
        raise ParameterError("ledger", "must be SQLite or PostgreSQL", got=place.get_backend_name(), hint=hint)
    if place.get_backend_name() == "sqlite" and place.database in (None, "", ":memory:"):
        raise ParameterError("ledger", "must be a file: a ledger in memory forgets its charges", hint=hint)
    return place


def _sqlite(place: URL, patience: float, keep: bool) -> Engine:
    pool = {} if keep else {"poolclass": NullPool}
    engine = create_engine(place, connect_args={"timeout": patience, "check_same_thread": False}, **pool)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver's own transactions begin too late
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}").close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("writes", False):
            _take_turn(connection, patience)
        else:
            connection.exec_driver_sql("BEGIN")

    return engine


def _take_turn(connection: Connection, patience: float) -> None:
    """Take the write lock. SQLite itself would look again after up to 100 ms, and lose its turn to those who don't."""
    until = time.monotonic() + patience
    connection.exec_driver_sql("PRAGMA busy_timeout=0")
    while True:
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            break
        except OperationalError as error:
            busy = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_BUSY) & 0xFF == sqlite3.SQLITE_BUSY
            if not busy or time.monotonic() >= until:
                raise
            time.sleep(_AGAIN)
    connection.exec_driver_sql(f"PRAGMA busy_timeout={int(patience * 1000)}")


class Bulk:
    """A statement for many rows, handed to the driver as it is: a third of the time that SQLAlchemy takes for each."""

    def __init__(self, statement: Executable) -> None:
        self._statement = statement
        self._texts: dict[str, str] = {}

    def execute(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Run it for every row; each must name every value."""
        name = connection.dialect.name
        if name not in self._texts:
            dialect = sqlite_dialect(paramstyle="named") if name == "sqlite" else connection.dialect
            self._texts[name] = str(self._statement.compile(dialect=dialect))  # type: ignore[attr-defined]
        connection.exec_driver_sql(self._texts[name], list(rows))
