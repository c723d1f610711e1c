"""Child processes under supervision: started in a group of their own, asked, timed, stopped whole.

A child is an interpreter of its own (no fork, no need for a ``__main__`` guard), so a crash or a kill takes nothing
else with it. It is told what to do by lines on its standard input, and may answer by lines of JSON. Standard input
stays open as long as the parent lives, however that ends; when it closes, `follow_parent` in the child stops it and
all it has started.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

__all__ = ["ONE_THREAD", "Child", "follow_parent", "interpreter"]

GRACE = 0.5  # seconds to tidy up before it is killed
ONE_THREAD = dict.fromkeys(
    ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1"
)
"""Environment in which every library computes with one thread, so that results don't depend on how many there are."""

_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


def interpreter(module: str, *words: str) -> list[str]:
    """The command that calls `main` of a module in this interpreter, which finds modules where this process does."""
    find = "import json, os, sys; sys.path[:] = json.loads(sys.argv.pop())"
    call = f"from {module} import main; os._exit(main())"  # libraries' threads may take their time to end
    return [sys.executable, "-P", "-c", f"{find}; {call}", *words, json.dumps(sys.path)]


class Child:
    """A process in a group of its own; make one with `spawn`.

    Examples
    --------
    >>> import sys
    >>> from shoal.processes import Child
    >>> child = Child.spawn([sys.executable, "-c", "input()"])
    >>> child.is_alive
    True
    >>> child.stop()
    >>> child.wait() != 0
    True
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._reaping = threading.RLock()

    @classmethod
    def spawn(
        cls, command: Sequence[str], *, environment: Mapping[str, str] | None = None, answers: bool = False
    ) -> Child:
        """Start one, with `environment` beside the parent's own; `answers`: its standard output is read."""
        return cls(
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if answers else subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        )

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        with self._reaping:
            return self._process.poll() is None

    @property
    def code(self) -> int | None:
        """The exit code, or minus the signal that ended it; None while it runs."""
        return self._process.returncode

    def tell(self, line: str) -> None:
        """Send it a line; one that has died hears nothing, and its watcher will say so."""
        stream = self._process.stdin
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.write(line + "\n")
                stream.flush()

    def reply(self, limit: float) -> tuple[dict[str, Any] | None, bool]:
        """Its next line, as JSON, and whether it was killed for taking longer than `limit` seconds."""
        late = threading.Event()
        watch = threading.Timer(limit, self._overrun, args=(late,))
        watch.daemon = True
        watch.start()
        try:
            line = self._process.stdout.readline() if self._process.stdout is not None else ""
            return (json.loads(line) if line.endswith("\n") else None), late.is_set()
        except (OSError, ValueError):
            return None, late.is_set()
        finally:
            watch.cancel()

    def wait(self) -> int:
        """Wait for its end, and end what it may have left running; the exit code, or minus the signal that ended it."""
        self._await_exit()
        with self._reaping:
            self._signal(_KILL)
            code = self._process.wait()
            _shut(self._process.stdin)
            return code

    def close(self) -> None:
        """Kill it if need be, wait, and close the line from it; for the thread that reads it."""
        self.kill()
        self.wait()
        _shut(self._process.stdout)

    def stop(self) -> None:
        """End it and all it started: asked first, killed half a second later. Returns at once."""
        with self._reaping:
            self._signal(signal.SIGTERM)
        timer = threading.Timer(GRACE, self.kill)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # the interpreter is on its way out and starts no threads
            self.kill()

    def kill(self) -> None:
        """End it and all it started, at once; any thread may call it."""
        with self._reaping:
            self._signal(_KILL)

    def _overrun(self, late: threading.Event) -> None:
        late.set()
        self.kill()

    def _await_exit(self) -> None:
        """Wait without letting go of the process's number, which its group is known by."""
        if hasattr(os, "waitid") and self._process.returncode is None:
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)

    def _signal(self, number: int) -> None:
        if self._process.returncode is not None:
            return
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.terminate()


def _shut(line: IO[str] | None) -> None:
    with suppress(OSError):
        if line is not None:
            line.close()


def follow_parent(hear: Callable[[str], None] = lambda line: None, last: Callable[[], None] = lambda: None) -> None:
    """In a child: pass on the lines of the parent; when they end it is gone: do a `last` thing, and stop everything."""

    def listen() -> None:
        for line in sys.stdin:
            hear(line)
        last()
        if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
            os.killpg(os.getpid(), signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=listen, daemon=True, name="follows its parent").start()
