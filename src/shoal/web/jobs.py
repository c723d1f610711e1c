"""Jobs in the background, each in a child process of its own.

A job is a folder in the workspace: ``request.json`` (what is asked for), ``job.json`` (how it stands, written by the
child as it goes) and ``result.json``. The child runs in a process group of its own, so that it can be stopped whole at
any moment, and ends by itself when the workbench does. What a stopped job had written so far is removed.

Two jobs run at a time; others wait their turn. Files are looked at in a lane of their own, so that a person who opens
one doesn't wait for a long release. A child that has counted waits for the next job: after each change of a column's
role another count is asked for, and starting a child takes longer than most counts.
"""

from __future__ import annotations

import itertools
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from shoal.errors import FileError, ParameterError, ShoalError
from shoal.processes import Child, interpreter
from shoal.progress import spoken
from shoal.web.error_text import DISK_FULL, Failure, explain, is_disk_full, out_of_disk
from shoal.web.job import Job, Kind, forget_read, read_job, write_job, write_request
from shoal.web.workspace import Workspace

__all__ = ["Jobs", "spawn_child"]

AT_ONCE = 2
TO_SETTLE = 10.0  # seconds for the last records to be written
LONGEST_LOOK = 3600.0  # seconds

_QUICK = ("open", "look")
_LOOK = "look"
_RECORD = {"job.json", "request.json"}
_FAULT = "fault.txt"  # why a job failed; one that was stopped has nothing to explain


def spawn_child() -> Child:
    """A child that loads the libraries and waits for a line with the folder of its job; it answers each look."""
    return Child.spawn(interpreter("shoal.web.job_process"), answers=True)


