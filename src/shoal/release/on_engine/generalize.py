"""Generalize on an engine: levels chosen on the driver from distinct combinations, applied to the rows where they are.

The distinct combinations of quasi-identifiers with their counts are all that comes to the driver; where a unit column
is named, persons are counted by the sets of combinations they have, since persons don't add over combinations. Every
class is counted again over all rows. What is claimed is what `shoal.coarsen` claims of the same table.

The driver needs some 320 bytes for each combination. While it works on them the engine gives back its own memory, so
that the two don't add; a run that would need more than the machine has free is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.canonical import canonical, plain
from shoal.coarsening import Generalize
from shoal.coarsening.coarsener import Coarsened
from shoal.condition.conditions import Counted
from shoal.conform import Prepared, as_written, check_columns, coded_as_text, prepare, unit_rule
from shoal.engine import GROUPED, PERSON, PERSONS, ROWS, Engine, Relation
from shoal.engine.choose import free_memory
from shoal.errors import ColumnError, GuaranteeError, InputError, SchemaError
from shoal.frame import as_text, enter, series
from shoal.recipe import Coarsening, Progress
from shoal.recipe.rules import refuse_rules
from shoal.release.claims import class_claims
from shoal.release.on_engine.anonymize import EngineMade, class_sizes, largest_share
from shoal.release.on_engine.conform import without_numbers
from shoal.release.on_engine.mix import kept_mixes
from shoal.risk.class_sizes import require_plain
from shoal.schema import Column, Schema

__all__ = ["generalize_relation"]

_MOST_COMBINATIONS = 30_000_000  # on the driver
_BYTES_OF_ONE = 320  # while levels are chosen, measured with eight quasi-identifiers
_MOST_CODES = 2**16


def generalize_relation(
    engine: Engine, relation: Relation, schema: Schema, method: Generalize, progress: Progress
) -> EngineMade:
    """Coarsen a relation by levels of its columns, and count its classes."""
    progress("checking the table")
    settled = _checked(engine, relation, schema)
    progress("coarsening")
    counted = engine.keep(engine.count(relation, _looked_at(method, settled)))
    with engine.resting():
        _check_room(engine, counted, settled)
        items = _items(engine, relation, counted, settled)
        done = method.apply_counted(items.prepared, items.counted)
    coded = _coded(engine, relation, settled, items, done)
    k, n_classes = class_sizes(engine, coded, settled.quasi, settled.unit)
    if k < method.k:
        raise GuaranteeError("Generalize", f"every class must hold at least {method.k} persons", got=f"{k}")
    mixes = kept_mixes(engine, coded, settled, method.diversity, method.closeness)
    share = largest_share(engine, coded, settled.quasi, settled.unit, k)
    return EngineMade(
        relation=coded,
        schema=settled,
        claims=class_claims(Coarsening.of(method), settled, share, mixes),
        facts=(*items.prepared.facts, *([unit_rule(schema.unit)] if schema.unit else []), *done.facts),
        class_columns=settled.quasi,
        n_groups=n_classes,
        k=k,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Items:
    """The distinct combinations as they came, as they are worked on, and what they stand for."""

    raw: pl.DataFrame
    prepared: Prepared
    counted: Counted


def _checked(engine: Engine, relation: Relation, schema: Schema) -> Schema:
    """The schema with all kinds settled; what an engine can't treat as memory does is refused."""
    require_plain(schema)
    refuse_rules(schema)
    check_columns(enter(pl.DataFrame(schema=dict(relation.types)).drop(PERSON, strict=False)), schema)
    if not schema.quasi:
        raise SchemaError("schema", "must name at least one quasi-identifier to coarsen")
    for column in schema.columns:
        by_rule = column.missing not in ("error", "level") and column.role in ("sensitive", "weight")
        if by_rule or (column.missing == "median" and column.role == "quasi"):
            raise ColumnError(
                column.name,
                "has a rule for missing numbers that needs the table in memory",
                hint='Fill them in the files, or use missing = "drop" or a number, which quasi-identifiers may have.',
            )
    others = [column for column in schema.columns if column.role in ("sensitive", "weight")]
    return schema.with_columns(_probed(engine, relation, column) for column in others)


def _probed(engine: Engine, relation: Relation, column: Column) -> Column:
    """Hold a column to its entry, by its extremes where it holds numbers and by its distinct values elsewhere."""
    name, dtype = column.name, relation.types[column.name]
    if dtype.is_numeric() and column.levels is None:
        values = engine.extremes(relation, [name])
    else:
        values = _different(engine, relation, name)
    checked = prepare(values, Schema((column,)))
    if not checked.schema[name].reasons and not series(checked.frame, name).equals(values[name]):
        raise ColumnError(name, "must have its levels as the schema spells them", hint="Correct either.")
    return checked.schema[name]


def _different(engine: Engine, relation: Relation, name: str) -> pl.DataFrame:
    return engine.collect(engine.select(engine.count(relation, [name]), [name]))


