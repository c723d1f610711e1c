"""A release that an engine makes, and the register: marks of people batch by batch, and never a row on the driver.

Each row carries the register's mark of its person (`PERSON`) through the run, in two columns that are never written.
When the rows are masked, marks, groups and keyed hashes of what is unchanged come to the driver: 32 bytes a row. They
mean the same as those of a table in memory, so that a release of one is held against a release of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.arrays import AnyArray
from shoal.engine import PERSON, ROWS, Engine, Relation
from shoal.errors import InputError
from shoal.frame import enter
from shoal.recipe import Recipe
from shoal.register.identity import SKETCH, Known, Who, sketch_of
from shoal.register.person_marks import Draft, persons_of, row_hashes, told_apart
from shoal.release.registering import Entry
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.register.register import Register

__all__ = ["EngineDraft", "EngineEntering", "nobodys_entry"]

_LABEL, _HASH, _NUMBER = "#label", "#hash", "#number"
_MOST_ROWS = 200_000_000  # marks on the driver: 6 GB
_NO_VALUES = np.empty((0, 3), dtype=np.uint64)


@dataclass(frozen=True, kw_only=True, repr=False)
class EngineDraft(Draft):
    """The people of a release whose rows lie on an engine; what is unchanged is hashed there when it is asked for."""

    engine: Engine
    relation: Relation

    def signatures(self, columns: Sequence[str]) -> AnyArray:
        """The signature of each person on some of the unchanged columns, in the order of `people`."""
        rows = _hashed(self.engine, self.relation, sorted(columns), self.key, "unchanged", _HASH)
        first, whose = persons_of(_marks_of(rows))
        found = np.zeros(len(first), dtype=np.uint64)
        np.add.at(found, whose, _unsigned(rows[_HASH]))
        return found


@dataclass(frozen=True, kw_only=True, repr=False)
class EngineEntering:
    """A relation as the register sees it before a run.

    Parameters
    ----------
    register, known
        The register with its data set found, and how people are known.
    relation
        The rows with the marks of their persons.
    """

    register: Register
    known: Known
    relation: Relation

    @classmethod
    def of(cls, register: Register, engine: Engine, relation: Relation, schema: Schema) -> EngineEntering:
        """Find the data set and mark the people."""
        plain = engine.narrow(engine.keep(relation), relation.columns)
        n = engine.known(plain, [])[ROWS]
        if n > _MOST_ROWS:
            rule = f"holds marks of at most {_MOST_ROWS:,} rows on the driver"
            hint = "Release without it (--no-register), or register the files of each year or region alone."
            raise InputError("register", rule, got=f"{n:,} rows", hint=hint)
        found, known = _known(register, engine, plain, schema)
        return cls(register=found, known=known, relation=_marked(engine, plain, known.who, found.key))

    def entry(self, engine: Engine, made: Relation, by: Sequence[str], schema: Schema, recipe: Recipe) -> Entry:
        """Hold the masked rows against the register; a CrossedError where they don't hold beside earlier releases.

        Parameters
        ----------
        made, by
            The rows as they will be written, and the columns that say which group each is in.
        """
        rows = _hashed(engine, made, by, self.register.key, "group", _LABEL)
        unchanged = [name for name in made.columns if name in schema.released and name not in schema.quasi]
        draft = EngineDraft(
            key=self.register.key,
            marks=_marks_of(rows),
            labels=rows[_LABEL].to_numpy(),
            unchanged=pl.DataFrame(schema={name: made.types[name] for name in sorted(unchanged)}),
            engine=engine,
            relation=made,
        )
        beside = self.register.check(draft, k=recipe.k, keeps_groups=False)
        known = replace(self.known, people=sketch_of(draft.people.marks))
        return Entry(register=self.register, known=known, beside=beside, draft=draft, values=_NO_VALUES)


def nobodys_entry(register: Register, engine: Engine, relation: Relation, schema: Schema) -> Entry:
    """What the register will be told of rows that are nobody's: the release, its ε and its files, and no person."""
    found, known = register, None
    if register.declared is None:
        plain = engine.narrow(engine.keep(relation), relation.columns)
        found, known = _known(register, engine, plain, schema)
    return Entry(register=found, known=known, beside=found.nobodys(), draft=None, values=_NO_VALUES)


