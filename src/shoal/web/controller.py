"""What the pages do: open files, change a session, start jobs, forget. No page touches the workspace by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any

from shoal.errors import InputError, ShoalError
from shoal.recipe import command_line
from shoal.web.drafting import Drafting
from shoal.web.forms import read_words
from shoal.web.inspect import Opened
from shoal.web.job import Job, to_compare, to_look, to_measure, to_release
from shoal.web.project import folder_of
from shoal.web.session_control import GoneError, Words

if TYPE_CHECKING:
    from shoal.release.forecast import Forecast

__all__ = ["Controller", "title_of"]

MOST_TRIED = 4  # own recipes that join the default ones in a comparison
LONGEST_TITLE = 160
PAUSE = 0.3  # seconds before what a change does is counted: the answer to it comes first, and one more press may follow


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller(Drafting):
    """A running workbench: sessions, what is settled on them, and the jobs they start."""

    def run(self, id: str, sample: int | None = None, *, register: Mapping[str, str] | None = None) -> str:
        """Start a release by the recipe of a session, or (`sample`) a trial on so many rows.

        `register` says how it stands to earlier releases: `despite` for which reason, `same_groups_as` which one.
        """
        opened, schema = self._ready(id), self.whole_schema(id)
        recipe = self.settled_recipe(id)
        ways = dict(register or {})
        held = ways if self.registers else None
        words = to_release(opened, schema.to_dict(), recipe.to_dict(), **self.asked(id), sample=sample, register=held)
        job = self._started(id, "release", words)
        trial = f", on a sample of {sample:,} rows" if sample else ""
        options = [word for name, text in ways.items() for word in (f"--{name.replace('_', '-')}", text)]
        command = f"{self.command(id, folder_of(self.session(id), job))} {join(options)}".strip()
        self.record(id, f"run: {recipe.title}{trial}", "" if sample else command, job)
        return job

    def measure_in_full(self, id: str, job: Job) -> str:
        """Start to try on everybody what was tried on a sample of a release; once for each release."""
        before = self.measured(id, job)
        if before is not None and before.state in ("queued", "running", "done"):
            return before.id
        from shoal.release.folders import REPLAY, inside_of

        asked = [one["measure"] for one in (job.result or {})["view"]["asked"]]
        words = to_measure(self._ready(id), inside_of(job.folder / "release") / REPLAY, asked)
        begun = self._started(id, "measure", words)
        noted = {**self.session(id).notes.get("measured", {}), job.id: begun}
        self.note(id, "measured", noted)
        self.record(id, "measure in full")
        return begun

    def is_outdated(self, id: str, job: Job) -> bool:
        """Whether columns or recipe have been changed since a job was started."""
        try:
            now: dict[str, Any] = {"schema": self.whole_schema(id).to_dict(), "allow": self.allowed(id)}
            now["recipe"] = self.settled_recipe(id).to_dict()
        except ShoalError:
            return True
        return any(job.words[name] != _plain(words) for name, words in now.items() if name in job.words)

    def measured(self, id: str, job: Job) -> Job | None:
        """The job that measures a release on everybody, if it was asked for."""
        return self.job(str(self.session(id).notes.get("measured", {}).get(job.id, "")))

    def command(self, id: str, out: str = "release") -> str:
        """The command line that makes the same release; empty where there is none."""
        opened = self.opened(id)
        if opened is None:
            return ""
        recipe = self.settled_recipe(id)
        try:
            return command_line(recipe, self._file(opened), "schema.toml", out, reading=opened.asked, **self.asked(id))
        except ShoalError:
            return ""

    def forecast(self, id: str) -> Forecast | None:
        """How long a run should take; None before the file is read or the recipe whole."""
        from shoal.release.forecast import forecast

        opened = self.opened(id)
        if opened is None or opened.n_rows is None:
            return None
        try:
            return forecast(opened.n_rows, self.schema(id), read_words(self.recipe(id)))
        except ShoalError:
            return None

    def is_compiled(self, id: str, n_rows: int) -> bool:
        """Whether a run by the recipe need not compile anything first, as far as can be told without loading it."""
        from shoal.release.compiled import seems_compiled

        try:
            return seems_compiled(read_words(self.recipe(id)), n_rows)
        except ShoalError:
            return True

    def count_again(self, id: str) -> None:
        """Forget a count that failed, so that the next look begins a new one."""
        self._change(id, lambda session: session.with_notes({"looked": None, "look": "", "look_before": ""}))

    def count_failure(self, id: str) -> str:
        """Why the count of who stands out failed; empty while it goes on or where it is there."""
        job = self.job(str(self.session(id).notes.get("look", "")))
        return str(job.error) if job is not None and job.state == "failed" and job.error else ""

    def look(self, id: str) -> Job | None:
        """The count of who is alone by the schema as it stands; a new one is begun when the schema has changed."""
        schema, notes = self.whole_schema(id).to_dict(), self.session(id).notes
        job = self.job(str(notes.get("look", "")))
        if notes.get("looked") == schema or (job is not None and job.result is None and job.state == "running"):
            return job  # one that has told nothing yet is not thrown away, however often the schema changes
        waits = job is not None and job.state == "queued"
        last, gone = ("look_before", "look") if waits else ("look", "look_before")
        self.jobs.remove(str(notes.get(gone, "")))
        begun = self.jobs.start("look", to_look(self._ready(id), schema), after=0.0 if job is None else PAUSE)
        noted = {"look": begun, "looked": schema, "look_before": notes.get(last, "")}
        self._attached(begun, lambda: self._change(id, lambda session: session.with_notes(noted)))
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
            return job.result, self.session(id).notes.get("looked") == self.session(id).schema
        before = self.job(str(self.session(id).notes.get("look_before", "")))
        return (before.result or {} if before else {}), False

    def compare(self, id: str, *, risk_limit: float, time_limit: float) -> str:
        """Start a comparison of the default recipes and those tried on this session."""
        opened, schema = self._ready(id), self.whole_schema(id)
        tried = [read_words(words).to_dict() for words in self.session(id).tried[-MOST_TRIED:]]
        words = to_compare(
            opened,
            schema.to_dict(),
            also=tried,
            risk_limit=risk_limit,
            time_limit=time_limit,
            seed=self.workspace.seed,
            store=id,
        )
        job = self._started(id, "compare", words)
        self.record(
            id,
            f"compare recipes, at a risk of at most {100 * risk_limit:.3g}%",
            _compared(self._file(opened), risk_limit),
        )
        return job

    def _file(self, opened: Opened) -> str:
        """How a command names the file: by its name where it was sent here, else by its path."""
        return opened.name if self.workspace.holds(Path(opened.path)) else opened.path

    def _ready(self, id: str) -> Opened:
        opened = self.opened(self.session(id).id)
        if opened is None or opened.stage != "full":
            raise InputError("file", "is still being read", hint="Wait until its columns are shown.")
        return opened

    def _started(self, id: str, kind: Any, words: Words) -> str:
        job = self.jobs.start(kind, words)
        self._attached(job, lambda: self._change(id, lambda session: session.with_job(job)))
        return job


def _plain(words: Words) -> Any:
    """As a job's words are read back."""
    return json.loads(json.dumps(words))


def _compared(file: str, limit: float) -> str:
    return join(
        [
            "shoal",
            "compare",
            file,
            "--schema",
            "schema.toml",
            "--risk-limit",
            f"{limit:g}",
            "--out",
            "comparison",
        ]
    )


_TITLES = {"open": "reading", "compare": "comparison", "measure": "measuring in full"}


def title_of(job: Job) -> str:
    """What a job does, to which file, in few words."""
    words = job.words
    file = Path(str(words.get("path") or words.get("opened", {}).get("path", ""))).name
    if job.kind in _TITLES:
        return f"{file}: {_TITLES[job.kind]}"
    try:
        name = read_words(words["recipe"]).title
    except (ShoalError, KeyError):
        return f"{file}: release"
    trial = f" (trial on {words['sample']:,} rows)" if words.get("sample") else ""
    return f"{file}: {name if len(name) <= LONGEST_TITLE else f'{name[:LONGEST_TITLE]}…'}{trial}"
