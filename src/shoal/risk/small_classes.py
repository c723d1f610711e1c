"""Which rows are in small classes, without numbering the classes.

Where the keys are few, each has a counter. Where they are many, rows are counted by a hash of the key: a counter below
k holds classes below k only. In the others one class keeps the counter, and rows of another key, which are few, are
numbered on their own. So the answer is exact, nothing but those few is sorted, and for a table of mostly single records
it costs a fraction of finding the distinct keys.

Counting many sets of columns at once: how many rows are in classes of fewer than k persons on each of them.

Where each row is a person (`Rows`) three facts save most of the work. Rows beyond the k-th of a combination change
nothing: they are left out. A row in a small class stays in one whatever column is added, and its class has only such
rows: sets grow column by column, and go on with the other rows. And columns with most values come first, so that few
rows are left soon.

Where persons have several rows (`PersonRows`) rows that are alike in all columns and the person are looked at as one,
and a set is counted from the combinations of a larger one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from shoal.arrays import BoolArray, IntArray
from shoal.equivalence import Classes, Codes, combine

__all__ = [
    "Atoms",
    "Larger",
    "PersonRows",
    "Rows",
    "atoms_of",
    "first_of_each",
    "in_small_classes",
    "larger_classes",
    "n_in_small_classes",
]

_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: Fibonacci hashing
_WORTH_IT = 0.2  # share of rows in small classes from which the others are copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Larger:
    """The rows that are left without those in small classes.

    Parameters
    ----------
    n_small
        How many rows are in small classes.
    rows
        The others, in any order; None where all rows are kept, because few are in small classes.
    key
        The key of each row that is left.
    """

    n_small: int
    rows: IntArray | None
    key: Codes


def in_small_classes(key: Codes, k: int) -> BoolArray:
    """Whether each row's key is that of fewer than `k` rows. O(n)."""
    counted = _counted(key, k)
    small: BoolArray = counted.sizes < k
    return small[counted.of]


def n_in_small_classes(key: Codes, k: int) -> int:
    """How many rows have a key of fewer than `k` rows."""
    return int(np.count_nonzero(in_small_classes(key, k)))


def larger_classes(key: Codes, k: int) -> Larger:
    """Count the rows in small classes and leave them out, with the other classes numbered from 0."""
    counted = _counted(key, k)
    large = counted.sizes >= k
    kept = large[counted.of]
    n_small = len(kept) - int(np.count_nonzero(kept))
    if counted.of is key.values and n_small <= _WORTH_IT * len(kept):
        return Larger(n_small=n_small, rows=None, key=key)
    rows, shown = np.flatnonzero(kept), np.flatnonzero(large)
    place = np.empty(len(large), dtype=np.int64)
    place[shown] = np.arange(len(shown))
    return Larger(n_small=n_small, rows=rows, key=Codes(values=place[counted.of[rows]], n=len(shown)))


@dataclass(frozen=True, slots=True)
class _Counted:
    """The counter of each row, and how many rows it counted; classes of fewer than k rows may share one below k."""

    of: IntArray
    sizes: IntArray


def _counted(key: Codes, k: int) -> _Counted:
    if key.n <= 4 * len(key.values) + 2**16:
        return _Counted(key.values, np.bincount(key.values, minlength=key.n))
    bits = max(4 * len(key.values), 1024).bit_length()
    of = ((key.values.view(np.uint64) * _SPREAD) >> np.uint64(64 - bits)).view(np.int64)
    sizes = np.bincount(of, minlength=2**bits)
    strangers = _strangers(key.values, of, np.flatnonzero((sizes >= k)[of]), 2**bits)
    if len(strangers):
        of[strangers] = 2**bits + np.unique(key.values[strangers], return_inverse=True)[1]
        sizes = np.bincount(of)
    return _Counted(of, sizes)


def _strangers(key: IntArray, of: IntArray, rows: IntArray, n: int) -> IntArray:
    """Those of `rows` whose key isn't the one that keeps their counter."""
    keeper: IntArray = np.empty(n, dtype=np.int64)
    keeper[of[rows]] = key[rows]
    strange: BoolArray = keeper[of[rows]] != key[rows]
    return rows[strange]


