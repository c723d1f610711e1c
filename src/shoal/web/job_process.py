"""What a child does: read its job, do it, and write how it goes.

Run by `shoal.web.jobs`; the first line on standard input is the job's folder. Exit codes are those
of the command line, and 28 where the disk is so full that not even that could be written.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.processes import follow_parent
from shoal.progress import Pace, listening
from shoal.web.error_text import DISK_FULL, Failure, explain, is_disk_full, without_paths
from shoal.web.job import Job, read_job, write_job, write_result

if TYPE_CHECKING:
    from shoal.release.forecast import Forecast

__all__ = ["Progress", "do", "main"]

_CODES = {"parameter": 2, "guarantee": 3, "input": 4, "internal": 1}


def main() -> int:
    """Wait for a job, do it, and give the exit code."""
    signal.signal(signal.SIGTERM, _leave)
    _load()
    folder = sys.stdin.readline().strip()
    if not folder:
        return 0  # nobody needs it any more
    follow_parent()
    return do(Path(folder))


def do(folder: Path) -> int:
    """Do the job of `folder`."""
    job = replace(read_job(folder), state="running", started=time.time())
    request: dict[str, Any] = {}
    try:
        request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
        progress = Progress(job)
        with _temporary(folder / "temporary"), listening(progress.heard):
            result = _deed(request["kind"])(request["words"], folder, progress)
        write_result(folder, result)
        write_job(progress.ended(state="done", step_share=1.0))
    except Exception as error:
        return _fail(job, request.get("words", {}), error)
    return 0


class Progress:
    """Writes each step of a job as it begins, and now and then how far it is.

    Steps weigh what a forecast expects of each (`expect`); before there is one, as they do as a rule.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shoal.web.job import Job, read_job
    >>> from shoal.web.job_process import Progress
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     progress = Progress(Job(id="0001-ab", kind="release", folder=pathlib.Path(folder), state="running"))
    ...     progress("grouping")
    ...     print(f"{read_job(pathlib.Path(folder)).step_share:.2f}")
    0.10
    """

    def __init__(self, job: Job) -> None:
        self._job, self._pace, self._written = job, Pace(_USUAL), 0.0

    def __call__(self, step: str, share: float | None = None) -> None:
        """A step begins; `share` says how much of the whole job is done, where that is known."""
        self._pace.begin(step)
        self._write(self._pace.share if share is None else share)

    def expect(self, forecast: Forecast) -> None:
        """Weigh the steps to come by a forecast."""
        self._pace = Pace(forecast.seconds)

    def heard(self, share: float) -> None:
        """The present step has come so far; a job that counts its parts itself has no other step."""
        self._pace.advanced(share)
        if time.monotonic() - self._written > _BEAT:
            self._write(self._pace.share if self._pace.knows_step else share)

    def _write(self, share: float) -> None:
        self._written = time.monotonic()
        self._job = replace(self._job, step=self._pace.step, step_share=share)
        write_job(self._job)

    def ended(self, **parts: Any) -> Job:
        """The job at its end."""
        return replace(self._job, step="", ended=time.time(), **parts)


_BEAT = 0.5  # seconds between two shares of a step that are written

# How long each step takes as a rule, in percent of the whole.
_USUAL = {
    "reading": 5,
    "checking the table": 5,
    "grouping": 25,
    "masking": 15,
    "measuring risk": 20,
    "measuring utility": 15,
    "writing": 5,
    "verifying": 5,
    "reporting": 5,
}


@contextmanager
def _temporary(folder: Path) -> Iterator[None]:
    """Whatever libraries write for the time being goes to the job's own folder, and with it."""
    folder.mkdir(mode=0o700)
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)


Deed = Callable[[Mapping[str, Any], Path, Progress], Mapping[str, Any]]


def _deed(kind: str) -> Deed:
    from shoal.web import actions

    known: dict[str, Deed] = {
        "open": actions.open_table,
        "look": actions.look,
        "release": actions.release,
        "compare": actions.compare,
    }
    return known[kind]


def _fail(job: Job, words: Mapping[str, Any], error: Exception) -> int:
    """Say why the job failed; where even that can't be written, the exit code says it."""
    path = Path(str(words.get("path") or words.get("opened", {}).get("path") or "-"))
    failure: Failure = without_paths(explain(error, job.folder), path)
    try:
        write_job(replace(job, state="failed", step="", step_share=None, ended=time.time(), error=failure))
    except Exception as last:
        return DISK_FULL if is_disk_full(last) else 1
    return DISK_FULL if is_disk_full(error) else _CODES[failure.kind]


def _load() -> None:
    """Load what every job needs, and as long as nobody waits, what a release needs; leave the processor to the page."""
    if hasattr(os, "nice"):
        os.nice(2)
    for name in ("shoal.compliance.scan", "shoal.schema.infer", "shoal.release", "numba"):
        if _is_asked():
            return
        with suppress(ImportError):
            import_module(name)


def _is_asked() -> bool:
    """Whether the line with the job is there already."""
    return bool(select.select([sys.stdin], [], [], 0)[0]) if sys.platform != "win32" else True


def _leave(signum: int, frame: object) -> None:
    sys.exit(128 + signum)  # so that folders in the making are removed
