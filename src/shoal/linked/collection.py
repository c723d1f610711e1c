"""Linked tables held to their schema: every key unique, every event somebody's, nothing before birth.

All that is wrong is said at once, by table, column, rule and remedy, and never by a value.

New keys for linked tables: one domain a table, no order in them, and links that follow.

With a project key, a row's key is its keyed pseudonym (`shoal.pseudonym`), the same in every release of the scope.
Without one, keys are numbers in a secret random order, good for this release alone. Sequential visit numbers are a
clock; neither kind is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.conform import check_columns
from shoal.errors import ColumnError, InputError, Problems, ProblemsError, SchemaError
from shoal.files.column_types import as_dates
from shoal.frame import enter, series
from shoal.linked.known_date import Moved
from shoal.pseudonym import Pseudonyms
from shoal.rng import secret
from shoal.schema import LinkedSchema, LinkedTable
from shoal.schema.placeholder_ids import check_names_somebody

__all__ = ["Collection", "released_tables", "with_new_keys"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Linked tables that fit together.

    Parameters
    ----------
    schema
        What the tables are.
    tables
        The tables by name.
    parents
        For each row of a table of events, the place of its row in the parent.
    persons
        For each row of a table, the place of its person.
    given
        The tables as they came in.
    moved
        By how much each person's dates were moved, while the days of events are theirs but for that; else None.
    """

    schema: LinkedSchema
    tables: Mapping[str, pl.DataFrame] = field(repr=False)
    parents: Mapping[str, IntArray] = field(repr=False)
    persons: Mapping[str, IntArray] = field(repr=False)
    given: Mapping[str, Any] = field(repr=False)
    moved: Moved | None = field(repr=False, default=None)

    @classmethod
    def of(cls, given: Mapping[str, Any], schema: LinkedSchema) -> Collection:
        """Hold tables to their schema.

        Raises
        ------
        SchemaError
            A table or a column is missing or has no role.
        ColumnError
            A key is missing or repeated, an event is nobody's, or lies before its person's birth.
        ProblemsError
            Several of these at once: all of them.
        """
        _check_names(given, schema)
        problems = Problems()
        frames = _each(problems, lambda table: _frame(given[table.name], table), schema.tables)
        read = [table for table in schema.tables if table.name in frames]
        keyed = _each(problems, lambda table: _check_key(frames[table.name], table), read)
        found = [table for table in schema.events if {table.name, str(table.parent)} <= keyed.keys()]
        parents = _each(problems, lambda table: _links(frames, schema, table), found)
        persons = _owners(schema, frames, parents)
        owned = [table for table in schema.events if table.name in persons]
        _each(problems, lambda table: _check_births(schema, frames, persons[table.name], table), owned)
        problems.raise_if_any()
        return cls(schema=schema, tables=frames, parents=parents, persons=persons, given=given)

    @property
    def n_persons(self) -> int:
        """Number of persons."""
        return len(self.tables[self.schema.persons.name])

    @property
    def n_events(self) -> int:
        """Number of rows in the tables of events."""
        return sum(len(self.tables[table.name]) for table in self.schema.events)

    def with_columns(self, name: str, columns: Mapping[str, pl.Series]) -> Collection:
        """The same with other content in columns of one table."""
        changed = self.tables[name].with_columns([one.alias(column) for column, one in columns.items()])
        return replace(self, tables={**self.tables, name: changed})

    def filtered(self, name: str, keep: BoolArray) -> Collection:
        """The same without some rows of a table of events, and without what hangs on them."""
        tables, parents, persons = dict(self.tables), dict(self.parents), dict(self.persons)
        place = np.where(keep, np.cumsum(keep) - 1, -1)
        tables[name] = tables[name].filter(pl.Series(keep))
        parents[name], persons[name] = parents[name][keep], persons[name][keep]
        made = replace(self, tables=tables, parents=parents, persons=persons)
        for child in self.schema.events:
            if child.parent == name:
                at = place[made.parents[child.name]]
                made = made.filtered(child.name, at >= 0)
                made = replace(made, parents={**made.parents, child.name: at[at >= 0]})
        return made

    def of_persons(self, keep: BoolArray) -> Collection:
        """The same without the events of some persons; the table of persons stays as it is."""
        made = self
        for table in self.schema.first_events:
            made = made.filtered(table.name, keep[made.persons[table.name]])
        return made

    def given_to(self, name: str, persons: IntArray) -> Collection:
        """The same with the rows of a table right below the persons in other persons' hands."""
        owners = {**self.persons, name: persons}
        for table in self.schema.events:
            if table.name != name and table.parent != self.schema.persons.name:
                owners[table.name] = owners[str(table.parent)][self.parents[table.name]]
        return replace(self, persons=owners, parents={**self.parents, name: persons})


