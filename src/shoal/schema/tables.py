"""Linked tables: persons, and tables of their events, each with its key and its parent.

One table has no parent: its rows are the persons. Every other table holds events (visits, prescriptions); its `link`
column holds the key of the row of the parent that an event belongs to. Key and link need no entry among the columns:
they are always replaced by new keys. Of an event, the columns of the roles `quasi` and `time` are what an intruder may
know; the others are what must not be learnt from it.

Written as TOML::

    [tables.patients]
    key = "patient_id"
    birth = "born"                     # no event of a person may lie before it

    [tables.patients.columns.sex]
    role = "quasi"

    [tables.visits]
    key = "visit_id"
    parent = "patients"
    link = "patient_id"
    summaries = ["count", "first:day", "last:day", "codes:diagnosis"]

    [tables.visits.columns.day]
    role = "time"
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import tomli_w

from shoal.errors import FileError, Problems, SchemaError
from shoal.files import write_text
from shoal.schema.column import Column
from shoal.schema.schema import Schema, with_hierarchy_files

__all__ = ["LinkedSchema", "LinkedTable", "Summary", "read_schema"]

SummaryKind = Literal["count", "first", "last", "span", "gap", "total", "codes", "sequence"]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,59}")
_RESERVED = ("manifest", "report", "replay", "model")
_ENTRIES = ("key", "parent", "link", "birth", "summaries", "columns", "rules", "repeats")
_OF_EVENTS = ("quasi", "time", "sensitive", "other", "identifier", "weight")


@dataclass(frozen=True, slots=True)
class Summary:
    """What an intruder may know of a person's events as a whole; persons are grouped on it.

    Parameters
    ----------
    kind
        ``count`` of events, the ``first`` and ``last`` value of a column, their ``span``, the mean ``gap`` between
        events, the ``total`` of a number, how often each of the commonest ``codes`` occurs, or how often each of the
        commonest pairs of codes follows one on the other (``sequence``, by the first column of the role time).
    column
        The column it is about; none for ``count``.
    """

    kind: SummaryKind
    column: str | None = None

    @classmethod
    def of(cls, text: str) -> Summary:
        """Read ``"count"`` or ``"codes:diagnosis"``."""
        kind, _, column = text.partition(":") if isinstance(text, str) else ("", "", "")
        if kind not in get_args(SummaryKind) or (kind == "count") == bool(column):
            rule = f"must be count, or one of {', '.join(get_args(SummaryKind)[1:])} with a column, as in first:day"
            raise SchemaError("summary", rule, got=repr(text)[:40])
        return cls(kind, column or None)  # type: ignore[arg-type]

    def __str__(self) -> str:
        return self.kind if self.column is None else f"{self.kind}:{self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedTable:
    """One of the tables: its columns, its key, and whose rows its rows belong to.

    Parameters
    ----------
    name, columns
        The table and its columns, but for key and link.
    key
        The column that tells its rows apart; only a table without children can do without one.
    parent, link
        The table that its rows belong to, and the column that holds the parent's key; None for the persons.
    birth
        Of the persons: the column of their birth dates, before which no event may lie.
    summaries
        Of a table of events: what persons are grouped on.
    """

    name: str
    columns: Schema
    key: str | None = None
    parent: str | None = None
    link: str | None = None
    birth: str | None = None
    summaries: tuple[Summary, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name) or self.name.lower() in _RESERVED:
            raise SchemaError("tables", "names must be letters, digits and _, and none of a release's own files")
        if (self.parent is None) != (self.link is None):
            raise self._wrong("must name both parent and link, or neither")
        if self.parent is None and self.key is None:
            raise self._wrong("holds the persons and must name its key")
        if self.columns.repeats == "same person" or (self.columns.repeats and self.parent is not None):
            raise self._wrong('must not say repeats = "same person": give a person\'s copies one key')
        for name in filter(None, (self.key, self.link)):
            if name in self.columns:
                raise self._wrong(f"column '{name}' is a key, and must have no other role")
        self._check_roles()

    def _check_roles(self) -> None:
        if self.parent is None and self.summaries:
            raise self._wrong("holds the persons; summaries belong to tables of events")
        if self.birth is not None and (self.parent is not None or self.birth not in self.columns):
            raise self._wrong("birth must be a column of the persons' table")
        for column in self.columns.columns if self.parent is not None else ():
            if column.role not in _OF_EVENTS:
                raise self._wrong(f"column '{column.name}' of events must be one of {', '.join(_OF_EVENTS)}")
        for summary in self.summaries:
            if summary.column is not None and summary.column not in self.columns:
                raise self._wrong(f"summary {summary} must be about one of its columns")
            if summary.kind == "sequence" and not self.columns.time:
                raise self._wrong(f"summary {summary} needs a column of the role time, which gives the order")

    def _wrong(self, rule: str) -> SchemaError:
        return SchemaError(f"table '{self.name}'", rule)

    @property
    def known(self) -> tuple[str, ...]:
        """What an intruder may know of a row."""
        return tuple(column.name for column in self.columns.columns if column.role in ("quasi", "time"))

    @property
    def payload(self) -> tuple[str, ...]:
        """What must not be learnt from what is known of a row."""
        return tuple(c.name for c in self.columns.columns if c.role in ("sensitive", "other", "weight"))

    @property
    def own_keys(self) -> tuple[str, ...]:
        """The columns of its key and its link."""
        return tuple(dict.fromkeys(filter(None, (self.key, self.link))))

    @property
    def whole(self) -> Schema:
        """The columns with key and link, which name somebody and are released under new names."""
        named = [Column(name=name, role="identifier", pseudonym=True) for name in self.own_keys]
        return replace(self.columns, columns=(*named, *self.columns.columns))

    @property
    def released(self) -> LinkedTable:
        """The table as it is released: which columns it has and what they are, and nothing of their content."""
        kept = tuple(Column(name=c.name, role=c.role, pseudonym=c.pseudonym) for c in self.columns.released.columns)
        return replace(self, columns=Schema(kept), birth=None, summaries=())

    def to_dict(self) -> dict[str, Any]:
        """The declared parts, as TOML- and JSON-safe words."""
        words: dict[str, Any] = {"key": self.key, "parent": self.parent, "link": self.link, "birth": self.birth}
        words = {name: value for name, value in words.items() if value is not None}
        if self.summaries:
            words["summaries"] = [str(summary) for summary in self.summaries]
        return words | self.columns.to_dict()

    @classmethod
    def from_dict(cls, name: str, words: Mapping[str, Any]) -> LinkedTable:
        """Read one table from its words."""
        if not isinstance(words, Mapping) or not set(words) <= set(_ENTRIES):
            raise SchemaError(f"table '{name}'", f"may have the entries {', '.join(_ENTRIES)}, and no others")
        summaries = words.get("summaries", [])
        if isinstance(summaries, str) or not isinstance(summaries, Sequence):
            raise SchemaError(f"table '{name}'", "summaries must be a list")
        columns = {"columns": words.get("columns", {})} | {n: words[n] for n in ("rules", "repeats") if n in words}
        try:
            return cls(
                name=name,
                columns=Schema.from_dict(columns),
                summaries=tuple(map(Summary.of, summaries)),
                **{entry: words.get(entry) for entry in ("key", "parent", "link", "birth")},
            )
        except SchemaError as error:
            owner = error.owner if error.owner == f"table '{name}'" else f"table '{name}', {error.owner}"
            raise SchemaError(owner, error.rule, got=error.got, hint=error.hint) from None


@dataclass(frozen=True, slots=True)
class LinkedSchema:
    """The schema of several tables. Build it with `of` or `read`.

    Examples
    --------
    >>> import shoal
    >>> schema = shoal.LinkedSchema.of(
    ...     patients={"key": "patient", "columns": {"sex": {"role": "quasi"}}},
    ...     visits={"parent": "patients", "link": "patient", "columns": {"day": {"role": "time"}}})
    >>> schema.persons.name, [table.name for table in schema.events]
    ('patients', ['visits'])
    """

    tables: tuple[LinkedTable, ...]

    def __post_init__(self) -> None:
        names = [table.name for table in self.tables]
        roots = [table for table in self.tables if table.parent is None]
        if len({name.lower() for name in names}) < len(names) or len(roots) != 1 or len(names) < 2:
            raise SchemaError("tables", "must be one of persons, without a parent, and at least one of events")
        problems = Problems()
        problems.each(self._check_parent, self.tables)
        problems.raise_if_any()

    def _check_parent(self, table: LinkedTable) -> None:
        seen = [table.name]
        while table.parent is not None:
            if table.parent not in self or table.parent in seen:
                raise SchemaError(f"table '{seen[0]}'", "must descend from the table of persons")
            table = self[table.parent]
            seen.append(table.name)
            if table.key is None:
                raise SchemaError(f"table '{table.name}'", "is a parent and must name its key")

    @classmethod
    def of(cls, **tables: Mapping[str, Any] | LinkedTable) -> LinkedSchema:
        """Declare the tables by name, each in the words of the TOML file; `columns` may be a `Schema`."""
        return cls(tuple(_table(name, given) for name, given in tables.items()))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> LinkedSchema:
        """Read the schema of linked tables from a TOML file."""
        found = read_schema(path)
        if not isinstance(found, LinkedSchema):
            raise SchemaError(str(path), "must describe linked tables: [tables.NAME] for each")
        return found

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> LinkedSchema:
        """Read it from the words of `to_dict`."""
        if not isinstance(words, Mapping) or set(words) != {"tables"} or not isinstance(words["tables"], Mapping):
            raise SchemaError("schema", "must have a table [tables.NAME] for every table, and nothing else")
        return cls(tuple(LinkedTable.from_dict(name, entry) for name, entry in words["tables"].items()))

    def to_dict(self) -> dict[str, Any]:
        """The schema as TOML- and JSON-safe words."""
        return {"tables": {table.name: table.to_dict() for table in self.tables}}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the schema as a TOML file (whole or not at all)."""
        write_text(path, tomli_w.dumps(self.to_dict()))

    def fingerprint(self) -> str:
        """SHA-256 of what the schema says, whatever the order of its entries in the file."""
        words = json.dumps(self.to_dict(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(words.encode()).hexdigest()

    @property
    def persons(self) -> LinkedTable:
        """The table of persons."""
        return next(table for table in self.tables if table.parent is None)

    @property
    def events(self) -> tuple[LinkedTable, ...]:
        """The tables of events, parents before children."""
        return tuple(self._below(self.persons.name))

    @property
    def first_events(self) -> tuple[LinkedTable, ...]:
        """The tables of events that hang on the persons themselves."""
        return tuple(table for table in self.tables if table.parent == self.persons.name)

    @property
    def released(self) -> LinkedSchema:
        """The tables as they are released."""
        return LinkedSchema(tuple(table.released for table in self.tables))

    def _below(self, parent: str) -> Iterator[LinkedTable]:
        for table in self.tables:
            if table.parent == parent:
                yield table
                yield from self._below(table.name)

    def __getitem__(self, name: str) -> LinkedTable:
        for table in self.tables:
            if table.name == name:
                return table
        raise SchemaError("schema", f"has no table '{name}'")

    def __contains__(self, name: object) -> bool:
        return any(table.name == name for table in self.tables)


def _table(name: str, given: Mapping[str, Any] | LinkedTable) -> LinkedTable:
    if isinstance(given, LinkedTable):
        return replace(given, name=name)
    columns = given.get("columns")
    return LinkedTable.from_dict(name, {**given, **columns.to_dict()} if isinstance(columns, Schema) else given)


def read_schema(path: str | os.PathLike[str]) -> Schema | LinkedSchema:
    """Read the schema of one table, or of linked tables, from a TOML file."""
    try:
        words = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise FileError(str(path), "schema file must be readable", got=error.strerror or "") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SchemaError(str(path), f"must be a TOML file ({error})") from None
    kind: type[Schema] | type[LinkedSchema] = LinkedSchema if "tables" in words else Schema
    try:
        return kind.from_dict(with_hierarchy_files(words, Path(path).parent))
    except SchemaError as error:
        raise SchemaError(f"{path}, {error.owner}", error.rule, got=error.got, hint=error.hint) from None
