"""One worker process of `shoal serve`: told by its parent when to begin and when to stop, and gone when the parent is.

Run as ``python -m shoal.service.worker LISTENING CONTROL`` with two inherited descriptors. Over the control line the
worker says ``ready`` once it could answer, ``alive`` every second, and ``closed`` once it accepts no more; the parent
says ``go`` and ``stop``. The end of the line is the end of the parent, and means stop.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from typing import Any

import uvicorn

from shoal.service.app import from_environment
from shoal.service.protocol import protocol_with
from shoal.service.settings import Settings

__all__ = ["run"]

_MARGIN = 4.0  # seconds of the time for stopping that are left for the ledger to be closed


class WorkerServer(uvicorn.Server):
    """uvicorn's server, with a line to the parent."""

    def __init__(self, config: uvicorn.Config, line: socket.socket) -> None:
        super().__init__(config)
        self._line, self._said = line, 0.0
        line.setblocking(False)

    async def on_tick(self, counter: int) -> bool:
        """Say that we are alive, and hear whether to stop."""
        if time.monotonic() - self._said >= 1.0:
            self._said = time.monotonic()
            self._say(b"alive\n")
        if self._told_to_stop():
            self.should_exit = True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: Any = None) -> None:
        """Accept no more, say so, then let those under way finish."""
        for server in self.servers:
            server.close()
        self._say(b"closed\n")
        await super().shutdown(sockets)

    def _told_to_stop(self) -> bool:
        """Any word says so, and so does the end of the line."""
        try:
            self._line.recv(64)
            return True
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _say(self, word: bytes) -> None:
        try:
            self._line.send(word)
        except OSError:
            self.should_exit = True


def server_config(app: Any, settings: Settings) -> uvicorn.Config:
    """uvicorn under our limits; a forwarded address is believed from declared proxies only."""
    return uvicorn.Config(
        app,
        http=protocol_with(settings),
        ws="none",
        access_log=False,
        log_level="critical",
        server_header=False,
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=settings.proxies or "",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=max(int(settings.shutdown_seconds - _MARGIN), 1),
    )


def run(listening: int, control: int) -> None:
    """Serve until told to stop."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a reload is the parent's business
    settings = Settings.from_environment()
    line, sock = socket.socket(fileno=control), socket.socket(fileno=listening)
    app = from_environment()
    line.sendall(b"ready\n")
    if line.recv(3) != b"go\n":
        return
    WorkerServer(server_config(app, settings), line).run(sockets=[sock])


if __name__ == "__main__":
    try:
        run(int(sys.argv[1]), int(sys.argv[2]))
    finally:
        sys.stderr.flush()
        os._exit(0 if sys.exc_info()[0] is None else 1)  # a thread that waits for a dead database is not waited for
