"""Record linkage: how many released rows lie nearest, or second nearest, to the person they came from?

The measure of Pagliuca and Seri (1999) as used by Li and Sarkar (2013), section 6. It depends on scale and on ties, so
both are said: numeric and ordinal columns are scaled to 0..1 by the original's range (`scale` names others), a nominal
mismatch costs 1, and equal distances (up to a factor 1 + 1e-9) are averaged over all orders. With t_1 original rows
nearest to a released one, h_1 of them its person's, and t_2, h_2 the same for the next distance:

    nearest = h_1 / t_1
    nearest or second = 1 − C(t_1 − h_1, 2) / C(t_1, 2)   if t_1 ≥ 2,
                        1 if t_1 = h_1 = 1,   h_2 / t_2   if t_1 = 1, h_1 = 0.

It is a measure of masks that write values, not of coarsening: a set of levels is read as the level that its records
mostly have, so that most of the people whom it fits are passed over, and the share understates what an intruder does
who looks for everybody that fits. There `reidentification` and `classes` count all of them. Bands that another tool
wrote as plain numbers (their lower ends, say) can't be known to be bands: both attacks understate then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from shoal.arrays import FloatArray, IntArray, distinct_numbers
from shoal.pair import Pair
from shoal.record import Record
from shoal.risk.geometry import Geometry
from shoal.risk.nearest import TOLERANCE, Matches, known_codes, match, numbered, rows_in_ties, runner_up
from shoal.risk.uncertainty import chernoff, wilson
from shoal.schema import Schema

__all__ = ["Linkage", "Scale", "linkage", "measure"]

Scale: TypeAlias = Literal["range", "z", "raw"]
"""What a number is divided by: the original's range, its standard deviation, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage(Record):
    """Share of released rows that lead back to their person.

    Parameters
    ----------
    share, interval
        Share of released rows whose nearest or second nearest original row is their person's, and its 95% interval
        (were rows a sample, where all were linked).
    nearest_share
        The same for the nearest alone. All three are None where no row is anybody's.
    n_rows
        Number of released rows.
    n_targets, sampled
        How many of them were linked, and whether these are a random sample.
    """

    releasable: ClassVar[bool] = True

    share: float | None
    interval: tuple[float, float] | None
    nearest_share: float | None
    n_rows: int
    n_targets: int
    sampled: bool

    def __float__(self) -> float:
        return math.nan if self.share is None else self.share


def linkage(
    original: Any, released: Any, schema: Schema, source_rows: Any = None, seed: int = 0, scale: Scale = "range"
) -> Linkage:
    """Share of released rows whose nearest or second nearest original row is their person's.

    Parameters
    ----------
    original, released, schema
        Both tables, of any dataframe type, and the schema of the original.
    source_rows
        Original row number of each released row; None: the rows are in the same order.
    seed
        Seed of the sample of released rows, where one is drawn.
    scale
        ``"range"``: numbers and positions are divided by the original's range; ``"z"``: by its standard deviation;
        ``"raw"``: by nothing, so that the column with the largest numbers decides. Another scale gives another share.

    Notes
    -----
    A released row whose source was left out for a missing number can't be linked and counts as a miss. With a unit
    column any row of the same person counts. Survey weights are not used. Cost: O(n log n) in the number of distinct
    points, of which a random sample is linked where all would take long (`sampled`). A coarse value is read as one
    value: of a coarsened table, whoever coarsened it, use `reidentification`.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 35, 41, 57]})
    >>> masked = pl.DataFrame({"age": [33, 33, 49, 49]})
    >>> result = shoal.risk.linkage(table, masked, shoal.Schema.of(quasi=["age"]))
    >>> result.share, result.nearest_share
    (1.0, 0.5)
    """
    return measure(Pair.of(original, released, schema, source_rows), seed=seed, scale=scale)


