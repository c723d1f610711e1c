"""Which rows are in small classes, without numbering the classes.

Where the keys are few, each has a counter. Where they are many, rows are counted by a hash of the key first: a counter
below k holds classes below k only, and rows of different classes in one counter are rare. The others are sorted. So
the answer is exact, and for a table of mostly single records it costs a fraction of finding the distinct keys.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolArray, IntArray
from shoal.equivalence import Codes

__all__ = ["Larger", "first_of_each", "in_small_classes", "larger_classes", "n_in_small_classes"]

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
    """Whether each row's key is that of fewer than `k` rows. O(n), and n log n for the rows that share a counter."""
    if _few_keys(key):
        small: BoolArray = np.bincount(key.values, minlength=key.n) < k
        return small[key.values]
    found, left = _by_counter(key, k)
    order = np.argsort(key.values[left])
    _, sizes = _runs(key.values[left][order])
    found[left[order]] = np.repeat(sizes < k, sizes)
    return found


def n_in_small_classes(key: Codes, k: int) -> int:
    """How many rows have a key of fewer than `k` rows."""
    if _few_keys(key):
        sizes = np.bincount(key.values, minlength=key.n)
    else:
        _, left = _by_counter(key, k)
        _, sizes = _runs(np.sort(key.values[left]))
        return len(key.values) - int(sizes[sizes >= k].sum())
    return int(sizes[sizes < k].sum())


def larger_classes(key: Codes, k: int) -> Larger:
    """Count the rows in small classes and leave them out, with the other classes numbered from 0."""
    if not _few_keys(key):
        return _sorted_larger(key, k)
    sizes = np.bincount(key.values, minlength=key.n)
    large = sizes >= k
    n_small = len(key.values) - int(sizes[large].sum())
    if n_small <= _WORTH_IT * len(key.values):
        return Larger(n_small=n_small, rows=None, key=key)
    rows = np.flatnonzero(large[key.values])
    place = np.cumsum(large) - 1
    return Larger(n_small=n_small, rows=rows, key=Codes(values=place[key.values[rows]], n=int(large.sum())))


def _sorted_larger(key: Codes, k: int) -> Larger:
    _, left = _by_counter(key, k)
    order = np.argsort(key.values[left])
    _, sizes = _runs(key.values[left][order])
    large = sizes >= k
    rows = left[order[np.repeat(large, sizes)]]
    values = np.repeat(np.arange(int(large.sum())), sizes[large])
    return Larger(n_small=len(key.values) - len(rows), rows=rows, key=Codes(values=values, n=int(large.sum())))


def _few_keys(key: Codes) -> bool:
    return key.n <= 4 * len(key.values) + 2**16


def _by_counter(key: Codes, k: int) -> tuple[BoolArray, IntArray]:
    """Rows whose counter is below `k`, and the positions of the others."""
    bits = max(4 * len(key.values), 1024).bit_length()
    counter = ((key.values.astype(np.uint64) * _SPREAD) >> np.uint64(64 - bits)).astype(np.int64)
    few: BoolArray = np.bincount(counter, minlength=2**bits) < k
    found = few[counter]
    return found, np.flatnonzero(~found)


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
