"""Whether a charge could be made now: a real write, at most one a second, within the deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from shoal.ledger import Ledger, LedgerError
from shoal.ledger.records import Balance
from shoal.service.deadline import Bounded

__all__ = ["Pulse"]

_SECONDS = 1.0


class Pulse:
    """What the operator's routes ask the ledger; whoever asks within a second gets what was found."""

    def __init__(self, ledger: Ledger, bounded: Bounded) -> None:
        self._ledger, self._bounded = ledger, bounded
        self._found: dict[str, tuple[float, Any]] = {}
        self._asking = asyncio.Lock()

    async def check(self) -> None:
        """Nothing, or a LedgerError."""
        found = await self._ask("write", lambda: self._ledger.ping())
        if isinstance(found, LedgerError):
            raise found

    async def balances(self) -> list[Balance]:
        """Every account; none where the ledger does not answer."""
        found = await self._ask("balances", lambda: self._ledger.balances())
        return [] if isinstance(found, LedgerError) else list(found)

    async def _ask(self, what: str, question: Callable[[], Any]) -> Any:
        async with self._asking:
            at, found = self._found.get(what, (0.0, None))
            if time.monotonic() - at < _SECONDS:
                return found
            try:
                found = await self._bounded.call(question)
            except LedgerError as error:
                found = error
            self._found[what] = (time.monotonic(), found)
            return found
