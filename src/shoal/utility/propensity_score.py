"""Whether a classifier can tell released rows from original ones: the propensity score measure.

Both tables are stacked and a logistic regression guesses for each row which it came from. With N rows, share c of
them released, and fitted probabilities p::

    pMSE = 1/N sum (p - c)^2          expected under the null = (k - 1) (1 - c)^2 c / N

for k parameters (Snoke et al. 2018), if the release were an independent sample of the same population. The ratio is
about 1 then, 0 for the original itself, and grows with every difference the model can express.

How far two clouds of points are apart: the energy distance.

With X, X' rows of the original and Y, Y' rows of the release as points (standardised numbers, equally distant levels;
quasi-identifiers and sensitive columns together)::

    energy distance     E = 2 E|X - Y| - E|X - X'| - E|Y - Y'|
    energy coefficient  H = E / (2 E|X - Y|), from 0 to 1

E is 0 exactly if the distributions are equal, so it also sees what means and correlations miss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.logistic import newton_logit, sigmoid
from shoal.pair import Pair
from shoal.record import Interval, Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.design import Design, designs, stack
from shoal.utility.tables import Both, both_columns, check_whole, is_linked, sample_rows, shares, side_by_side

__all__ = [
    "EnergyDistance",
    "Propensity",
    "energy",
    "energy_distance",
    "energy_distance_of",
    "propensity",
    "propensity_of",
]

_MOST_PARAMETERS = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Propensity(Record):
    """pMSE, its expectation for an independent sample of the same population, and how they compare.

    `ratio` is pMSE / expected, `standardised` is (pMSE - expected) / standard deviation under the null; both None
    where no column varies. `interactions` says whether squares and products entered, `n_rows` how many rows of both
    tables were used, `sampled` whether these are a random part.
    """

    pmse: float
    expected: float
    ratio: float | None
    standardised: float | None
    n_parameters: int
    interactions: bool
    n_rows: int
    sampled: bool
    converged: bool

    def __float__(self) -> float:
        return float("nan") if self.ratio is None else self.ratio


def propensity(
    original: Any,
    released: Any,
    schema: Schema,
    source_rows: Any = None,
    *,
    interactions: bool = True,
    most_rows: int = 20_000,
    seed: int = 0,
) -> Propensity:
    """Can a logistic regression tell released rows from original ones, against its null expectation?

    Parameters
    ----------
    original, released, schema
        The two tables and what their columns are: quasi-identifiers and sensitive columns enter.
    source_rows
        Where rows correspond, a random part takes the same people from both tables.
    interactions
        Let squares and products of numeric, ordinal and two-level columns in, so that lost variance and lost
        correlations show. Left out where that makes more than 150 parameters; the result says so.
    most_rows
        Rows of each table above which a random part is used; more rows see smaller differences.
    seed
        Repeats that draw.

    Notes
    -----
    Missing values enter as a 0/1 variable of their own; weights do not enter. Cost: some ten passes of n x k².

    References
    ----------
    Snoke, Raab, Nowok, Dibben, Slavkovic (2018), General and specific utility measures for synthetic data, Journal
    of the Royal Statistical Society A 181.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.utility import propensity
    >>> table = pl.DataFrame({"age": [30, 40, 50, 60], "sex": ["f", "m", "f", "m"]})
    >>> round(float(propensity(table, table, shoal.Schema.of(quasi=["age", "sex"]))), 6)
    0.0
    """
    pair = side_by_side(original, released, schema, source_rows)
    return propensity_of(pair, interactions=interactions, most_rows=most_rows, seed=seed)


def propensity_of(pair: Pair, *, interactions: bool = True, most_rows: int = 20_000, seed: int = 0) -> Propensity:
    """`propensity` of a pair that is already at hand."""
    check_whole("propensity", "most_rows", most_rows, 2)
    return distinguish(pair, both_columns(pair), interactions, most_rows, seed)


def distinguish(pair: Pair, columns: Sequence[Both], interactions: bool, most_rows: int, seed: int) -> Propensity:
    """Fit the classifier on at most `most_rows` rows of each table."""
    kept = sample_rows(pair, most_rows, stream(seed, "propensity"))
    original, released, layout = designs(columns, "numeric")
    design = stack(original.take(kept[0]), released.take(kept[1]))
    n_codes = layout.n_codes
    interactions = interactions and design.width + n_codes * (n_codes + 1) // 2 <= _MOST_PARAMETERS
    if interactions:
        design = _with_products(design, n_codes)
    labels = np.repeat([0.0, 1.0], [len(kept[0]), len(kept[1])])
    probabilities, converged = fitted_probabilities(design, labels)
    sampled = len(kept[0]) < pair.original.n or len(kept[1]) < len(pair.released)
    return replace(
        compare_to_null(probabilities, labels, _rank(design)),
        interactions=interactions,
        sampled=sampled,
        converged=converged,
    )


def fitted_probabilities(design: Design, labels: FloatArray) -> tuple[FloatArray, bool]:
    """Probability of label 1 by logistic regression, steady on separable data; and whether it converged."""
    fit = newton_logit(design, labels, ridge=1e-4, tolerance=1e-9, reuse=0.1, most_steps=40)
    return sigmoid(design.dot(fit.coefficients)), fit.converged


def compare_to_null(probabilities: FloatArray, labels: FloatArray, n_parameters: int) -> Propensity:
    """pMSE of fitted probabilities against its null distribution for `n_parameters`, the intercept included."""
    n, c = len(labels), float(labels.mean())
    pmse = float(np.mean((probabilities - c) ** 2))
    unit = (1 - c) ** 2 * c / n
    free = n_parameters - 1
    return Propensity(
        pmse=pmse,
        expected=free * unit,
        ratio=pmse / (free * unit) if free else None,
        standardised=(pmse - free * unit) / (float(np.sqrt(2 * free)) * unit) if free else None,
        n_parameters=n_parameters,
        interactions=False,
        n_rows=n,
        sampled=False,
        converged=True,
    )


def _with_products(design: Design, n_codes: int) -> Design:
    pairs = combinations_with_replacement(range(1, n_codes + 1), 2)
    products = [_unit(design.numbers[:, i] * design.numbers[:, j]) for i, j in pairs]
    return replace(design, numbers=np.column_stack([design.numbers, *products]))


def _unit(values: FloatArray) -> FloatArray:
    size = float(np.sqrt(np.mean(values**2)))
    return values / size if size > 0 else values


def _rank(design: Design) -> int:
    gram = design.gram(np.ones(design.n))
    scale = np.sqrt(np.diag(gram))
    scale = np.where(scale > 0, scale, 1.0)
    return int((np.linalg.eigvalsh(gram / np.outer(scale, scale)) > 1e-9).sum())


_BLOCKS = 5
_STUDENT = 2.776  # 97.5% point of t with four degrees of freedom
_CHUNK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyDistance(Record):
    """Energy distance and coefficient; from all rows, or with a 95% interval from random parts (`sampled`).

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
