"""A client of the service: scores, batches and budgets, with retries that are never charged twice.

It needs nothing but Python: one connection that is kept, requests within a time, tries again with a pause. Threads may
share a client; they take turns.

What is tried again: a connection that broke, a reply that did not come in time, 503 (the ledger does not answer, or too
many connections) and 429 of the rate limit. What isn't: every other problem, a used-up budget above all. A query sent
again is known by its values and its idempotency key; it is charged at most once and answered the same.

`AsyncClient` is the same in threads, one connection for each query under way.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from shoal.errors import ParameterError, ShoalError

__all__ = ["AsyncClient", "BatchScores", "Client", "Score", "ServiceError"]

_LONGEST_PAUSE = 30.0


class ServiceError(ShoalError):
    """A problem that the service told, or that it could not be reached.

    Parameters
    ----------
    kind
        The last word of the problem's type, such as ``budget-exhausted``; ``unreachable`` where no reply came.
    problem
        The problem document, empty where no reply came.
    """

    exit_code = 4

    def __init__(self, kind: str, title: str, problem: Mapping[str, Any]) -> None:
        self.kind, self.problem = kind, dict(problem)
        super().__init__("service", title, hint=str(problem.get("detail", "")))

    def __reduce__(self) -> tuple[object, ...]:
        return ServiceError, (self.kind, self.rule, self.problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The answer to a query: the risk, what it cost, whether it was given before, and what was changed on the way."""

    model: str
    score: float
    epsilon_charged: str
    cached: bool
    notes: tuple[str, ...] = ()
    probabilities: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchScores:
    """The answers to a batch, in its order, and what they cost together."""

    model: str
    scores: tuple[float, ...]
    epsilon_charged: str
    cached: int
    notes: tuple[str, ...] = ()
    probabilities: tuple[Mapping[str, float], ...] | None = None


