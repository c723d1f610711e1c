"""A child process that does one job: told which by a line on its standard input, and gone when that closes.

The line can come late: a child that waits has loaded the libraries by then. Standard input stays open as long as the
workbench lives, however it ends; when it closes, the child stops itself and its own children.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

__all__ = ["Child"]

GRACE = 0.5  # seconds to tidy up before it is killed

_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)


class Child:
    """A process in a group of its own; make one with `spawn`.

    Examples
    --------
    >>> from shoal.web.process import Child
    >>> child = Child.spawn()
    >>> child.is_alive
    True
    >>> child.stop()
    >>> child.wait() != 0
    True
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._reaping = threading.RLock()

    @classmethod
    def spawn(cls) -> Child:
        """Start one; it loads the libraries and waits for its line."""
        return cls(
            subprocess.Popen(
                [sys.executable, "-P", "-m", "shoal.web.job_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        with self._reaping:
            return self._process.poll() is None

    def give(self, folder: Path) -> None:
        """Tell it the folder of its job."""
        stream = self._process.stdin
        with suppress(OSError):  # it has died: its watcher will say so
            if stream is not None:
                stream.write(f"{folder}\n".encode())
                stream.flush()

    def wait(self) -> int:
        """Wait for its end, and end what it may have left running; the exit code, or minus the signal that ended it."""
        self._await_exit()
        with self._reaping:
            self._signal(_KILL)
            code = self._process.wait()
            if self._process.stdin is not None:
                with suppress(OSError):
                    self._process.stdin.close()
            return code

    def stop(self) -> None:
        """End it and all it started: asked first, killed half a second later. Returns at once."""
        with self._reaping:
            self._signal(signal.SIGTERM)
        timer = threading.Timer(GRACE, self._kill)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # the interpreter is on its way out and starts no threads
            self._kill()

    def _kill(self) -> None:
        with self._reaping:
            self._signal(_KILL)

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
