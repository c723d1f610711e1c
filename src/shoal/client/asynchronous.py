"""The client for asynchronous programs: the ordinary one in threads, one connection for each query under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from shoal.client.client import BatchScores, Client, Score

__all__ = ["AsyncClient"]

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
            try:
                return await asyncio.to_thread(question, client)
            finally:
                self._free.append(client)
