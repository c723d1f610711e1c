"""The small-cell rule: no cell that counts 1 to k − 1 people, neither shown nor to be worked out.

Cells of one table are merged, never blanked. What is shown is then a partition of the records into merged cells of 0
or at least k people each, before and after. All that can be had from such numbers by adding and subtracting are
unions of merged cells, and a union of merged cells again holds 0 or at least k people. So there is nothing to
recover by subtraction from a total, and no second round of blanking is needed.

- Cells with an order (bins of a number, class sizes): each small cell joins its neighbour (`merge_neighbours`).
- Cells without (levels of a category): all small cells form one pool, and while the pool itself is small the next
  smallest cell joins it (`pool_small`). The pool has no name but "other levels".

Where even the whole table counts fewer than k people, nothing is shown: the partition is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shoal.arrays import BoolArray, IntArray

__all__ = ["Partition", "Tally", "is_small", "merge_neighbours", "pool_small"]

Partition: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Which people are in which cell: one entry for each person in each cell they occur in."""

    cells: IntArray
    people: IntArray
    counts: IntArray
    overlap: bool
    """Whether somebody is in two cells, so that counts of cells don't add up."""

    @classmethod
    def of(cls, cells: IntArray, people: IntArray | None, n_cells: int) -> Tally:
        """From the cell and the person of each row; a person with several rows in a cell counts once in it.

        Without `people`, each row is a person.
        """
        if people is None:
            counts = np.bincount(cells, minlength=n_cells)
            return cls(cells=cells, people=np.arange(len(cells)), counts=counts, overlap=False)
        number = people - people.min(initial=0)
        span = int(number.max(initial=0)) + 1
        entries = np.unique(cells * span + number)
        n_people = len(np.unique(number))
        counts = np.bincount(entries // span, minlength=n_cells)
        return cls(cells=entries // span, people=entries % span, counts=counts, overlap=n_people < len(entries))

    def together(self, members: Sequence[int]) -> int:
        """Number of people in the cells `members` taken as one."""
        if not self.overlap:
            return int(self.counts[list(members)].sum())
        inside: BoolArray = np.zeros(len(self.counts), dtype=np.bool_)
        inside[list(members)] = True
        return len(np.unique(self.people[inside[self.cells]]))


def is_small(count: int, k: int) -> bool:
    """Whether a count of people is one that must not be shown."""
    return 0 < count < k


def merge_neighbours(tallies: Sequence[Tally], k: int, *, keep_empty_ends: bool = False) -> Partition:
    """Runs of neighbouring cells, as short as the rule allows, none small in any of `tallies`.

    Empty runs at either end join their neighbour, unless `keep_empty_ends`.
    """
    runs: list[tuple[int, ...]] = []
    open_run: tuple[int, ...] = ()
    for cell in range(len(tallies[0].counts)):
        open_run = (*open_run, cell)
        if not _is_small_run(tallies, open_run, k):
            runs.append(open_run)
            open_run = ()
    while open_run and runs and _is_small_run(tallies, open_run, k):
        open_run = (*runs.pop(), *open_run)
    if open_run and not _is_small_run(tallies, open_run, k):
        runs.append(open_run)
    return tuple(runs) if keep_empty_ends else _without_empty_ends(tallies, runs)


def pool_small(tallies: Sequence[Tally], k: int, *, most: int | None = None) -> tuple[Partition, tuple[int, ...]]:
    """Single cells that may be shown, in order, and the pool of all others; at most `most` parts in all.

    Returns
    -------
    The cells shown, each alone, and the members of the pool (none if all cells are shown).
    """
    counts = np.array([tally.counts for tally in tallies])
    smallest_first = [int(i) for i in np.argsort(counts.sum(axis=0), kind="stable")]
    pool = {i for i in smallest_first if any(is_small(int(c), k) for c in counts[:, i])}
    if most is not None and len(smallest_first) > most:
        pool |= set(smallest_first[: len(smallest_first) - most + 1])
    waiting = [i for i in smallest_first if i not in pool and counts[:, i].any()]
    _grow(pool, waiting, lambda: _is_small_run(tallies, sorted(pool), k))
    if pool and _is_small_run(tallies, sorted(pool), k):
        return (), ()
    return tuple((i,) for i in range(counts.shape[1]) if i not in pool), tuple(sorted(pool))


def _without_empty_ends(tallies: Sequence[Tally], runs: Sequence[tuple[int, ...]]) -> Partition:
    kept = list(runs)
    for end, next_to_end in ((0, 1), (-1, -2)):
        while len(kept) > 1 and not any(tally.together(kept[end]) for tally in tallies):
            kept[next_to_end] = tuple(sorted((*kept[end], *kept[next_to_end])))
            kept.pop(end)
    return tuple(kept)


def _grow(pool: set[int], waiting: list[int], is_still_small: Callable[[], bool]) -> None:
    while pool and waiting and is_still_small():
        pool.add(waiting.pop(0))


def _is_small_run(tallies: Sequence[Tally], members: Sequence[int], k: int) -> bool:
    return any(is_small(tally.together(members), k) for tally in tallies)
