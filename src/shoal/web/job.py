"""One job as it stands: a small record, on disk as ``job.json``, with its result, and what each kind is asked for."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from shoal.files.atomic import write_text
from shoal.web.cache import DRAWINGS, Cache
from shoal.web.error_text import Failure
from shoal.web.inspect import Opened

__all__ = [
    "ALL_SHEETS",
    "ENTRY",
    "Job",
    "Kind",
    "State",
    "read_job",
    "to_compare",
    "to_look",
    "to_measure",
    "to_open",
    "to_release",
    "write_job",
]

Kind = Literal["open", "look", "release", "measure", "compare"]
State = Literal["queued", "running", "done", "failed", "cancelled"]

ALL_SHEETS = "*"  # in place of a sheet: all of them, as linked tables
ENTRY = "entry"  # what the register is told when a release leaves
_RECORD, _REQUEST, _RESULT = "job.json", "request.json", "result.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it stands.

    Parameters
    ----------
    id, kind, folder
        Its name, what it does (open, look, release, measure, compare), and where it works.
    state
        queued, running, done, failed or cancelled; the last three are final.
    step, step_share, seconds_left
        What it is doing, how much of all is done before it (0 to 1), and how long the rest should take (None: unknown).
    made, started, ended
        When, in seconds since 1970.
    error
        Why it failed; None unless it did.

    Examples
    --------
    >>> import pathlib
    >>> from shoal.web.job import Job
    >>> job = Job(id="0001-ab", kind="open", folder=pathlib.Path("x"), state="done", started=2.0, ended=5.5)
    >>> job.seconds, job.is_over, job.result
    (3.5, True, None)
    """

    id: str
    kind: Kind
    folder: Path
    state: State = "queued"
    step: str = ""
    step_share: float | None = None
    seconds_left: float | None = None
    made: float = 0.0
    started: float | None = None
    ended: float | None = None
    error: Failure | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def seconds(self) -> float:
        """How long it has run, or ran."""
        return 0.0 if self.started is None else (self.ended or time.time()) - self.started

    @property
    def words(self) -> dict[str, Any]:
        """What was asked for."""
        return dict(_loaded(self.folder / _REQUEST) or {}).get("words", {})  # type: ignore[no-any-return]

    @property
    def result(self) -> dict[str, Any] | None:
        """What came out; None if nothing has yet. A file that is being opened gives its first stage before the end."""
        return _loaded(self.folder / _RESULT)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-safe words, without the folder and the result."""
        return {
            "id": self.id,
            "kind": self.kind,
            "state": self.state,
            "step": self.step,
            "step_share": self.step_share,
            "seconds_left": self.seconds_left,
            "made": self.made,
            "started": self.started,
            "ended": self.ended,
            "error": None if self.error is None else self.error.to_dict(),
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any], folder: Path) -> Job:
        """Read a record back from its words."""
        if words["state"] not in get_args(State) or words["kind"] not in get_args(Kind):
            raise ValueError("no record of a job")
        error = words["error"]
        return cls(**{**words, "folder": folder, "error": None if error is None else Failure.from_dict(error)})


def read_job(folder: Path) -> Job:
    """The job of this folder; an OSError or ValueError if there is none."""
    return Job.from_dict(json.loads((folder / _RECORD).read_text(encoding="utf-8")), folder)


def write_job(job: Job) -> None:
    """Write the record, whole or not at all."""
    write_text(job.folder / _RECORD, json.dumps(job.to_dict()), durable=False)  # the workspace goes with the process


def write_request(folder: Path, kind: Kind, words: Mapping[str, Any]) -> None:
    """Write what is asked for."""
    write_text(folder / _REQUEST, json.dumps({"kind": kind, "words": words}), durable=False)


def write_result(folder: Path, result: Mapping[str, Any]) -> None:
    """Write what came out."""
    write_text(folder / _RESULT, json.dumps(result), durable=False)


def forget_read(id: str) -> None:
    """Let go of what was read of a job's request and result, and drawn of them: they hold rows of files."""
    _READ.forget(id)
    DRAWINGS.forget(id)


