"""How far a long run is: the step that it is at, and the share of the step that is done.

Whoever starts a run hands over `progress`, which is called with the name of each step as it begins. Whoever works in
blocks says after each how many are done (`advance`), which costs nothing where nobody listens; `listening` hears it.
`Pace` makes one bar of both: steps weigh as many seconds as they are expected to take (`shoal.release.forecast`), and a
step that can't tell how far it is approaches its end as the time that it should take goes by.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["Pace", "advance", "listening", "spoken"]

Listener = Callable[[float], None]
_TRUSTED = 0.2  # of a run: from there on its pace says more than the forecast

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


def advance(done: float, total: float) -> None:
    """Tell whoever listens that `done` parts of `total` of the present step are done."""
    listener = _listener.get()
    if listener is not None and total > 0:
        listener(min(1.0, max(0.0, done / total)))


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Within it, `listener` hears the share of the present step that is done, between 0 and 1.

    None hears nothing: for work whose parts are no parts of the step.
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


class Pace:
    """One bar for a run of several steps.

    Parameters
    ----------
    expected
        Seconds that each step should take, in the order of the steps; those before the present one are over. A step
        that isn't among them weighs nothing.
    clock
        Seconds since whenever.

    Examples
    --------
    >>> from shoal.progress import Pace
    >>> now = [0.0]
    >>> pace = Pace({"grouping": 30.0, "masking": 10.0}, clock=lambda: now[0])
    >>> pace.begin("grouping")
    >>> now[0] = 20.0
    >>> pace.advanced(0.5)
    >>> pace.share, round(pace.seconds_left)
    (0.375, 33)
    """

    def __init__(self, expected: Mapping[str, float], clock: Callable[[], float] = time.monotonic) -> None:
        self._expected, self._clock = dict(expected), clock
        self._whole = sum(self._expected.values())
        self._started = self._begun = clock()
        self._step, self._before = "", 0.0
        self._told: float | None = None
        self._done = 0.0  # expected seconds of the steps before

    @property
    def step(self) -> str:
        """The present step."""
        return self._step

    @property
    def knows_step(self) -> bool:
        """Whether the present step was expected."""
        return self._step in self._expected

    @property
    def share(self) -> float:
        """The share of the whole run that is done; it never falls."""
        if not self._whole:
            return 0.0
        now = self._done + self._expected.get(self._step, 0.0) * self._step_share()
        self._before = max(self._before, min(1.0, now / self._whole))
        return self._before

    @property
    def seconds_left(self) -> float:
        """About how many seconds are left: as expected at first, then by the pace so far."""
        share, gone = self.share, self._clock() - self._started
        by_pace = gone * (1 - share) / share if share > 0 else self._whole
        trust = min(1.0, share / _TRUSTED)
        return trust * by_pace + (1 - trust) * self._whole * (1 - share)

    def begin(self, step: str) -> None:
        """The next step begins."""
        order = list(self._expected)
        if step in self._expected:
            self._done = sum(self._expected[name] for name in order[: order.index(step)])
        elif self._step in self._expected:
            self._done += self._expected[self._step]
        self._step, self._told, self._begun = step, None, self._clock()

    def advanced(self, share: float) -> None:
        """The present step has come so far."""
        self._told = share

    def _step_share(self) -> float:
        if self._told is not None:
            return self._told
        expected = self._expected.get(self._step, 0.0)
        return 1 - math.exp(-(self._clock() - self._begun) / expected) if expected > 0 else 0.0


def spoken(seconds: float) -> str:
    """A length of time as people say it: *40 s*, *3 min*, *2 h*."""
    if seconds < 90:
        return f"{max(1, _rounded(seconds)):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"


def _rounded(seconds: float) -> float:
    """To whole seconds, above ten to multiples of five."""
    return round(seconds) if seconds < 10 else 5 * round(seconds / 5)