class Client:
    """A service of risk scores at `url`.

    Parameters
    ----------
    url
        Such as ``https://scores.example``.
    key
        The API key, ``shoal_...``.
    timeout
        Seconds for one try.
    tries
        How often a query is sent at most.
    pause
        Seconds before the second try; doubled each time, at most 30, or as long as the service asks for.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8000", "shoal_0123456789ab_" + "a" * 43)
    >>> client.url
    'http://127.0.0.1:8000'
    """

    def __init__(self, url: str, key: str, *, timeout: float = 10.0, tries: int = 4, pause: float = 0.25) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError("Client", "url must begin with http:// or https://", got=repr(url)[:60])
        if tries < 1:
            raise ParameterError("Client", "tries must be at least 1", got=repr(tries))
        self.url, self._parts, self._key = url.rstrip("/"), parts, key
        self._timeout, self._tries, self._pause = timeout, tries, pause
        self._line: http.client.HTTPConnection | None = None
        self._sleep: Callable[[float], None] = time.sleep
        self._turn = threading.Lock()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def close(self) -> None:
        """Give the connection back."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def score(self, model: str, features: Mapping[str, Any], *, idempotency_key: str | None = None) -> Score:
        """The risk of one person.

        Parameters
        ----------
        features
            Field name to value; see `card`.
        idempotency_key
            Yours, to be told (422) when it is used for another query; None: one is made.
        """
        token = idempotency_key or secrets.token_urlsafe(16)
        words = self._ask("POST", f"/v1/models/{quote(model, safe='')}/score", {"features": dict(features)}, token)
        return Score(**{**words, "notes": tuple(words["notes"])})

    def score_many(self, model: str, rows: Sequence[Mapping[str, Any]]) -> BatchScores:
        """The risks of several people, charged together or not at all."""
        body = {"rows": [dict(row) for row in rows]}
        words = self._ask("POST", f"/v1/models/{quote(model, safe='')}/scores", body)
        shares = tuple(words["probabilities"]) if "probabilities" in words else None
        lists = {"scores": tuple(words["scores"]), "notes": tuple(words["notes"]), "probabilities": shares}
        return BatchScores(**{**words, **lists})

    def explain(self, model: str, features: Mapping[str, Any]) -> dict[str, Any]:
        """What each value contributed to a score, in log-odds; free, for certified models."""
        return self._ask("POST", f"/v1/models/{quote(model, safe='')}/explain", {"features": dict(features)})

    def models(self) -> list[dict[str, Any]]:
        """The models that the key may ask."""
        return list(self._ask("GET", "/v1/models")["models"])

    def card(self, model: str) -> dict[str, Any]:
        """Fields, claims, plain words and an example of a model."""
        return self._ask("GET", f"/v1/models/{quote(model, safe='')}")

    def budget(self) -> list[dict[str, Any]]:
        """Limit, spent, reserved and left of the accounts that the key spends from; amounts are exact decimal text."""
        return list(self._ask("GET", "/v1/budget")["accounts"])

    # ---- one question, as often as needed

    def _ask(self, method: str, path: str, body: Any = None, token: str | None = None) -> dict[str, Any]:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"Authorization": f"Bearer {self._key}", "Accept": "application/json"}
        headers |= {} if content is None else {"Content-Type": "application/json"}
        headers |= {} if token is None else {"Idempotency-Key": token}
        pause = self._pause
        for left in range(self._tries - 1, -1, -1):
            try:
                return self._once(method, path, content, headers)
            except _TryAgain as again:
                if not left:
                    raise again.error from None
                self._sleep(min(max(pause, again.seconds), _LONGEST_PAUSE))
                pause *= 2
        raise AssertionError("unreachable")

    def _once(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> dict[str, Any]:
        with self._turn:  # one question at a time on the one connection
            try:
                line = self._connected()
                line.request(method, f"{self._parts.path.rstrip('/')}{path}", content, headers)
                reply = line.getresponse()
                text = reply.read()
            except (OSError, http.client.HTTPException) as error:
                self.close()
                rule = f"must be within reach ({type(error).__name__})"
                raise _TryAgain(ServiceError("unreachable", rule, {}), 0.0) from None
        return _read(reply.status, text, reply.headers.get("Retry-After"))

    def _connected(self) -> http.client.HTTPConnection:
        if self._line is None:
            secure = self._parts.scheme == "https"
            maker = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            self._line = maker(self._parts.hostname or "", self._parts.port, timeout=self._timeout)
        return self._line


class _TryAgain(Exception):  # noqa: N818 (it is no error yet)
    def __init__(self, error: ServiceError, seconds: float) -> None:
        self.error, self.seconds = error, seconds


def _read(status: int, text: bytes, wait: str | None) -> dict[str, Any]:
    try:
        words = json.loads(text)
    except ValueError:
        words = None
    if not isinstance(words, dict):
        words = {"type": "unreadable", "title": f"a reply of status {status} could not be read"}
    if status == 200:
        return words
    kind = str(words.get("type", "")).rpartition("/")[2]
    error = ServiceError(kind, str(words.get("title", f"status {status}")), words)
    if status == 503 or kind == "rate-limited":
        raise _TryAgain(error, float(wait) if wait and wait.isdigit() else 0.0)
    raise error


Value = TypeVar("Value")


class AsyncClient:
    """A service of risk scores at `url`, for asynchronous programs; parameters as in `Client`.

    At most `connections` queries are under way at once, each on a connection of its own that is kept.

    Examples
    --------
    >>> AsyncClient("http://127.0.0.1:8000", "shoal_0123456789ab_" + "a" * 43)
    AsyncClient('http://127.0.0.1:8000')
    """

    def __init__(self, url: str, key: str, *, connections: int = 8, **options: Any) -> None:
        self._make: Callable[[], Client] = lambda: Client(url, key, **options)
        self.url = self._make().url
        self._free: list[Client] = []
        self._gate = asyncio.Semaphore(connections)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self.url!r})"

    def close(self) -> None:
        """Give the connections back."""
        for client in self._free:
            client.close()
        self._free = []

    async def score(self, model: str, features: Mapping[str, Any], *, idempotency_key: str | None = None) -> Score:
        """The risk of one person."""
        return await self._run(lambda client: client.score(model, features, idempotency_key=idempotency_key))

    async def score_many(self, model: str, rows: Sequence[Mapping[str, Any]]) -> BatchScores:
        """The risks of several people, charged together or not at all."""
        return await self._run(lambda client: client.score_many(model, rows))

    async def explain(self, model: str, features: Mapping[str, Any]) -> dict[str, Any]:
        """What each value contributed to a score."""
        return await self._run(lambda client: client.explain(model, features))

    async def models(self) -> list[dict[str, Any]]:
        """The models that the key may ask."""
        return await self._run(lambda client: client.models())

    async def card(self, model: str) -> dict[str, Any]:
        """Fields, claims, plain words and an example of a model."""
        return await self._run(lambda client: client.card(model))

    async def budget(self) -> list[dict[str, Any]]:
        """Limit, spent, reserved and left of the accounts that the key spends from."""
        return await self._run(lambda client: client.budget())

    async def _run(self, question: Callable[[Client], Value]) -> Value:
        async with self._gate:
            client = self._free.pop() if self._free else self._make()
            asked = asyncio.ensure_future(asyncio.to_thread(question, client))
            asked.add_done_callback(lambda done: self._end(client, done))
            return await asyncio.shield(asked)  # who gives up leaves the thread with its connection

    def _end(self, client: Client, done: asyncio.Future[Any]) -> None:
        """Keep the connection of a question that was answered; whatever else happened, it is not used again."""
        if done.cancelled() or done.exception() is not None:
            client.close()
        else:
            self._free.append(client)
