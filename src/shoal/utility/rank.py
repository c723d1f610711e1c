"""Whether frequent categories stay the frequent ones: rank agreement of category frequencies.

Kendall's tau-b counts pairs of categories that both tables put in the same order against those they put in opposite
orders, corrected for ties; Spearman's rho is the correlation of midranks. (The formulas printed in 001 have a wrong
sign and a wrong centre.) Both are 1 for the same order and -1 for the opposite one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.pair import Pair
from shoal.record import Record
from shoal.schema import Role, Schema
from shoal.utility.cells import Cells, grid, shares
from shoal.utility.tables import both_columns, row_weights, side_by_side

__all__ = ["ColumnRanks", "Ranks", "kendall_tau_b", "ranks", "ranks_of", "spearman_rho"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRanks(Record):
    """Rank agreement of one column's `n_cells` categories."""

    column: str
    role: Role
    n_cells: int
    kendall: float
    spearman: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks(Record):
    """Rank agreement by column, and its mean; None where no column has two categories to rank."""

    columns: tuple[ColumnRanks, ...]
    kendall: float | None
    spearman: float | None
    weighted: bool


def ranks(original: Any, released: Any, schema: Schema, source_rows: Any = None, *, weighted: bool = False) -> Ranks:
    """Kendall's tau-b and Spearman's rho of the category frequencies of each column.

    Parameters
    ----------
    original, released, schema, source_rows
        The two tables and what their columns are; rows need not correspond.
    weighted
        Count each row with the weight column of its own table.

    Notes
    -----
    Columns with categories are those of levels and numeric ones with at most 50 distinct values in the original;
    others are left out, because quantile bins are equally frequent by design. A category that occurs in one table
    only has frequency 0 in the other. Where both tables have all frequencies equal the agreement is 1, where one has
    it is 0. Missing is a category of its own.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.utility import ranks
    >>> original = pl.DataFrame({"town": ["a"] * 3 + ["b"] * 2 + ["c"]})
    >>> released = pl.DataFrame({"town": ["a"] * 2 + ["b"] * 3 + ["c"]})
    >>> round(ranks(original, released, shoal.Schema.of(quasi=["town"])).spearman, 3)
    0.5
    """
    return ranks_of(side_by_side(original, released, schema, source_rows), weighted=weighted)


def ranks_of(pair: Pair, *, weighted: bool = False) -> Ranks:
    """`ranks` of a pair that is already at hand."""
    weights = row_weights(pair, weighted, "ranks")
    return agree(grid(both_columns(pair), weights[0], bins=2), *weights, weighted=weighted)


def agree(columns: Sequence[Cells], original: FloatArray, released: FloatArray, *, weighted: bool = False) -> Ranks:
    """Rank agreement of every column that has categories."""
    ranked = [_column(cells, original, released) for cells in columns if not cells.binned]
    found = tuple(one for one in ranked if one.n_cells > 1)
    return Ranks(
        columns=found,
        kendall=float(np.mean([one.kendall for one in found])) if found else None,
        spearman=float(np.mean([one.spearman for one in found])) if found else None,
        weighted=weighted,
    )


def _column(cells: Cells, original: FloatArray, released: FloatArray) -> ColumnRanks:
    p, q = shares(cells.original, cells.size, original), shares(cells.released, cells.size, released)
    occurs = (p > 0) | (q > 0)
    return ColumnRanks(
        column=cells.name,
        role=cells.role,
        n_cells=int(occurs.sum()),
        kendall=kendall_tau_b(p[occurs], q[occurs]),
        spearman=spearman_rho(p[occurs], q[occurs]),
    )


def kendall_tau_b(p: FloatArray, q: FloatArray) -> float:
    """(concordant - discordant) / sqrt(pairs untied in p x pairs untied in q)."""
    p_ranks, q_ranks = _dense(p), _dense(q)
    untied_p, untied_q = _untied(p_ranks), _untied(q_ranks)
    if untied_p == 0 or untied_q == 0:
        return float(untied_p == untied_q)
    return float(np.clip(_concordance(p_ranks, q_ranks) / np.sqrt(untied_p * untied_q), -1.0, 1.0))


def spearman_rho(p: FloatArray, q: FloatArray) -> float:
    """Correlation of midranks."""
    a, b = _midranks(p), _midranks(q)
    spread = float(np.sqrt((a @ a) * (b @ b)))
    if spread == 0:
        return float(not a.any() and not b.any())
    return float(np.clip((a @ b) / spread, -1.0, 1.0))


def _concordance(p_ranks: IntArray, q_ranks: IntArray) -> float:
    """Concordant minus discordant pairs, one step per distinct value of p."""
    seen = np.zeros(int(q_ranks.max()) + 2)
    order = np.argsort(p_ranks, kind="stable")
    balance = 0.0
    for group in np.split(q_ranks[order], np.flatnonzero(np.diff(p_ranks[order])) + 1):
        up_to = np.cumsum(seen)
        balance += float((up_to[group] - (up_to[-1] - up_to[group + 1])).sum())
        seen += np.bincount(group + 1, minlength=len(seen))
    return balance


def _dense(values: FloatArray) -> IntArray:
    """Ranks from 0 without gaps; shares that differ by rounding only are tied."""
    ordered = np.sort(values)
    steps = np.concatenate([[0], np.cumsum(np.diff(ordered) > 1e-12)])
    numbers = np.empty(len(values), dtype=np.int64)
    numbers[np.argsort(values, kind="stable")] = steps
    return numbers


def _untied(dense: IntArray) -> float:
    n, sizes = len(dense), np.bincount(dense)
    return float(n * (n - 1) - (sizes * (sizes - 1)).sum()) / 2


def _midranks(values: FloatArray) -> FloatArray:
    dense = _dense(values)
    sizes = np.bincount(dense)
    middles = np.cumsum(sizes) - (sizes - 1) / 2
    return middles[dense] - (len(values) + 1) / 2
