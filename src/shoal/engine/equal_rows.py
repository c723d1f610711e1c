"""Rows of a relation that are equal: the unit they share, and how often they repeat, as `shoal.schema.repeats` says.

What a row holds is known by its mark (`shoal.engine.marks`), the same on every engine, so equal rows are found without
being brought together. Whether repeats are more than chance would give is judged on a sample of marks, which holds all
copies of a row or none.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from shoal.conform import told_apart_by
from shoal.engine.engine import GROUPED, MARK, ROWS, Engine, Relation
from shoal.engine.marks import marks, signed, small_marks
from shoal.schema import Column, Schema
from shoal.schema.repeats import Repeats, repeats_of
from shoal.schema.schema import EQUAL_ROWS
from shoal.schema.whose_rows import WhoseRows, settled_by

__all__ = ["whose_rows_on", "with_persons_on"]

_KEY = "00" * 16  # marks tell equal rows from others here, and hide nothing
_COUNTED, _JUDGED = 5_000_000, 100_000  # rows up to which repeats are counted exactly, and on which they are judged


def with_persons_on(engine: Engine, relation: Relation, schema: Schema) -> tuple[Relation, Schema]:
    """The rows with a unit that equal ones share, where these are one person's by the schema; else as they are."""
    if schema.repeats != "same person":
        return relation, schema
    names = _telling(engine, relation, schema)

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        return rows.with_columns(pl.Series(EQUAL_ROWS, signed(marks(rows.select(names), _KEY)), dtype=pl.Int64))

    made = engine.map(relation, batch, {**relation.types, EQUAL_ROWS: pl.Int64()})
    unit = Column(name=EQUAL_ROWS, role="unit")
    return made, replace(schema, columns=(*schema.columns, unit), repeats=None)


def whose_rows_on(engine: Engine, relation: Relation, schema: Schema) -> WhoseRows:
    """Settle what rows of a relation count as, as `shoal.schema.whose_rows.whose_rows` does for a table."""
    if schema.unit is not None:
        return WhoseRows(counts="rows", repeats=None, settled=True)
    found = _repeats(engine, relation, schema)
    names = [name for name in schema.identifier if name in relation.types]
    known, different = engine.known(relation, names), engine.distinct(relation, names)
    return settled_by(schema, found, any(known[name] == known[ROWS] == different[name] for name in names))


def _telling(engine: Engine, relation: Relation, schema: Schema) -> list[str]:
    """The columns that say something of a person, but numbers of rows."""
    names = [name for name in told_apart_by(schema) if name in relation.types]
    known, different = engine.known(relation, names), engine.distinct(relation, names)
    return [name for name in names if not known[name] == known[ROWS] == different[name]]


def _repeats(engine: Engine, relation: Relation, schema: Schema) -> Repeats:
    names, n = _telling(engine, relation, schema), engine.known(relation, [])[ROWS]
    share = min(1.0, _COUNTED / max(1, n))
    if not names:
        return Repeats(n_rows=n, n_distinct=n, n_again=0, n_again_weighted=0, most=min(n, 1), beyond_chance=False)
    bare = engine.select(relation, names)
    sizes = _sizes(engine, bare, share)
    again = weighted = _again(sizes)
    if again and schema.weight in relation.types:
        weighted = _again(_sizes(engine, engine.select(relation, [*names, str(schema.weight)]), share))
    return Repeats(
        n_rows=n,
        n_distinct=round(int(sizes[GROUPED].sum()) / share),
        n_again=round(again / share),
        n_again_weighted=round(weighted / share),
        most=int(sizes[ROWS].max() or 0),  # type: ignore[arg-type]
        beyond_chance=again > 0 and _beyond_chance(engine, bare, n),
        sampled=share < 1,
    )


def _sizes(engine: Engine, relation: Relation, share: float) -> pl.DataFrame:
    """How many different rows occur how often, of this share of the different rows."""
    chosen = small_marks(_KEY, share)
    numbered = engine.map(relation, lambda rows: chosen(rows).select(MARK), {MARK: pl.Int64()})
    return engine.collect(engine.aggregate(engine.count(numbered, [MARK]), [ROWS], []))


def _again(sizes: pl.DataFrame) -> int:
    several = sizes.filter(pl.col(ROWS) > 1)
    return int((several[ROWS] * several[GROUPED]).sum())


def _beyond_chance(engine: Engine, relation: Relation, n: int) -> bool:
    share = min(1.0, _JUDGED / max(1, n))
    chosen = engine.map(relation, small_marks(_KEY, share), {**relation.types, MARK: pl.Int64()})
    sample = engine.collect(chosen).drop(MARK)
    return repeats_of(sample.to_dict(), share=share).beyond_chance
