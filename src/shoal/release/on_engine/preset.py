"""A release of an engine under a preset that only counts: its rules, from counts over all rows."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from shoal.compliance.presets import MOST_LEVELS, Counts, Preset
from shoal.engine import GROUPED, ROWS, Engine, Relation
from shoal.errors import ParameterError
from shoal.release.on_engine.anonymize import EngineMade
from shoal.release.preset_rules import preset_facts, require_held
from shoal.schema import Schema

__all__ = ["check_preset", "counts_of", "held_to_preset"]


def check_preset(preset: Preset | None) -> None:
    """Refuse a preset that looks at every cell."""
    if preset is not None and not preset.counts_only:
        raise ParameterError(
            "--preset",
            f"{preset.name} looks at every cell and needs the table in memory",
            hint="Choose one that counts (cms, public-11, ...), or apply it to the files first, in memory.",
        )


def held_to_preset(engine: Engine, made: EngineMade, preset: Preset, accept: bool, n_rows: int) -> EngineMade:
    """Hold a release of `n_rows` original rows to the rules of a preset; what was found is among its facts."""
    n_left_out = n_rows - engine.known(made.relation, [])[ROWS]
    bound = next((claim.value for claim in made.claims if claim.kind == "re-identification bound"), None)
    counts = counts_of(engine, made.relation, made.schema, preset)
    checks = preset.counted_findings(replace(counts, n_left_out=n_left_out, bound=bound))
    require_held(preset, checks, accept=accept)
    return replace(made, facts=(*made.facts, *preset_facts(preset, checks)))


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
