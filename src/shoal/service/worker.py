"""One worker process of `shoal serve`: told by its parent when to begin and when to stop, and gone when the parent is.

Run as ``python -m shoal.service.worker LISTENING CONTROL`` with two inherited descriptors. Over the control line the
worker says ``ready`` once it could answer, ``alive`` every second, and ``closed`` once it accepts no more; the parent
says ``go`` and ``stop``. The end of the line is the end of the parent, and means stop.

Its HTTP has limits that hold before a request is whole: time for the headers and number of connections. A connection
that sends half of its headers and waits is closed in time; where there are too many connections, the one that has
waited longest with an unfinished request makes room, and if none does, the new one is told to come back. What is no
HTTP gets a problem document like every other error.
"""

from __future__ import annotations

import gc
import os
import secrets
import signal
import socket
import sys
import time
from http import HTTPStatus
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shoal.service.app import from_environment
from shoal.service.errors import Problem
from shoal.service.settings import Settings

__all__ = ["protocol_with", "run"]


def protocol_with(settings: Settings) -> type[HttpToolsProtocol]:
    """The protocol under these limits."""

    class Limited(_Limited):
        header_seconds, max_connections = settings.header_seconds, settings.max_connections

    return Limited


class _Limited(HttpToolsProtocol):
    header_seconds: float
    max_connections: int

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._timer: Any = None
        self._since = self.loop.time()
        self._arm()
        if len(self.connections) > self.max_connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._timer is None and (self.cycle is None or self.cycle.response_complete):
            self._arm()  # the next request on this connection begins
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._disarm()
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        self._end("bad-request")

    def _arm(self) -> None:
        self._since = self.loop.time()
        self._timer = self.loop.call_later(self.header_seconds, self._end, "too-slow")

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _make_room(self) -> None:
        others = [c for c in self.connections if c is not self and getattr(c, "_timer", None) is not None]
        oldest: Any = min(others, key=lambda c: c._since, default=self)  # type: ignore[union-attr]
        oldest._end("busy")

    def _end(self, kind: str) -> None:
        """Say which problem it is, and close."""
        self._disarm()
        if self.transport.is_closing():
            return
        problem = Problem(kind)
        number = secrets.token_hex(8)
        body = problem.document(number).body
        headers = {
            "content-type": "application/problem+json",
            "content-length": str(len(body)),
            "x-request-id": number,
            "connection": "close",
            **({"retry-after": "2"} if problem.kind.status == 503 else {}),
        }
        status = HTTPStatus(problem.kind.status)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
        self.transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        self.transport.close()


_SWITCH = 0.0005  # seconds that the ledger's thread waits for its turn after each statement; Python's own is 5 ms
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
        timeout_graceful_shutdown=max(int(settings.shutdown - _MARGIN), 1),
    )


def run(listening: int, control: int) -> None:
    """Serve until told to stop."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a reload is the parent's business
    sys.setswitchinterval(_SWITCH)
    settings = Settings.from_environment()
    line, sock = socket.socket(fileno=control), socket.socket(fileno=listening)
    app = from_environment()
    gc.collect()
    gc.freeze()  # what lives as long as the worker is not looked through again, which would hold every reply up
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
