"""From noisy tables to margins that agree: one estimate of every column's distribution, non-negative, with one total.

The margin of a column is seen in its own table and in every pair that it is part of. The sum of C_j noisy cells has C_j
times the variance, so the sightings are averaged with weights 1/variance; the total likewise. Then every margin is
projected onto the distributions with that total (the nearest one in Euclidean distance), and a missing cell that can't
be told from no missing values at all is set to 0. All of it is computed from noisy tables: it costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.arrays import FloatArray, IntArray

__all__ = ["NoisyTables", "mean_of_two", "project"]

_SEEN = 3.0  # standard deviations: a missing cell below is taken for noise


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyTables:
    """What was measured: one-way tables and pairs (i, j), i < j, with the variance of a cell's noise for each pair."""

    one: tuple[IntArray | FloatArray, ...]
    one_variance: float
    pairs: Mapping[tuple[int, int], IntArray | FloatArray] = field(default_factory=dict)
    pair_variance: Mapping[tuple[int, int], float] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return tuple(len(table) for table in self.one)

    def pair(self, i: int, j: int) -> FloatArray | None:
        """The noisy table of (i, j), rows by i, or None if it was not measured."""
        found = self.pairs.get((min(i, j), max(i, j)))
        return None if found is None else (found if i < j else found.T).astype(np.float64)

    def variance(self, i: int, j: int) -> float:
        """The variance of the noise of each cell of (i, j), which must have been measured."""
        return self.pair_variance[min(i, j), max(i, j)]

    def joined(
        self, pairs: Mapping[tuple[int, int], IntArray], variance: Mapping[tuple[int, int], float]
    ) -> NoisyTables:
        """With a further measurement of some pairs; what was measured twice is averaged with weights 1/variance."""
        tables: dict[tuple[int, int], IntArray | FloatArray] = dict(self.pairs)
        noise = dict(self.pair_variance)
        for pair, table in pairs.items():
            if pair in tables:
                tables[pair], noise[pair] = mean_of_two(tables[pair], noise[pair], table, variance[pair])
            else:
                tables[pair], noise[pair] = table, variance[pair]
        return NoisyTables(one=self.one, one_variance=self.one_variance, pairs=tables, pair_variance=noise)

    def margins(self, can_miss: Sequence[bool]) -> tuple[list[FloatArray], float]:
        """The distribution of every column (shares), and the total number of records."""
        seen = [self._sightings(i) for i in range(len(self.one))]
        weight = [1 / (variance * len(values)) for values, variance in seen]
        sums = [float(values.sum()) for values, _ in seen]
        total = max(1.0, float(np.average(sums, weights=weight)))
        shares = [
            _without_noise_cell(project(values, total), variance, can) / total
            for (values, variance), can in zip(seen, can_miss, strict=True)
        ]
        return [share / share.sum() for share in shares], total

    def _sightings(self, i: int) -> tuple[FloatArray, float]:
        """The weighted mean of what all tables say about column i, and its variance."""
        values, weight = self.one[i] / self.one_variance, 1 / self.one_variance
        for j, size in enumerate(self.sizes):
            table = self.pair(i, j) if j != i else None
            if table is not None:
                spread = self.variance(i, j) * size
                values = values + table.sum(axis=1) / spread
                weight += 1 / spread
        return values / weight, 1 / weight


def mean_of_two(
    one: IntArray | FloatArray, v: float, other: IntArray | FloatArray, w: float
) -> tuple[FloatArray, float]:
    """Two measurements of the same counts with variances v and w: their mean weighted by 1/variance, its variance."""
    joint = 1 / (1 / v + 1 / w)
    return np.asarray((one / v + other / w) * joint, dtype=np.float64), joint


def project(values: FloatArray, total: float) -> FloatArray:
    """The nearest vector without a negative number that sums to `total`."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(ordered > excess)[-1]
    return np.asarray(np.maximum(values - excess[last], 0.0), dtype=np.float64)


def _without_noise_cell(counts: FloatArray, variance: float, can_miss: bool) -> FloatArray:
    if not can_miss or len(counts) < 2 or counts[-1] >= _SEEN * math.sqrt(variance):
        return counts
    kept = counts.copy()
    kept[-1] = 0.0
    return kept if kept.sum() > 0 else counts
