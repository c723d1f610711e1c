"""A cache of what was drawn last of results that don't change any more: a press draws only what it changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from shoal.report.markup import Html

__all__ = ["DRAWINGS", "DrawingCache"]


class DrawingCache:
    """The last few drawings, by what they are of.

    Examples
    --------
    >>> from shoal.report.markup import Html
    >>> from shoal.web.drawing_cache import DrawingCache
    >>> cache = DrawingCache(2)
    >>> cache.of("a", lambda: Html("one")), cache.of("a", lambda: Html("two"))
    (Markup('one'), Markup('one'))
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._drawings: OrderedDict[Hashable, Html] = OrderedDict()

    def of(self, what: Hashable, draw: Callable[[], Html]) -> Html:
        """The drawing of `what`, drawn now if it is not there."""
        with self._lock:
            if what in self._drawings:
                self._drawings.move_to_end(what)
                return self._drawings[what]
        made = draw()
        with self._lock:
            self._drawings[what] = made
            while len(self._drawings) > self._most:
                self._drawings.popitem(last=False)
        return made

    def clear(self) -> None:
        """Let go of all: drawings hold rows of files."""
        with self._lock:
            self._drawings.clear()


DRAWINGS = DrawingCache(8)
"""Those of this process."""
