"""Files that were sent together and are not opened yet: where no further one comes, they are removed.

A file that is broken off is noticed by its own request. Between two files there is none: a browser that is closed then,
or that can't read its next file, says nothing more, and what it had sent would lie there until the workbench stops.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["PATIENCE", "Unopened"]

PATIENCE = 20.0
"""Seconds in which the next file must begin, or all be opened."""


class Unopened:
    """Sets of files by their mark.

    Parameters
    ----------
    remove
        Removes the files of a mark.
    patience
        Seconds to wait for the next file of a set.

    Examples
    --------
    >>> import threading
    >>> from shoal.web.unopened import Unopened
    >>> removed, done = [], threading.Event()
    >>> sets = Unopened(lambda mark: (removed.append(mark), done.set()), patience=0.01)
    >>> sets.wait_for_next("a")
    >>> done.wait(10), removed
    (True, ['a'])
    """

    def __init__(self, remove: Callable[[str], object], patience: float = PATIENCE) -> None:
        self._remove, self._patience, self._lock = remove, patience, threading.Lock()
        self._waiting: dict[str, threading.Timer] = {}

    def wait_for_next(self, mark: str) -> None:
        """A file has arrived: the next one must come soon."""
        timer = threading.Timer(self._patience, self._give_up, (mark,))
        timer.daemon = True
        with self._lock:
            self._stop(mark)
            self._waiting[mark] = timer
        timer.start()

    def has_come(self, mark: str) -> None:
        """The next file begins, or all are opened: nothing is removed."""
        with self._lock:
            self._stop(mark)

    def _give_up(self, mark: str) -> None:
        with self._lock:
            if self._waiting.get(mark) is not threading.current_thread():
                return  # it has come in the same moment
            del self._waiting[mark]
        self._remove(mark)

    def _stop(self, mark: str) -> None:
        timer = self._waiting.pop(mark, None)
        if timer is not None:
            timer.cancel()
