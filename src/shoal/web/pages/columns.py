"""The second room: what each column is, on a grid with its shape, its problems and its part in who stands out."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, get_args
from urllib.parse import urlencode

from shoal.errors import SchemaError, ShoalError
from shoal.report.markup import Child, Html, join, tag
from shoal.report.numbers import count, percent, plural
from shoal.schema import Kind, LinkedSchema, Role, Schema
from shoal.web.inspect import ColumnView, Opened
from shoal.web.pages import charts
from shoal.web.pages.bench_page import BenchPage, first_rows
from shoal.web.pages.column_panel import draw_panel, panel_entries, tree_of
from shoal.web.pages.domain import read_domain, show_domain
from shoal.web.pages.live import Act
from shoal.web.pages.screen import field, problem, select
from shoal.web.pages.standing import helps, remedy, standing_now
from shoal.web.pages.tree_editor import put_together, take_apart
from shoal.web.recoding import read_step

__all__ = ["ColumnsPage"]

ROLES = {
    "identifier": "names a person; never released",
    "quasi": "known to others; masked",
    "sensitive": "must not be disclosed",
    "weight": "survey weight",
    "unit": "names the rows of one person",
    "household": "names the people of one household",
    "time": "when something happened; unchanged",
    "other": "published unchanged",
}
KINDS = {"": "as in the data", **{kind: kind for kind in get_args(Kind)}}
MISSING = {
    "error": "Stop",
    "level": "Keep as a level of its own",
    "drop": "Drop those rows",
    "median": "Fill in the median",
}
AT_ONCE = 60


class ColumnsPage(BenchPage):
    """The grid, with filter, bulk edit, and what would help most beside it."""

    room, name = "columns", "Columns"

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.wrong: dict[str, str] = {}
        self.typed: dict[str, str] = {}

    @property
    def words(self) -> Mapping[str, Any]:
        """The columns' words as they stand."""
        bench = self.controller.find(self.bench)
        return bench.columns(self.table) if bench else {}

    @property
    def table(self) -> str:
        """The linked table that is shown, the persons' unless another is asked for; empty where there is one table."""
        bench = self.controller.find(self.bench)
        tables = (bench.schema or {}).get("tables", {}) if bench else {}
        asked = self.query.get("table", "")
        return asked if asked in tables else next(iter(tables), "")

    @property
    def entry(self) -> Mapping[str, Any]:
        """What the schema says of that table beside its columns."""
        tables = (self.controller.bench(self.bench).schema or {}).get("tables", {})
        found: Mapping[str, Any] = tables.get(self.table, {})
        return found

    def body(self, opened: Opened) -> Html:
        """Heading, what is to be settled, the grid and what stands beside it."""
        found, current = self.controller.exposure(self.bench)
        problems = found.get("problems", [])
        coarsens = "coarsen" in self.controller.recipe(self.bench)
        aside = [self._panel(opened), standing_now(found, current=current), helps(found, coarsens=coarsens)]
        return join(
            [
                self._heading(opened, problems, counted=bool(found)),
                self._tables(opened),
                self._settle(opened, problems, counted=bool(found)),
                tag(
                    "div",
                    self._grid(opened, found),
                    tag("aside", *aside, class_="aside-panel"),
                    class_="grid-and-aside",
                ),
                first_rows(*self._first_rows(opened)),
                self._more(),
            ]
        )

    # The top

    def _heading(self, opened: Opened, problems: Sequence[Any], *, counted: bool) -> Html:
        notes = [tag("p", note, class_="note") for note in opened.notes]
        lead = "The roles decide what is protected. Shoal has proposed them; please look through them."
        ready = counted and not problems and self._has_quasi()
        method = tag("a", "Continue to the method", href=f"/b/{self.bench}/method", class_="button main")
        blocked = tag("span", "Continue to the method", class_="button main", aria_disabled="true")
        down = tag("a", "Download the schema", href=f"/b/{self.bench}/schema.toml", class_="button")
        actions = tag("div", method if ready else blocked, down, class_="actions")
        return join(
            [
                tag("div", tag("div", tag("h1", "Columns"), tag("p", lead, class_="lead")), actions, class_="split"),
                *notes,
            ]
        )

    def _tables(self, opened: Opened) -> Html | None:
        """The linked tables, how they hang together, and what persons are grouped on of the one that is shown."""
        if not opened.tables:
            return None
        links = [self._table_link(name, n) for name, n in opened.tables.items()]
        tabs = tag("nav", tag("ol", *links, class_="rooms tables"), aria_label="Tables")
        entry = self.entry
        if "parent" not in entry:
            return join([tabs, tag("p", f"One row for each person; told apart by {entry.get('key')}.", class_="note")])
        words = f"Events of {entry['parent']}, by {entry['link']}."
        shown = self.typed.get("summaries", "; ".join(entry.get("summaries", ())))
        grouped = tag(
            "input", type="text", name="summaries", value=shown, class_="wide", placeholder="count; first:day"
        )
        hint = (
            "What an intruder may know of all events of a person: count, first:DAY, last:DAY, codes:CODE, total:NUMBER."
        )
        return join(
            [
                tabs,
                tag("p", words, class_="note"),
                problem(self.wrong.get("summaries")),
                field("Persons are grouped on", grouped, hint),
            ]
        )

    def _table_link(self, name: str, n: int) -> Html:
        here = "page" if name == self.table else None
        words = join([name, " ", tag("span", f"{count(n)} rows", class_="note")])
        return tag("li", tag("a", words, href=f"/b/{self.bench}/columns?table={name}", aria_current=here))

    def _first_rows(self, opened: Opened) -> tuple[Opened, dict[str, str]]:
        """The first rows of the table that is shown, and the roles of its columns."""
        roles = {name: str(words.get("role", "other")) for name, words in self.words.items()}
        if not opened.tables:
            return opened, roles
        names, rows = opened.previews[self.table]
        keys = {name: "identifier" for name in (self.entry.get("key"), self.entry.get("link")) if name}
        return replace(opened, preview_columns=tuple(names), preview=rows), roles | keys

    def _has_quasi(self) -> bool:
        if self.table:
            persons = self.controller.bench(self.bench).schema or {}
            return any(w.get("role") == "quasi" for t in persons["tables"].values() for w in t["columns"].values())
        return any(words.get("role") == "quasi" for words in self.words.values())

    def _settle(self, opened: Opened, problems: Sequence[Mapping[str, Any]], *, counted: bool) -> Html:
        """Everything that keeps the table from being used, in one place, with remedies for all of it."""
        if not self._has_quasi():
            said = "No column has the role quasi, so nothing would be masked. Give it to those that others may know."
            return tag("p", said, class_="problem", role="alert")
        try:
            self.controller.schema(self.bench)
        except ShoalError as error:
            return problem(error) or Html("")
        general = [problem(one["rule"]) for one in problems if not one["column"]]
        missing = [one["column"] for one in problems if self._is_missing(opened, one["column"])]
        all_at_once = self._all_missing(missing) if len(missing) > 1 else None
        named = [one for one in problems if one["column"]]
        if not problems:
            said = f"The schema is valid. {self._counts()}." if counted else f"Checking the table… {self._counts()}."
            return tag("p", said, class_="fine")
        n = f"{plural(len(named), 'column')} to settle, marked below."
        return tag(
            "div", tag("p", tag("strong", n)) if named else None, all_at_once, *general, class_="problem", role="alert"
        )

    def _all_missing(self, names: Sequence[str]) -> Html:
        words = f"{len(names)} of them have missing numbers and no rule for these. For all of them at once:"
        presses = [
            remedy(MISSING[way], {name: {"missing": way} for name in names}) for way in ("level", "drop", "median")
        ]
        return tag("div", tag("p", words), tag("div", *presses, class_="actions"))

    def _counts(self) -> str:
        counts = {role: sum(words.get("role") == role for words in self.words.values()) for role in ROLES}
        return "; ".join(f"{n} {role} ({ROLES[role]})" for role, n in counts.items() if n)

    def _is_missing(self, opened: Opened, name: str) -> bool:
        view = next((column for column in opened.columns if column.name == name), None)
        words = self.words.get(name, {})
        return (
            bool(view and view.n_missing)
            and words.get("missing", "error") == "error"
            and words.get("kind") != "nominal"
        )

    # The grid

    def _grid(self, opened: Opened, found: Mapping[str, Any]) -> Html:
        shown = self._filtered(opened, found)
        first = self._first(len(shown))
        rows = [self._row(i, column, opened, found) for i, column in shown[first : first + AT_ONCE]]
        heads = ["column", "shape", "role", "makes unique", "kind", "where missing", "public range or levels"]
        every = tag("input", type="checkbox", data_all=True, aria_label="select all columns shown")
        head = tag("tr", tag("td", every), *(tag("th", text, scope="col") for text in heads))
        caption = tag("caption", "Columns", class_="heard")
        table = tag("table", caption, tag("thead", head), tag("tbody", *rows), class_="columns")
        area = tag("div", table, class_="scroll tall", tabindex="0", role="group", aria_label="Columns")
        n = sum(column.table == self.table for column in opened.columns)
        return tag("div", self._filter(len(shown), n), self._bulk(), area, self._pages(len(shown), first))

    def _first(self, n: int) -> int:
        given = self.query.get("from", "0")
        return min(int(given) if given.isdigit() else 0, max(0, n - 1)) // AT_ONCE * AT_ONCE

    def _filtered(self, opened: Opened, found: Mapping[str, Any]) -> list[tuple[int, ColumnView]]:
        text, role = self.query.get("q", "").lower(), self.query.get("role", "")
        troubled = {one["column"] for one in found.get("problems", [])}
        return [
            (i, column)
            for i, column in enumerate(opened.columns)
            if column.table == self.table
            and text in column.name.lower()
            and (role != "to settle" or column.name in troubled)
            and (role in ("", "to settle") or self.words.get(column.name, {}).get("role") == role)
        ]

    def _filter(self, shown: int, n: int) -> Html:
        roles = {"": "all roles", "to settle": "to settle", **{role: role for role in get_args(Role)}}
        text = tag(
            "input",
            type="search",
            name="q",
            value=self.query.get("q", ""),
            placeholder="Find a column",
            aria_label="Find a column",
        )
        chosen = select("role", roles, self.query.get("role", ""), aria_label="Role to show")
        said = f"{count(n)} columns" if shown == n else f"{count(shown)} of {count(n)} columns"
        return tag(
            "form",
            text,
            chosen,
            tag("button", "Show", type="submit"),
            tag("span", said, class_="note"),
            method="get",
            class_="filter",
        )

    def _bulk(self) -> Html:
        choices = {"": "role: leave", **{role: f"role: {role}" for role in get_args(Role)}}
        kinds = {"": "kind: leave", **{kind: f"kind: {kind}" for kind in get_args(Kind)}}
        ways = {"": "missing: leave", **{way: f"missing: {words.lower()}" for way, words in MISSING.items()}}
        return tag(
            "form",
            tag("strong", "", data_count=True),
            select("role", choices, "", aria_label="role of the selected columns"),
            select("kind", kinds, "", aria_label="kind of the selected columns"),
            select("missing", ways, "", aria_label="where the selected columns are missing"),
            tag("button", "Apply to the selected", type="submit", class_="main"),
            id="bulk",
            class_="bulk",
            hidden=True,
            data_do="bulk",
            data_among=True,
        )

    def _pages(self, n: int, first: int) -> Html | None:
        if n <= AT_ONCE:
            return None
        said = f"Columns {first + 1:,} to {min(first + AT_ONCE, n):,} of {n:,}"
        earlier = self._link("Earlier", {"from": str(max(0, first - AT_ONCE))}) if first else None
        later = self._link("Later", {"from": str(first + AT_ONCE)}) if first + AT_ONCE < n else None
        return tag("div", earlier, tag("span", said), later, class_="actions")

    def _link(self, words: str, query: Mapping[str, str], **marks: Any) -> Html:
        kept = {name: value for name, value in {**self.query, **query}.items() if value}
        return tag("a", words, href=f"/b/{self.bench}/columns?{urlencode(kept)}", **{"class_": "button", **marks})

    def _row(self, i: int, column: ColumnView, opened: Opened, found: Mapping[str, Any]) -> Html:
        name, words = column.name, self.words.get(column.name, {})
        troubles = [self._trouble(one, opened) for one in found.get("problems", []) if one["column"] == name]
        troubles += [problem(self.wrong[name]) or Html("")] if name in self.wrong else []
        box = tag("input", type="checkbox", data_select=True, value=name, aria_label=f"select {name}")
        edit = self._link("More", {"column": name}, class_="quiet", aria_label=f"more about {name}")
        roles = {role: role for role in get_args(Role)}
        if name not in self.words:
            return self._key_row(column)
        cells: list[Child] = [
            charts.spark(column.shape, ordered=column.ordered, label=f"distribution of {name}"),
            select(f"{i}.role", roles, words.get("role"), aria_label=f"role of {name}"),
            self._part(words, found, name),
            select(f"{i}.kind", KINDS, words.get("kind") or "", aria_label=f"kind of {name}"),
            self._missing(i, column, words),
            self._domain(i, column, words),
        ]
        head = join([tag("strong", name), " ", edit, tag("span", _facts(column), class_="type")])
        row = [tag("td", box), tag("th", head, scope="row"), *(tag("td", cell) for cell in cells)]
        why = [*self._findings(opened, name), self._reason(opened, name), *self._doubts(opened, name, words)]
        lines = [("about", [tag("div", *why, class_="why")])] + ([("settle", troubles)] if troubles else [])
        mark = " trouble" if troubles else ""
        drawn = [tag("tr", *row, class_=f"own{mark}", data_key=f"row {name}")]
        drawn += [
            tag(
                "tr",
                tag("td"),
                tag("td", *content, colspan=str(len(row) - 1)),
                class_=f"{kind}{mark}{' last' if i == len(lines) - 1 else ''}",
                data_key=f"{kind} {name}",
            )
            for i, (kind, content) in enumerate(lines)
        ]
        return join(drawn)

    def _key_row(self, column: ColumnView) -> Html:
        """A key or link of a linked table: it is released under a new name, and has no other role."""
        sort = "key" if column.name == self.entry.get("key") else f"link to {self.entry.get('parent')}"
        head = join([tag("strong", column.name), tag("span", _facts(column), class_="type")])
        said = tag("td", f"{sort}: released under new numbers", colspan="6", class_="soft")
        return tag("tr", tag("td"), tag("th", head, scope="row"), said, data_key=f"row {column.name}")

    def _missing(self, i: int, column: ColumnView, words: Mapping[str, Any]) -> Child:
        chosen = words.get("missing", "error")
        codes = words.get("missing_codes")
        if not column.n_missing and not codes and chosen == "error":
            return tag("span", "none missing", class_="soft")
        also = tag("span", f"codes: {', '.join(map(str, codes))}", class_="type") if codes else None
        name = f"{i}.missing"
        return join([select(name, MISSING, chosen, aria_label=f"where {column.name} is missing"), also])

    def _domain(self, i: int, column: ColumnView, words: Mapping[str, Any]) -> Html:
        name = f"{i}.domain"
        return tag(
            "input",
            type="text",
            name=name,
            value=self.typed.get(name, show_domain(words, numbers=_is_number(column))),
            class_="domain",
            placeholder="0 to 120, or a; b; c",
            aria_label=f"public range or levels of {column.name}",
            aria_invalid="true" if name in self.typed else None,
        )

    def _part(self, words: Mapping[str, Any], found: Mapping[str, Any], name: str) -> Child:
        share = found.get("contribution", {}).get(name)
        if words.get("role") != "quasi" or share is None:
            return tag("span", "–", class_="soft")
        freed = found.get("freed", {}).get(name, 0)
        label = f"{name}: {percent(share)} of who is alone; {count(freed)} fewer without it"
        return tag("span", charts.bullet(None, share, None, label), percent(share), class_="part-of", title=label)

    def _trouble(self, one: Mapping[str, Any], opened: Opened) -> Html:
        name = one["column"]
        words = f"{one['rule'][:1].upper()}{one['rule'][1:]}" + (f": {one['got']}." if one["got"] else ".")
        presses = (
            [remedy("Declare " + ", ".join(map(str, one["fix"].values())), {name: one["fix"]})] if one["fix"] else []
        )
        if self._is_missing(opened, name):
            ways = ("level", "drop", "median")
            presses += [remedy(MISSING[way], {name: {"missing": way}}) for way in ways]
        declared = {entry: None for entry in ("bounds", "levels") if self.words.get(name, {}).get(entry)}
        if declared and not presses:
            presses.append(remedy("Remove the declared range or levels", {name: declared}))
        return tag("div", tag("p", words, class_="flag"), tag("div", *presses, class_="remedies"), class_="settle")

    def _findings(self, opened: Opened, name: str) -> list[Html]:
        every = (opened.scan or {}).get("findings", ())
        found = [one for one in every if one["column"] == name and one.get("table", "") == self.table]
        return [tag("span", f"Looks like: {finding['identifier']}. ", class_="flag") for finding in found]

    def _reason(self, opened: Opened, name: str) -> str:
        reasons = (opened.proposal or {}).get("reasons", {})
        return str((reasons.get(self.table, {}) if self.table else reasons).get(name, ""))

    def _doubts(self, opened: Opened, name: str, words: Mapping[str, Any]) -> list[Html]:
        """Values that may stand for an absence: one press says that they do."""
        seen = (opened.proposal or {}).get("doubtful", {}).get(name, {})
        known = words.get("missing_codes") or {}
        asked = [code for code in seen if code not in {str(code) for code in known}]
        if not asked:
            return []
        told = ", ".join(f"{code} ({count(seen[code])} cells)" for code in asked)
        levels = [level for level in words.get("levels") or () if str(level) not in asked]
        rest = {"levels": levels or None} if words.get("levels") else {}
        presses = [
            remedy(meaning, {name: {"missing_codes": {**known, **dict.fromkeys(asked, meaning)}, **rest}})
            for meaning in ("unknown", "not applicable")
        ]
        return [tag("div", tag("span", f"Does {told} stand for an absence? Yes:"), *presses, class_="doubt")]

    # Beside the grid

    def _panel(self, opened: Opened) -> Html | None:
        name = self.query.get("column", "")
        view = next((one for one in opened.columns if (one.table, one.name) == (self.table, name)), None)
        if view is None or name not in self.words:
            return None
        close = self._link("Close", {"column": ""}, class_="quiet")
        names = [one.name for one in opened.columns if one.table == self.table and one.name != name]
        panel = draw_panel(self.bench, opened, view, self.words.get(name, {}), names)
        return tag(
            "section",
            tag("div", tag("h2", name), close, class_="split"),
            problem(self.wrong.get("panel")),
            panel,
            class_="card panel",
        )

    # The bottom

    def _more(self) -> Html:
        bench = self.controller.bench(self.bench)
        rules = (bench.schema or {}).get("rules", [])
        shown = self.typed.get("rules") or (_rules_toml(rules) if rules else "")
        hint = "Public knowledge about the world, kept by every method, in TOML."
        area = tag("textarea", shown, name="rules", rows="7", class_="wide code", placeholder=_RULES)
        entry = tag(
            "textarea",
            self.typed.get("schema", ""),
            name="schema",
            rows="5",
            class_="wide code",
            placeholder="[columns.age]",
            id="schema-text",
        )
        return tag(
            "div",
            None
            if self.table
            else tag(
                "details",
                tag("summary", f"Rules between columns ({len(rules)})"),
                problem(self.wrong.get("rules")),
                field("Rules", area, hint),
                open="rules" in self.wrong,
            ),
            tag(
                "details",
                tag("summary", "I already have a schema"),
                problem(self.wrong.get("schema")),
                field("Paste a schema in TOML, to replace the one above", entry),
                open="schema" in self.wrong,
            ),
        )

    # What a person does

    def press(self, act: Act) -> None:
        """A field of a row, a remedy, a bulk edit, the panel, rules or a schema."""
        done = {"remedy": self._remedied, "bulk": self._bulk_edit, "panel": self._panel_edit, "recode": self._recoded}
        done |= {"tree": self._tree_edit, "tree-apart": self._tree_edit}
        if act.do in done:
            place = {"remedy": "", "tree": "panel", "tree-apart": "panel"}.get(act.do, act.do)
            self._take(place, lambda: done[act.do](act))
        elif act.name == "summaries":
            text = str(act.value)
            change = partial(self.controller.change_summaries, self.bench, self.table, text)
            self._take("summaries", change, "summaries", text)
        elif act.name in ("schema", "rules"):
            self._take(act.name, lambda: self._pasted(act.name, str(act.value)), act.name, str(act.value))
        elif act.name:
            self._entered(act)

    def _entered(self, act: Act) -> None:
        opened = self.opened
        place, _, entry = act.name.partition(".")
        if opened is None or not place.isdigit() or int(place) >= len(opened.columns):
            return
        column = opened.columns[int(place)]

        def change() -> None:
            entries = _entries(column, entry, str(act.value))
            self.controller.change_column(self.bench, column.name, entries, table=column.table)

        self._take(column.name, change, act.name, str(act.value))

    def _take(self, what: str, change: Any, name: str = "", typed: str = "") -> None:
        """Make a change, or show what is wrong with it beside what was typed."""
        try:
            change()
        except ShoalError as error:
            if not what:
                raise
            self.wrong["panel" if what == "panel" else what] = str(error)
            if name:
                self.typed[name] = typed

    def _remedied(self, act: Act) -> None:
        entries = json.loads(act.of)
        self.controller.change_columns(self.bench, entries, _said(entries), table=self.table)

    def _bulk_edit(self, act: Act) -> None:
        given = {name: str(act.fields[name]) for name in ("role", "kind", "missing") if act.fields.get(name)}
        names = [str(name) for name in act.fields.get("selected", ()) if str(name) in self.words]
        if given and names:
            entries = {name: dict(given) for name in names}
            self.controller.change_columns(self.bench, entries, _said(entries), table=self.table)

    def _panel_edit(self, act: Act) -> None:
        name = act.of
        if name in self.words:
            entries = panel_entries(act.fields, self.words[name])
            self.controller.change_column(self.bench, name, entries, table=self.table)

    def _tree_edit(self, act: Act) -> None:
        """Put values of a hierarchy together, or take a group apart."""
        opened = self.opened
        name, level, label = json.loads(act.of) if act.do == "tree-apart" else (act.of, 0, "")
        columns = opened.columns if opened else ()
        view = next((one for one in columns if (one.table, one.name) == (self.table, name)), None)
        if opened is None or view is None or name not in self.words:
            return
        rows, _ = tree_of(opened, view, self.words[name])
        made = take_apart(rows, int(level), str(label)) if label else put_together(rows, act.fields)
        hierarchy = {"kind": "table", "rows": made} if len(made[0]) > 1 else None
        self.controller.change_column(self.bench, name, {"hierarchy": hierarchy}, table=self.table)

    def _recoded(self, act: Act) -> None:
        """Put a change in front of the recipe's coarseners."""
        one = json.loads(act.of)
        step = read_step({key: value for key, value in one["step"].items() if value is not None})
        chain = list(self.controller.recipe(self.bench).get("coarsen", []))
        none: dict[str, Any] = {"method": "recode", "steps": {}}
        first = chain.pop(0) if chain and chain[0].get("method") == "recode" else none
        said = dict(step) if isinstance(step, Mapping) else step.to_dict()
        steps = {**dict(first["steps"]), str(one["column"]): said}
        words = {"coarsen": [{**first, "steps": steps}, *chain]}
        self.controller.change_recipe(self.bench, words, f"recipe: {one['words']}")
        self.said, self.sort = f"Added to the recipe: {one['words']}.", "fine"

    def _pasted(self, name: str, text: str) -> None:
        if name == "rules":
            self.controller.change_rules(self.bench, _toml(text).get("rules", []) if text.strip() else [])
        elif text.strip():
            words = _toml(text)
            read = LinkedSchema.from_dict if "tables" in words else Schema.from_dict
            self.controller.set_schema(self.bench, read(words))


