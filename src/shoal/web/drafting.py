"""What a person settles: the schema, the recipe with its goal, and the answers beside them; each step can be undone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.errors import InputError, ParameterError, ShoalError
from shoal.recipe import kind_of
from shoal.schema import Schema
from shoal.web.benches import Words
from shoal.web.catalogue import Goal, goal, goals
from shoal.web.forms import read_words
from shoal.web.opening import Opening
from shoal.web.session import Bench

__all__ = ["Drafting"]

RISK_LIMIT = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting(Opening):
    """Benches whose drafts can be changed."""

    def schema(self, id: str) -> Schema:
        """The schema of a bench, or an error that says what is wrong with it."""
        return Schema.from_dict(self.bench(id).schema or {"columns": {}})

    def set_schema(self, id: str, schema: Schema) -> None:
        """Take a schema from a file; it must speak of the columns of this one."""
        opened = self.opened(id)
        names = {column.name for column in opened.columns} if opened else set()
        strange = [column.name for column in schema.columns if column.name not in names]
        if strange:
            raise InputError("schema", f"refers to the column '{strange[0]}', which is not in the file")
        words = schema.to_dict()
        self._do(id, "schema pasted", lambda bench: bench.changed("schema pasted", at=time.time(), schema=words))

    def change_column(self, id: str, name: str, entries: Words) -> None:
        """Change entries of a column's words; what is wrong with the column alone is an error, and nothing changes."""
        self.change_columns(id, {name: entries}, f"{name}: {_settled(entries)}")

    def change_columns(self, id: str, entries: Mapping[str, Words], what: str) -> None:
        """The same for some columns in one step."""
        from shoal.schema import Column

        changed = self.bench(id).with_columns(what, entries)
        for name in entries:
            Column.from_dict(name, (changed.schema or {})["columns"][name])
        self._do(id, what, lambda bench: bench.with_columns(what, entries, at=time.time()))

    def change_rules(self, id: str, rules: list[Words]) -> None:
        """Take the rules between columns; an error says what is wrong with them."""
        schema = {**(self.bench(id).schema or {"columns": {}}), "rules": rules}
        Schema.from_dict(schema)
        self._do(id, "rules between columns", lambda bench: bench.changed("rules", at=time.time(), schema=schema))

    def recipe(self, id: str) -> Words:
        """The recipe of a bench in words; that of the first goal before one is chosen."""
        return self.bench(id).recipe or goals()[0].recipe

    def choose_goal(self, id: str, name: str) -> None:
        """Take a goal with its recipe."""
        chosen = goal(name)

        def step(bench: Bench) -> Bench:
            asked = {**bench.now.asked, "preset": chosen.preset}
            return bench.changed(f"goal: {chosen.title}", at=time.time(), goal=name, recipe=chosen.recipe, asked=asked)

        self._do(id, f"goal: {chosen.title}", step)

    def goal(self, id: str) -> Goal | None:
        """The goal whose recipe this is, with its rules; None for a recipe of one's own."""
        recipe, preset = _plain_recipe(self.recipe(id)), self.bench(id).now.asked.get("preset")
        fitting = (one for one in goals() if one.recipe == recipe and (one.preset or None) == (preset or None))
        return next(fitting, None)

    def change_recipe(self, id: str, words: Words, what: str = "recipe changed") -> None:
        """Take a recipe; the goal it came from is remembered, to go back to."""
        self._do(id, what, lambda bench: bench.changed(what, at=time.time(), recipe=dict(words)))

    def undo(self, id: str) -> None:
        """Back to what was before the last change."""
        self._do(id, "undone", Bench.undo)

    def redo(self, id: str) -> None:
        """Forward again."""
        self._do(id, "redone", Bench.redo)

    def ask(self, id: str, name: str, value: Any) -> None:
        """Settle an answer beside the recipe: the output format, rules to meet, limits."""
        what = f"{name}: {value if value is not None else 'none'}"
        self._do(id, what, lambda b: b.changed(what, at=time.time(), asked={**b.now.asked, name: value}))

    def risk_limit(self, id: str) -> float:
        """The risk that is accepted: what measured risks are held against, everywhere."""
        return float(self.bench(id).now.asked.get("risk_limit", RISK_LIMIT))

    def set_risk_limit(self, id: str, percent: Any) -> None:
        """Take the accepted risk, typed in percent."""
        try:
            limit = float(percent) / 100
        except (TypeError, ValueError):
            raise ParameterError("accepted risk", "must be a number, in percent") from None
        if not 0 < limit <= 1:
            raise ParameterError("accepted risk", "must be more than 0 and at most 100 percent")
        self.ask(id, "risk_limit", limit)

    def asked(self, id: str) -> dict[str, Any]:
        """What was answered beside the recipe, as far as its sort takes it."""
        given, kind = self.bench(id).now.asked, kind_of(self.recipe(id))
        asks = kind.asks if kind else ()
        return {
            "format": given.get("format"),
            **{name: given.get(name) if name in asks else None for name in ("preset", "limit")},
        }


def _plain_recipe(words: Words) -> Words:
    """A recipe with its answers read, so that equal recipes are equal words; as it is where it can't be read."""
    try:
        return read_words(words).to_dict()
    except ShoalError:
        return words


def _settled(entries: Words) -> str:
    """What a change of a column settles, in a few words."""
    return ", ".join(f"{name} {'none' if value is None else str(value)[:40]}" for name, value in entries.items())
