"""The second page: what each column is, with the proposal, the identifier scan and the first rows beside it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, get_args

from nicegui import ui

from shoal.errors import SchemaError, ShoalError
from shoal.report.markup import Html, join, rows_table, tag
from shoal.schema import Kind, Role, Schema
from shoal.web.controller import Controller
from shoal.web.inspect import ColumnView, Opened
from shoal.web.pages.domain import read_domain, show_domain
from shoal.web.pages.preview import first_rows
from shoal.web.pages.screen import Block, problem, screen
from shoal.web.pages.waiting import BEAT, waiting, watching

__all__ = ["add_columns"]

ROLES = {
    "identifier": "identifies a person, never released",
    "quasi": "known to others, masked",
    "sensitive": "must not be disclosed",
    "weight": "survey weight",
    "unit": "identifies the rows of one person",
    "other": "published unchanged",
}
AT_ONCE = 50


def add_columns(controller: Controller) -> None:
    """Add the page ``/b/{bench}/columns``."""

    @ui.page("/b/{bench}/columns")
    def columns(bench: str) -> None:
        with screen("Columns", bench=bench, step="columns", scores=controller.scores):
            waiting(controller, bench, lambda opened: _Columns(controller, bench, opened))


class _Columns:
    """What one visitor of the page sees and does."""

    def __init__(self, controller: Controller, bench: str, opened: Opened) -> None:
        self.controller, self.bench, self.opened = controller, bench, opened
        self.wrong: dict[str, str] = {}
        self.first = 0
        Block(self._heading)
        self.state = Block(self._state, live=True)
        self.exposure = Block(self._exposure)
        self.table = Block(self._table, on_change=self._changed, on_press=self._pressed)
        self.preview = Block(lambda: first_rows(self.opened, self._roles()))
        self.load = Block(self._load, on_change=self._changed)
        ui.timer(BEAT, self.exposure.redraw)
        watching(controller, bench, self._redraw)

    @property
    def words(self) -> Mapping[str, Any]:
        """The columns' words as they stand."""
        bench = self.controller.find(self.bench)
        return (bench.schema or {}).get("columns", {}) if bench else {}

    def _roles(self) -> dict[str, str]:
        return {
            column.name: str(self.words.get(column.name, {}).get("role", "other")) for column in self.opened.columns
        }

    def _heading(self) -> Html:
        opened = self.opened
        size = f"{opened.name}: {opened.n_rows:,} rows, {opened.n_columns:,} columns."
        lead = "Shoal proposes a role for each column. The roles decide what is protected, so please review them."
        notes = [tag("p", note, class_="note") for note in opened.notes]
        return join([tag("h1", "Roles of the columns"), tag("p", f"{size} {lead}", class_="lead"), *notes])

    def _state(self) -> Html:
        if self.wrong:
            return join(problem(text) for text in self.wrong.values())
        try:
            schema = self.controller.schema(self.bench)
        except ShoalError as error:
            return problem(error) or Html("")
        return join([_verdict(schema), self._actions(bool(schema.quasi))])

    def _exposure(self) -> Html:
        """How exposed the table is by the roles as they stand, counted in the background."""
        try:
            job = (
                self.controller.look(self.bench)
                if not self.wrong and self.controller.schema(self.bench).quasi
                else None
            )
        except ShoalError:
            job = None
        if job is None or job.state == "failed":
            return problem(str(job.error)) or Html("") if job else Html("")
        return tag("p", _alone(job.result) if job.result else "Counting unique records…", class_="note")

    def _actions(self, ready: bool) -> Html:
        method, toml = f"/b/{self.bench}/method", f"/b/{self.bench}/schema.toml"
        onward = tag("a", "Continue to the method", href=method, class_="button main") if ready else None
        return tag("div", onward, tag("a", "Download the schema", href=toml, class_="button"), class_="actions")

    def _table(self) -> Html:
        columns = self.opened.columns[self.first : self.first + AT_ONCE]
        rows = [self._row(self.first + i, column) for i, column in enumerate(columns)]
        head = ["column", "role", "kind", "public range or levels", "where missing", "why"]
        table = rows_table("Columns", head, rows, kind="columns", quiet=True)
        return join([tag("h2", "Columns"), table, self._pages()])

    def _pages(self) -> Html | None:
        n = len(self.opened.columns)
        if n <= AT_ONCE:
            return None
        shown = f"Columns {self.first + 1:,} to {min(self.first + AT_ONCE, n):,} of {n:,}"
        back = tag("button", "Earlier", data_do="page", data_of=str(self.first - AT_ONCE), disabled=not self.first)
        last = self.first + AT_ONCE >= n
        more = tag("button", "Later", data_do="page", data_of=str(self.first + AT_ONCE), disabled=last)
        return tag("div", back, tag("span", shown), more, class_="actions")

    def _row(self, i: int, column: ColumnView) -> list[Html | str]:
        name, words = column.name, self.words.get(column.name, {})
        domain = tag(
            "input",
            type="text",
            name=f"{i}.domain",
            value=show_domain(words, numbers=_is_number(column)),
            class_="domain",
            placeholder="0 to 120, or a; b; c",
            aria_label=f"public range or levels of {name}",
        )
        return [
            join([name, tag("span", _facts(column), class_="type")]),
            _choice(f"{i}.role", f"role of {name}", {role: role for role in get_args(Role)}, str(words.get("role"))),
            _choice(f"{i}.kind", f"kind of {name}", _KINDS, str(words.get("kind") or "")),
            domain,
            _choice(f"{i}.missing", f"where {name} is missing", _MISSING, str(words.get("missing", "error"))),
            tag("span", *self._findings(name), self._reason(name), class_="why"),
        ]

    def _findings(self, name: str) -> list[Html]:
        found = [finding for finding in (self.opened.scan or {}).get("findings", ()) if finding["column"] == name]
        return [tag("span", f"Looks like: {finding['identifier']}.", class_="flag") for finding in found]

    def _reason(self, name: str) -> str:
        return str((self.opened.proposal or {}).get("reasons", {}).get(name, ""))

    def _load(self) -> Html:
        entry = tag("textarea", name="schema", rows="4", class_="wide", placeholder="[columns.age]", id="schema-text")
        label = tag("label", tag("span", "Paste a schema in TOML, to replace the one above", class_="name"), entry)
        return tag("details", tag("summary", "I already have a schema"), label)

    def _changed(self, name: str, value: str) -> None:
        if name == "schema":
            self._take(
                "schema", lambda: self.controller.set_schema(self.bench, _read(value)) if value.strip() else None
            )
            return
        place, _, entry = name.partition(".")
        column = self.opened.columns[int(place)]
        self._take(column.name, lambda: self._change(column, entry, value))

    def _change(self, column: ColumnView, entry: str, value: str) -> None:
        self.controller.change_column(self.bench, column.name, _entries(column, entry, value))

    def _take(self, what: str, change: Any) -> None:
        """Make a change, or keep what is wrong with it on the screen until it is mended."""
        self.wrong.pop(what, None)
        try:
            change()
        except ShoalError as error:
            self.wrong[what] = str(error)
        self._redraw()

    def _redraw(self) -> None:
        self.state.redraw()
        self.preview.redraw()
        if not self.wrong:  # else what is wrong would be taken out of its field
            self.table.redraw()

    def _pressed(self, do: str, of: str) -> None:
        if do == "page":
            self.first = min(max(0, int(of)), len(self.opened.columns) - 1)
            self.wrong.clear()  # what was not taken is no longer to be seen
            self.state.redraw()
            self.table.redraw()


