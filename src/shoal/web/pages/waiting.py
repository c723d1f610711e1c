"""A page that needs the opened file waits for it here, and says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from shoal.report.markup import Html, join, tag
from shoal.web.controller import Controller, GoneError
from shoal.web.inspect import Opened
from shoal.web.job import Job
from shoal.web.pages.preview import first_rows
from shoal.web.pages.screen import Block, problem

__all__ = ["BEAT", "GONE", "OPEN", "progress_of", "waiting", "watching"]

GONE = "This file is no longer open here. Open it again."
OPEN = tag("a", "Open a file", href="/", class_="button main")
BEAT = 0.3


def waiting(controller: Controller, bench: str, build: Callable[[Opened], Any]) -> None:
    """Build the page as soon as the file of the bench is read; until then show how far that is."""
    place = ui.element("div")
    with place:
        block = Block(lambda: _state(controller, bench), live=True)

    def look() -> None:
        opened = controller.opened(bench)
        if opened is None or opened.stage != "full":
            block.redraw()
            return
        timer.cancel()
        place.clear()
        with place:
            try:
                build(opened)
            except GoneError:  # forgotten just now
                place.clear()
                Block(lambda: _state(controller, bench))

    timer = ui.timer(BEAT, look, immediate=False)
    look()


def watching(controller: Controller, bench: str, redraw: Callable[[], None]) -> None:
    """Draw again when another tab has changed the bench; the page is built anew, and says so, when it was forgotten."""
    seen = controller.find(bench)

    def look() -> None:
        nonlocal seen
        now = controller.find(bench)
        if now is None:
            timer.cancel()
            ui.navigate.reload()
        elif now is not seen:
            seen = now
            redraw()

    timer = ui.timer(BEAT, look)


def progress_of(job: Job) -> Html:
    """How far a job is, in words and as a bar."""
    share = {} if job.step_share is None else {"value": f"{job.step_share:.3f}", "max": "1"}
    said = f"{job.step or job.state} ({job.seconds:.0f} s)"
    return join([tag("p", said, role="status"), tag("progress", aria_label="Progress", **share)])


def _state(controller: Controller, bench: str) -> Html:
    job = controller.opening(bench)
    if job is None:
        return join([tag("h1", "Not open"), problem(GONE), OPEN])
    if job.state in ("failed", "cancelled"):
        back = tag("a", "Choose another file", href="/", class_="button main")
        return join([tag("h1", "The file can't be read"), problem(str(job.error or "Reading was stopped.")), back])
    opened = controller.opened(bench)
    return join([tag("h1", "Reading the file"), progress_of(job), first_rows(opened, {}) if opened else None])
