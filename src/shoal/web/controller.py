"""What the pages do: open files, change a bench, start jobs, forget. No page touches the room by itself.

A *bench* is what one opened file is worked on with; its id is in the address, so a reload or a second tab finds it.
"""

from __future__ import annotations

import getpass
import json
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.errors import FileError, InputError, ParameterError, ShoalError
from shoal.files.atomic import write_text
from shoal.recipe import command_line, kind_of
from shoal.schema import Schema
from shoal.web.access import Access
from shoal.web.catalogue import Goal, goal, goals
from shoal.web.forms import read_words
from shoal.web.inspect import Opened
from shoal.web.job import Job, to_compare, to_look, to_open, to_release
from shoal.web.jobs import Jobs
from shoal.web.project import ENDING, Recent, project_words, read_project
from shoal.web.session import Bench, Entry
from shoal.web.workspace import Room

if TYPE_CHECKING:
    from shoal.release.cost import Forecast

__all__ = ["Controller", "GoneError", "title_of"]

Words = Mapping[str, Any]
SAMPLE_ROWS = 2_000
GONE = "is no longer open here"
MOST_TRIED = 4  # own recipes that join the default ones in a comparison
LONGEST_TITLE = 160
UPLOAD_LIMIT = 2_000_000_000
RISK_LIMIT = 0.05


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
    upload_limit
        The most bytes that an uploaded file may have.
    recent
        The projects saved last.
    """

    room: Room
    jobs: Jobs
    access: Access
    scores: bool = False
    upload_limit: int = UPLOAD_LIMIT
    recent: Recent = field(default_factory=lambda: Recent(None))

    @property
    def by_path(self) -> bool:
        """Whether files may be opened and releases written by their path on this machine."""
        return self.access.loopback or self.access.data is not None

    def close(self) -> None:
        """Stop every job and remove everything."""
        self.room.close()

    # Files

    def open(self, path: Path, **reading: Any) -> Bench:
        """Begin a bench for a file; reading it goes on in the background."""
        return self._begin(Bench.new(), path, path.name, to_open(path, **reading))

    def open_by_path(self, text: str, **reading: Any) -> Bench:
        """The same for a path that a person typed: of a table, or of a project."""
        if not text.strip():
            raise FileError("path", "must name a file", hint="Enter its path, for example /data/people.csv.")
        path = self.access.place(text.strip())
        return self.open_project(path) if path.suffix == ENDING else self.open(path, **reading)

    def open_query(self, database: str, sql: str) -> Bench:
        """A bench for the rows that a query gives; on this machine only."""
        if not self.access.loopback:
            raise FileError("database", "can be queried only by a workbench on this machine")
        if not database.strip() or not sql.strip():
            raise FileError("database", "and query must both be given", hint="Enter sqlite:///people.db and a SELECT.")
        name = f"{Path(database.partition('?')[0]).stem or 'query'}.parquet"
        place = self.room.receive(name)
        words = {**to_open(place), "database": database.strip(), "sql": sql.strip()}
        return self._begin(Bench.new(), place, name, words)

    def open_project(self, path: Path) -> Bench:
        """Take up a project: its file is read anew by its path, or is to be opened again where it was uploaded."""
        words = read_project(path)
        notes = {**words["notes"], "restored": True}
        if not self.room.holds(path):
            notes["project"] = str(path)
            self.recent.add(path)
        bench = Bench.from_dict({**words, "id": Bench.new().id, "job_ids": [], "notes": notes})
        file = self.access.place(str(notes.get("path", "")))  # first: what may not be opened is not looked for
        if not file.is_file():
            hint = f"Put {notes.get('name', 'the file')} back at that place; the project holds no data."
            raise FileError(str(file), "is the file of this project and must be there", hint=hint)
        return self._begin(bench, file, file.name, to_open(file, **words["asked"]))

    def _begin(self, bench: Bench, path: Path, name: str, words: Words) -> Bench:
        job = self.jobs.start("open", words)
        entry = Entry(at=time.time(), who=_who(), what=f"opened {name}")
        begun = _noted(bench, {"name": name, "path": str(path), "opening": job}).with_entry(entry)
        self._attached(job, lambda: self.room.sessions.save(begun))
        return begun

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
        done = [job for job in reversed(self.jobs_of(id)) if job.kind == "release" and job.state == "done"]
        return json.dumps(project_words(self.bench(id), [_told(job) for job in done]), indent=1, ensure_ascii=False)

    def _save(self, id: str) -> None:
        path = self.bench(id).notes.get("project")
        if path:
            write_text(Path(str(path)), self.project_text(id) + "\n")
            with suppress(OSError):
                Path(str(path)).chmod(0o600)
            self._change(id, lambda bench: bench.with_note("saved", len(bench.log)))

    def saved(self, id: str) -> tuple[str, bool]:
        """Where the project is saved (empty: nowhere), and whether it is as it stands."""
        bench = self.bench(id)
        return str(bench.notes.get("project", "")), bench.notes.get("saved") == len(bench.log)

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
            for job in (*last.job_ids, *(str(last.notes.get(name, "")) for name in ("opening", "look", "look_before"))):
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
        words = schema.to_dict()
        self._do(id, "schema pasted", lambda bench: bench.changed("schema pasted", at=time.time(), schema=words))

    def change_column(self, id: str, name: str, entries: Words) -> None:
        """Change entries of a column's words; what is wrong with the column alone is an error, and nothing changes."""
        self.change_columns(id, {name: entries}, f"{name}: {_settled(entries)}")

    def change_columns(self, id: str, entries: Mapping[str, Words], what: str) -> None:
        """The same for some columns in one step."""
        from shoal.schema import Column

        changed = self.bench(id).with_columns(what, entries)
        for name in entries:
            Column.from_dict(name, (changed.schema or {})["columns"][name])
        self._do(id, what, lambda bench: bench.with_columns(what, entries, at=time.time()))

    def change_rules(self, id: str, rules: list[Words]) -> None:
        """Take the rules between columns; an error says what is wrong with them."""
        schema = {**(self.bench(id).schema or {"columns": {}}), "rules": rules}
        Schema.from_dict(schema)
        self._do(id, "rules between columns", lambda bench: bench.changed("rules", at=time.time(), schema=schema))

    def recipe(self, id: str) -> Words:
        """The recipe of a bench in words; that of the first goal before one is chosen."""
        return self.bench(id).recipe or goals()[0].recipe

    def choose_goal(self, id: str, name: str) -> None:
        """Take a goal with its recipe."""
        chosen = goal(name)

        def step(bench: Bench) -> Bench:
            asked = {**bench.now.asked, "preset": chosen.preset}
            return bench.changed(f"goal: {chosen.title}", at=time.time(), goal=name, recipe=chosen.recipe, asked=asked)

        self._do(id, f"goal: {chosen.title}", step)

    def goal(self, id: str) -> Goal | None:
        """The goal whose recipe this is, with its rules; None for a recipe of one's own."""
        recipe, preset = _plain_recipe(self.recipe(id)), self.bench(id).now.asked.get("preset")
        fitting = (one for one in goals() if one.recipe == recipe and (one.preset or None) == (preset or None))
        return next(fitting, None)

    def change_recipe(self, id: str, words: Words, what: str = "recipe changed") -> None:
        """Take a recipe; the goal it came from is remembered, to go back to."""
        self._do(id, what, lambda bench: bench.changed(what, at=time.time(), recipe=dict(words)))

    def undo(self, id: str) -> None:
        """Back to what was before the last change."""
        self._do(id, "undone", Bench.undo)

    def redo(self, id: str) -> None:
        """Forward again."""
        self._do(id, "redone", Bench.redo)

    def ask(self, id: str, name: str, value: Any) -> None:
        """Settle an answer beside the recipe: the output format, rules to meet, limits."""
        what = f"{name}: {value if value is not None else 'none'}"
        self._do(id, what, lambda b: b.changed(what, at=time.time(), asked={**b.now.asked, name: value}))

    def note(self, id: str, name: str, value: Any) -> None:
        """Remember something by name; it can't be undone."""
        self._change(id, lambda bench: bench.with_note(name, value))

    def risk_limit(self, id: str) -> float:
        """The risk that is accepted: what measured risks are held against, everywhere."""
        return float(self.bench(id).now.asked.get("risk_limit", RISK_LIMIT))

    def record(self, id: str, what: str, command: str = "") -> None:
        """One more line of the log."""
        entry = Entry(at=time.time(), who=_who(), what=what, command=command)
        self._change(id, lambda bench: bench.with_entry(entry))
        self._autosave(id)

    def set_risk_limit(self, id: str, percent: Any) -> None:
        """Take the accepted risk, typed in percent."""
        try:
            limit = float(percent) / 100
        except (TypeError, ValueError):
            raise ParameterError("accepted risk", "must be a number, in percent") from None
        if not 0 < limit <= 1:
            raise ParameterError("accepted risk", "must be more than 0 and at most 100 percent")
        self.ask(id, "risk_limit", limit)

    # Jobs

    def job(self, id: str) -> Job | None:
        """The job of this id, if it is there."""
        try:
            return self.jobs.get(id)
        except ParameterError:
            return None

    def run(self, id: str, sample: int | None = None) -> str:
        """Start a release by the recipe of a bench, or (`sample`) a trial on so many rows."""
        opened, schema = self._ready(id), self.schema(id)
        recipe = read_words(self.recipe(id))
        words = to_release(opened, schema.to_dict(), recipe.to_dict(), **self.asked(id), sample=sample)
        job = self._started(id, "release", words)
        trial = f", on a sample of {sample:,} rows" if sample else ""
        self.record(id, f"run: {recipe.title}{trial}", "" if sample else self.command(id))
        return job

    def command(self, id: str, out: str = "release") -> str:
        """The command line that makes the same release; empty where there is none."""
        opened = self.opened(id)
        if opened is None:
            return ""
        file = opened.name if self.room.holds(Path(opened.path)) else opened.path
        recipe = read_words(self.recipe(id))
        try:
            return command_line(recipe, file, "schema.toml", out, reading=opened.asked, **self.asked(id))
        except ShoalError:
            return ""

    def forecast(self, id: str) -> Forecast | None:
        """How long a run should take; None before the file is read or the recipe whole."""
        from shoal.release.cost import forecast

        opened = self.opened(id)
        if opened is None or opened.n_rows is None:
            return None
        try:
            return forecast(opened.n_rows, self.schema(id), read_words(self.recipe(id)))
        except ShoalError:
            return None

    def asked(self, id: str) -> dict[str, Any]:
        """What was answered beside the recipe, as far as its sort takes it."""
        given, kind = self.bench(id).now.asked, kind_of(self.recipe(id))
        asks = kind.asks if kind else ()
        return {
            "format": given.get("format"),
            **{name: given.get(name) if name in asks else None for name in ("preset", "limit")},
        }

    def look(self, id: str) -> Job | None:
        """The count of who is alone by the schema as it stands; a new one is begun when the schema has changed."""
        schema, notes = self.schema(id).to_dict(), self.bench(id).notes
        job = self.job(str(notes.get("look", "")))
        if notes.get("looked") == schema or (job is not None and job.result is None and not job.is_over):
            return job  # one that has told nothing yet is not thrown away, however often the schema changes
        self.jobs.remove(str(notes.get("look_before", "")))
        begun = self.jobs.start("look", to_look(self._ready(id), schema))
        noted = {"look": begun, "looked": schema, "look_before": notes.get("look", "")}
        self._attached(begun, lambda: self._change(id, lambda bench: _noted(bench, noted)))
        return self.job(begun)

    def exposure(self, id: str) -> tuple[Words, bool]:
        """What was counted last, and whether that is by the schema as it stands; nothing before it was counted."""
        try:
            job = self.look(id)
        except GoneError:
            raise
        except ShoalError:
            return {}, False
        if job is not None and job.result is not None:
            return job.result, self.bench(id).notes.get("looked") == self.bench(id).schema
        before = self.job(str(self.bench(id).notes.get("look_before", "")))
        return (before.result or {} if before else {}), False

    def compare(self, id: str, *, risk_limit: float, time_limit: float) -> str:
        """Start a comparison of the default recipes and those tried on this bench."""
        opened, schema = self._ready(id), self.schema(id)
        tried = [read_words(words).to_dict() for words in self.bench(id).tried[-MOST_TRIED:]]
        words = to_compare(
            opened,
            schema.to_dict(),
            also=tried,
            risk_limit=risk_limit,
            time_limit=time_limit,
            seed=self.room.seed,
            store=id,
        )
        job = self._started(id, "compare", words)
        self.record(id, f"compare recipes, at a risk of at most {risk_limit:.3g}", _compared(opened, risk_limit))
        return job

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

    def _do(self, id: str, what: str, step: Callable[[Bench], Bench]) -> None:
        """Change a bench and log it; a change that changes nothing is none."""
        entry = Entry(at=time.time(), who=_who(), what=what)

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