_KINDS = {"": "as in the data", **{kind: kind for kind in get_args(Kind)}}
_MISSING = {"error": "stop", "drop": "drop the row", "median": "fill in the median"}


def _facts(column: ColumnView) -> str:
    parts = [column.type]
    if column.n_distinct is not None:
        parts.append(f"{column.n_distinct:,}{'+' if column.n_distinct == 10_000 else ''} different")
    if column.n_missing:
        parts.append(f"{column.n_missing:,} missing")
    return ", ".join(parts)


def _alone(found: Mapping[str, Any]) -> str:
    names = ", ".join(found["quasi"][:6]) + ("…" if len(found["quasi"]) > 6 else "")
    said = f"At present, {found['alone']:.1%} of the records are unique in their combination of {names}"
    return f"{said}; the smallest class holds {found['smallest']:,}."


def _is_number(column: ColumnView) -> bool:
    return column.type in ("whole number", "number")


def _choice(name: str, label: str, options: Mapping[str, str], chosen: str) -> Html:
    entries = dict(options) if chosen in options else {**options, chosen: chosen}
    drawn = [tag("option", words, value=value, selected=value == chosen) for value, words in entries.items()]
    return tag("select", *drawn, name=name, aria_label=label)


def _entries(column: ColumnView, entry: str, value: str) -> dict[str, Any]:
    """What a changed field means for the column's words: None takes an entry away."""
    if entry == "domain":
        return {"bounds": None, "levels": None, **read_domain(column.name, value, numbers=_is_number(column))}
    if entry == "kind":
        other = {"numeric": "levels", "ordinal": "bounds", "nominal": "bounds"}.get(value)
        return {"kind": value or None, **({other: None} if other else {})}
    return {entry: value}


def _read(text: str) -> Schema:
    try:
        return Schema.from_dict(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SchemaError("schema", f"must be TOML ({error})") from None


def _verdict(schema: Schema) -> Html:
    if not schema.quasi:
        said = "No column has the role quasi, so nothing would be masked. Give it to the columns that others may know."
        return tag("p", said, class_="problem", role="alert")
    counts = {role: sum(column.role == role for column in schema.columns) for role in ROLES}
    said = "; ".join(f"{n} {role} ({ROLES[role]})" for role, n in counts.items() if n)
    return tag("p", f"The schema is valid. {said}.", class_="fine")