def _check_names(given: Any, schema: LinkedSchema) -> None:
    if not isinstance(given, Mapping):
        hint = "Give a mapping such as {'patients': p, 'visits': v}."
        raise InputError("linked tables", "must be given by name", got=type(given).__name__, hint=hint)
    problems: list[InputError] = [
        SchemaError("schema", f"table '{table.name}' is not given", hint="Give it, or take it out of the schema.")
        for table in schema.tables
        if table.name not in given
    ]
    problems += [
        SchemaError("schema", f"table '{name}' is given and not described", hint="Describe it, or leave it out.")
        for name in given
        if name not in schema
    ]
    Problems(problems).raise_if_any()


def _each(problems: Problems, read: Callable[[LinkedTable], T], tables: Iterable[LinkedTable]) -> dict[str, T]:
    """What `read` gives for each table with which nothing is wrong; what is wrong is noted under the table's name."""
    made = {}
    for table in tables:
        try:
            made[table.name] = read(table)
        except (ColumnError, SchemaError, ProblemsError) as error:
            problems.found += [_in_table(table.name, one) for one in getattr(error, "problems", [error])]
    return made


def _in_table(table: str, error: InputError) -> InputError:
    return SchemaError(f"table '{table}', {error.owner}", error.rule, got=error.got, hint=error.hint)


def _frame(given: Any, table: LinkedTable) -> pl.DataFrame:
    frame = enter(given)
    check_columns(frame, table.whole)
    read = {name: series(frame, name) for name in frame.columns if _is_read(table, name)}
    for name, form in table.columns.formats.items():
        codes = table.columns.coded.get(name, ())
        if codes or not read[name].dtype.is_temporal():
            read[name] = as_dates(read[name], form, codes)
    return pl.DataFrame(list(read.values()))


def _is_read(table: LinkedTable, name: str) -> bool:
    return name in (table.key, table.link) or not table.columns[name].is_removed or table.parent is None


def _check_key(frame: pl.DataFrame, table: LinkedTable) -> None:
    problems = []
    for name in dict.fromkeys(filter(None, (table.key, table.link))):
        absent = frame[name].null_count()
        if absent:
            problems.append(ColumnError(name, "is a key and must not be missing", got=f"{absent} rows"))
    if table.key is not None and frame[table.key].n_unique() < len(frame):
        n = len(frame) - frame[table.key].n_unique()
        hint = "Remove the repeated rows, or correct the key."
        problems.append(ColumnError(table.key, "is a key and must be unique", got=f"{n} repeats", hint=hint))
    found = Problems(problems)
    found.each(lambda named: check_names_somebody(frame[named[0]], *named[1:]), _names(table))
    found.raise_if_any()


def _names(table: LinkedTable) -> list[tuple[str, str, str]]:
    """The columns that name persons, households and others, what they name, and what to do where they name nobody."""
    made = [(str(table.link or table.key), "person", "Give each a key of its own, or remove these rows.")]
    if table.columns.household is not None:
        alone = "Leave these cells empty: each person is then a household of their own."
        made.append((table.columns.household, "household", alone))
    return [*made, *((name, "token", "Leave these cells empty.") for name in table.columns.pseudonym)]


