"""The first page: open a file, or go on with one that is open."""

from __future__ import annotations

import asyncio

from nicegui import ui

from shoal.errors import ShoalError
from shoal.report.markup import Html, join, tag
from shoal.web.bench import Bench
from shoal.web.controller import Controller
from shoal.web.pages.screen import Block, problem, screen

__all__ = ["add_start"]

ACCEPTED = ".csv,.tsv,.txt,.gz,.parquet,.sas7bdat,.xpt,.dta,.sav,.zsav,.por"


def add_start(controller: Controller) -> None:
    """Add the page ``/``."""

    @ui.page("/")
    def start() -> None:
        with screen("Open a file", step="file", scores=controller.scores):
            _Start(controller)


class _Start:
    """What one visitor of the page sees and does."""

    def __init__(self, controller: Controller) -> None:
        self.controller, self.error, self.busy = controller, "", False
        self.path = ""
        Block(self._invitation, on_change=self._typed, on_press=self._pressed)
        self.message = Block(lambda: problem(self.error) or Html(""), live=True)
        self.list = Block(self._open_files, on_press=self._pressed)
        ui.timer(1.0, self.list.redraw)  # other tabs open and forget files too

    def _invitation(self) -> Html:
        file = tag("input", type="file", id="file", accept=ACCEPTED, aria_describedby="kinds")
        kinds = "CSV, TSV, Parquet, SAS, Stata or SPSS. It stays on this machine, in a private folder, and is deleted"
        drop = tag(
            "label",
            tag("strong", "Drop a file here, or choose one"),
            tag("span", f"{kinds} when the workbench stops.", id="kinds", class_="note"),
            file,
            class_="drop",
        )
        bar = tag("progress", id="bar", hidden=True, aria_label="Uploading the file")
        sent = tag("p", "", id="sent", role="status")
        return join([_heading(), drop, bar, sent, self._by_path(), _sample()])

    def _by_path(self) -> Html | None:
        if not self.controller.by_path:
            return None
        entry = tag("input", name="path", type="text", class_="wide", placeholder="/data/people.parquet", id="path")
        label = tag("label", tag("span", "Or enter its path on this machine", class_="name"), entry)
        copied = (
            "Best for large files, which are read in place. A working copy of the table is stored in the "
            "private folder."
        )
        note = tag("p", copied, class_="note")
        return join([tag("div", label, tag("button", "Open", data_do="open"), class_="line card"), note])

    def _open_files(self) -> Html:
        benches = self.controller.benches()
        if not benches:
            return Html("")
        forget = tag("button", "Remove all files and results", class_="quiet", data_do="forget-all")
        return join([tag("h2", "Open now"), tag("ul", *map(self._entry, benches), class_="plain"), forget])

    def _entry(self, bench: Bench) -> Html:
        name = str(bench.notes["name"])
        link = tag("a", name, href=f"/b/{bench.id}/columns")
        label = f"Remove {name} and its results"
        forget = tag("button", "Forget", class_="quiet", data_do="forget", data_of=bench.id, aria_label=label)
        return tag(
            "li", tag("div", link, tag("span", _worked(len(bench.job_ids)), class_="note"), forget, class_="actions")
        )

    def _typed(self, name: str, value: str) -> None:
        self.path = value if name == "path" else self.path

    async def _pressed(self, do: str, of: str) -> None:
        if self.busy:  # pressed twice
            return
        self.busy, self.error = True, ""
        try:
            await self._do(do, of)
        except ShoalError as error:
            self.error = str(error)
        finally:
            self.busy = False
        self.message.redraw()

    async def _do(self, do: str, of: str) -> None:
        if do == "open":
            self._go(self.controller.open_by_path(self.path))
        elif do == "sample":
            self._go(await asyncio.to_thread(self.controller.open_sample))
        elif do == "forget-all" or (do == "forget" and of):
            await asyncio.to_thread(self.controller.forget, of)
            self.list.redraw()

    @staticmethod
    def _go(bench: Bench) -> None:
        ui.navigate.to(f"/b/{bench.id}/columns")


def _heading() -> Html:
    words = (
        "Hide each person among others, preserve the shape of the data, and produce evidence that a person can sign."
    )
    return join([tag("h1", "Open a file"), tag("p", words, class_="lead")])


def _sample() -> Html:
    button = tag("button", "Try it on simulated data", data_do="sample")
    return tag("div", button, tag("span", "2,000 rows of a simulated health survey.", class_="note"), class_="actions")


def _worked(n: int) -> str:
    return "nothing run yet" if not n else f"{n} job{'' if n == 1 else 's'}"
