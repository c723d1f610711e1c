"""The gate of `shoal.release.gate` on an engine: columns are judged by some of their different values.

Whether values repeat is counted over all rows; what they look like is judged by at most 20,000 different ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from shoal.engine import ROWS, Engine, Relation
from shoal.recipe import Recipe
from shoal.release.gate import handed_on, leaving, naming_in, refuse, rewritten
from shoal.schema import Schema
from shoal.schema.judgement.judgement import Judgement

__all__ = ["check_leaving_on", "check_written_on", "naming_written_on"]

_MOST = 20_000  # different values that are judged


def check_leaving_on(engine: Engine, relation: Relation, schema: Schema, recipe: Recipe, allowed: set[str]) -> None:
    """Refuse columns that name people and would leave as they came."""
    texts = [] if recipe.rewrites_quasi else [n for n in rewritten(schema) if relation.types.get(n) == pl.String]
    names = [name for name in (*leaving(schema), *texts) if name in relation.types and name not in allowed]
    refuse(naming_in(counted_on(engine, relation, names)), allowed)


def check_written_on(
    engine: Engine, before: Relation, after: Relation, schema: Schema, recipe: Recipe, allowed: set[str]
) -> None:
    """Refuse what names people in a finished table, and quasi-identifiers of which original cells are in it."""
    found = naming_written_on(engine, after, schema, allowed, of_people=recipe.is_of_people)
    if recipe.is_of_people:
        names = [n for n in rewritten(schema) if n in before.types and n in after.types and n not in allowed]
        known = counted_on(engine, before, names)
        named = naming_in(known)
        written = counted_on(engine, after, list(named))
        found |= {n: made for n, made in named.items() if handed_on(known[n]["value"], written[n]["value"])}
    refuse(found, allowed)


def naming_written_on(
    engine: Engine, after: Relation, schema: Schema, allowed: set[str], *, of_people: bool
) -> dict[str, Judgement]:
    """The columns of a finished table that name people, by their written cells."""
    kept = leaving(schema) if of_people else []
    there = [c for c in schema.released.columns if c.name in after.types and not c.pseudonym]
    texts = [c.name for c in there if c.role != "weight" and after.types[c.name] == pl.String]
    names = [c.name for c in there if (c.name in kept or c.name in texts) and c.name not in allowed]
    return naming_in(counted_on(engine, after, names))


def counted_on(engine: Engine, relation: Relation, names: Sequence[str]) -> dict[str, pl.DataFrame]:
    """Different values of each column (``value``) with their rows (``count``), some of them where there are many."""
    found = engine.value_counts(relation, list(names), _MOST)
    return {
        name: cells.select(pl.col(name).alias("value"), pl.col(ROWS).alias("count")).drop_nulls("value")
        for name, cells in found.items()
    }
