"""What the pages do: open files, change a bench, start jobs, forget. No page touches the room by itself.

A *bench* is what one opened file is worked on with; its id is in the address, so a reload or a second tab finds it.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import FileError, InputError, ParameterError, ShoalError
from shoal.schema import Schema
from shoal.web.access import Access
from shoal.web.bench import Bench
from shoal.web.catalogue import goal, goals
from shoal.web.forms import read_words
from shoal.web.inspect import Opened
from shoal.web.job import Job
from shoal.web.job_request import to_compare, to_look, to_open, to_release
from shoal.web.jobs import Jobs
from shoal.web.workspace import Room

__all__ = ["Controller", "GoneError", "title_of"]

Words = Mapping[str, Any]
SAMPLE_ROWS = 2_000
GONE = "is no longer open here"
MOST_TRIED = 4  # own recipes that join the default ones in a comparison
LONGEST_TITLE = 160


class GoneError(InputError):
    """The file that a page speaks of was forgotten meanwhile, in another tab."""

    def __init__(self) -> None:
        super().__init__("file", GONE, hint="Open it again.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """The parts of a running workbench, and what can be done with them.

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
    """

    room: Room
    jobs: Jobs
    access: Access
    scores: bool = False

    @property
    def by_path(self) -> bool:
        """Whether files may be opened and releases written by their path on this machine."""
        return self.access.loopback or self.access.data is not None

    def close(self) -> None:
        """Stop every job and remove everything."""
        self.room.close()

    # Files

    def open(self, path: Path) -> Bench:
        """Begin a bench for a file; reading it goes on in the background."""
        job = self.jobs.start("open", to_open(path))
        bench = _noted(Bench.new(), {"name": path.name, "path": str(path), "opening": job})
        self._attached(job, lambda: self.room.sessions.save(bench))
        return bench

    def open_by_path(self, text: str) -> Bench:
        """The same for a path that a person typed."""
        if not text.strip():
            raise FileError("path", "must name a file", hint="Enter its path, for example /data/people.csv.")
        return self.open(self.access.place(text.strip()))

    def release_place(self, text: str) -> Path:
        """The folder that a person typed for a release."""
        if not text.strip():
            raise FileError("folder", "must be named", hint="Enter its path, for example /data/release.")
        return self.access.place(text.strip())

    def open_sample(self) -> Bench:
        """A bench for simulated people."""
        from shoal.datasets import health_survey
        from shoal.files import write_table

        place = self.room.receive("health-survey.csv")
        write_table(health_survey(SAMPLE_ROWS, seed=1), place)
        return self.open(place)

    def opened(self, id: str) -> Opened | None:
        """The file of a bench as far as it is read; None before anything is known of it."""
        bench = self.find(id)
        if bench is None or (bench.opened is not None and bench.opened.stage == "full"):
            return bench.opened if bench else None
        job = self.opening(id)
        if job is None or job.result is None:
            return None
        opened = Opened.from_dict(job.result)
        if opened.stage == "full":  # written whole, a moment before the job is told to be done
            try:
                self._change(id, lambda bench: bench.with_opened(opened))
            except GoneError:
                return None
        return opened

    def opening(self, id: str) -> Job | None:
        """The job that reads the file of a bench."""
        bench = self.find(id)
        return self.job(str(bench.notes.get("opening", ""))) if bench else None

    def forget(self, id: str = "") -> None:
        """Remove a file that was sent here, with its jobs and results; all of them where no id is given."""
        for bench in self.benches() if not id else filter(None, [self.find(id)]):
            last = self.room.sessions.remove(bench.id)  # first: from now on no job can join it
            if last is None:
                continue
            store = self.room.compared / bench.id
            for job in (*last.job_ids, *(str(last.notes.get(name, "")) for name in ("opening", "look"))):
                self.jobs.remove(job, store)
            self.room.forget(Path(str(last.notes["path"])))
            shutil.rmtree(store, ignore_errors=True)

    # Benches

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

    def schema(self, id: str) -> Schema:
        """The schema of a bench, or an error that says what is wrong with it."""
        return Schema.from_dict(self.bench(id).schema or {"columns": {}})

    def set_schema(self, id: str, schema: Schema) -> None:
        """Take a schema from a file; it must speak of the columns of this one."""
        opened = self.opened(id)
        names = {column.name for column in opened.columns} if opened else set()
        strange = [column.name for column in schema.columns if column.name not in names]
        if strange:
            raise InputError("schema", f"refers to the column '{strange[0]}', which is not in the file")
        self._change(id, lambda bench: bench.with_schema(schema.to_dict()))

    def change_column(self, id: str, name: str, entries: Words) -> None:
        """Change entries of a column's words; what is wrong with the column alone is an error, and nothing changes."""
        from shoal.schema import Column

        changed = self.bench(id).with_column(name, **entries)
        Column.from_dict(name, (changed.schema or {})["columns"][name])
        self._change(id, lambda bench: bench.with_column(name, **entries))

    def recipe(self, id: str) -> Words:
        """The recipe of a bench in words; that of the first goal before one is chosen."""
        return self.bench(id).recipe or goals()[0].recipe

    def choose_goal(self, id: str, name: str) -> None:
        """Take a goal with its recipe."""
        chosen = goal(name)
        first = self.recipe(id)
        self._change(
            id, lambda bench: _taken(_begun(bench, first), chosen.recipe, name).with_note("preset", chosen.preset)
        )

    def change_recipe(self, id: str, words: Words) -> None:
        """Take a recipe; the goal before it stays marked."""
        first = self.recipe(id)
        self._change(id, lambda bench: _taken(_begun(bench, first), words))

    def undo(self, id: str) -> None:
        """Back to the recipe before, with the goal it came from and the rules of that goal."""
        self._change(id, _back)

    def note(self, id: str, name: str, value: Any) -> None:
        """Remember a small answer."""
        self._change(id, lambda bench: bench.with_note(name, value))

    # Jobs

    def job(self, id: str) -> Job | None:
        """The job of this id, if it is there."""
        try:
            return self.jobs.get(id)
        except ParameterError:
            return None

    def run(self, id: str) -> str:
        """Start a release by the recipe of a bench."""
        opened, schema = self._ready(id), self.schema(id)
        recipe = read_words(self.recipe(id)).to_dict()
        return self._started(id, "release", to_release(opened, schema.to_dict(), recipe, **self.asked(id)))

    def asked(self, id: str) -> dict[str, Any]:
        """What was answered beside the recipe, as far as its sort takes it."""
        notes, recipe = self.bench(id).notes, self.recipe(id)
        return {
            "format": notes.get("format"),
            "preset": notes.get("preset") if "coarsen" in recipe else None,
            "limit": notes.get("limit") if "synthesize" in recipe else None,
        }

    def look(self, id: str) -> Job | None:
        """The count of who is alone by the schema as it stands; a new one is begun when the schema has changed."""
        schema, notes = self.schema(id).to_dict(), self.bench(id).notes
        job = self.job(str(notes.get("look", "")))
        if notes.get("looked") == schema or (job is not None and not job.is_over):
            return job
        if job is not None:
            self.jobs.remove(job.id)
        begun = self.jobs.start("look", to_look(self._ready(id), schema))
        noted = {"look": begun, "looked": schema}
        self._attached(begun, lambda: self._change(id, lambda bench: _noted(bench, noted)))
        return self.job(begun)

    def compare(self, id: str, *, risk_limit: float, time_limit: float) -> str:
        """Start a comparison of the default recipes and those tried on this bench."""
        opened, schema = self._ready(id), self.schema(id)
        tried = [read_words(words).to_dict() for words in self.bench(id).recipes[-MOST_TRIED:]]
        words = to_compare(
            opened,
            schema.to_dict(),
            also=tried,
            risk_limit=risk_limit,
            time_limit=time_limit,
            seed=self.room.seed,
            store=id,
        )
        return self._started(id, "compare", words)

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

    def _ready(self, id: str) -> Opened:
        opened = self.opened(self.bench(id).id)
        if opened is None or opened.stage != "full":
            raise InputError("file", "is still being read", hint="Wait until its columns are shown.")
        return opened

    def _started(self, id: str, kind: Any, words: Words) -> str:
        job = self.jobs.start(kind, words)
        self._attached(job, lambda: self._change(id, lambda bench: bench.with_job(job)))
        return job

    def _attached(self, job: str, attach: Callable[[], None]) -> None:
        """Let a job belong to a bench; one that can't (it was forgotten meanwhile, the disk is full) is not kept."""
        try:
            attach()
        except BaseException:
            self.jobs.remove(job)
            raise

    def _change(self, id: str, step: Callable[[Bench], Bench]) -> None:
        """Change a bench; one that was forgotten meanwhile, in another tab, is not begun anew."""
        self.bench(id)
        self.room.sessions.change(id, lambda bench: step(_known(bench)))


