"""A release under a preset: its first steps, its rules on the finished table, and how it is recorded.

A chain of coarseners holds the steps of its preset itself. Before groups and masks they are applied to the table, so
everything that follows, and every measure, sees the rewritten table. A synthesizer draws from the public domain that
the schema declares: that domain, and then the drawn rows, are held to the rules; the private table has no part in it.

Linked tables under a preset: its steps and its rules go over all tables, and k is asked for on the joined view.

The steps of a preset (ZIP codes to three digits, dates to years) rewrite every table before persons are grouped. The
rules about identifiers and small cells are held against every released table; small cells of events count persons, not
rows. A preset that asks for k asks it twice: of the persons' quasi-identifiers, and of whoever knows one event of a
person, which `CoarsenEvents` answers. New keys are numbers in a secret order, which follow from nobody's data; keyed
pseudonyms do, and Safe Harbor lets none stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shoal.claim import Claim
from shoal.coarsening import Coarsener
from shoal.compliance import preset as find_preset
from shoal.compliance.presets import PRESETS, Check, Preset, removed_by_name
from shoal.conform import Prepared, check_columns
from shoal.errors import GuaranteeError, IdentifierError, ParameterError
from shoal.fact import Fact, Step
from shoal.frame import adopt, enter, leave, series, with_columns
from shoal.linked import Collection
from shoal.method import Method
from shoal.recipe import Recipe, read_recipe, written_column
from shoal.recipe.recipe import method_words
from shoal.release.linked import JOINT
from shoal.release.reidentification_bound import proved_bound
from shoal.release.release import Release
from shoal.schema import Column, LinkedSchema, LinkedTable, Schema

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = [
    "MEASURED",
    "Rewritten",
    "RewrittenTables",
    "after_step",
    "checks_of_events",
    "event_checks",
    "first_steps",
    "given_year",
    "held_to",
    "not_looked_at",
    "preset_facts",
    "preset_for",
    "preset_words",
    "read_preset",
    "require_held",
    "shared_events",
    "tables_after",
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
    columns = [
        written_column(now.schema[name], series(frame, name), made.columns[name], made.declared.get(name))
        for name in new
    ]
    return Rewritten(
        table=leave(with_columns(frame, new), like=now.table),
        schema=now.schema.with_columns(columns),
        facts=(*now.facts, *made.facts, *([MEASURED] if new else [])),
        steps=(*now.steps, Step(name=step.name, details=made.details, outside=made.outside, cells=made.cells)),
    )


MEASURED = Fact(says="risk and utility are measured against the table after the preset's own steps", outside=True)
"""What is said where a preset rewrote the table before anything else."""


def _check_domain(preset: Preset, schema: Schema) -> None:
    """Refuse a public domain that lets what the preset forbids be drawn, before anything is charged."""
    domains = [(column, _domain(column)) for column in schema.released.columns if column.role != "weight"]
    failed = [
        check
        for column, values in domains
        if values is not None
        for check in preset.findings(values.to_frame(), Schema((column,)), year=given_year(preset.first))
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
    methods = (*preset.first, *release.recipe.methods)
    allowed = {name for method in methods for name in getattr(method, "allow", ())}
    unseen = allowed if release.linked is None else not_looked_at(release.linked.schema.persons, allowed)
    own = release.labels[release.prepared.rows]
    year = given_year(methods)
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


def given_year(methods: Iterable[Method]) -> int | None:
    """The year of the data, where a method was told it."""
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


def preset_facts(preset: Preset, checks: Sequence[Check], allowed: Sequence[str] | set[str] = ()) -> list[Fact]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenTables:
    """Linked tables after the first steps of their preset, with their schema and what was done."""

    tables: Mapping[str, Any]
    schema: LinkedSchema
    facts: tuple[Fact, ...] = ()
    steps: tuple[Step, ...] = ()


def tables_after(tables: Any, schema: LinkedSchema, preset: Preset | None, recipe: Recipe) -> RewrittenTables:
    """The tables as the recipe gets them; the persons' are left to a chain of coarseners that holds the steps."""
    if preset is None or not preset.first:
        return RewrittenTables(tables=tables, schema=schema)
    Collection.of(tables, schema)  # dates before birth are found while they are dates
    held = {method.name for method in recipe.methods}
    made = {
        table.name: _table_after(
            tables[table.name], table, _own(preset, table, held if table.parent is None else set())
        )
        for table in schema.tables
    }
    _check_dates(schema, tables, made, recipe)
    said = [fact for one in made.values() for fact in one.facts]
    return RewrittenTables(
        tables={name: one.table for name, one in made.items()},
        schema=LinkedSchema(tuple(replace(table, columns=made[table.name].schema) for table in schema.tables)),
        facts=tuple(fact for i, fact in enumerate(said) if fact not in said[:i]),
        steps=tuple(step.of_released(None) for one in made.values() for step in one.steps),
    )


