"""The second page: what each column is, on a grid with its shape, its problems and its part in who stands out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from shoal.errors import ShoalError
from shoal.report.markup import Html, join, tag
from shoal.report.numbers import count, listed, plural
from shoal.schema.schema import REPEATS
from shoal.web.cache import DRAWINGS
from shoal.web.inspect import LONGEST_CELL, Opened
from shoal.web.pages.column_edits import ColumnEdits
from shoal.web.pages.column_grid import MEANINGS, MISSING, Grid, coded, codes_asked, is_missing
from shoal.web.pages.column_panel import draw_panel
from shoal.web.pages.exposure import helps, remedy, standing_now
from shoal.web.pages.layout import field, problem, select
from shoal.web.pages.page import Act
from shoal.web.pages.session_page import SessionPage, first_rows
from shoal.web.row_filter import rows_with

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


_TOGETHER = "Filter by the beginning of a name, select all that are shown, and apply one role to the selected."
_ANSWERED = {"same person": "the same person's and count once", "different people": "different people's"}


class ColumnsPage(SessionPage):
    """The grid, with filter, bulk edit, and what would help most beside it."""

    slug, name = "columns", "Columns"

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.typed: dict[str, str] = {}
        self.trying: Mapping[str, Any] | None = None  # a hierarchy that is being typed: this answer shows its levels

    @property
    def words(self) -> Mapping[str, Any]:
        """The columns' words as they stand."""
        session = self.controller.find(self.session)
        return session.columns(self.table) if session else {}

    @property
    def table(self) -> str:
        """The linked table that is shown, the persons' unless another is asked for; empty where there is one table."""
        session = self.controller.find(self.session)
        tables = (session.schema or {}).get("tables", {}) if session else {}
        asked = self.query.get("table", "")
        return asked if asked in tables else next(iter(tables), "")

    @property
    def entry(self) -> Mapping[str, Any]:
        """What the schema says of that table beside its columns."""
        tables = (self.controller.session(self.session).schema or {}).get("tables", {})
        found: Mapping[str, Any] = tables.get(self.table, {})
        return found

    def parts(self) -> dict[str, Html]:
        """The first rows are a part of their own: a press in the grid leaves them as they are."""
        opened = self.opened
        below = {} if opened is None else {"rows": self._first_rows(opened), "more": self._more()}
        return {**super().parts(), "rows": Html(""), "more": Html(""), **below}

    def body(self, opened: Opened) -> Html:
        """Heading, what is to be settled, the grid and what stands beside it."""
        found, current = self.controller.exposure(self.session)
        problems = found.get("problems", [])
        failed = "" if found else self.controller.count_failure(self.session)
        coarsens = "coarsen" in self.controller.recipe(self.session)
        grid = self._grid(opened, found)
        aside = [
            self._panel(opened, grid),
            standing_now(found, current=current, failed=failed),
            helps(found, self._undecided(opened), coarsens=coarsens),
        ]
        return join(
            [
                self._heading(opened, problems, counted=bool(found or failed)),
                self._tables(opened),
                self._settle(opened, problems, counted=bool(found or failed)),
                self._repeats(opened),
                self._codes(opened),
                tag("div", grid.draw(), tag("aside", *aside, class_="aside-panel"), class_="grid-and-aside"),
            ]
        )

    def _undecided(self, opened: Opened) -> Html | None:
        """A link to the columns whose role nobody could tell."""
        names = opened.proposed(self.table).get("undecided", ())
        quasi = [name for name in names if self.words.get(name, {}).get("role") == "quasi"]
        words = f"Show the {len(quasi)} columns that are quasi only out of caution"
        asked = {"role": "undecided", **({"table": self.table} if self.table else {})}
        return tag("a", words, href=f"/b/{self.session}/columns?{urlencode(asked)}") if len(quasi) > 1 else None

    def _grid(self, opened: Opened, found: Mapping[str, Any]) -> Grid:
        return Grid(
            session=self.session,
            table=self.table,
            opened=opened,
            found=found,
            words=self.words,
            entry=self.entry if opened.tables else {},
            query=self.query,
            typed=self.typed,
            wrong=self.wrong,
        )

    # The top

    def _heading(self, opened: Opened, problems: Sequence[Any], *, counted: bool) -> Html:
        advised = [*opened.proposed(self.table).get("advice", ())]
        notes = [tag("p", note, class_="note") for note in (*advised, *([_TOGETHER] if advised else []), *opened.notes)]
        lead = "The roles decide what is protected. Shoal has proposed them; please look through them."
        ready = counted and not problems and self._has_quasi()
        method = tag("a", "Continue to the method", href=f"/b/{self.session}/method", class_="button main")
        blocked = tag("span", "Continue to the method", class_="button main", aria_disabled="true")
        down = tag("a", "Download the schema", href=f"/b/{self.session}/schema.toml", class_="button")
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
        tabs = tag("nav", tag("ol", *links, class_="steps tables"), aria_label="Tables")
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
        return tag(
            "li", tag("a", words, href=f"/b/{self.session}/columns?{urlencode({'table': name})}", aria_current=here)
        )

    def _first_rows(self, opened: Opened) -> Html:
        """The first rows of the table that is shown, each column in the colour of its role."""
        roles = {name: str(words.get("role", "other")) for name, words in self.words.items()}
        if opened.tables:
            names, rows = opened.previews[self.table]
            keys = {name: "identifier" for name in (self.entry.get("key"), self.entry.get("link")) if name}
            opened, roles = replace(opened, preview_columns=tuple(names), preview=rows), roles | keys
        asked = self.controller.session(self.session).notes.get("rows asked", {})
        if asked.get("table") != self.table or not asked.get("value"):
            return _rows_drawn(self.session, opened, roles, self._rows_form(opened, {}))
        return self._rows_with(opened, roles, asked)

    def _rows_with(self, opened: Opened, roles: dict[str, str], asked: Mapping[str, str]) -> Html:
        """The rows that were asked for by a value of a column."""
        form = self._rows_form(opened, asked)
        try:
            n, rows = rows_with(opened, self.table, asked["column"], asked["value"], opened.preview_columns)
        except ShoalError as error:
            return join([tag("h2", "Rows"), form, problem(error)])
        first = f", the first {len(rows)} shown" if n > len(rows) else ""
        words = f"{plural(n, 'row')} with “{asked['value']}” in {asked['column']}{first}"
        return _rows_drawn(self.session, replace(opened, preview=rows), roles, form, words)

    def _rows_form(self, opened: Opened, asked: Mapping[str, str]) -> Html | None:
        """The form that asks for rows by a value; only where there is a copy to look in."""
        if opened.copy is None:
            return None
        names = {name: name for name in self.words}
        chosen = select("column", names, asked.get("column", next(iter(names), "")), aria_label="Column to look in")
        value = tag(
            "input",
            type="search",
            name="value",
            value=asked.get("value", ""),
            placeholder="a value, or a part of it",
            aria_label="Value to look for",
        )
        press = tag("button", "Show rows", type="submit")
        back = tag("button", "Show the first rows", type="button", class_="quiet", data_do="rows-first")
        return tag("form", chosen, value, press, back if asked else None, data_do="rows", class_="filter rows-filter")

    def _has_quasi(self) -> bool:
        if self.table:
            persons = self.controller.session(self.session).schema or {}
            return any(w.get("role") == "quasi" for t in persons["tables"].values() for w in t["columns"].values())
        return any(words.get("role") == "quasi" for words in self.words.values())

    def _settle(self, opened: Opened, problems: Sequence[Mapping[str, Any]], *, counted: bool) -> Html:
        """Everything that keeps the table from being used, in one place, with remedies for all of it."""
        if not self._has_quasi():
            said = "No column has the role quasi, so nothing would be masked. Give it to those that others may know."
            return tag("p", said, class_="problem", role="alert")
        try:
            self.controller.schema(self.session)
        except ShoalError as error:
            return problem(error) or Html("")
        named = [one for one in problems if one["column"]]
        general = [problem(one["rule"]) for one in problems if not one["column"]]
        missing = [one["column"] for one in problems if is_missing(opened, self.table, one["column"], self.words)]
        all_at_once = self._all_missing(missing, len(named)) if len(missing) > 1 else None
        if not problems:
            said = f"The schema is valid. {self._counts()}." if counted else f"Checking the table… {self._counts()}."
            return tag("p", said, class_="fine")
        return tag("div", self._named(len(named)), all_at_once, *general, class_="problem", role="alert")

    def _named(self, n: int) -> Html | None:
        """How many columns are to be settled, and a link to these alone."""
        if not n:
            return None
        query = {"role": "to settle"} | ({"table": self.table} if self.table else {})
        link = tag("a", "Show only these", href=f"/b/{self.session}/columns?{urlencode(query)}")
        shown = self.query.get("role") == "to settle"
        words = f"{plural(n, 'column')} to settle, marked below."
        return tag("p", tag("strong", words), None if shown else " ", None if shown else link)

    def _repeats(self, opened: Opened) -> Html | None:
        """Whether rows that occur more than once are the same person's: asked until it is answered, or taken back."""
        question = "" if self.table else str(opened.proposed("").get("repeats", ""))
        schema = self.controller.session(self.session).schema or {}
        unit = any(words.get("role") == "unit" for words in self.words.values())
        answer = schema.get("repeats", "")
        if not (question or answer) or (unit and not answer):
            return None
        if answer:
            words = f"Rows that are equal in all but identifiers and weight are {_ANSWERED[answer]}."
            press = tag("button", "Ask again", type="button", class_="small", data_do="repeats", data_of="")
            return tag("div", tag("p", words, " ", press, data_key="repeats"), class_="fine")
        presses = [
            tag("button", one[:1].upper() + one[1:], type="button", class_="small", data_do="repeats", data_of=one)
            for one in REPEATS
        ]
        said = f"{question} Until it is settled, rows are counted, not people."
        return tag("div", tag("p", said, " ", *presses, data_key="repeats"), class_="fine ask")

    def _codes(self, opened: Opened) -> Html | None:
        """Values that may stand for an absence in several columns: one press says so of all of them."""
        asked = {name: codes_asked(opened, self.table, name, words) for name, words in self.words.items()}
        every = dict.fromkeys(code for codes in asked.values() for code in codes)
        among = {code: [name for name, codes in asked.items() if code in codes] for code in every}
        drawn = [self._code(code, names, asked) for code, names in among.items() if len(names) > 1]
        return tag("div", *drawn, class_="fine ask") if drawn else None

    def _code(self, code: str, names: Sequence[str], asked: Mapping[str, Mapping[str, int]]) -> Html:
        cells = count(sum(asked[name][code] for name in names))
        said = f"“{code}” is in {len(names)} columns ({cells} cells: {listed(names)}). An absence in all of them? Yes:"
        presses = [
            remedy(meaning, {name: coded(self.words[name], [code], meaning) for name in names}) for meaning in MEANINGS
        ]
        return tag("p", said, " ", *presses, data_key=f"code {code}")

    def _all_missing(self, names: Sequence[str], n: int) -> Html:
        some = "They all" if len(names) == n else f"{len(names)} of them"
        words = f"{some} have missing numbers and no rule for these. For all of them at once:"
        presses = [
            remedy(MISSING[way], {name: {"missing": way} for name in names}) for way in ("level", "drop", "median")
        ]
        return tag("p", words, " ", *presses)

    def _counts(self) -> str:
        counts = {role: sum(words.get("role") == role for words in self.words.values()) for role in ROLES}
        return "; ".join(f"{n} {role} ({ROLES[role]})" for role, n in counts.items() if n)

    # Beside the grid

    def _panel(self, opened: Opened, grid: Grid) -> Html | None:
        name = self.query.get("column", "")
        view = next((one for one in opened.columns if (one.table, one.name) == (self.table, name)), None)
        if view is None or name not in self.words:
            return None
        close = grid.link("Close", {"column": ""}, class_="quiet")
        names = [one.name for one in opened.columns if one.table == self.table and one.name != name]
        panel = draw_panel(self.session, opened, view, self.words.get(name, {}), names, self.trying)
        return tag(
            "section",
            tag("div", tag("h2", name), close, class_="split"),
            problem(self.wrong.get("panel")),
            panel,
            class_="card panel",
            data_key=f"panel {name}",
        )

    # The bottom

    def _more(self) -> Html:
        session = self.controller.session(self.session)
        rules = (session.schema or {}).get("rules", [])
        shown = self.typed.get("rules") or (_rules_toml(rules) if rules else "")
        hint = "Public knowledge about the world, respected by every method, in TOML."
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
        opened = self.opened
        if opened is None:
            return
        edits = ColumnEdits(
            controller=self.controller, session=self.session, table=self.table, opened=opened, words=self.words
        )
        pressed = {"remedy": edits.remedy, "bulk": edits.bulk, "panel": edits.panel, "recode": edits.recode}
        pressed |= {"tree": edits.tree, "tree-apart": edits.tree}
        pressed["repeats"] = lambda act: self.controller.change_repeats(self.session, act.of)
        text = str(act.value)
        if act.do in pressed:
            place = {"remedy": "", "tree": "panel", "tree-apart": "panel"}.get(act.do, act.do)
            self._take(place, lambda: pressed[act.do](act))
        elif act.do == "count":
            self.controller.count_again(self.session)
        elif act.do in ("rows", "rows-first"):
            self._ask_rows(act)
        elif act.name in ("hierarchy", "levels"):
            self.trying = act.fields
        elif act.name == "summaries":
            self._take("summaries", lambda: edits.summaries(text), "summaries", text)
        elif act.name in ("schema", "rules"):
            self._take(act.name, lambda: edits.paste(act.name, text), act.name, text)
        elif act.name:
            self._entered(edits, act.name, text)
        if act.do == "recode" and not self.wrong:
            self.said, self.sort = f"Added to the recipe: {json.loads(act.of)['words']}.", "fine"

    def _ask_rows(self, act: Act) -> None:
        """Remember which rows are looked for: it is no change of the work, and stays out of project and address."""
        value = str(act.fields.get("value", "")).strip() if act.do == "rows" else ""
        asked = {"table": self.table, "column": str(act.fields.get("column", "")), "value": value[:LONGEST_CELL]}
        self.controller.note(self.session, "rows asked", asked if value else {})

    def _entered(self, edits: ColumnEdits, name: str, text: str) -> None:
        place, _, entry = name.partition(".")
        if place.isdigit() and int(place) < len(edits.opened.columns):
            column = edits.opened.columns[int(place)]
            self._take(column.name, lambda: edits.enter(column, entry, text), name, text)

    def _take(self, what: str, change: Callable[[], None], name: str = "", typed: str = "") -> None:
        """Make a change, or show what is wrong with it beside what was typed."""
        try:
            change()
        except ShoalError as error:
            if not what:
                raise
            self.wrong[what] = str(error)
            if name:
                self.typed[name] = typed


def _rows_drawn(
    session: str, opened: Opened, roles: dict[str, str], form: Html | None = None, words: str = "First rows"
) -> Html:
    what = "rows", repr(opened.preview), tuple(roles.items()), str(form), words
    return DRAWINGS.of(session, what, lambda: first_rows(opened, roles, form, words))


_RULES = """[[rules]]
when = { admission = ["newborn"] }
then = { age = { max = 0 } }

[[rules]]
order = ["admitted", "discharged"]"""


def _rules_toml(rules: Sequence[Mapping[str, Any]]) -> str:
    import tomli_w

    return tomli_w.dumps({"rules": [dict(rule) for rule in rules]})