def _loaded(file: Path) -> dict[str, Any] | None:
    try:
        about = file.stat()
        stamp = about.st_mtime_ns, about.st_ino, about.st_size  # two writings can have one time
        return _READ.of(file.parent.name, (file, stamp), lambda: json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None


_READ: Cache[dict[str, Any]] = Cache(32)


Words = Mapping[str, Any]


def to_open(
    path: str | Path,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str = ".",
    sheet: str | None = None,
    codebook: str | Path | None = None,
) -> dict[str, Any]:
    """The words of a job that opens a file, whose columns a codebook may describe."""
    reading = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal, "sheet": sheet}
    return {"path": str(path), **reading, "codebook": None if codebook is None else str(codebook)}


def to_look(opened: Opened, schema: Words) -> dict[str, Any]:
    """The words of a job that says what doesn't fit, who is alone, through which columns, and what would help."""
    return {"opened": opened.slim().to_dict(), "schema": dict(schema)}


def to_release(
    opened: Opened,
    schema: Words,
    recipe: Words,
    *,
    format: str | None = None,
    preset: str | None = None,
    accept: bool = False,
    allow: Sequence[str] = (),
    seed: int | None = None,
    account: bool = True,
    limit: float | None = None,
    sample: int | None = None,
    register: Words | None = None,
) -> dict[str, Any]:
    """The words of a job that makes a release.

    Parameters
    ----------
    opened, schema, recipe
        The file, its schema in words and the recipe in words.
    format
        Ending of the table: csv, tsv, parquet, dta, sav, xpt; None: as the input's where that can be written.
    preset, accept
        Rules that the table is held to, and whether to release although a check of them fails.
    allow
        Columns that a person has looked at and lets stand, of linked tables as ``TABLE.COLUMN``.
    seed
        None when you publish: a secret one is drawn.
    account, limit
        Whether a synthesis is charged to the account beside the file, and the epsilon that may ever be spent, set by
        the first run (None: 10).
    sample
        For a trial: run on so many rows, drawn at random. What a trial makes is never written elsewhere.
    register
        Hold the release against earlier ones of the same people; may have ``despite``, the reason to release all the
        same, and ``same_groups_as``, the release whose groups are kept. None: no register is asked.
    """
    return {
        "opened": opened.slim().to_dict(),
        "schema": dict(schema),
        "recipe": dict(recipe),
        "format": format,
        "preset": preset,
        "accept": accept,
        "allow": list(allow),
        "seed": seed,
        "account": account,
        "limit": limit,
        "sample": sample,
        "register": None if register is None else dict(register),
    }


def to_measure(opened: Opened, replay: str | Path, measures: Sequence[str]) -> dict[str, Any]:
    """The words of a job that asks everybody where a release was measured on a sample.

    `replay` is its replay file, `measures` are what was sampled (`shoal.risk.assessment.NAMES`).
    """
    return {"opened": opened.slim().to_dict(), "replay": str(replay), "measures": list(measures)}


def to_compare(
    opened: Opened,
    schema: Words,
    recipes: Sequence[Words] | None = None,
    *,
    also: Sequence[Words] = (),
    time_limit: float = 120.0,
    risk_limit: float = 0.05,
    workers: int | None = None,
    seed: int | None = None,
    store: str = "",
) -> dict[str, Any]:
    """The words of a job that compares recipes (None: the default ones for schema and table) and some others `also`.

    Finished recipes are kept in a folder of the workspace that `store` names, and are not run again.
    """
    return {
        "opened": opened.slim().to_dict(),
        "schema": dict(schema),
        "recipes": None if recipes is None else [dict(recipe) for recipe in recipes],
        "also": [dict(recipe) for recipe in also],
        "time_limit": time_limit,
        "risk_limit": risk_limit,
        "workers": workers,
        "seed": seed,
        "store": store,
    }
