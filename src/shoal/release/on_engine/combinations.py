"""The distinct combinations of a table on the driver, as numbers: fetched in batches, held to the schema by column.

What is done about a value depends on its column alone, so the different values of each column are prepared once, with
the records that have each; combinations are then numbers throughout. Only which combinations are left out for a missing
value takes all columns, and what is left out has no part in what follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, BoolArray, IntArray
from shoal.canonical import as_declared
from shoal.coarsening.coded_table import CodedTable, order_of
from shoal.coarsening.hierarchy import distinct_values
from shoal.coarsening.lattice_nodes import narrow_type
from shoal.condition.conditions import Counted
from shoal.conform import Prepared, prepare
from shoal.engine import PERSONS, ROWS, Engine, Relation
from shoal.errors import InputError, Problems
from shoal.fact import Fact
from shoal.frame import series
from shoal.release.on_engine.conform import without_numbers
from shoal.schema import Schema
from shoal.utility.suppressed import SuppressionLoss, loss_of, told_by

__all__ = ["FetchedTable", "fetch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedTable:
    """Combinations as they are worked on, and how to find them again among the rows.

    Parameters
    ----------
    table
        The combinations that are worked on.
    raw, raw_codes
        The different values of each column as they came, and of each combination the places of its values among them.
    lookup
        The place among the table's values of each value as it came; −1 for those that nobody left has.
    dropped, dropped_rows
        The same as `raw_codes` for combinations that are left out because a value is missing, and the rows of each.
    facts
        What was done.
    """

    table: CodedTable
    raw: Mapping[str, pl.Series] = field(repr=False)
    raw_codes: AnyArray = field(repr=False)
    lookup: Mapping[str, IntArray] = field(repr=False)
    dropped: AnyArray = field(repr=False)
    dropped_rows: IntArray = field(repr=False)
    facts: tuple[Fact, ...]

    def without(self, kept: BoolArray) -> pl.DataFrame:
        """The combinations of quasi-identifiers, as they came, that are not among the `kept`."""
        names = self.table.schema.quasi
        codes = np.concatenate([self.raw_codes[~kept], self.dropped])[:, : len(names)]
        if len(self.raw) > len(names):
            codes = np.unique(codes, axis=0)
        return pl.DataFrame([self.raw[name].gather(codes[:, j]) for j, name in enumerate(names)])

    def suppression(self, kept: BoolArray) -> SuppressionLoss | None:
        """What a release of the `kept` combinations loses, by level of every quasi-identifier."""
        codes, rows = self.raw_codes, self.table.counted.rows.astype(np.float64)
        if kept.all() and not len(self.dropped):
            return None
        before = np.concatenate([codes, self.dropped])
        weights = np.concatenate([rows, self.dropped_rows.astype(np.float64)])
        columns = [
            told_by(self.table.schema[name], self.raw[name], before[:, j], codes[kept, j], weights)
            for j, name in enumerate(self.table.schema.quasi)
        ]
        return loss_of(columns, weights, rows[kept])

    def recoding(self, name: str, labels: pl.Series, kept: BoolArray) -> tuple[pl.Series, pl.Series]:
        """The values of a quasi-identifier that the `kept` combinations have, and the labels of these."""
        seen: BoolArray = np.zeros(len(self.raw[name]), dtype=np.bool_)
        seen[self.raw_codes[kept, self.table.schema.quasi.index(name)]] = True
        own = np.flatnonzero(seen)
        return self.raw[name].gather(own), labels.gather(self.lookup[name][own])


def fetch(engine: Engine, relation: Relation, counted: Relation, names: Sequence[str], schema: Schema) -> FetchedTable:
    """Bring the combinations of `names` to the driver; `counted` has them, with their rows."""
    values = {name: _different(engine, counted, name) for name in names}
    raw = {name: frame[name] for name, frame in values.items()}
    prepared, facts, settled = _prepared(values, schema)
    if schema.unit is None:
        n = int(engine.known(counted, [])[ROWS])
        codes, rows = _coded(engine.batches(counted), raw, n)
        sets = None
    else:
        frame, sets = engine.person_sets(relation, names, schema.unit)
        codes, rows = _coded(frame.iter_slices(100_000), raw, len(frame))
    return _sorted(codes, rows, sets, raw, prepared, settled, facts)


def _different(engine: Engine, counted: Relation, name: str) -> pl.DataFrame:
    """The different values of a column in order, with the records that have each."""
    found = engine.collect(engine.aggregate(counted, [name], [ROWS]))
    return found.select(name, ROWS).sort(name, nulls_last=True)


def _prepared(
    values: Mapping[str, pl.DataFrame], schema: Schema
) -> tuple[Mapping[str, Prepared], tuple[Fact, ...], Schema]:
    """The values of each column, held to the schema; numbers in an error would count values, not records."""
    problems = Problems([])
    with without_numbers():
        made = problems.each(
            lambda name: prepare(
                values[name].select(name), Schema((schema[name],)), records=values[name][ROWS].to_numpy()
            ),
            values,
        )
        problems.raise_if_any()
    prepared = dict(zip(values, made, strict=True))
    in_order = [prepared[column.name] for column in schema.columns if column.name in prepared]
    facts = tuple(fact for one in in_order for fact in one.facts)
    return prepared, facts, schema.with_columns(column for one in in_order for column in one.schema.columns)


def _coded(batches: Iterable[pl.DataFrame], raw: Mapping[str, pl.Series], n: int) -> tuple[AnyArray, IntArray]:
    """Combinations as places of their values, and their rows."""
    tables = {name: values.to_frame().with_row_index("#") for name, values in raw.items()}
    codes = np.empty((n, len(raw)), dtype=narrow_type(max(map(len, raw.values()))))
    rows = np.empty(n, dtype=np.int64)
    end = 0
    for batch in batches:
        start, end = end, end + len(batch)
        rows[start:end] = batch[ROWS].to_numpy()
        for j, (name, table) in enumerate(tables.items()):
            found = batch.select(name).join(table, on=name, how="left", nulls_equal=True, maintain_order="left")
            codes[start:end, j] = found["#"].to_numpy()
    return codes, rows


def _sorted(
    codes: AnyArray,
    rows: IntArray,
    sets: pl.DataFrame | None,
    raw: Mapping[str, pl.Series],
    prepared: Mapping[str, Prepared],
    schema: Schema,
    facts: tuple[Fact, ...],
) -> FetchedTable:
    """The combinations that are left, in the order of their values."""
    kept = _left(codes, raw, prepared)
    own = None if kept.all() else np.flatnonzero(kept)
    left = codes if own is None else codes[own]
    lookup, values = _looked_up(left, raw, prepared, schema)
    same = all(np.array_equal(of, np.arange(len(of))) for of in lookup.values())
    new = left if same else _translated(left, lookup, values)
    order = order_of(new, [len(of) for of in values.values()])
    place = order if own is None else own[order]
    table = CodedTable(
        schema=schema, values=values, codes=new[order], counted=_counted(rows[place], sets, place, len(codes))
    )
    return FetchedTable(
        table=table,
        raw=raw,
        raw_codes=table.codes if same else left[order],
        lookup=lookup,
        dropped=codes[~kept] if own is not None else codes[:0],
        dropped_rows=rows[~kept],
        facts=facts,
    )


def _left(codes: AnyArray, raw: Mapping[str, pl.Series], prepared: Mapping[str, Prepared]) -> BoolArray:
    """Which combinations no column's rule for missing values leaves out."""
    kept: BoolArray = np.ones(len(codes), dtype=np.bool_)
    for j, name in enumerate(raw):
        if prepared[name].n < len(raw[name]):
            there: BoolArray = np.zeros(len(raw[name]), dtype=np.bool_)
            there[prepared[name].rows] = True
            kept &= there[codes[:, j]]
    if not kept.any():
        rule = "must have at least one row after those with missing numbers are dropped"
        raise InputError("table", rule, got="0 rows")
    return kept


