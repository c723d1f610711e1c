"""The fourth page: a job while it runs, then its risk, utility, claims and reports, and the way out of the room."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from shoal.errors import ShoalError
from shoal.release.layout import inside_of
from shoal.report.markup import Html, join, rows_table, tag
from shoal.web.controller import Controller, title_of
from shoal.web.export import hand_over
from shoal.web.job import Job
from shoal.web.pages.screen import Block, problem, screen
from shoal.web.pages.waiting import BEAT, GONE, OPEN, progress_of

__all__ = ["add_results"]

LOST = "This result was removed together with its file. Open the file again, then run it."


def add_results(controller: Controller) -> None:
    """Add the pages ``/b/{bench}/results``, ``/b/{bench}/results/{job}`` and ``/jobs``."""

    @ui.page("/b/{bench}/results/{job}")
    def result(bench: str, job: str) -> None:
        with screen("Result", bench=bench, step="results", scores=controller.scores):
            _Result(controller, bench, job)

    @ui.page("/b/{bench}/results")
    def results(bench: str) -> None:
        with screen("Results", bench=bench, step="results", scores=controller.scores):
            _List(controller, bench)

    @ui.page("/jobs")
    def jobs() -> None:
        with screen("Jobs", scores=controller.scores):
            _List(controller, "")


class _List:
    """The jobs of a file, or all."""

    def __init__(self, controller: Controller, bench: str) -> None:
        self.controller, self.bench = controller, bench
        self.seen: tuple[Any, ...] = ()
        self.block = Block(self._draw, on_press=self._pressed)
        ui.timer(1.0, self._beat)

    def _beat(self) -> None:
        """Draw only what has changed, so that a button keeps still under the pointer."""
        if self.seen != self._facts():
            self.block.redraw()

    def _facts(self) -> tuple[bool, tuple[Job, ...]]:
        """Whether the file is open, and its jobs."""
        is_open = not self.bench or self.controller.find(self.bench) is not None
        return is_open, self.controller.jobs_of(self.bench) if is_open else ()

    def _draw(self) -> Html:
        self.seen = is_open, jobs = self._facts()
        heading = tag("h1", "Results" if self.bench else "Jobs")
        if not is_open:
            return join([tag("h1", "Not open"), problem(GONE), OPEN])
        if not jobs:
            return join([heading, tag("p", "Nothing has been run yet.", class_="lead")])
        head = ["job", "state", "step", "seconds", ""]
        return join([heading, rows_table("Jobs", head, map(self._row, jobs), numeric=[3], quiet=True)])

    def _row(self, job: Job) -> list[Html | str]:
        words = title_of(job)
        name = tag("a", words, href=self._address(job))
        stop = tag("button", "Cancel", class_="quiet", data_do="cancel", data_of=job.id, aria_label=f"Cancel {words}")
        seconds = f"{job.seconds:.0f}" if job.is_over else ""  # of a running one they would be out of date at once
        return [name, _state(job), job.step or "", seconds, Html("") if job.is_over else stop]

    def _address(self, job: Job) -> str:
        bench = self.bench or self.controller.home(job)
        pages = {"open": "columns", "compare": "compare"}
        return f"/b/{bench}/{pages.get(job.kind, f'results/{job.id}')}"

    def _pressed(self, do: str, of: str) -> None:
        if do == "cancel" and self.controller.job(of) is not None:
            self.controller.jobs.cancel(of)
            self._beat()


class _Result:
    """One job, as one visitor sees it; two visitors see the same job."""

    def __init__(self, controller: Controller, bench: str, job: str) -> None:
        self.controller, self.bench, self.job = controller, bench, job
        self.target, self.written, self.error, self.shown = "", "", "", "report.html"
        self.seen: Job | None = None
        self.head = Block(self._head, live=True)
        self.progress = Block(self._progress)
        self.stop = Block(self._stop, on_press=self._pressed)
        self.body = Block(self._body, on_press=self._pressed)
        self.way_out = Block(self._way_out, on_press=self._pressed, on_change=self._typed)
        ui.timer(BEAT, self._beat)

    @property
    def now(self) -> Job | None:
        """The job as it stands."""
        job = self.controller.job(self.job)
        return job if job and job.kind == "release" else None

    def _beat(self) -> None:
        """Goes on after the end: the result may be forgotten in another tab."""
        now = self.now
        if now is None or not now.is_over or now != self.seen:
            self.seen = now
            self._redraw()

    def _redraw(self) -> None:
        for block in (self.head, self.progress, self.stop, self.body, self.way_out):
            block.redraw()

    def _head(self) -> Html:
        job = self.now
        if job is None:
            return join([tag("h1", "Not there"), problem(LOST), OPEN])
        heading = join(
            [tag("h1", _headline(job)), tag("p", _state(job), tag("span", f" {title_of(job)}", class_="note"))]
        )
        if not job.is_over:
            return heading
        return join([heading, problem(str(job.error)) if job.state == "failed" else None, self._again(job)])

    def _progress(self) -> Html:
        return progress_of(self.now) if self.now and not self.now.is_over else Html("")

    def _stop(self) -> Html:
        """Drawn once, so that it keeps still under the pointer."""
        if self.now is None or self.now.is_over:
            return Html("")
        stop = tag("button", "Cancel", class_="warn", data_do="cancel")
        note = tag("p", "You may leave this page; the job continues and is listed under Jobs.", class_="note")
        return join([tag("div", stop, class_="actions"), note])

    def _again(self, job: Job) -> Html | None:
        if job.state == "done":
            return None
        said = tag("p", "Nothing was written.", class_="note")
        return join([said, tag("a", "Back to the method", href=f"/b/{self.bench}/method", class_="button main")])

    def _body(self) -> Html:
        job = self.now
        result = job.result if job and job.state == "done" else None
        return join([_tiles(result), _claims(result), self._reports()]) if result else Html("")

    def _reports(self) -> Html:
        tabs = [self._tab(name, words) for name, words in _REPORTS.items()]
        frame = tag("iframe", src=f"/jobs/{self.job}/{self.shown}", title=_REPORTS[self.shown], class_="report")
        alone = tag("a", "Open in a new tab", href=f"/jobs/{self.job}/{self.shown}", target="_blank", rel="noopener")
        return join([tag("h2", "Report"), tag("div", *tabs, alone, class_="actions"), frame])

    def _tab(self, name: str, words: str) -> Html:
        here = name == self.shown
        return tag(
            "button",
            words,
            class_="main" if here else None,
            data_do="show",
            data_of=name,
            aria_pressed=str(here).lower(),
        )

    def _way_out(self) -> Html:
        job = self.now
        if job is None or job.state != "done":
            return Html("")
        files = tag(
            "div",
            tag("a", "Download the release", href=f"/jobs/{self.job}/release.zip", class_="button main"),
            tag("a", "Download the internal files", href=f"/jobs/{self.job}/internal.zip", class_="button"),
            class_="actions",
        )
        note = (
            "The release contains the table, the external report and the manifest. The internal files contain the seed."
        )
        return join([tag("h2", "Write the release"), files, tag("p", note, class_="note"), self._folder()])

    def _folder(self) -> Html | None:
        if not self.controller.by_path:
            return None
        entry = tag("input", type="text", name="target", class_="wide", placeholder="/data/release", value=self.target)
        label = tag("label", tag("span", "Or write it to a new folder on this machine", class_="name"), entry)
        said = tag("p", self.written, class_="fine", role="status") if self.written else problem(self.error)
        return join([tag("div", label, tag("button", "Write", data_do="write"), class_="line card"), said])

    def _typed(self, name: str, value: str) -> None:
        if name == "target":
            self.target = value

    async def _pressed(self, do: str, of: str) -> None:
        if do == "cancel" and self.now is not None:
            await asyncio.to_thread(self.controller.jobs.cancel, self.job)
        elif do == "show" and of in _REPORTS:
            self.shown = of
        elif do == "write":
            await self._write()
        self._redraw()

    async def _write(self) -> None:
        self.written = self.error = ""
        job = self.now
        if job is None:
            return
        try:
            path = self.controller.release_place(self.target)
            done = await asyncio.to_thread(hand_over, job, path)
        except ShoalError as error:
            self.error = str(error)
        except OSError:  # forgotten while it was copied
            self.error = LOST
        else:
            self.written = f"Written to {done}. Do not release {inside_of(done)}."


_REPORTS = {"report.html": "External report", "internal.html": "Internal report"}


def _headline(job: Job) -> str:
    words = {"done": "The release is ready", "failed": "Nothing was released", "cancelled": "Cancelled"}
    return words.get(job.state, "Creating the release")


def _state(job: Job) -> Html:
    return tag("span", job.state, class_=f"state {job.state}")


def _tiles(result: dict[str, Any]) -> Html:
    return join([_tiled("Risk", result["risk"]), _tiled("Utility", result["utility"])])


def _tiled(heading: str, lines: Sequence[Mapping[str, str]]) -> Html:
    tiles = [
        tag("div", tag("dt", line["name"]), tag("dd", line["value"], tag("small", line["meaning"])), class_="tile")
        for line in lines
    ]
    return join([tag("h2", heading), tag("dl", *tiles, class_="tiles")])


def _claims(result: dict[str, Any]) -> Html:
    rows = [
        [claim["kind"], claim["basis"], join([claim["statement"], _assumptions(claim)])] for claim in result["claims"]
    ]
    return join([tag("h2", "Promised"), rows_table("Claims", ["claim", "basis", "in words"], rows, quiet=True)])


def _assumptions(claim: dict[str, Any]) -> Html | None:
    said = " ".join(claim.get("assumptions") or ())
    return tag("span", f" Assumes: {said}", class_="note") if said else None
