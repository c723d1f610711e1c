"""Who fits one event known with its true date, where the dates of each person moved by a secret shift.

The intruder knows the class of a person, one event and its true day d, and how dates were moved: by u · s days with
|s| ≤ W. A released event of j on day r fits if r − d = u · s for a shift s that is possible for j: one that puts all
released dates of j inside the study's window, where everybody knows it.

    K(i, e) = { j : q_j = q_i, j has an event like e with d_e + u · s = r for some s from low_j to high_j }

Whoever has found the record and knows one true date learns the shift, and so all dates; this counts who has not found
it yet. Cost: n log n in events.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from shoal.arrays import BoolArray, IntArray
from shoal.linked.counting import Bags

__all__ = ["Moved", "date_candidates"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """How the dates of persons were moved; for inside.

    Parameters
    ----------
    days
        By how many days each person's dates moved.
    low, high
        The smallest and largest shift, in units, that a person's released dates leave possible.
    unit
        Days in one step: 7, or 1.
    """

    days: IntArray = field(repr=False)
    low: IntArray = field(repr=False)
    high: IntArray = field(repr=False)
    unit: int

    def given_to(self, new: IntArray) -> Moved:
        """The same where the whole history of person i went to person new[i]."""
        place = np.argsort(new)
        return replace(self, days=self.days[place], low=self.low[place], high=self.high[place])


def date_candidates(bags: Bags, moved: Moved, dated: BoolArray) -> IntArray:
    """How many persons fit the worst event of each person, known with its true date; `dated` says which have one.

    Of an event without a date, the intruder knows what it is.

    Examples
    --------
    >>> import numpy as np
    >>> days, none = np.array([10, 14, 30]), np.zeros(3, dtype=int)  # one event each, moved by up to 3 days
    >>> bags = Bags.of(none, np.arange(3), none, days)
    >>> moved = Moved(days=none, low=none - 3, high=none + 3, unit=1)
    >>> date_candidates(bags, moved, np.ones(3, dtype=bool)).tolist()
    [1, 1, 1]
    >>> wider = Moved(days=none, low=none - 5, high=none + 5, unit=1)
    >>> date_candidates(bags, wider, np.ones(3, dtype=bool)).tolist()
    [2, 2, 1]
    """
    assert bags.time is not None
    counted = bags.counted()
    sizes = np.bincount(bags.classes[counted]) if counted.any() else np.zeros(1, dtype=np.int64)
    found = np.where(counted, sizes[np.maximum(bags.classes, 0)], 0).astype(np.int64)
    here = np.flatnonzero(counted[bags.person])
    if not len(here):
        return found
    person, u = bags.person[here], moved.unit
    known = dated[bags.rows[here]]
    low, high = (np.where(known, ends[person], 0) for ends in (moved.low, moved.high))
    day = np.where(known, bags.time[here], 0)
    true = day - np.where(known, moved.days[person], 0)
    alike = _alike(bags.classes[person], bags.item[here], day % u, known)
    n_fit = _covering(alike, person, day // u - high, day // u - low, alike, true // u)
    worst = np.full(len(bags.classes), np.iinfo(np.int64).max)
    np.minimum.at(worst, person, n_fit)
    return np.where(worst < np.iinfo(np.int64).max, worst, found)


def _alike(classes: IntArray, item: IntArray, weekday: IntArray, known: BoolArray) -> IntArray:
    """Events that may be taken for each other but for their day, as numbers from 0."""
    parts = np.column_stack((classes, item, weekday, known))
    return np.unique(parts, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _covering(
    key: IntArray, person: IntArray, first: IntArray, last: IntArray, asked: IntArray, point: IntArray
) -> IntArray:
    """For each point of a key, the number of persons one of whose intervals covers it.

    All intervals of a person are equally long, so those that begin in order end in order, and those that overlap are
    one.
    """
    order = np.lexsort((first, person, key))
    key, person, first, last = key[order], person[order], first[order], last[order]
    new = np.ones(len(key), dtype=np.bool_)
    new[1:] = (key[1:] != key[:-1]) | (person[1:] != person[:-1]) | (first[1:] > last[:-1])
    starts = np.flatnonzero(new)
    ends = np.r_[starts[1:], len(key)] - 1
    base = min(int(first.min()), int(point.min()))
    width = max(int(last.max()), int(point.max())) - base + 2
    begun = np.sort(key[starts] * width + (first[starts] - base))
    over = np.sort(key[starts] * width + (last[ends] - base))
    at = asked * width + (point - base)
    n: IntArray = np.searchsorted(begun, at, side="right") - np.searchsorted(over, at, side="left")
    return n.astype(np.int64)