def first_of_each(labels: IntArray, most: int) -> IntArray:
    """The rows of a table without those that come after `most` rows of the same class, in order."""
    order = np.argsort(labels, kind="stable")
    starts, sizes = _runs(labels[order])
    place = np.arange(len(labels)) - np.repeat(starts, sizes)
    return np.sort(order[place < most])


def _runs(ordered: IntArray) -> tuple[IntArray, IntArray]:
    """Where each run of equal numbers begins, and its length."""
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(ordered), 1), np.bool_), ordered[1:] != ordered[:-1]]))
    return starts, np.diff(starts, append=len(ordered))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Coded columns of `n` rows that are a person each; those beyond the k-th of a combination may be left out."""

    columns: tuple[Codes, ...]
    n: int
    k: int
    rests: dict[int, Larger] = field(default_factory=dict, repr=False, compare=False)

    def without(self, j: int) -> Rows:
        """All columns but the one at position `j`."""
        return replace(self, columns=(*self.columns[:j], *self.columns[j + 1 :]), rests={})

    def rest(self, j: int) -> Larger:
        """The larger classes without the column at position `j`; found once."""
        if j not in self.rests:
            key = combine(self.without(j).columns, n_rows=self.n, dense=False)
            self.rests[j] = larger_classes(key, self.k)
        return self.rests[j]

    def shared_without(self, j: int, n: int) -> BoolArray | None:
        """Whether each of `n` rows is in a class of at least `k` without column `j`; None where rows were left out."""
        if self.n != n:
            return None
        rest = self.rest(j)
        if rest.rows is None:
            return ~in_small_classes(rest.key, self.k)
        shared: BoolArray = np.zeros(n, dtype=np.bool_)
        shared[rest.rows] = True
        return shared

    def changing(self, j: int) -> Callable[[Codes], int]:
        """How many rows are in small classes with the values of the column at position `j` put into groups.

        A row that is in a small class without the column stays in one, however its values are grouped.
        """
        rest = self.rest(j)
        column, gone = self.columns[j], 0
        if rest.rows is not None:
            column, gone = _some([column], rest.rows)[0], rest.n_small

        def below(groups: Codes) -> int:
            return gone + n_in_small_classes(combine([rest.key, _grouped(column, groups)], dense=False), self.k)

        return below

    def below(self) -> int:
        """The number of rows in classes of fewer than `k` persons."""
        key = combine(self.columns, n_rows=self.n, dense=False)
        return n_in_small_classes(key, self.k)

    def every_subset(self) -> Iterator[tuple[int, int]]:
        """The rows in small classes for every set of columns but the empty one, by bit mask."""
        order = sorted(range(len(self.columns)), key=lambda j: -self.columns[j].n)
        now = self
        for i, j in enumerate(order):
            now = now._thinned(combine([now.columns[place] for place in order[i:]])) if i else now
            yield from now._empty().grow(j, order[i + 1 :]).every_larger(order[i + 1 :])

    def leaving(self, order: Sequence[int]) -> list[int]:
        """The rows in small classes with all columns, and after each of `order` has left; 0 when none is left."""
        counts, now = [0], self._empty()
        for i, j in reversed(list(enumerate(order))):
            now = now.grow(j, order[:i])
            counts.append(now.n_below)
        return counts[::-1]

    def _empty(self) -> _Grown:
        key = combine([], n_rows=self.n)
        return _Grown(key=key, later=dict(enumerate(self.columns)), places=0, gone=0, n_small=0, k=self.k)

    def _thinned(self, label: Codes) -> Rows:
        """Without the rows beyond the k-th that are alike in all columns that are asked for, which `label` numbers."""
        if 2 * self.k * label.n > len(label.values):
            return self
        kept = first_of_each(label.values, self.k)
        return replace(self, columns=_some(self.columns, kept), n=len(kept), rests={})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grown:
    """A set of columns: `gone` rows were in small classes on fewer columns, `n_small` of the rows here are."""

    key: Codes
    later: dict[int, Codes]
    places: int
    gone: int
    n_small: int
    k: int

    @property
    def n_below(self) -> int:
        return self.gone + self.n_small

    def grow(self, j: int, later: Sequence[int]) -> _Grown:
        """With the column `j`; `later` are those that may follow."""
        found = larger_classes(combine([self.key, self.later[j]], dense=False), self.k)
        columns = [self.later[place] for place in later]
        gone = found.rows is not None
        return _Grown(
            key=found.key,
            later=dict(zip(later, columns if found.rows is None else _some(columns, found.rows), strict=True)),
            places=self.places | 1 << j,
            gone=self.gone + (found.n_small if gone else 0),
            n_small=0 if gone else found.n_small,
            k=self.k,
        )

    def every_larger(self, order: Sequence[int]) -> Iterator[tuple[int, int]]:
        """This set, and those with columns of `order` added."""
        yield self.places, self.n_below
        for i, j in enumerate(order):
            yield from self.grow(j, order[i + 1 :]).every_larger(order[i + 1 :])


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonRows:
    """Distinct combinations of columns and person, with the number of rows of each."""

    columns: tuple[Codes, ...]
    rows: IntArray
    persons: Codes
    k: int

    def without(self, j: int) -> PersonRows:
        """All columns but the one at position `j`."""
        return _merged([*self.columns[:j], *self.columns[j + 1 :]], self.rows, self.persons, self.k)

    def shared_without(self, j: int, n: int) -> BoolArray | None:
        """None: the table's own rows are not here."""
        return None

    def changing(self, j: int) -> Callable[[Codes], int]:
        """How many rows are in small classes with the values of the column at position `j` put into groups."""
        return lambda groups: self._replacing(j, groups).below()

    def below(self) -> int:
        """The number of rows in classes of fewer than `k` persons."""
        label = combine(self.columns, n_rows=len(self.rows))
        return int(self.rows[in_small_classes(label, self.k)].sum())

    def every_subset(self) -> Iterator[tuple[int, int]]:
        """The rows in small classes for every set of columns but the empty one, by bit mask."""
        yield from _smaller(self, tuple(range(len(self.columns))), 0)

    def _replacing(self, j: int, groups: Codes) -> PersonRows:
        columns = (*self.columns[:j], _grouped(self.columns[j], groups), *self.columns[j + 1 :])
        return _merged(columns, self.rows, self.persons, self.k)

    def leaving(self, order: Sequence[int]) -> list[int]:
        """The rows in small classes with all columns, and after each of `order` has left; 0 when none is left."""
        left, now, counts = list(range(len(self.columns))), self, [self.below()]
        for j in order[:-1]:
            now = now.without(left.index(j))
            left.remove(j)
            counts.append(now.below())
        return [*counts, 0]