def _spelled(engine: Engine, relation: Relation, schema: Schema) -> Iterator[tuple[str, pl.DataFrame]]:
    """Sensitive columns of numbers with texts for an absence: each value, and as it is written."""
    for name in coded_as_text(schema):
        if name in schema.sensitive and not relation.types[name].is_numeric():
            raw = _different(engine, relation, name)
            shown = as_written(prepare(raw, Schema((schema[name],))).frame, schema)
            yield name, pl.DataFrame({"from": raw[name], "to": series(shown, name)})


def _looked_at(method: Generalize, schema: Schema) -> list[str]:
    """The columns that a choice of levels depends on."""
    mixed = method.diversity is not None or method.closeness is not None
    return [*schema.quasi, *(schema.sensitive if mixed else ())]


def _check_room(engine: Engine, counted: Relation, schema: Schema) -> None:
    """Refuse more combinations than the driver can hold."""
    n = int(engine.collect(engine.aggregate(counted, [], []))[GROUPED][0])
    what = "distinct combinations of quasi-identifiers"
    if len(counted.columns) > len(schema.quasi) + 2:
        what += " and sensitive values"
    hint = "Recode some columns first: round numbers, shorten codes."
    if n > _MOST_COMBINATIONS:
        raise InputError("table", f"must have at most {_MOST_COMBINATIONS:,} {what}", got=f"{n:,}", hint=hint)
    needed, free = n * _BYTES_OF_ONE, free_memory()
    if needed > free:
        got = f"{n:,}, for about {needed / 2**30:.1f} GiB where {free / 2**30:.1f} are free"
        raise InputError("table", f"must have no more {what} than fit in memory", got=got, hint=hint)


def _items(engine: Engine, relation: Relation, counted: Relation, schema: Schema) -> _Items:
    """The combinations on the driver, sorted."""
    names = [name for name in counted.columns if name not in (ROWS, PERSONS)]
    if schema.unit is None:
        raw, sets = engine.collect(counted), None
    else:
        raw, sets = engine.person_sets(relation, names, schema.unit)
    n, rows, prepared = len(raw), raw[ROWS].to_numpy(), _prepared(raw.select(names), schema)
    raw = _with_codes(raw.select(schema.quasi), schema.quasi)
    coded = enter(_with_codes(prepared.frame.to_polars(), schema.quasi))
    prepared = canonical(replace(prepared, frame=coded), coded=True)
    return _Items(raw=raw, prepared=prepared, counted=_counted(rows[prepared.rows], sets, prepared.rows, n))


def _with_codes(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Texts as codes, which take a byte or two each instead of 16; `as_text` gives them back."""
    return frame.with_columns(_coded_text(frame[name]) for name in names)


def _coded_text(column: pl.Series) -> pl.Series:
    known = column.drop_nulls().unique() if column.dtype == pl.String else column.head(0)
    return column.cast(pl.Enum(known.sort())) if 0 < len(known) <= _MOST_CODES else column


def _prepared(raw: pl.DataFrame, schema: Schema) -> Prepared:
    """Hold the combinations to the schema; numbers in an error would count combinations, not records."""
    with without_numbers():
        return prepare(raw, Schema(tuple(schema[name] for name in raw.columns)))


def _counted(rows: Any, sets: pl.DataFrame | None, kept: Any, n: int) -> Counted:
    """What each prepared item stands for; combinations that were dropped are nobody's."""
    if sets is None:
        return Counted(rows=rows)
    place = np.full(n, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    pairs = sets.with_row_index("group").explode("set")
    item = place[pairs["set"].to_numpy()]
    there = item >= 0
    group, persons = (pairs[name].to_numpy().astype(np.int64)[there] for name in ("group", PERSONS))
    return Counted(rows=rows, item=item[there], group=group, persons=persons)


def _coded(engine: Engine, relation: Relation, schema: Schema, items: _Items, done: Coarsened) -> Relation:
    """The rows that are kept, with their quasi-identifiers as they are written, and the unit."""
    if not done.kept.any():
        raise GuaranteeError("Generalize", "would leave no record", hint="Lower k or the suppression.")
    released = [name for name in relation.columns if name in schema.released or name in (schema.unit, *PERSON)]
    own = np.flatnonzero(done.kept)
    raw = items.raw[items.prepared.rows[own]]
    maps, shown = dict(_spelled(engine, relation, schema)), as_written(items.prepared.frame, items.prepared.schema)
    for name in schema.quasi:
        now = done.columns[name] if name in done.columns else series(shown, name)
        one = raw[name].arg_unique().to_numpy()
        table = pl.DataFrame({"from": as_text(raw[name].gather(one)), "to": plain(now.gather(own[one]))})
        if not table["from"].equals(table["to"]):
            maps[name] = table
    left_out = np.ones(len(items.raw), dtype=np.bool_)
    left_out[items.prepared.rows[own]] = False
    without = pl.DataFrame([as_text(column) for column in items.raw.filter(pl.Series(left_out)).unique()])
    chosen = engine.recode(engine.select(relation, released), maps, without)
    return engine.narrow(engine.keep(chosen), released)
