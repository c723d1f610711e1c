"""Records by class size and by risk: how many in each band, in bands that the small-cell rule allows.

A class of size s is a combination of quasi-identifiers that s people share. Bands of class sizes begin at 1 (unique),
2, k, 2k, 4k and so on; bands of risk are tenths of the bound, or so, with round ends. Bands that hold 1 to k − 1
people, before or after, are merged with their neighbours. `SmallClasses` counts exactly and is for inside only.

The small-cell rule: no cell that counts 1 to k − 1 people, neither shown nor to be worked out.

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

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray, distinct_numbers
from shoal.pair import NOBODY, Pair
from shoal.record import Record
from shoal.report.numbers import count, percent

__all__ = [
    "Band",
    "Bands",
    "Partition",
    "SmallClasses",
    "Tally",
    "class_sizes",
    "is_small",
    "merge_neighbours",
    "pool_small",
    "risk_bands",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """A band from `low` to `high`, its name, and the share of the records in it, in each table compared."""

    label: str
    low: float
    high: float | None
    records: tuple[int, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bands:
    """Bands without small cells; none at all where the whole counts fewer than k people."""

    bands: tuple[Band, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {"bands": [{"label": b.label, "records": list(b.records), "shares": list(b.shares)} for b in self.bands]}


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallClasses(Record):
    """Exact numbers of combinations held by few people, before and after: never to be published.

    `sizes` are 1, 2, ... up to k; `before` and `after` count combinations of exactly that many people.
    """

    releasable: ClassVar[bool] = False

    sizes: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    smallest: tuple[int, int]
    n_classes: tuple[int, int]


def class_sizes(pair: Pair, k: int) -> tuple[Bands, SmallClasses]:
    """Records by the size of their class, before and after: in bands for everybody, and exactly for inside."""
    first, second = pair.original_classes(), pair.released_classes()
    people = people_of(pair)
    before = Tally.of(first.labels, people[0], first.n_classes).counts
    after = Tally.of(second.labels, people[1], second.n_classes).counts
    return (
        _size_bands((before[first.labels], after[second.labels]), people, k),
        _small_classes(before, after, k),
    )


def risk_bands(risks: FloatArray, people: IntArray | None, bound: float, k: int) -> Bands:
    """Records by their probability of being found; `bound` is the largest that is promised."""
    top = max(bound, float(risks.max(initial=0.0)))
    step = _tenth(top)
    n_steps = max(1, math.ceil(top / step - 1e-9))
    edges = np.array([step * i for i in range(n_steps)])
    cells = np.searchsorted(edges[1:], risks * (1 - 1e-12), side="left") if n_steps > 1 else np.zeros(len(risks), int)
    ends = [step * (i + 1) for i in range(n_steps - 1)]
    return _banded([cells.astype(np.int64)], (people,), [float(edge) for edge in edges], ends, k, "risks")


def _size_bands(row_sizes: tuple[IntArray, IntArray], people: Sequence[IntArray | None], k: int) -> Bands:
    largest = max(int(sizes.max()) for sizes in row_sizes)
    doubling = [k * 2**i for i in range(1, largest.bit_length()) if k * 2**i <= largest]
    starts = sorted({1, 2, k, *doubling})
    cells = [np.searchsorted(starts, sizes, side="right") - 1 for sizes in row_sizes]
    ends = [float(start - 1) for start in starts[1:]]
    return _banded(cells, people, [float(start) for start in starts], ends, k, "sizes")


def _small_classes(before: IntArray, after: IntArray, k: int) -> SmallClasses:
    sizes = tuple(range(1, k + 1))
    return SmallClasses(
        sizes=sizes,
        before=tuple(int((before == size).sum()) for size in sizes),
        after=tuple(int((after == size).sum()) for size in sizes),
        smallest=(int(before.min()), int(after.min())),
        n_classes=(len(before), len(after)),
    )


def _tenth(top: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that cuts `top` into at least ten."""
    width = top / 10
    power = 10.0 ** math.floor(math.log10(width)) if width > 0 else 1.0
    return max((power * digit for digit in (1, 2, 5) if power * digit <= width * (1 + 1e-9)), default=power)


def _banded(
    cells: Sequence[IntArray],
    people: Sequence[IntArray | None],
    starts: list[float],
    ends: list[float],
    k: int,
    kind: str,
) -> Bands:
    n = len(starts)
    runs = merge_neighbours([Tally.of(c, p, n) for c, p in zip(cells, people, strict=True)], k, keep_empty_ends=True)
    counts = [np.bincount(c, minlength=n) for c in cells]
    made = []
    for run in runs:
        high = ends[run[-1]] if run[-1] < len(ends) else None
        records = tuple(int(c[list(run)].sum()) for c in counts)
        label = _size_label(starts[run[0]], high) if kind == "sizes" else _risk_label(starts[run[0]], high)
        shares = tuple(r / max(1, int(c.sum())) for r, c in zip(records, counts, strict=True))
        made.append(Band(label=label, low=starts[run[0]], high=high, records=records, shares=shares))
    return Bands(bands=tuple(made))


def _size_label(low: float, high: float | None) -> str:
    first = count(int(low))
    if high is None:
        return f"{first} or more"
    return first if low == high else f"{first}–{count(int(high))}"


def _risk_label(low: float, high: float | None) -> str:
    if high is None:
        return f"over {percent(low)}" if low else "any"
    return f"{percent(low)}–{percent(high)}".replace("%–", "–")


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
        entries = distinct_numbers(cells * span + number)
        n_people = len(distinct_numbers(number))
        counts = np.bincount(entries // span, minlength=n_cells)
        return cls(cells=entries // span, people=entries % span, counts=counts, overlap=n_people < len(entries))

    def together(self, members: Sequence[int]) -> int:
        """Number of people in the cells `members` taken as one."""
        if not self.overlap:
            return int(self.counts[list(members)].sum())
        inside: BoolArray = np.zeros(len(self.counts), dtype=np.bool_)
        inside[list(members)] = True
        return len(distinct_numbers(self.people[inside[self.cells]]))


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


def people_of(pair: Pair) -> tuple[IntArray | None, IntArray | None]:
    """The person of each original row, and of each released one; None where each row is another person.

    Released rows of unknown source count as one person, to be careful; where all are nobody's, each stands for itself.
    """
    units = None if pair.schema.unit is None else pair.original.units()
    if (pair.source_rows == NOBODY).all():
        return units, None
    if units is None:
        return None, None if _are_distinct(pair.source_rows) else pair.source_rows
    return units, np.where(pair.source_rows >= 0, units[pair.source_rows], -1)


def _are_distinct(source_rows: IntArray) -> bool:
    return bool((source_rows >= 0).all()) and int(np.bincount(source_rows).max(initial=0)) <= 1