def _told(job: Job) -> dict[str, Any]:
    """What a project keeps of a finished release: its manifest and measures, no row of it."""
    result = job.result or {}
    try:
        manifest = json.loads((job.folder / "release" / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        manifest = None
    view = result.get("view", {})
    return {
        "job": job.id,
        "ended": job.ended,
        "recipe": result.get("recipe"),
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


def _noted(bench: Bench, notes: Words) -> Bench:
    for name, value in notes.items():
        bench = bench.with_note(name, value)
    return bench


def _plain_recipe(words: Words) -> Words:
    """A recipe with its answers read, so that equal recipes are equal words; as it is where it can't be read."""
    try:
        return read_words(words).to_dict()
    except ShoalError:
        return words


def _settled(entries: Words) -> str:
    """What a change of a column settles, in a few words."""
    return ", ".join(f"{name} {'none' if value is None else str(value)[:40]}" for name, value in entries.items())


def _compared(opened: Opened, limit: float) -> str:
    from shlex import join

    return join(
        [
            "shoal",
            "compare",
            opened.path,
            "--schema",
            "schema.toml",
            "--risk-limit",
            f"{limit:g}",
            "--out",
            "comparison",
        ]
    )


def _who() -> str:
    """Who works here, as the machine knows them."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def title_of(job: Job) -> str:
    """What a job does, to which file, in few words."""
    words = job.words
    file = Path(str(words.get("path") or words.get("opened", {}).get("path", ""))).name
    if job.kind == "compare":
        return f"{file}: comparison"
    if job.kind == "open":
        return f"{file}: reading"
    try:
        name = read_words(words["recipe"]).title
    except (ShoalError, KeyError):
        return f"{file}: release"
    trial = f" (trial on {words['sample']:,} rows)" if words.get("sample") else ""
    return f"{file}: {name if len(name) <= LONGEST_TITLE else f'{name[:LONGEST_TITLE]}…'}{trial}"
