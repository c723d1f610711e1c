"""Who asks, and how often: API keys, the rate of each client, and wrong keys from each address.

A key that was found is trusted for a short while (two seconds) without asking the database again, so a revocation
reaches free models within that time; a charged query looks at the key again inside its transaction, where a revocation
holds at once.

Nobody guesses 256 bits, but trying costs the database a reading and the log a line, so each address has an allowance of
wrong keys. Where it is used up, keys unknown to this process wait (429); a key that has worked here before is checked
against the hash that was kept and passes as ever. So one machine behind a shared proxy can't shut its neighbours out.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Hashable
from ipaddress import IPv6Address, ip_address

from shoal.ledger import Key, Keys, Ledger
from shoal.ledger.keys import read_token
from shoal.service.problems import Problem
from shoal.service.settings import Settings

__all__ = ["Guard", "Rate", "place_of"]

_MOST_KEYS = 10_000
_MOST_BUCKETS = 10_000
_WRONG_KEYS = "Too many wrong keys came from this address. A key that has worked here before is not held up."


class Rate:
    """A bucket of tokens for each caller: `rate` a second, at most `burst` at once; in this process.

    Only the callers seen last are remembered, 10,000 of them, so that no crowd of addresses fills the memory.

    Examples
    --------
    >>> rate = Rate(rate=1.0, burst=2.0)
    >>> [rate.wait(7, at=100.0) for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, *, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def wait(self, caller: Hashable, *, at: float) -> float:
        """Seconds to wait; 0 where the request may pass, which takes a token."""
        seconds = self.due(caller, at=at)
        if not seconds:
            self.take(caller, at=at)
        return seconds

    def due(self, caller: Hashable, *, at: float) -> float:
        """Seconds until there is a token; takes none."""
        return max(0.0, 1 - self._tokens(caller, at)) / self._rate if self._rate else 0.0

    def take(self, caller: Hashable, *, at: float) -> None:
        """Take a token, also one that is not there yet: several may have looked at once."""
        if self._rate:
            self._buckets[caller] = (max(self._tokens(caller, at) - 1, -self._burst), at)
            self._buckets.move_to_end(caller)
        if len(self._buckets) > _MOST_BUCKETS:
            self._buckets.popitem(last=False)

    def _tokens(self, caller: Hashable, at: float) -> float:
        tokens, last = self._buckets.get(caller, (self._burst, at))
        return min(self._burst, tokens + (at - last) * self._rate)


class Guard:
    """Turns an Authorization header into a key in force, or a problem."""

    def __init__(self, ledger: Ledger, settings: Settings) -> None:
        self._keys = Keys(ledger)
        self._seconds = settings.key_seconds
        self._rate = Rate(rate=settings.rate, burst=settings.burst)
        self._failures = Rate(rate=settings.wrong_keys, burst=settings.wrong_keys_burst)
        self._known: OrderedDict[str, tuple[float, Key]] = OrderedDict()

    async def admit(self, header: str | None, address: str = "") -> Key:
        """The key that asks; 401 without one, 429 where its client asks too often or its address guesses."""
        scheme, _, token = (header or "").partition(" ")
        key = await self._find(token.strip(), address) if scheme.lower() == "bearer" else None
        if key is None:
            raise Problem("unauthorized")
        _pause(self._rate.wait(key.client, at=time.monotonic()))
        return key

    async def _find(self, token: str, address: str) -> Key | None:
        number, secret = read_token(token) or ("", "")
        until, known = self._known.get(number, (0.0, None))
        if known is None or not known.opened_by(secret):
            return await self._try(token, address, worth_asking=bool(number) and known is None)
        return known if time.monotonic() < until else await self._look_up(token, number)

    async def _try(self, token: str, address: str, *, worth_asking: bool) -> Key | None:
        """A key that this process has not seen at work: looked up while its address has some allowance left."""
        place = place_of(address)
        _pause(self._failures.due(place, at=time.monotonic()), _WRONG_KEYS)
        found = await self._look_up(token, "") if worth_asking else None
        if found is None:
            self._failures.take(place, at=time.monotonic())
        return found

    async def _look_up(self, token: str, number: str) -> Key | None:
        found = await asyncio.to_thread(self._keys.find, token)
        if found is None:
            self._known.pop(number, None)  # revoked meanwhile
        else:
            self._remember(found)
        return found

    def _remember(self, key: Key) -> None:
        self._known[key.id] = (time.monotonic() + self._seconds, key)
        self._known.move_to_end(key.id)
        if len(self._known) > _MOST_KEYS:
            self._known.popitem(last=False)


def place_of(address: str) -> str:
    """The address, or for IPv6 its network: whoever has one such address has 2⁶⁴.

    Examples
    --------
    >>> place_of("192.0.2.7"), place_of("2001:db8:1:2:3:4:5:6")
    ('192.0.2.7', '2001:db8:1:2::')
    """
    try:
        found = ip_address(address)
    except ValueError:
        return address[:100]
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        return str(IPv6Address(int(found) >> 64 << 64))
    return str(found)


def _pause(seconds: float, detail: str = "") -> None:
    if seconds:
        raise Problem("rate-limited", detail, headers={"Retry-After": str(math.ceil(seconds))})
