"""Counting: tables of single columns, of pairs, and of a column given a key made of its parents.

A building block of column i is the row of counts of x_i for one value of the key h(x_−i), the combination of its
parents. Keys are mixed-radix numbers, so a block is an index into a flat array.

From noisy tables to margins that agree: one estimate of every column's distribution, non-negative, with one total.

The margin of a column is seen in its own table and in every pair that it is part of. The sum of C_j noisy cells has C_j
times the variance, so the sightings are averaged with weights 1/variance; the total likewise. Then every margin is
projected onto the distributions with that total (the nearest one in Euclidean distance), and a missing cell that can't
be told from no missing values at all is set to 0. All of it is computed from noisy tables: it costs nothing more.

How much of a noisy deviation to believe: cell by cell, and by the few patterns that a table of ties is made of.

D is a table of deviations from what was expected, D = truth + noise, the noise independent with variance s². Two
estimates of the truth, averaged with weights 1/3 and 2/3:

- *cell by cell*: a prior N(0, v) for each cell gives the posterior mean τ D, τ = v / (v + s²);
- *by patterns*: ties between two columns are mostly of low rank (older people stay longer), noise is not. Singular
  values y of a D, with a = √(τ / max τ) so that cells without hope don't add their noise, are set to 0 within the reach
  of noise and shrunk beyond,

      η(y) = √((y² − β − 1)² − 4β) / y  for y > 1 + √β,  β = rows / columns, y in units of s √columns,

  the shrinkage of least squared error for equal noise (Gavish and Donoho, "Optimal shrinkage of singular values",
  2017), and weighted by a once more.

The second errs where a tie has full rank (a copy of a column), the first where it is faint in every cell; together they
were as good as the better of them, or better, on the tables that they were tried on. All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.errors import ParameterError

__all__ = [
    "NoisyTables",
    "believed",
    "block_counts",
    "check_blocks",
    "check_keys",
    "counts_by_key",
    "dependence",
    "keys",
    "low_rank",
    "mean_of_two",
    "mutual_information",
    "n_keys",
    "one_way",
    "pair_counts",
    "project",
]

MOST_KEYS = 2_000_000
_SEEN = 3.0  # standard deviations: a missing cell below is taken for noise
_PATTERNS = 2 / 3
_FEW = 3  # rows or columns below which patterns can't be told from cells


def one_way(codes: IntArray, sizes: Sequence[int]) -> list[IntArray]:
    """Counts of every column."""
    return [_count(codes[:, i], size) for i, size in enumerate(sizes)]


def pair_counts(codes: IntArray, sizes: Sequence[int], i: int, j: int) -> IntArray:
    """Cross-table of columns i and j."""
    return _count(codes[:, i] * sizes[j] + codes[:, j], sizes[i] * sizes[j]).reshape(sizes[i], sizes[j])


def n_keys(sizes: Sequence[int], parents: Sequence[int]) -> int:
    """Number of keys that `parents` can form."""
    return math.prod(sizes[j] for j in parents)


def keys(codes: AnyArray, sizes: Sequence[int], parents: Sequence[int]) -> IntArray:
    """The key of each row: its parents' cells as one number."""
    key = np.zeros(len(codes), dtype=np.int64)
    for j in parents:
        key = key * sizes[j] + codes[:, j]
    return key


def check_keys(sizes: Sequence[int], i: int, parents: Sequence[int]) -> None:
    """Refuse parents of column i that form too many keys."""
    check_blocks(n_keys(sizes, parents), sizes[i])


def check_blocks(H: int, C: int) -> None:
    """Refuse building blocks of too many cells."""
    if H * C > MOST_KEYS:
        raise ParameterError(
            "PeGS", "the parents of a column must have fewer combinations", got=f"{H:,} keys", hint="Use fewer parents."
        )


def block_counts(codes: IntArray, sizes: Sequence[int], i: int, parents: Sequence[int]) -> IntArray:
    """Counts n_ij of column i for every key: one building block a row."""
    check_keys(sizes, i, parents)
    return counts_by_key(keys(codes, sizes, parents), n_keys(sizes, parents), codes[:, i], sizes[i])


