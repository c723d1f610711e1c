"""How far the joint distribution of the quasi-identifiers is kept: histogram intersection.

With p and q the shares of the combinations of quasi-identifiers in the original and in the release::

    intersection = sum over combinations of min(p, q)  =  1 - total variation

1 means the same distribution, 0 means no combination in common. Two samples of one population do not reach 1: a
release that draws anew differs from the original as a bootstrap does, so `bootstrap_intersection` is the number to
compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.frame import enter
from shoal.pair import Pair
from shoal.record import Interval, Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.cells import Cells, grid, joint, shares
from shoal.utility.tables import check_whole, quasi_columns, row_weights, side_by_side

__all__ = [
    "BootstrapIntersection",
    "bootstrap_intersection",
    "bootstrap_intersection_of",
    "histogram_intersection",
    "histogram_intersection_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapIntersection(Record):
    """What plain bootstraps of the original reach: their mean, and the range in which 95 % of them fall."""

    value: float
    interval: Interval
    draws: int

    def __float__(self) -> float:
        return self.value


def histogram_intersection(
    original: Any,
    released: Any,
    schema: Schema,
    source_rows: Any = None,
    *,
    weighted: bool = False,
    bins: int = 20,
) -> float:
    """Share of the distribution of the quasi-identifiers that original and release have in common, from 0 to 1.

    Parameters
    ----------
    original, released, schema
        The two tables and what their columns are. The release may have another number of rows.
    source_rows
        Accepted as everywhere; this measure needs no correspondence of rows.
    weighted
        Count each row with the weight column of its own table.
    bins
        Number of quantile bins of a numeric column with more than 50 distinct values; more bins see finer changes
        and bring the number down.

    Notes
    -----
    A released number counts at the nearest value of the original where that has at most 50 distinct values, so a
    centroid is rounded to the nearest level. Missing is a value of its own. Cost: one sort of all rows for about
    every twelve columns.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.utility import histogram_intersection
    >>> schema = shoal.Schema.of(quasi=["age", "sex"])
    >>> original = pl.DataFrame({"age": [30, 40, 50, 60], "sex": ["f", "f", "m", "m"]})
    >>> released = pl.DataFrame({"age": [31, 39, 50, 50], "sex": ["f", "f", "m", "m"]})
    >>> histogram_intersection(original, released, schema)
    0.75
    """
    pair = side_by_side(original, released, schema, source_rows)
    return histogram_intersection_of(pair, weighted=weighted, bins=bins)


def histogram_intersection_of(pair: Pair, *, weighted: bool = False, bins: int = 20) -> float:
    """`histogram_intersection` of a pair that is already at hand."""
    check_whole("histogram_intersection", "bins", bins, 2)
    weights = row_weights(pair, weighted, "histogram_intersection")
    return intersect(grid(quasi_columns(pair), weights[0], bins), *weights)


def bootstrap_intersection(
    original: Any,
    schema: Schema,
    *,
    weighted: bool = False,
    bins: int = 20,
    draws: int = 10,
    seed: int = 0,
) -> BootstrapIntersection:
    """What a plain bootstrap of the original reaches in `histogram_intersection`: the mark for a release.

    Parameters
    ----------
    original, schema
        The table and what its columns are.
    weighted, bins
        As in `histogram_intersection`.
    draws
        Number of bootstraps; more make the mean and the range steadier.
    seed
        Repeats the draws.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.utility import bootstrap_intersection
    >>> table = pl.DataFrame({"age": list(range(20, 60)) * 5})
    >>> 0.7 < float(bootstrap_intersection(table, shoal.Schema.of(quasi=["age"]))) < 0.9
    True
    """
    frame = enter(original)
    pair = side_by_side(frame, frame, schema)
    return bootstrap_intersection_of(pair, weighted=weighted, bins=bins, draws=draws, seed=seed)


def bootstrap_intersection_of(
    pair: Pair, *, weighted: bool = False, bins: int = 20, draws: int = 10, seed: int = 0
) -> BootstrapIntersection:
    """`bootstrap_intersection` of the original of a pair that is already at hand."""
    check_whole("bootstrap_intersection", "bins", bins, 2)
    check_whole("bootstrap_intersection", "draws", draws, 2)
    weights, _ = row_weights(pair, weighted, "bootstrap_intersection")
    return resample(grid(quasi_columns(pair), weights, bins), weights, draws, stream(seed, "bootstrap intersection"))


def intersect(columns: Sequence[Cells], original: FloatArray, released: FloatArray) -> float:
    """Σ min(p, q) over the joint of `columns`, rows weighted by `original` and `released`."""
    cells = joint(columns)
    return _overlap(shares(cells.original, cells.size, original), shares(cells.released, cells.size, released))


def resample(columns: Sequence[Cells], weights: FloatArray, draws: int, rng: Generator) -> BootstrapIntersection:
    """Intersections of the original with `draws` bootstraps of itself."""
    _, cells = np.unique(joint(columns).original, return_inverse=True)
    p = shares(cells, int(cells.max()) + 1, weights)
    reached = [_one_draw(cells, p, weights, rng) for _ in range(draws)]
    mean, spread = float(np.mean(reached)), 1.96 * float(np.std(reached, ddof=1))
    return BootstrapIntersection(value=mean, interval=(max(0.0, mean - spread), min(1.0, mean + spread)), draws=draws)


def _one_draw(cells: IntArray, p: FloatArray, weights: FloatArray, rng: Generator) -> float:
    rows = rng.integers(len(cells), size=len(cells))
    if weights[rows].sum() == 0:
        return 0.0
    return _overlap(p, shares(cells[rows], len(p), weights[rows]))


def _overlap(p: FloatArray, q: FloatArray) -> float:
    # Equal to the sum of min(p, q), and exactly 1 where p = q.
    return max(0.0, 1.0 - 0.5 * float(np.abs(p - q).sum()))
