"""Which cells to suppress so that every class is large enough, at the lowest cost that a greedy search finds.

A *pattern* says which columns are suppressed; a record with a pattern shows its values in the other columns. Records
with the same pattern and the same values shown form a class, since a suppressed cell is a level of its own. The cost
of a pattern is the sum of the importance of its columns, and finding the patterns of lowest total cost is NP-hard
(Meyerson and Williams 2004). The search goes through the patterns from the cheapest to the dearest:

1. records in classes of k and more keep all their values;
2. for each pattern in turn, those left over that agree with enough others left over on the columns it shows take it;
   among patterns of equal cost, the one that serves most records goes first;
3. a class that is a few records short may take them from larger classes that agree with it on the columns shown, where
   that costs less than one more suppressed cell in each of its own records;
   (As soon as no more records are left over than may be left out, they are left out.)
4. whoever is still left over takes records from larger classes in the cheapest pattern where they are to be had;
5. where none has any to spare, a record left over joins the class that this costs least: the class then shows only what
   they agree on;
   (Those who are enough among themselves to show nothing together do so before steps 4 and 5, or not, whichever costs
   less.)
6. whatever remains, and every class that fails the conditions by then, shows nothing; if these are too few, the
   smallest classes join them.

Where a person can have several rows, or conditions beyond k are asked for, no class gives records away (steps 3 and
4 are skipped), because what stays behind could fail; and where a condition can be lost by joining, step 5 is skipped.

All 2^d patterns of d ≤ 12 columns are looked at; beyond, the smaller ones, and then a chain in which columns are given
up one after the other, those with the lowest importance and the most values first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray, numbered
from shoal.condition.conditions import Conditions
from shoal.equivalence import Codes, combine

__all__ = ["Suppression", "patterns_of", "suppress_cells"]

_MOST_PATTERNS = 4096
_LEFT_OVER, _LEFT_OUT = -1, -2


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppression:
    """Which cells are suppressed (rows by columns), and which rows are kept."""

    cells: BoolArray
    kept: BoolArray


def suppress_cells(
    columns: Sequence[Codes], importance: FloatArray, conditions: Conditions, *, allowance: int, order: IntArray
) -> Suppression:
    """Suppress cells until every class of the kept rows meets the conditions.

    Parameters
    ----------
    columns
        The quasi-identifiers as whole numbers.
    importance
        What suppressing a cell of each column costs.
    conditions
        What every class must meet; the table as one class must meet them.
    allowance
        How many rows may be left out.
    order
        The rows in the order in which they are looked at, which decides ties and who is taken from a class that has
        some to spare; if it doesn't depend on the order of the file, neither does the result.
    """
    ordered = [Codes(values=column.values[order], n=column.n) for column in columns]
    search = _Search.of(ordered, importance, conditions, order, allowance)
    search.keep_whole()
    for level in search.levels():
        search.serve(level)
        if search.plain:
            search.borrow(level, always=False)
    search.leave_out()
    return min(search.endings(), key=lambda ending: ending.spent).result()


def patterns_of(importance: FloatArray, n_values: Sequence[int]) -> BoolArray:
    """The patterns to look at, cheapest first, one row each; the first suppresses nothing, the last everything."""
    d = len(importance)
    chosen: list[tuple[int, ...]] = []
    for size in range(d + 1):
        more = list(combinations(range(d), size)) if _fits(d, size, len(chosen)) else []
        if not more:
            break
        chosen.extend(more)
    chain = sorted(range(d), key=lambda j: (importance[j], -n_values[j]))
    chosen.extend(tuple(chain[:size]) for size in range(len(chosen[-1]) + 1, d + 1))
    masks = np.zeros((len(chosen), d), dtype=np.bool_)
    for i, columns in enumerate(chosen):
        masks[i, list(columns)] = True
    return masks[np.argsort(np.round(masks @ importance, 9), kind="stable")]


def _fits(d: int, size: int, so_far: int) -> bool:
    more = 1
    for i in range(size):
        more = more * (d - i) // (i + 1)
    return so_far + more <= _MOST_PATTERNS


@dataclass(slots=True, kw_only=True)
class _Search:
    """The state of a search: the pattern of each row and the class it is in."""

    columns: Sequence[Codes]
    masks: BoolArray
    cost: FloatArray
    conditions: Conditions
    order: IntArray  # the file's row that each row here is
    pattern: IntArray
    labels: IntArray  # of classes that are settled; -1 elsewhere
    allowance: int  # rows that may still be left out
    importance: FloatArray
    n_classes: int = 0
    spare: _Spare | None = None

    @classmethod
    def of(
        cls, columns: Sequence[Codes], importance: FloatArray, conditions: Conditions, order: IntArray, allowance: int
    ) -> _Search:
        n = len(columns[0].values)
        masks = patterns_of(importance, [column.n for column in columns])
        return cls(
            columns=columns,
            masks=masks,
            cost=np.round(masks @ importance, 9),
            conditions=conditions,
            order=order,
            pattern=np.full(n, _LEFT_OVER, dtype=np.int64),
            labels=np.full(n, -1, dtype=np.int64),
            allowance=allowance,
            importance=importance,
        )

    @property
    def plain(self) -> bool:
        """Whether k records are all that a class needs."""
        conditions = self.conditions
        return conditions.persons is None and conditions.diversity is None and conditions.closeness is None

    @property
    def left_over(self) -> IntArray:
        return np.flatnonzero(self.pattern == _LEFT_OVER)

    def levels(self) -> Iterator[IntArray]:
        """Patterns that suppress something and show something, those of equal cost together, while it is needed."""
        for _, level in groupby(range(1, len(self.cost) - 1), key=lambda p: self.cost[p]):
            if len(self.left_over) <= self.allowance:
                return
            yield np.array(list(level))

    @property
    def spent(self) -> float:
        """The cost of all suppressed cells; a row left out costs as much as one that shows nothing."""
        kept = self.pattern >= 0
        return float((self.masks[self.pattern[kept]] @ self.importance).sum() + (~kept).sum() * self.importance.sum())

    def endings(self) -> Iterator[_Search]:
        """Where few are left over: with those who are enough among themselves showing nothing, and without."""
        few = len(self.left_over) <= 4 * self.conditions.k
        for hide in (True, False) if few and self.conditions.monotone else (True,):
            ending = replace(self, pattern=self.pattern.copy(), labels=self.labels.copy(), spare=None)
            ending.finish(hide)
            yield ending

    def finish(self, hide: bool) -> None:
        """Steps 4 to 6."""
        if hide:
            self.serve(np.array([len(self.cost) - 1]))
        if self.plain:
            for level in self.levels():
                self.borrow(level, always=True)
        if self.conditions.monotone:
            self.join()
        self.hide_leftovers()

    # Steps 1 and 2

    def keep_whole(self) -> None:
        """Records whose class is large enough keep everything."""
        self._take(0, *self._served(0))

    def serve(self, level: IntArray) -> None:
        """Give the patterns of one cost to those left over, the most useful first.

        The number that a pattern serves only falls as others are served, so an old number is an upper bound, and a
        pattern is counted again only when it comes first.
        """
        waiting = [(-len(self._served(p)[0]), int(p)) for p in level] if len(level) > 1 else [(-1, int(level[0]))]
        heapq.heapify(waiting)
        while waiting and waiting[0][0] < 0:
            _, p = heapq.heappop(waiting)
            rows, labels = self._served(p)
            if waiting and -len(rows) > waiting[0][0]:
                heapq.heappush(waiting, (-len(rows), p))
            else:
                self._take(p, rows, labels)

    def _served(self, p: int) -> tuple[IntArray, IntArray]:
        """The rows left over that pattern `p` puts into classes that are large enough, and their classes."""
        rows = self.left_over
        key = self._key(p, rows)
        chosen = self._good(rows, key)[key.values]
        return rows[chosen], key.values[chosen]

    def _key(self, p: int, rows: IntArray) -> Codes:
        shown = [column for column, hidden in zip(self.columns, self.masks[p], strict=True) if not hidden]
        return combine([Codes(values=c.values[rows], n=c.n) for c in shown], n_rows=len(rows))

    def _good(self, rows: IntArray, key: Codes) -> BoolArray:
        """Which classes of `key` meet the conditions, while those that are settled stay what they are."""
        if self.plain:
            return np.bincount(key.values, minlength=key.n) >= self.conditions.k
        labels = np.where(self.labels >= 0, self.labels, self.n_classes)
        labels[self.pattern == _LEFT_OUT] = -1
        labels[rows] = self.n_classes + key.values
        return self._meets(labels, self.n_classes + max(1, key.n))[self.n_classes :][: key.n]

    def _meets(self, labels: IntArray, n: int) -> BoolArray:
        in_file = np.empty_like(labels)
        in_file[self.order] = labels
        return self.conditions.meets(in_file, n)

    def _take(self, p: int, rows: IntArray, labels: IntArray) -> None:
        if len(rows):
            numbers, dense = numbered(labels)
            self.pattern[rows] = p
            self.labels[rows] = self.n_classes + dense.reshape(-1)
            self.n_classes += len(numbers)

    # Steps 3 and 4

    def borrow(self, level: IntArray, *, always: bool) -> None:
        """Fill up classes of those left over with records of larger classes."""
        self.spare = self.spare or _Spare.of(self)
        for p in level:
            rows = self.left_over
            if len(rows) and len(self.spare.left):
                self._fill(int(p), rows, always)

    def _fill(self, p: int, rows: IntArray, always: bool) -> None:
        assert self.spare is not None
        givers = self.spare.first
        key = self._key(p, np.concatenate((rows, givers)))
        mine, theirs = key.values[: len(rows)], key.values[len(rows) :]
        have = np.bincount(mine, minlength=key.n)
        there = np.bincount(theirs, weights=self.spare.left, minlength=key.n)
        lacking = self.conditions.k - have
        worth = always | (lacking * self.cost[p] < have * self.importance.min())
        wanted = np.flatnonzero((have > 0) & (there >= lacking) & worth)
        if len(wanted):
            taken, label = self.spare.take(theirs, wanted, lacking[wanted])
            chosen = np.isin(mine, wanted)
            self._take(p, np.concatenate((rows[chosen], taken)), np.concatenate((mine[chosen], label)))

    def leave_out(self) -> None:
        """Leave out those left over, if they are no more than may be."""
        rows = self.left_over
        if len(rows) <= self.allowance:
            self.pattern[rows] = _LEFT_OUT
            self.allowance -= len(rows)

    # Step 5

    def join(self) -> None:
        """Put each record left over into the class where it costs least."""
        rows = self.left_over
        settled = np.flatnonzero(self.labels >= 0)
        if not len(rows) or not len(settled):
            return
        labels, first, sizes = np.unique(self.labels[settled], return_index=True, return_counts=True)
        first = settled[first]
        shown = np.stack([column.values[first] for column in self.columns], axis=1)
        hidden = self.masks[self.pattern[first]]
        for row in rows:
            mine = np.array([column.values[row] for column in self.columns])
            needed = hidden | (shown != mine)
            cost = sizes * ((needed & ~hidden) @ self.importance) + needed @ self.importance
            best = int(np.argmin(cost))
            hidden[best] = needed[best]
            sizes[best] += 1
            self.labels[row] = labels[best]
            self.pattern[self.labels == labels[best]] = self._pattern_of(needed[best])

    def _pattern_of(self, hidden: BoolArray) -> int:
        """The number of a pattern; a new one if it isn't among those that were looked at."""
        found = np.flatnonzero((self.masks == hidden).all(axis=1))
        if not len(found):
            self.masks = np.vstack((self.masks, hidden))
        return int(found[0]) if len(found) else len(self.masks) - 1

    # Step 6

    def hide_leftovers(self) -> None:
        """Whoever is left over, or in a class that fails, shows nothing; the smallest classes join until it holds."""
        last = self._pattern_of(np.ones(len(self.columns), dtype=np.bool_))
        failing = self._failing()
        while len(failing):
            if (self.pattern[failing] == last).all():
                self._hide_smallest(last)
            self.pattern[failing] = last
            self.labels[self.pattern == last] = self.n_classes
            failing = self._failing()

    def _failing(self) -> IntArray:
        """Rows that are left over or in a class that fails."""
        out = self.pattern == _LEFT_OUT
        labels = np.where(out, -1, np.where(self.labels >= 0, self.labels, self.n_classes + 1))
        good = self._meets(labels, self.n_classes + 2)
        return np.flatnonzero(~out & (~good[labels] | (self.pattern == _LEFT_OVER)))

    def _hide_smallest(self, last: int) -> None:
        """The class with the fewest cells shown is hidden too; once all are, the rows left out come back."""
        others = np.flatnonzero((self.pattern != last) & (self.pattern != _LEFT_OUT))
        if not len(others):
            self.pattern[self.pattern == _LEFT_OUT] = last
            return
        shown = (~self.masks[self.pattern[others]]).sum(axis=1)
        cells = np.bincount(self.labels[others], weights=shown, minlength=self.n_classes)
        present = np.bincount(self.labels[others], minlength=self.n_classes) > 0
        smallest = int(np.argmin(np.where(present, cells, np.inf)))
        self.pattern[others[self.labels[others] == smallest]] = last

    def result(self) -> Suppression:
        """The cells and rows in the order of the file."""
        pattern = np.empty_like(self.pattern)
        pattern[self.order] = self.pattern
        kept = pattern != _LEFT_OUT
        return Suppression(cells=self.masks[np.where(kept, pattern, 0)], kept=kept)


