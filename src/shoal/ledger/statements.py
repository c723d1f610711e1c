"""Statements over many rows at once: the rows go to the database as one JSON text and come back as one.

A driver that is handed rows one by one gives Python's lock up and takes it again for each of them, and waits its turn
behind the threads that answer clients. One text is one call, and the database takes it apart without the lock.
PostgreSQL gets the statements of a step in one round trip.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection

from shoal.ledger.engine import no_answer

__all__ = ["Statement", "Step", "Type", "adding", "insertion", "locking", "lookup", "run"]

Type: TypeAlias = Literal["bigint", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One statement in both dialects; a reading one gives one JSON text."""

    sqlite: str
    postgresql: str


Step: TypeAlias = tuple[Statement, Any]
"""A statement and what it is about: a list, sent as JSON, or None where it takes nothing."""


def insertion(table: str, columns: Mapping[str, Type], *, keep_first: bool = False) -> Statement:
    """Write rows (objects that name every column); with `keep_first`, those whose key is there are left out."""
    names, given = ", ".join(columns), _given(columns)
    end = " ON CONFLICT DO NOTHING" if keep_first else ""
    return Statement(
        sqlite=f"INSERT INTO {table} ({names}) {given.sqlite} WHERE true{end}",
        postgresql=f"INSERT INTO {table} ({names}) {given.postgresql}{end}",
    )


def adding(table: str, columns: Sequence[str]) -> Statement:
    """Add to columns of rows; given are objects with the row's ``id`` and what is ``added``."""
    given = _given({"id": "bigint", "added": "bigint"})
    sums = ", ".join(f"{name} = {name} + given.added" for name in columns)
    start, end = f"UPDATE {table} SET {sums} FROM (", f") AS given WHERE {table}.id = given.id"
    return Statement(sqlite=f"{start}{given.sqlite}{end}", postgresql=f"{start}{given.postgresql}{end}")


def lookup(table: str, columns: Sequence[str], key: str, type_: Type, *, lock: bool = False) -> Statement:
    """The named columns of the rows whose key is in a list; in PostgreSQL locked where that is asked for."""
    names = ", ".join(columns)
    end = f" ORDER BY {key}{' FOR UPDATE' if lock else ''}"
    rows = f"SELECT {names} FROM {table} WHERE {key}"
    plain = ", ".join(name.rpartition(".")[2] for name in columns)
    return Statement(
        sqlite=f"SELECT json_group_array(json_array({plain})) FROM ({rows} IN (SELECT value FROM json_each(?)))",
        postgresql=f"SELECT json_agg(json_build_array({plain}))::text FROM "
        f"({rows} = ANY(ARRAY(SELECT json_array_elements_text(%s::json))::{type_}[]){end}) AS found",
    )


def locking(table: str, columns: Sequence[str]) -> Statement:
    """The named columns of the only row of a table, locked."""
    names = ", ".join(columns)
    return Statement(
        sqlite=f"SELECT json_array({names}) FROM {table}",
        postgresql=f"SELECT json_build_array({names})::text FROM {table} FOR UPDATE",
    )


def run(connection: Connection, steps: Sequence[Step]) -> list[Any]:
    """Run statements in their order inside the transaction; what each one found, decoded, or an empty list."""
    line, dialect = connection.connection.driver_connection, connection.dialect
    assert line is not None
    try:
        with line.pipeline() if dialect.name == "postgresql" else nullcontext():
            cursors = [line.execute(getattr(words, dialect.name), _arguments(given)) for words, given in steps]
        texts = [cursor.fetchone()[0] if cursor.description else None for cursor in cursors]
    except dialect.loaded_dbapi.Error as error:
        raise no_answer(error) from None
    return [json.loads(text) if text else [] for text in texts]


def _arguments(given: Any) -> tuple[str, ...]:
    return () if given is None else (json.dumps(given, ensure_ascii=False, separators=(",", ":")),)


def _given(columns: Mapping[str, Type]) -> Statement:
    parts = ", ".join(f"json_extract(value, '$.{name}') AS {name}" for name in columns)
    types = ", ".join(f"{name} {type_}" for name, type_ in columns.items())
    return Statement(
        sqlite=f"SELECT {parts} FROM json_each(?)",
        postgresql=f"SELECT {', '.join(columns)} FROM json_to_recordset(%s::json) AS rows({types})",
    )
