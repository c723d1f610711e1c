"""Tables out of and into databases: SQLite and PostgreSQL through SQLAlchemy, DuckDB files through DuckDB.

A query runs in a transaction of its own that is never committed; files are opened read-only. A table is written in
one transaction: all of its rows are there, or it is as it was. No message shows a password or a cell; what a database
says is passed on only where it speaks of the query (no such table), never where it could quote data.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import polars as pl
import sqlalchemy as sa
from sqlalchemy import text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from shoal.errors import FileError, InputError, ParameterError
from shoal.extras import need
from shoal.files.column_types import in_seconds
from shoal.files.source import DUCKDB, Source, check_names
from shoal.files.time_limit import DEFAULT, hang_up, limited

__all__ = ["read_query", "table_names", "write_rows", "write_tables"]

_BATCH = 10_000
_PATIENCE = 15  # seconds to wait for a connection, or for a lock of somebody else
_DEAD = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 6, "tcp_user_timeout": 90_000}


def read_query(database: str, sql: str, *, timeout: float | None = None) -> Source:
    """The rows that the query `sql` gives, with the database's name (without its password) as their path.

    A database that takes longer than `timeout` seconds (None: 15 minutes) is given up, with an error.
    """
    if timeout is not None and not timeout > 0:
        raise ParameterError("--timeout", "must be a number of seconds above 0", got=f"{timeout:g}")
    url = _url(database)
    owner, limit = _shown(url), timeout or DEFAULT
    names, columns = (_duckdb_rows if _is_duckdb(url) else _sql_rows)(url, owner, sql, limit)
    check_names(owner, names)
    made = [_series(owner, name, values) for name, values in zip(names, columns, strict=True)]
    frame = in_seconds(
        pl.DataFrame([_dated(column) for column in made] if url.get_backend_name() == "sqlite" else made)
    )
    if not len(frame):
        raise InputError(owner, "query must return at least one row", got="none", hint="Check its conditions.")
    digest = hashlib.sha256(frame.write_csv().encode()).hexdigest()
    return Source(frame=frame, path=owner, format="sql", labels=None, sha256=digest, sql=sql, single=False)


def write_rows(frame: pl.DataFrame, database: str, table: str, *, replace: bool = False) -> None:
    """Write `frame` as the table `table` in one transaction: whole or not at all.

    Parameters
    ----------
    replace
        Whether a table of that name may be replaced; if not, it is an error.
    """
    write_tables({table: frame}, database, replace=replace)


def write_tables(frames: Mapping[str, pl.DataFrame], database: str, *, replace: bool = False) -> None:
    """Write tables by name in one transaction: all of them or none."""
    for table in frames:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", table):
            rule = "must be a plain name: letters, digits and underscores"
            raise ParameterError("--table", rule, got=repr(table)[:80])
    url = _url(database)
    (_write_duckdb if _is_duckdb(url) else _write_sql)(frames, url, _shown(url), replace)


def table_names(database: str) -> list[str]:
    """The tables of a database, in order of their names."""
    url = _url(database)
    if _is_duckdb(url):
        listed = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1"
        return [str(name) for name in _duckdb_rows(url, _shown(url), listed, DEFAULT)[1][0]]
    with _engine(url, _shown(url), read_only=True) as engine, _complaining(_shown(url)), engine.connect() as connection:
        return sorted(sa.inspect(connection).get_table_names())


# Where the database is


def _url(database: str) -> Any:
    if "://" not in database:
        driver = "duckdb" if database.lower().endswith(DUCKDB) else "sqlite"
        return URL.create(driver, database=database)
    try:
        url = make_url(database)
    except ArgumentError:
        raise ParameterError("--database", "must be a file or a URL", hint=_EXAMPLES) from None
    if "@" in (url.host or ""):
        hint = "Write an @ in the user's name or password as %40."
        raise ParameterError("--database", "must have one @, before the host", hint=hint)
    if url.drivername in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() not in ("sqlite", "postgresql", "duckdb"):
        got = repr(url.get_backend_name())
        raise ParameterError("--database", "must be SQLite, PostgreSQL or DuckDB", got=got, hint=_EXAMPLES)
    return url


_EXAMPLES = "For example: clinic.sqlite, clinic.duckdb, postgresql://user@host/name."


def _is_duckdb(url: Any) -> bool:
    return bool(url.get_backend_name() == "duckdb")


def _shown(url: Any) -> str:
    """The database as it may be shown: a file by its path, a server without the password."""
    if url.host is None and url.database:
        return str(url.database)
    return str(url.set(drivername=url.get_backend_name()).render_as_string(hide_password=True))


def _existing(url: Any, owner: str) -> Path:
    file = Path(url.database or "")
    if not file.is_file():
        raise FileError(owner, "must be an accessible database file", got="no such file", hint="Check the path.")
    return file


# Reading


def _sql_rows(url: Any, owner: str, sql: str, limit: float) -> tuple[list[str], list[tuple[Any, ...]]]:
    with (
        _engine(url, owner, read_only=True) as engine,
        _complaining(owner),
        engine.connect() as connection,
        limited(owner, limit, _breaker(connection)),
    ):
        _limit_locks(connection)
        result = connection.execute(text(sql.replace(":", r"\:")))
        if not result.returns_rows:
            raise _no_rows(owner)
        names, rows = list(result.keys()), result.fetchall()
    return names, list(zip(*rows, strict=True)) if rows else [()] * len(names)


def _breaker(connection: Any) -> Callable[[], None]:
    """What ends a query that takes too long."""
    driver = connection.connection.driver_connection
    return driver.interrupt if connection.dialect.name == "sqlite" else partial(hang_up, driver)


def _limit_locks(connection: Any) -> None:
    """Of PostgreSQL: wait for somebody else's lock no longer than for a connection."""
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_PATIENCE}s'")


