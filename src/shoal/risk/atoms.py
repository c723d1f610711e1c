"""Counting many sets of columns at once: how many rows are in classes of fewer than k persons on each of them.

Where each row is a person (`Rows`) three facts save most of the work. Rows beyond the k-th of a combination change
nothing: they are left out. A row in a small class stays in one whatever column is added, and its class has only such
rows: sets grow column by column, and go on with the other rows. And columns with most values come first, so that few
rows are left soon.

Where persons have several rows (`PersonRows`) rows that are alike in all columns and the person are looked at as one,
and a set is counted from the combinations of a larger one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from shoal.arrays import IntArray
from shoal.equivalence import Classes, Codes, combine
from shoal.risk.small_classes import first_of_each, in_small_classes, larger_classes, n_in_small_classes

__all__ = ["Atoms", "PersonRows", "Rows", "atoms_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Coded columns of `n` rows that are a person each; those beyond the k-th of a combination may be left out."""

    columns: tuple[Codes, ...]
    n: int
    k: int

    def without(self, j: int) -> Rows:
        """All columns but the one at position `j`."""
        return replace(self, columns=(*self.columns[:j], *self.columns[j + 1 :]))

    def replacing(self, j: int, groups: Codes) -> Rows:
        """With the values of the column at position `j` put into groups."""
        return replace(self, columns=_replaced(self.columns, j, groups))

    def below(self) -> int:
        """The number of rows in classes of fewer than `k` persons."""
        key = combine(self.columns, n_rows=self.n, dense=False)
        return n_in_small_classes(key, self.k)

    def every_subset(self) -> Iterator[tuple[int, int]]:
        """The rows in small classes for every set of columns but the empty one, by bit mask."""
        order = sorted(range(len(self.columns)), key=lambda j: -self.columns[j].n)
        now = self
        for i, j in enumerate(order):
            now = now._thinned(order[i:])
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

    def _thinned(self, places: Sequence[int]) -> Rows:
        """Without the rows beyond the k-th that are alike in the columns `places`, which are all that is asked for."""
        label = combine([self.columns[j] for j in places])
        if 2 * self.k * label.n > len(label.values):
            return self
        kept = first_of_each(label.values, self.k)
        return replace(self, columns=_some(self.columns, kept), n=len(kept))


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

    def replacing(self, j: int, groups: Codes) -> PersonRows:
        """With the values of the column at position `j` put into groups."""
        return _merged(_replaced(self.columns, j, groups), self.rows, self.persons, self.k)

    def below(self) -> int:
        """The number of rows in classes of fewer than `k` persons."""
        label = combine(self.columns, n_rows=len(self.rows))
        return int(self.rows[in_small_classes(label, self.k)].sum())

    def every_subset(self) -> Iterator[tuple[int, int]]:
        """The rows in small classes for every set of columns but the empty one, by bit mask."""
        yield from _smaller(self, tuple(range(len(self.columns))), 0)

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
        return Rows(columns=tuple(columns), n=len(found.labels), k=k)._thinned(range(len(columns)))
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


def _replaced(columns: Sequence[Codes], j: int, groups: Codes) -> tuple[Codes, ...]:
    coarse = Codes(values=groups.values[columns[j].values], n=groups.n)
    return (*columns[:j], coarse, *columns[j + 1 :])


def _some(columns: Sequence[Codes], rows: IntArray) -> tuple[Codes, ...]:
    return tuple(Codes(values=column.values[rows], n=column.n) for column in columns)
