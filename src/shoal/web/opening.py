"""Files come in: by upload, path, query or project; and go again, with all that was made of them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import FileError, ParameterError
from shoal.files import write_table
from shoal.files.atomic import check_readable
from shoal.web.inspect import Opened
from shoal.web.job import ALL_SHEETS, Job, to_open
from shoal.web.project import ENDING, read_project
from shoal.web.session import Session
from shoal.web.session_control import GoneError, SessionControl, Words, entry_of
from shoal.web.workspace import plain_name

__all__ = ["LARGEST_CODEBOOK", "Opening", "check_codebook"]

SAMPLE_ROWS = 2_000
LARGEST_CODEBOOK = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening(SessionControl):
    """Sessions, and how files come to them and leave."""

    def open(self, path: Path, **reading: Any) -> Session:
        """Begin a session for a file, which may have a `codebook`; reading it goes on in the background."""
        return self._begin(Session.new(), path, path.name, to_open(path, **reading))

    def open_by_path(self, text: str, **reading: Any) -> Session:
        """The same for a path that a person typed: of a table, or of a project."""
        if not text.strip():
            raise FileError("path", "must name a file", hint="Enter its path, for example /data/people.csv.")
        path = self.access.place(text.strip())
        return self.open_project(path) if path.suffix == ENDING else self.open(path, **reading)

    def codebook(self, text: str, of: str, sheet: str = "") -> Path:
        """The codebook whose path a person typed for the file `of`; an error says why it can't be used."""
        file = self.access.place(of.strip())
        if file.suffix == ENDING:
            raise ParameterError("codebook", "must be omitted with a project", hint="It has its schema already.")
        if file.is_dir() or sheet == ALL_SHEETS:
            hint = "Propose one table at a time with it."
            raise ParameterError("codebook", "must be omitted with linked tables", hint=hint)
        book = self.access.place(text.strip())
        check_codebook(book)
        return book

    def open_query(self, database: str, sql: str) -> Session:
        """A session for the rows that a query gives, or (none) for all tables, linked; on this machine only."""
        if not self.access.loopback:
            raise FileError("database", "can be queried only by a workbench on this machine")
        if not database.strip():
            raise FileError("database", "must be named", hint="Enter its address, for example sqlite:///people.db.")
        stem = plain_name(Path(database.partition("?")[0]).stem) or "query"
        name = f"{stem}.parquet" if sql.strip() else stem
        place = self.workspace.receive(name)
        words = {**to_open(place), "database": database.strip(), "sql": sql.strip()}
        return self._begin(Session.new(), place, name, words)

    def open_project(self, path: Path) -> Session:
        """Take up a project: its file is read anew by its path, or is to be opened again where it was uploaded."""
        words = read_project(path)
        notes = {**words["notes"], "restored": True, "ran": words.get("results", [])}
        if not self.workspace.holds(path):
            notes |= {"project": str(path), "saved": [len(words["log"]) + 1, 0]}  # all but that it was opened again
            self.recent.add(path)
        session = Session.from_dict({**words, "id": Session.new().id, "job_ids": [], "notes": notes})
        file = self._file_of(path, notes)
        asked = {**words["asked"], **({"sheet": ALL_SHEETS} if _is_linked_workbook(session, file) else {})}
        return self._begin(session, file, file.name, to_open(file, **asked))

    def _file_of(self, project: Path, notes: Words) -> Path:
        """The file of a project: where it was, or beside the project, as one that was uploaded has lost its place."""
        file = self.access.place(str(notes.get("path", "")))  # first: what may not be opened is not looked for
        if file.exists():
            return file
        name = str(notes.get("name", "the file"))
        beside = project.parent / plain_name(name)
        if not self.workspace.holds(project) and beside.exists():
            return self.access.place(str(beside))
        hint = f"Put {name} back at that place, or beside the project; the project holds no data."
        raise FileError(str(file), "is the file of this project and must be there", hint=hint)

    def _begin(self, session: Session, path: Path, name: str, words: Words) -> Session:
        job = self.jobs.start("open", words)
        entry = entry_of(f"opened {name}")
        notes = {"name": name, "path": str(path), "opening": job}
        notes |= {"codebook": words["codebook"]} if words.get("codebook") else {}
        begun = session.with_notes(notes).with_entry(entry)
        self._attached(job, lambda: self.workspace.sessions.save(begun))
        return begun

    def release_place(self, text: str) -> Path:
        """The folder that a person typed for a release."""
        if not text.strip():
            raise FileError("folder", "must be named", hint="Enter its path, for example /data/release.")
        return self.access.place(text.strip())

    def open_sample(self) -> Session:
        """A session for simulated people."""
        from shoal.datasets import health_survey

        place = self.workspace.receive("health-survey.csv")
        write_table(health_survey(SAMPLE_ROWS, seed=1), place)
        return self.open(place)

    def opened(self, id: str) -> Opened | None:
        """The file of a session as far as it is read; None before anything is known of it."""
        session = self.find(id)
        if session is None or (session.opened is not None and session.opened.stage == "full"):
            return session.opened if session else None
        job = self.opening(id)
        if job is None or job.result is None:
            return None
        opened = Opened.from_dict(job.result)
        if opened.stage == "full":  # written whole, a moment before the job is told to be done
            try:
                self._change(id, lambda session: session.with_opened(opened))
            except GoneError:
                return None
        return opened

    def opening(self, id: str) -> Job | None:
        """The job that reads the file of a session."""
        session = self.find(id)
        return self.job(str(session.notes.get("opening", ""))) if session else None

    def is_open(self, path: Path) -> bool:
        """Whether a session is of this file or folder."""
        return any(session.notes.get("path") == str(path) for session in self.open_sessions())

    def forget(self, id: str = "") -> None:
        """Remove a file that was sent here, with its jobs and results; all of them where no id is given."""
        for session in self.open_sessions() if not id else filter(None, [self.find(id)]):
            last = self.workspace.sessions.remove(session.id)  # first: from now on no job can join it
            if last is None:
                continue
            store = self.workspace.compared / session.id
            for job in (*last.job_ids, *(str(last.notes.get(name, "")) for name in ("opening", "look", "look_before"))):
                self.jobs.remove(job, store)
            for held in (last.notes["path"], last.notes.get("codebook")):
                if held:
                    self.workspace.forget(Path(str(held)))
            shutil.rmtree(store, ignore_errors=True)


def check_codebook(book: Path) -> None:
    """Read a codebook, to say at once what is wrong with it; a large file is none, and is not read."""
    from shoal.files.codebook import read_codebook

    check_readable(book)
    if book.stat().st_size > LARGEST_CODEBOOK:
        raise FileError(str(book), f"must have at most {LARGEST_CODEBOOK / 1e6:g} MB to be a codebook")
    read_codebook(book)


def _is_linked_workbook(session: Session, file: Path) -> bool:
    return "tables" in (session.schema or {}) and file.is_file()
