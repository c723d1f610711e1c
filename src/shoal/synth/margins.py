"""From noisy tables to margins that agree: one estimate of every column's distribution, non-negative, with one total.

The margin of a column is seen in its own table and in every pair that it is part of. The sum of C_j noisy cells has C_j
times the variance, so the sightings are averaged with weights 1/variance; the total likewise. Then every margin is
projected onto the distributions with that total (the nearest one in Euclidean distance), and a missing cell that can't
be told from no missing values at all is set to 0. All of it is computed from noisy tables: it costs nothing more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray

__all__ = ["NoisyTables", "project"]

_SEEN = 3.0  # standard deviations: a missing cell below is taken for noise


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyTables:
    """What was measured: one-way tables and pairs (i, j), i < j, each set with the variance of its noise."""

    one: tuple[IntArray | FloatArray, ...]
    one_variance: float
    pairs: Mapping[tuple[int, int], IntArray]
    pair_variance: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of cells of each column."""
        return tuple(len(table) for table in self.one)

    def pair(self, i: int, j: int) -> FloatArray | None:
        """The noisy table of (i, j), rows by i, or None if it was not measured."""
        found = self.pairs.get((min(i, j), max(i, j)))
        return None if found is None else (found if i < j else found.T).astype(np.float64)

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
                values = values + table.sum(axis=1) / (self.pair_variance * size)
                weight += 1 / (self.pair_variance * size)
        return values / weight, 1 / weight


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
