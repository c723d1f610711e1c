"""What recipes are compared on: one table, or linked ones, as files that every worker reads.

Identifiers are never released, so they don't leave the process that compares. Of linked tables the persons are
measured, as in any release of them; their events are exchanged within the groups of persons.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from shoal.conform import prepare
from shoal.errors import FileError
from shoal.frame import Frame, enter, series
from shoal.linked import Collection
from shoal.recipe import Recipe
from shoal.schema import LinkedSchema, Schema

__all__ = ["Data"]

_SCHEMA = "schema.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Tables by name and their schema, without identifiers; one table has the name ``table``.

    Parameters
    ----------
    tables
        The tables.
    schema
        The role of every column.
    """

    tables: Mapping[str, pl.DataFrame] = field(repr=False)
    schema: Schema | LinkedSchema

    @classmethod
    def of(cls, given: Any, schema: Schema | LinkedSchema, recipes: Sequence[Recipe]) -> Data:
        """Hold what was given to its schema, once; synthesizers have rules of their own for missing numbers."""
        if isinstance(schema, LinkedSchema):
            Collection.of(given, schema)
            nameless = {table.name: _nameless(table.columns, but=table.birth) for table in schema.tables}
            kept = {t.name: _only(enter(given[t.name]), nameless[t.name], t.own_keys) for t in schema.tables}
            parts = (replace(table, columns=nameless[table.name]) for table in schema.tables)
            return cls(tables=kept, schema=LinkedSchema(tuple(parts)))
        if any(recipe.needs_prepared for recipe in recipes):
            prepare(given, schema)
        roles = _nameless(schema)
        return cls(tables={"table": _only(enter(given), roles)}, schema=roles)

    @property
    def whole(self) -> Any:
        """What a recipe is run on: the table, or all tables by name."""
        return dict(self.tables) if isinstance(self.schema, LinkedSchema) else self.persons

    @property
    def persons(self) -> pl.DataFrame:
        """The table whose rows are protected."""
        return self.tables[self.schema.persons.name if isinstance(self.schema, LinkedSchema) else "table"]

    @property
    def roles(self) -> Schema:
        """What the columns of that table are."""
        return roles_of(self.schema)

    def write(self, folder: Path) -> str:
        """Write the tables for the workers; gives the digest of their content."""
        digest = hashlib.sha256()
        try:
            for i, table in enumerate(self.tables.values()):
                table.write_ipc(folder / _file(i), compression="uncompressed")
                with open(folder / _file(i), "rb") as content:
                    digest.update(hashlib.file_digest(content, "sha256").digest())
            words = {"names": list(self.tables), "schema": self.schema.to_dict()}
            (folder / _SCHEMA).write_text(json.dumps(words), encoding="utf-8")
        except (OSError, pl.exceptions.PolarsError) as error:
            got = (getattr(error, "strerror", "") or "").lower()
            raise FileError(str(folder), "the table for the workers can't be written there", got=got) from None
        return digest.hexdigest()

    @classmethod
    def read(cls, folder: Path) -> Data:
        """Read what `write` wrote."""
        words = json.loads((folder / _SCHEMA).read_text(encoding="utf-8"))
        kind: type[Schema] | type[LinkedSchema] = LinkedSchema if "tables" in words["schema"] else Schema
        tables = {name: pl.read_ipc(folder / _file(i)) for i, name in enumerate(words["names"])}
        return cls(tables=tables, schema=kind.from_dict(words["schema"]))


def roles_of(schema: Schema | LinkedSchema) -> Schema:
    """The roles of the rows that are protected."""
    return schema.persons.whole if isinstance(schema, LinkedSchema) else schema


def _file(i: int) -> str:
    return f"table-{i}.arrow" if i else "table.arrow"


def _only(frame: Frame, schema: Schema, keys: Sequence[str] = ()) -> pl.DataFrame:
    """The columns of the schema, and the keys of a linked table."""
    return pl.DataFrame([series(frame, name) for name in frame.columns if name in schema or name in keys])


def _nameless(schema: Schema, but: str | None = None) -> Schema:
    """The schema without identifiers, `but` one that others are held to."""
    kept = tuple(column for column in schema.columns if column.role != "identifier" or column.name == but)
    names = {column.name for column in kept}
    return Schema(kept, tuple(rule for rule in schema.rules if names.issuperset(rule.columns)))
