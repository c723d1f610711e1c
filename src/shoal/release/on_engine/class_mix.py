"""Groupers that look at classes (CREST, t-close spanning trees) on an engine.

The classes of the whole table are counted by the engine and told to every cell, so that a group is compared with all
records, not with its neighbours. A cell is the mixture of its groups and total variation is convex: a cell that is
farther from the table than t can't be cut into groups that are closer, so it joins its neighbour. The whole table is at
distance 0, so this ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from shoal.condition.overall import OverallMix
from shoal.condition.requirements import Closeness
from shoal.engine import ROWS, Engine, Relation
from shoal.group.mix import ClassGrouper, check_classes, check_counts, required_classes
from shoal.group.whole_classes import WholeClasses
from shoal.release.on_engine.mix import Mixes
from shoal.schema import Schema

__all__ = ["close_enough", "whole_classes"]


def whole_classes(
    engine: Engine, relation: Relation, schema: Schema, grouper: ClassGrouper, cell_rows: int
) -> WholeClasses:
    """Count the classes of a table, as a grouper needs them for cells of about `cell_rows` rows."""
    names = required_classes(schema, grouper.name)
    together = grouper.how_counted() == "compound"
    counted = [_counted(engine, relation, by) for by in ([names] if together else [[name] for name in names])]
    for name in names:
        check_classes(name, max(table[name].n_unique() for table in counted if name in table.columns))
    check_counts(grouper.name, 2 * cell_rows, sum(map(len, counted)))
    return WholeClasses(
        tables=tuple(table.drop(ROWS) for table in counted), counts=tuple(table[ROWS].to_numpy() for table in counted)
    )


def _counted(engine: Engine, relation: Relation, by: Sequence[str]) -> pl.DataFrame:
    """The combinations of some columns with their rows, in an order that is the same on every engine."""
    counted = engine.collect(engine.count(engine.select(relation, by), by))
    return counted.select(*by, ROWS).sort(by, nulls_last=True)


def close_enough(
    engine: Engine, whole: WholeClasses, t: float, cell: str
) -> Callable[[Relation], Callable[[Sequence[str]], bool]]:
    """Whether the rows at some paths, `cell` of a relation, are together within t of the whole table."""
    overall = {
        table.columns[0]: OverallMix(values=table.to_series(), counts=counts)
        for table, counts in zip(whole.tables, whole.counts, strict=True)
    }
    asked = Closeness(t=t, distance="equal")
    mixes = Mixes(diversity=None, closeness=asked, overall=overall, kinds=dict.fromkeys(overall))
    return mixes.holding(engine, cell, None)