def _duckdb_rows(url: Any, owner: str, sql: str, limit: float) -> tuple[list[str], list[Any]]:
    with (
        _duckdb(url, owner, read_only=True) as connection,
        _complaining(owner),
        limited(owner, limit, connection.interrupt),
    ):
        kinds = {statement.type.name for statement in connection.extract_statements(sql)}
        result = None if kinds & _CHANGING else connection.sql(sql)
        if result is None:
            raise _no_rows(owner)
        table = result.to_arrow_table()
    return list(table.column_names), [pl.Series("", column) for column in table.columns]


_CHANGING = {"INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "ALTER", "MERGE_INTO"}


def _no_rows(owner: str) -> InputError:
    return InputError(owner, "query must return rows", hint="Give a SELECT; Shoal changes nothing while it reads.")


def _series(owner: str, name: str, values: Sequence[Any] | pl.Series) -> pl.Series:
    """A column of one plain type: exact decimals become floats, identifiers of the database texts."""
    try:
        column = values.alias(name) if isinstance(values, pl.Series) else pl.Series(name, list(map(_plain, values)))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise _mixed(owner, name) from None
    if column.dtype.is_decimal():
        return column.cast(pl.Float64)
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        raise _mixed(owner, name)
    return column.cast(pl.String) if column.dtype in (pl.Null, pl.Categorical, pl.Enum) else column


def _dated(column: pl.Series) -> pl.Series:
    """A column of ISO texts as dates, moments or times of day: SQLite has no type for them, and keeps them as texts."""
    known = column.drop_nulls()
    if column.dtype != pl.String or not len(known):
        return column
    if known.str.contains(r"^\d{4}-\d{2}-\d{2}$").all():
        made = column.str.to_date("%Y-%m-%d", strict=False)
    elif known.str.contains(r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d+)?$").all():
        made = column.str.replace("T", " ").str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False)
    elif known.str.contains(r"^\d{2}:\d{2}:\d{2}(\.\d+)?$").all():
        made = column.str.to_time("%H:%M:%S%.f", strict=False)
    else:
        return column
    return made if made.null_count() == column.null_count() else column


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return str(value) if isinstance(value, UUID) else value


def _mixed(owner: str, name: str) -> InputError:
    return InputError(
        owner,
        f"column '{name}' must hold numbers, text, dates or true/false, and only one of these",
        hint="Convert it in the query: CAST(... AS ...).",
    )


# Writing


def _write_sql(frames: Mapping[str, pl.DataFrame], url: Any, owner: str, replace: bool) -> None:
    with _engine(url, owner, read_only=False) as engine, _complaining(owner), engine.begin() as connection:
        _limit_locks(connection)
        for table, frame in frames.items():
            _write_sql_table(frame, connection, owner, table, replace)


def _write_sql_table(frame: pl.DataFrame, connection: Any, owner: str, table: str, replace: bool) -> None:
    columns = [sa.Column(name, _sql_type(dtype)) for name, dtype in frame.schema.items()]
    target = sa.Table(table, sa.MetaData(), *columns)
    if sa.inspect(connection).has_table(table):
        _refuse_table(owner, table, replace)
        connection.execute(sa.schema.DropTable(target))
    connection.execute(sa.schema.CreateTable(target))
    for part in frame.iter_slices(_BATCH):
        connection.execute(sa.insert(target), part.to_dicts())


def _write_duckdb(frames: Mapping[str, pl.DataFrame], url: Any, owner: str, replace: bool) -> None:
    named = "SELECT 1 FROM information_schema.tables WHERE table_name = ?"
    with _duckdb(url, owner, read_only=False) as connection, _complaining(owner):
        for table in frames:
            if connection.execute(named, [table]).fetchall():
                _refuse_table(owner, table, replace)
        connection.execute("BEGIN")
        for table, frame in frames.items():
            connection.register("shoal_rows", frame.to_arrow())
            connection.execute(f'CREATE OR REPLACE TABLE "{table}" AS SELECT * FROM shoal_rows')
        connection.execute("COMMIT")


def _refuse_table(owner: str, table: str, replace: bool) -> None:
    if not replace:
        hint = "Choose another table, or use --overwrite."
        raise InputError(owner, f"already has a table '{table}'", hint=hint)