def _looked_up(
    codes: AnyArray, raw: Mapping[str, pl.Series], prepared: Mapping[str, Prepared], schema: Schema
) -> tuple[dict[str, IntArray], dict[str, pl.Series]]:
    """The values that combinations have, in plain types and in order, and the place of each raw value among them."""
    lookup, values = {}, {}
    for j, name in enumerate(raw):
        seen: BoolArray = np.zeros(len(raw[name]), dtype=np.bool_)
        seen[codes[:, j]] = True
        place = np.full(len(raw[name]), -1)
        place[prepared[name].rows] = np.arange(prepared[name].n)
        own = np.flatnonzero(seen)
        content = as_declared(series(prepared[name].frame, name).gather(place[own]), schema[name])
        lookup[name] = np.full(len(raw[name]), -1)
        lookup[name][own], values[name] = distinct_values(content)
    return lookup, values


def _translated(codes: AnyArray, lookup: Mapping[str, IntArray], values: Mapping[str, pl.Series]) -> AnyArray:
    new = np.empty(codes.shape, dtype=narrow_type(max(map(len, values.values()))))
    for j, of in enumerate(lookup.values()):
        new[:, j] = of[codes[:, j]]
    return new


def _counted(rows: IntArray, sets: pl.DataFrame | None, place: IntArray, n: int) -> Counted:
    """What each combination stands for; `place` is where each was when it came. Those left out are nobody's."""
    if sets is None:
        return Counted(rows=rows)
    item_of = np.full(n, -1, dtype=np.int64)
    item_of[place] = np.arange(len(place))
    pairs = sets.with_row_index("group").explode("set")
    item = item_of[pairs["set"].to_numpy()]
    there = item >= 0
    group, persons = (pairs[name].to_numpy().astype(np.int64)[there] for name in ("group", PERSONS))
    return Counted(rows=rows, item=item[there], group=group, persons=persons)
