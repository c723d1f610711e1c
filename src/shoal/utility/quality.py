"""Scores of every column and pair of columns, by the definitions that users of SDMetrics know.

From 0 to 1, where 1 says that the release has the original's distribution:

    numbers               KS complement           1 − sup_x |F(x) − G(x)|
    categories            TV complement           1 − ½ Σ |p − q|
    two numbers           correlation similarity  1 − |r − r'| / 2                    (Pearson)
    any other pair        contingency similarity  1 − ½ Σ |p − q| over their cross-table, numbers in ten equal bins

The score of the columns is their mean, that of the pairs theirs, and the overall score the mean of the two. A missing
value is a category; the complements of numbers and correlations are over known ones. A score means little alone: the
same rows drawn anew don't reach 1 either, so each stands beside what a bootstrap of the original of the same size has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.pair import Pair
from shoal.record import Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.utility.tables import Both, both_columns, check_whole, side_by_side

__all__ = ["ColumnScore", "PairScore", "Quality", "quality", "quality_of"]

_BINS = 10
_MOST_ROWS = 50_000

ColumnMeasure = Literal["KS complement", "TV complement"]
PairMeasure = Literal["correlation similarity", "contingency similarity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnScore(Record):
    """How well a column's distribution is kept, and what a bootstrap of the original has."""

    releasable: ClassVar[bool] = False

    column: str
    measure: ColumnMeasure
    score: float
    resampled: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScore(Record):
    """How well the tie of two columns is kept, and what a bootstrap of the original has."""

    releasable: ClassVar[bool] = False

    columns: tuple[str, str]
    measure: PairMeasure
    score: float
    resampled: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality(Record):
    """All scores. Where `n_pairs` is more than there are pairs here, these are a random sample.

    Parameters
    ----------
    columns, pairs
        The scores, in the order of the columns; a constant column has no correlation, and a pair with it no score.
    n_pairs, n_rows
        All pairs that there are, and the rows of each table that were looked at.
    """

    releasable: ClassVar[bool] = False
    derived: ClassVar[tuple[str, ...]] = ("shapes", "trends", "overall", "resampled")

    columns: tuple[ColumnScore, ...]
    pairs: tuple[PairScore, ...]
    n_pairs: int
    n_rows: tuple[int, int]

    @property
    def shapes(self) -> float:
        """Mean score of the columns."""
        return _mean([one.score for one in self.columns])

    @property
    def trends(self) -> float | None:
        """Mean score of the pairs; None with a single column."""
        return _mean([one.score for one in self.pairs]) if self.pairs else None

    @property
    def overall(self) -> float:
        """Mean of both."""
        return self.shapes if self.trends is None else (self.shapes + self.trends) / 2

    @property
    def resampled(self) -> float:
        """The overall score of a bootstrap of the original."""
        shapes = _mean([one.resampled for one in self.columns])
        return (shapes + _mean([one.resampled for one in self.pairs])) / 2 if self.pairs else shapes

    def __float__(self) -> float:
        return self.overall


def quality(
    original: Any, released: Any, schema: Schema, source_rows: Any = None, *, most_pairs: int = 600, seed: int = 0
) -> Quality:
    """Score every column and pair of columns of a release.

    Parameters
    ----------
    original, released, schema, source_rows
        The two tables and what their columns are; rows need not correspond.
    most_pairs
        Above this number of pairs, that many are drawn at random.
    seed
        Repeats that draw, and the bootstrap.

    Notes
    -----
    Of quasi-identifiers and sensitive columns, from at most 50,000 rows of each table. Weights play no part. Cost: one
    sort of each number, one pass over the rows for each pair.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.utility import quality
    >>> original = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1]})
    >>> released = pl.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]})
    >>> schema = shoal.Schema.of(quasi=["a", "b"], kinds={"a": "nominal", "b": "nominal"})
    >>> found = quality(original, released, schema)
    >>> found.shapes, found.trends, found.overall
    (1.0, 0.5, 0.75)
    """
    check_whole("quality", "most_pairs", most_pairs, 1)
    return quality_of(side_by_side(original, released, schema, source_rows), most_pairs=most_pairs, seed=seed)


