"""Counting many sets of columns at once: rows that are alike in all columns are looked at as one.

An *atom* is a distinct combination of the columns (and of the person, where persons have several rows), with its number
of rows. Leaving a column out merges atoms, so a smaller set of columns is counted from the atoms of a larger
one, not from the rows: the cost falls with every column that goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import IntArray
from shoal.equivalence import Codes, combine

__all__ = ["Atoms", "atoms_of", "every_subset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Atoms:
    """Distinct combinations.

    Parameters
    ----------
    columns
        The codes of each column, by atom.
    rows
        The number of rows of each atom.
    persons
        The person of each atom; None where each row is a person.
    """

    columns: tuple[Codes, ...]
    rows: IntArray
    persons: Codes | None

    def without(self, j: int) -> Atoms:
        """The atoms of all columns but the one at position `j`."""
        return _merged([*self.columns[:j], *self.columns[j + 1 :]], self.rows, self.persons)

    def replacing(self, j: int, column: Codes) -> Atoms:
        """The atoms with another, coarser column at position `j`."""
        return _merged([*self.columns[:j], column, *self.columns[j + 1 :]], self.rows, self.persons)

    def sizes(self) -> IntArray:
        """The number of persons in the class of each atom."""
        if self.persons is None:
            return self.rows
        label = combine(self.columns, n_rows=len(self.rows))
        return np.bincount(label.values, minlength=label.n)[label.values]

    def below(self, k: int) -> int:
        """The number of rows in classes of fewer than `k` persons."""
        return int(self.rows[self.sizes() < k].sum())


def atoms_of(columns: Sequence[Codes], persons: IntArray | None) -> Atoms:
    """The atoms of a table's coded columns."""
    n = len(columns[0].values)
    who = None if persons is None else Codes(values=persons, n=int(persons.max(initial=-1)) + 1)
    return _merged(columns, np.ones(n, dtype=np.int64), who)


def every_subset(atoms: Atoms, k: int) -> Iterator[tuple[int, int]]:
    """The rows in classes below `k` for every set of columns, as pairs of a bit mask and a count, the largest first."""
    d = len(atoms.columns)
    yield from _smaller(atoms, tuple(range(d)), 0, k)


def _smaller(atoms: Atoms, places: tuple[int, ...], first: int, k: int) -> Iterator[tuple[int, int]]:
    """This set, and all that leave out columns at positions from `first` on: each set is met once."""
    yield sum(1 << place for place in places), atoms.below(k)
    for i, place in enumerate(places):
        if place >= first:
            yield from _smaller(atoms.without(i), (*places[:i], *places[i + 1 :]), place + 1, k)


def _merged(columns: Sequence[Codes], rows: IntArray, persons: Codes | None) -> Atoms:
    key = combine(columns if persons is None else [*columns, persons], n_rows=len(rows))
    shown = np.empty(key.n, dtype=np.int64)
    shown[key.values] = np.arange(len(rows))
    return Atoms(
        columns=tuple(Codes(values=column.values[shown], n=column.n) for column in columns),
        rows=np.bincount(key.values, weights=rows, minlength=key.n).astype(np.int64),
        persons=None if persons is None else Codes(values=persons.values[shown], n=persons.n),
    )
