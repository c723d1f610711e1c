"""Linked tables: a recipe for the persons, and methods for their events.

Persons are grouped once, on their own quasi-identifiers and on the declared summaries of their events; the table of
persons is masked or coarsened as any table is. Then the events are exchanged or coarsened within the groups of persons,
keys are replaced, and the rows of every table are shuffled.

Rules, derived columns and codes for an absence in tables of events: held to where they can be, refused elsewhere.

A rule between columns of one event is counted before anything is done, and again on the events as they are released:
methods that hand whole events on keep it, one that exchanges contents may not, and then nothing is released. Coarsened
values hold the true one and break nothing. Columns that follow from others are recomputed for persons only. A number
with codes for an absence travels as it is, but is neither summed up over a person's events nor put into intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import polars as pl

from shoal.canonical import plain
from shoal.errors import ColumnError, GuaranteeError, InputError, ParameterError, Problems, SchemaError
from shoal.fact import Fact
from shoal.frame import adopt, enter, series, with_columns
from shoal.linked import Collection, EventMethod, JointRisk, summaries_of
from shoal.linked.collection import released_tables, with_new_keys
from shoal.linked.dates import time_columns
from shoal.linked.joint import assess_collection
from shoal.method import Method
from shoal.recipe.recipe import Made, ReadMethod, Recipe, Run, checked_methods, method_words
from shoal.recipe.rules import breaking
from shoal.recipe.spell import argument
from shoal.rng import secret
from shoal.schema import Column, LinkedSchema, LinkedTable, Schema
from shoal.schema.tables import Summary

__all__ = ["Linked", "LinkedRecipe", "check_events", "for_schema", "require_event_rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """The tables of events of a linked release.

    Parameters
    ----------
    schema
        What the tables are.
    tables
        The tables of events, as they are released.
    joint
        What is left of k when the tables are joined; for inside.
    declared
        What they were said to be, before a preset rewrote them; None: the same.
    """

    schema: LinkedSchema
    tables: Mapping[str, Any]
    joint: JointRisk
    declared: LinkedSchema | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRecipe(Recipe):
    """A recipe for the persons, and methods for their events."""

    entries: ClassVar[tuple[frozenset[str], ...]] = (
        frozenset({"group", "mask", "events"}),
        frozenset({"coarsen", "events"}),
    )

    persons: Recipe
    events: tuple[EventMethod, ...] = ()

    @classmethod
    def of(cls, persons: Recipe, events: EventMethod | Sequence[EventMethod] | None) -> LinkedRecipe:
        """Take no method for the events, one, or several."""
        given = () if events is None else (events,) if isinstance(events, EventMethod) else tuple(events)
        rule = "events must be a method for events or a list of them"
        return cls(persons=persons, events=checked_methods("linked tables", rule, given, "events") if given else ())

    @classmethod
    def read(cls, words: Mapping[str, Any], method: ReadMethod) -> LinkedRecipe:
        """Read it from the words of `to_dict`, or from methods as texts."""
        from shoal.recipe.read import read_recipe

        given = words["events"] if isinstance(words["events"], list | tuple) else [words["events"]]
        rest = {name: value for name, value in words.items() if name != "events"}
        return cls.of(read_recipe(rest, method), [method("events", one) for one in given])

    def to_dict(self) -> dict[str, Any]:
        """The recipe as JSON- and TOML-safe words."""
        return {**self.persons.to_dict(), "events": [method_words(method) for method in self.events]}

    def options(self, **asked: Any) -> list[str]:
        """Those of the persons, and one ``--events`` for each method."""
        more = [part for method in self.events for part in ("--events", argument(method))]
        return [*self.persons.options(**asked), *more]

    @property
    def command(self) -> str:  # type: ignore[override]  # it is that of the persons' recipe
        """The command that runs the persons' recipe."""
        return self.persons.command

    @property
    def methods(self) -> tuple[Method, ...]:
        """Those for the persons, then those for their events."""
        return (*self.persons.methods, *self.events)

    @property
    def family(self) -> str:
        """That of the persons' recipe."""
        return self.persons.family

    @property
    def k(self) -> int:
        """How many persons hide together at least."""
        return self.persons.k

    @property
    def is_blind(self) -> bool:
        """Whether no rule on the persons' quasi-identifiers tells whose row is which."""
        return self.persons.is_blind

    @property
    def collapses(self) -> bool:
        """Whether the rows of a group of persons are made equal."""
        return self.persons.collapses

    @property
    def rewrites_quasi(self) -> bool:
        """Whether methods write the quasi-identifiers of persons."""
        return self.persons.rewrites_quasi

    def handed(self, schema: Schema) -> tuple[tuple[str, ...], ...]:
        """The blocks of persons' columns that are handed round, each by itself."""
        return self.persons.handed(schema)

    def rewrites(self, schema: Schema) -> tuple[str, ...]:
        """The sensitive columns of persons that masks write."""
        return self.persons.rewrites(schema)

    @property
    def keeps_groups(self) -> bool:
        """Whether groups of an earlier release can take the place of those that it would make."""
        return self.persons.keeps_groups

    @property
    def blanks_cells(self) -> bool:
        """Whether single cells of persons that are kept may be blanked."""
        return self.persons.blanks_cells

    @property
    def leaves_out(self) -> bool:
        """Whether persons may be left out."""
        return self.persons.leaves_out

    @property
    def why_inside(self) -> str | None:
        """Why no comparison with the original may leave."""
        return self.persons.why_inside

    @property
    def is_minimal(self) -> bool:
        """Whether it changes no more than k asks for."""
        return self.persons.is_minimal

    @property
    def groups_by_response(self) -> bool:
        """Whether sensitive numbers take part in the grouping."""
        return self.persons.groups_by_response

    def run(self, table: Any, schema: Any, run: Run) -> Made:
        """Group the persons, mask them, change their events."""
        run.progress("checking the table")
        held = Collection.of(table, schema)
        check_events(schema, held.tables, self.events)
        collection, said = self._first(held, run)
        collection = with_new_keys(collection, run.pseudonyms, run.key)
        beside = summaries_of(collection, self._summaries(collection))
        made = self.persons.run(_persons(table, collection), schema.persons.whole, replace(run, beside=beside))
        run.progress("masking")
        made = replace(made, facts=(*made.facts, *said))
        return self._with_events(made, collection.of_persons(made.labels >= 0), run)

    def _first(self, collection: Collection, run: Run) -> tuple[Collection, list[Fact]]:
        """What methods do before persons get new keys."""
        said: list[Fact] = []
        for method in self.events:
            done = method.first(collection, run.pseudonyms, run.key)
            collection, said = done.collection, [*said, *done.facts]
        return collection, said

    def _summaries(self, collection: Collection) -> dict[str, tuple[Summary, ...]]:
        """What the methods for events want persons grouped on."""
        made: dict[str, tuple[Summary, ...]] = {}
        for method in self.events:
            for name, summaries in method.summaries(collection).items():
                made[name] = (*made.get(name, ()), *summaries)
        return made

    def _with_events(self, made: Made, collection: Collection, run: Run) -> Made:
        claims, facts = [*made.claims], [*made.facts]
        for i, method in enumerate(self.events):
            done = method.apply(collection, made.labels, secret(run.key, "events", i))
            collection, claims, facts = done.collection, [*claims, *done.claims], [*facts, *done.facts]
        require_event_rules(collection.schema, collection.tables, self.events)
        tolerance = sum(method.tolerance for method in self.events)
        joint = assess_collection(collection, made.labels, self.k, secret(run.key, "joint"), tolerance)
        tables = {
            name: frame.with_columns([plain(column) for column in frame])
            for name, frame in released_tables(collection, run.key).items()
        }
        return replace(
            made,
            claims=tuple(claims),
            facts=(*facts, *joint.facts),
            caveats=(*made.caveats, _caveat(collection)),
            linked=Linked(schema=collection.schema, tables=tables, joint=joint),
        )


