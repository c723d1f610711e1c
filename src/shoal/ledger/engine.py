"""The database of a ledger: connections that say "done" only when the disk has it, and how a ledger begins.

SQLite runs in WAL mode with ``synchronous=FULL`` (a commit is on the disk when it returns) and takes its write lock at
the beginning of a transaction (``BEGIN IMMEDIATE``), so that two processes can't both read a balance and then both
spend it. PostgreSQL runs with ``synchronous_commit=on`` and row locks. Waiting is bounded in both: a database
that doesn't answer becomes a `LedgerError`, and the service says 503 instead of hanging. A server that is there and
says nothing (stopped, or cut off) can't be waited out from its own side; `Lines.cut` ends the wait from ours.

A ledger begins with its tables, its guards, its name, and two secrets. The *secret* makes the marks of queries and lies
in the database. The *chain key* links the journal. It lies in the database too, unless the variable
``SHOAL_LEDGER_KEY`` names a file: then it is kept there (made with the ledger, readable by its owner only), and the
database holds a mark of it. A chain whose key is in the database shows damage and edits by hand; whoever reads the key
can forge it, and only a head noted elsewhere shows that.
"""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import sqlite3
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import NullPool

from shoal.errors import FileError, InputError, ParameterError, ShoalError
from shoal.files import atomic
from shoal.ledger.tables import GUARDS, HEAD, META, REVISION, TABLES

__all__ = [
    "LAYOUT",
    "Founded",
    "LedgerError",
    "Lines",
    "begin",
    "chain_key",
    "file_of",
    "founding_rows",
    "in_layout",
    "is_earlier",
    "lock_layout",
    "make_private",
    "no_answer",
    "open_engine",
    "read_founded",
    "read_layout",
    "read_meta",
    "reporting",
]

_PATIENCE = 5.0  # seconds for a lock, a connection
_AGAIN = 0.0005  # seconds before a lock is tried again
# Rows are looked up by their keys. PostgreSQL takes a new table for a small one, would read it whole, and keep that
# plan while the table grows.
_BY_KEY = "-c enable_seqscan=off -c jit=off"


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
    limits = f"-c synchronous_commit=on -c lock_timeout={wait} -c statement_timeout={wait} -c timezone=UTC {_BY_KEY}"
    options = {
        "options": limits,
        "connect_timeout": max(int(patience), 2),
        "application_name": "shoal",
        "client_encoding": "utf8",  # a database in SQL_ASCII would send bytes
    }
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
        raise no_answer(error) from None


def no_answer(error: Exception) -> LedgerError:
    """What the database complained about, without its words."""
    name = type(getattr(error, "orig", None) or error).__name__
    hint = "Is it running, reachable and writable? Nothing was answered; charges stand."
    return LedgerError("ledger", "the database must answer", got=name, hint=hint)


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
            _patiently(partial(connection.execute, f"PRAGMA {pragma}"), patience)

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("writes", False):
            _take_turn(connection, patience)
        else:
            _set_timeout(connection, int(patience * 1000))
            connection.exec_driver_sql("BEGIN")

    return engine


def _set_timeout(connection: Connection, milliseconds: int) -> None:
    """How long SQLite itself waits for a lock on this connection; nothing to do where it is so already."""
    if connection.info.get("busy_timeout") != milliseconds:
        connection.exec_driver_sql(f"PRAGMA busy_timeout={milliseconds}")
        connection.info["busy_timeout"] = milliseconds


def _take_turn(connection: Connection, patience: float) -> None:
    """Take the write lock. SQLite itself would look again after up to 100 ms, and lose its turn to those who don't."""
    _set_timeout(connection, 0)
    _patiently(lambda: connection.exec_driver_sql("BEGIN IMMEDIATE"), patience)


def _patiently(action: Callable[[], object], patience: float) -> None:
    """Try again while the file is locked: SQLite refuses a change of its journal at once, whatever its own timeout."""
    until = time.monotonic() + patience
    while True:
        try:
            action()
            return
        except (OperationalError, sqlite3.OperationalError) as error:
            code = getattr(getattr(error, "orig", error), "sqlite_errorcode", sqlite3.SQLITE_BUSY)
            if code & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(_AGAIN)


LAYOUT = "6"  # the last revision of `shoal.ledger.layouts`
_LOCK = 0x5E0A1  # the number of PostgreSQL's advisory lock for making the tables
_KEY_FILE = "SHOAL_LEDGER_KEY"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Founded:
    """The name of a ledger, its secret, the key of its chain, and whether that key is kept outside the database."""

    name: str
    secret: bytes
    key: bytes
    key_outside: bool


