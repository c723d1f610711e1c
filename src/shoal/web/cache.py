"""What was read and drawn last of files and results: a press draws only what it changes.

Everything here belongs to a session or a job, by its id, and goes with it: it may hold rows of files.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from shoal.report.markup import Html

__all__ = ["DRAWINGS", "Cache"]

T = TypeVar("T")


class Cache(Generic[T]):
    """The last few values, by their owner and by what they are.

    Examples
    --------
    >>> from shoal.web.cache import Cache
    >>> cache = Cache(2)
    >>> cache.of("job", "a", lambda: 1), cache.of("job", "a", lambda: 2)
    (1, 1)
    >>> cache.forget("job")
    >>> cache.of("job", "a", lambda: 2)
    2
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._values: OrderedDict[tuple[str, Hashable], T] = OrderedDict()

    def of(self, owner: str, what: Hashable, make: Callable[[], T]) -> T:
        """The value of `what`, made now if it is not there."""
        key = owner, what
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
        made = make()
        with self._lock:
            self._values[key] = made
            while len(self._values) > self._most:
                self._values.popitem(last=False)
        return made

    def forget(self, owner: str) -> None:
        """Let go of all that belongs to `owner`."""
        with self._lock:
            for key in [key for key in self._values if key[0] == owner]:
                del self._values[key]


DRAWINGS: Cache[Html] = Cache(8)
"""The drawings of this process."""
