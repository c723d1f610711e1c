"""The parent of the workers: loads and pins the catalogue, starts them, replaces those that die, ends them in time.

- **One catalogue.** The parent reads the model files, holds them to what the ledger admitted, and copies them into a
  private folder; every worker loads those copies. A file that changes on the disk changes nothing until a reload.
- **Reload** (SIGHUP): the folder is read anew; if that fails, all stays as it is. New workers load the new catalogue
  and wait; then the old ones stop accepting, and only then the new ones begin. Meanwhile connections wait in the queue
  of the one listening socket: none is refused, and none is answered from the old catalogue after one from the new.
- **Death.** A worker that ends or says nothing for ten seconds is replaced. When the parent ends, however it ends, the
  workers' control lines end, and they stop.
- **The ledger** is opened and checked every hour while it is served, and what is found is told in the log.
- **Stop** (SIGTERM, SIGINT): those under way are finished; what is left after `shutdown` is killed.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from shoal.errors import ParameterError, ShoalError
from shoal.ledger.chain import now
from shoal.service.models import Catalogue
from shoal.service.settings import Settings

__all__ = ["Supervisor", "sweep"]

_PREFIX = "shoal-serve-"
_SILENT = 10.0
_START = 120.0
_TICK = 0.05


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    line: socket.socket
    begun: float
    heard: float
    words: set[str] = field(default_factory=set)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def listen(self) -> None:
        """Hear what the worker says."""
        with suppress(OSError):
            while said := self.line.recv(4096):
                self.words |= set(said.decode(errors="replace").split())
                self.heard = time.monotonic()

    def say(self, word: bytes) -> None:
        with suppress(OSError):
            self.line.send(word)

    def silent(self, at: float) -> bool:
        return at - self.heard > (_SILENT if "alive" in self.words else _START)


class Supervisor:
    """Keeps `workers` processes serving one catalogue; see the module."""

    def __init__(
        self,
        settings: Settings,
        *,
        host: str,
        port: int,
        workers: int,
        read: Callable[[], Catalogue],
        log: Any,
        inspect: Callable[[], str] | None = None,
    ) -> None:
        self._settings, self._read, self._n, self._log = settings, read, workers, log
        self._workers: list[_Worker] = []
        self._stop = self._reload = False
        self._failures = 0
        self._next_start = 0.0
        self._inspect, self._inspected = inspect, time.monotonic()
        sweep()
        self._folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._sock = _listening(host, port)
        self._pinned = self._pin(read())

    @property
    def port(self) -> int:
        """The port, also where any free one was asked for."""
        return int(self._sock.getsockname()[1])

    def run(self) -> int:
        """Serve until a signal; the exit code."""
        old = {number: signal.signal(number, self._on_signal) for number in _signals()}
        try:
            self._workers = self._started()
            if not self._workers:
                return 1
            self._say("serving", port=self.port, workers=self._n)
            while not self._stop:
                self._tick()
                time.sleep(_TICK)
            return 0
        finally:
            self._end(self._workers)
            self._sock.close()
            shutil.rmtree(self._folder, ignore_errors=True)
            for number, handler in old.items():
                signal.signal(number, handler)
            self._say("stopped")

    def _on_signal(self, number: int, _: Any) -> None:
        if number == getattr(signal, "SIGHUP", None):
            self._reload = True
        else:
            self._stop = True

    def _tick(self) -> None:
        if self._reload:
            self._reload = False
            self._change()
        at = time.monotonic()
        if self._inspect is not None and at - self._inspected >= self._settings.check_seconds:
            self._inspected = at
            threading.Thread(target=self._look_at_ledger, args=(self._inspect,), daemon=True).start()
        for worker in list(self._workers):
            worker.listen()
            if worker.alive and worker.silent(at):
                self._say("worker-silent", pid=worker.process.pid)
                worker.process.kill()
                worker.process.wait()
            if not worker.alive:
                self._replace(worker, at)

    def _replace(self, worker: _Worker, at: float) -> None:
        """Start another one, with a growing pause where they die at once."""
        if worker.line.fileno() >= 0:
            self._say("worker-died", pid=worker.process.pid, code=worker.process.returncode)
            worker.line.close()
            self._failures = self._failures + 1 if at - worker.begun < 5 else 0
            self._next_start = at + min(2.0**self._failures - 1, 8.0)
        if at >= self._next_start:
            new = self._launch(self._pinned)
            self._workers[self._workers.index(worker)] = new
            if self._wait([new], "ready"):
                new.say(b"go\n")

    def _look_at_ledger(self, inspect: Callable[[], str]) -> None:
        """Check the ledger while it is served: tampering is told in the log, and checkpoints are made in time."""
        try:
            self._say("ledger-checked", head=inspect())
        except Exception as error:  # a message of another library may quote what it read
            self._say("ledger-refused", error=str(error) if isinstance(error, ShoalError) else type(error).__name__)

    def _change(self) -> None:
        """Read the models anew and have new workers serve them; where that fails, go on as before."""
        try:
            pinned = self._pin(self._read())
        except Exception as error:  # a message of another library may quote what it read
            self._say("reload-refused", error=str(error) if isinstance(error, ShoalError) else type(error).__name__)
            return
        old, kept = self._workers, self._pinned
        self._pinned = pinned
        new = [self._launch(pinned) for _ in range(self._n)]
        if not self._wait(new, "ready"):
            self._pinned = kept
            self._end(new)
            self._say("reload-refused", error="the new workers did not start")
            return
        for worker in old:
            worker.say(b"stop\n")
        self._wait(old, "closed", seconds=_SILENT)
        for worker in new:
            worker.say(b"go\n")
        self._workers = new
        self._end(old)
        shutil.rmtree(kept, ignore_errors=True)
        self._say("reloaded")

    def _started(self) -> list[_Worker]:
        workers = [self._launch(self._pinned) for _ in range(self._n)]
        if not self._wait(workers, "ready"):
            self._end(workers)
            return []
        for worker in workers:
            worker.say(b"go\n")
        return workers

    def _wait(self, workers: list[_Worker], word: str, seconds: float = _START) -> bool:
        """Whether all of them said the word; false where one died, the time is up, or we are to stop."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self._stop:
            for worker in workers:
                worker.listen()
            if all(word in worker.words for worker in workers):
                return True
            if any(not worker.alive for worker in workers):
                return False
            time.sleep(_TICK)
        return False

    def _launch(self, pinned: Path) -> _Worker:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        environment = os.environ | replace(self._settings, models=str(pinned)).environment()
        if self._n > 1:
            environment["PROMETHEUS_MULTIPROC_DIR"] = str(self._metrics())
        command = [sys.executable, "-m", "shoal.service.worker", str(self._sock.fileno()), str(theirs.fileno())]
        handles = (self._sock.fileno(), theirs.fileno())
        process = subprocess.Popen(command, env=environment, pass_fds=handles, start_new_session=True)
        theirs.close()
        at = time.monotonic()
        return _Worker(process=process, line=ours, begun=at, heard=at)

    def _end(self, workers: list[_Worker]) -> None:
        """Ask them to stop, wait, kill what is left."""
        until = time.monotonic() + self._settings.shutdown
        for worker in workers:
            worker.say(b"stop\n")
        for worker in workers:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(until - time.monotonic(), 0.1))
            if worker.alive:
                self._say("worker-killed", pid=worker.process.pid)
                worker.process.kill()
                worker.process.wait()
            worker.line.close()

    def _pin(self, catalogue: Catalogue) -> Path:
        """Copies of the model files that no one else can change."""
        folder = self._folder / f"models-{secrets.token_hex(4)}"
        folder.mkdir(mode=0o700)
        for name, content in catalogue.files.items():
            (folder / f"{name}.json").write_bytes(content)
        for refused in catalogue.refused:
            self._say("model-refused", model=refused.name, error=refused.why)
        return folder

    def _metrics(self) -> Path:
        folder = self._folder / "metrics"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _say(self, event: str, **words: Any) -> None:
        self._log(json.dumps({"at": now(), "event": event, **words}))


def sweep() -> None:
    """Remove what earlier parents left behind that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        number = folder.name.removeprefix(_PREFIX).partition("-")[0]
        with suppress(OSError):
            if number.isdigit() and folder.stat().st_uid == os.getuid() and not _running(int(number)):
                shutil.rmtree(folder, ignore_errors=True)


def _running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        got = (error.strerror or "").lower()
        raise ParameterError("--port", "must be free, and the address local to this machine", got=got) from None
    sock.listen(2048)
    sock.set_inheritable(True)
    return sock


def _signals() -> list[int]:
    return [getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name)]