def quality_of(pair: Pair, *, most_pairs: int = 600, seed: int = 0) -> Quality:
    """`quality` of a pair that is already at hand."""
    rng = stream(seed, "quality")
    rows = [rng.permutation(n)[:_MOST_ROWS] for n in (pair.original.n, len(pair.released))]
    again = rng.choice(rows[0], len(rows[1]))
    columns = [_Column.of(both, rows[0], rows[1], again) for both in both_columns(pair)]
    every = list(combinations(columns, 2))
    chosen = [every[k] for k in np.sort(rng.permutation(len(every))[:most_pairs])]
    scored = [_pair_score(a, b) for a, b in chosen]
    return Quality(
        columns=tuple(_column_score(column) for column in columns),
        pairs=tuple(one for one in scored if one is not None),
        n_pairs=len(every),
        n_rows=(len(rows[0]), len(rows[1])),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """A column of the original, of the release and of a bootstrap: its numbers, and its cells."""

    name: str
    is_number: bool
    values: tuple[FloatArray, FloatArray, FloatArray]
    cells: tuple[IntArray, IntArray, IntArray]
    size: int

    @classmethod
    def of(cls, both: Both, rows: IntArray, released: IntArray, again: IntArray) -> _Column:
        values = both.original[rows], both.released[released], both.original[again]
        is_number = both.coding.levels is None
        edges = _edges(values[0]) if is_number else None
        size = _BINS + 1 if is_number else both.coding.axis.size
        cells = tuple(v.astype(np.int64) if edges is None else _binned(v, edges) for v in values)
        return cls(name=both.name, is_number=is_number, values=values, cells=cells, size=size)  # type: ignore[arg-type]


def _column_score(column: _Column) -> ColumnScore:
    if column.is_number:
        score, resampled = (ks_complement(column.values[0], column.values[k]) for k in (1, 2))
        return ColumnScore(column=column.name, measure="KS complement", score=score, resampled=resampled)
    score, resampled = (tv_complement(column.cells[0], column.cells[k], column.size) for k in (1, 2))
    return ColumnScore(column=column.name, measure="TV complement", score=score, resampled=resampled)


def _pair_score(a: _Column, b: _Column) -> PairScore | None:
    names = (a.name, b.name)
    if a.is_number and b.is_number:
        r = [correlation(x, y) for x, y in zip(a.values, b.values, strict=True)]
        if r[0] is None:
            return None
        score, resampled = (1 - abs((r[k] or 0.0) - r[0]) / 2 for k in (1, 2))
        return PairScore(columns=names, measure="correlation similarity", score=score, resampled=resampled)
    crossed = [x * b.size + y for x, y in zip(a.cells, b.cells, strict=True)]
    score, resampled = (tv_complement(crossed[0], crossed[k], a.size * b.size) for k in (1, 2))
    return PairScore(columns=names, measure="contingency similarity", score=score, resampled=resampled)


def ks_complement(x: FloatArray, y: FloatArray) -> float:
    """1 − the largest distance between the two distribution functions of known values."""
    x, y = np.sort(x[~np.isnan(x)]), np.sort(y[~np.isnan(y)])
    if not len(x) or not len(y):
        return float(len(x) == len(y))
    at = np.concatenate([x, y])
    F, G = (np.searchsorted(values, at, side="right") / len(values) for values in (x, y))
    return 1.0 - float(np.abs(F - G).max())


def tv_complement(x: IntArray, y: IntArray, size: int) -> float:
    """1 − total variation of the shares of `size` cells."""
    p, q = (np.bincount(cells, minlength=size) / max(1, len(cells)) for cells in (x, y))
    return 1.0 - float(np.abs(p - q).sum()) / 2


def correlation(x: FloatArray, y: FloatArray) -> float | None:
    """Pearson's r over rows that have both numbers; None where one of them does not vary."""
    both = ~(np.isnan(x) | np.isnan(y))
    x, y = x[both], y[both]
    if len(x) < 2 or not np.ptp(x) or not np.ptp(y):
        return None
    return float(np.corrcoef(x, y)[0, 1])


def _edges(values: FloatArray) -> FloatArray:
    """Inner edges of ten bins of equal width over the original's range."""
    known = values[~np.isnan(values)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return np.linspace(low, high, _BINS + 1)[1:-1]


def _binned(values: FloatArray, edges: FloatArray) -> IntArray:
    """The bin of each number, a missing one after the last."""
    return np.where(np.isnan(values), _BINS, np.searchsorted(edges, values, side="right")).astype(np.int64)


def _mean(scores: Sequence[float]) -> float:
    return float(np.mean(scores))
