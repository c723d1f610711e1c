"""All jobs of all files, and other pages beside the five pages: releases, scores, and what isn't there."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from shoal.errors import ShoalError
from shoal.report.markup import Html, join, rows_table, tag
from shoal.web.controller import Controller, title_of
from shoal.web.job import Job
from shoal.web.pages.handover import releases_table
from shoal.web.pages.layout import empty, problem
from shoal.web.pages.page import Act, Page, Said
from shoal.web.releases import left_before, withdraw

__all__ = ["JobsPage", "MissingPage", "RefusedPage", "ReleasesPage", "ScoresPage"]


LONGEST = 160


class JobsPage(Page):
    """The jobs of every file, the newest first."""

    slug, name = "jobs", "Jobs"

    def facts(self) -> Any:
        """The jobs as they stand."""
        return [(job.id, job.state, job.step, job.step_share) for job in self.controller.jobs_of("")]

    def parts(self) -> dict[str, Html]:
        """A table."""
        jobs = self.controller.jobs_of("")
        if not jobs:
            link = tag("a", "Open a file", href="/", class_="button main")
            return {"body": empty("No jobs yet", "What runs, and what has run, is listed here.", link)}
        head = ["job", "state", "step, or why it failed", "begun", "seconds", ""]
        table = rows_table("Jobs", head, map(self._row, jobs), numeric=[3, 4], quiet=True)
        return {"body": join([tag("h1", "Jobs"), table])}

    def _row(self, job: Job) -> list[Html | str]:
        words = title_of(job)
        name = tag("a", words, href=self._address(job))
        stop = tag(
            "button",
            "Cancel",
            type="button",
            class_="quiet",
            data_do="cancel",
            data_of=job.id,
            aria_label=f"Cancel {words}",
        )
        share = "" if job.step_share is None or job.is_over else f" {job.step_share:.0%}"
        seconds = f"{job.seconds:.0f}" if job.is_over else ""
        state = tag("span", job.state, class_=f"badge {job.state}")
        step = f"{job.step or ''}{share}" if job.error is None else tag("span", _short(str(job.error)), class_="note")
        begun = datetime.fromtimestamp(job.started or job.made).strftime("%H:%M:%S")
        return [name, state, step, begun, seconds, Html("") if job.is_over else stop]

    def _address(self, job: Job) -> str:
        session = self.controller.home(job)
        if job.kind == "measure":
            of = self.controller.session(session).notes.get("measured", {})
            return f"/b/{session}/result/{next((release for release, one in of.items() if one == job.id), '')}"
        return f"/b/{session}/{ {'open': 'columns', 'compare': 'compare'}.get(job.kind, f'result/{job.id}') }"

    def act(self, act: Act) -> None:
        """Stop a job."""
        if act.do == "cancel" and self.controller.job(act.of) is not None:
            self.controller.jobs.cancel(act.of)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


class ReleasesPage(Page):
    """What left before, of every data set: the user's register of releases."""

    slug, name = "releases", "Releases"

    def facts(self) -> Any:
        """The register as it stands."""
        return left_before(self.controller.files()) if self.controller.registers else None

    def parts(self) -> dict[str, Html]:
        """A table, with a way to withdraw what never left."""
        lead = (
            "Every release of the same people is checked against earlier ones: together they can reveal more than each "
            "alone. A release is entered when it is written or downloaded. Withdraw one that never left."
        )
        head = [tag("h1", "Releases"), tag("p", lead, class_="lead"), problem(self.wrong.get("withdraw"))]
        if not self.controller.registers:
            none = tag("p", "The register is turned off (shoal web --no-register).", class_="problem")
            return {"body": join([tag("h1", "Releases"), none])}
        left = left_before(self.controller.files())
        if not left:
            return {"body": empty("Nothing has left yet", lead)}
        return {"body": join([*head, releases_table(left)])}

    def act(self, act: Act) -> None:
        """Withdraw."""
        if act.do == "withdraw":
            try:
                withdraw(act.of, str(act.fields.get("because", "")), self.controller.files())
            except ShoalError as error:
                self.wrong["withdraw"] = str(error)


class ScoresPage(Page):
    """The models that are served beneath the workbench, tried with a key as any client would."""

    slug, name = "scores", "Scores"

    def facts(self) -> Any:
        """Nothing changes here."""
        return self.controller.scores

    def parts(self) -> dict[str, Html]:
        """The service's own page."""
        if not self.controller.scores:
            none = "No models are served here. Start the workbench with --models FOLDER and --ledger URL."
            return {"body": join([tag("h1", "Risk scores"), tag("p", none, class_="problem")])}
        lead = "Queries made here are charged to the key that makes them. To make a key: shoal keys add."
        frame = tag("iframe", src="/service/", title="Risk scores", class_="report")
        return {"body": join([tag("h1", "Try a risk score"), tag("p", lead, class_="lead"), frame])}


class RefusedPage(Said):
    """A file that is not handed over, and why; `back` is where that is cured."""

    name = "Not handed over"

    def __init__(self, controller: Controller, words: str, *, status: int, back: str = "/") -> None:
        super().__init__(controller, words, status=status)
        self.back = back

    def parts(self) -> dict[str, Html]:
        """The reason and the way back."""
        link = tag("a", "Back", href=self.back, class_="button main")
        return {"body": join([tag("h1", self.name), problem(self.words), tag("div", link, class_="actions")])}


class MissingPage(Said):
    """What is not there."""

    name = "Not found"

    def __init__(self, controller: Controller) -> None:
        words = "There is no such page. The file or result may have been removed, or the address was cut."
        super().__init__(controller, words, status=404)

    def parts(self) -> dict[str, Html]:
        """What to do instead."""
        links = [
            tag("a", "Open a file", href="/", class_="button main"),
            tag("a", "See all jobs", href="/jobs", class_="button"),
        ]
        return {"body": empty("Not found", self.words, *links)}
