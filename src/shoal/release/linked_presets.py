"""Linked tables under a preset: its steps and its rules go over all tables, and k is asked for on the joined view.

The steps of a preset (ZIP codes to three digits, dates to years) rewrite every table before persons are grouped. The
rules about identifiers and small cells are held against every released table; small cells of events count persons, not
rows. A preset that asks for k asks it twice: of the persons' quasi-identifiers, and of whoever knows one event of a
person, which `CoarsenEvents` answers. New keys are numbers in a secret order, which follow from nobody's data; keyed
pseudonyms do, and Safe Harbor lets none stand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from shoal.claim import Claim
from shoal.compliance.presets import Check, Preset
from shoal.errors import GuaranteeError, ParameterError
from shoal.fact import Fact, Step
from shoal.frame import enter, leave, with_columns
from shoal.linked import Collection
from shoal.recipe import Recipe
from shoal.release.linked import JOINT
from shoal.release.preset_rules import Rewritten, after_step
from shoal.schema import LinkedSchema, LinkedTable, Schema

if TYPE_CHECKING:
    from shoal.release.release import Release

__all__ = ["RewrittenTables", "checks_of_events", "event_checks", "not_looked_at", "shared_events", "tables_after"]


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
        steps=tuple(step for one in made.values() for step in one.steps),
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
    except GuaranteeError as error:
        raise GuaranteeError(
            f"table '{table.name}', {error.owner}", error.rule, got=error.got, hint=error.hint
        ) from None
    new = {name: done.table[name] for name in done.table.columns}
    return replace(done, table=leave(with_columns(frame, new), like=given))


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