_RULES = """[[rules]]
when = { admission = ["newborn"] }
then = { age = { max = 0 } }

[[rules]]
order = ["admitted", "discharged"]"""


def _said(entries: Mapping[str, Mapping[str, Any]]) -> str:
    """A change of some columns in a few words."""
    first = next(iter(entries.values()))
    which = next(iter(entries)) if len(entries) == 1 else f"{len(entries)} columns"
    return f"{which}: {', '.join(f'{name} {value}' for name, value in first.items())}"


def _facts(column: ColumnView) -> str:
    parts = [column.type]
    if column.n_distinct is not None:
        parts.append(f"{column.n_distinct:,}{'+' if column.n_distinct == 10_000 else ''} different")
    if column.n_missing:
        parts.append(f"{column.n_missing:,} missing")
    return ", ".join(parts)


def _is_number(column: ColumnView) -> bool:
    return column.type in ("whole number", "number")


def _entries(column: ColumnView, entry: str, value: str) -> dict[str, Any]:
    """What a changed field means for the column's words: None takes an entry away."""
    if entry == "domain":
        return {"bounds": None, "levels": None, **read_domain(column.name, value, numbers=_is_number(column))}
    if entry == "kind":
        other = {"numeric": "levels", "ordinal": "bounds", "nominal": "bounds"}.get(value)
        return {"kind": value or None, **({other: None} if other else {})}
    return {entry: value} if entry in ("role", "missing") else {}


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError("schema", f"must be TOML ({error})") from None


def _rules_toml(rules: Sequence[Mapping[str, Any]]) -> str:
    import tomli_w

    return tomli_w.dumps({"rules": [dict(rule) for rule in rules]})
