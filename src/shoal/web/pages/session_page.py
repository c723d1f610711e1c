"""Pages about one opened file: they wait until it is read, and begin with the line that says how things stand."""

from __future__ import annotations

from typing import Any

from shoal.errors import ShoalError
from shoal.progress import spoken
from shoal.report.markup import Html, join, tag
from shoal.report.numbers import count, percent
from shoal.web.controller import Controller, title_of
from shoal.web.forms import read_words
from shoal.web.inspect import Opened
from shoal.web.job import Job
from shoal.web.pages.layout import empty, problem
from shoal.web.pages.page import Act, Page

__all__ = ["GONE", "OPEN", "SessionPage", "first_rows", "progress_of", "state_line"]

GONE = (
    "This file is no longer open here: it was removed, or the workbench was started anew. Open it again, or the "
    "project it was saved to. What was not written went with it."
)
OPEN = tag("a", "Open a file", href="/", class_="button main")


class SessionPage(Page):
    """A page of a session: state line first, then what `body` draws as soon as the file is read."""

    def body(self, opened: Opened) -> Html:
        """What is below the state line."""
        raise NotImplementedError

    def press(self, act: Act) -> None:
        """What else can be done here."""

    def body_facts(self) -> Any:
        """What the parts depend on beside session and file."""
        return None

    @property
    def opened(self) -> Opened | None:
        """The file, once it is read whole."""
        found = self.controller.opened(self.session)
        return found if found is not None and found.stage == "full" else None

    def parts(self) -> dict[str, Html]:
        """State line and body, or how far the reading is."""
        opened = self.opened
        if opened is None:
            return {"state": Html(""), "body": _reading(self.controller, self.session)}
        return {"state": state_line(self.controller, self.session, opened), "body": self.body(opened)}

    def facts(self) -> Any:
        """The session, how far its file is read and counted, its jobs, and what the page adds."""
        session = self.controller.find(self.session)
        if session is None:
            return "gone"
        if self.opened is None:
            job = self.controller.opening(self.session)
            return job, None if job is None else job.result is not None
        jobs = _jobs(self.controller, self.session)  # may begin to count anew, which changes the session
        return self.controller.workspace.sessions.revision(self.session), jobs, self.body_facts()

    def act(self, act: Act) -> None:
        """Undo and redo are the same everywhere."""
        if act.do == "undo":
            self.controller.undo(self.session)
        elif act.do == "redo":
            self.controller.redo(self.session)
        else:
            self.press(act)


def _jobs(controller: Controller, session: str) -> list[Any]:
    found, current = controller.exposure(session)
    jobs = [(job.id, job.state, job.step, job.step_share) for job in controller.jobs_of(session)]
    return [jobs, len(found), found.get("n_alone"), current, controller.count_failure(session)]


def state_line(controller: Controller, session: str, opened: Opened) -> Html:
    """One line: file, rows, columns, people unique now, recipe, last result, written or not; undo beside it."""
    recipe = _recipe(controller, session)
    items = [
        _item("File", tag("a", opened.name, href=f"/b/{session}/columns", title=opened.path)),
        _item("Rows", tag("span", _rows(opened), title=_rows(opened) if opened.tables else None)),
        _item("Columns", count(opened.n_columns)),
        _item("Unique now", _unique(controller, session)),
        _item("Recipe", tag("a", recipe, href=f"/b/{session}/method", title=recipe)),
        _item("Result", _result(controller, session)),
        _item("Project", _saved(controller, session)),
    ]
    return tag("div", tag("dl", *items, class_="line-of-state"), _undo(controller, session), class_="state-inner")


def _rows(opened: Opened) -> str:
    """How many; of linked tables each by its name."""
    if not opened.tables:
        return count(opened.n_rows or 0)
    return ", ".join(f"{count(n)} {name}" for name, n in opened.tables.items())


def _item(name: str, value: Any) -> Html:
    return tag("div", tag("dt", name), tag("dd", value))


def _unique(controller: Controller, session: str) -> Html:
    found, current = controller.exposure(session)
    n = len(found.get("problems", ()))
    settle = tag("a", f"{n} to settle", href=f"/b/{session}/columns", class_="alarm") if n else None
    if "alone" not in found:
        counting = tag("span", "counting…" if _is_counting(controller, session) else "–", class_="soft")
        return settle or counting
    words, title = f"{percent(found['alone'])} of {found['counts']}", f"{count(found['n_alone'])} {found['counts']}"
    unique = tag("span", words, class_="soft" if not current else None, title=title)
    return unique if settle is None else join([unique, ", ", settle])


