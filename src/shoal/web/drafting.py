"""What a person settles: the schema, the recipe with its goal, and the answers beside them; each step can be undone."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.errors import InputError, ParameterError, ShoalError
from shoal.recipe import Recipe, kind_of, read_recipe
from shoal.schema import Column, LinkedSchema, Schema
from shoal.web.catalogue import Goal, goal, goals
from shoal.web.forms import read_words
from shoal.web.opening import Opening
from shoal.web.session import Session
from shoal.web.session_control import Words

__all__ = ["Drafting"]

RISK_LIMIT = 0.05
EVENTS = ({"method": "exchange-bags"},)
"""What is done to the events of linked tables if nobody says: whole histories change hands within groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting(Opening):
    """Sessions whose drafts can be changed."""

    def schema(self, id: str) -> Schema:
        """The schema of a session, or an error that says what is wrong with it; of linked tables the persons' own."""
        found = self.whole_schema(id)
        return found if isinstance(found, Schema) else found.persons.whole

    def whole_schema(self, id: str) -> Schema | LinkedSchema:
        """The schema of a session, or of all its linked tables."""
        words = self.session(id).schema or {"columns": {}}
        return LinkedSchema.from_dict(words) if "tables" in words else Schema.from_dict(words)

    def is_linked(self, id: str) -> bool:
        """Whether a session holds linked tables."""
        return "tables" in (self.session(id).schema or {})

    def set_schema(self, id: str, schema: Schema | LinkedSchema) -> None:
        """Take a schema from a file; it must speak of the columns of this one."""
        opened = self.opened(id)
        names = {(column.table, column.name) for column in opened.columns} if opened else set()
        spoken = [("", one) for one in schema.columns] if isinstance(schema, Schema) else _spoken(schema)
        strange = [column.name for table, column in spoken if (table, column.name) not in names]
        if strange:
            raise InputError("schema", f"refers to the column '{strange[0]}', which is not in the file")
        words = schema.to_dict()
        self._do(id, "schema pasted", lambda session: session.changed("schema pasted", at=time.time(), schema=words))

    def change_column(self, id: str, name: str, entries: Words, *, table: str = "") -> None:
        """Change entries of a column's words; what is wrong with the column alone is an error, and nothing changes."""
        self.change_columns(id, {name: entries}, f"{name}: {_settled(entries)}", table=table)

    def change_columns(self, id: str, entries: Mapping[str, Words], what: str, *, table: str = "") -> None:
        """The same for some columns in one step; `table` names one of linked tables."""
        changed = self.session(id).with_columns(what, entries, table=table).columns(table)
        for name in entries:
            Column.from_dict(name, changed[name])
        self._do(id, what, lambda session: session.with_columns(what, entries, at=time.time(), table=table))

    def change_summaries(self, id: str, table: str, text: str) -> None:
        """Take what persons are grouped on of a table of events, as ``count; first:day``."""
        schema = dict(self.session(id).schema or {})
        entry = {**schema["tables"][table], "summaries": [part.strip() for part in text.split(";") if part.strip()]}
        after = {"tables": {**schema["tables"], table: entry}}
        LinkedSchema.from_dict(after)
        what = f"{table}: grouped on {text.strip() or 'nothing'}"
        self._do(id, what, lambda session: session.changed(what, at=time.time(), schema=after))

    def change_repeats(self, id: str, answer: str) -> None:
        """Take what rows that are equal are; an empty answer takes it back."""
        schema = dict(self.session(id).schema or {"columns": {}})
        schema.pop("repeats", None)
        after = {"repeats": answer, **schema} if answer else schema
        Schema.from_dict(after)
        what = f"equal rows are {answer}" if answer else "equal rows: not settled"
        self._do(id, what, lambda session: session.changed(what, at=time.time(), schema=after))

    def change_rules(self, id: str, rules: list[Words]) -> None:
        """Take the rules between columns; an error says what is wrong with them."""
        schema = {**(self.session(id).schema or {"columns": {}}), "rules": rules}
        Schema.from_dict(schema)
        self._do(id, "rules between columns", lambda session: session.changed("rules", at=time.time(), schema=schema))

    def recipe(self, id: str) -> Words:
        """The recipe of a session in words; that of the first goal before one is chosen."""
        given = self.session(id).recipe or goals()[0].recipe
        return given if "events" in given or not self.is_linked(id) else {**given, "events": EVENTS}

    def choose_goal(self, id: str, name: str) -> None:
        """Take a goal with its recipe."""
        chosen = goal(name)

        def step(session: Session) -> Session:
            asked = {**session.now.asked, "preset": chosen.preset}
            events = {"events": self.recipe(id)["events"]} if self.is_linked(id) else {}
            words = {**chosen.recipe, **events}
            return session.changed(f"goal: {chosen.title}", at=time.time(), goal=name, recipe=words, asked=asked)

        self._do(id, f"goal: {chosen.title}", step)

    def goal(self, id: str) -> Goal | None:
        """The goal whose recipe this is, with its rules; None for a recipe of one's own."""
        whole, preset = _plain_recipe(self.recipe(id)), self.session(id).now.asked.get("preset")
        recipe = {name: words for name, words in whole.items() if name != "events"}
        fitting = (one for one in goals() if one.recipe == recipe and (one.preset or None) == (preset or None))
        return next(fitting, None)

    def change_recipe(self, id: str, words: Words, what: str = "recipe changed") -> None:
        """Take a recipe; the goal it came from is remembered, to go back to."""
        self._do(id, what, lambda session: session.changed(what, at=time.time(), recipe=dict(words)))

    def undo(self, id: str) -> None:
        """Back to what was before the last change."""
        self._do(id, "undone", Session.undo)

    def redo(self, id: str) -> None:
        """Forward again."""
        self._do(id, "redone", Session.redo)

    def ask(self, id: str, name: str, value: Any) -> None:
        """Settle an answer beside the recipe: the output format, rules to meet, limits."""
        what = f"{name}: {value if value is not None else 'none'}"
        self._do(id, what, lambda b: b.changed(what, at=time.time(), asked={**b.now.asked, name: value}))

    def allowed(self, id: str) -> tuple[str, ...]:
        """The columns that a person has looked at and lets stand, of linked tables as ``TABLE.COLUMN``."""
        return tuple(self.session(id).now.asked.get("allow") or ())

    def allow(self, id: str, name: str) -> None:
        """Let a column stand, as a person has looked at it."""
        self._set_allowed(id, dict.fromkeys([*self.allowed(id), name]), f"{name}: looked at and allowed")

    def hold_back(self, id: str, name: str) -> None:
        """Take back that a column may stand."""
        self._set_allowed(id, (one for one in self.allowed(id) if one != name), f"{name}: no longer allowed")

    def _set_allowed(self, id: str, names: Iterable[str], what: str) -> None:
        allow = list(names)
        self._do(id, what, lambda b: b.changed(what, at=time.time(), asked={**b.now.asked, "allow": allow}))

    def drop(self, id: str, name: str) -> None:
        """Make a column an identifier, which is left out of every release."""
        table, column = self.place_of(id, name)
        self.change_column(id, column, {"role": "identifier"}, table=table)

    def place_of(self, id: str, name: str) -> tuple[str, str]:
        """The table and column of ``TABLE.COLUMN``; of a name alone that of the persons, or of the one table."""
        tables = (self.session(id).schema or {}).get("tables", {})
        table, _, column = name.partition(".")
        return (table, column) if table in tables else (next(iter(tables), ""), name)

    def settled_recipe(self, id: str) -> Recipe:
        """The recipe as it is run: steps of a preset let the columns stand that a person has allowed."""
        recipe, allowed = read_words(self.recipe(id)), [self.place_of(id, name) for name in self.allowed(id)]
        persons = self.place_of(id, "")[0]
        names = [column for table, column in allowed if table == persons]
        return read_recipe(_allowing(recipe.to_dict(), names)) if names else recipe

    def risk_limit(self, id: str) -> float:
        """The risk that is accepted: what measured risks are held against, everywhere."""
        return float(self.session(id).now.asked.get("risk_limit", RISK_LIMIT))

    def set_risk_limit(self, id: str, percent: Any) -> None:
        """Take the accepted risk, typed in percent."""
        try:
            limit = float(percent) / 100
        except (TypeError, ValueError):
            raise ParameterError("accepted risk", "must be a number, in percent") from None
        if not 0 < limit <= 1:
            raise ParameterError("accepted risk", "must be more than 0 and at most 100 percent")
        if limit != self.risk_limit(id):
            what = f"accepted risk: {100 * limit:g}%"
            self._do(id, what, lambda b: b.changed(what, at=time.time(), asked={**b.now.asked, "risk_limit": limit}))

    def asked(self, id: str) -> dict[str, Any]:
        """What was answered beside the recipe, as far as its sort takes it."""
        given, kind = self.session(id).now.asked, kind_of(self.recipe(id))
        asks = kind.asks if kind else ()
        return {
            "format": given.get("format"),
            "allow": self.allowed(id),
            **{name: given.get(name) if name in asks else None for name in ("preset", "limit")},
        }


def _spoken(schema: LinkedSchema) -> list[tuple[str, Column]]:
    return [(table.name, column) for table in schema.tables for column in table.whole.columns]


def _allowing(words: Words, names: Sequence[str]) -> Words:
    """A recipe whose coarseners let these columns stand, where they refuse columns at all."""
    steps = [
        {**step, "allow": list(dict.fromkeys([*step["allow"], *names]))} if "allow" in step else step
        for step in words.get("coarsen", ())
    ]
    return {**words, "coarsen": steps} if steps else words


def _plain_recipe(words: Words) -> Words:
    """A recipe with its answers read, so that equal recipes are equal words; as it is where it can't be read."""
    try:
        return read_words(words).to_dict()
    except ShoalError:
        return words


def _settled(entries: Words) -> str:
    """What a change of a column settles, in a few words."""
    return ", ".join(f"{name} {'none' if value is None else str(value)[:40]}" for name, value in entries.items())
