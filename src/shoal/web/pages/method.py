"""The third page: what the release is for, by which method, and the same as a command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from nicegui import ui

from shoal.errors import ShoalError
from shoal.method import Family
from shoal.recipe import command_line
from shoal.report.markup import Html, join, tag
from shoal.schema import Schema
from shoal.web.catalogue import Goal, goals
from shoal.web.controller import Controller
from shoal.web.forms import read_words
from shoal.web.inspect import Opened
from shoal.web.pages.editor import add_slot, change_slot, draw_slots, fault, remove_slot, slots_of, words_of
from shoal.web.pages.lines import Columns
from shoal.web.pages.screen import Block, field, problem, screen
from shoal.web.pages.waiting import waiting, watching

__all__ = ["add_method"]

FORMATS = {"": "same as the input", **{name: name for name in ("csv", "tsv", "parquet", "dta", "sav", "xpt")}}
PRESETS = {
    "": "none",
    "safe-harbor": "safe-harbor",
    "limited-data-set": "limited-data-set",
    "cms": "cms: classes of 11",
    "internal-5": "internal-5: risk at most 0.2",
    "public-11": "public-11: risk at most 1/11",
    "public-20": "public-20: risk at most 0.05",
}
UPLOADED = (
    "The privacy account of a file is stored next to it. An uploaded file is deleted when the workbench stops, "
    "and its account with it. To keep the account, open the file by its path."
)

CHANGED = "The schema or recipe has just been changed in another tab. Review it, then try again."


def add_method(controller: Controller) -> None:
    """Add the page ``/b/{bench}/method``."""

    @ui.page("/b/{bench}/method")
    def method(bench: str) -> None:
        with screen("Method", bench=bench, step="method", scores=controller.scores):
            waiting(controller, bench, lambda opened: _Method(controller, bench, opened))


class _Method:
    """What one visitor of the page sees and does."""

    def __init__(self, controller: Controller, bench: str, opened: Opened) -> None:
        self.controller, self.bench, self.opened, self.refusal, self.is_left = controller, bench, opened, "", False
        self.seen = self._facts()
        Block(_heading)
        self.goals = Block(self._goals, on_change=self._goal_chosen)
        self.form = Block(self._form, on_change=self._changed, on_press=self._pressed)
        self.more = Block(self._more, on_change=self._noted)
        self.end = Block(self._end, on_press=self._pressed, live=True)
        watching(controller, bench, self._redraw)

    @property
    def words(self) -> Any:
        """The recipe as it stands, in words."""
        return self.controller.recipe(self.bench)

    def _goals(self) -> Html:
        now = self.controller.bench(self.bench).goal or goals()[0].name
        legend = tag("legend", "What should the release preserve?")
        try:
            schema = self.controller.schema(self.bench)
        except ShoalError:
            schema = Schema(())
        cards = [_card(goal, goal.name == now, goal.lacks(schema)) for goal in goals()]
        return tag("fieldset", legend, *cards, class_="goals")

    def _form(self) -> Html:
        undo = not self.controller.bench(self.bench).can_undo
        back = tag("button", "Undo", data_do="undo", disabled=undo)
        slots = slots_of(self.words)
        columns = Columns.of(self.opened, (self.controller.bench(self.bench).schema or {}).get("columns", {}))
        forms = draw_slots(slots, columns, fault(slots))
        return join([tag("h2", "Method"), forms, tag("div", back, class_="actions")])

    def _more(self) -> Html:
        notes = self.controller.bench(self.bench).notes
        entries = [field("Write the table as", _select("format", FORMATS, notes.get("format")))]
        if "coarsen" in self.words:
            held = "The finished table must meet these rules, or nothing is written."
            entries.append(field("Preset of rules", _select("preset", PRESETS, notes.get("preset")), held))
        if "synthesize" in self.words:
            spent = "Total epsilon that may ever be spent on this file; fixed by the first run, 10 by default."
            limit = tag("input", name="limit", type="number", min="0", step="any", value=str(notes.get("limit") or ""))
            entries.append(field("Limit of the privacy account", limit, spent))
        uploaded = "synthesize" in self.words and self.controller.room.holds(Path(self.opened.path))
        note = tag("p", UPLOADED, class_="problem") if uploaded else None
        return tag("fieldset", tag("legend", "Output"), tag("div", *entries, class_="fields"), note, class_="method")

    def _end(self) -> Html:
        wrong = fault(slots_of(self.words))
        if wrong:
            return tag("p", wrong.words, class_="problem", role="alert")
        run = tag("button", "Run", class_="main", data_do="run")
        compare = tag("a", "Compare with others", href=f"/b/{self.bench}/compare", class_="button")
        save = tag("a", "Download the recipe", href=f"/b/{self.bench}/recipe.toml", class_="button")
        return join(
            [
                problem(self.refusal),
                tag("div", run, compare, save, class_="actions"),
                tag("h2", "On the command line"),
                self._line(),
            ]
        )

    def _line(self) -> Html:
        uploaded = self.controller.room.holds(Path(self.opened.path))
        file = self.opened.name if uploaded else self.opened.path
        asked = self.controller.asked(self.bench)
        try:
            line = command_line(
                read_words(self.words), file, "schema.toml", "release", reading=self.opened.asked, **asked
            )
        except ShoalError as error:
            return tag("p", f"This recipe can only be written as a recipe file. {error}", class_="note")
        copy = tag("button", "Copy", class_="quiet", data_copy="command")
        return join([tag("pre", line, class_="command", id="command", tabindex="0"), copy])

    def _goal_chosen(self, _: str, value: str) -> None:
        self.refusal = ""
        self.controller.choose_goal(self.bench, value)
        self._redraw()

    def _changed(self, name: str, value: Any) -> None:
        if self._is_stale():
            return
        self.controller.change_recipe(self.bench, words_of(change_slot(slots_of(self.words), name, value)))
        self._redraw()

    def _noted(self, name: str, value: str) -> None:
        self.controller.note(self.bench, name, _number(value) if name == "limit" else value or None)
        self._redraw()

    def _pressed(self, do: str, of: str) -> None:
        if self.is_left or self._is_stale():
            return
        slots = slots_of(self.words)
        if do == "run":
            self._run()
        elif do == "undo":
            self.controller.undo(self.bench)
        elif do in ("add", "remove"):
            changed = add_slot(slots, cast(Family, of)) if do == "add" else remove_slot(slots, int(of))
            self.controller.change_recipe(self.bench, words_of(changed))
        self._redraw()

    def _run(self) -> None:
        try:
            job = self.controller.run(self.bench)
        except ShoalError as error:
            self.refusal = str(error)
            return
        self.is_left = True  # a second press would run, and charge, it twice
        ui.navigate.to(f"/b/{self.bench}/results/{job}")

    def _facts(self) -> tuple[Any, ...]:
        """What would be run."""
        return self.words, self.controller.bench(self.bench).schema, self.controller.asked(self.bench)

    def _is_stale(self) -> bool:
        """Whether another tab has changed what would be run before this page could show it; then it is said."""
        stale = self.seen != self._facts()
        self.refusal = CHANGED if stale else ""
        if stale:
            self._redraw()
        return stale

    def _redraw(self) -> None:
        self.seen = self._facts()
        for block in (self.goals, self.form, self.more, self.end):
            block.redraw()


def _heading() -> Html:
    lead = "Choose what the release must preserve. You can change the method and its parameters below."
    return join([tag("h1", "Goal and method"), tag("p", lead, class_="lead")])


def _card(goal: Goal, chosen: bool, lacks: str) -> Html:
    radio = tag("input", type="radio", name="goal", value=goal.name, checked=chosen)
    needs = tag("span", f"Required first: {lacks}", class_="lacks") if lacks else None
    return tag("label", radio, tag("strong", goal.title), tag("span", goal.words), needs, class_="goal")


def _select(name: str, options: dict[str, str], chosen: Any) -> Html:
    drawn = [tag("option", words, value=value, selected=value == (chosen or "")) for value, words in options.items()]
    return tag("select", *drawn, name=name)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