def counts_by_key(key: IntArray, H: int, cells: IntArray, C: int) -> IntArray:
    """Counts of the cells of a column for each of H keys."""
    return _count(key * C + cells, H * C).reshape(H, C)


def mutual_information(pair: IntArray) -> float:
    """Mutual information of a cross-table, in nats."""
    p = pair / max(1, pair.sum())
    product = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    held = p > 0
    return float((p[held] * np.log(p[held] / product[held])).sum())


def dependence(pair: IntArray) -> int:
    """Σ |n_ij − n_i n_j / n|, rounded: how far two columns are from independent, in records.

    One record added or removed changes Σ |n_ij| by 1 and Σ |n_i n_j / n| by at most 3, so the sum by at most 4, and the
    rounded sum by at most 5.
    """
    n = pair.sum()
    product = pair.sum(axis=1, keepdims=True) * pair.sum(axis=0, keepdims=True) / max(1, n)
    return round(float(np.abs(pair - product).sum()))


def distance(pair: IntArray, expected: FloatArray) -> int:
    """Σ |n_ij − e_ij| for public whole numbers e: one record changes it by at most 1."""
    return int(np.abs(pair - np.rint(expected).astype(np.int64)).sum())


def _count(index: IntArray, size: int) -> IntArray:
    return np.bincount(index, minlength=size).astype(np.int64)


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

    def margins(self, missing: Sequence[int | None]) -> tuple[list[FloatArray], float]:
        """The distribution of every column (shares), and the total number of records; `missing` are missing cells."""
        seen = [self._sightings(i) for i in range(len(self.one))]
        weight = [1 / (variance * len(values)) for values, variance in seen]
        sums = [float(values.sum()) for values, _ in seen]
        total = max(1.0, float(np.average(sums, weights=weight)))
        shares = [
            _without_noise_cell(values, total, variance, cell) / total
            for (values, variance), cell in zip(seen, missing, strict=True)
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


def _without_noise_cell(values: FloatArray, total: float, variance: float, missing: int | None) -> FloatArray:
    """Counts that sum to `total`; a missing cell that can't be told from noise has none, and the others have it all."""
    if missing is None or len(values) < 2 or project(values, total)[missing] >= _SEEN * math.sqrt(variance):
        return project(values, total)
    known = np.arange(len(values)) != missing
    counts = np.zeros(len(values))
    counts[known] = project(values[known], total)
    return counts


def believed(D: FloatArray, prior: FloatArray, variance: float) -> FloatArray:
    """The estimate of the truth behind D, given its cells' prior variances and that of the noise."""
    trust = prior / (prior + variance)
    cell_by_cell = trust * D
    if min(D.shape) < _FEW:
        return np.asarray(cell_by_cell, dtype=np.float64)
    a = np.sqrt(trust / trust.max())
    patterns = a * low_rank(a * D, variance * float((a**2).mean()))
    return np.asarray(
        _PATTERNS * patterns + (1 - _PATTERNS) * cell_by_cell if patterns.any() else cell_by_cell, dtype=np.float64
    )


def low_rank(D: FloatArray, variance: float) -> FloatArray:
    """D with its singular values shrunk as far as noise of this variance asks for."""
    if D.shape[0] > D.shape[1]:
        return low_rank(D.T, variance).T
    U, values, V = np.linalg.svd(D, full_matrices=False)
    unit = math.sqrt(variance * D.shape[1])
    return np.asarray((U * (unit * _shrunk(values / unit, D.shape[0] / D.shape[1]))) @ V, dtype=np.float64)


def _shrunk(y: FloatArray, beta: float) -> FloatArray:
    seen = y > 1 + math.sqrt(beta)
    kept = np.where(seen, y, 1.0 + math.sqrt(beta))
    return np.where(seen, np.sqrt(np.maximum((kept**2 - beta - 1) ** 2 - 4 * beta, 0.0)) / kept, 0.0)
