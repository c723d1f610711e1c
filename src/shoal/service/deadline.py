"""Calls to the database that end in time, whatever the database does.

A server that is stopped or cut off keeps its clients waiting for ever, and no limit on its own side helps. So each call
runs in a thread and is waited for up to the deadline. Then its connection is cut, which frees the thread, and the
caller gets a `LedgerError`: 503, and nothing was answered. What was charged stays charged, and the same query sent
again is not charged twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from shoal.ledger import Ledger, LedgerError

__all__ = ["Bounded", "overdue"]

Value = TypeVar("Value")


def overdue() -> LedgerError:
    """The error of a call that did not end in time."""
    return LedgerError("ledger", "the database must answer in time")


class Bounded:
    """Readings of the ledger in threads of their own, each within `seconds`."""

    def __init__(self, ledger: Ledger, seconds: float) -> None:
        self._ledger, self._seconds = ledger, seconds
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="reading")

    async def call(self, function: Callable[[], Value]) -> Value:
        """What the function gives, or a LedgerError once the time is up."""
        future = asyncio.get_running_loop().run_in_executor(self._threads, function)
        done, _ = await asyncio.wait([future], timeout=self._seconds)
        if not done:
            self._ledger.cut()
            future.add_done_callback(lambda late: late.cancelled() or late.exception())  # nobody waits for it any more
            raise overdue()
        return future.result()

    def close(self) -> None:
        """Wait for nothing."""
        self._threads.shutdown(wait=False, cancel_futures=True)
