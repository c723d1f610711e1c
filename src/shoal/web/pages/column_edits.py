"""What a person does to the columns: a field of a row, a remedy, a bulk edit, a column's panel and tree, a schema."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.errors import SchemaError
from shoal.schema import LinkedSchema, Schema
from shoal.web.controller import Controller
from shoal.web.inspect import ColumnView, Opened
from shoal.web.pages.column_panel import panel_entries, tree_of
from shoal.web.pages.domain import is_number, read_domain
from shoal.web.pages.page import Act
from shoal.web.pages.tree_editor import put_together, take_apart
from shoal.web.recoding import read_step

__all__ = ["ColumnEdits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEdits:
    """Changes of the columns of one table, each one step that can be undone; a ShoalError says what can't be taken.

    Parameters
    ----------
    controller, session, table
        Where they are made; `table` is empty where tables aren't linked.
    opened, words
        The file, and the columns' words as they stand.
    """

    controller: Controller
    session: str
    table: str
    opened: Opened
    words: Mapping[str, Any]

    def enter(self, column: ColumnView, entry: str, value: str) -> None:
        """Take what was entered into a field of a row."""
        entries = _entries(column, entry, value)
        self.controller.change_column(self.session, column.name, entries, table=column.table)

    def remedy(self, act: Act) -> None:
        """Change entries of some columns, as a press says."""
        entries = json.loads(act.of)
        self.controller.change_columns(self.session, entries, _said(entries), table=self.table)

    def bulk(self, act: Act) -> None:
        """Change the selected columns alike."""
        given = {name: str(act.fields[name]) for name in ("role", "kind", "missing") if act.fields.get(name)}
        names = [str(name) for name in act.fields.get("selected", ()) if str(name) in self.words]
        if given and names:
            entries = {name: dict(given) for name in names}
            self.controller.change_columns(self.session, entries, _said(entries), table=self.table)

    def panel(self, act: Act) -> None:
        """Take what a column's panel says."""
        name = act.of
        if name in self.words:
            entries = panel_entries(act.fields, self.words[name])
            self.controller.change_column(self.session, name, entries, table=self.table)

    def tree(self, act: Act) -> None:
        """Put values of a hierarchy together, or take a group apart."""
        name, level, label = json.loads(act.of) if act.do == "tree-apart" else (act.of, 0, "")
        view = next((one for one in self.opened.columns if (one.table, one.name) == (self.table, name)), None)
        if view is None or name not in self.words:
            return
        rows, _ = tree_of(self.opened, view, self.words[name])
        made = take_apart(rows, int(level), str(label)) if label else put_together(rows, act.fields)
        hierarchy = {"kind": "table", "rows": made} if len(made[0]) > 1 else None
        self.controller.change_column(self.session, name, {"hierarchy": hierarchy}, table=self.table)

    def recode(self, act: Act) -> None:
        """Put a change in front of the recipe's coarseners."""
        one = json.loads(act.of)
        step = read_step({key: value for key, value in one["step"].items() if value is not None})
        chain = list(self.controller.recipe(self.session).get("coarsen", []))
        none: dict[str, Any] = {"method": "recode", "steps": {}}
        first = chain.pop(0) if chain and chain[0].get("method") == "recode" else none
        said = dict(step) if isinstance(step, Mapping) else step.to_dict()
        steps = {**dict(first["steps"]), str(one["column"]): said}
        words = {"coarsen": [{**first, "steps": steps}, *chain]}
        self.controller.change_recipe(self.session, words, f"recipe: {one['words']}")

    def summaries(self, text: str) -> None:
        """Say what persons are grouped on of a table of events."""
        self.controller.change_summaries(self.session, self.table, text)

    def paste(self, name: str, text: str) -> None:
        """Take rules or a whole schema in TOML."""
        if name == "rules":
            self.controller.change_rules(self.session, _toml(text).get("rules", []) if text.strip() else [])
        elif text.strip():
            words = _toml(text)
            read = LinkedSchema.from_dict if "tables" in words else Schema.from_dict
            self.controller.set_schema(self.session, read(words))


def _said(entries: Mapping[str, Mapping[str, Any]]) -> str:
    """A change of some columns in a few words."""
    first = next(iter(entries.values()))
    which = next(iter(entries)) if len(entries) == 1 else f"{len(entries)} columns"
    return f"{which}: {', '.join(_entry_said(name, value) for name, value in first.items())}"


def _entry_said(name: str, value: Any) -> str:
    """One entry as a person would say it."""
    words = name.replace("_", " ")
    if isinstance(value, Mapping):
        return f"{words} " + ", ".join(f"{code} ({meaning})" for code, meaning in value.items())
    if isinstance(value, list | tuple):
        return f"{words} {len(value)}"
    return f"no {words}" if value is None else f"{words} {value}"


def _entries(column: ColumnView, entry: str, value: str) -> dict[str, Any]:
    """What a changed field means for the column's words: None takes an entry away."""
    if entry == "domain":
        return {"bounds": None, "levels": None, **read_domain(column.name, value, numbers=is_number(column))}
    if entry == "kind":
        other = {"numeric": "levels", "ordinal": "bounds", "nominal": "bounds"}.get(value)
        return {"kind": value or None, **({other: None} if other else {})}
    return {entry: value} if entry in ("role", "missing") else {}


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError("schema", f"must be TOML ({error})") from None
