"""Exact tables of counts, wherever the rows are: all that a fit with data-set scope asks of a table.

In memory they are counted from the cells of the rows (`RowCounts`). An engine counts them where the rows lie and sends
the sums (`shoal.release.on_engine.synthesize`). They are exact and private: only `shoal.synth.spend.Purse` may see
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.domain import Domain
from shoal.synth.tables import block_counts, one_way, pair_counts

__all__ = ["Counts", "RowCounts", "Tabulated", "part_counts"]


class Counts(Protocol):
    """What can be asked of a table; columns are named by their positions."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each column."""

    def one_way(self) -> list[IntArray]:
        """Counts of every column."""

    def pair(self, i: int, j: int) -> IntArray:
        """Cross-table of columns i and j."""

    def blocks(self, i: int, parents: Sequence[int]) -> IntArray:
        """Counts of column i for every key of its parents, a row each."""

    def parts(self, i: int, sizes: Sequence[int]) -> IntArray:
        """Records in each of the parts that the bins of column i are cut into; a missing number is in none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """Counted from rows in memory."""

    codes: IntArray
    sizes: tuple[int, ...]
    places: Mapping[int, FloatArray] = field(default_factory=dict)

    def one_way(self) -> list[IntArray]:
        """Counts of every column."""
        return one_way(self.codes, self.sizes)

    def pair(self, i: int, j: int) -> IntArray:
        """Cross-table of columns i and j."""
        return pair_counts(self.codes, self.sizes, i, j)

    def blocks(self, i: int, parents: Sequence[int]) -> IntArray:
        """Counts of column i for every key of its parents."""
        return block_counts(self.codes, self.sizes, i, parents)

    def parts(self, i: int, sizes: Sequence[int]) -> IntArray:
        """Records in each part of each bin of column i."""
        return part_counts(self.codes[:, i], self.places[i], sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tabulated:
    """A table held to its public domain: the domain, the exact counts of its rows, and what was done, in words."""

    domain: Domain
    counts: Counts
    notes: tuple[str, ...]


def part_counts(bins: IntArray, places: FloatArray, sizes: Sequence[int]) -> IntArray:
    """Records in each part of each bin, from where in its bin each number lies (NaN: nowhere)."""
    known = ~np.isnan(places)
    first, n = np.cumsum([0, *sizes]), np.array(sizes)
    part = np.minimum((places[known] * n[bins[known]] + 1e-9).astype(np.int64), n[bins[known]] - 1)
    return np.bincount(first[bins[known]] + part, minlength=int(first[-1])).astype(np.int64)