def _persons(table: Mapping[str, Any], collection: Collection) -> Any:
    """The table of persons with its new keys, and with the dates that were moved."""
    root = collection.schema.persons
    frame = enter(table[root.name])
    own = collection.tables[root.name]
    dates = [name for place, name in time_columns(collection) if place == root.name]
    moved = [name for name in dates if not own[name].equals(series(frame, name))]
    names = (str(root.key), *root.columns.pseudonym, *moved)
    return with_columns(frame, {name: adopt(own[name], frame) for name in names})


def _caveat(collection: Collection) -> str:
    names = ", ".join(table.name for table in collection.schema.events)
    return (
        f"The events that hang on a person ({names}) are not used: who knows some of a person's events may find that "
        "person by them. What then holds is said by the claims about events, and measured inside."
    )


def for_schema(
    recipe: Recipe, schema: Schema | LinkedSchema, events: EventMethod | Sequence[EventMethod] | None
) -> Recipe:
    """The recipe as the schema needs it: with methods for events where tables are linked."""
    if isinstance(schema, LinkedSchema):
        return LinkedRecipe.of(recipe, events)
    if events is not None:
        hint = "Give a LinkedSchema and a mapping of tables."
        raise ParameterError("events", "are those of linked tables, and one table was given", hint=hint)
    return recipe


