"""A limit on how long a database may take: whoever waits is freed, and told how to wait longer.

A server that is asked to stop by itself may not do so (it hangs, or its network is gone), so the limit is kept here:
when it is over, `stop` breaks the connection off, and what the driver then complains of becomes one clear error.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shoal.errors import FileError

__all__ = ["DEFAULT", "hang_up", "limited"]

DEFAULT = 900.0
"""Seconds."""


@contextmanager
def limited(owner: str, seconds: float, stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` if what is done within takes longer than `seconds`, and raise a FileError of `owner`.

    Examples
    --------
    >>> import threading
    >>> late = threading.Event()
    >>> try:
    ...     with limited("clinic.sqlite", 0.01, late.set):
    ...         raise RuntimeError("interrupted" if late.wait(5) else "")
    ... except FileError as error:
    ...     error.rule
    'database must answer within 0.01 seconds'
    """
    over = threading.Event()

    def end() -> None:
        over.set()
        stop()

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    except Exception:
        if not over.is_set():
            raise
        hint = "Ask for fewer rows, try again later, or wait longer with --timeout; nothing was changed."
        raise FileError(owner, f"database must answer within {seconds:g} seconds", hint=hint) from None
    finally:
        timer.cancel()


def hang_up(connection: Any) -> None:
    """Break off a connection of psycopg, whatever its server does: whoever waits for an answer then fails."""
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as line:
            line.shutdown(socket.SHUT_RDWR)
    except OSError:  # it has gone already
        return
