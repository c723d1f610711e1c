"""Generalize on an engine: levels chosen on the driver from distinct combinations, applied to the rows where they are.

The distinct combinations of quasi-identifiers with their counts are all that comes to the driver; where a unit column
is named, persons are counted by the sets of combinations they have, since persons don't add over combinations. Every
class is counted again over all rows. What is claimed is what `shoal.coarsen` claims of the same table.

The driver holds a combination as numbers, a few bytes for each column (`shoal.coarsening.coded_table`). While it works
on them the engine gives back its own memory, so that the two don't add; a run that would need more than the memory
limit leaves, or than the machine has free, is refused before anything is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from shoal.canonical import plain
from shoal.coarsening import Generalize
from shoal.coarsening.coded_table import CoarsenedValues
from shoal.conform import as_written, check_columns, coded_as_text, prepare, unit_rule
from shoal.engine import PERSON, ROWS, Engine, Relation
from shoal.errors import ColumnError, GuaranteeError, InputError, SchemaError
from shoal.fact import Fact
from shoal.frame import enter, series
from shoal.recipe import Coarsening, Progress
from shoal.recipe.rules import refuse_rules
from shoal.release.claims import class_claims
from shoal.release.on_engine.anonymize import EngineMade, class_sizes, largest_share
from shoal.release.on_engine.combinations import FetchedTable, fetch
from shoal.release.on_engine.mix import kept_mixes
from shoal.risk.class_sizes import require_plain
from shoal.schema import Column, Schema
from shoal.utility.suppressed import SuppressionLoss

__all__ = ["generalize_relation"]

_MOST_COMBINATIONS = 30_000_000  # on the driver
_BYTES_OF_ONE, _BYTES_OF_A_CELL = 70, 6  # while levels are chosen, measured
_MIXED = 3  # times as much where sensitive values or sets of persons are counted


def generalize_relation(
    engine: Engine, relation: Relation, schema: Schema, method: Generalize, progress: Progress
) -> EngineMade:
    """Coarsen a relation by levels of its columns, and count its classes."""
    progress("checking the table")
    settled = _checked(engine, relation, schema)
    progress("coarsening")
    names = _looked_at(method, settled)
    counted = engine.keep(engine.count(relation, names))
    with engine.resting():
        _check_room(engine, counted, names, settled)
        chosen = _chosen(engine, relation, counted, names, settled, method)
    coded = _coded(engine, relation, settled, chosen)
    k, n_classes = class_sizes(engine, coded, settled.quasi, settled.unit)
    if k < method.k:
        raise GuaranteeError("Generalize", f"every class must hold at least {method.k} persons", got=f"{k}")
    mixes = kept_mixes(engine, coded, settled, method.diversity, method.closeness)
    share = largest_share(engine, coded, settled.quasi, settled.unit, k)
    return EngineMade(
        relation=coded,
        schema=settled,
        claims=class_claims(Coarsening.of(method), settled, share, mixes),
        facts=chosen.facts,
        class_columns=settled.quasi,
        n_groups=n_classes,
        k=k,
        suppression=chosen.suppression,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chosen:
    """What is written for the values of each column, and which combinations are left out, as they came."""

    maps: Mapping[str, pl.DataFrame]
    without: pl.DataFrame
    facts: tuple[Fact, ...]
    suppression: SuppressionLoss | None


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


def _check_room(engine: Engine, counted: Relation, names: Sequence[str], schema: Schema) -> None:
    """Refuse more combinations than the driver can hold."""
    n, what = int(engine.known(counted, [])[ROWS]), "distinct combinations of quasi-identifiers"
    if len(names) > len(schema.quasi):
        what += " and sensitive values"
    hint = "Recode some columns first: round numbers, shorten codes."
    if n > _MOST_COMBINATIONS:
        raise InputError("table", f"must have at most {_MOST_COMBINATIONS:,} {what}", got=f"{n:,}", hint=hint)
    mixed = len(names) > len(schema.quasi) or schema.unit is not None
    needed, room = (
        n * (_BYTES_OF_ONE + _BYTES_OF_A_CELL * len(names)) * (_MIXED if mixed else 1),
        engine.driver_memory(),
    )
    if needed > room:
        got = f"{n:,}, for about {needed / 2**30:.1f} GiB where {max(0, room) / 2**30:.1f} are left"
        hint = f"Raise --memory, on a machine that has it. {hint}"
        raise InputError("table", f"must have no more {what} than fit in memory", got=got, hint=hint)


def _chosen(
    engine: Engine, relation: Relation, counted: Relation, names: Sequence[str], schema: Schema, method: Generalize
) -> _Chosen:
    """Choose the levels; of all combinations, only those that are left out outlive it."""
    fetched = fetch(engine, relation, counted, names, schema)
    done = method.apply_counted(fetched.table)
    if not done.kept.any():
        raise GuaranteeError("Generalize", "would leave no record", hint="Lower k or the suppression.")
    own = [unit_rule(schema.unit)] if schema.unit else []
    maps = dict(_recodings(fetched, done))
    return _Chosen(
        maps=maps,
        without=fetched.without(done.kept),
        facts=(*fetched.facts, *own, *done.facts),
        suppression=fetched.suppression(done.kept),
    )


def _recodings(fetched: FetchedTable, done: CoarsenedValues) -> Iterator[tuple[str, pl.DataFrame]]:
    """For each quasi-identifier that changes, each value and as it is written."""
    table = fetched.table
    for name in table.schema.quasi:
        own = as_written(enter(table.values[name].to_frame(name)), table.schema)
        labels = done.labels[name] if name in done.labels else series(own, name)
        before, after = fetched.recoding(name, labels, done.kept)
        recoding = pl.DataFrame({"from": before, "to": plain(after)})
        if not recoding["from"].equals(recoding["to"]):
            yield name, recoding


def _coded(engine: Engine, relation: Relation, schema: Schema, chosen: _Chosen) -> Relation:
    """The rows that are kept, with their quasi-identifiers as they are written, and the unit."""
    shown = schema.released
    released = [name for name in relation.columns if name in shown or name in (schema.unit, *PERSON)]
    maps = {**dict(_spelled(engine, relation, schema)), **chosen.maps}
    recoded = engine.recode(engine.select(relation, released), maps, chosen.without)
    return engine.narrow(engine.keep(recoded), released)
