"""Who asks, and how often: API keys, the rate of each client, and wrong keys from each address.

A key that was found is trusted for a short while (two seconds) without asking the database again, so a revocation
reaches free models within that time; a charged query looks at the key again inside its transaction, where a revocation
holds at once.

Keys that are not known here are looked up together, all those that wait in one reading, so a flood of wrong ones costs
the database a reading every tenth of a second and no more. Nobody is turned away before the look-up: a valid key is
never held up by what others send, whatever their address. Nobody guesses 256 bits, but wrong keys fill the log, so each
address has an allowance of them; where it is used up a wrong key gets 429 instead of 401.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress
from ipaddress import IPv6Address, ip_address

from shoal.ledger import Key, Keys, Ledger, LedgerError
from shoal.ledger.keys import read_token
from shoal.service.errors import Problem
from shoal.service.ledger_calls import Bounded, overdue
from shoal.service.settings import Settings

__all__ = ["Guard", "Rate", "place_of"]

_MOST_KEYS = 10_000
_MOST_BUCKETS = 10_000
_LONGEST = 100
_MOST_READ = 500
_APART = 0.1
_MINUTE = 60.0
_NEVER: tuple[float, None] = (0.0, None)
_WRONG_KEYS = "Too many wrong keys came from this address. A valid key is not held up."


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

    def __init__(self, ledger: Ledger, settings: Settings, bounded: Bounded | None = None) -> None:
        self._keys = KeyReader(Keys(ledger), bounded or Bounded(ledger, settings.deadline))
        self._seconds = settings.key_seconds
        self._rate = Rate(rate=settings.rate, burst=settings.burst or max(2 * settings.rate, 1.0))
        self._failures = Rate(rate=settings.wrong_keys, burst=settings.wrong_keys_burst)
        self._known: OrderedDict[str, tuple[float, Key]] = OrderedDict()
        self._opened: dict[str, tuple[float, Key | None]] = {}
        self._limited = settings.rate > 0

    async def admit(self, header: str | None, address: str = "") -> Key:
        """The key that asks; 401 without one, 429 where its client asks too often or its address guesses."""
        until, key = self._opened.get(header or "", _NEVER)
        if key is None or time.monotonic() >= until or not key.in_force:
            key = await self._opened_by(header or "", address)
        if self._limited:
            _pause(self._rate.wait(key.client, at=time.monotonic()))
        return key

    async def _opened_by(self, header: str, address: str) -> Key:
        """The key in force that the header opens, remembered with it as long as the key is."""
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise Problem("unauthorized")
        number, secret = read_token(token.strip()) or ("", "")
        key = await self._find(number) if number else None
        if key is None or not key.opened_by(secret) or not key.in_force:
            raise self._refusal(place_of(address))
        if len(self._opened) >= _MOST_KEYS:
            self._opened.clear()
        if len(header) <= _LONGEST:  # one key has many spellings with spaces, and none is worth the memory
            self._opened[header] = (self._known[number][0], key)
        return key

    async def _find(self, number: str) -> Key | None:
        until, known = self._known.get(number, (0.0, None))
        if known is not None and time.monotonic() < until:
            return known
        found = await self._keys.find(number)
        if found is None:
            return None
        self._known[number] = (time.monotonic() + self._seconds, found)
        self._known.move_to_end(number)
        if len(self._known) > _MOST_KEYS:
            self._known.popitem(last=False)
        return found

    def _refusal(self, place: str) -> Problem:
        at = time.monotonic()
        seconds = self._failures.due(place, at=at)
        self._failures.take(place, at=at)
        if not seconds:
            return Problem("unauthorized")
        return Problem("rate-limited", _WRONG_KEYS, headers={"Retry-After": str(math.ceil(seconds))})


class KeyReader:
    """Looks keys up, all those that wait in one reading; a moment apart where some were not found."""

    def __init__(self, keys: Keys, bounded: Bounded) -> None:
        self._keys, self._bounded = keys, bounded
        self._waiting: dict[str, asyncio.Future[Key | None]] = {}
        self._task: asyncio.Task[None] | None = None
        self._touched: dict[str, float] = {}

    async def find(self, number: str) -> Key | None:
        """The key of that id, revoked or not; a LedgerError where the database does not answer in time."""
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._waiting = {}
            self._task = loop.create_task(self._read())
        future = self._waiting.setdefault(number, loop.create_future())
        return await asyncio.shield(future)

    async def _read(self) -> None:
        await asyncio.sleep(0)  # whoever asked first is in the list by now
        while self._waiting:
            batch = dict(list(self._waiting.items())[:_MOST_READ])
            for number in batch:
                del self._waiting[number]
            missing = await self._answer(batch)
            if missing and self._waiting:
                await asyncio.sleep(_APART)

    async def _answer(self, batch: dict[str, asyncio.Future[Key | None]]) -> bool:
        """Tell those who wait what was found; whether some were not."""
        try:
            found = await self._bounded.call(lambda: self._look(list(batch)))
        except Exception as error:
            for future in batch.values():
                future.set_exception(error if isinstance(error, LedgerError) else overdue())
                future.exception()
            return True
        for number, future in batch.items():
            future.set_result(found.get(number))
        return len(found) < len(batch)

    def _look(self, numbers: list[str]) -> dict[str, Key]:
        found = self._keys.by_ids(numbers)
        at = time.monotonic()
        stale = [n for n, key in found.items() if key.in_force and at - self._touched.get(n, -_MINUTE) >= _MINUTE]
        if stale:
            with suppress(LedgerError):  # to note the use of a key must not hold up its use
                self._keys.touch(stale)
            self._touched |= dict.fromkeys(stale, at)
        return found


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
