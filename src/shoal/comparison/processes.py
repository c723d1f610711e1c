"""Worker processes with a time limit: each task has one worker to itself, and a worker that overruns is killed.

Every worker computes with one thread, so that results don't depend on how many there are. How a process is started,
timed and killed: `shoal.processes`.
"""

from __future__ import annotations

import json
import queue
import threading
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shoal.processes import ONE_THREAD, Child, interpreter

__all__ = ["Answer", "run_tasks"]

_TO_START = 300.0  # seconds for an interpreter to load everything, on a busy machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a task: the worker's words, or a state of its own; and how long it took."""

    place: int
    words: dict[str, Any]
    seconds: float


def run_tasks(job: Path, tasks: Sequence[dict[str, Any]], *, jobs: int, limit: float) -> Generator[Answer, None, None]:
    """Give each task's answer as it comes; leaving the loop, for whatever reason, kills the workers."""
    pool = _Pool(job=job, limit=limit)
    for i, task in enumerate(tasks):
        pool.waiting.put((i, task))
    hands = [threading.Thread(target=pool.work, daemon=True) for _ in range(min(jobs, len(tasks)))]
    for hand in hands:
        hand.start()
    try:
        for _ in tasks:
            yield pool.next()
    finally:
        pool.dismiss()
        for hand in hands:
            hand.join()


@dataclass(slots=True, kw_only=True)
class _Pool:
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
                worker = worker if worker is not None and worker.child.is_alive else self._hire()
                self.answers.put(_unhired(task[0]) if worker is None else worker.ask(*task, self.limit))
        finally:
            if worker is not None:
                worker.child.close()

    def dismiss(self) -> None:
        """Kill every worker and hire no more."""
        with self.lock:
            self.stopped = True
            workers = list(self.alive)
        for worker in workers:
            worker.child.kill()
            worker.child.wait()

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
            self.alive = {one for one in self.alive if one.child.is_alive} | {worker}
        return worker


class _Worker:
    """One worker process."""

    def __init__(self, job: Path) -> None:
        self.child = Child.spawn(worker_command(job), environment=ONE_THREAD, answers=True)
        self.is_ready = False

    def ask(self, place: int, task: dict[str, Any], limit: float) -> Answer:
        """Have one task done within `limit` seconds."""
        if not self.is_ready:
            self.is_ready = self.child.reply(_TO_START)[0] is not None
        start = time.perf_counter()
        words, late = self._exchange(task, limit) if self.is_ready else (None, False)
        seconds = time.perf_counter() - start
        if words is not None:
            return Answer(place=place, words=words, seconds=seconds)
        self.child.close()
        gone = _gone(late, limit, self.child.code) if self.is_ready else _failed("could not start")
        return Answer(place=place, words=gone, seconds=limit if late else seconds)

    def _exchange(self, task: dict[str, Any], limit: float) -> tuple[dict[str, Any] | None, bool]:
        self.child.tell(json.dumps(task))
        return self.child.reply(limit)


def worker_command(job: Path) -> list[str]:
    """How a worker is started."""
    return interpreter("shoal.comparison.worker", str(job))


def _unhired(place: int) -> Answer:
    return Answer(place=place, words=_failed("could not be made"), seconds=0.0)


def _gone(late: bool, limit: float, code: int | None) -> dict[str, Any]:
    if late:
        return {"state": "out of time", "reason": f"It took longer than {limit:g} s and was stopped."}
    return _failed("was killed; it may have run out of memory" if code in (-9, 137) else "ended without a result")


def _failed(what: str) -> dict[str, Any]:
    return {"state": "failed", "reason": f"The worker process {what}."}
