"""What was done with a file: steps to go back to, what ran before, the log, and the project as a file."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError
from shoal.report.markup import Html, join, rows_table, tag
from shoal.report.numbers import percent
from shoal.web.controller import Controller
from shoal.web.forms import read_words
from shoal.web.inspect import Opened
from shoal.web.pages.layout import field, notice, problem
from shoal.web.pages.page import Act
from shoal.web.pages.session_page import SessionPage
from shoal.web.session import Session

__all__ = ["HistoryPage", "ran_before", "run_again"]


class HistoryPage(SessionPage):
    """What was done with a file: steps to go back to, the log, and the project as a file."""

    slug, name = "history", "History"

    def body(self, opened: Opened) -> Html:
        """The project, the steps, the log."""
        session = self.controller.session(self.session)
        return join(
            [
                tag("h1", "History"),
                tag("div", self._project(session), self._steps(session), class_="two"),
                ran_before(session),
                _log(session),
            ]
        )

    def _project(self, session: Session) -> Html:
        base = f"/b/{self.session}"
        words = (
            "A project file holds schema, recipes, manifests, decisions and this history, and no data. It opens again "
            "after the workbench has stopped, as long as its table lies where it was, or beside the project."
        )
        links = tag(
            "div",
            tag("a", "Download the project", href=f"{base}/project.shoal", class_="button"),
            tag("a", "Download as a script", href=f"{base}/script.sh", class_="button"),
            class_="actions",
        )
        return tag(
            "div", tag("h2", "Project"), tag("p", words, class_="note"), self._save(session), links, class_="card"
        )

    def _save(self, session: Session) -> Html | None:
        if not self.controller.by_path:
            return None
        place, saved = self.controller.saved(self.session)
        given = place or self._beside(session)
        entry = field("Project file", tag("input", type="text", name="place", value=given, class_="wide"))
        press = tag("button", "Save", type="submit", class_="main")
        form = tag("form", tag("div", entry, press, class_="line"), problem(self.wrong.get("save")), data_do="save")
        return join([notice(f"Saved to {place}; changes are saved too.") if place and saved else None, form])

    def _beside(self, session: Session) -> str:
        path = str(session.notes.get("path", ""))
        if not path or self.controller.workspace.holds(Path(path)):
            return ""
        return str(Path(path).with_name(f"{Path(path).name.partition('.')[0]}.shoal"))

    def _steps(self, session: Session) -> Html:
        past = [(draft, str(i - len(session.past)), False) for i, draft in enumerate(session.past)]
        future = [(draft, str(i + 1), False) for i, draft in enumerate(session.future)]
        items = [_step(*one) for one in (*past, (session.now, "", True), *future)]
        words = "Press a step to go back to it, or forward again."
        return tag(
            "div",
            tag("h2", "Steps"),
            tag("p", words, class_="note"),
            tag("ol", *items, class_="steps-list"),
            class_="card",
        )

    def press(self, act: Act) -> None:
        """Go to a step, or save."""
        if act.do == "step":
            steps = int(act.of) if act.of.lstrip("-").isdigit() else 0
            for _ in range(abs(steps)):
                (self.controller.undo if steps < 0 else self.controller.redo)(self.session)
        elif act.do == "again":
            self.go = f"/b/{self.session}/result/{run_again(self.controller, self.session, act.of)}"
        elif act.do == "save":
            try:
                self.controller.save_project(self.session, str(act.fields.get("place", "")))
            except ShoalError as error:
                self.wrong["save"] = str(error)


def ran_before(session: Session) -> Html | None:
    """What ran before the workbench was stopped, as the project tells it, with a way to run it again."""
    ran = list(enumerate(session.notes.get("ran", ())))
    if not ran:
        return None
    written = session.notes.get("written", {})
    rows = [_ran(place, one, written.get(one.get("job"))) for place, one in reversed(ran)]
    head = ["run", "state", "ended", "rows", "found", "utility", ""]
    words = "What was not written is gone since the workbench stopped. Run it again to have it back."
    return tag(
        "section",
        tag("h2", "Ran before"),
        tag("p", words, class_="note"),
        rows_table("Ran before", head, rows, numeric=[3, 4, 5], quiet=True),
    )


def _ran(place: int, one: Mapping[str, Any], written: str | None) -> list[Html | str]:
    try:
        title = read_words(one.get("recipe") or {}).title
    except ShoalError:
        title = "a recipe that this version doesn't know"
    trial = f" (trial on {one['sample']:,} rows)" if one.get("sample") else ""
    state = str(one.get("state", "done"))
    state = state if state in ("done", "failed", "cancelled") else "stopped with the workbench"
    state = f"written to {written}" if written else state
    risk, use = (percent(one[part][0]["value"]) if one.get(part) else "–" for part in ("risk", "use"))
    rows = f"{one['lost']['out']:,}" if one.get("lost") else "–"
    again = tag("button", "Run again", type="button", class_="small", data_do="again", data_of=str(place))
    return [f"{title}{trial}", state, _clock(one["ended"]) if one.get("ended") else "–", rows, risk, use, again]


def run_again(controller: Controller, id: str, place: str) -> str:
    """Take the recipe of a run that the project tells of, and run it; gives the job."""
    ran = list(controller.session(id).notes.get("ran", ()))
    one = ran[int(place)] if place.isdigit() and int(place) < len(ran) else {}
    controller.change_recipe(id, one.get("recipe") or {}, "recipe of a run before")
    return controller.run(id, one.get("sample"))


def _step(draft: Any, way: str, here: bool) -> Html:
    words = draft.what or "as opened"
    when = tag("span", _clock(draft.at), class_="note") if draft.at else None
    if here:
        return tag("li", tag("strong", words), when, aria_current="step")
    return tag("li", tag("button", words, type="button", class_="quiet", data_do="step", data_of=way), when)


def _log(session: Session) -> Html:
    rows = [
        [_clock(entry.at), entry.who, entry.what, tag("code", entry.command) if entry.command else ""]
        for entry in reversed(session.log)
    ]
    return join([tag("h2", "Log"), rows_table("Log", ["when", "who", "what", "command"], rows, quiet=True, kind="log")])


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")
