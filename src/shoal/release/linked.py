"""Linked tables in a release: written beside the persons, named in the manifest, and checked on the files, joined.

Each table of events lies in a file of its name. Checked on what was written, by who releases and by who verifies:
keys are unique, every event belongs to a row that is there, rows and columns are as the manifest says, and the claims
about m known events hold on the joined view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.errors import GuaranteeError, InputError, ShoalError
from shoal.files import Source, read_source, read_table, sha256, write_table
from shoal.files.linked import LinkedSource, read_linked
from shoal.frame import enter
from shoal.linked import Collection, bags_of, candidates, k_of
from shoal.release.folders import is_linked
from shoal.risk.class_sizes import table_classes
from shoal.schema import LinkedSchema, LinkedTable, Schema

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = ["WrittenTables", "linked_files", "read_input", "readable", "require_linked", "table_words", "write_linked"]

JOINT = ("k^m-anonymity", "(k, k^m)-anonymity")
"""Claims that are counted on the joined view."""


def linked_files(words: Mapping[str, Any]) -> dict[str, str]:
    """The file of each table of events that a manifest names; names that no such file may have are left out."""
    tables = words.get("tables")
    if not isinstance(tables, dict):
        return {}
    named = {name: table.get("file") for name, table in tables.items() if isinstance(table, dict)}
    return {name: file for name, file in named.items() if isinstance(file, str) and is_linked(name, file)}


def write_linked(release: Release, persons: Path) -> None:
    """Write the tables of events beside the table of persons, in its format."""
    for name, frame in _tables(release).items():
        write_table(frame, persons.with_name(f"{name}{persons.suffix}"))


def table_words(release: Release, persons: Path) -> dict[str, Any]:
    """What the manifest says of the tables: where they lie, how they hang together, and what their columns are."""
    if release.linked is None:
        return {}
    schema = release.linked.schema
    words: dict[str, Any] = {schema.persons.name: {"file": persons.name, "key": schema.persons.key}}
    for table in schema.events:
        file, frame = persons.with_name(f"{table.name}{persons.suffix}"), release.linked.tables[table.name]
        words[table.name] = {
            "file": file.name,
            "rows": len(frame),
            "sha256": sha256(file),
            **{name: value for name, value in _links(table).items() if value is not None},
            "columns": {c.name: {"role": c.role} for c in table.columns.columns if c.name in frame.columns},
        }
    return words


def _links(table: LinkedTable) -> dict[str, str | None]:
    return {"key": table.key, "parent": table.parent, "link": table.link}


def _tables(release: Release) -> Mapping[str, pl.DataFrame]:
    return {} if release.linked is None else release.linked.tables


def require_linked(release: Release, persons: Path) -> None:
    """Read the written tables back; a link that leads nowhere or a claim that doesn't hold is a GuaranteeError."""
    if release.linked is None:
        return
    written = WrittenTables(schema=release.linked.schema.released, folder=persons.parent, suffix=persons.suffix)
    for fault in written.faults({name: len(frame) for name, frame in release.linked.tables.items()}):
        raise GuaranteeError("written tables", fault, hint="Nothing was released.")
    for claim in release.claims:
        if claim.kind in JOINT:
            classes = None if release.recipe.collapses else release.labels[release.source_rows]
            found = written.k(claim.known or 0, with_quasi=claim.kind == JOINT[1], quasi=release.schema, groups=classes)
            if found < claim.value:
                raise GuaranteeError(
                    "written tables", f"must be {claim.value:g}-anonymous when joined", hint="Nothing was released."
                )


class WrittenTables:
    """The tables of a written release, as a stranger reads them."""

    def __init__(self, *, schema: LinkedSchema, folder: Path, suffix: str) -> None:
        self.schema, self.folder, self.suffix = schema, folder, suffix
        self._collection: Collection | None = None

    @classmethod
    def of_manifest(cls, folder: Path, words: Mapping[str, Any]) -> WrittenTables:
        """The tables that a manifest describes; an InputError where it can't be read so."""
        tables = words["tables"]
        described = {
            name: {
                **{entry: table[entry] for entry in ("key", "parent", "link") if entry in table},
                "columns": table["columns"] if "columns" in table else _columns(words, table.get("key")),
            }
            for name, table in tables.items()
        }
        root = next(table for table in tables.values() if "parent" not in table)
        suffix = Path(root["file"]).suffix
        return cls(schema=LinkedSchema.from_dict({"tables": described}), folder=folder, suffix=suffix)

    def faults(self, rows: Mapping[str, int]) -> Iterator[str]:
        """What is wrong with the links and the numbers of rows."""
        try:
            collection = self.collection()
        except InputError as error:
            yield f"must hang together ({error.rule})"
            return
        for name, n in rows.items():
            if len(collection.tables[name]) != n:
                yield f"table '{name}' must have the rows that were released"

    def collection(self) -> Collection:
        """The tables, read and held to their links."""
        if self._collection is None:
            files = {table.name: self.folder / f"{table.name}{self.suffix}" for table in self.schema.tables}
            frames = {name: read_table(file, text=self._texts(name), codes=None) for name, file in files.items()}
            self._collection = Collection.of(frames, self.schema)
        return self._collection

    def _texts(self, name: str) -> list[str]:
        """Keys are read as texts on both ends of a link, whatever they look like."""
        if self.suffix not in (".csv", ".tsv"):
            return []
        table = self.schema[name]
        return [column for column in (table.key, table.link) if column is not None]

    def k(self, m: int, *, with_quasi: bool, quasi: Schema, groups: IntArray | None = None) -> int:
        """k_m on the joined view: within classes of quasi-identifiers (or `groups`), or among everybody."""
        collection = self.collection()
        persons = collection.tables[self.schema.persons.name]
        if not with_quasi:
            classes = np.zeros(len(persons), dtype=np.int64)
        elif groups is not None:
            classes = groups
        else:
            classes = table_classes(enter(persons), quasi).labels
        c = collection
        bags = bags_of(c.schema, c.tables, c.parents, c.persons, classes)
        return k_of(candidates(bags, m), bags)


def _columns(words: Mapping[str, Any], key: str | None) -> dict[str, Any]:
    """The columns of the persons, from the manifest's own entry."""
    role = {"pseudonym": "identifier"}
    made = {}
    for name, column in words["columns"].items():
        if name != key:
            pseudonym = {"pseudonym": True} if column["role"] == "pseudonym" else {}
            made[name] = {"role": role.get(column["role"], column["role"]), **pseudonym}
    return made


def readable(folder: Path, words: Mapping[str, Any]) -> WrittenTables | None:
    """The tables of a manifest, or None where they can't be read as it says."""
    try:
        found = WrittenTables.of_manifest(folder, words)
        found.collection()
    except (ShoalError, KeyError, TypeError, AttributeError, StopIteration):
        return None
    return found


def read_input(path: str | Path, schema: Schema | LinkedSchema, **reading: Any) -> Source | LinkedSource:
    """The table, or the linked tables, that a schema describes."""
    if isinstance(schema, Schema):
        return read_source(path, formats=schema.formats, codes=schema.coded, **reading)
    formats = {table.name: table.columns.formats for table in schema.tables}
    codes = {table.name: table.columns.coded for table in schema.tables}
    return read_linked(path, list(formats), formats=formats, codes=codes, **reading)
