"""The sessions of a workbench: what one opened file is worked on with, changed in steps, logged, saved as a project.

A session's id is in the address, so a reload or a second tab finds it. No page touches the workspace by itself.
"""

from __future__ import annotations

import getpass
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.errors import FileError, InputError, ParameterError
from shoal.files.atomic import write_text
from shoal.web.access import Access
from shoal.web.job import Job
from shoal.web.jobs import Jobs
from shoal.web.project import ENDING, Recent, project_words
from shoal.web.session import Entry, Session
from shoal.web.workspace import Workspace

__all__ = ["GoneError", "SessionControl", "entry_of"]

Words = Mapping[str, Any]
GONE = "is no longer open here"
UPLOAD_LIMIT = 2_000_000_000


class GoneError(InputError):
    """The file that a page speaks of was forgotten meanwhile, in another tab."""

    def __init__(self) -> None:
        super().__init__("file", GONE, hint="Open it again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionControl:
    """The parts of a running workbench, and its sessions.

    Parameters
    ----------
    workspace
        The private folder.
    jobs
        What runs in the background.
    access
        The token and the places that files may be opened from.
    scores
        Whether risk scores are served beside the workbench.
    upload_limit
        The most bytes that an uploaded file may have.
    recent
        The projects saved last.
    registers
        Whether releases are held against the register of earlier ones, and entered in it when they leave.
    """

    workspace: Workspace
    jobs: Jobs
    access: Access
    scores: bool = False
    upload_limit: int = UPLOAD_LIMIT
    recent: Recent = field(default_factory=lambda: Recent(None))
    registers: bool = True

    @property
    def by_path(self) -> bool:
        """Whether files may be opened and releases written by their path on this machine."""
        return self.access.loopback or self.access.data is not None

    def close(self) -> None:
        """Save the projects as they stand, stop every job and remove everything."""
        for session in self.workspace.sessions.all() if self.workspace.is_open else ():
            self._autosave(session.id)
        self.workspace.close()

    def find(self, id: str) -> Session | None:
        """The session of this id, if it is there."""
        try:
            return self.workspace.sessions.load(id)
        except ValueError:
            return None

    def session(self, id: str) -> Session:
        """The session of this id, or an error that says what to do."""
        found = self.find(id)
        if found is None:
            raise GoneError
        return found

    def open_sessions(self) -> tuple[Session, ...]:
        """Every session, oldest first."""
        return tuple(sorted(self.workspace.sessions.all(), key=_age))

    def files(self) -> tuple[Path, ...]:
        """The files and folders that are open, each once."""
        named = (session for session in self.open_sessions() if "path" in session.notes)
        return tuple(dict.fromkeys(Path(str(session.notes["path"])) for session in named))

    def note(self, id: str, name: str, value: Any) -> None:
        """Remember something by name; it can't be undone."""
        self._change(id, lambda session: session.with_note(name, value))

    def record(self, id: str, what: str, command: str = "", job: str = "") -> None:
        """One more line of the log."""
        entry = entry_of(what, command, job)
        self._change(id, lambda session: session.with_entry(entry))
        self._autosave(id)

    # Jobs of a session

    def job(self, id: str) -> Job | None:
        """The job of this id, if it is there."""
        try:
            return self.jobs.get(id)
        except ParameterError:
            return None

    def jobs_of(self, id: str) -> tuple[Job, ...]:
        """The jobs of a session, or all (no id), newest first."""
        ids = self.session(id).job_ids if id else tuple(job.id for job in self.jobs.all() if job.kind != "look")
        found = (self.job(job) for job in reversed(ids))
        return tuple(job for job in found if job is not None)

    def newest(self, id: str, kind: str) -> Job | None:
        """The newest job of a kind on a session."""
        return next((job for job in self.jobs_of(id) if job.kind == kind), None)

    def home(self, job: Job) -> str:
        """The session that a job belongs to."""
        return next((b.id for b in self.open_sessions() if job.id in (*b.job_ids, b.notes.get("opening"))), "")

    # Projects

    def save_project(self, id: str, text: str = "") -> Path:
        """Write the project file to a path, or where it was written last; changes are saved there from now on."""
        session = self.session(id)
        given = text.strip() or str(session.notes.get("project", ""))
        if not given:
            raise FileError("project", "must have a path", hint="Enter one, for example /data/people.shoal.")
        path = self.access.place(given)
        path = path if path.suffix == ENDING else path.with_name(path.name + ENDING)
        self.note(id, "project", str(path))
        self._save(id)
        self.recent.add(path)
        return path

    def project_text(self, id: str) -> str:
        """The project file's text."""
        session = self.session(id)
        ran = [job for job in reversed(self.jobs_of(id)) if job.kind == "release"]
        results = [*session.notes.get("ran", ()), *map(_run_summary, ran)]
        return json.dumps(project_words(session, results), indent=1, ensure_ascii=False)

    def _save(self, id: str) -> None:
        path = self.session(id).notes.get("project")
        if path:
            write_text(Path(str(path)), self.project_text(id) + "\n")
            with suppress(OSError):
                Path(str(path)).chmod(0o600)
            over = self._n_over(id)
            self._change(id, lambda session: session.with_note("saved", [len(session.log), over]))

    def saved(self, id: str) -> tuple[str, bool]:
        """Where the project is saved (empty: nowhere), and whether it is as it stands."""
        session = self.session(id)
        place, now = str(session.notes.get("project", "")), [len(session.log), self._n_over(id)]
        if place and session.notes.get("saved", [0])[0] == now[0] and session.notes["saved"] != now:
            self._autosave(id)  # a job has ended, which is no change of the session
            session = self.session(id)
        return place, session.notes.get("saved") == now

    def _n_over(self, id: str) -> int:
        return sum(job.is_over for job in self.jobs_of(id))

    # Changes

    def _attached(self, job: str, attach: Callable[[], None]) -> None:
        """Let a job belong to a session; one that can't (it was forgotten meanwhile, the disk is full) is not kept."""
        try:
            attach()
        except BaseException:
            self.jobs.remove(job)
            raise

    def _do(self, id: str, what: str, step: Callable[[Session], Session]) -> None:
        """Change a session and log it; a change that changes nothing is none."""
        entry = entry_of(what)

        def logged(session: Session) -> Session:
            after = step(session)
            return after if after == session else after.with_entry(entry)

        self._change(id, logged)
        self._autosave(id)

    def _autosave(self, id: str) -> None:
        """A project that has a file follows every change; the state line says where that fails."""
        with suppress(FileError, GoneError):
            self._save(id)

    def _change(self, id: str, step: Callable[[Session], Session]) -> None:
        """Change a session; one that was forgotten meanwhile, in another tab, is not begun anew."""
        self.session(id)
        self.workspace.sessions.change(id, lambda session: step(_known(session)))


def entry_of(what: str, command: str = "", job: str = "") -> Entry:
    """A line of the log: now, by whoever works here."""
    return Entry(at=time.time(), who=_who(), what=what, command=command, job=job)


def _run_summary(job: Job) -> dict[str, Any]:
    """What a project keeps of a run: recipe and state, manifest and measures of a finished one, and no row of it."""
    result = job.result or {}
    try:
        manifest = json.loads((job.folder / "release" / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        manifest = None
    view = result.get("view", {})
    return {
        "job": job.id,
        "state": job.state,
        "ended": job.ended,
        "recipe": job.words.get("recipe"),
        "sample": result.get("sample"),
        "lost": view.get("lost"),
        "risk": view.get("risk"),
        "use": view.get("use"),
        "manifest": manifest,
    }


def _known(session: Session) -> Session:
    if "path" not in session.notes:
        raise GoneError
    return session


def _age(session: Session) -> tuple[int, str]:
    """By the number of the job that opened it."""
    opening = str(session.notes.get("opening", ""))
    return len(opening), opening


def _who() -> str:
    """Who works here, as the machine knows them."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
