"""Cut a table into boxes of at least k persons, each cut where it makes the written values most exact.

Records are points with d coordinates. A box of n records that covers the share w_j of the domain of column j loses
n Σ_j a_j w_j (a_j the importance of the column). Starting with one box that holds all, every box is cut in two at the
place, over all columns and all values, that lowers the sum of both losses most, where both sides keep k persons; the
two boxes then shrink to their own records. It ends when no cut is left (LeFevre, DeWitt and Ramakrishnan 2006, with
the loss in place of the widest range and the median).

An ordered column is cut between two of its values. For a nominal one the levels of the box are put in order of
frequency, most frequent first, and that order is cut: of all ways to make two sets of given sizes, this has the lowest
loss in the column itself, since n_A |A| + n_B |B| is least when the more frequent levels are in the smaller set.

Boxes of one depth are cut together. Conditions beyond k are asked of all new boxes at once; where the best cut fails
them, the best cuts in the other columns are tried, then the most even cut of each column.

Cost: O(m d²) a depth for m distinct records, and about log2(n / k) depths or a few more.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numba import njit

from shoal.arrays import BoolArray, FloatArray, IntArray, numbered

__all__ = ["Meets", "Points", "partition"]

Meets = Callable[[IntArray, int], BoolArray]
"""Given a label for each item and the number of labels, which of them hold up."""

Spread = TypeVar("Spread", IntArray, BoolArray)

_SMALL = 20_000  # items below which a second thread costs more than it saves


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """What is cut: items with equal coordinates in all columns.

    Parameters
    ----------
    codes
        One row per column, one number per item (int32); equal numbers, equal values; ordered ones by value.
    place
        Where each item lies in an ordered column, times its importance; zeros for a nominal one.
    step
        What one more level costs in a nominal column, times its importance; negative for an ordered one.
    n_levels
        Number of levels of each column.
    rows
        How many records each item stands for.
    persons
        The person of each item (int32), or an empty array where each record is a person.
    """

    codes: np.ndarray[tuple[int, int], np.dtype[np.int32]]
    place: FloatArray
    step: FloatArray
    n_levels: IntArray
    rows: IntArray
    persons: np.ndarray[tuple[int], np.dtype[np.int32]]

    @property
    def offsets(self) -> IntArray:
        """Where the levels of each column begin when all are numbered together."""
        return np.concatenate(([0], np.cumsum(self.n_levels)[:-1]))


def partition(points: Points, k: int, *, anywhere: bool = False, meets: Meets | None = None) -> IntArray:
    """Label the items of `points` by box; every box holds at least `k` persons (if all of them together do).

    With `anywhere` a cut may fall between items of equal value. `meets` is asked of every new box.
    """
    growing = _Boxes.whole(points, k, anywhere)
    while growing.n:
        growing = growing.grow(meets)
    return growing.labels


@dataclass(frozen=True, slots=True, kw_only=True)
class _Boxes:
    """The boxes of one depth that may still be cut, and the labels of those that are done."""

    points: Points
    k: int
    anywhere: bool
    by: np.ndarray[tuple[int, int], np.dtype[np.int32]]  # items in order of each column, box after box
    starts: IntArray
    ends: IntArray
    labels: IntArray  # of finished boxes; -1 in those that may be cut
    n_done: int

    @classmethod
    def whole(cls, points: Points, k: int, anywhere: bool) -> _Boxes:
        m = points.codes.shape[1]
        by = np.stack([np.argsort(codes, kind="stable").astype(np.int32) for codes in points.codes])
        return cls(
            points=points,
            k=k,
            anywhere=anywhere,
            by=by,
            starts=np.zeros(1, dtype=np.int64),
            ends=np.full(1, m, dtype=np.int64),
            labels=np.full(m, -1, dtype=np.int64),
            n_done=0,
        )

    @property
    def n(self) -> int:
        return len(self.starts)

    def grow(self, meets: Meets | None) -> _Boxes:
        """Cut every box that can be cut; the others are done."""
        column, left = self._propose(balanced=False, open_boxes=np.ones(self.n, dtype=np.bool_), meets=meets)
        if meets is not None and (column < 0).any():
            again, even = self._propose(balanced=True, open_boxes=column < 0, meets=meets)
            left = np.where(self._spread(column < 0), even, left)
            column = np.where(column < 0, again, column)
        return self._divide(column, left)

    def _propose(self, *, balanced: bool, open_boxes: BoolArray, meets: Meets | None) -> tuple[IntArray, BoolArray]:
        """For each open box the column to cut (-1: none), and for each item whether it goes left."""
        goes, gain = self._cuts(balanced, open_boxes)
        ranked = np.argsort(-gain, axis=1, kind="stable")
        chosen = np.full(self.n, -1, dtype=np.int64)
        left = np.zeros(len(self.labels), dtype=np.bool_)
        for rank in range(ranked.shape[1] if meets is not None else 1):
            column = np.where(chosen < 0, ranked[:, rank], -1)
            column[gain[np.arange(self.n), ranked[:, rank]] <= 0] = -1
            if not (column >= 0).any():
                break
            sides = self._sides(column, goes)
            if meets is not None:
                column[~self._hold(column, sides, meets)] = -1
            left = np.where(self._spread(column >= 0), sides, left)
            chosen = np.where(column >= 0, column, chosen)
        return chosen, left

    def _cuts(self, balanced: bool, open_boxes: BoolArray) -> tuple[BoolArray, FloatArray]:
        """Who goes left in each column's best cut, and what it gains; boxes are shared out among threads."""
        goes = np.zeros(self.points.codes.shape, dtype=np.bool_)
        gain = np.full((self.n, len(goes)), -1.0)
        boxes = np.flatnonzero(open_boxes)
        parts = np.array_split(boxes, _n_parts(len(boxes), int((self.ends - self.starts)[boxes].sum())))
        work = partial(self._cut_some, balanced=balanced, goes=goes)
        with ThreadPoolExecutor(max_workers=len(parts)) as threads:
            for part, found in zip(parts, threads.map(work, parts), strict=True):
                gain[part] = found
        return goes, gain

    def _cut_some(self, boxes: IntArray, balanced: bool, goes: BoolArray) -> FloatArray:
        points = self.points
        gain = np.full((len(boxes), len(goes)), -1.0)
        sizes = int(points.n_levels.sum()), int(points.persons.max(initial=-1)) + 1
        propose_cuts(
            *(self.by, self.starts[boxes], self.ends[boxes], points.codes, points.place, points.step, points.offsets),
            *(points.rows, points.persons, *sizes, self.k, self.anywhere, balanced, goes, gain),
        )
        return gain

    def _sides(self, column: IntArray, goes: BoolArray) -> BoolArray:
        """The side of each item if its box is cut in `column`."""
        of = self._spread(np.maximum(column, 0))
        sides: BoolArray = goes[of, np.arange(len(of))]
        return sides

    def _spread(self, box_values: Spread) -> Spread:
        """A value per box as a value per item; 0 for items whose box is done."""
        out: Spread = np.zeros(len(self.labels), dtype=box_values.dtype)
        give_to_items(self.by[0], self.starts, self.ends, box_values, out)
        return out

    def _hold(self, column: IntArray, sides: BoolArray, meets: Meets) -> BoolArray:
        """Which boxes would have two sides that both meet the conditions."""
        box = self._spread(np.arange(self.n))
        cut = self._spread(column >= 0)
        open_ = self.labels < 0
        labels = np.where(open_, self.n_done + 2 * box + (sides & cut), self.labels)
        used, dense = numbered(labels)
        good = np.zeros(self.n_done + 2 * self.n, dtype=np.bool_)
        good[used] = meets(dense, len(used))
        pairs = good[self.n_done :].reshape(self.n, 2)
        both: BoolArray = np.logical_and(pairs[:, 0], pairs[:, 1])
        return both

    def _divide(self, column: IntArray, left: BoolArray) -> _Boxes:
        labels = self.labels.copy()
        finished = np.flatnonzero(column < 0)
        numbers = np.arange(self.n_done, self.n_done + len(finished))
        give_to_items(self.by[0], self.starts[finished], self.ends[finished], numbers, labels)
        cut = np.flatnonzero(column >= 0)
        by = self.by.copy()
        middles = divide_boxes(self.by, self.starts[cut], self.ends[cut], left, by)
        starts = np.column_stack((self.starts[cut], middles)).ravel()
        ends = np.column_stack((middles, self.ends[cut])).ravel()
        return _Boxes(
            points=self.points,
            k=self.k,
            anywhere=self.anywhere,
            by=by,
            starts=starts,
            ends=ends,
            labels=labels,
            n_done=self.n_done + len(finished),
        )


