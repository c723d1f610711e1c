"""A signal that arrives while DuckDB runs a query: the query ends, and what the handler raised goes on.

DuckDB calls Python's handlers while it works, but then raises a RuntimeError of its own in place of what they raised,
and its other threads work on to the end of the query.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["interruptible"]


@contextmanager
def interruptible(interrupt: Callable[[], None]) -> Iterator[None]:
    """Run a query, which `interrupt` ends if a handler of SIGINT or SIGTERM raises; what it raised is raised here.

    Only the main thread gets signals: in others nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    raised: list[BaseException] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def handle(number: int, frame: FrameType | None) -> None:
        try:
            before[signal.Signals(number)](number, frame)  # type: ignore[operator, misc]
        except BaseException as error:
            raised.append(error)
            interrupt()
            restore()  # at once: a reader left in its middle is closed late, and a handler would keep it from that
            raise

    def restore() -> None:
        for number in handled:
            signal.signal(number, before[number])

    handled = [number for number, handler in before.items() if callable(handler)]
    for number in handled:
        signal.signal(number, handle)
    try:
        yield
    except BaseException:
        if not raised:
            raise
    finally:
        restore()
    if raised:
        raise raised[0]
