"""Safe Harbor and the limited data set on an engine: what is written instead of each different value of a column.

Their rules look at every cell, and at nothing but the different values of a column with their counts: these come to the
driver, at most two million of a column, and what is written for each goes back as a map. So the rows are those that
memory writes. A column of more values must be rounded, or allowed by a person who has looked at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from shoal.coarsening import Coarsener
from shoal.compliance import LimitedDataSet, SafeHarbor
from shoal.compliance.safe_harbor import released_names
from shoal.compliance.side_doors import Rows
from shoal.conform import check_columns
from shoal.engine import PERSON, ROWS, Engine, Relation
from shoal.errors import ColumnError
from shoal.fact import Fact
from shoal.frame import enter
from shoal.recipe import written_column
from shoal.schema import Schema

__all__ = ["RewrittenRelation", "counted_columns", "is_first_step", "rewritten_on"]

_MOST_VALUES = 2_000_000  # different values of one column on the driver


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenRelation:
    """A relation after the first steps, its schema, what was done, and which columns held what.

    `removed` is judged over all rows, `always` holds whichever rows are left out later.
    """

    relation: Relation
    schema: Schema
    facts: tuple[Fact, ...] = ()
    removed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    always: Mapping[str, Sequence[str]] = field(default_factory=dict)


def is_first_step(step: object) -> bool:
    """Whether a method follows from the different values of each column alone."""
    return isinstance(step, SafeHarbor | LimitedDataSet)


def rewritten_on(engine: Engine, relation: Relation, schema: Schema, steps: Iterable[Coarsener]) -> RewrittenRelation:
    """The relation as the first steps write it."""
    check_columns(enter(pl.DataFrame(schema=dict(relation.types)).drop(PERSON, strict=False)), schema)
    now = RewrittenRelation(relation=relation, schema=schema)
    for step in steps:
        assert isinstance(step, SafeHarbor | LimitedDataSet)
        now = _after(engine, now, step)
    return now


def _after(engine: Engine, now: RewrittenRelation, step: SafeHarbor | LimitedDataSet) -> RewrittenRelation:
    counted = counted_columns(engine, now.relation, released_names(now.schema, step.allow))
    maps, held = step.apply_counted(now.schema, counted, _rows(engine, now, counted))
    columns = [
        written_column(now.schema[name], table["from"], table["to"], held.declared.get(name))
        for name, table in maps.items()
    ]
    return replace(
        now,
        relation=engine.recode(now.relation, maps, pl.DataFrame()) if maps else now.relation,
        schema=now.schema.with_columns(columns),
        facts=(*now.facts, *step.facts, *held.treatments),
        removed=_joined(now.removed, held.shown),
        always=_joined(now.always, held.always),
    )


def _joined(one: Mapping[str, Sequence[str]], other: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    return {title: [*one.get(title, ()), *other.get(title, ())] for title in (*one, *other)}


def _rows(engine: Engine, now: RewrittenRelation, counted: Mapping[str, pl.DataFrame]) -> Rows:
    """The rows as they are counted where side doors are looked for."""
    relation, unit = now.relation, now.schema.unit
    n = max((int(cells["count"].sum()) for cells in counted.values()), default=0)
    return Rows(
        n=n,
        n_people=n if unit is None else engine.distinct(relation, [unit])[unit],
        n_pairs=lambda one, other: engine.known(engine.count(relation, [one, other]), [])[ROWS],
        pairs=lambda one, other: engine.collect(engine.count(relation, [one, other])).select(one, other, ROWS),
    )


def counted_columns(engine: Engine, relation: Relation, names: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The different values of each column (``value``) with their rows (``count``)."""
    found = engine.value_counts(relation, [name for name in names if name in relation.types], _MOST_VALUES)
    for name, cells in found.items():
        if len(cells) > _MOST_VALUES:
            raise ColumnError(
                name,
                f"must have at most {_MOST_VALUES:,} different values on an engine to be looked through",
                hint="Round or shorten them, or allow the column (--allow) if you have looked and it names nobody.",
            )
    return {
        name: cells.select(pl.col(name).alias("value"), pl.col(ROWS).alias("count")) for name, cells in found.items()
    }