def _is_counting(controller: Controller, session: str) -> bool:
    job = controller.job(str(controller.session(session).notes.get("look", "")))
    return job is not None and not job.is_over


def _recipe(controller: Controller, session: str) -> str:
    try:
        return read_words(controller.recipe(session)).title
    except ShoalError:
        return "not complete"


def _result(controller: Controller, session: str) -> Html:
    job = controller.newest(session, "release")
    if job is None:
        return _ran_before(controller, session)
    words = {"done": "ready", "running": "running", "queued": "waiting"}.get(job.state, job.state)
    if job.state == "done" and job.result:
        written = controller.session(session).notes.get("written", {}).get(job.id)
        words = "trial" if job.result.get("sample") else f"written to {written}" if written else "ready, not written"
        words += ", outdated" if controller.is_outdated(session, job) else ""
    return tag("a", words, href=f"/b/{session}/result/{job.id}", title=words)


def _ran_before(controller: Controller, session: str) -> Html:
    """Of a project that was opened again: what became of its last run."""
    notes = controller.session(session).notes
    if not notes.get("ran"):
        return tag("span", "none yet", class_="soft")
    written = notes.get("written", {}).get(notes["ran"][-1].get("job"))
    return tag("a", f"written to {written}" if written else "ran before, not written", href=f"/b/{session}/result")


def _saved(controller: Controller, session: str) -> Html:
    place, saved = controller.saved(session)
    words = "not saved" if not place else "saved" if saved else "changed since saved"
    return tag("a", words, href=f"/b/{session}/history", title=place or None)


def _undo(controller: Controller, session: str) -> Html:
    found = controller.session(session)
    back = f"Undo: {found.now.what}" if found.past else "Nothing to undo"
    forth = f"Redo: {found.future[0].what}" if found.future else "Nothing to redo"
    return tag(
        "div",
        tag("button", "Undo", type="button", data_do="undo", disabled=not found.past, title=back),
        tag("button", "Redo", type="button", data_do="redo", disabled=not found.future, title=forth),
        class_="undo",
    )


def progress_of(job: Job) -> Html:
    """How far a job is: its step, the time that is left, and a bar."""
    share = {} if job.step_share is None else {"value": f"{job.step_share:.3f}", "max": "1"}
    step = tag("strong", (job.step or job.state).capitalize())
    left = f" · about {spoken(job.seconds_left)} left" if job.seconds_left else ""
    done = "" if job.step_share is None else f" · {job.step_share:.0%}"
    words = tag("p", step, f"{done}{left}", class_="step-now", role="status")
    return join([words, tag("progress", aria_label=f"Progress of {title_of(job)}", **share)])


def _reading(controller: Controller, session: str) -> Html:
    job = controller.opening(session)
    if job is None:
        return empty("Not open", GONE, OPEN)
    if job.state in ("failed", "cancelled"):
        back = tag("a", "Choose another file", href="/", class_="button main")
        return join([tag("h1", "The file can't be read"), problem(str(job.error or "Reading was stopped.")), back])
    opened = controller.opened(session)
    name = str(controller.session(session).notes.get("name", "the file"))
    return join([tag("h1", f"Reading {name}"), progress_of(job), first_rows(opened, {}) if opened else None])


def first_rows(opened: Opened, roles: dict[str, str], form: Html | None = None, words: str = "First rows") -> Html:
    """The table of first rows, or of others that `words` name; a column without a known role is left plain."""
    names = opened.preview_columns
    heads = [tag("th", name, _role(roles.get(name)), scope="col", class_=roles.get(name)) for name in names]
    body = [
        tag("tr", *(tag("td", cell, class_=roles.get(name)) for name, cell in zip(names, row, strict=True)))
        for row in opened.preview
    ]
    caption = tag("caption", f"{words}, as read", class_="heard")
    table = tag("table", caption, tag("thead", tag("tr", *heads)), tag("tbody", *body), class_="preview")
    area = tag("div", table, class_="scroll", tabindex="0", role="region", aria_label="First rows")
    return join([tag("h2", words), form, _legend() if roles else None, area])


def _role(role: str | None) -> Html | None:
    return tag("span", role, class_="role") if role else None


def _legend() -> Html:
    return tag("p", "Struck out: never released. Blue: masked. Sand: must not be disclosed.", class_="note")
