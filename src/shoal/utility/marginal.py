"""How far each column's own distribution is kept, and its distribution given another column.

With p and q the shares of a column's C cells in the original and in the release::

    total variation = 1/2 sum |p - q|      MSE = 1/C sum (p - q)^2      MAE = 1/C sum |p - q|

over the C cells of the column that occur in either table. Conditional ones are the same for the shares within each
cell of another column, averaged over those of its cells that both tables have, with equal weight (001 section 3.3).

Whether frequent categories stay the frequent ones: rank agreement of category frequencies.

Kendall's tau-b counts pairs of categories that both tables put in the same order against those they put in opposite
orders, corrected for ties; Spearman's rho is the correlation of midranks. (The formulas printed in 001 have a wrong
sign and a wrong centre.) Both are 1 for the same order and -1 for the opposite one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.errors import ParameterError
from shoal.pair import Pair
from shoal.record import Record
from shoal.schema import Role, Schema
from shoal.utility.tables import (
    Cells,
    both_columns,
    check_whole,
    counts,
    grid,
    joint,
    row_weights,
    shares,
    side_by_side,
)

__all__ = [
    "ColumnMarginal",
    "ColumnRanks",
    "Distances",
    "Marginals",
    "Ranks",
    "kendall_tau_b",
    "marginals",
    "marginals_of",
    "ranks",
    "ranks_of",
    "spearman_rho",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Distances(Record):
    """Three distances between two distributions over the same cells; 0 means equal."""

    total_variation: float
    mse: float
    mae: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnMarginal(Record):
    """One column: distances of its marginal distribution and, if asked for, of its conditional ones.

    `n_cells` counts the cells that occur. `conditional` is None for the column conditioned on, and where no cell of
    that column occurs in both tables.
    """

    column: str
    role: Role
    n_cells: int
    marginal: Distances
    conditional: Distances | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginals(Record):
    """Every column's distances; `n_given_lost` cells of the column `given` occur in one table only and are left out."""

    columns: tuple[ColumnMarginal, ...]
    given: str | None
    n_given: int
    n_given_lost: int
    weighted: bool

    @property
    def total_variation(self) -> float:
        """Mean total variation over the columns."""
        return float(np.mean([column.marginal.total_variation for column in self.columns]))

    def __float__(self) -> float:
        return self.total_variation


def marginals(
    original: Any,
    released: Any,
    schema: Schema,
    source_rows: Any = None,
    *,
    given: str | None = None,
    weighted: bool = False,
    bins: int = 20,
) -> Marginals:
    """Distance between the distributions of each quasi-identifier and sensitive column in original and release.

    Parameters
    ----------
    original, released, schema, source_rows
        The two tables and what their columns are; rows need not correspond.
    given
        A quasi-identifier or sensitive column: compare the distributions within each of its cells too.
    weighted
        Count each row with the weight column of its own table.
    bins
        Number of quantile bins of a numeric column with more than 50 distinct values.

    Notes
    -----
    Missing is a value of its own. Cost: one pass over the rows per column, two where `given` is used.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.utility import marginals
    >>> original = pl.DataFrame({"sex": ["f", "f", "m", "m"]})
    >>> released = pl.DataFrame({"sex": ["f", "m", "m", "m"]})
    >>> marginals(original, released, shoal.Schema.of(quasi=["sex"])).columns[0].marginal
    Distances(total_variation=0.25, mse=0.0625, mae=0.25)
    """
    pair = side_by_side(original, released, schema, source_rows)
    return marginals_of(pair, given=given, weighted=weighted, bins=bins)


def marginals_of(pair: Pair, *, given: str | None = None, weighted: bool = False, bins: int = 20) -> Marginals:
    """`marginals` of a pair that is already at hand."""
    check_whole("marginals", "bins", bins, 2)
    weights = row_weights(pair, weighted, "marginals")
    columns = grid(both_columns(pair), weights[0], bins)
    return compare(columns, *weights, given=_find(columns, given), weighted=weighted)


def compare(
    columns: Sequence[Cells],
    original: FloatArray,
    released: FloatArray,
    *,
    given: Cells | None = None,
    weighted: bool = False,
) -> Marginals:
    """Distances of every column, rows weighted by `original` and `released`."""
    in_original, in_released = _occurring(given, original, released)
    return Marginals(
        columns=tuple(_column(cells, given, original, released) for cells in columns),
        given=given.name if given else None,
        n_given=int((in_original & in_released).sum()),
        n_given_lost=int((in_original ^ in_released).sum()),
        weighted=weighted,
    )


def _column(cells: Cells, given: Cells | None, original: FloatArray, released: FloatArray) -> ColumnMarginal:
    p, q = shares(cells.original, cells.size, original), shares(cells.released, cells.size, released)
    n_cells = int(((p > 0) | (q > 0)).sum())
    return ColumnMarginal(
        column=cells.name,
        role=cells.role,
        n_cells=n_cells,
        marginal=_distances(np.abs(p - q), n_cells),
        conditional=_conditional(cells, given, n_cells, original, released),
    )


def _distances(gaps: FloatArray, n_cells: int, n_given: int = 1) -> Distances:
    absolute, squared = float(gaps.sum()) / n_given, float((gaps**2).sum()) / n_given
    return Distances(total_variation=min(1.0, absolute / 2), mse=squared / n_cells, mae=absolute / n_cells)


def _conditional(
    cells: Cells, given: Cells | None, n_cells: int, original: FloatArray, released: FloatArray
) -> Distances | None:
    if given is None or given.name == cells.name:
        return None
    both = joint([given, cells])
    where = np.empty(both.size, dtype=np.int64)  # the given cell of each combination
    where[both.original], where[both.released] = given.original, given.released
    p, p_given = counts(both.original, both.size, original), counts(given.original, given.size, original)
    q, q_given = counts(both.released, both.size, released), counts(given.released, given.size, released)
    in_both = (p_given > 0) & (q_given > 0)
    if not in_both.any():
        return None
    kept = in_both[where]
    gaps = np.abs(p[kept] / p_given[where][kept] - q[kept] / q_given[where][kept])
    return _distances(gaps, n_cells, int(in_both.sum()))


def _occurring(given: Cells | None, original: FloatArray, released: FloatArray) -> tuple[BoolArray, BoolArray]:
    if given is None:
        return np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.bool_)
    return shares(given.original, given.size, original) > 0, shares(given.released, given.size, released) > 0


def _find(columns: Sequence[Cells], given: str | None) -> Cells | None:
    for cells in columns:
        if cells.name == given:
            return cells
    if given is None:
        return None
    raise ParameterError(
        "marginals", "given must name a quasi-identifier or a sensitive column that both tables have", got=repr(given)
    )


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
    ranked = [_ranked(cells, original, released) for cells in columns if not cells.binned]
    found = tuple(one for one in ranked if one.n_cells > 1)
    return Ranks(
        columns=found,
        kendall=float(np.mean([one.kendall for one in found])) if found else None,
        spearman=float(np.mean([one.spearman for one in found])) if found else None,
        weighted=weighted,
    )


def _ranked(cells: Cells, original: FloatArray, released: FloatArray) -> ColumnRanks:
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
