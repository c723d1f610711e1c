"""Who asks, and how often: API keys and the rate of each client.

A key that was found is trusted for a short while (two seconds) without asking the database again, so a revocation
reaches free models within that time; a charged query looks at the key again inside its transaction, where a revocation
holds at once.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict

from shoal.ledger import Key, Keys, Ledger
from shoal.ledger.keys import read_token
from shoal.service.problems import Problem
from shoal.service.settings import Settings

__all__ = ["Guard", "Rate"]

_MOST_KEYS = 10_000


class Rate:
    """A bucket of tokens for each client: `rate` a second, at most `burst` at once; in this process.

    Examples
    --------
    >>> rate = Rate(rate=1.0, burst=2.0)
    >>> [rate.wait(7, at=100.0) for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, *, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: dict[int, tuple[float, float]] = {}

    def wait(self, client: int, *, at: float) -> float:
        """Seconds to wait; 0 where the request may pass, which takes a token."""
        if not self._rate:
            return 0.0
        tokens, last = self._buckets.get(client, (self._burst, at))
        tokens = min(self._burst, tokens + (at - last) * self._rate)
        passes = tokens >= 1
        self._buckets[client] = (tokens - passes, at)
        return 0.0 if passes else (1 - tokens) / self._rate


class Guard:
    """Turns an Authorization header into a key in force, or a problem."""

    def __init__(self, ledger: Ledger, settings: Settings) -> None:
        self._keys = Keys(ledger)
        self._seconds = settings.key_seconds
        self._rate = Rate(rate=settings.rate, burst=settings.burst)
        self._known: OrderedDict[str, tuple[float, Key]] = OrderedDict()

    async def admit(self, header: str | None) -> Key:
        """The key that asks; 401 without one, 429 where its client asks too often."""
        scheme, _, token = (header or "").partition(" ")
        key = await self._find(token.strip()) if scheme.lower() == "bearer" else None
        if key is None:
            raise Problem("unauthorized")
        seconds = self._rate.wait(key.client, at=time.monotonic())
        if seconds:
            raise Problem("rate-limited", headers={"Retry-After": str(math.ceil(seconds))})
        return key

    async def _find(self, token: str) -> Key | None:
        parts = read_token(token)
        if parts is None:
            return None
        until, key = self._known.get(parts[0], (0.0, None))
        if key is not None and time.monotonic() < until:
            return key if key.opened_by(parts[1]) else None
        found = await asyncio.to_thread(self._keys.find, token)
        if found is not None:
            self._remember(found)
        return found

    def _remember(self, key: Key) -> None:
        self._known[key.id] = (time.monotonic() + self._seconds, key)
        self._known.move_to_end(key.id)
        if len(self._known) > _MOST_KEYS:
            self._known.popitem(last=False)