@dataclass(slots=True, kw_only=True)
class _Spare:
    """Classes of more than k records that show everything: a row of each, and the rows that it can give."""

    first: IntArray
    left: IntArray  # rows that the class can still give
    rows: IntArray  # rows in order, class after class
    next: IntArray  # where the next row to give stands

    @classmethod
    def of(cls, search: _Search) -> _Spare:
        whole = np.flatnonzero(search.pattern == 0)
        rows = whole[np.argsort(search.labels[whole], kind="stable")]
        starts = np.flatnonzero(np.diff(search.labels[rows], prepend=-1))
        left = np.diff(np.append(starts, len(rows))) - search.conditions.k
        some = left > 0
        return cls(first=rows[starts[some]], left=left[some], rows=rows, next=starts[some].copy())

    def take(self, key: IntArray, wanted: IntArray, lacking: IntArray) -> tuple[IntArray, IntArray]:
        """As many rows of each `wanted` key as are `lacking`, from the classes that can spare most."""
        order = np.lexsort((-self.left, key))
        at = np.searchsorted(key[order], wanted)
        rows: list[IntArray] = []
        for place, number in zip(at, lacking, strict=True):
            while number > 0:
                giver = order[place]
                n = min(int(number), int(self.left[giver]))
                rows.append(self.rows[self.next[giver] : self.next[giver] + n])
                self.next[giver] += n
                self.left[giver] -= n
                number -= n
                place += 1
        taken = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        return taken, np.repeat(wanted, lacking)
