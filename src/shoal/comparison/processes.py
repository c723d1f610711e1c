"""Worker processes with a time limit: each task has one worker to itself, and a worker that overruns is killed.

Workers are interpreters of their own (no fork, no need for a ``__main__`` guard), so a crash or a kill takes nothing
else with it. Every worker computes with one thread, so that results don't depend on how many there are.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Answer", "run_tasks"]

_TO_START = 300.0  # seconds for an interpreter to load everything, on a busy machine
_BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[2]); from shoal.comparison.worker import main; main()"
_ONE_THREAD = ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a task: the worker's words, or a state of its own; and how long it took."""

    place: int
    words: dict[str, Any]
    seconds: float


def run_tasks(job: Path, tasks: Sequence[dict[str, Any]], *, jobs: int, limit: float) -> Generator[Answer, None, None]:
    """Give each task's answer as it comes; leaving the loop, for whatever reason, kills the workers."""
    crew = _Crew(job=job, limit=limit)
    for i, task in enumerate(tasks):
        crew.waiting.put((i, task))
    hands = [threading.Thread(target=crew.work, daemon=True) for _ in range(min(jobs, len(tasks)))]
    for hand in hands:
        hand.start()
    try:
        for _ in tasks:
            yield crew.next()
    finally:
        crew.dismiss()
        for hand in hands:
            hand.join()


@dataclass(slots=True, kw_only=True)
class _Crew:
    job: Path
    limit: float
    waiting: queue.Queue[tuple[int, dict[str, Any]]] = field(default_factory=queue.Queue)
    answers: queue.Queue[Answer] = field(default_factory=queue.Queue)
    lock: threading.Lock = field(default_factory=threading.Lock)
    alive: set[_Worker] = field(default_factory=set)
    stopped: bool = False

    def next(self) -> Answer:
        """The next answer; waiting in short naps lets an interrupt through on every system."""
        while True:
            try:
                return self.answers.get(timeout=0.2)
            except queue.Empty:
                continue

    def work(self) -> None:
        """One hand: take tasks until there are none, with one worker as long as it lives."""
        worker: _Worker | None = None
        try:
            while (task := self._take()) is not None:
                worker = worker if worker is not None and worker.lives else self._hire()
                self.answers.put(_unhired(task[0]) if worker is None else worker.ask(*task, self.limit))
        finally:
            if worker is not None:
                worker.close()

    def dismiss(self) -> None:
        """Kill every worker and hire no more."""
        with self.lock:
            self.stopped = True
            workers = list(self.alive)
        for worker in workers:
            worker.end()

    def _take(self) -> tuple[int, dict[str, Any]] | None:
        try:
            return None if self.stopped else self.waiting.get_nowait()
        except queue.Empty:
            return None

    def _hire(self) -> _Worker | None:
        """A new worker; None where no process can be started, or none is wanted any more."""
        with self.lock:
            if self.stopped:
                return None
            try:
                worker = _Worker(self.job)
            except OSError:
                return None
            self.alive = {one for one in self.alive if one.lives} | {worker}
        return worker


class _Worker:
    """One worker process."""

    def __init__(self, job: Path) -> None:
        self.process = subprocess.Popen(
            worker_command(job),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            env=_environment(),
        )
        self.is_ready = False

    @property
    def lives(self) -> bool:
        """Whether it can take another task."""
        return self.process.poll() is None

    def ask(self, place: int, task: dict[str, Any], limit: float) -> Answer:
        """Have one task done within `limit` seconds."""
        if not self.is_ready:
            self.is_ready = self._reply(_TO_START)[0] is not None
        start = time.perf_counter()
        words, late = self._exchange(task, limit) if self.is_ready else (None, False)
        seconds = time.perf_counter() - start
        if words is not None:
            return Answer(place=place, words=words, seconds=seconds)
        self.close()
        gone = _gone(late, limit, self.process.returncode) if self.is_ready else _failed("could not start")
        return Answer(place=place, words=gone, seconds=limit if late else seconds)

    def end(self) -> None:
        """Kill the process and wait for its end; any thread may call it."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End, and close the line to it; for the thread that talks to it."""
        self.end()
        for line in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if line is not None:
                    line.close()

    def _stop(self, late: threading.Event) -> None:
        late.set()
        self.process.kill()

    def _exchange(self, task: dict[str, Any], limit: float) -> tuple[dict[str, Any] | None, bool]:
        stdin = self.process.stdin
        try:
            if stdin is not None:
                stdin.write(json.dumps(task) + "\n")
                stdin.flush()
        except (OSError, ValueError):
            return None, False
        return self._reply(limit)

    def _reply(self, limit: float) -> tuple[dict[str, Any] | None, bool]:
        """The next line of the worker, and whether it was killed for being late."""
        late = threading.Event()
        watch = threading.Timer(limit, self._stop, args=(late,))
        watch.daemon = True
        watch.start()
        try:
            line = self.process.stdout.readline() if self.process.stdout is not None else ""
            return (json.loads(line) if line.endswith("\n") else None), late.is_set()
        except (OSError, ValueError):
            return None, late.is_set()
        finally:
            watch.cancel()


def worker_command(job: Path) -> list[str]:
    """How a worker is started: this interpreter, finding modules where this process finds them."""
    return [sys.executable, "-P", "-c", _BOOT, str(job), json.dumps(sys.path)]


def _unhired(place: int) -> Answer:
    return Answer(place=place, words=_failed("could not be made"), seconds=0.0)


def _gone(late: bool, limit: float, code: int | None) -> dict[str, Any]:
    if late:
        return {"state": "out of time", "reason": f"It took longer than {limit:g} s and was stopped."}
    return _failed("was killed; memory may not have sufficed" if code in (-9, 137) else "ended without an answer")


def _failed(what: str) -> dict[str, Any]:
    return {"state": "failed", "reason": f"The worker process {what}."}


def _environment() -> dict[str, str]:
    """The parent's, with one thread for each library."""
    return {**os.environ, **dict.fromkeys(_ONE_THREAD, "1")}