def _check_dates(
    schema: LinkedSchema, tables: Mapping[str, Any], made: Mapping[str, Rewritten], recipe: Recipe
) -> None:
    """Refuse to move the days of dates that have become years."""
    moving = [method.name for method in recipe.methods if getattr(method, "moves_dates", False)]
    for table in schema.events if moving else ():
        before, after = (enter(one).schema for one in (tables[table.name], made[table.name].table))
        rewritten = [name for name in table.columns.time if before[name] != after[name]]
        if rewritten:
            hint = "Leave the method out, or choose expert determination and a preset that lets dates stand."
            rule = f"has no days to move: the preset writes '{rewritten[0]}' of {table.name} as years"
            raise ParameterError(moving[0], rule, hint=hint)


def _own(preset: Preset, table: LinkedTable, held: set[str]) -> list[Any]:
    """The steps for one table: columns may be allowed by their name or as ``TABLE.COLUMN``."""
    steps = [step for step in preset.first if step.name not in held]
    prefix = f"{table.name}."
    return [replace(step, allow=tuple(name.removeprefix(prefix) for name in step.allow)) for step in steps]  # type: ignore[attr-defined,type-var]


def _table_after(given: Any, table: LinkedTable, steps: list[Any]) -> Rewritten:
    """One table after the steps: keys and links are not theirs to judge, as they are replaced."""
    frame = enter(given)
    done = Rewritten(
        table=frame.select([name for name in frame.columns if name in table.columns]), schema=table.columns
    )
    try:
        for step in steps:
            done = after_step(done, step)
    except IdentifierError as error:
        columns = {f"{table.name}.{name}": reason for name, reason in error.columns.items()}
        owner = f"table '{table.name}', {error.owner}"
        raise IdentifierError(owner, error.rule, got=error.got, hint=error.hint, columns=columns) from None
    new = {name: done.table[name] for name in done.table.columns}
    facts = tuple(replace(f, column=f"{table.name}.{f.column}") if f.column else f for f in done.facts)
    return replace(done, facts=facts, table=leave(with_columns(frame, new), like=given))


def shared_events(claims: tuple[Claim, ...] | list[Mapping[str, Any]], schema: LinkedSchema, k: int) -> int:
    """How many persons share each event that may be known, as claimed; `k` where none may be known."""
    if not any(table.known for table in schema.events):
        return k
    words = [claim.to_dict() if isinstance(claim, Claim) else claim for claim in claims]
    joint = [w["value"] for w in words if w.get("kind") in JOINT and (w.get("known") or 0) >= 1]
    return int(max(joint, default=0))


def checks_of_events(release: Release, preset: Preset, *, year: int | None, allowed: set[str]) -> list[Check]:
    """The rules of a preset on the tables of events of a release; none where it has no such tables."""
    if release.linked is None:
        return []
    schema = release.linked.schema.released
    collection = Collection.of({**release.linked.tables, schema.persons.name: release.frame}, schema)
    shared = shared_events(release.earned, schema, preset.k)
    return list(event_checks(preset, collection, shared=shared, year=year, allowed=allowed))


def not_looked_at(table: LinkedTable, allowed: set[str]) -> set[str]:
    """What no rule looks at: columns that a person allowed, as ``COLUMN`` or ``TABLE.COLUMN``, and keys."""
    return {name.removeprefix(f"{table.name}.") for name in allowed} | set(table.own_keys)


def event_checks(
    preset: Preset, collection: Collection, *, shared: int, year: int | None, allowed: set[str]
) -> Iterator[Check]:
    """The rules of a preset, held against the released tables of events; each names its table."""
    for table in collection.schema.events:
        unseen = not_looked_at(table, allowed)
        looked_at = Schema(tuple(column for column in table.columns.columns if column.name not in unseen))
        frame, persons = collection.tables[table.name], collection.persons[table.name]
        checks = preset.event_findings(frame, looked_at, persons, year=year)
        listed = [check for check in checks if check.outcome is not None]
        if listed:
            yield _merged(table.name, listed)
        yield from (replace(check, rule=f"{table.name}: {check.rule}") for check in checks if check.outcome is None)
    known = preset.known_events(shared)
    if known is not None:
        yield known


def _merged(table: str, checks: list[Check]) -> Check:
    """The rules about single identifiers as one: what fails is named."""
    failed = [f"{check.rule} {check.words}" for check in checks if not check.holds]
    rule = f"{table}: none of the identifiers that the rule lists, and no free text"
    return Check(rule=rule, holds=not failed, words="; ".join(failed) or checks[0].words)