def _known(bench: Bench) -> Bench:
    if "path" not in bench.notes:
        raise GoneError
    return bench


def _age(bench: Bench) -> tuple[int, str]:
    """By the number of the job that opened it."""
    opening = str(bench.notes.get("opening", ""))
    return len(opening), opening


def _noted(bench: Bench, notes: Words) -> Bench:
    for name, value in notes.items():
        bench = bench.with_note(name, value)
    return bench


def _begun(bench: Bench, first: Words) -> Bench:
    """A bench whose history begins with the recipe that was shown first, so that undo leads back to it."""
    return bench if bench.recipe is not None else _taken(bench, first, bench.goal or goals()[0].name)


def _taken(bench: Bench, words: Words, name: str = "") -> Bench:
    """A bench with a recipe and the goal it came from, the one before where none is named."""
    after, name = bench.with_recipe(words), name or bench.goal or goals()[0].name
    came_from = [*bench.notes.get("goals", ())][: after.place]
    return after.with_goal(name).with_note("goals", [*came_from, name])


def _back(bench: Bench) -> Bench:
    """The step back; the rules to meet are those of the goal, where that is another one then."""
    if not bench.can_undo:
        return bench
    after, name = bench.undo(), str(bench.notes["goals"][bench.place - 1])
    return after if name == bench.goal else after.with_goal(name).with_note("preset", goal(name).preset)


def title_of(job: Job) -> str:
    """What a job is, in few words."""
    if job.kind == "compare":
        return "Comparison"
    if job.kind == "open":
        return f"Reading {Path(str(job.words.get('path', ''))).name}"
    try:
        name = read_words(job.words["recipe"]).title
    except (ShoalError, KeyError):
        return "Release"
    return name if len(name) <= LONGEST_TITLE else f"{name[:LONGEST_TITLE]}…"