Atoms: TypeAlias = Rows | PersonRows


def atoms_of(columns: Sequence[Codes], found: Classes, k: int) -> Atoms:
    """The coded columns of a table with the classes `found`."""
    if found.persons is None:
        label = Codes(values=found.labels, n=found.n_classes)
        return Rows(columns=tuple(columns), n=len(found.labels), k=k)._thinned(label)
    who = Codes(values=found.persons, n=int(found.persons.max(initial=-1)) + 1)
    return _merged(columns, np.ones(len(found.persons), dtype=np.int64), who, k)


def _smaller(atoms: PersonRows, places: tuple[int, ...], first: int) -> Iterator[tuple[int, int]]:
    """This set, and all that leave out columns at positions from `first` on: each set is met once."""
    yield sum(1 << place for place in places), atoms.below()
    for i, place in enumerate(places):
        if place >= first and len(places) > 1:
            yield from _smaller(atoms.without(i), (*places[:i], *places[i + 1 :]), place + 1)


def _merged(columns: Sequence[Codes], rows: IntArray, persons: Codes, k: int) -> PersonRows:
    key = combine([*columns, persons])
    shown = np.empty(key.n, dtype=np.int64)
    shown[key.values] = np.arange(len(rows))
    return PersonRows(
        columns=_some(columns, shown),
        rows=np.bincount(key.values, weights=rows, minlength=key.n).astype(np.int64),
        persons=Codes(values=persons.values[shown], n=persons.n),
        k=k,
    )


def _grouped(column: Codes, groups: Codes) -> Codes:
    return Codes(values=groups.values[column.values], n=groups.n)


def _some(columns: Sequence[Codes], rows: IntArray) -> tuple[Codes, ...]:
    return tuple(Codes(values=column.values[rows], n=column.n) for column in columns)