def _sql_type(dtype: pl.DataType) -> Any:
    for known, kind in (
        (dtype.is_integer(), sa.BigInteger),
        (dtype.is_numeric(), sa.Double),
        (dtype == pl.Boolean, sa.Boolean),
        (dtype == pl.Date, sa.Date),
        (dtype == pl.Time, sa.Time),
        (dtype == pl.Datetime, partial(sa.DateTime, timezone=getattr(dtype, "time_zone", None) is not None)),
    ):
        if known:
            return kind()
    return sa.Text()


# Connections


@contextmanager
def _engine(url: Any, owner: str, *, read_only: bool) -> Iterator[Any]:
    local = url.get_backend_name() == "sqlite"
    if local and read_only:
        url = url.set(database=f"{_existing(url, owner).resolve().as_uri()}", query={"mode": "ro", "uri": "true"})
    patience = {"timeout": _PATIENCE} if local else {"connect_timeout": _PATIENCE, **_DEAD}
    if not local:
        need("psycopg", owner, error=FileError)
    engine = sa.create_engine(url, connect_args=patience)
    if local:
        _begin_at_once(engine)
    elif read_only:
        engine = engine.execution_options(postgresql_readonly=True)
    try:
        yield engine
    finally:
        engine.dispose()


def _begin_at_once(engine: Any) -> None:
    """Python's driver begins a transaction only at the first change of rows, so that a CREATE would outlive it."""

    @sa.event.listens_for(engine, "connect")
    def _(connection: Any, record: Any) -> None:
        connection.isolation_level = None

    @sa.event.listens_for(engine, "begin")
    def _(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN")


@contextmanager
def _duckdb(url: Any, owner: str, *, read_only: bool) -> Iterator[Any]:
    for module in ("duckdb", "pyarrow"):
        need(module, owner, extra="databases", error=FileError)
    import duckdb

    file = _existing(url, owner) if read_only else Path(url.database or "")
    try:
        connection = duckdb.connect(str(file), read_only=read_only)
    except duckdb.Error:
        hint = "It may be damaged, or in use by another program."
        raise FileError(owner, "must be a DuckDB file that can be opened", hint=hint) from None
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def _complaining(owner: str) -> Iterator[None]:
    """Turn what a database says into an error without a cell or a password."""
    try:
        yield
    except (InputError, ParameterError, FileError):
        raise
    except Exception as error:  # the drivers' messages may quote cells
        origin = getattr(error, "orig", error)
        message = _about_the_query(origin)
        if message:
            raise InputError(owner, "query must be valid in this database", got=message) from None
        kind = type(origin).__name__
        if kind == "LockNotAvailable" or _is_locked(origin):
            hint = "Wait until whoever changes it is done, and try again; nothing was changed."
            raise FileError(owner, f"must not be locked by somebody else for {_PATIENCE} seconds", hint=hint) from None
        if _changes(origin):
            raise _no_rows(owner) from None
        if _is_out_of_reach(error, origin):
            hint = "Check the address, name and permissions, or try again; nothing was changed."
            reason = _about_the_connection(origin)
            raise FileError(owner, f"database must be accessible ({kind})", got=reason, hint=hint) from None
        hint = "Try the query in the database's own client; nothing was changed."
        raise InputError(owner, f"database must complete the query ({kind})", hint=hint) from None


def _is_locked(origin: BaseException) -> bool:
    return getattr(origin, "sqlite_errorname", "") in ("SQLITE_BUSY", "SQLITE_LOCKED")


def _changes(origin: BaseException) -> bool:
    """Whether a query wanted to change a database that is only read."""
    return getattr(origin, "sqlite_errorname", "") == "SQLITE_READONLY" or getattr(origin, "sqlstate", "") == "25006"


def _about_the_query(origin: BaseException) -> str:
    """The database's own words, where they speak of the query's names and grammar only."""
    safe = ("CatalogException", "BinderException", "ParserException")
    message = str(origin).splitlines()[0] if str(origin) else ""
    if type(origin).__name__ in safe or (getattr(origin, "sqlstate", None) or "").startswith("42"):
        return message
    grammar = type(origin).__module__ == "sqlite3" and re.match(r"no such|near |ambiguous|incomplete", message)
    return message if grammar else ""


def _about_the_connection(origin: BaseException) -> str:
    """Why a server could not be reached, in its own words: a refused password, no such database, no such host.

    Nothing was asked yet, so that they can quote no cell; the client library never quotes a password.
    """
    message = str(origin).splitlines()[0] if str(origin) else ""
    found = re.match(r"connection failed: .*? failed: (?:FATAL: +)?(.+)|(failed to resolve host .+)", message)
    return (found[1] or found[2]) if found else ""


def _is_out_of_reach(error: BaseException, origin: BaseException) -> bool:
    gone = getattr(error, "connection_invalidated", False)
    return bool(gone) or type(origin).__name__ in ("OperationalError", "InterfaceError", "IOException", "DatabaseError")
