"""How far the one- and two-way distributions are kept: total variation of every column and pair of columns.

Total variation is half the sum of |p - q| over the cells of a table: 0 for equal distributions, 1 for disjoint ones.
It is measured for each quasi-identifier, for each pair of them, and for each pair of a quasi-identifier and a
sensitive column (where x and y come apart as groups grow). A finite sample never reaches 0 unless it is the same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, Generator
from shoal.pair import Pair
from shoal.record import Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.cells import Cells, grid, joint, shares
from shoal.utility.tables import both_columns, check_whole, row_weights, side_by_side

__all__ = ["Order", "TotalVariation", "total_variation", "total_variation_of"]

_DENSE = 8  # cells per row up to which a full table of a pair is counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(Record):
    """All distributions of one sort: mean and largest total variation, and each one by its columns.

    Where `n_measured` is less than `n_all`, they are a random sample: the mean is an estimate and the largest one a
    lower bound.
    """

    mean: float | None
    largest: float | None
    n_measured: int
    n_all: int
    by_columns: tuple[tuple[str, float], ...]


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
    singles = [(cells.name, _distance(cells, original, released)) for cells in quasi]
    return TotalVariation(
        one_way=_order(singles, len(quasi)),
        two_way=_pairs(list(combinations(quasi, 2)), original, released, most_pairs, rng),
        response=_pairs(list(product(quasi, sensitive)), original, released, most_pairs, rng),
        weighted=weighted,
    )


def _pairs(
    pairs: Sequence[tuple[Cells, Cells]], original: FloatArray, released: FloatArray, most: int, rng: Generator
) -> Order:
    chosen = np.sort(rng.permutation(len(pairs))[:most])
    measured = [
        (f"{a.name} x {b.name}", _distance(_cross(a, b), original, released)) for a, b in (pairs[i] for i in chosen)
    ]
    return _order(measured, len(pairs))


def _order(measured: Sequence[tuple[str, float]], n_all: int) -> Order:
    found = [distance for _, distance in measured]
    return Order(
        mean=float(np.mean(found)) if found else None,
        largest=max(found, default=None),
        n_measured=len(found),
        n_all=n_all,
        by_columns=tuple(measured),
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


def _distance(cells: Cells, original: FloatArray, released: FloatArray) -> float:
    p, q = shares(cells.original, cells.size, original), shares(cells.released, cells.size, released)
    return min(1.0, 0.5 * float(np.abs(p - q).sum()))
