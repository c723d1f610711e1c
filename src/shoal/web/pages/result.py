"""The fourth page: one job while it runs, then the answer on one screen, and the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from shoal.errors import ParameterError, ShoalError
from shoal.report.markup import Html, join, tag
from shoal.report.numbers import count
from shoal.web.cache import DRAWINGS
from shoal.web.catalogue import bare_columns
from shoal.web.controller import Controller, title_of
from shoal.web.error_text import Failure
from shoal.web.handover import sign_release, write_release
from shoal.web.inspect import Opened
from shoal.web.job import Job
from shoal.web.pages.column_grid import NO_RANGE
from shoal.web.pages.handover import handover_cards, ways_on
from shoal.web.pages.history import ran_before, run_again
from shoal.web.pages.lattice_view import Lattice
from shoal.web.pages.layout import empty, problem
from shoal.web.pages.page import Act
from shoal.web.pages.pictures import each_column, rows_beside, together, who_is_at_risk
from shoal.web.pages.refused_columns import refused_columns
from shoal.web.pages.result_summary import (
    columns_treated,
    in_full,
    levels_chosen,
    linked_tables,
    measures,
    promises,
    tiles,
    to_watch,
)
from shoal.web.pages.session_page import SessionPage, progress_of
from shoal.web.pages.sliders import draw_sliders, lattice_of, recipe_at
from shoal.web.releases import left_before, withdraw

__all__ = ["ResultPage"]

OUTDATED = "Columns or recipe have changed since: this is what came of the earlier ones. Run again for the new ones."
LOST = "This result was removed together with its file. Open the file again, then run it."


class ResultPage(SessionPage):
    """One release of a file: the newest, or the one that the address names."""

    slug, name = "result", "Result"

    def __init__(
        self, controller: Controller, session: str = "", query: Mapping[str, str] | None = None, job: str = ""
    ) -> None:
        super().__init__(controller, session, query)
        self.job = job

    @property
    def now(self) -> Job | None:
        """The job as it stands."""
        if self.controller.find(self.session) is None:
            return None
        job = self.controller.job(self.job) if self.job else self.controller.newest(self.session, "release")
        return job if job and job.kind == "release" else None

    def body_facts(self) -> Any:
        """The job, and what became of its result."""
        job = self.now
        return job, None if job is None else self.controller.measured(self.session, job)

    def parts(self) -> dict[str, Html]:
        """A result whose file is gone is gone too."""
        if self.controller.find(self.session) is None and self.job:
            back = tag("a", "Open a file", href="/", class_="button main")
            return {"state": Html(""), "body": empty("Not there", LOST, back), **_NO_PARTS}
        return {**super().parts(), **_NO_PARTS, **self._later_parts()}

    def _later_parts(self) -> dict[str, Html]:
        """What is below the answer, in parts of their own: a slider that moves leaves the pictures as they are."""
        job = self.now
        if self.opened is None or job is None or job.state != "done" or job.result is None:
            return {}
        view = job.result["view"]
        picked = str(self.controller.session(self.session).notes.get("picked pair", ""))
        return {
            "levels": join([levels_chosen(view), draw_sliders(self._lattice(job))]),
            "together": _together(job.id, picked, job),
            "evidence": _evidence(job.id, job),
            "leave": self._out(job, job.result),
        }

    def body(self, opened: Opened) -> Html:
        """How far the job is, or what came out."""
        job = self.now
        if job is None:
            return self._none()
        if not job.is_over:
            return _running(job)
        if job.state != "done" or job.result is None:
            return self._failed(job)
        return self._answer(job, job.result)

    def _none(self) -> Html:
        ran = bool(self.controller.session(self.session).notes.get("ran"))
        said = "Nothing has been run since the project was opened." if ran else "Nothing has been run for this file."
        choose = tag("a", "Choose a method", href=f"/b/{self.session}/method", class_="button main")
        none = empty("No result yet", LOST if self.job else said, choose)
        return join([none, ran_before(self.controller.session(self.session))])

    def _failed(self, job: Job) -> Html:
        heading = "Cancelled" if job.state == "cancelled" else "Nothing was released"
        refused = job.error.releases if job.error else ()
        groups = bool(job.error and job.error.keeps_groups)
        on = (
            ways_on(left_before(self.controller.files()), refused, groups=groups, wrong=self.wrong.get("run", ""))
            if refused
            else None
        )
        return join(
            [
                tag("h1", heading),
                tag("p", title_of(job), class_="lead"),
                self._why(job.error) if job.error else None,
                on,
                self._refused(job.error) if job.error and job.error.naming else None,
                tag("p", "Nothing was written.", class_="note"),
                tag(
                    "div",
                    *_again(job),
                    tag("a", "Change the method", href=f"/b/{self.session}/method", class_="button main"),
                    tag("a", "Change the columns", href=self._cure(job.error), class_="button"),
                    class_="actions",
                ),
            ]
        )

    def _refused(self, error: Failure) -> Html:
        said = problem(self.wrong.get("run", ""))
        return join([said, refused_columns(self.controller, self.session, error.naming)])

    def _why(self, error: Failure) -> Html | None:
        """What was wrong; of columns each rule once, with a link to every column that breaks it."""
        rules = dict.fromkeys(rule for _, rule in error.columns)
        broken = {rule: [name for name, one in error.columns if one == rule] for rule in rules}
        lines = [tag("p", *self._linked(names), tag("br"), _sentence(rule)) for rule, names in broken.items()]
        return tag("div", *lines, class_="problem", role="alert") if lines else problem(str(error))

    def _linked(self, names: Sequence[str]) -> list[Html | str]:
        place = f"/b/{self.session}/columns?"
        links = [tag("a", name, href=f"{place}{urlencode({'column': name, 'q': name})}") for name in names]
        said = tag("strong", f"{count(len(names))} columns: " if len(names) > 1 else "")
        return [said, *(part for link in links for part in (link, ", "))][:-1]

    def _cure(self, error: Failure | None) -> str:
        """Where the columns are changed: those that lack a public range, if that is what was wrong."""
        place, names = f"/b/{self.session}/columns", {name for name, _ in error.columns} if error else set()
        if not names or self.controller.is_linked(self.session):
            return place
        bare = names <= set(bare_columns(self.controller.schema(self.session)))
        return f"{place}?{urlencode({'role': NO_RANGE})}" if bare else place

    def _answer(self, job: Job, result: Mapping[str, Any]) -> Html:
        view, limit = result["view"], self.controller.risk_limit(self.session)
        return join(
            [
                self._head(job, result),
                tag("p", OUTDATED, class_="fine") if self.controller.is_outdated(self.session, job) else None,
                tiles(result, view, limit),
                to_watch(view, limit),
                each_column(view["columns"]) if result["synthetic"] else who_is_at_risk(view, limit),
                measures(view, limit),
                in_full(view, self.controller.measured(self.session, job)),
                linked_tables(view),
                columns_treated(result.get("treated", {})),
                promises(result["claims"], result.get("account")),
            ]
        )

    def _head(self, job: Job, result: Mapping[str, Any]) -> Html:
        trial = result.get("sample")
        links = [
            None if trial else tag("a", "Sign and write", href="#way-out", class_="button main"),
            tag("a", "Change and run again", href=f"/b/{self.session}/method", class_="button"),
            tag("button", "Print", type="button", class_="quiet", data_print=True),
        ]
        return tag(
            "div",
            tag(
                "div",
                tag("h1", "A trial on a sample" if trial else "The release is ready"),
                tag("p", title_of(job), class_="lead"),
            ),
            tag("div", *links, class_="actions"),
            class_="split",
        )

    def _lattice(self, job: Job) -> Lattice | None:
        """The choices of levels around the one that was made."""
        return lattice_of(job.result, self._chosen(job)) if job.result else None

    def _chosen(self, job: Job) -> dict[str, int]:
        """The levels that were tried by hand on this result."""
        chosen: dict[str, int] = self.controller.session(self.session).notes.get("tried levels", {}).get(job.id, {})
        return chosen

    def _out(self, job: Job, result: Mapping[str, Any]) -> Html:
        if not result.get("sample"):
            return handover_cards(self.controller, self.session, job, wrong=self.wrong)
        words = "This was a trial on a sample: it shows how the method behaves, and is no release."
        run = tag("button", "Run on all rows", type="button", class_="main", data_do="run", data_once=True)
        return tag("section", tag("h2", "What next"), tag("p", words), tag("div", run, class_="actions"))

    def press(self, act: Act) -> None:
        """Cancel, run, sign, write, or set the accepted risk."""
        job = self.now
        if act.do == "cancel" and job is not None:
            self.controller.jobs.cancel(job.id)
        elif act.do in ("measure", "measure-cancel") and job is not None:
            self._measure(act, job)
        elif act.do in ("drop", "allow"):
            (self.controller.drop if act.do == "drop" else self.controller.allow)(self.session, act.of)
        elif act.do == "again":
            self.go = f"/b/{self.session}/result/{run_again(self.controller, self.session, act.of)}"
        elif act.do.startswith("run"):
            self._run(act)
        elif act.name == "risk_limit":
            self.controller.set_risk_limit(self.session, act.value)
        elif act.name == "pair" or act.do == "pair":
            self.controller.note(self.session, "picked pair", str(act.of or act.value))
        elif job is not None and (act.name.startswith("level.") or act.do in ("lattice", "levels", "levels-back")):
            self._slide(act, job)
        elif job is not None and act.do in ("write", "sign"):
            self._leave(act, job)

    def _measure(self, act: Act, job: Job) -> None:
        """Begin to measure in full, or stop it."""
        if act.do == "measure":
            self.controller.measure_in_full(self.session, job)
            return
        running = self.controller.measured(self.session, job)
        if running is not None:
            self.controller.jobs.cancel(running.id)

    def _run(self, act: Act) -> None:
        """Run again: as it is, or on one of the ways past an earlier release."""
        given: dict[str, str] = {}
        try:
            if act.do == "run-withdrawn":
                withdraw(act.of, str(act.fields.get("because", "")), self.controller.files())
                self.controller.record(self.session, f"withdrawn: release {act.of}")
            elif act.do == "run-despite":
                given = {"despite": _reason(str(act.fields.get("despite", "")))}
            elif act.do == "run-groups":
                given = {"same_groups_as": "last"}
            self.go = f"/b/{self.session}/result/{self.controller.run(self.session, register=given)}"
        except ShoalError as error:
            self.wrong["run"] = str(error)

    def _slide(self, act: Act, job: Job) -> None:
        """Move a level slider, take what the sliders say into the recipe, or put them back."""
        lattice = self._lattice(job)
        if lattice is None:
            return
        if act.do == "levels":
            words = recipe_at((job.result or {})["recipe"], lattice)
            self.controller.change_recipe(self.session, words, "recipe: levels chosen by hand")
            self.go = f"/b/{self.session}/method"
            return
        tried = self.controller.session(self.session).notes.get("tried levels", {})
        after = {} if act.do == "levels-back" else {**self._chosen(job), **_moved(act, lattice)}
        self.controller.note(self.session, "tried levels", {**tried, job.id: after})

    def _leave(self, act: Act, job: Job) -> None:
        """What is wrong is said beside the button."""
        try:
            if act.do == "write":
                write_release(self.controller, self.session, job, str(act.fields.get("target", "")))
            else:
                sign_release(
                    self.controller, self.session, job, {name: str(value) for name, value in act.fields.items()}
                )
        except ShoalError as error:
            self.wrong[act.do] = str(error)
        except OSError:  # forgotten while it was copied
            self.wrong["write"] = LOST


def _moved(act: Act, lattice: Lattice) -> dict[str, int]:
    """The levels that a slider, or a choice that was pressed, sets."""
    if act.do == "lattice":
        return lattice.levels_of(act.of)
    name = act.name.partition(".")[2]
    levels, place = lattice.view["levels"].get(name, []), int(act.value) if str(act.value).isdigit() else -1
    return {name: levels[place]} if 0 <= place < len(levels) else {}


_NO_PARTS = {name: Html("") for name in ("levels", "together", "evidence", "leave")}


def _together(id: str, picked: str, job: Job) -> Html:
    return DRAWINGS.of(id, ("together", picked), lambda: together((job.result or {})["view"], picked) or Html(""))


def _evidence(id: str, job: Job) -> Html:
    return DRAWINGS.of(id, "evidence", lambda: _drawn_evidence(job.result or {}))


def _drawn_evidence(result: Mapping[str, Any]) -> Html:
    view = result["view"]
    columns = None if result["synthetic"] else each_column(view["columns"])  # there they are the first picture
    return join([columns, rows_beside(view["rows"]), _notes(result["notes"])])


def _again(job: Job) -> list[Html]:
    """What was cancelled can be run as it is."""
    if job.state != "cancelled":
        return []
    return [tag("button", "Run again", type="button", data_do="run", data_once=True)]


def _running(job: Job) -> Html:
    stop = tag("button", "Cancel", type="button", class_="warn", data_do="cancel")
    note = tag("p", "You may leave this page: the job goes on and is listed under Jobs.", class_="note")
    return join(
        [
            tag("h1", "Creating the release"),
            tag("p", title_of(job), class_="lead"),
            tag("div", progress_of(job), tag("div", stop, class_="actions"), class_="card"),
            note,
        ]
    )


def _notes(notes: Sequence[str]) -> Html | None:
    if not notes:
        return None
    items = tag("ul", *(tag("li", note) for note in notes))
    return tag("details", tag("summary", f"What else happened ({len(notes)})"), items)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _reason(text: str) -> str:
    if not text.strip():
        raise ParameterError(
            "reason", "must be given", hint="It is printed in the report and recorded in the register."
        )
    return text.strip()