class Jobs:
    """The jobs of a workspace.

    Parameters
    ----------
    workspace
        Where they work; closing it stops them.
    at_once
        How many run at the same time, in each of the two lanes (a look at files, and the rest).
    warm
        Whether to keep a child ready that has loaded the libraries already, so that a job begins at once.
    spawn
        Starts a child.

    Examples
    --------
    >>> from shoal.web.jobs import Jobs
    >>> from shoal.web.workspace import Workspace
    >>> with Workspace.create() as workspace:
    ...     jobs = Jobs(workspace, warm=False)
    ...     job = jobs.wait(jobs.start("open", {"path": "/nowhere/people.csv"}))
    >>> job.state, job.error.kind
    ('failed', 'input')
    """

    def __init__(
        self,
        workspace: Workspace,
        *,
        at_once: int = AT_ONCE,
        warm: bool = True,
        spawn: Callable[[], Child] = spawn_child,
    ) -> None:
        self._workspace, self._at_once, self._warm, self._spawn = workspace, at_once, warm, spawn
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._numbers = itertools.count(1)
        self._jobs: dict[str, Job] = {}  # every job as this process last knew it
        self._queue: list[str] = []
        self._children: dict[str, Child] = {}
        self._spares = [spawn()] if warm else []
        self._closed = False
        workspace.before_close(self.close)

    def start(self, kind: Kind, words: Mapping[str, Any], *, after: float = 0.0) -> str:
        """Ask for a job; gives its id at once. See `shoal.web.job` for the words of each kind.

        It waits `after` seconds before it takes its place in the queue, and can be removed meanwhile at no cost.
        """
        if kind not in get_args(Kind):
            raise ParameterError("job", f"kind must be one of {', '.join(get_args(Kind))}", got=repr(kind)[:40])
        with self._lock:
            new = f"{next(self._numbers):04d}-{secrets.token_hex(4)}"
            self._jobs[new] = self._written(new, kind, words)
            if not after:
                self._line_up(new)
        if after:
            timer = threading.Timer(after, self._line_up, (new,))
            timer.daemon = True
            timer.start()
        return new

    def _line_up(self, id: str) -> None:
        with self._lock:
            if id in self._jobs and not self._jobs[id].is_over:
                self._queue.append(id)
                self._begin()

    def get(self, id: str) -> Job:
        """The job as it stands; one small file is read at most."""
        job = self._jobs.get(id)
        if job is None:
            raise ParameterError(
                "job", "must belong to this workbench", got=_quoted(id), hint="It may have been removed."
            )
        if job.is_over or id not in self._children:
            return job
        with suppress(OSError, ValueError):  # the record on disk is the newer one while the child runs
            return read_job(job.folder)
        return job

    def all(self) -> tuple[Job, ...]:
        """Every job, oldest first."""
        return tuple(self.get(known) for known in list(self._jobs))

    def wait(self, id: str, seconds: float | None = None) -> Job:
        """Wait until a job is over (or `seconds` have passed); not for the page's own thread."""
        with self._settled:
            self._settled.wait_for(lambda: id not in self._jobs or self._jobs[id].is_over, timeout=seconds)
        return self.get(id)

    def cancel(self, id: str) -> Job:
        """Stop a job at any moment; one that is over stays as it is. Returns at once, the rest is swept behind it."""
        with self._lock:
            job = self.get(id)
            if job.is_over:
                return job
            stopped = replace(job, state="cancelled", step="", step_share=None, ended=time.time())
            self._jobs[id] = stopped
            if id in self._children:
                self._children[id].stop()  # its watcher finishes it
            else:
                self._queue = [waiting for waiting in self._queue if waiting != id]
                self._finish(stopped)
            self._settled.notify_all()
        return stopped

    def remove(self, id: str, *also: Path) -> None:
        """Stop a job if need be, and remove it with all it has written, `also` elsewhere; once is enough.

        A child that is being stopped may write until it ends: what it writes by then goes as well.
        """
        with self._lock:
            if id not in self._jobs:
                return
            self.cancel(id)
            child = self._children.get(id)
            folders = (self._jobs.pop(id).folder, *also)
        _remove(folders)
        forget_read(id)
        if child is not None:
            threading.Thread(target=_remove_after, args=(child, folders), daemon=True, name=f"removal {id}").start()

    def clear(self) -> None:
        """Remove every job."""
        for known in list(self._jobs):
            self.remove(known)

    def close(self) -> None:
        """Stop every job and the spare children."""
        with self._lock:
            self._closed = True
            for known in list(self._jobs):
                self.cancel(known)
            running, spares = list(self._children.values()), self._spares
            self._spares = []
        for child in running:
            child.stop()
            child.wait()
        for child in spares:
            child.close()
        with self._settled:
            self._settled.wait_for(lambda: not self._children, timeout=TO_SETTLE)  # their watchers write a last time

    # Below: what happens behind the scenes; all of it under the lock.

    def _written(self, new: str, kind: Kind, words: Mapping[str, Any]) -> Job:
        """A new job on disk, whole or not at all."""
        job = Job(id=new, kind=kind, folder=self._workspace.path / "jobs" / new, step="waiting", made=time.time())
        try:
            self._workspace.jobs.joinpath(new).mkdir(mode=0o700)
            write_request(job.folder, kind, words)
            write_job(job)
        except (OSError, ShoalError) as error:
            shutil.rmtree(job.folder, ignore_errors=True)
            if is_disk_full(error):
                hint = f"Free space under {self._workspace.path}, then try again."
                raise FileError("disk", "is full", hint=hint) from None
            raise
        return job

    def _begin(self) -> None:
        """Start as many waiting jobs as there is room for in their lanes."""
        for waiting in list(self._queue):
            if not self._closed and self._is_free(self._jobs[waiting].kind in _QUICK):
                self._queue.remove(waiting)
                self._run(waiting)

    def _is_free(self, quick: bool) -> bool:
        busy = [self._jobs[running].kind for running in self._children if running in self._jobs]
        return sum((kind in _QUICK) == quick for kind in busy) < self._at_once

    def _run(self, id: str) -> None:
        job = replace(self._jobs[id], state="running", step="starting", started=time.time())
        try:
            child = self._ready_child()
        except OSError as error:
            self._finish(replace(job, state="failed", step="", ended=time.time(), error=explain(error)))
            return
        self._jobs[id], self._children[id] = job, child
        with suppress(ShoalError):
            write_job(job)
        child.tell(str(job.folder))
        threading.Thread(target=self._watch, args=(id, job.kind, child), daemon=True, name=f"job {id}").start()
        if self._warm and not self._spares and job.kind != _LOOK:  # that of a look comes back
            with suppress(OSError):
                self._spares.append(self._spawn())

    def _ready_child(self) -> Child:
        """One that has loaded the libraries, if there is such."""
        while self._spares:
            child = self._spares.pop()
            if child.is_alive:
                return child
            child.close()
        return self._spawn()

    def _watch(self, id: str, kind: Kind, child: Child) -> None:
        said, late = child.reply(LONGEST_LOOK) if kind == _LOOK else (None, False)
        answered = said is not None
        code = 0 if answered else _ended(child)
        with self._lock:
            self._children.pop(id, None)  # from here on nobody who stops the job reaches the child
            if answered:
                self._keep(id, child)
            if id in self._jobs:
                self._finish(self._outcome(self._jobs[id], code, late=late))
            self._begin()
            self._settled.notify_all()

    def _keep(self, id: str, child: Child) -> None:
        """Let a child wait for another job, unless it was stopped or enough of them wait already."""
        stopped = self._closed or id not in self._jobs or self._jobs[id].is_over
        if self._warm and not stopped and len(self._spares) < self._at_once:
            self._spares.append(child)
        else:
            child.close()

    def _outcome(self, job: Job, code: int, *, late: bool = False) -> Job:
        """How a job ended whose child is gone; `late`: because it took too long."""
        if job.state == "cancelled":
            return job
        with suppress(OSError, ValueError):
            written = read_job(job.folder)
            if written.is_over:
                return written
        return replace(
            job,
            state="failed",
            step="",
            step_share=None,
            ended=time.time(),
            error=_OVERDUE if late else self._silent(code),
        )

    def _silent(self, code: int) -> Failure:
        """Why a child ended without a word."""
        if code == DISK_FULL:
            return out_of_disk(self._workspace.path)
        cause = f"by signal {-code}" if code < 0 else f"with code {code}"
        hint = "Memory may have run out: close other programs, or use fewer rows or columns, and run it again."
        return Failure(message=f"the job was killed ({cause}). Nothing was released. {hint}")

    def _finish(self, job: Job) -> None:
        self._jobs[job.id] = job
        if job.state != "done":
            _sweep(job.folder, _RECORD if job.state == "cancelled" else {*_RECORD, _FAULT})
        with suppress(ShoalError):
            write_job(job)


_OVERDUE = Failure(
    message=f"counting took longer than {spoken(LONGEST_LOOK)} and was stopped. Give fewer columns the role quasi, or "
    "go on without the count: a release measures the same."
)


def _ended(child: Child) -> int:
    """Wait until a child has ended; its exit code."""
    code = child.wait()
    child.close()
    return code


def _remove(folders: Iterable[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_after(child: Child, folders: Iterable[Path]) -> None:
    child.wait()
    _remove(folders)


def _sweep(folder: Path, kept: set[str]) -> None:
    """Remove what a job that failed or was stopped had written so far."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name in kept:
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _quoted(id: str) -> str:
    return repr(re.sub(r"[^\w-]", "", id)[:40])
