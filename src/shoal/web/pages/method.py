"""The third page: what the release is for, by which method, what that costs, and the same as a command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

from shoal.compliance import PRESETS
from shoal.errors import ShoalError
from shoal.method import Family
from shoal.recipe import command_line, kind_of
from shoal.report.markup import Html, join, tag
from shoal.report.numbers import count
from shoal.schema import Schema
from shoal.web.catalogue import Goal, goal, goals
from shoal.web.forms import read_words
from shoal.web.inspect import Opened
from shoal.web.pages.column_grid import NO_RANGE
from shoal.web.pages.editor import add_slot, change_slot, draw_slots, fault, remove_slot, slots_of, words_of
from shoal.web.pages.form_controls import Columns
from shoal.web.pages.layout import field, problem, select
from shoal.web.pages.page import Act
from shoal.web.pages.session_page import SessionPage

__all__ = ["MethodPage"]

FORMATS = {"": "same as the input", **{name: name for name in ("csv", "tsv", "parquet", "dta", "sav", "xpt")}}
RULES = {"": "none", **{one.name: one.name if one.k == 1 else f"{one.name}: k = {one.k}" for one in PRESETS.values()}}
UPLOADED = (
    "The privacy account of a file is stored next to it. An uploaded file is deleted when the workbench stops, "
    "and its account with it. To keep the account, open the file by its path."
)
CHANGED = "The schema or recipe has just been changed in another tab. Review it, then try again."
SAMPLE = 5_000
BYTES_PER_CELL = 260  # at the peak: Generalize takes 2.5 GB for a million rows of ten columns, others less


class MethodPage(SessionPage):
    """Goals as cards that match the recipe, the recipe's form, and what a run will take."""

    slug, name = "method", "Method"

    @property
    def words(self) -> Any:
        """The recipe as it stands, in words."""
        return self.controller.recipe(self.session)

    def body(self, opened: Opened) -> Html:
        """Goals, form, output, and the way on."""
        lead = "Choose what the release must preserve. Every part of the recipe can be changed below."
        return join(
            [
                tag("h1", "Method"),
                tag("p", lead, class_="lead"),
                self._goals(),
                tag(
                    "div",
                    tag("div", self._form(opened), self._more(opened)),
                    tag("aside", self._end(opened), class_="aside-panel sticky"),
                    class_="grid-and-aside run-first",
                ),
            ]
        )

    def _goals(self) -> Html:
        now, schema = self.controller.goal(self.session), self._schema()
        linked = self.controller.is_linked(self.session)
        fitting = [one for one in goals() if not linked or one.for_linked]
        cards = [_card(one, one == now, one.lacks(schema)) for one in fitting]
        own = [] if now is not None else [self._own()]
        legend = tag("legend", "What should the release preserve?")
        return tag("fieldset", legend, *own, *cards, class_="goals")

    def _own(self) -> Html:
        """The card of a recipe that is no goal's: it says what is run, and leads back."""
        before = goal(self.controller.session(self.session).goal or goals()[0].name)
        radio = tag("input", type="radio", name="goal", value="", checked=True)
        try:
            title = read_words(self.words).title
        except ShoalError:
            title = "not complete yet"
        back = tag(
            "button", f"Reset to “{before.title}”", type="button", class_="small", data_do="reset", data_of=before.name
        )
        label = tag("label", radio, tag("strong", "Your own recipe"), tag("span", title))
        return tag("div", label, back, class_="goal own")

    def _form(self, opened: Opened) -> Html:
        slots = slots_of(self.words)
        persons = next(iter(opened.tables), "")
        columns = Columns.of(opened, self.controller.session(self.session).columns(persons))
        return join([tag("h2", "Recipe"), draw_slots(slots, columns, fault(slots))])

    def _more(self, opened: Opened) -> Html:
        asked = self.controller.session(self.session).now.asked
        entries = [field("Write the table as", select("format", FORMATS, asked.get("format") or ""))]
        kind = kind_of(self.words)
        asks = kind.asks if kind else ()
        if "preset" in asks and not opened.tables:
            held = "The finished table must meet these rules, or nothing is written."
            entries.append(field("Preset of rules", select("preset", RULES, asked.get("preset") or ""), held))
        if "limit" in asks:
            spent = "Total epsilon that may ever be spent on this file; fixed by the first run, 10 by default."
            limit = tag("input", name="limit", type="number", min="0", step="any", value=str(asked.get("limit") or ""))
            entries.append(field("Limit of the privacy account", limit, spent))
        allowed = [self._allowed_column(name) for name in self.controller.allowed(self.session)]
        uploaded = "limit" in asks and self.controller.workspace.holds(Path(opened.path))
        note = tag("p", UPLOADED, class_="problem") if uploaded else None
        return tag(
            "fieldset", tag("legend", "Output"), tag("div", *entries, class_="fields"), *allowed, note, class_="method"
        )

    def _allowed_column(self, name: str) -> Html:
        """A column that a person let stand, and the way to take that back."""
        back = tag("button", "Hold it back", type="button", class_="small", data_do="hold-back", data_of=name)
        return tag("p", tag("strong", name), " is released as it is, as you have looked at it. ", back, class_="note")

    def _end(self, opened: Opened) -> Html:
        wrong = fault(slots_of(self.words))
        if wrong:
            return tag("div", tag("h2", "Run"), tag("p", wrong.words, class_="problem", role="alert"), class_="card")
        found, _ = self.controller.exposure(self.session)
        unsettled, lacks = len(found.get("problems", [])), self._lacks()
        first: dict[str, str | bool | None] = {
            "data_of": self._seen(),
            "data_once": True,
            "disabled": bool(unsettled or lacks),
        }
        run = tag("button", "Run", type="button", class_="main", data_do="run", **first)
        n = opened.n_rows or 0
        trial = f"Try on {count(SAMPLE)} {'people' if opened.tables else 'rows'} first"
        sample = tag("button", trial, type="button", data_do="sample", **first) if n > 2 * SAMPLE else None
        others = tag("a", "Compare with others", href=f"/b/{self.session}/compare", class_="button")
        save = tag("a", "Download the recipe", href=f"/b/{self.session}/recipe.toml", class_="button")
        blocked = f"{unsettled} problem{'s' if unsettled > 1 else ''} of the columns must be settled first."
        settle = tag(
            "p",
            blocked,
            " ",
            tag("a", "Settle them", href=f"/b/{self.session}/columns?role=to+settle"),
            class_="problem",
        )
        return tag(
            "div",
            tag("h2", "Run"),
            settle if unsettled else None,
            lacks,
            problem(self.wrong.get("run")),
            self._forecast(opened),
            tag("div", run, sample, others, class_="actions"),
            tag("h3", "On the command line"),
            self._line(opened),
            tag("div", save, class_="actions"),
            class_="card",
        )

    def _lacks(self) -> Html | None:
        """What the goal needs first, beside the button that would fail without it."""
        now = self.controller.goal(self.session)
        lacks = "" if now is None else now.lacks(self._schema())
        role = f"?{urlencode({'role': NO_RANGE})}" if now and "synthesize" in now.families else ""
        link = tag("a", "Go to the columns", href=f"/b/{self.session}/columns{role}")
        return tag("p", f"Required first: {lacks} ", link, class_="problem") if lacks else None

    def _schema(self) -> Schema:
        try:
            return self.controller.schema(self.session)
        except ShoalError:
            return Schema(())

    def _forecast(self, opened: Opened) -> Html:
        found = self.controller.forecast(self.session)
        if found is None:
            return tag("p", "The forecast needs a schema that is whole.", class_="note")
        memory = BYTES_PER_CELL * (opened.n_rows or 0) * opened.n_columns + 4e8
        words = f"Takes {found} and up to {memory / 1e9:.1g} GB of memory on {count(opened.n_rows or 0)} rows."
        return join([tag("p", words, class_="forecast"), self._compiling(opened)])

    def _compiling(self, opened: Opened) -> Html | None:
        """What a machine that has never run this takes beside it."""
        if self.controller.is_compiled(self.session, opened.n_rows or 0):
            return None
        words = "The first run on this machine also compiles, once: up to half a minute more. See shoal warm-up."
        return tag("p", words, class_="note")

    def _line(self, opened: Opened) -> Html:
        uploaded = self.controller.workspace.holds(Path(opened.path))
        file = opened.name if uploaded else opened.path
        asked = self.controller.asked(self.session)
        try:
            recipe = self.controller.settled_recipe(self.session)
            line = command_line(recipe, file, "schema.toml", "release", reading=opened.asked, **asked)
        except ShoalError as error:
            return tag("p", f"This recipe can only be written as a recipe file. {error}", class_="note")
        copy = tag("button", "Copy", type="button", class_="quiet", data_copy="command")
        return join([tag("pre", line, class_="command", id="command", tabindex="0"), copy])

    def _seen(self) -> str:
        """What a press would run, as this page shows it: another tab may have changed it meanwhile."""
        return str(self.controller.workspace.sessions.revision_of_draft(self.session))

    def press(self, act: Act) -> None:
        """Take a goal, change the recipe or an answer, or run."""
        slots = slots_of(self.words)
        if act.name == "goal" and act.value:
            self.controller.choose_goal(self.session, str(act.value))
        elif act.do == "reset":
            self.controller.choose_goal(self.session, act.of)
        elif act.name in ("format", "preset", "limit"):
            value = _number(str(act.value)) if act.name == "limit" else act.value or None
            self.controller.ask(self.session, act.name, value)
        elif act.do == "hold-back":
            self.controller.hold_back(self.session, act.of)
        elif act.do in ("run", "sample"):
            self._run(act)
        elif act.do in ("add", "remove"):
            changed = add_slot(slots, cast(Family, act.of)) if act.do == "add" else remove_slot(slots, int(act.of))
            self.controller.change_recipe(self.session, words_of(changed), f"recipe: one method {_DONE[act.do]}")
        elif act.name:
            changed = change_slot(slots, act.name, act.value)
            what = f"recipe: {act.name.partition('.')[2]} {str(act.value)[:40]}"
            self.controller.change_recipe(self.session, words_of(changed), what)

    def _run(self, act: Act) -> None:
        if act.of != self._seen():
            self.wrong["run"] = CHANGED
            return
        try:
            job = self.controller.run(self.session, SAMPLE if act.do == "sample" else None)
        except ShoalError as error:
            self.wrong["run"] = str(error)
            return
        self.go = f"/b/{self.session}/result/{job}"


_DONE = {"add": "added", "remove": "removed"}


def _card(one: Goal, chosen: bool, lacks: str) -> Html:
    radio = tag("input", type="radio", name="goal", value=one.name, checked=chosen)
    needs = tag("span", f"Required first: {lacks}", class_="lacks") if lacks else None
    return tag(
        "label",
        radio,
        tag("strong", one.title),
        tag("span", one.words),
        needs,
        class_="goal",
        data_key=f"goal {one.name}",
    )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
