"""The fifth page: many recipes on one risk-utility map, and a click that takes one of them."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from shoal.comparison import Comparison, Outcome
from shoal.errors import ParameterError, ShoalError
from shoal.report.markup import Html, join, rows_table, tag
from shoal.web.controller import Controller
from shoal.web.inspect import Opened
from shoal.web.job import Job
from shoal.web.pages.screen import Block, field, problem, screen
from shoal.web.pages.waiting import BEAT, progress_of, waiting, watching

__all__ = ["add_compare"]

SAID = 2  # lines of the recommendation; the page below has all of it


def add_compare(controller: Controller) -> None:
    """Add the page ``/b/{bench}/compare``."""

    @ui.page("/b/{bench}/compare")
    def compare(bench: str) -> None:
        with screen("Compare", bench=bench, step="compare", scores=controller.scores):
            waiting(controller, bench, lambda opened: _Compare(controller, bench, opened))


class _Compare:
    """What one visitor of the page sees and does."""

    def __init__(self, controller: Controller, bench: str, opened: Opened) -> None:
        self.controller, self.bench, self.error = controller, bench, ""
        self.answers: dict[str, Any] = {"limit": "5", "seconds": "120"}
        Block(_heading)
        self.form = Block(self._form, on_change=self._changed, on_press=self._pressed)
        self.progress = Block(self._progress)
        self.state = Block(self._state, on_press=self._pressed, live=True)
        self.result = Block(self._result, on_press=self._pressed)
        self.seen: tuple[Any, ...] = ()
        ui.timer(BEAT, self._beat)
        watching(controller, bench, self._redraw)

    def _beat(self) -> None:
        """Draw only what has changed: a finished comparison stands still."""
        job = self.job
        now = (job.id, job.state, job.step, job.is_over or int(job.seconds)) if job else ()
        if now != self.seen:
            self.seen = now
            self._redraw()

    def _redraw(self) -> None:
        for block in (self.form, self.progress, self.state, self.result):
            block.redraw()

    @property
    def job(self) -> Job | None:
        """The newest comparison of this file."""
        return self.controller.newest(self.bench, "compare") if self.controller.find(self.bench) else None

    @property
    def _running(self) -> bool:
        job = self.job
        return job is not None and not job.is_over

    def _form(self) -> Html:
        limit = tag("input", type="number", name="limit", value=self.answers["limit"], min="0.1", max="100", step="any")
        seconds = tag("input", type="number", name="seconds", value=self.answers["seconds"], min="1", step="1")
        fields = tag(
            "div",
            field("Re-identification of at most (%)", limit, "Limit for the recommendation."),
            field("Seconds per recipe", seconds, "A recipe that takes longer is stopped and reported."),
            class_="fields",
        )
        press = tag("button", "Compare", class_="main", data_do="start", disabled=self._running)
        return tag("div", fields, tag("div", press, class_="actions"), class_="card")

    def _progress(self) -> Html:
        return progress_of(self.job) if self.job and not self.job.is_over else Html("")

    def _state(self) -> Html:
        job = self.job
        if self.error or job is None:
            return problem(self.error) or Html("")
        if job.state in ("queued", "running"):
            stop = tag("button", "Cancel", class_="warn", data_do="cancel", data_of=job.id)
            return tag("div", stop, class_="actions")
        if job.state == "cancelled":
            said = "Cancelled. Finished recipes are saved: press Compare to resume."
            return tag("p", said, class_="note")
        return problem(str(job.error or "")) or Html("")

    def _result(self) -> Html:
        job = self.job
        if job is None or job.state != "done" or job.result is None:
            return Html("")
        said = [tag("p", line) for line in job.result["recommendation"].split("\n")[:SAID]]
        words = tag("div", *said, class_="fine")
        page = f"/jobs/{job.id}/comparison.html"
        frame = tag("iframe", src=page, title="Risk-utility map", class_="report")
        alone = tag("p", tag("a", "Open in a new tab", href=page, target="_blank", rel="noopener"))
        return join([tag("h2", "Recommendation"), words, self._table(job), tag("h2", "The map"), alone, frame])

    def _table(self, job: Job) -> Html:
        found = Comparison.from_dict(job.result or {})
        front = {outcome.name for outcome in found.front}
        ranked = sorted(found.outcomes, key=lambda one: (not one.is_done, one.name not in front, one.risk))
        rows = [_row(outcome, outcome.name in front) for outcome in ranked]
        head = ["recipe", "risk", "kept", "seconds", "", ""]
        return rows_table("Recipes", head, rows, numeric=[1, 2, 3], quiet=True)

    def _use(self, name: str) -> None:
        """Take a recipe by its name: another tab may have begun a new comparison meanwhile."""
        found = Comparison.from_dict(self.job.result).outcomes if self.job and self.job.result else ()
        chosen = next((outcome for outcome in found if outcome.name == name), None)
        if chosen is None:
            raise ParameterError("comparison", "is being run again", hint="Wait until it is finished, then choose.")
        self.controller.change_recipe(self.bench, chosen.recipe.to_dict())
        ui.navigate.to(f"/b/{self.bench}/method")

    def _changed(self, name: str, value: str) -> None:
        self.answers[name] = value

    def _start(self) -> None:
        try:
            limit, seconds = float(self.answers["limit"]) / 100, float(self.answers["seconds"])
        except ValueError:
            raise ParameterError("comparison", "both limits must be numbers") from None
        if not 0 < limit <= 1 or seconds < 1:
            raise ParameterError("comparison", "the limit must be 0 to 100 percent, the time at least one second")
        if not self._running:  # pressed twice, or in another tab
            self.controller.compare(self.bench, risk_limit=limit, time_limit=seconds)

    def _pressed(self, do: str, of: str) -> None:
        self.error = ""
        try:
            if do == "start":
                self._start()
            elif do == "cancel":
                self.controller.jobs.cancel(of)
            elif do == "use":
                self._use(of)
        except ShoalError as error:
            self.error = str(error)
        self._redraw()


def _heading() -> Html:
    lead = (
        "Which method, which k? A grid of recipes is run, and each is measured in the same way. The comparison "
        "reveals facts about the original table and is internal."
    )
    return join([tag("h1", "Compare methods"), tag("p", lead, class_="lead")])


def _row(outcome: Outcome, on_front: bool) -> list[Html | str]:
    use = tag("button", "Use", class_="quiet", data_do="use", data_of=outcome.name, aria_label=f"Use {outcome.name}")
    if not outcome.is_done:
        return [outcome.name, "", "", "", f"{outcome.state}: {outcome.reason}", Html("")]
    mark = "on the front" if on_front else ""
    return [outcome.name, f"{outcome.risk:.1%}", f"{outcome.utility:.3f}", f"{outcome.seconds:.1f}", mark, use]
