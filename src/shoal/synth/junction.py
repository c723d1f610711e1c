"""The junction tree of a set of small tables: cliques of columns, joined so that every table lies inside one of them.

Columns are eliminated one by one, always the one that forms the smallest clique with what is left of its neighbours
(Koller and Friedman, *Probabilistic Graphical Models*, 2009, chapter 9 and 10). The cliques that this leaves form a
tree in which the columns that two cliques share lie in all cliques between them, so distributions of cliques that agree
on what they share are one distribution of all columns. Only public numbers of levels and which tables were measured
play a part.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numba import njit

from shoal.arrays import AnyArray, BoolArray, FloatArray, IntArray

__all__ = ["Junction", "Region", "adjacency", "fitting", "junction", "projection"]

Region: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Junction:
    """Cliques (columns in ascending order), parents before children; `above` is a clique's parent, −1 for a root."""

    sizes: tuple[int, ...]
    cliques: tuple[Region, ...]
    above: tuple[int, ...]

    @property
    def n_cells(self) -> int:
        """Cells of all cliques together."""
        return sum(self.cells(clique) for clique in self.cliques)

    def cells(self, region: Region) -> int:
        """Cells of the table of these columns."""
        return math.prod(self.sizes[i] for i in region)

    def home(self, region: Region) -> int | None:
        """The smallest clique that holds a table, or None."""
        inside = [q for q, clique in enumerate(self.cliques) if set(region) <= set(clique)]
        return min(inside, key=lambda q: self.cells(self.cliques[q]), default=None)

    def shared(self, q: int) -> Region:
        """The columns that clique q shares with its parent."""
        above = set(self.cliques[self.above[q]]) if self.above[q] >= 0 else set()
        return tuple(i for i in self.cliques[q] if i in above)


def junction(sizes: Sequence[int], regions: Iterable[Region]) -> Junction:
    """The tree of cliques that holds all `regions`."""
    adjacent = adjacency(len(sizes), regions)
    order, ahead, _ = _eliminate(adjacent, np.array(sizes, dtype=np.float64))
    rank = np.argsort(order)
    cliques: list[set[int]] = []
    above: list[int] = []
    where: dict[int, int] = {}
    for v in (int(v) for v in order[::-1]):
        later = {int(u) for u in np.flatnonzero(ahead[v])}
        parent = where[min(later, key=lambda u: int(rank[u]))] if later else -1
        if later and cliques[parent] == later:
            cliques[parent].add(v)
            where[v] = parent
        else:
            where[v] = len(cliques)
            cliques.append({v, *later})
            above.append(parent)
    return Junction(sizes=tuple(sizes), cliques=tuple(tuple(sorted(c)) for c in cliques), above=tuple(above))


def adjacency(n: int, regions: Iterable[Region]) -> BoolArray:
    """Which columns lie in a table together."""
    adjacent = np.zeros((n, n), dtype=np.bool_)
    for region in regions:
        for i in region:
            for j in region:
                adjacent[i, j] = i != j
    return adjacent


def fitting(adjacent: BoolArray, sizes: Sequence[int], pairs: AnyArray, limit: float) -> BoolArray:
    """Which of the `pairs` (one a row) could be added so that the cliques keep to at most `limit` cells in all."""
    return np.asarray(_fitting(adjacent, np.array(sizes, dtype=np.float64), pairs, float(limit)), dtype=np.bool_)


def projection(clique: Region, sizes: Sequence[int], region: Region) -> IntArray:
    """For each cell of the clique's table, in C order, the cell of the region's table that it belongs to."""
    at = np.zeros([sizes[i] for i in clique], dtype=np.int64)
    stride = 1
    for i in reversed(region):
        shape = [sizes[i] if j == i else 1 for j in clique]
        at += (np.arange(sizes[i]) * stride).reshape(shape)
        stride *= sizes[i]
    return at.ravel()


@njit(cache=True, nogil=True)
def _eliminate(adjacent: BoolArray, sizes: FloatArray) -> tuple[IntArray, BoolArray, float]:
    """The order of elimination, each column's neighbours that come later, and the cells of all cliques on the way."""
    M = sizes.size
    A = adjacent.copy()
    weight = np.array([_weight(A, sizes, v) for v in range(M)])
    gone = np.zeros(M, dtype=np.bool_)
    order = np.empty(M, dtype=np.int64)
    cells = 0.0
    for step in range(M):
        v = np.argmin(np.where(gone, np.inf, weight))
        order[step], gone[v] = v, True
        cells += weight[v]
        near = np.flatnonzero(A[v])
        for a in near:
            A[a, v] = False
            for b in near:
                if a != b:
                    A[a, b] = True
        for a in near:
            weight[a] = _weight(A, sizes, int(a))
    return order, A, cells


@njit(cache=True, nogil=True)
def _weight(A: BoolArray, sizes: FloatArray, v: int) -> float:
    """Cells of the clique of a column and its neighbours."""
    w = sizes[v]
    for u in range(sizes.size):
        if A[v, u]:
            w *= sizes[u]
    return min(float(w), 1e300)


@njit(cache=True, nogil=True)
def _fitting(adjacent: BoolArray, sizes: FloatArray, pairs: AnyArray, limit: float) -> BoolArray:
    A = adjacent.copy()
    out = np.zeros(pairs.shape[0], dtype=np.bool_)
    for k in range(pairs.shape[0]):
        i, j = pairs[k, 0], pairs[k, 1]
        was = A[i, j]
        A[i, j] = A[j, i] = True
        out[k] = _eliminate(A, sizes)[2] <= limit
        A[i, j] = A[j, i] = was
    return out
