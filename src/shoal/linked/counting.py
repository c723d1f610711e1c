"""How many persons fit what an intruder knows: the class of a person, and m of that person's events.

    K(i, A) = { j : q_j = q_i and A fits E_j },   k_m = min over i and A in E_i, |A| ≤ m, of |K(i, A)|

`A fits E_j` means: as a bag (A is a sub-multiset; two equal events count twice), or as a sequence (in this order). Both
are one thing here: a bag is a sequence whose events are sorted. Candidates shrink when A grows, so only |A| =
min(m, |E_i|) is tried. The tuples of s events that a person has are built from those of s − 1 by every later event; of
the ways in which a tuple occurs in a person, the one that ends first has all continuations of the others.

Whoever knows no dates but the days between events (all that a date shift leaves) is counted by `gap_candidates`: A fits
E_j where the same items lie equally far apart in E_j, or within a tolerance. There every way counts, not the first
alone.

Cost: the sum over persons of C(|E_i|, m) tuples, in parts that share their first event, so that memory stays bounded;
with a tolerance of t days, (2 t + 1)^(m − 1) times that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import comb
from typing import Literal

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray

__all__ = ["Bags", "Fits", "Tuples", "candidates", "gap_candidates", "k_of", "n_tuples", "rare_rows", "tuples"]

Fits = Literal["some", "any", "whole"]
_AT_ONCE = 6_000_000  # tuples in memory
_STEP = 1 << 32  # a gap and an item in one number


@dataclass(frozen=True, slots=True, kw_only=True)
class Bags:
    """The events of persons as numbers.

    Parameters
    ----------
    classes
        The class or group of each person; −1 for whom nothing is counted.
    person, item
        Of each event, whose it is and which: sorted by person, then by what decides their order.
    rows
        The place of each event among those that were given.
    time
        When each event was, where they are in this order.
    """

    classes: IntArray = field(repr=False)
    person: IntArray = field(repr=False)
    item: IntArray = field(repr=False)
    rows: IntArray = field(repr=False)
    time: IntArray | None = field(repr=False, default=None)

    @classmethod
    def of(cls, classes: IntArray, person: IntArray, item: IntArray, time: IntArray | None = None) -> Bags:
        """Bags of events, or sequences where their `time` is given; the commonest item comes first in a bag."""
        if time is None:
            often = np.bincount(item) if len(item) else np.zeros(1, dtype=np.int64)
            place = np.empty(len(often), dtype=np.int64)
            place[np.argsort(-often, kind="stable")] = np.arange(len(often))
            item = place[item]
        order = _sorted_by(person, item) if time is None else np.lexsort((item, time, person))
        when = None if time is None else time[order]
        return cls(classes=classes, person=person[order], item=item[order], rows=order, time=when)

    @property
    def sizes(self) -> IntArray:
        """The number of events of each person."""
        return np.bincount(self.person, minlength=len(self.classes)).astype(np.int64)

    @property
    def ends(self) -> IntArray:
        """For each event, the place after the last one of the same person."""
        return np.cumsum(self.sizes)[self.person]

    def counted(self) -> BoolArray:
        """Which persons are counted."""
        return self.classes >= 0

    def of_classes(self, keep: BoolArray) -> Bags:
        """The same with the persons of some classes counted alone."""
        kept = self.counted() & keep[np.maximum(self.classes, 0)]
        return replace(self, classes=np.where(kept, self.classes, -1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuples:
    """Tuples of events that persons have: whose, which, the place of the last event, and how many persons have it."""

    person: IntArray
    last: IntArray
    support: IntArray


def k_of(found: IntArray, bags: Bags) -> int:
    """k_m of all persons that are counted; 0 where there are none."""
    return int(found[bags.counted()].min()) if bags.counted().any() else 0


def candidates(bags: Bags, m: int, fits: Fits = "some") -> IntArray:
    """How many persons fit the worst m events of each person, themselves included; 0 where nobody is counted.

    Examples
    --------
    >>> import numpy as np
    >>> events = ["ab", "ab", "ac", "ac", "bc", "abc"]
    >>> person = np.repeat(np.arange(6), [len(one) for one in events])
    >>> bags = Bags.of(np.zeros(6, dtype=int), person, np.array(["abc".index(e) for e in "".join(events)]))
    >>> [k_of(candidates(bags, m), bags) for m in range(4)]
    [6, 4, 2, 1]
    """
    if fits != "some":
        return _of_all(bags, whole=fits == "whole")
    found = _class_sizes(bags)
    sizes = bags.sizes
    for size in range(1, m + 1):
        low = _lowest(bags, size)
        there = bags.counted() & (sizes >= size)
        found = np.where(there, low, found)
    return found


def _class_sizes(bags: Bags) -> IntArray:
    there = bags.counted()
    counts = np.bincount(bags.classes[there]) if there.any() else np.zeros(1, dtype=np.int64)
    return np.where(there, counts[np.maximum(bags.classes, 0)], 0).astype(np.int64)


def _lowest(bags: Bags, size: int) -> IntArray:
    """The smallest support among the tuples of each person."""
    low = np.full(len(bags.classes), np.iinfo(np.int64).max)
    for part in tuples(bags, size):
        np.minimum.at(low, part.person, part.support)
    return low


def n_tuples(bags: Bags, size: int) -> int:
    """How many tuples of so many events there are to look at."""
    sizes, counts = np.unique(bags.sizes[bags.counted()], return_counts=True)
    return sum(comb(int(b), size) * int(n) for b, n in zip(sizes, counts, strict=True))


def tuples(bags: Bags, size: int) -> Iterator[Tuples]:
    """All tuples of `size` events, in parts; tuples that begin alike are in one part."""
    here = np.flatnonzero(bags.counted()[bags.person])
    if not len(here):
        return
    width, ends = _width(bags), bags.ends
    start = _grouped(bags.classes[bags.person[here]] * width + bags.item[here], bags.person[here], here)
    parts = max(1, -(-n_tuples(bags, size) // _AT_ONCE))
    for part in range(parts):
        rows = start if parts == 1 else start.filter(pl.col("key") % parts == part)
        for _ in range(size - 1):
            rows = _longer(rows, bags.item, ends, width)
        if len(rows):
            yield Tuples(**{name: rows[name].to_numpy() for name in ("person", "last", "support")})


def _longer(rows: pl.DataFrame, item: IntArray, ends: IntArray, width: int) -> pl.DataFrame:
    """Every tuple with each later event of its person."""
    at, new = _continued(rows["last"].to_numpy(), ends)
    return _grouped(rows["key"].to_numpy()[at] * width + item[new], rows["person"].to_numpy()[at], new)


def _continued(last: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """For each later event of the same person: which tuple it follows, and its place."""
    more = ends[last] - last - 1 if len(last) else np.zeros(0, dtype=np.int64)
    at = np.repeat(np.arange(len(last)), more)
    offset = np.arange(len(at)) - np.repeat(np.cumsum(more) - more, more)
    return at, last[at] + 1 + offset


def _width(bags: Bags) -> int:
    return int(bags.item.max(initial=0)) + 1


def _grouped(key: IntArray, person: IntArray, last: IntArray) -> pl.DataFrame:
    """One row for each tuple of a person, ending where it first ends, with its support and a short key."""
    order = _sorted_by(key, person)
    key, person = key[order], person[order]
    new_key = _changes(key)
    starts = np.flatnonzero(new_key | _changes(person))
    short = (np.cumsum(new_key) - 1)[starts]
    support = np.bincount(short)[short] if len(short) else short
    first = np.minimum.reduceat(last[order], starts) if len(short) else last
    return pl.DataFrame({"key": short, "person": person[starts], "last": first, "support": support})


def _sorted_by(first: IntArray, second: IntArray) -> IntArray:
    """The order by two columns of whole numbers from 0 up: as one number where it fits, which sorts faster."""
    n = int(second.max(initial=0)) + 1
    if (int(first.max(initial=0)) + 1) * n < 2**62:
        return np.argsort(first * n + second)
    return np.lexsort((second, first))


def _changes(values: IntArray) -> BoolArray:
    """Where a value differs from the one before it; the first does."""
    new = np.ones(len(values), dtype=np.bool_)
    new[1:] = values[1:] != values[:-1]
    return new


def rare_rows(key: IntArray, person: IntArray, k: int) -> int:
    """How many of the rows have a key that fewer than k persons have."""
    if not len(key):
        return 0
    n = int(person.max()) + 1
    pair = np.sort(key * n + person)
    starts = np.flatnonzero(_changes(pair // n))
    support = np.add.reduceat(_changes(pair).astype(np.int64), starts)
    return int(np.diff(np.r_[starts, len(pair)])[support < k].sum())


def gap_candidates(bags: Bags, m: int, tolerance: int = 0) -> IntArray:
    """How many persons fit the worst m events of each person, of which the items and the time between them are known.

    Examples
    --------
    >>> import numpy as np
    >>> days = np.array([1, 5, 20, 102, 106, 130, 203, 209, 218])
    >>> bags = Bags.of(np.zeros(3, dtype=int), np.repeat(np.arange(3), 3), np.zeros(9, dtype=int), days)
    >>> gap_candidates(bags, 1).tolist(), gap_candidates(bags, 2).tolist()
    ([3, 3, 3], [1, 1, 1])
    """
    found, sizes = _class_sizes(bags), bags.sizes
    rows = _apart(bags)
    for size in range(1, m + 1):
        if size > 1:
            rows = _further(rows, bags, size)
        low = _lowest_of(rows, [f"at{place}" for place in range(size)], tolerance, len(bags.classes))
        found = np.where(bags.counted() & (sizes >= size), low, found)
    return found


def _apart(bags: Bags) -> pl.DataFrame:
    """Each event of whoever is counted, with its class and item as one number."""
    here = np.flatnonzero(bags.counted()[bags.person])
    at = bags.classes[bags.person[here]] * _width(bags) + bags.item[here]
    return pl.DataFrame({"person": bags.person[here], "last": here, "at0": at})


def _further(rows: pl.DataFrame, bags: Bags, size: int) -> pl.DataFrame:
    """Every tuple with each later event of its person, and the time from its last event to that."""
    assert bags.time is not None
    at, new = _continued(rows["last"].to_numpy(), bags.ends)
    longer = rows[at]
    gap = bags.time[new] - bags.time[longer["last"].to_numpy()]
    return longer.with_columns(pl.Series("last", new), pl.Series(f"at{size - 1}", gap * _STEP + bags.item[new]))


def _lowest_of(rows: pl.DataFrame, names: list[str], tolerance: int, n: int) -> IntArray:
    """The smallest number of persons who fit a tuple of each person."""
    reach = rows.select("person", *names).unique()
    width = pl.int_range(-tolerance, tolerance + 1, dtype=pl.Int64, eager=True)
    for name in names[1:] if tolerance else []:
        step = pl.DataFrame({"step": width * _STEP})
        reach = reach.join(step, how="cross").with_columns(pl.col(name) + pl.col("step")).drop("step").unique()
    support = reach.group_by(names).agg(pl.len().cast(pl.Int64).alias("support"))
    worst = (
        rows.select("person", *names).unique().join(support, on=names).group_by("person").agg(pl.col("support").min())
    )
    low = np.full(n, np.iinfo(np.int64).max)
    low[worst["person"].to_numpy()] = worst["support"].to_numpy()
    return low


def _of_all(bags: Bags, *, whole: bool) -> IntArray:
    """Who has all events of a person: the same and no more (`whole`), or others too."""
    found = np.zeros(len(bags.classes), dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(bags.sizes)))
    by_class: dict[int, dict[tuple[int, ...], list[int]]] = {}
    for i in np.flatnonzero(bags.counted()):
        bag = tuple(bags.item[starts[i] : starts[i + 1]].tolist())
        by_class.setdefault(int(bags.classes[i]), {}).setdefault(bag, []).append(int(i))
    for kinds in by_class.values():
        for bag, n in _equal(kinds) if whole else _containing(kinds):
            found[kinds[bag]] = n
    return found


def _equal(kinds: dict[tuple[int, ...], list[int]]) -> Iterator[tuple[tuple[int, ...], int]]:
    return ((bag, len(persons)) for bag, persons in kinds.items())


def _containing(kinds: dict[tuple[int, ...], list[int]]) -> Iterator[tuple[tuple[int, ...], int]]:
    """For each bag the persons of all bags that contain it, found among the holders of its rarest event."""
    numbered = {bag: _numbered(bag) for bag in kinds}
    holders: dict[tuple[int, int], list[tuple[int, ...]]] = {}
    for bag, events in numbered.items():
        for event in events:
            holders.setdefault(event, []).append(bag)
    for bag, events in numbered.items():
        near = min((holders[event] for event in events), key=len) if events else list(kinds)
        yield bag, sum(len(kinds[other]) for other in near if events <= numbered[other])


def _numbered(bag: tuple[int, ...]) -> frozenset[tuple[int, int]]:
    """The events of a bag with the number of their copy: a sub-multiset is then a subset."""
    seen: dict[int, int] = {}
    events = []
    for item in bag:
        seen[item] = seen.get(item, 0) + 1
        events.append((item, seen[item]))
    return frozenset(events)
