"""Who the rows of an engine belong to: no identifier stands for nobody, and nobody lives in two households.

The rules of one machine (`shoal.schema.placeholder_ids`, `shoal.conform`), decided once over all rows: a batch of them
knows neither the lowest identifier nor the one with the most rows. Identifiers stay with the engine; what comes to the
driver are those that speak of nobody and, only where there are some, the others as numbers. Where these are more than
ten million, the usual step between them is taken to be their mean one.
"""

from __future__ import annotations

import polars as pl

from shoal.conform import names_of, torn_home
from shoal.engine import ROWS, Engine, Relation
from shoal.errors import Problems
from shoal.pseudonym.pseudonyms import EMPTY_TOKENS
from shoal.schema import Schema
from shoal.schema.placeholder_ids import (
    OtherIds,
    ids_as_texts,
    n_like_nobody,
    refuse_placeholders,
    speaks_of_nobody,
)

__all__ = ["check_people"]

_MOST_IDS = 10_000_000  # on the driver


def check_people(engine: Engine, relation: Relation, schema: Schema) -> None:
    """Refuse identifiers that name nobody, and persons in two households; all problems are named at once."""
    tokens = [(name, "token", EMPTY_TOKENS) for name in schema.pseudonym]
    named = {name: (name, *rest) for name, *rest in (*names_of(schema), *tokens) if name in relation.types}
    problems = Problems()
    problems.each(lambda one: _check(engine, relation, *one), named.values())
    homes = [name for name in (schema.household,) if name in relation.types and schema.unit in relation.types]
    problems.each(lambda home: _check_homes(engine, relation, str(schema.unit), str(home)), homes)
    problems.raise_if_any()


def _check(engine: Engine, relation: Relation, name: str, what: str, remedy: str) -> None:
    counted = engine.keep(engine.count(engine.select(relation, [name]), [name]))
    types = {"id": pl.String(), "len": pl.Int64()}
    suspects = engine.add_up(counted, lambda rows: _texts(rows, name, nobodys=True), types, ["id"])
    if len(suspects):
        others = _others(engine, counted, name)
        refuse_placeholders(name, 0 if others is None else n_like_nobody(suspects, others), what, remedy)


def _texts(rows: pl.DataFrame, name: str, *, nobodys: bool) -> pl.DataFrame:
    known = rows.drop_nulls(name)
    ids = ids_as_texts(known[name])
    speaks = speaks_of_nobody(ids)
    return pl.DataFrame({"id": ids, "len": known[ROWS].cast(pl.Int64)}).filter(speaks if nobodys else ~speaks)


def _others(engine: Engine, counted: Relation, name: str) -> OtherIds | None:
    """What must be known of the identifiers that speak of somebody; None where there are none."""
    types = {"value": pl.Float64(), "len": pl.Int64()}

    def batch(rows: pl.DataFrame) -> pl.DataFrame:
        ids = _texts(rows, name, nobodys=False)
        return ids.select(pl.col("id").cast(pl.Float64, strict=False).alias("value"), "len")

    numbers = engine.map(counted, batch, types)
    known = engine.known(numbers, ["value"])
    if known[ROWS] == 0:
        return None
    low, high = engine.extremes(numbers, ["value", "len"]).rows()
    if known["value"] < known[ROWS]:
        return OtherIds(low=None, high=None, step=None, most_rows=high[1])
    step = _step(engine, numbers, known[ROWS], high[0] - low[0])
    return OtherIds(low=low[0], high=high[0], step=step, most_rows=high[1])


def _step(engine: Engine, numbers: Relation, n: int, span: float) -> float | None:
    if n > _MOST_IDS:
        return span / (n - 1)
    found = engine.collect(engine.select(numbers, ["value"]))["value"].unique().sort().diff().median()
    return None if found is None else float(found)  # type: ignore[arg-type]


def _check_homes(engine: Engine, relation: Relation, unit: str, home: str) -> None:
    pairs = engine.select(engine.count(engine.select(relation, [unit, home]), [unit, home]), [unit, home])
    for name in (unit, home):
        pairs = engine.recode(pairs, {}, pl.DataFrame({name: [None]}, schema={name: relation.types[name]}))
    pairs = engine.keep(pairs)
    if engine.known(pairs, [])[ROWS] > engine.distinct(pairs, [unit])[unit]:
        raise torn_home(home)
