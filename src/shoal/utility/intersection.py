"""How far the joint distribution of the quasi-identifiers is kept: histogram intersection.

With p and q the shares of the combinations of quasi-identifiers in the original and in the release::

    intersection = sum over combinations of min(p, q)  =  1 - total variation

1 means the same distribution, 0 means no combination in common. Two samples of one population do not reach 1: a
release that draws anew differs from the original as a bootstrap does, so `bootstrap_intersection` is the number to
compare with.

How far the one- and two-way distributions are kept: total variation of every column and pair of columns.

Total variation is half the sum of |p - q| over the cells of a table: 0 for equal distributions, 1 for disjoint ones.
It is measured for each quasi-identifier, for each pair of them, and for each pair of a quasi-identifier and a
sensitive column (where x and y come apart as groups grow). A finite sample never reaches 0 unless it is the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.frame import enter
from shoal.pair import Pair
from shoal.record import Interval, Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.tables import (
    Cells,
    both_columns,
    check_whole,
    grid,
    joint,
    quasi_columns,
    row_weights,
    shares,
    side_by_side,
)

__all__ = [
    "BootstrapIntersection",
    "Order",
    "TotalVariation",
    "bootstrap_intersection",
    "bootstrap_intersection_of",
    "histogram_intersection",
    "histogram_intersection_of",
    "total_variation",
    "total_variation_of",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapIntersection(Record):
    """What plain bootstraps of the original reach: their mean, and the range in which 95% of them fall."""

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


_DENSE = 8  # cells per row up to which a full table of a pair is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Record):
    """All distributions of one sort: mean and largest total variation, and each one by its columns.

    Where `n_measured` is less than `n_all`, they are a random sample: the mean is an estimate and the largest one a
    lower bound. `fresh` is the mean to expect of a fresh sample of the original, of as many rows as the release has;
    None where rows are weighted.
    """

    mean: float | None
    largest: float | None
    n_measured: int
    n_all: int
    by_columns: tuple[tuple[str, float], ...]
    fresh: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TotalVariation(Record):
    """Total variation of quasi-identifiers, of pairs of them, and of pairs with a sensitive column."""

    one_way: Order
    two_way: Order
    response: Order
    weighted: bool

    def __float__(self) -> float:
        """Mean over the two-way distributions; over the one-way ones where there is one column only."""
        return float(self.one_way.mean if self.two_way.mean is None else self.two_way.mean)  # type: ignore[arg-type]


def total_variation(
    original: Any,
    released: Any,
    schema: Schema,
    source_rows: Any = None,
    *,
    weighted: bool = False,
    bins: int = 20,
    most_pairs: int = 1000,
    seed: int = 0,
) -> TotalVariation:
    """Total variation of all one- and two-way distributions of the quasi-identifiers, and with sensitive columns.

    Parameters
    ----------
    original, released, schema, source_rows
        The two tables and what their columns are; rows need not correspond.
    weighted
        Count each row with the weight column of its own table.
    bins
        Number of quantile bins of a numeric column with more than 50 distinct values.
    most_pairs
        Above this number of pairs of one sort, that many are drawn at random; the result says so.
    seed
        Repeats that draw.

    Notes
    -----
    Missing is a value of its own. Cost: one pass over the rows per column and per pair.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.utility import total_variation
    >>> original = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]})
    >>> released = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    >>> result = total_variation(original, released, shoal.Schema.of(quasi=["a", "b"]))
    >>> result.one_way.largest, result.two_way.largest
    (0.0, 0.5)
    """
    pair = side_by_side(original, released, schema, source_rows)
    return total_variation_of(pair, weighted=weighted, bins=bins, most_pairs=most_pairs, seed=seed)


def total_variation_of(
    pair: Pair, *, weighted: bool = False, bins: int = 20, most_pairs: int = 1000, seed: int = 0
) -> TotalVariation:
    """`total_variation` of a pair that is already at hand."""
    check_whole("total_variation", "bins", bins, 2)
    check_whole("total_variation", "most_pairs", most_pairs, 1)
    weights = row_weights(pair, weighted, "total_variation")
    columns = grid(both_columns(pair), weights[0], bins)
    return vary(columns, *weights, most_pairs=most_pairs, rng=stream(seed, "total variation"), weighted=weighted)


def vary(
    columns: Sequence[Cells],
    original: FloatArray,
    released: FloatArray,
    *,
    most_pairs: int,
    rng: Generator,
    weighted: bool = False,
) -> TotalVariation:
    """Total variation of the columns and their pairs, rows weighted by `original` and `released`."""
    quasi = [cells for cells in columns if cells.role == "quasi"]
    sensitive = [cells for cells in columns if cells.role == "sensitive"]
    singles = [(cells.name, *_distance(cells, original, released)) for cells in quasi]
    orders = (
        _order(singles, len(quasi)),
        _pairs(list(combinations(quasi, 2)), original, released, most_pairs, rng),
        _pairs(list(product(quasi, sensitive)), original, released, most_pairs, rng),
    )
    one_way, two_way, response = (replace(order, fresh=None) if weighted else order for order in orders)
    return TotalVariation(one_way=one_way, two_way=two_way, response=response, weighted=weighted)


def _pairs(
    pairs: Sequence[tuple[Cells, Cells]], original: FloatArray, released: FloatArray, most: int, rng: Generator
) -> Order:
    chosen = np.sort(rng.permutation(len(pairs))[:most])
    measured = [
        (f"{a.name} x {b.name}", *_distance(_cross(a, b), original, released)) for a, b in (pairs[i] for i in chosen)
    ]
    return _order(measured, len(pairs))


def _order(measured: Sequence[tuple[str, float, float]], n_all: int) -> Order:
    found = [distance for _, distance, _ in measured]
    return Order(
        mean=float(np.mean(found)) if found else None,
        largest=max(found, default=None),
        n_measured=len(found),
        n_all=n_all,
        by_columns=tuple((name, distance) for name, distance, _ in measured),
        fresh=float(np.mean([expected for _, _, expected in measured])) if found else None,
    )


def _cross(a: Cells, b: Cells) -> Cells:
    size = a.size * b.size
    if size > _DENSE * (len(a.original) + len(a.released)):
        return joint([a, b])
    return Cells(
        name="pair",
        role=a.role,
        original=a.original * b.size + b.original,
        released=a.released * b.size + b.released,
        size=size,
    )


def _distance(cells: Cells, original: FloatArray, released: FloatArray) -> tuple[float, float]:
    """Total variation of a table, and what to expect of a fresh sample of as many rows."""
    p, q = shares(cells.original, cells.size, original), shares(cells.released, cells.size, released)
    return min(1.0, 0.5 * float(np.abs(p - q).sum())), fresh_variation(p, len(released))


def fresh_variation(p: FloatArray, n: int) -> float:
    """E of the total variation between the shares `p` and those of `n` rows drawn from them, exactly (de Moivre).

    A count X of the cell is binomial, and E|X − n p| = 2 ν (1 − p) C(n, ν) p^ν (1 − p)^(n − ν) with ν = ⌊n p⌋ + 1.
    """
    from scipy.special import gammaln

    p = p[(p > 0) & (p < 1)]
    v = np.floor(n * p) + 1
    ways = gammaln(n + 1) - gammaln(v + 1) - gammaln(np.maximum(n - v, 0) + 1)
    log = np.log(2 * v) + ways + v * np.log(p) + (n - v + 1) * np.log1p(-p)
    return 0.5 * float(np.exp(log[v <= n]).sum()) / n