def measure(pair: Pair, *, seed: int = 0, scale: Scale = "range", everyone: bool = False) -> Linkage:
    """`linkage` of an existing pair; `everyone` links every released row, whatever it costs."""
    if not (pair.source_rows >= 0).any():
        return _nobodys(len(pair.released))
    geometry, codes = scaled(pair, scale), known_codes(pair)
    theirs, shown, n = numbered(pair)
    numbers = shown, theirs, n
    matches = match(codes, pair.original_codes, geometry, seed=seed, everyone=everyone, second=True, numbers=numbers)
    first, both = _probabilities(pair, codes, geometry, matches)
    share = float(both.mean())
    return Linkage(
        share=share,
        interval=chernoff(share, len(both)) if matches.sampled else wilson(share, len(both)),
        nearest_share=float(first.mean()),
        n_rows=len(codes),
        n_targets=len(both),
        sampled=matches.sampled,
    )


def _nobodys(n_rows: int) -> Linkage:
    """Rows that are nobody's, as in a synthetic table, lead to nobody: there is nothing to measure."""
    return Linkage(share=None, interval=None, nearest_share=None, n_rows=n_rows, n_targets=0, sampled=False)


def scaled(pair: Pair, scale: Scale = "range") -> Geometry:
    """The distance between numbers and positions divided by their unit in the original; a mismatch costs 1."""
    original = pair.original_codes
    one = np.ones(original.shape[1])
    units = {"range": np.ptp(original, axis=0), "z": original.std(axis=0), "raw": one}[scale]
    numbers = Geometry.numbers(original.min(axis=0), np.where(units > 0, units, 1.0))
    return numbers.with_levels(pair.encoder.codings, mismatch=one, blank=one)


def _probabilities(
    pair: Pair, codes: FloatArray, geometry: Geometry, matches: Matches
) -> tuple[FloatArray, FloatArray]:
    """For each linked row: the probability that its person is nearest, and nearest or second."""
    person = pair.original.units()
    n_persons = int(person.max()) + 1
    source = matches.of_asked(pair.source_rows)
    known = np.flatnonzero(source >= 0)
    owner, point = person[source[known]], matches.queries[known]
    t1 = matches.n_ties()[point]
    h1 = rows_in_ties(matches, person, point, owner, n_persons)
    first, both = np.zeros(len(source)), np.zeros(len(source))
    first[known] = h1 / t1
    both[known] = 1 - (t1 - h1) * (t1 - h1 - 1) / np.maximum(1, t1 * (t1 - 1))
    lone = np.flatnonzero((t1 == 1) & (h1 == 0))
    codes = codes if matches.rows is None else codes[matches.rows]
    if n_persons == len(person):
        own = _own_distance(pair, codes[known[lone]], source[known[lone]], geometry)
        both[known[lone]] = 0.0
        lone = lone[own <= matches.second[point[lone]] * (1 + 2 * TOLERANCE)]
    both[known[lone]] = _second(pair, matches, codes, point[lone], owner[lone], n_persons)
    return first, both


def _own_distance(pair: Pair, codes: FloatArray, source: IntArray, geometry: Geometry) -> FloatArray:
    """Distance of released rows to their source: further than the second nearest, a row needs no second search."""
    theirs = pair.original_codes[source]
    return np.sqrt(geometry.squared_distances(geometry.coordinates(codes), geometry.coordinates(theirs)))


def _second(
    pair: Pair,
    matches: Matches,
    codes: FloatArray,
    point: IntArray,
    owner: IntArray,
    n_persons: int,
) -> FloatArray:
    """h_2 / t_2 for released points with one nearest original row."""
    if len(point) == 0:
        return np.empty(0)
    query, target = runner_up(matches, codes[_rows_at(matches.queries, matches.n_queries)], distinct_numbers(point))
    order = np.argsort(query, kind="stable")
    next_to = replace(matches, query=query[order], target=target[order])
    t2 = next_to.n_ties()[point]
    h2 = rows_in_ties(next_to, pair.original.units(), point, owner, n_persons)
    return np.divide(h2, t2, out=np.zeros(len(point)), where=t2 > 0)


def _rows_at(points: IntArray, n: int) -> IntArray:
    """A row at each of the `n` distinct points."""
    row = np.empty(n, dtype=np.int64)
    row[points] = np.arange(len(points))
    return row