def _links(frames: Mapping[str, pl.DataFrame], schema: LinkedSchema, table: LinkedTable) -> IntArray:
    """The place in the parent of each row; rows that belong to nobody are an error."""
    parent, link = schema[str(table.parent)], str(table.link)
    keys, own = frames[parent.name][str(parent.key)], frames[table.name][link]
    if keys.dtype != own.dtype and not (keys.dtype.is_integer() and own.dtype.is_integer()):
        raise ColumnError(link, f"must be of the type of the key of '{parent.name}'", hint="Write both alike.")
    place = pl.DataFrame({"key": keys, "at": np.arange(len(keys))})
    found = pl.DataFrame({"key": own.cast(keys.dtype)}).join(place, on="key", how="left", maintain_order="left")["at"]
    orphans = found.null_count()
    if orphans:
        hint = "Add the missing rows of the parent, or remove these."
        raise ColumnError(link, f"must hold keys of table '{parent.name}'", got=f"{orphans} orphans", hint=hint)
    return found.to_numpy().astype(np.int64)


def _owners(
    schema: LinkedSchema, frames: Mapping[str, pl.DataFrame], parents: Mapping[str, IntArray]
) -> dict[str, IntArray]:
    """The place of the person of each row, of the tables whose links all lead somewhere."""
    root = schema.persons.name
    persons = {root: np.arange(len(frames[root]))} if root in frames else {}
    for table in schema.events:
        if table.name in parents and table.parent in persons:
            persons[table.name] = persons[table.parent][parents[table.name]]
    return persons


def _check_births(
    schema: LinkedSchema, frames: Mapping[str, pl.DataFrame], persons: IntArray, table: LinkedTable
) -> None:
    birth = schema.persons.birth
    if birth is None:
        return
    born = _days(frames[schema.persons.name][birth]).gather(persons)
    hint = "Correct the dates, or leave birth out of the schema if it is not exact."
    early = {name: int((_days(frames[table.name][name]) < born).sum()) for name in table.columns.time}
    Problems(
        ColumnError(name, "must not lie before the person's birth", got=f"{n} rows", hint=hint)
        for name, n in early.items()
        if n
    ).raise_if_any()


def _days(column: pl.Series) -> pl.Series:
    if column.dtype.is_temporal():
        return column.cast(pl.Date)
    return column.cast(pl.String).str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)


def with_new_keys(collection: Collection, pseudonyms: Pseudonyms | None, key: str) -> Collection:
    """The tables with new keys, and with pseudonyms in the columns that want some."""
    domains: dict[str, dict[str, pl.Series]] = {}
    for table in collection.schema.tables:
        frame = collection.tables[table.name]
        new = {name: _named(frame[name], domain, pseudonyms, key) for name, domain in _domains(table).items()}
        domains[table.name] = new
    for name, columns in domains.items():
        collection = collection.with_columns(name, columns)
    return collection


def _domains(table: LinkedTable) -> dict[str, str]:
    own = {} if table.key is None else {table.key: table.name}
    return own | table.columns.pseudonym


def _named(column: pl.Series, domain: str, pseudonyms: Pseudonyms | None, key: str) -> pl.Series:
    if pseudonyms is not None:
        return pseudonyms.of(column, domain)
    known = column.drop_nulls().unique().sort()
    numbers = secret(key, "keys", domain).permutation(len(known)) + 1
    both = pl.DataFrame({"old": known, "new": numbers})
    return (
        pl.DataFrame({"old": column}).join(both, on="old", how="left", maintain_order="left")["new"].alias(column.name)
    )


def released_tables(collection: Collection, key: str) -> dict[str, pl.DataFrame]:
    """The tables of events as they are released: links to the new keys, nobody's name, rows in a secret order."""
    made = {}
    for table in collection.schema.events:
        parent = collection.schema[str(table.parent)]
        keys = collection.tables[parent.name][str(parent.key)].gather(collection.parents[table.name])
        frame = collection.tables[table.name].with_columns(keys.alias(str(table.link)))
        released = table.whole.released
        order = secret(key, "shuffle", table.name).permutation(len(frame))
        made[table.name] = frame.select([name for name in frame.columns if name in released])[order]
    return made
