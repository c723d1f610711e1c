"""A release of an engine under a preset: its rules, from counts over all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from shoal.compliance.presets import MOST_LEVELS, Check, Counts, Preset, removed_by_name
from shoal.engine import GROUPED, ROWS, Engine, Relation
from shoal.method import Method
from shoal.release.on_engine.anonymize import EngineMade
from shoal.release.on_engine.first_steps import counted_columns
from shoal.release.preset_rules import given_year, preset_facts, require_held
from shoal.schema import Schema

__all__ = ["counts_of", "findings_on", "held_to_preset"]


def held_to_preset(
    engine: Engine,
    made: EngineMade,
    preset: Preset,
    *,
    accept: bool,
    n_rows: int,
    methods: Sequence[Method] = (),
    removed: Mapping[str, Sequence[str]] | None = None,
) -> EngineMade:
    """Hold a release of `n_rows` original rows to the rules of a preset; what was found is among its facts.

    `methods` are those that were run, `removed` the columns that were rewritten, by what they held.
    """
    allowed = {name for method in methods for name in getattr(method, "allow", ())}
    known = {
        "n_left_out": n_rows - engine.known(made.relation, [])[ROWS],
        "bound": next((claim.value for claim in made.claims if claim.kind == "re-identification bound"), None),
        "year": given_year(methods),
        "removed": _removed(made, removed or {}),
    }
    schema = Schema(tuple(column for column in made.schema.columns if column.name not in allowed))
    checks = findings_on(engine, made.relation, schema, preset, known)
    require_held(preset, checks, accept=accept)
    return replace(made, facts=(*made.facts, *preset_facts(preset, checks, allowed)))


def findings_on(
    engine: Engine, relation: Relation, schema: Schema, preset: Preset, known: Mapping[str, Any]
) -> tuple[Check, ...]:
    """The rules of a preset, held against a released table; `known` are further fields of `Finished`."""
    if preset.counts_only:
        counts = counts_of(engine, relation, schema, preset)
        return preset.counted_findings(replace(counts, n_left_out=known.get("n_left_out"), bound=known.get("bound")))
    empty = pl.DataFrame(schema={name: dtype for name, dtype in relation.types.items() if name in schema})
    shown = [c.name for c in schema.released.columns if c.role != "weight"]
    return preset.findings(empty, schema, **known, counted=counted_columns(engine, relation, shown))


def _removed(made: EngineMade, rewritten: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    dropped = removed_by_name(c.name for c in made.schema.declared if c.name not in made.schema.released)
    titles = dict.fromkeys((*dropped, *rewritten))
    return {title: [*dropped.get(title, ()), *rewritten.get(title, ())] for title in titles}


def counts_of(engine: Engine, relation: Relation, schema: Schema, preset: Preset) -> Counts:
    """What a released table shows: its classes, and the levels that few people have."""
    shown = [c.name for c in schema.released.columns if c.role != "weight" and c.name in relation.columns]
    sizes = _sizes(engine, relation, [name for name in schema.quasi if name in shown])
    small = sizes.filter(pl.col(ROWS) < preset.k)
    return Counts(
        k=int(sizes[ROWS].min() or 0),  # type: ignore[arg-type]
        n_small=int((small[ROWS] * small[GROUPED]).sum()),
        rare={name: _rare_levels(engine, relation, name, preset.k) for name in shown},
    )


def _rare_levels(engine: Engine, relation: Relation, name: str, k: int) -> int:
    dtype = relation.types[name]
    if dtype.is_float() or (dtype.is_integer() and engine.distinct(relation, [name])[name] > MOST_LEVELS):
        return 0
    nothing = pl.DataFrame({name: [None]}, schema={name: dtype})
    sizes = _sizes(engine, engine.recode(engine.select(relation, [name]), {}, nothing), [name])
    return int(sizes.filter(pl.col(ROWS) < k)[GROUPED].sum())


def _sizes(engine: Engine, relation: Relation, by: list[str]) -> pl.DataFrame:
    """How many combinations there are of each number of rows."""
    return engine.collect(engine.aggregate(engine.select(engine.count(relation, by), [ROWS]), [ROWS], []))
