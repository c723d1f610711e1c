"""Rows from a graphical model: drawn along its junction tree, then polished towards its tables of pairs.

Polishing: rows are moved, one cell at a time, until their tables of pairs meet their targets.

Rows drawn at random err by sampling, which at a large ε is most of the error. Let N be the table of a pair over all
rows, W its target scaled to as many rows. Rows are visited in random order, and each of their cells takes the level
that lowers

    Σ_pairs Σ_cells |N − W| + 0.02 (N − W)²

most, if any does. It stops when a round moves fewer than one row in a thousand, and after half a million visits (at
least three rounds): the first round takes away nine tenths of the error, and three rounds nearly all that any number
does. Only target tables and drawn rows are looked at: post-processing of noisy tables. Polished rows are not
independent draws, so intervals computed from them as if they were are wrong.

Cost of a round: rows times levels times columns. The cost of one more row in each cell is kept in a table for each
ordered pair of columns, so that all levels of a cell are weighed by adding up M − 1 short rows of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import polars as pl
from numba import njit

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.dp import Budget, ProtectedUnit
from shoal.rng import fresh_seed, stream
from shoal.synth.constraints import put, satisfying
from shoal.synth.counts import Tabulated
from shoal.synth.graph_measure import measure_graph
from shoal.synth.graphical import Graphical
from shoal.synth.junction import blur, planned
from shoal.synth.parents import Parents, Ties, all_pairs, ties_found
from shoal.synth.pegs_by_table import table_claims
from shoal.synth.spend import Purse
from shoal.synth.synthesizer import TableModel, refuse_start
from shoal.synth.tables import pair_counts

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = ["GraphModel", "fit_graph", "loss", "polished"]

Pair: TypeAlias = tuple[int, int]
MOST_POLISHED = 200_000  # rows: with more of them sampling errs little, and polishing takes long
_NOTHING = 1e-9  # of a share: a level that the model leaves empty
SQUARE = 0.02
_ROUNDS, _FEWEST_ROUNDS = 30, 3
_VISITS = 500_000  # of rows
_STILL = 0.001  # of the rows: a round that moves fewer is the last


class GraphModel(TableModel):
    """A graphical model of noisy tables (design "graph")."""

    kind: ClassVar[str] = "graph"

    def __init__(self, *, graphical: Graphical, targets: Mapping[Pair, FloatArray], **rest: Any) -> None:
        super().__init__(total=graphical.total, **rest)
        self.graphical, self.targets = graphical, dict(targets)

    @cached_property
    def tables(self) -> dict[Pair, FloatArray]:
        """The table of every pair that rows are polished towards."""
        return {**self.graphical.pair_tables(), **self.targets}

    @cached_property
    def _allowed(self) -> list[BoolArray]:
        return [share > _NOTHING for share in self.graphical.shares()]

    def draw_codes(self, n: int, start: IntArray | None, rng: Generator) -> IntArray:
        """Draw rows of cells."""
        refuse_start(start)
        rows = self.graphical.draw(n, rng)
        return polished(rows, self.tables, self._allowed, rng) if n <= MOST_POLISHED else rows

    def _sample(self, n: int, start: IntArray | None, seed: int | None) -> pl.DataFrame:
        """As every model does; with rules, polishing comes last and rows that it made break one stay as they were."""
        if not self.domain.rules or start is not None:
            return super()._sample(n, start, seed)
        rng = stream(fresh_seed() if seed is None else seed, "synth", "sample")
        rows = satisfying(self.domain, lambda m: self.graphical.draw(m, rng), n, rng)
        if n > MOST_POLISHED:
            return rows
        before = self.domain.encode(rows)
        after = polished(before, self.tables, self._allowed, rng)
        moved = np.flatnonzero((before != after).any(axis=1))
        fresh = self.domain.decode(after[moved], rng)
        return put(rows, moved[~self.domain.broken(fresh)], fresh.filter(~pl.Series(self.domain.broken(fresh))))

    def _body(self) -> dict[str, Any]:
        targets = [
            {"columns": list(pair), "table": [float(f"{v:.6g}") for v in table.ravel()]}
            for pair, table in self.targets.items()
        ]
        return {"graphical": self.graphical.to_dict(), "wanted": targets, "ties": self.ties.to_dict()}

    @classmethod
    def from_body(cls, words: Mapping[str, Any], **rest: Any) -> GraphModel:
        """Read the model back from what `save` wrote."""
        model = Graphical.from_dict(words["graphical"])
        sizes = model.tree.sizes
        targets = {
            (item["columns"][0], item["columns"][1]): np.array(item["table"]).reshape(
                [sizes[i] for i in item["columns"]]
            )
            for item in words["wanted"]
        }
        return cls(graphical=model, targets=targets, ties=Ties.from_dict(words), **rest)


def _pays_for(sizes: Sequence[int], total: float, n_seen: int) -> Callable[[Budget, int], bool]:
    """Whether a budget would choose so many pairs more than were seen."""
    pairs = all_pairs(len(sizes))
    cells = [sizes[i] * sizes[j] for i, j in pairs]

    def enough(budget: Budget, n_more: int) -> bool:
        plan = planned(blur(cells, total, budget), len(sizes), budget.definition)
        return plan.at_once or plan.picks >= min(n_seen + n_more, len(pairs))

    return enough


def fit_graph(
    pegs: PeGS, encoded: Tabulated, parents: Parents, purse: Purse, rng: Generator, unit: ProtectedUnit
) -> GraphModel:
    """Measure one-way tables and pairs, and fit the graphical model."""
    found, basis_lost = measure_graph(pegs, encoded, parents, purse)
    note = f"{len(found.seen.pairs)} of {len(all_pairs(len(encoded.domain.axes)))} pairs of columns were measured"
    claims, spent = table_claims(pegs, unit, basis_lost)
    one_variance = max(found.seen.variance[i,] for i in range(len(encoded.domain.axes)))
    margins = (found.model.shares(), found.model.total)
    more = _pays_for(encoded.domain.sizes, found.model.total, len(found.seen.pairs))
    ties = ties_found(pegs, encoded.domain, margins, one_variance, found.clear, more)
    return GraphModel(
        graphical=found.model,
        ties=ties,
        targets=found.targets,
        domain=encoded.domain,
        spent=spent,
        claims=claims,
        notes=(*ties.notes, *encoded.notes, note),
    )


def polished(
    Y: IntArray, targets: Mapping[tuple[int, int], FloatArray], allowed: Sequence[BoolArray], rng: Generator
) -> IntArray:
    """Rows near `Y` whose tables of pairs are near `targets`; a column only takes levels that are `allowed`.

    Wanted tables of all pairs (i, j), i < j, on any scale.
    """
    sizes = np.array([len(levels) for levels in allowed], dtype=np.int64)
    n, M = Y.shape
    if M < 2 or n == 0:
        return Y
    at, D = _gaps(Y, targets, sizes.tolist())
    add = _price(D + 1) - _price(D)
    may = np.concatenate(allowed)
    rows = np.ascontiguousarray(Y)
    for _ in range(_rounds(n)):
        if _round(rows, rng.permutation(n), sizes, at, D, add, may) < _STILL * n:
            break
    return np.asfortranarray(rows)


def _rounds(n: int) -> int:
    """The most rounds for n rows."""
    return min(_ROUNDS, max(_FEWEST_ROUNDS, _VISITS // n))


def loss(Y: IntArray, targets: Mapping[tuple[int, int], FloatArray], sizes: Sequence[int]) -> float:
    """What polishing lowers."""
    return float(sum(_price(_gap(Y, targets[i, j], sizes, i, j)).sum() for i, j in targets))


def _gap(Y: IntArray, table: FloatArray, sizes: Sequence[int], i: int, j: int) -> FloatArray:
    """N − W of a pair."""
    return np.asarray(pair_counts(Y, sizes, i, j) - table * (len(Y) / max(table.sum(), 1e-300)), dtype=np.float64)


def _gaps(
    Y: IntArray, targets: Mapping[tuple[int, int], FloatArray], sizes: Sequence[int]
) -> tuple[IntArray, FloatArray]:
    """N − W of all ordered pairs (i, j), each by rows of x_j and columns of x_i, flat, from at[i, j]."""
    M = len(sizes)
    at, parts, end = np.zeros((M, M), dtype=np.int64), [], 0
    for i in range(M):
        for j in range(M):
            if i != j:
                pair = (min(i, j), max(i, j))
                gap = _gap(Y, targets[pair], sizes, *pair)
                parts.append((gap.T if i < j else gap).ravel())
                at[i, j], end = end, end + gap.size
    return at, np.concatenate(parts)


def _price(D: FloatArray) -> FloatArray:
    return np.asarray(np.abs(D) + SQUARE * D * D, dtype=np.float64)


@njit(cache=True, nogil=True)
def _round(
    Y: IntArray, order: IntArray, sizes: IntArray, at: IntArray, D: FloatArray, add: FloatArray, may: BoolArray
) -> int:
    """Visit all rows once; gives how many changed."""
    M, moved = Y.shape[1], 0
    most = 0
    for size in sizes:
        most = max(most, size)
    gain = np.empty(most)
    for r in order:
        row, changed, first = Y[r], False, 0
        for i in range(M):
            C, a = sizes[i], row[i]
            some, free = gain[:C], may[first : first + C]  # slices: a loop over one from 0 up is vectorised
            some[:] = 0.0
            taken = 0.0
            for j in range(M):
                if j != i:
                    start = at[i, j] + row[j] * C
                    price = add[start : start + C]
                    for c in range(C):
                        some[c] += price[c]
                    d = D[start + a]
                    taken += abs(d - 1) - abs(d) + SQUARE * (1 - 2 * d)
            best, to = -1e-9, a
            for c in range(C):
                if some[c] + taken < best and c != a and free[c]:
                    best, to = some[c] + taken, c
            if to != a:
                _move(row, i, a, to, sizes, at, D, add)
                changed = True
            first += C
        moved += changed
    return moved


@njit(cache=True, nogil=True)
def _move(
    row: IntArray, i: int, a: int, to: int, sizes: IntArray, at: IntArray, D: FloatArray, add: FloatArray
) -> None:
    """Give column i of a row the level `to` in place of `a`, in the row and in all its tables."""
    for j in range(row.size):
        if j != i:
            for level, by in ((a, -1.0), (to, 1.0)):
                here = at[i, j] + row[j] * sizes[i] + level
                there = at[j, i] + level * sizes[j] + row[j]
                d = D[here] + by
                price = abs(d + 1) - abs(d) + SQUARE * (2 * d + 1)
                D[here] = D[there] = d
                add[here] = add[there] = price
    row[i] = to