def _known(register: Register, engine: Engine, plain: Relation, schema: Schema) -> tuple[Register, Known]:
    """The register with its data set found, and how its people are known."""
    found, rows, said = register.recognised(lambda key: _sketch(engine, plain, key))
    who = found.who() or _who(engine, plain, schema)
    return found, Known(who=who, marks=_NO_VALUES, rows=rows, people=(), recognised=said)


def _who(engine: Engine, relation: Relation, schema: Schema) -> Who:
    """The unit; else the first identifier that is complete and different for everybody; else the row."""
    if schema.unit is not None:
        return Who(columns=(schema.unit,), is_identifier=True)
    names = [c.name for c in schema.columns if c.role == "identifier" and c.name in relation.columns]
    known, different = engine.known(relation, names), engine.distinct(relation, names)
    for name in names:
        if known[name] == known[ROWS] == different[name]:
            return Who(columns=(name,), is_identifier=True)
    return Who(columns=tuple(sorted(relation.columns)), is_identifier=False)


def _marked(engine: Engine, relation: Relation, who: Who, key: bytes) -> Relation:
    """The rows with the marks of their persons; equal rows, where nothing else tells people apart, are numbered."""
    types = {**relation.types, PERSON[0]: pl.Int64(), PERSON[1]: pl.Int64()}
    if who.is_identifier:
        return engine.map(relation, lambda rows: _with_marks(rows, who.marks(key, enter(rows))), types)
    who.require(relation.columns)

    def by_row(rows: pl.DataFrame) -> pl.DataFrame:
        return _with_marks(rows, row_hashes(key, "person", rows.select(who.columns), len(rows), typed=True))

    def apart(rows: pl.DataFrame) -> pl.DataFrame:
        numbers = rows[_NUMBER].to_numpy() - 1
        return _with_marks(rows.drop(_NUMBER), told_apart(key, "person", _marks_of(rows), numbers))

    return engine.map(engine.numbered(engine.map(relation, by_row, types), PERSON, PERSON[0], _NUMBER), apart, types)


def _with_marks(rows: pl.DataFrame, marks: AnyArray) -> pl.DataFrame:
    found = np.ascontiguousarray(marks).view(np.int64)
    return rows.with_columns(*(pl.Series(name, found[:, i]) for i, name in enumerate(PERSON)))


def _sketch(engine: Engine, relation: Relation, key: bytes) -> tuple[str, ...]:
    """The smallest hashes of all rows: those of each batch, and of these the smallest."""
    types = {_HASH: pl.Int64()}

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        found = row_hashes(key, "row", rows.select(sorted(rows.columns)), len(rows), typed=True)[:, 0]
        return pl.DataFrame({_HASH: np.unique(found)[:SKETCH].view(np.int64)}, schema=types)

    return sketch_of(_unsigned(engine.collect(engine.map(relation, batch, types))[_HASH]).reshape(-1, 1))


def _hashed(
    engine: Engine, relation: Relation, columns: Sequence[str], key: bytes, purpose: str, name: str
) -> pl.DataFrame:
    """The mark of each row's person, and a keyed hash of some of its columns."""
    types = {PERSON[0]: pl.Int64(), PERSON[1]: pl.Int64(), name: pl.Int64()}

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        found = row_hashes(key, purpose, rows.select(columns), len(rows), typed=True)[:, 0]
        return rows.select(*PERSON, pl.Series(name, found.view(np.int64), dtype=pl.Int64))

    return engine.collect(engine.map(engine.select(relation, [*PERSON, *columns]), batch, types))


def _marks_of(rows: pl.DataFrame) -> AnyArray:
    return np.column_stack([_unsigned(rows[name]) for name in PERSON])


def _unsigned(column: pl.Series) -> AnyArray:
    numbers: AnyArray = np.ascontiguousarray(column.to_numpy()).view(np.uint64)
    return numbers
