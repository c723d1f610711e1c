"""A release under a preset: its first steps, its rules on the finished table, and how it is recorded.

A chain of coarseners holds the steps of its preset itself. Before groups and masks they are applied to the table, so
everything that follows, and every measure, sees the rewritten table. A synthesizer draws from the public domain that
the schema declares: that domain, and then the drawn rows, are held to the rules; the private table has no part in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.coarsening import Coarsener
from shoal.compliance import preset as find_preset
from shoal.compliance.free_text import check_free_text
from shoal.compliance.presets import PRESETS, Check, Preset, removed_by_name
from shoal.conform import Prepared, check_columns
from shoal.errors import GuaranteeError, ParameterError
from shoal.fact import Fact, Step
from shoal.frame import adopt, enter, leave, series, with_columns
from shoal.method import Method
from shoal.recipe import Recipe, read_recipe, written_column
from shoal.recipe.recipe import method_words
from shoal.release.claims import proved_bound
from shoal.release.release import Release
from shoal.schema import Column, LinkedSchema, LinkedTable, Schema

__all__ = [
    "Rewritten",
    "after_step",
    "first_steps",
    "free_text",
    "held_to",
    "preset_facts",
    "preset_for",
    "preset_words",
    "read_preset",
    "require_held",
    "shown",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """A table after the first steps of its preset, with its schema and what was done."""

    table: Any
    schema: Schema
    facts: tuple[Fact, ...] = ()
    steps: tuple[Step, ...] = ()


def preset_for(preset: str | Preset | None, recipe: Recipe) -> Preset | None:
    """The preset that is asked for, if a recipe of this kind can be held to it."""
    found = find_preset(preset) if isinstance(preset, str) else preset
    if found is not None and not recipe.is_of_people and found.k > 1:
        others = ", ".join(one.name for one in PRESETS.values() if one.k == 1)
        raise ParameterError(
            f"preset {found.name}",
            "counts persons who share their quasi-identifiers, and synthetic rows are nobody's",
            hint=f"Hold a synthesis to its epsilon, or to one of {others}.",
        )
    return found


def free_text(
    table: Any, schema: Schema | LinkedSchema, preset: Preset | None, recipe: Recipe, allow: Sequence[str]
) -> tuple[Fact, ...]:
    """Refuse free text that would be released as it stands; what a person has allowed is noted, for inside.

    A column of linked tables is allowed by its name, or as ``TABLE.COLUMN``.
    """
    if not recipe.is_of_people:
        return ()
    steps = (*recipe.methods, *(() if preset is None else preset.first))
    allowed = {*allow, *(name for step in steps for name in getattr(step, "allow", ()))}
    if isinstance(schema, LinkedSchema):
        texts = [text for one in schema.tables for text in _of_linked(table, one, recipe, allowed)]
    else:
        texts = list(check_free_text(table, shown(schema, recipe), allowed))
    return tuple(Fact(says="{column}: free text stays, as a person has said so", column=name) for name in texts)


def _of_linked(tables: Any, table: LinkedTable, recipe: Recipe, allowed: set[str]) -> tuple[str, ...]:
    if not isinstance(tables, Mapping) or table.name not in tables:
        return ()  # said when the tables are held to their schema
    own = {name.removeprefix(f"{table.name}.") for name in allowed}
    columns = shown(table.columns, recipe if table.parent is None else None)
    return check_free_text(tables[table.name], columns, own)


def shown(schema: Schema, recipe: Recipe | None) -> list[str]:
    """The columns whose cells a release may hold as they came."""
    rewritten = {"quasi"} if recipe is not None and recipe.rewrites_quasi else set()
    return [c.name for c in schema.released.columns if c.role not in {"weight", *rewritten} and not c.pseudonym]


def first_steps(table: Any, schema: Schema, preset: Preset | None, recipe: Recipe) -> Rewritten:
    """The table as the recipe gets it: rewritten by the preset's own steps, where the recipe doesn't hold them."""
    if preset is None or recipe.has_preset_steps:
        return Rewritten(table=table, schema=schema)
    if not recipe.is_of_people:
        _check_domain(preset, schema)
        return Rewritten(table=table, schema=schema)
    done = Rewritten(table=table, schema=schema)
    for step in preset.first:
        done = after_step(done, step)
    return done


def after_step(now: Rewritten, step: Coarsener) -> Rewritten:
    """The table after one step of a preset, with its schema and what the step has to say."""
    frame = enter(now.table)
    check_columns(frame, now.schema)
    n = len(frame)
    made = step.apply(Prepared(frame=frame, schema=now.schema, rows=np.arange(n), n_original=n), 0)
    new = {name: adopt(content, frame) for name, content in made.columns.items()}
    columns = [written_column(now.schema[name], series(frame, name), made.columns[name]) for name in new]
    return Rewritten(
        table=leave(with_columns(frame, new), like=now.table),
        schema=now.schema.with_columns(columns),
        facts=(*now.facts, *made.facts, *([_MEASURED] if new else [])),
        steps=(*now.steps, Step(name=step.name, details=made.details, outside=made.outside)),
    )


_MEASURED = Fact(says="risk and utility are measured against the table after the preset's own steps", outside=True)


def _check_domain(preset: Preset, schema: Schema) -> None:
    """Refuse a public domain that lets what the preset forbids be drawn, before anything is charged."""
    domains = [(column, _domain(column)) for column in schema.released.columns if column.role != "weight"]
    failed = [
        check
        for column, values in domains
        if values is not None
        for check in preset.findings(values.to_frame(), Schema((column,)), year=_given_year(preset.first))
        if check.outcome == "found"
    ]
    if failed:
        raise GuaranteeError(
            f"preset {preset.name}",
            f"forbids {'; '.join(dict.fromkeys(check.rule for check in failed))}",
            got=f"a public domain that holds it: {'; '.join(check.words for check in failed)}",
            hint="Give these columns the role identifier, or declare coarser levels and bounds (years, ages up to 90).",
        )


def _domain(column: Column) -> pl.Series | None:
    """The declared levels or bounds of a column as values."""
    values = column.levels or column.bounds
    return None if values is None else pl.Series(column.name, list(values), strict=False)


def held_to(release: Release, preset: Preset, *, accept: bool) -> Release:
    """Hold a release to the rules of a preset; what was found is among its facts."""
    from shoal.release.linked_presets import checks_of_events, not_looked_at

    methods = (*preset.first, *release.recipe.methods)
    allowed = {name for method in methods for name in getattr(method, "allow", ())}
    unseen = allowed if release.linked is None else not_looked_at(release.linked.schema.persons, allowed)
    own = release.labels[release.prepared.rows]
    year = _given_year(methods)
    found = preset.findings(
        release.frame,
        Schema(tuple(column for column in release.schema.columns if column.name not in unseen)),
        n_left_out=int((release.labels < 0).sum()),
        year=year,
        removed=_removed(release),
        bound=proved_bound(release.recipe, release.prepared, own) if preset.k > 1 else None,
    )
    checks = (*found, *checks_of_events(release, preset, year=year, allowed=allowed))
    require_held(preset, checks, accept=accept)
    return replace(release, facts=(*release.facts, *preset_facts(preset, checks, allowed)), preset=preset)


def require_held(preset: Preset, checks: Sequence[Check], *, accept: bool) -> None:
    """Refuse a release that fails a rule which nobody has accepted."""
    failed = [check for check in checks if not check.holds]
    if failed and not accept:
        raise GuaranteeError(
            f"preset {preset.name}",
            f"wants {'; '.join(_requirement(check) for check in failed)}",
            got="; ".join(check.words for check in failed),
            hint="Give the columns another role or coarsen them; allow those that merely look like identifiers "
            "(--allow), or accept the findings (--accept).",
        )


def _requirement(check: Check) -> str:
    return check.rule if check.outcome is None else f"no {check.rule}"


def _given_year(methods: Iterable[Method]) -> int | None:
    years = (getattr(method, "year", None) for method in methods)
    return next((year for year in years if year is not None), None)


def _removed(release: Release) -> dict[str, list[str]]:
    """What was dropped, by its name, and what the steps rewrote, by what it held: nothing of the dropped values."""
    shown = release.frame.columns
    removed = removed_by_name(column.name for column in release.declared.columns if column.name not in shown)
    for step in release.steps:
        for title, columns in step.outside.items():
            if isinstance(columns, list):
                removed.setdefault(title, []).extend(columns)
    return removed


def preset_facts(preset: Preset, checks: Sequence[Check], allowed: Collection[str] = ()) -> list[Fact]:
    """What the rules found on the released table, what nobody looked at, and what the preset doesn't do."""
    found = [
        Fact(
            says="{preset}: {rule}: {words}",
            values={"preset": preset.name, "rule": check.rule, "words": check.words, "holds": check.holds},
            outside=check.outside,
        )
        for check in checks
    ]
    unseen = f"not looked at, as a person has said so: {', '.join(sorted(allowed))}" if allowed else ""
    said = [text for text in (f"source: {preset.source}", unseen, *preset.limits) if text]
    limits = [
        Fact(says="{preset}: {limit}", values={"preset": preset.name, "limit": limit}, outside=True) for limit in said
    ]
    return [*found, *limits]


def preset_words(preset: Preset, recipe: Recipe) -> dict[str, Any]:
    """The preset in words, with its own steps where the recipe doesn't hold them."""
    steps = [] if recipe.has_preset_steps else [method_words(step) for step in preset.first]
    return {"name": preset.name, **({"first": steps} if steps else {})}


def read_preset(words: Mapping[str, Any] | str | None) -> Preset | None:
    """Read a preset from its words; an earlier version wrote its name alone."""
    if words is None:
        return None
    if isinstance(words, str):
        return find_preset(words)
    preset = find_preset(words["name"])
    steps = read_recipe({"coarsen": words["first"]}).methods if words.get("first") else preset.first
    return replace(preset, first=tuple(step for step in steps if isinstance(step, Coarsener)))
