"""How far two clouds of points are apart: the energy distance.

With X, X' rows of the original and Y, Y' rows of the release as points (standardised numbers, equally distant levels;
quasi-identifiers and sensitive columns together)::

    energy distance     E = 2 E|X - Y| - E|X - X'| - E|Y - Y'|
    energy coefficient  H = E / (2 E|X - Y|), from 0 to 1

E is 0 exactly if the distributions are equal, so it also sees what means and correlations miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.pair import Pair
from shoal.record import Interval, Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.cells import shares
from shoal.utility.design import Design, designs
from shoal.utility.tables import Both, both_columns, check_whole, is_linked, sample_rows, side_by_side

__all__ = ["EnergyDistance", "energy", "energy_distance", "energy_distance_of"]

_BLOCKS = 5
_STUDENT = 2.776  # 97.5 % point of t with four degrees of freedom
_CHUNK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyDistance(Record):
    """Energy distance and coefficient; from all rows, or with a 95 % interval from random parts (`sampled`).

    An estimate from random parts is unbiased and may fall slightly below 0.
    """

    value: float
    coefficient: float
    interval: Interval | None
    n_rows: int
    sampled: bool

    def __float__(self) -> float:
        return self.value


def energy_distance(
    original: Any, released: Any, schema: Schema, source_rows: Any = None, *, most_rows: int = 2000, seed: int = 0
) -> EnergyDistance:
    """Energy distance between original and release over quasi-identifiers and sensitive columns.

    Parameters
    ----------
    original, released, schema
        The two tables and what their columns are.
    source_rows
        Where rows correspond, random parts take the same people from both tables, which steadies the estimate.
    most_rows
        Up to this many rows in each table the distance is exact; above, it is the mean over five random parts of
        half as many rows. More rows narrow the interval and cost their square.
    seed
        Repeats the draw.

    Notes
    -----
    A missing number counts as the mean, with a 0/1 mark beside it. Weights do not enter. Cost: rows² x variables.

    References
    ----------
    Székely and Rizzo (2013), Energy statistics: a class of statistics based on distances.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.utility import energy_distance
    >>> table = pl.DataFrame({"age": [30.0, 40.0, 50.0]})
    >>> energy_distance(table, table, shoal.Schema.of(quasi=["age"])).value
    0.0
    """
    pair = side_by_side(original, released, schema, source_rows)
    return energy_distance_of(pair, most_rows=most_rows, seed=seed)


def energy_distance_of(pair: Pair, *, most_rows: int = 2000, seed: int = 0) -> EnergyDistance:
    """`energy_distance` of a pair that is already at hand."""
    check_whole("energy_distance", "most_rows", most_rows, 4)
    return spread_apart(pair, both_columns(pair), most_rows, seed)


def spread_apart(pair: Pair, columns: Sequence[Both], most_rows: int, seed: int) -> EnergyDistance:
    """The distance from all rows where there are at most `most_rows`, else from random parts."""
    original, released = np.arange(pair.original.n), np.arange(len(pair.released))
    sampled = max(len(original), len(released)) > most_rows
    if sampled:
        original, released = sample_rows(pair, _BLOCKS * (most_rows // 2), stream(seed, "energy distance"))
    x, y = _points(columns, original, released)
    if not sampled or min(len(x), len(y)) < 2 * _BLOCKS:
        value, coefficient = energy(x, y)
        return EnergyDistance(
            value=value, coefficient=coefficient, interval=None, n_rows=len(x) + len(y), sampled=sampled
        )
    parts = zip(np.array_split(x, _BLOCKS), np.array_split(y, _BLOCKS), strict=True)
    linked = is_linked(pair)
    found = [energy(*part, unbiased=True, linked=linked) for part in parts]
    return _summarise(np.array(found), len(x) + len(y))


def energy(x: FloatArray, y: FloatArray, *, unbiased: bool = False, linked: bool = False) -> tuple[float, float]:
    """Energy distance and coefficient of two sets of points.

    `unbiased` leaves a point's distance to itself out, and with `linked` also that to its own released row.
    """
    across = _mean_distance(x, y, unbiased and linked)
    value = 2 * across - _mean_distance(x, x, unbiased) - _mean_distance(y, y, unbiased)
    if not unbiased:
        value = max(0.0, value)
    if abs(value) <= 1e-12 * across:
        value = 0.0
    return value, min(1.0, value / (2 * across)) if across > 0 else 0.0


def _mean_distance(x: FloatArray, y: FloatArray, without_diagonal: bool) -> float:
    y_squares = np.einsum("ij,ij->i", y, y)
    total = 0.0
    for start in range(0, len(x), _CHUNK):
        part = x[start : start + _CHUNK]
        squares = np.einsum("ij,ij->i", part, part)[:, None] + y_squares
        apart = squares - 2 * part @ y.T
        apart[apart < 1e-13 * squares] = 0.0  # equal points, up to rounding
        total += float(np.sqrt(apart).sum()) - without_diagonal * _diagonal(apart, start)
    return total / (len(x) * (len(y) - without_diagonal))


def _diagonal(apart: FloatArray, start: int) -> float:
    return float(np.sqrt(np.diagonal(apart[:, start:])).sum())


def _points(columns: Sequence[Both], rows: IntArray, others: IntArray) -> tuple[FloatArray, FloatArray]:
    """Rows as points: standardised numbers, and levels equally far from each other."""
    original, released, _ = designs(columns, "numeric")
    spreads = [_spread(original.cells[j], size) for j, size in enumerate(original.sizes)]
    return _spread_out(original.take(rows), spreads), _spread_out(released.take(others), spreads)


def _spread_out(design: Design, spreads: Sequence[float]) -> FloatArray:
    levels = [
        (design.cells[j][:, None] == np.arange(size)) / spread
        for j, (size, spread) in enumerate(zip(design.sizes, spreads, strict=True))
    ]
    return np.hstack([design.numbers[:, 1:], *levels])


def _spread(cells: IntArray, size: int) -> float:
    p = shares(cells, size, np.ones(len(cells)))
    return float(np.sqrt(max(0.0, 1.0 - np.sum(p**2)))) or 1.0


def _summarise(found: FloatArray, n_rows: int) -> EnergyDistance:
    value, coefficient = (float(mean) for mean in found.mean(axis=0))
    half = _STUDENT * float(found[:, 0].std(ddof=1)) / np.sqrt(len(found))
    return EnergyDistance(
        value=value,
        coefficient=coefficient,
        interval=(value - half, value + half),
        n_rows=n_rows,
        sampled=True,
    )
