"""Counting: tables of single columns, of pairs, and of a column given a key made of its parents.

A building block of column i is the row of counts of x_i for one value of the key h(x_−i), the combination of its
parents. Keys are mixed-radix numbers, so a block is an index into a flat array.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.errors import ParameterError

__all__ = ["block_counts", "check_keys", "dependence", "keys", "mutual_information", "n_keys", "one_way", "pair_counts"]

MOST_KEYS = 2_000_000


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
    H = n_keys(sizes, parents)
    if H * sizes[i] > MOST_KEYS:
        raise ParameterError(
            "PeGS", "the parents of a column must have fewer combinations", got=f"{H:,} keys", hint="Use fewer parents."
        )


def block_counts(codes: IntArray, sizes: Sequence[int], i: int, parents: Sequence[int]) -> IntArray:
    """Counts n_ij of column i for every key: one building block a row."""
    check_keys(sizes, i, parents)
    H = n_keys(sizes, parents)
    return _count(keys(codes, sizes, parents) * sizes[i] + codes[:, i], H * sizes[i]).reshape(H, sizes[i])


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
