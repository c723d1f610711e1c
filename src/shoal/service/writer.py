"""One writer a process: the orders that wait while a transaction commits go into the next one together.

A commit waits for the disk. With 64 clients waiting, one commit carries them all, and every
reply still leaves after its own charge is on the disk (group commit). Nobody waits beyond the deadline: see
`shoal.service.deadline`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from shoal.ledger import Ledger, LedgerError
from shoal.ledger.records import Order, Outcome
from shoal.service.deadline import overdue

__all__ = ["Writer"]

_BATCH = 256
_WAITING = 8192

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
        return (await self.settle_all([order]))[0]

    async def settle_all(self, orders: Sequence[Order]) -> list[Outcome]:
        """The outcomes of some orders, which go into the queue one after another."""
        if len(self._waiting) + len(orders) > _WAITING:
            raise LedgerError("ledger", "the writer's queue must not be full")
        loop = asyncio.get_running_loop()
        self._start(loop)
        pending: list[Pending] = [(order, loop.create_future()) for order in orders]
        self._waiting += pending
        self._some.set()
        late = loop.call_later(self._seconds, self._give_up, [future for _, future in pending])
        try:
            return [await future for _, future in pending]
        finally:
            late.cancel()

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
        loop = asyncio.get_running_loop()
        while True:
            await self._some.wait()
            batch, self._waiting = self._waiting[:_BATCH], self._waiting[_BATCH:]
            if not self._waiting:
                self._some.clear()
            batch = [(order, future) for order, future in batch if not future.done()]  # not those who gave up
            if batch:
                self._seen(len(batch))
                await self._settle(loop, batch)

    async def _settle(self, loop: asyncio.AbstractEventLoop, batch: list[Pending]) -> None:
        try:
            outcomes = await loop.run_in_executor(self._thread, self._ledger.settle, [order for order, _ in batch])
        except Exception as error:
            for _, future in batch:
                if not future.done():
                    future.set_exception(_told(error))
            return
        for (_, future), outcome in zip(batch, outcomes, strict=True):
            if not future.done():  # the client may have gone; its charge stands
                future.set_result(outcome)


def _told(error: Exception) -> LedgerError:
    if isinstance(error, LedgerError):
        return error
    return LedgerError("ledger", "the database must answer", got=type(error).__name__)
