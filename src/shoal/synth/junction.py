"""The junction tree of a set of small tables: cliques of columns, joined so that every table lies inside one of them.

Columns are eliminated one by one, always the one that forms the smallest clique with what is left of its neighbours
(Koller and Friedman, *Probabilistic Graphical Models*, 2009, chapter 9 and 10). The cliques that this leaves form a
tree in which the columns that two cliques share lie in all cliques between them, so distributions of cliques that agree
on what they share are one distribution of all columns. Only public numbers of levels and which tables were measured
play a part.

How a graphical model's budget is cut up: by public numbers and the noisy number of records alone.

Let B be the budget, C_r the cells of pair r, n the noisy number of records. The noise that all pairs would have if they
shared the whole budget, as mean total variation, is

    b = mean_r C_r E|noise at price B C_r^g / Σ C^g| / (2n),    g = 2/3 (zCDP) or 1/2 (pure ε; see `spend`).

A large b says that few pairs can be afforded and that one-way tables are worth more; a small one that all pairs can be
looked at, so money is kept back for that. With M columns:

|         | share of one-way tables         | picks K / (M − 1)    | kept back, of what is left   |
| ------- | ------------------------------- | -------------------- | ---------------------------- |
| with δ  | clip(0.1 + 0.45 b, 0.1, 0.4)    | clip(0.55/b, 0.6, 3) | clip(12 (0.09 − b), 0, 0.6) |
| pure ε  | clip(0.12 + 0.55 b, 0.12, 0.65) | clip(0.42/b, 0.4, 3) | nothing                     |

Under pure ε two looks of half the price are worth half of one, so below b = 0.035 nothing is chosen: all pairs are
measured at once, and the noisy tables themselves say which of them the model should hold. Above b = 3 a pair says less
than the one-way tables lose by its price, so these get everything and no pair is measured, unless the caller asks for
some.

The constants were set on five real tables and tried on others (see the docs). Shares are exact fractions, so that parts
of a budget add up to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numba import njit

from shoal.arrays import AnyArray, BoolArray, FloatArray, IntArray
from shoal.dp import Budget
from shoal.synth.spend import cell_weights

__all__ = [
    "CHOOSING",
    "FIRST",
    "Junction",
    "Plan",
    "Region",
    "adjacency",
    "blur",
    "fitting",
    "junction",
    "planned",
    "prices",
    "projection",
    "typical_error",
]

Region: TypeAlias = tuple[int, ...]
FIRST = Fraction(1, 20)  # of the budget: one-way tables from which the number of records is known
CHOOSING = Fraction(1, 10)  # of the budget: the choice of pairs
_FINE = 1000
_ALL_AT_ONCE = {"zcdp": 0.0, "pure": 0.035}  # noise up to which all pairs are measured in one look
_ALONE = 3.0  # noise from which no pair is measured


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
    A, near = adjacent.copy(), np.empty(M, dtype=np.int64)
    weight, gone, order = np.empty(M), np.zeros(M, dtype=np.bool_), np.empty(M, dtype=np.int64)
    for v in range(M):
        weight[v] = _weight(A, sizes, v)
    cells = 0.0
    for step in range(M):
        v = -1
        for u in range(M):
            if not gone[u] and (v < 0 or weight[u] < weight[v]):
                v = u
        order[step], gone[v] = v, True
        cells += weight[v]
        n_near = _neighbours(A, v, near)
        for a in near[:n_near]:
            A[a, v] = False
            for b in near[:n_near]:
                if a != b:
                    A[a, b] = True
        for a in near[:n_near]:
            weight[a] = _weight(A, sizes, a)
    return order, A, cells


@njit(cache=True, nogil=True)
def _neighbours(A: BoolArray, v: int, near: IntArray) -> int:
    n_near = 0
    for u in range(near.size):
        if A[v, u]:
            near[n_near] = u
            n_near += 1
    return n_near


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Shares of the budget and the number of pairs to choose.

    Parameters
    ----------
    one_way
        Share of the budget for one-way tables, the first look at them included.
    picks
        How many pairs are chosen.
    kept
        Share of what is left then (the price of choosing taken off) that is kept back for all pairs.
    at_once
        Whether all pairs are measured in one look, and none chosen.
    alone
        Whether one-way tables get everything, and no pair is measured.
    steps
        Steps of mirror descent: with much noise more of them fit noise.
    """

    one_way: Fraction
    picks: int
    kept: Fraction
    steps: int
    at_once: bool = False
    alone: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    share: tuple[float, float, float]
    picks: tuple[float, float]
    kept: tuple[float, float]

    def __call__(self, b: float, n_columns: int) -> Plan:
        M, P = n_columns, n_columns * (n_columns - 1) // 2
        low, slope, high = self.share
        each = min(max(self.picks[0] / max(b, 1e-9), self.picks[1]), 3.0)
        return Plan(
            one_way=_exact(min(max(low + slope * b, low), high)),
            picks=min(P, max(1, round(each * (M - 1)))),
            kept=_exact(min(max(self.kept[0] * (self.kept[1] - b), 0.0), 0.6)),
            steps=300 if b < 0.05 else 150,
        )


_RULES = {
    "zcdp": _Rule((0.1, 0.45, 0.4), (0.55, 0.6), (12, 0.09)),
    "pure": _Rule((0.12, 0.55, 0.65), (0.42, 0.4), (0, 0)),
}


def planned(b: float, n_columns: int, definition: str, *, asked: bool = False) -> Plan:
    """The plan at noise b; `asked`: pairs are measured whatever the noise."""
    plan = _RULES[definition](b, n_columns)
    if b > _ALONE and not asked:
        return replace(plan, one_way=Fraction(1), kept=Fraction(0), picks=0, alone=True)
    return replace(plan, at_once=b < _ALL_AT_ONCE[definition])


def blur(cells: Sequence[int], total: float, budget: Budget) -> float:
    """b: the noise of all tables as mean total variation, if they share `budget` by their cells."""
    weights = np.array(cell_weights(cells, budget.definition))
    sizes = typical_error(weights / weights.sum(), budget)
    return float(np.mean(np.array(cells) * sizes) / (2 * total))


def typical_error(parts: FloatArray, budget: Budget) -> FloatArray:
    """E|noise| of a cell whose table gets these parts of the budget."""
    if budget.definition == "zcdp":
        return np.asarray(1 / np.sqrt(math.pi * np.maximum(budget.rho * parts, 1e-300)), dtype=np.float64)
    return np.asarray(1 / np.maximum(budget.epsilon * parts, 1e-150), dtype=np.float64)


def prices(cells: Sequence[int], n_picks: int, money: Budget) -> list[Fraction]:
    """The part of `money` that each pair would cost if `n_picks` pairs of the usual size shared it by their cells."""
    weights = [max(1, round(_FINE * weight)) for weight in cell_weights(cells, money.definition)]
    return [Fraction(weight * len(weights), n_picks * sum(weights)) for weight in weights]


def _exact(share: float) -> Fraction:
    return Fraction(round(_FINE * share), _FINE)