def begin(engine: Engine) -> Founded:
    """Make the tables, once, though several processes start together."""
    make_private(engine)
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        lock_layout(connection)
        if not inspect(connection).has_table("meta"):
            _make_tables(connection)
        return in_layout(connection)


def lock_layout(connection: Connection) -> None:
    """Keep others from making or changing the tables until the transaction ends; on SQLite, who writes is alone."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))


def _make_tables(connection: Connection) -> None:
    """All tables, empty, in a database without them."""
    TABLES.create_all(connection)
    for statement in GUARDS[connection.dialect.name].values():
        connection.exec_driver_sql(statement)
    rows = founding_rows(secrets.token_hex(32))
    connection.execute(insert(META), [{"name": word, "value": value} for word, value in rows.items()])
    connection.execute(insert(HEAD), [{"id": 1, "number": 0, "link": rows["name"], "pulse": 0}])
    connection.execute(insert(REVISION), [{"version_num": LAYOUT}])


def founding_rows(secret: str) -> dict[str, str]:
    """What ``meta`` says of a new ledger: its name, its secret, and the mark of its key where that is kept outside."""
    rows = {"name": secrets.token_hex(8), "secret": secret}
    if file := os.environ.get(_KEY_FILE):
        rows["key_mark"] = _mark(_make_key(Path(file)))
    return rows


def read_founded(engine: Engine) -> Founded:
    """What a ledger that is there was founded with; an InputError where there is none."""
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    empty = file is not None and not (Path(file).exists() and Path(file).stat().st_size)  # SQLite would write to it
    if empty or not inspect(engine).has_table("meta"):
        engine.dispose()
        hint = "Check the URL, or create a ledger with `shoal ledger create`."
        raise InputError("ledger", "there is no ledger in that database", hint=hint)
    with engine.connect() as connection, connection.begin():
        return in_layout(connection)


def read_meta(connection: Connection) -> dict[str, str]:
    """What ``meta`` says."""
    return {row.name: row.value for row in connection.execute(select(META))}


def read_layout(connection: Connection, meta: dict[str, str]) -> str:
    """The layout of the tables. Those before the sixth are named in ``meta``, later ones in Alembic's own table."""
    if "secret" not in meta:
        raise InputError("ledger", "there is no ledger in that database")
    return meta.get("format") or str(connection.execute(select(REVISION.c.version_num)).scalar())


def is_earlier(layout: str) -> bool:
    """Whether `shoal ledger migrate` brings that layout up to date.

    Examples
    --------
    >>> is_earlier("1"), is_earlier(LAYOUT), is_earlier("unknown")
    (True, False, False)
    """
    return layout.isdecimal() and int(layout) < int(LAYOUT)


def in_layout(connection: Connection) -> Founded:
    """What the ledger was founded with; an InputError where it does not have the layout of this version."""
    meta = read_meta(connection)
    layout = read_layout(connection, meta)
    if is_earlier(layout):
        hint = "Run `shoal ledger migrate --ledger URL` to upgrade it; nothing is lost."
        raise InputError("ledger", "must have the layout of this version", got=f"layout {layout}", hint=hint)
    if layout != LAYOUT:
        raise InputError("ledger", "must have a layout supported by this version", got=repr(layout)[:20])
    secret, outside = bytes.fromhex(meta["secret"]), "key_mark" in meta
    return Founded(name=meta["name"], secret=secret, key=chain_key(meta), key_outside=outside)


def chain_key(meta: dict[str, str]) -> bytes:
    """The key of the chain of the ledger whose ``meta`` that is."""
    mark = meta.get("key_mark")
    return hmac.digest(bytes.fromhex(meta["secret"]), b"chain", "sha256") if mark is None else _read_key(mark)


def _make_key(file: Path) -> bytes:
    if not file.exists():
        with atomic.reporting(file):
            handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.write(handle, secrets.token_hex(32).encode())
            os.fsync(handle)
            os.close(handle)
    return _key_in(file)


def _read_key(mark: str) -> bytes:
    file = os.environ.get(_KEY_FILE)
    if not file:
        raise ParameterError(_KEY_FILE, "must name the file with the key of this ledger's chain")
    key = _key_in(Path(file))
    if not hmac.compare_digest(_mark(key), mark):
        raise FileError(file, "must hold the key of this ledger's chain", hint="It holds another one.")
    return key


def _key_in(file: Path) -> bytes:
    with atomic.reporting(file):
        words = file.read_text(encoding="ascii").strip()
    try:
        return bytes.fromhex(words)
    except ValueError:
        raise FileError(str(file), "must hold the key of a ledger's chain") from None


def _mark(key: bytes) -> str:
    return hmac.digest(key, b"mark", "sha256").hex()
