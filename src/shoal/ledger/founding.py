"""How a ledger begins: its tables, its guards, its name, and its two secrets.

The *secret* makes the marks of queries and lies in the database. The *chain key* links the journal. It lies in the
database too, unless the variable ``SHOAL_LEDGER_KEY`` names a file: then it is kept there (made with the ledger,
readable by its owner only), and the database holds a mark of it. A chain whose key is in the database shows damage and
edits by hand; whoever reads the key can forge it, and only a head noted elsewhere shows that.
"""

from __future__ import annotations

import hmac
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, Engine, insert, inspect, select, text

from shoal.errors import FileError, InputError, ParameterError
from shoal.ledger.engine import make_private
from shoal.ledger.tables import GUARDS, HEAD, META, TABLES

__all__ = ["FORMAT", "Founded", "begin", "make_tables", "read_founded"]

FORMAT = "2"
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
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        if not inspect(connection).has_table("meta"):
            make_tables(connection, secrets.token_hex(32))
        return _founded(_meta(connection))


def make_tables(connection: Connection, secret: str) -> Founded:
    """All tables, empty, in a database without them."""
    TABLES.create_all(connection)
    for statement in GUARDS[connection.dialect.name].values():
        connection.exec_driver_sql(statement)
    name = secrets.token_hex(8)
    rows = {"format": FORMAT, "name": name, "secret": secret}
    if file := os.environ.get(_KEY_FILE):
        rows["key_mark"] = _mark(_make_key(Path(file)))
    connection.execute(insert(META), [{"name": word, "value": value} for word, value in rows.items()])
    connection.execute(insert(HEAD), [{"id": 1, "number": 0, "link": name, "pulse": 0}])
    return _founded(_meta(connection))


def read_founded(engine: Engine) -> Founded:
    """What a ledger that is there was founded with; an InputError where there is none."""
    file = engine.url.database if engine.dialect.name == "sqlite" else None
    empty = file is not None and not (Path(file).exists() and Path(file).stat().st_size)  # SQLite would write to it
    if empty or not inspect(engine).has_table("meta"):
        engine.dispose()
        hint = "Check the URL, or create a ledger with `shoal ledger create`."
        raise InputError("ledger", "there is no ledger in that database", hint=hint)
    with engine.connect() as connection, connection.begin():
        return _founded(_meta(connection))


def _meta(connection: Connection) -> dict[str, str]:
    return {row.name: row.value for row in connection.execute(select(META))}


def _founded(meta: dict[str, str]) -> Founded:
    if meta.get("format") == "1":
        hint = "Run `shoal ledger migrate --ledger URL` to upgrade it; nothing is lost."
        raise InputError("ledger", "must have the layout of this version", got="layout 1", hint=hint)
    if meta.get("format") != FORMAT or "secret" not in meta:
        raise InputError("ledger", "must have a layout supported by this version", got=repr(meta.get("format"))[:20])
    secret = bytes.fromhex(meta["secret"])
    mark = meta.get("key_mark")
    key = hmac.digest(secret, b"chain", "sha256") if mark is None else _read_key(mark)
    return Founded(name=meta["name"], secret=secret, key=key, key_outside=mark is not None)


def _make_key(file: Path) -> bytes:
    from shoal.files.atomic import reporting

    if not file.exists():
        with reporting(file):
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
    from shoal.files.atomic import reporting

    with reporting(file):
        words = file.read_text(encoding="ascii").strip()
    try:
        return bytes.fromhex(words)
    except ValueError:
        raise FileError(str(file), "must hold the key of a ledger's chain") from None


def _mark(key: bytes) -> str:
    return hmac.digest(key, b"mark", "sha256").hex()
