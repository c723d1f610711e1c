"""The benches of a workbench: what one opened file is worked on with, changed in steps, logged, saved as a project.

A bench's id is in the address, so a reload or a second tab finds it. No page touches the room by itself.
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
from shoal.web.session import Bench, Entry
from shoal.web.workspace import Room

__all__ = ["Benches", "GoneError", "entry_of"]

Words = Mapping[str, Any]
GONE = "is no longer open here"
UPLOAD_LIMIT = 2_000_000_000


class GoneError(InputError):
    """The file that a page speaks of was forgotten meanwhile, in another tab."""

    def __init__(self) -> None:
        super().__init__("file", GONE, hint="Open it again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Benches:
    """The parts of a running workbench, and its benches.

    Parameters
    ----------
    room
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

    room: Room
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
        for bench in self.room.sessions.all() if self.room.is_open else ():
            self._autosave(bench.id)
        self.room.close()

    def find(self, id: str) -> Bench | None:
        """The bench of this id, if it is there."""
        try:
            return self.room.sessions.load(id)
        except ValueError:
            return None

    def bench(self, id: str) -> Bench:
        """The bench of this id, or an error that says what to do."""
        found = self.find(id)
        if found is None:
            raise GoneError
        return found

    def benches(self) -> tuple[Bench, ...]:
        """Every bench, oldest first."""
        return tuple(sorted(self.room.sessions.all(), key=_age))

    def note(self, id: str, name: str, value: Any) -> None:
        """Remember something by name; it can't be undone."""
        self._change(id, lambda bench: bench.with_note(name, value))

    def record(self, id: str, what: str, command: str = "") -> None:
        """One more line of the log."""
        entry = entry_of(what, command)
        self._change(id, lambda bench: bench.with_entry(entry))
        self._autosave(id)

    # Jobs of a bench

    def job(self, id: str) -> Job | None:
        """The job of this id, if it is there."""
        try:
            return self.jobs.get(id)
        except ParameterError:
            return None

    def jobs_of(self, id: str) -> tuple[Job, ...]:
        """The jobs of a bench, or all (no id), newest first."""
        ids = self.bench(id).job_ids if id else tuple(job.id for job in self.jobs.all() if job.kind != "look")
        found = (self.job(job) for job in reversed(ids))
        return tuple(job for job in found if job is not None)

    def newest(self, id: str, kind: str) -> Job | None:
        """The newest job of a kind on a bench."""
        return next((job for job in self.jobs_of(id) if job.kind == kind), None)

    def home(self, job: Job) -> str:
        """The bench that a job belongs to."""
        return next((b.id for b in self.benches() if job.id in (*b.job_ids, b.notes.get("opening"))), "")

    # Projects

    def save_project(self, id: str, text: str = "") -> Path:
        """Write the project file to a path, or where it was written last; changes are saved there from now on."""
        bench = self.bench(id)
        given = text.strip() or str(bench.notes.get("project", ""))
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
        bench = self.bench(id)
        ran = [job for job in reversed(self.jobs_of(id)) if job.kind == "release"]
        results = [*bench.notes.get("ran", ()), *map(_told, ran)]
        return json.dumps(project_words(bench, results), indent=1, ensure_ascii=False)

    def _save(self, id: str) -> None:
        path = self.bench(id).notes.get("project")
        if path:
            write_text(Path(str(path)), self.project_text(id) + "\n")
            with suppress(OSError):
                Path(str(path)).chmod(0o600)
            over = self._n_over(id)
            self._change(id, lambda bench: bench.with_note("saved", [len(bench.log), over]))

    def saved(self, id: str) -> tuple[str, bool]:
        """Where the project is saved (empty: nowhere), and whether it is as it stands."""
        bench = self.bench(id)
        place, now = str(bench.notes.get("project", "")), [len(bench.log), self._n_over(id)]
        if place and bench.notes.get("saved", [0])[0] == now[0] and bench.notes["saved"] != now:
            self._autosave(id)  # a job has ended, which is no change of the bench
            bench = self.bench(id)
        return place, bench.notes.get("saved") == now

    def _n_over(self, id: str) -> int:
        return sum(job.is_over for job in self.jobs_of(id))

    # Changes

    def _attached(self, job: str, attach: Callable[[], None]) -> None:
        """Let a job belong to a bench; one that can't (it was forgotten meanwhile, the disk is full) is not kept."""
        try:
            attach()
        except BaseException:
            self.jobs.remove(job)
            raise

    def _do(self, id: str, what: str, step: Callable[[Bench], Bench]) -> None:
        """Change a bench and log it; a change that changes nothing is none."""
        entry = entry_of(what)

        def logged(bench: Bench) -> Bench:
            after = step(bench)
            return after if after == bench else after.with_entry(entry)

        self._change(id, logged)
        self._autosave(id)

    def _autosave(self, id: str) -> None:
        """A project that has a file follows every change; the state line says where that fails."""
        with suppress(FileError, GoneError):
            self._save(id)

    def _change(self, id: str, step: Callable[[Bench], Bench]) -> None:
        """Change a bench; one that was forgotten meanwhile, in another tab, is not begun anew."""
        self.bench(id)
        self.room.sessions.change(id, lambda bench: step(_known(bench)))


def entry_of(what: str, command: str = "") -> Entry:
    """A line of the log: now, by whoever works here."""
    return Entry(at=time.time(), who=_who(), what=what, command=command)


def _told(job: Job) -> dict[str, Any]:
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


def _known(bench: Bench) -> Bench:
    if "path" not in bench.notes:
        raise GoneError
    return bench


def _age(bench: Bench) -> tuple[int, str]:
    """By the number of the job that opened it."""
    opening = str(bench.notes.get("opening", ""))
    return len(opening), opening


def _who() -> str:
    """Who works here, as the machine knows them."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
