"""One job as it stands: a small record, on disk as ``job.json``, and its larger result beside it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from shoal.files.atomic import write_text
from shoal.web.error_text import Failure

__all__ = ["Job", "Kind", "State", "read_job", "write_job"]

Kind = Literal["open", "look", "release", "compare"]
State = Literal["queued", "running", "done", "failed", "cancelled"]

_RECORD, _REQUEST, _RESULT = "job.json", "request.json", "result.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it stands.

    Parameters
    ----------
    id, kind, folder
        Its name, what it does (open, look, release, compare), and where it works.
    state
        queued, running, done, failed or cancelled; the last three are final.
    step, step_share
        What it is doing, and how much of all is done before it (0 to 1; None: unknown).
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
    write_text(job.folder / _RECORD, json.dumps(job.to_dict()))


def write_request(folder: Path, kind: Kind, words: Mapping[str, Any]) -> None:
    """Write what is asked for."""
    write_text(folder / _REQUEST, json.dumps({"kind": kind, "words": words}))


def write_result(folder: Path, result: Mapping[str, Any]) -> None:
    """Write what came out."""
    write_text(folder / _RESULT, json.dumps(result))


def forget_read() -> None:
    """Let go of what was read of requests and results, which hold the first rows of files."""
    _read.cache_clear()


def _loaded(file: Path) -> dict[str, Any] | None:
    try:
        about = file.stat()
        return _read(file, (about.st_mtime_ns, about.st_ino, about.st_size))  # two writings can have one time
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=32)
def _read(file: Path, stamp: tuple[int, int, int]) -> dict[str, Any]:
    words: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return words
