"""The people of a release that is about to be written, as the register will keep them.

Beside marks, labels and signatures (`shoal.register.person_marks`) it gives the sample of people by which columns are
known again under other names and in other units (`shoal.register.column_links`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, IntArray, distinct_numbers, numbered
from shoal.register.column_links import Sample
from shoal.register.person_marks import People, digests, persons_of, row_hashes

__all__ = ["Draft"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Draft:
    """The people of a release that is about to be written.

    Parameters
    ----------
    key
        The register's key.
    marks
        Who each of its rows belongs to, as `row_hashes` gives it, 16 bytes.
    labels
        The group or class of each row.
    unchanged
        The columns of the rows that are released as they were.
    quasi
        The quasi-identifiers of the rows as they truly are.
    tied
        Whether more than these columns ties the rows of a person to those of other releases, as linked tables do: then
        every person is taken to carry a token.
    """

    key: bytes
    marks: AnyArray
    labels: IntArray
    unchanged: pl.DataFrame
    quasi: pl.DataFrame
    tied: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """What is released unchanged."""
        return tuple(sorted(self.unchanged.columns))

    @cached_property
    def people(self) -> People:
        """The people as they are kept."""
        first, whose = self._persons
        labels = _of_sets(self.key, self.labels, whose, len(first))
        return People(marks=self.marks[first], labels=labels, signatures=self.signatures(self.columns))

    @property
    def row_labels(self) -> AnyArray:
        """The label of each row's person."""
        return self.people.labels[self._persons[1]]

    @cached_property
    def sample(self) -> Sample:
        """What is kept of the columns, by which those of other releases are known again."""
        first, whose = self._persons
        return Sample.of(self.key, self.marks[first], whose, self.unchanged, self.quasi)

    def signatures(self, columns: Sequence[str]) -> AnyArray:
        """The signature of each person on some of the unchanged columns, in that order; people as in `people`."""
        first, whose = self._persons
        rows = row_hashes(self.key, "unchanged", self.unchanged.select(columns), len(self.labels))
        found = np.zeros(len(first), dtype=np.uint64)
        np.add.at(found, whose, rows[:, 0])
        return found

    @cached_property
    def _persons(self) -> tuple[IntArray, IntArray]:
        return persons_of(self.marks)


def _of_sets(key: bytes, labels: IntArray, whose: IntArray, n: int) -> AnyArray:
    """One label for each person: that of the set of groups that the rows are in."""
    groups, place = numbered(labels)
    hashes = np.frombuffer(digests(key, "group", map(str, groups.tolist())), dtype="<u8")[::2]
    pairs = distinct_numbers(whose * len(groups) + place)
    found = np.zeros(n, dtype=np.uint64)
    np.add.at(found, pairs // len(groups), hashes[pairs % len(groups)])
    return found
