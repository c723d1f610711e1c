"""The first page: open a file, a sheet, a query or a project, or go on with what is open."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from shoal.errors import ShoalError
from shoal.report.markup import Html, join, tag
from shoal.web.job import Job
from shoal.web.pages.layout import field, problem
from shoal.web.pages.page import Act, Page
from shoal.web.session import Session

__all__ = ["FilePage"]

TOGETHER = "Linked tables (patients, visits): drop their files, or the folder they are in, all at once."
ACCEPTED = ".csv,.tsv,.txt,.gz,.parquet,.sas7bdat,.xpt,.dta,.sav,.zsav,.por,.xlsx,.xlsm,.xlsb,.xls,.ods,.shoal"
BOOKS = ".csv,.tsv,.txt,.xlsx,.xls,.ods,.json"
CODEBOOK = "Names, labels, codes: a table, REDCap's dictionary, or JSON. The roles are proposed with it."
_READING = ("delimiter", "encoding", "decimal", "sheet")


class FilePage(Page):
    """What can be opened, and what is."""

    slug, name = "file", "Files"

    def facts(self) -> Any:
        """The files that are open, their jobs, and the recent projects."""
        sessions = self.controller.workspace.sessions
        return [(b.id, sessions.revision(b.id)) for b in self.controller.open_sessions()], self.controller.recent.all()

    def parts(self) -> dict[str, Html]:
        """The invitation and the list."""
        return {
            "invitation": join([_heading(), tag("div", self._drop(), self._ways(), class_="two")]),
            "list": join([self._open_files() or _way(), self._recent()]),
        }

    def _drop(self) -> Html:
        most = self.controller.upload_limit
        kinds = (
            "CSV, TSV, Parquet, Excel, SAS, Stata, SPSS, or a project (.shoal). It stays on this machine, in a private "
            f"folder, and is deleted when the workbench stops. At most {most / 1e9:g} GB."
        )
        file = tag("input", type="file", id="file", accept=ACCEPTED, multiple=True, aria_describedby="kinds")
        drop = tag(
            "label",
            tag("strong", "Drop a file here, or choose one"),
            tag("span", kinds, id="kinds", class_="note"),
            tag("span", TOGETHER, class_="note"),
            file,
            class_="drop",
        )
        bar = tag("progress", id="bar", hidden=True, aria_label="Uploading the file", data_most=str(most))
        book = tag("input", type="file", id="codebook", accept=BOOKS)
        codebook = field("Its codebook, if there is one: choose it first", book, CODEBOOK)
        sample = tag("button", "Try it on simulated data", type="button", data_do="sample")
        beside = tag("span", "2,000 rows of a simulated health survey.", class_="note")
        sent = tag("p", "", id="sent", role="status", class_="note")
        return tag("div", drop, bar, sent, codebook, tag("div", sample, beside, class_="actions"))

    def _ways(self) -> Html | None:
        if not self.controller.by_path:
            return None
        ways = [self._by_path()]
        if self.controller.access.loopback:
            ways.append(self._by_query())
        return tag("div", *ways)

    def _by_path(self) -> Html:
        entry = tag(
            "input",
            name="path",
            id="path",
            type="text",
            class_="wide",
            placeholder=_PATH,
        )
        label = tag("label", tag("span", "Or enter its path on this machine", class_="name"), entry)
        words = (
            "Best for large files: they are read in place, and only a working copy is kept in the private folder. A "
            "folder with a file for each table opens as linked tables, and so does a workbook with * for its sheet."
        )
        book = tag("input", type="text", name="codebook", class_="wide", placeholder="/data/codebook.csv")
        options = tag(
            "details",
            tag("summary", "How to read it"),
            tag("div", *(_option(name) for name in _READING), class_="fields"),
        )
        line = tag("div", label, tag("button", "Open", type="submit", class_="main"), class_="line")
        return tag(
            "form",
            line,
            problem(self.wrong.get("open")),
            tag("p", words, class_="note"),
            field("Its codebook, if there is one", book, CODEBOOK),
            problem(self.wrong.get("codebook")),
            options,
            data_do="open",
            class_="card",
        )

    def _by_query(self) -> Html:
        base = tag("input", type="text", name="database", placeholder="sqlite:///people.db", class_="wide")
        query = tag("textarea", name="sql", rows="3", class_="wide", placeholder="SELECT * FROM people")
        press = tag("div", tag("button", "Run the query", type="submit"), class_="actions")
        form = tag(
            "form",
            field("Database", base),
            field("Query", query, "Without one, all its tables are opened as linked tables."),
            problem(self.wrong.get("query")),
            press,
            data_do="query",
            class_="stack",
        )
        return tag("details", tag("summary", "Or from a database"), form, class_="card", open="query" in self.wrong)

    def _open_files(self) -> Html | None:
        sessions = self.controller.open_sessions()
        if not sessions:
            return None
        forget = tag(
            "button",
            "Remove all files and results",
            type="button",
            class_="quiet",
            data_do="forget-all",
            data_confirm="Remove all files and all results that were not written? This can't be undone.",
        )
        return join([tag("h2", "Open now"), tag("ul", *map(self._entry, sessions), class_="plain files"), forget])

    def _entry(self, session: Session) -> Html:
        name = str(session.notes["name"])
        n = sum(job.kind == "release" and job.state == "done" for job in self._jobs(session))
        unwritten = n - len(session.notes.get("written", {}))
        question = f"Remove {name}"
        question += f", and {unwritten} result{'s' if unwritten > 1 else ''} not written" if unwritten > 0 else ""
        forget = tag(
            "button",
            "Remove",
            type="button",
            class_="quiet",
            data_do="forget",
            data_of=session.id,
            data_confirm=f"{question}? This can't be undone.",
            aria_label=f"Remove {name} and its results",
        )
        link = tag("a", name, href=f"/b/{session.id}/columns")
        since = datetime.fromtimestamp(session.log[0].at).strftime(", opened %H:%M") if session.log else ""
        worked = tag("span", f"{_worked(n, len(session.log))}{since}", class_="note")
        return tag("li", link, worked, forget, data_key=session.id)

    def _jobs(self, session: Session) -> tuple[Job, ...]:
        return self.controller.jobs_of(session.id)

    def _recent(self) -> Html | None:
        found = self.controller.recent.all()
        if not found or not self.controller.by_path:
            return None
        items = [
            tag(
                "li",
                tag("button", path.name, type="button", class_="quiet", data_do="project", data_of=str(path)),
                tag("span", str(path.parent), class_="note"),
                data_key=str(path),
            )
            for path in found
        ]
        wrong = problem(self.wrong.get("project"))
        return join([tag("h2", "Recent projects"), wrong, tag("ul", *items, class_="plain files")])

    def act(self, act: Act) -> None:
        """Open or remove; what is wrong is said where it was asked for."""
        try:
            self._do(act)
        except ShoalError as error:
            place = act.do if act.do in ("open", "query", "project") else "open"
            self.wrong[place] = str(error)
            if place == "open" and not self.controller.by_path:
                raise

    def _do(self, act: Act) -> None:
        if act.do == "open":
            self._open({name: str(value) for name, value in act.fields.items() if value})
        elif act.do == "query":
            self._go(self.controller.open_query(str(act.fields.get("database", "")), str(act.fields.get("sql", ""))))
        elif act.do == "project":
            self._go(self.controller.open_project(self.controller.access.place(Path(act.of))))
        elif act.do == "sample":
            self._go(self.controller.open_sample())
        elif act.do == "forget-all" or (act.do == "forget" and act.of):
            self.controller.forget(act.of if act.do == "forget" else "")

    def _open(self, fields: Mapping[str, str]) -> None:
        """By path, with the codebook where there is one; what is wrong with that is said beside it."""
        path, reading = fields.get("path", ""), {name: fields[name] for name in _READING if name in fields}
        if fields.get("codebook", "").strip() and path.strip():
            try:
                book = self.controller.codebook(fields["codebook"], path, reading.get("sheet", ""))
            except ShoalError as error:
                self.wrong["codebook"] = str(error)
                return
            self._go(self.controller.open_by_path(path, codebook=book, **reading))
            return
        self._go(self.controller.open_by_path(path, **reading))

    def _go(self, session: Session) -> None:
        self.go = f"/b/{session.id}/columns"


def _heading() -> Html:
    words = "Hide each person among others, keep the shape of the data, and produce evidence that a person can sign."
    return join([tag("h1", "Open a file"), tag("p", words, class_="lead")])


def _way() -> Html:
    """What comes next, for somebody who is here for the first time."""
    steps = {
        "Columns": "Say what each column is. Shoal proposes it, and shows who stands out.",
        "Method": "Say what the release must preserve. A recipe, a forecast and the command line come with it.",
        "Result": "See risk and use before and after, and what changed, against the limit that you accept.",
        "Sign": "Decide, sign and hand over: table, report and manifest, which anybody can verify.",
    }
    items = [tag("li", tag("strong", name), tag("span", words)) for name, words in steps.items()]
    return join([tag("h2", "What comes next"), tag("ol", *items, class_="way")])


_PATH = "/data/people.parquet, or a folder of linked tables"
_OPTIONS = {
    "delimiter": ("Delimiter", "detected automatically"),
    "encoding": ("Encoding", "detected automatically"),
    "decimal": ("Decimal sign", "."),
    "sheet": ("Sheet of a workbook", "the only one; *: all, linked"),
}


def _option(name: str) -> Html:
    label, usual = _OPTIONS[name]
    return field(label, tag("input", type="text", name=name, placeholder=usual))


def _worked(n: int, steps: int) -> str:
    results = "no result yet" if not n else f"{n} result{'' if n == 1 else 's'}"
    return f"{results}, {steps} step{'' if steps == 1 else 's'} in its log"
