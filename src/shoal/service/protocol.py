"""HTTP with limits that hold before a request is whole: time for the headers, number of connections, one error shape.

A connection that sends half of its headers and waits is closed in time; where there are too many connections, the one
that has waited longest with an unfinished request makes room, and if none does, the new one is told to come back. What
is no HTTP gets a problem document like every other error.
"""

from __future__ import annotations

import json
import secrets
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from shoal.service.errors import Problem
from shoal.service.settings import Settings

__all__ = ["protocol_with"]


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
        body = json.dumps(problem.document(number)).encode()
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