def check_events(schema: LinkedSchema, tables: Mapping[str, pl.DataFrame], methods: Sequence[EventMethod]) -> None:
    """Refuse what tables of events can't have, and events that break a rule: all problems at once."""
    problems = [fault for table in schema.events for fault in _refused(table, _coarsened(table, methods))]
    broken = [fault for table in schema.events for fault in _broken(table, tables[table.name])]
    Problems([*problems, *broken]).raise_if_any()


def require_event_rules(
    schema: LinkedSchema, tables: Mapping[str, pl.DataFrame], methods: Sequence[EventMethod]
) -> None:
    """Refuse to release events that break a rule of their table; coarsened columns hold the true values."""
    for table in schema.events:
        for fault in _broken(table, tables[table.name].drop(_coarsened(table, methods), strict=False)):
            hint = "Hand whole events on (exchange-bags, deal-events), or take the rule out of the schema."
            raise GuaranteeError(fault.owner, fault.rule, got=fault.got, hint=hint)


def _coarsened(table: LinkedTable, methods: Sequence[EventMethod]) -> tuple[str, ...]:
    """The columns that may be written less exactly."""
    return table.known if any(method.widens for method in methods) else ()


def _refused(table: LinkedTable, coarsened: Sequence[str]) -> Iterator[InputError]:
    summed = {summary.column for summary in table.summaries if summary.kind not in ("count", "codes")}
    for column in table.columns.columns:
        if column.derived:
            rule = f"of table '{table.name}' follows from others, which is kept for the table of persons only"
            yield ColumnError(column.name, rule, hint='Take derived out, or drop the column: role = "identifier".')
        if _has_reasons(column) and column.name in {*summed, *coarsened}:
            rule = f"of table '{table.name}' holds numbers or reasons, which can be neither summarised nor coarsened"
            yield ColumnError(column.name, rule, hint="Leave its summary out, or declare it nominal.")


def _has_reasons(column: Column) -> bool:
    return bool(column.missing_codes) and column.kind in (None, "numeric")


def _broken(table: LinkedTable, frame: pl.DataFrame) -> Iterator[InputError]:
    there = [rule for rule in table.columns.rules if set(rule.columns) <= set(frame.columns)]
    for rule in there:
        n = int(breaking(enter(frame), table.columns, [rule]).sum())
        if n:
            names = ", ".join(dict.fromkeys(rule.columns))
            says = f"rule ({names}) must hold in every row"
            hint = "Correct the rows, or the rule."
            yield SchemaError(f"table '{table.name}'", says, got=f"{n:,} rows that break it", hint=hint)
