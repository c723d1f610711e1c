"""Calls to the ledger that end in time, whatever its database does; charges go to it in batches.

A server that is stopped or cut off keeps its clients waiting for ever, and no limit on its own side helps. So each call
runs in a thread and is waited for up to the deadline. Then its connection is cut, which frees the thread, and the
caller gets a `LedgerError`: 503, and nothing was answered. What was charged stays charged, and the same query sent
again is not charged twice.

There is one writer a process: the orders that wait while a transaction commits go into the next one together. A commit
waits for the disk. With 64 clients waiting, one commit carries them all, and every reply still leaves after its own
charge is on the disk (group commit).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from shoal.ledger import Ledger, LedgerError
from shoal.ledger.records import Balance, Order, Outcome

__all__ = ["Bounded", "Pulse", "Writer", "overdue"]

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


_BATCH = 256
_WAITING = 8192
_FEW, _MOMENT, _LONGEST = 3, 0.00025, 0.008

Pending = tuple[Order, "asyncio.Future[Outcome]"]


class Writer:
    """Hands orders to the ledger in batches, from one thread."""

    def __init__(self, ledger: Ledger, seen: Callable[[int], None] = lambda size: None, seconds: float = 5.0) -> None:
        self._ledger, self._seen, self._seconds = ledger, seen, seconds
        self._waiting: list[Pending] = []
        self._some = asyncio.Event()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="ledger")
        self._task: asyncio.Task[None] | None = None

    async def settle(self, order: Order) -> Outcome:
        """The outcome of one order, once it is durable; a LedgerError where the database does not answer in time."""
        (future,), late = self._wait_for([order])
        try:
            return await future
        finally:
            late.cancel()

    async def settle_all(self, orders: Sequence[Order]) -> list[Outcome]:
        """The outcomes of some orders, which go into the queue one after another."""
        futures, late = self._wait_for(orders)
        try:
            return [await future for future in futures]
        finally:
            late.cancel()

    def _wait_for(self, orders: Sequence[Order]) -> tuple[list[asyncio.Future[Outcome]], asyncio.TimerHandle]:
        """Put orders into the queue: their futures, and what ends the wait when the time is up."""
        if len(self._waiting) + len(orders) > _WAITING:
            raise LedgerError("ledger", "the writer's queue must not be full")
        loop = asyncio.get_running_loop()
        self._start(loop)
        futures: list[asyncio.Future[Outcome]] = [loop.create_future() for _ in orders]
        self._waiting += zip(orders, futures, strict=True)
        self._some.set()
        return futures, loop.call_later(self._seconds, self._give_up, futures)

    def _give_up(self, futures: list[asyncio.Future[Outcome]]) -> None:
        """The time is up: free the thread, and tell those who wait."""
        self._ledger.cut()
        for future in futures:
            if not future.done():
                future.set_exception(overdue())
        for future in futures:
            future.exception()  # one of them is heard; the others need no ear

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the task run on the loop of the caller; a loop that ended took its task along."""
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._some = asyncio.Event()
            self._task = loop.create_task(self._run())

    async def close(self) -> None:
        """Finish what waits, within the deadline, then stop."""
        try:
            async with asyncio.timeout(self._seconds):
                while self._waiting:
                    await asyncio.sleep(0.01)
        except TimeoutError:
            self._ledger.cut()
        if self._task is not None:
            self._task.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run(self) -> None:
        loop, size, begun = asyncio.get_running_loop(), 0, 0.0
        while True:
            await self._some.wait()
            await asyncio.sleep(begun + _apart(size) - loop.time())
            begun = loop.time()
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            if not self._waiting:
                self._some.clear()
            batch = [(order, future) for order, future in batch if not future.done()]  # not those who gave up
            size = len(batch)
            if batch:
                self._seen(len(batch))
                await self._settle(loop, batch)

    async def _settle(self, loop: asyncio.AbstractEventLoop, batch: list[Pending]) -> None:
        try:
            outcomes = await loop.run_in_executor(self._thread, self._ledger.settle, [order for order, _ in batch])
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(_as_ledger_error(error))
            return
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if not future.done():  # the client may have gone; its charge stands
                future.set_result(outcome)


def _apart(size: int) -> float:
    """Seconds between the beginnings of two transactions, after one with `size` orders.

    A transaction costs as much as some ten orders, whatever it carries. So where many come at once, each waits a moment
    for more; who is alone waits for nobody.
    """
    return min(_MOMENT * size, _LONGEST) if size > _FEW else 0.0


def _as_ledger_error(error: Exception) -> LedgerError:
    if isinstance(error, LedgerError):
        return error
    return LedgerError("ledger", "the database must answer", got=type(error).__name__)


_SECONDS = 1.0


class Pulse:
    """What the operator's routes ask the ledger: whether a charge could be made now (a real write), and balances.

    Whoever asks within a second gets what was found.
    """

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

    async def last_entry(self) -> str | None:
        """When the last entry was made; none where there is none, or the ledger does not answer."""
        found = await self._ask("last entry", lambda: self._ledger.last_entry())
        return None if isinstance(found, LedgerError) else found

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
