"""Around every request: a number, limits on size, one line in the log, the counters, headers that keep browsers strict.

A plain query for a score is answered from here, before the framework finds a route for it: that takes as long as the
answer.

A line says when, which route, which status, how long, which client and model, and what was charged. It never holds a
feature value, a body, a query string, a key, or another library's message, which may quote one of them.
"""

from __future__ import annotations

import itertools
import json
import logging
import re
import secrets
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from itertools import chain
from typing import Any

from starlette.datastructures import MutableHeaders

from shoal.ledger import LedgerError
from shoal.ledger.chain import now
from shoal.service.errors import Problem, ledger_down, problem_response
from shoal.service.metrics import Metrics
from shoal.service.query import Asked, Message, Receive
from shoal.service.tracing import Traces

__all__ = ["Frame", "logger"]

Send = Callable[[Message], Awaitable[None]]

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})
_MOST_HEADERS = 16_384  # bytes; a key and an idempotency key need some hundred
_GIVEN = re.compile(rb"[A-Za-z0-9._-]{8,64}")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_SCORE = "/v1/models/{name}/score"
_BEFORE, _AFTER = _SCORE.split("{name}")
_SCORE_HEADERS = (
    (b"content-type", b"application/json"),
    *((name.lower().encode(), value.encode()) for name, value in _HEADERS.items()),
)


def logger() -> logging.Logger:
    """The log: one JSON object a line on standard error."""
    log = logging.getLogger("shoal.service")
    if not log.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        log.addHandler(handler)
        log.setLevel(logging.INFO)
        log.propagate = False
    return log


class Frame:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: Any,
        *,
        metrics: Metrics,
        max_body: int,
        log: bool,
        traces: Traces | None = None,
        score: Callable[[Asked, str], Awaitable[bytes]] | None = None,
    ) -> None:
        self._app, self._metrics, self._max_body, self._traces = app, metrics, max_body, traces or Traces()
        self._log, self._score = logger() if log else None, score
        self._start, self._count = secrets.token_hex(5), itertools.count()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Handle one request, or pass a start-up message on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(reversed(scope["headers"]))  # of two of one name, the first counts
        number = headers.get(b"x-request-id")
        given = number.decode() if number and _GIVEN.fullmatch(number) else f"{self._start}{next(self._count):08x}"
        notes = scope["notes"] = {"id": given, "status": 0}
        begun = time.perf_counter()
        try:
            with self._traces.request(scope, notes):
                await self._handle(Asked(scope, receive, headers), send, notes)
        finally:
            self._close(scope, notes, time.perf_counter() - begun)

    async def _handle(self, asked: Asked, send: Send, notes: dict[str, Any]) -> None:
        scope, problem = asked.scope, None
        try:
            if sum(map(len, chain.from_iterable(scope["headers"]))) > _MOST_HEADERS:
                raise Problem("headers-too-large")
            if _declared_length(asked) > self._max_body:
                raise Problem("too-large")
            model = _scored(scope) if self._score is not None else None
            if model is None:
                await self._app(scope, _measured(asked.receive, self._max_body), _noting(send, notes))
            else:
                await self._answer(asked, send, model)
        except Problem as found:
            problem = found
        except LedgerError:
            problem = ledger_down()
        except Exception as error:
            notes["fault"] = _place(error)
            problem = None if notes["status"] else Problem("internal")
        if problem is not None:
            await problem_response(problem, notes["id"])(scope, asked.receive, _noting(send, notes))

    async def _answer(self, asked: Asked, send: Send, model: str) -> None:
        """The reply to a plain query, in the two messages that it takes."""
        assert self._score is not None
        asked.scope["template"] = _SCORE
        body = await self._score(asked, model)
        notes = asked.scope["notes"]
        notes["status"] = 200
        number = (b"x-request-id", notes["id"].encode())
        headers = [(b"content-length", str(len(body)).encode()), number, *_SCORE_HEADERS]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _close(self, scope: Message, notes: dict[str, Any], seconds: float) -> None:
        route = str(scope.get("template") or getattr(scope.get("route"), "path", "none"))
        method = scope["method"] if scope["method"] in _METHODS else "other"
        self._metrics.request(route, method, notes["status"], seconds)
        if self._log is not None:
            words = {"at": now(), "method": method, "route": route, "ms": round(seconds * 1000, 2), **notes}
            self._log.log(logging.ERROR if "fault" in notes else logging.INFO, "%s", json.dumps(words))


def _scored(scope: Message) -> str | None:
    """The model of which a plain query asks a score; none for every other request."""
    path = scope["path"].removeprefix(scope.get("root_path", ""))  # beneath another application
    if scope["method"] != "POST" or not (path.startswith(_BEFORE) and path.endswith(_AFTER)):
        return None
    name = path[len(_BEFORE) : -len(_AFTER)]
    return name if name and "/" not in name else None


def _noting(send: Send, notes: dict[str, Any]) -> Send:
    async def noting(message: Message) -> None:
        if message["type"] == "http.response.start":
            notes["status"] = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = notes["id"]
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return noting


def _measured(receive: Receive, most: int) -> Receive:
    """Count what arrives, as a length may be left out or be a lie."""
    total = 0

    async def measured() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > most:
            raise Problem("too-large")
        return message

    return measured


def _declared_length(asked: Asked) -> int:
    length = asked.header("content-length") or ""
    return int(length) if length.isascii() and length.isdigit() else 0


def _place(error: Exception) -> str:
    """Where it happened and of which type; never what it says."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1] if frames else None
    return f"{type(error).__name__} in {last.name}:{last.lineno}" if last else type(error).__name__
