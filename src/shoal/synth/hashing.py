"""Min-hashing: keys of building blocks from all other columns at once, without choosing parents.

A row is the set of its items (column, level). A hash function t gives every item of the domain a random rank; the key
of column i is the item of least rank among those of the other columns,

    h_t(x_−i) = argmin over j ≠ i of rank_t(j, x_j),    Pr(h_t(x) = h_t(y)) = |x ∩ y| / |x ∪ y|,

so rows fall into one block the more often the more values they share (Broder 1997). Several functions together make
finer keys. Ranks are drawn without a look at the data: nothing is chosen, and nothing has to be paid for (section 3.2.2
of the thesis names min-hashing for wide tables of no structure).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import Generator, IntArray

__all__ = ["MinHash"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MinHash:
    """Hash functions over the items of a domain: `ranks` has a row for each function and a column for each item."""

    sizes: tuple[int, ...]
    ranks: IntArray

    @classmethod
    def draw(cls, sizes: Sequence[int], n_functions: int, rng: Generator) -> MinHash:
        """Random ranks for every item."""
        ranks = np.array([rng.permutation(sum(sizes)) for _ in range(n_functions)], dtype=np.int64)
        return cls(sizes=tuple(sizes), ranks=ranks)

    @property
    def n_keys(self) -> int:
        """Number of keys that the functions can form."""
        return int(self.ranks.shape[1] ** len(self.ranks))

    def keys(self, codes: IntArray, i: int) -> IntArray:
        """The key of each row for column i."""
        first = np.cumsum([0, *self.sizes[:-1]])
        items = np.delete(codes + first, i, axis=1)
        key = np.zeros(len(codes), dtype=np.int64)
        for ranks in self.ranks:
            least = ranks[items].argmin(axis=1)
            key = key * len(ranks) + items[np.arange(len(items)), least]
        return key
