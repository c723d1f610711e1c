"""What was drawn last of results that don't change any more: a press on their page draws only what it changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from shoal.report.markup import Html

__all__ = ["DRAWN", "Drawn"]


class Drawn:
    """The last few drawings, by what they are of.

    Examples
    --------
    >>> from shoal.report.markup import Html
    >>> from shoal.web.drawn import Drawn
    >>> drawn = Drawn(2)
    >>> drawn.of("a", lambda: Html("one")), drawn.of("a", lambda: Html("two"))
    (Markup('one'), Markup('one'))
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._kept: OrderedDict[Hashable, Html] = OrderedDict()

    def of(self, what: Hashable, draw: Callable[[], Html]) -> Html:
        """The drawing of `what`, drawn now if it is not there."""
        with self._lock:
            if what in self._kept:
                self._kept.move_to_end(what)
                return self._kept[what]
        made = draw()
        with self._lock:
            self._kept[what] = made
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made

    def clear(self) -> None:
        """Let go of all: drawings hold rows of files."""
        with self._lock:
            self._kept.clear()


DRAWN = Drawn(8)
"""Those of this process."""
