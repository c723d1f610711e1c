"""A release that an engine makes, and the register: marks of people batch by batch.

Each row carries the register's mark of its person (`PERSON`) through the run, in two columns that are never written.
When the rows are masked, marks, groups and keyed hashes of what is unchanged come to the driver, 32 bytes a row,
and the rows of a thousand people, by whom columns are known again. They mean the same as those of a table in memory, so
that a release of one is held against a release of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from shoal.arrays import AnyArray
from shoal.engine import PERSON, ROWS, Engine, Relation
from shoal.errors import InputError
from shoal.frame import enter
from shoal.recipe import Recipe
from shoal.register.column_links import SIZE, Sample
from shoal.register.column_sketches import NO_ROWS, ColumnSketches, RowSketch, row_contents, value_hashes
from shoal.register.draft import Draft
from shoal.register.identity import SKETCH, Known, TableSketch, Who, sketch_of, without_identifiers
from shoal.register.person_marks import persons_of, row_hashes, told_apart
from shoal.release.registering import Entry
from shoal.schema import Schema

if TYPE_CHECKING:
    from shoal.register.register import Register

__all__ = ["EngineDraft", "EngineEntering", "nobodys_entry"]

_LABEL, _HASH, _NUMBER, _KIND = "#label", "#hash", "#number", "#kind"
_WHOLE, _CONTENT = -1, -2  # what is hashed: rows, rows without identifiers; else the place of a column
_MOST_ROWS = 200_000_000  # marks on the driver: 6 GB
_NO_VALUES = np.empty((0, 3), dtype=np.uint64)


@dataclass(frozen=True, kw_only=True, repr=False)
class EngineDraft(Draft):
    """The people of a release whose rows lie on an engine; what is unchanged is hashed there when it is asked for."""

    engine: Engine
    relation: Relation
    source: Relation

    def signatures(self, columns: Sequence[str]) -> AnyArray:
        """The signature of each person on some of the unchanged columns, in that order; people as in `people`."""
        rows = _hashed(self.engine, self.relation, columns, self.key, "unchanged", _HASH)
        first, whose = persons_of(_marks_of(rows))
        found = np.zeros(len(first), dtype=np.uint64)
        np.add.at(found, whose, _unsigned(rows[_HASH]))
        return found

    @cached_property
    def sample(self) -> Sample:
        """What is kept of the columns, from the rows of a thousand people."""
        people = self.people.marks[:SIZE]
        parts = []
        for relation, names in ((self.relation, self.unchanged.columns), (self.source, self.quasi.columns)):
            rows = _rows_of(self.engine, relation, people, names)
            marks, whose = _marks_of(rows), rows.drop(PERSON)
            first, place = persons_of(marks)
            parts.append(Sample.of(self.key, marks[first], place, whose, whose.clear().select([])))
        return Sample(marks=parts[0].marks, unchanged=parts[0].unchanged, quasi=parts[1].unchanged)


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
        marked = _marked(engine, plain, known.who, found.key)
        rest = without_identifiers(plain.columns, schema)
        known = replace(known, contents=_contents(engine, marked, rest, found.key))
        return cls(register=found, known=known, relation=marked)

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
            quasi=pl.DataFrame(schema={n: self.relation.types[n] for n in schema.quasi if n in self.relation.types}),
            engine=engine,
            relation=made,
            source=self.relation,
        )
        beside = self.register.check(draft, self.known, k=recipe.k, keeps_groups=False)
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
    rest = without_identifiers(plain.columns, schema)
    found, sketch, said = register.recognised(lambda key: _sketch(engine, plain, rest, key))
    who = found.who() or _who(engine, plain, schema)
    known = Known(
        who=who,
        marks=_NO_VALUES,
        rows=sketch.rows,
        people=(),
        contents=NO_ROWS,
        columns=sketch.columns,
        recognised=said,
    )
    return found, known


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


def _sketch(engine: Engine, relation: Relation, rest: Sequence[str], key: bytes) -> TableSketch:
    """The smallest hashes of rows, with identifiers and without, and of each column's values: those of the batches."""
    types = {_KIND: pl.Int64(), _HASH: pl.Int64(), _NUMBER: pl.Int64()}

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        whole = row_hashes(key, "row", rows.select(sorted(rows.columns)), len(rows), typed=True)[:, 0]
        kinds = {_WHOLE: whole, _CONTENT: row_contents(key, rows.select(rest), len(rows), typed=True)}
        kinds |= {i: value_hashes(key, rows[name], typed=True) for i, name in enumerate(rest)}
        return pl.concat([pl.DataFrame(schema=types), *(_smallest(kind, of) for kind, of in kinds.items())])

    found = engine.collect(engine.map(relation, batch, types))
    kinds = {kind: found.filter(pl.col(_KIND) == kind) for kind in (_WHOLE, _CONTENT, *range(len(rest)))}
    contents = kinds[_CONTENT]
    return TableSketch(
        rows=sketch_of(_unsigned(kinds[_WHOLE][_HASH]).reshape(-1, 1)),
        contents=np.repeat(_unsigned(contents[_HASH]), np.minimum(contents[_NUMBER].to_numpy(), 2)),
        columns=ColumnSketches.of_hashes(
            [(_unsigned(kinds[i][_HASH]), kinds[i][_NUMBER].to_numpy()) for i in range(len(rest))]
        ),
    )


def _smallest(kind: int, hashes: AnyArray) -> pl.DataFrame:
    """The smallest hashes of a batch, and how often each occurs."""
    values, counts = np.unique(hashes, return_counts=True)
    values, counts = values[:SKETCH], counts[:SKETCH]
    return pl.DataFrame({_KIND: np.full(len(values), kind), _HASH: values.view(np.int64), _NUMBER: counts})


def _contents(engine: Engine, marked: Relation, rest: Sequence[str], key: bytes) -> RowSketch:
    """The sketch of the rows without identifiers, with the marks of their persons."""
    types = {PERSON[0]: pl.Int64(), PERSON[1]: pl.Int64(), _HASH: pl.Int64()}

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        found = row_contents(key, rows.select(rest), len(rows), typed=True)
        smallest = np.flatnonzero(np.isin(found, np.unique(found)[:SKETCH]))
        return rows[smallest].select(*PERSON, pl.Series(_HASH, found[smallest].view(np.int64), dtype=pl.Int64))

    if not rest:
        return NO_ROWS
    rows = engine.collect(engine.map(engine.select(marked, [*PERSON, *rest]), batch, types))
    return RowSketch.of(_unsigned(rows[_HASH]), _marks_of(rows))


def _rows_of(engine: Engine, relation: Relation, people: AnyArray, columns: Sequence[str]) -> pl.DataFrame:
    """The rows of some people, on the driver."""
    marks = pl.DataFrame({name: people[:, i].copy().view(np.int64) for i, name in enumerate(PERSON)})
    return engine.collect(engine.matching(engine.select(relation, [*PERSON, *columns]), marks))


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