def _n_parts(n_boxes: int, n_items: int) -> int:
    return max(1, min(n_boxes, os.cpu_count() or 1, n_items // _SMALL, 8))


@njit(cache=True, nogil=True)
def propose_cuts(  # type: ignore[no-untyped-def]
    by, starts, ends, codes, place, step, offsets, rows, persons, n_stamp, n_persons, k, anywhere, balanced, goes, gain
):
    """The best cut of each box in each column: `gain` is how much it lowers the loss, `goes` who is on its left."""
    levels_seen, persons_seen = np.zeros(n_stamp, np.int64), np.zeros(n_persons, np.int64)
    longest = 0
    for box in range(len(starts)):
        longest = max(longest, ends[box] - starts[box])
    before, after = np.empty(longest), np.empty(longest)
    below, above = np.empty(longest, np.int64), np.empty(longest, np.int64)
    turned, runs = np.empty(longest, np.int32), np.empty(longest + 1, np.int64)
    mark = 0
    for box in range(len(starts)):
        s, e = starts[box], ends[box]
        if n_persons == 0 and _count(by[0, s:e], True, rows, persons, persons_seen, 0, below) < 2 * k:
            continue
        active = _varying(by, s, e, codes)
        for j in active:
            order = by[j, s:e]
            if step[j] >= 0:
                order = _by_frequency(order, codes[j], rows, runs, turned)
            mark += 2
            _losses(order, True, codes, place, step, active, rows, levels_seen, offsets, mark, before)
            _losses(order, False, codes, place, step, active, rows, levels_seen, offsets, mark + 1, after)
            _count(order, True, rows, persons, persons_seen, mark, below)
            _count(order, False, rows, persons, persons_seen, mark + 1, above)
            at, gain[box, j] = _best(order, codes[j], before, after, below, above, k, anywhere, balanced)
            for i in range(at + 1):
                goes[j, order[i]] = True


@njit(cache=True, nogil=True)
def _varying(by, s, e, codes):  # type: ignore[no-untyped-def]
    """The columns in which a box has more than one value."""
    d = len(by)
    found = np.empty(d, np.int64)
    n = 0
    for j in range(d):
        if codes[j, by[j, s]] != codes[j, by[j, e - 1]]:
            found[n] = j
            n += 1
    return found[:n]


@njit(cache=True, nogil=True)
def _by_frequency(order, codes, rows, runs, turned):  # type: ignore[no-untyped-def]
    """Items sorted by level, as items of the most frequent level first."""
    m = len(order)
    counts = np.empty(m, np.int64)
    n = 0
    for i in range(m):
        if i == 0 or codes[order[i]] != codes[order[i - 1]]:
            runs[n] = i
            counts[n] = 0
            n += 1
        counts[n - 1] -= rows[order[i]]
    runs[n] = m
    at = 0
    for run in _ascending(counts, n):
        for i in range(runs[run], runs[run + 1]):
            turned[at] = order[i]
            at += 1
    return turned[:m]


@njit(cache=True, nogil=True)
def _ascending(values, n):  # type: ignore[no-untyped-def]
    """The positions of the first n values in ascending order, equal ones as they come: merged from runs of 1, 2, 4, …

    NumPy's sort would do, but takes a second to compile.
    """
    order, other = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        order[i] = i
    width = 1
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            a, b = low, middle
            for at in range(low, high):
                if a < middle and (b >= high or values[order[a]] <= values[order[b]]):
                    other[at] = order[a]
                    a += 1
                else:
                    other[at] = order[b]
                    b += 1
        order, other = other, order
        width *= 2
    return order


@njit(cache=True, nogil=True)
def _losses(order, forward, codes, place, step, active, rows, stamp, offsets, mark, out):  # type: ignore[no-untyped-def]
    """The loss of the first (or last) 1, 2, ... items of `order`: records times covered shares."""
    low = np.full(len(active), np.inf)
    high = np.full(len(active), -np.inf)
    covered, n = 0.0, 0
    for i in range(len(order)):
        item = order[i] if forward else order[-1 - i]
        n += rows[item]
        for a in range(len(active)):
            j = active[a]
            if step[j] >= 0:
                level = offsets[j] + codes[j, item]
                if stamp[level] != mark:
                    stamp[level] = mark
                    covered += step[j] if i else 0.0
            else:
                x = place[j, item]
                if x < low[a]:
                    covered += low[a] - x if i else 0.0
                    low[a] = x
                if x > high[a]:
                    covered += x - high[a] if i else 0.0
                    high[a] = x
        out[i] = n * covered


@njit(cache=True, nogil=True)
def _count(order, forward, rows, persons, seen, mark, out):  # type: ignore[no-untyped-def]
    """The number of persons among the first (or last) 1, 2, ... items; that of all items is returned."""
    n = 0
    for i in range(len(order)):
        item = order[i] if forward else order[-1 - i]
        if len(persons) == 0:
            n += rows[item]
        elif seen[persons[item]] != mark:
            seen[persons[item]] = mark
            n += 1
        out[i] = n
    return n


@njit(cache=True, nogil=True)
def _best(order, codes, before, after, below, above, k, anywhere, balanced):  # type: ignore[no-untyped-def]
    """Where the loss falls most (or, `balanced`, where the sides are most even), and by how much; -1: nowhere."""
    m = len(order)
    at, lowered, best = -1, -1.0, -np.inf
    tiny = 1e-12 * before[m - 1]
    for i in range(m - 1):
        p, q = below[i], above[m - 2 - i]
        if p < k or q < k or (not anywhere and codes[order[i]] == codes[order[i + 1]]):
            continue
        fall = before[m - 1] - before[i] - after[m - 2 - i]
        worth = float(min(p, q)) if balanced else fall
        if fall > tiny and worth > best:
            at, lowered, best = i, fall, worth
    return at, lowered


@njit(cache=True, nogil=True)
def divide_boxes(by, starts, ends, left, out):  # type: ignore[no-untyped-def]
    """Move the items that go left before the others, in every column's order; returns where the second part begins."""
    middles = np.empty(len(starts), np.int64)
    for box in range(len(starts)):
        s, e = starts[box], ends[box]
        n_left = 0
        for i in range(s, e):
            n_left += left[by[0, i]]
        middles[box] = s + n_left
        for j in range(len(by)):
            low, high = s, s + n_left
            for i in range(s, e):
                item = by[j, i]
                if left[item]:
                    out[j, low] = item
                    low += 1
                else:
                    out[j, high] = item
                    high += 1
    return middles


@njit(cache=True, nogil=True)
def give_to_items(items, starts, ends, values, out):  # type: ignore[no-untyped-def]
    """Write the value of each box to its items."""
    for box in range(len(starts)):
        for i in range(starts[box], ends[box]):
            out[items[i]] = values[box]
