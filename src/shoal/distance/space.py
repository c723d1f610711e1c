"""Columns as metric spaces, in the form that kernels take.

A column is one of three shapes, whatever its metric is called:

- *line*: |a − b| over its codes (numbers, positions of ordered levels);
- *equal*: 0 or 1 over its codes;
- *table*: a matrix over the levels that occur.

`Space` knows one column's distances, its mapping (eq 1) and the values it holds; `Spaces` all columns of a table.

A monotone function given by its knots, and its inverse.

Metric mapping: distances of unlike columns made comparable (eq 1).

A distance of 5 years and one of 1 nationality can't be added. Each column's distances are therefore mapped, by a
monotone function, so that the distances of two records drawn at random follow the law that they would follow if the
column were uniform on 0..1: that of |U − U'|, with

    F(t) = 1 − (1 − t)²,        F⁻¹(p) = 1 − sqrt(1 − p).

For a distance d > 0 of the column let p = P(D < d) + P(D = d)/2 over pairs of records; then

    map(d) = F⁻¹(p),     map(0) = 0.

Where distances are continuous the mapped ones follow F exactly. Where they have atoms they can't: a distance of two
values stays one of two values, and a mismatch that holds between a share q of the pairs becomes 1 − sqrt(q/2), so a
difference counts more the rarer it is. The anchor at 0 is our addition (the plain quantile mapping would put two equal
values apart), and mapped distances need not obey the triangle inequality.

The law of a column's distances depends on its values alone, not on who has them. It is exact for columns of up to 512
distinct values; else 512 evenly spaced order statistics stand for the column. No random choice enters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.distance.metric import Metric
from shoal.encode import Coding, Encoder
from shoal.errors import ColumnError
from shoal.schema import Column, Schema
from shoal.value import codes_of, spelled

__all__ = [
    "EQUAL",
    "LINE",
    "MOST_KNOTS",
    "TABLE",
    "Knots",
    "Packed",
    "Shape",
    "Space",
    "Spaces",
    "line_pairs",
    "map_distances",
    "reference_quantile",
    "table_pairs",
]

MOST_KNOTS = 513
_SAMPLE = 512
Shape = Literal["line", "equal", "table"]
LINE, EQUAL, TABLE = range(3)
_NUMBER = {"line": LINE, "equal": EQUAL, "table": TABLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class Knots:
    """The function that is `y` at `x` (both increasing from 0), linear in between, constant after the last."""

    x: FloatArray
    y: FloatArray

    def at(self, distances: FloatArray) -> FloatArray:
        """Mapped distances."""
        out: FloatArray = np.interp(distances, self.x, self.y)
        return out

    def reach(self, mapped: float) -> float:
        """The largest distance whose mapped one is at most `mapped`; infinite where all are."""
        if mapped >= self.y[-1]:
            return np.inf
        below = self.x[np.searchsorted(self.y, mapped, side="right") - 1]
        return float(max(below, np.interp(mapped, self.y, self.x)))


def map_distances(distances: FloatArray, weights: FloatArray) -> Knots:
    """The mapping for a column whose pairs are at `distances` with `weights` (zeros among them count as pairs)."""
    found, place = np.unique(distances, return_inverse=True)
    mass = np.bincount(place.reshape(-1), weights=weights)
    p = (np.cumsum(mass) - mass / 2) / mass.sum() if mass.sum() > 0 else np.zeros(len(found))
    positive = (found > 0) & (mass > 0)
    x, y = found[positive], reference_quantile(p[positive])
    if len(x) == 0:
        x, y = np.array([1.0]), np.array([1.0])  # a constant column: whatever differs is as far as can be
    if len(x) > MOST_KNOTS - 1:
        kept = np.unique(np.linspace(0, len(x) - 1, MOST_KNOTS - 1).round().astype(np.int64))
        x, y = x[kept], y[kept]
    return Knots(x=np.concatenate(([0.0], x)), y=np.concatenate(([0.0], y)))


def reference_quantile(p: FloatArray) -> FloatArray:
    """F⁻¹(p) of |U − U'|."""
    out: FloatArray = 1.0 - np.sqrt(1.0 - np.clip(p, 0.0, 1.0))
    return out


def line_pairs(values: FloatArray, reach: float = np.inf) -> tuple[FloatArray, FloatArray]:
    """Distances |a − b| between records with these values, none above `reach`, and the weight of each."""
    found, counts = np.unique(values, return_counts=True)
    if len(found) > _SAMPLE:
        ordered = np.sort(values)
        found, counts = np.unique(
            ordered[np.linspace(0, len(ordered) - 1, _SAMPLE).round().astype(np.int64)], return_counts=True
        )
    return _pairs(np.minimum(np.abs(found[:, None] - found), reach), counts)


def table_pairs(table: FloatArray, positions: IntArray) -> tuple[FloatArray, FloatArray]:
    """Distances between records at these rows of a table, and the weight of each."""
    return _pairs(table, np.bincount(positions, minlength=len(table)))


def _pairs(table: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Every unordered pair of different records once: c_a c_b of different values, c(c − 1)/2 of the same."""
    upper = np.triu_indices(len(table))
    weights = (counts[upper[0]] * counts[upper[1]]).astype(np.float64)
    same = upper[0] == upper[1]
    weights[same] = counts * (counts - 1) / 2
    return table[upper], weights


class Packed(NamedTuple):
    """All columns in arrays, for kernels.

    Parameters
    ----------
    shapes
        LINE, EQUAL or TABLE, column by column.
    starts, widths, table
        The distances of a table column between positions a and b: ``table[starts[j] + a * widths[j] + b]``.
    x, y, n_knots
        The knots of each column's mapping, row by row.
    """

    shapes: IntArray
    starts: IntArray
    widths: IntArray
    table: FloatArray
    x: FloatArray
    y: FloatArray
    n_knots: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """One column as a metric space.

    Parameters
    ----------
    name
        The column.
    shape
        How distances are computed from positions.
    table
        The distances between positions of a table column.
    values
        The code at each position of a table column over numbers; None where positions are codes.
    mapping
        From distances to mapped ones.
    edge
        What the positions of absences exceed, on a line.
    """

    name: str
    shape: Shape
    mapping: Knots
    table: FloatArray | None = None
    values: FloatArray | None = None
    edge: float = np.inf

    @classmethod
    def fit(cls, column: Column, coding: Coding, codes: FloatArray, *, whole: bool = False) -> Space:
        """Learn the space of one column from its codes; `whole`: distances of declared levels that nobody has too."""
        metric = Metric(kind=coding.kind) if column.metric is None else Metric.of(column.metric)
        _check_fits(metric, coding)
        if metric.tabled:
            return _tabled(metric, coding, codes, whole)
        if metric.kind == "nominal":
            return cls(name=coding.name, shape="equal", mapping=map_distances(*_equal_pairs(codes)))
        if coding.levels is not None and coding.atoms is not None and coding.n_levels <= _MOST_TABLED:
            return _of_table(coding.name, _apart_table(coding), codes)
        mapping = map_distances(*line_pairs(codes, coding.reach))
        return cls(name=coding.name, shape="line", mapping=mapping, edge=coding.edge)

    def positions(self, codes: FloatArray) -> FloatArray:
        """Where the codes of a column lie in the space."""
        if self.values is None:
            return codes
        return np.searchsorted(self.values, codes).clip(0, len(self.values) - 1).astype(np.float64)

    def codes(self, positions: FloatArray) -> FloatArray:
        """The codes at these positions."""
        return positions if self.values is None else self.values[positions.astype(np.int64)]

    def distance(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Distance between positions, element by element."""
        if self.table is not None:
            return self.table[np.asarray(a).astype(np.int64), np.asarray(b).astype(np.int64)]
        return np.abs(a - b) if self.shape == "line" else (np.asarray(a) != b).astype(np.float64)

    def mapped(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Mapped distance between positions, element by element."""
        return self.mapping.at(self.distance(a, b))

    def times(self, weight: float) -> Space:
        """The same with mapped distances times a weight."""
        return self if weight == 1 else replace(self, mapping=Knots(x=self.mapping.x, y=self.mapping.y * weight))


@dataclass(frozen=True)
class Spaces:
    """The columns of a table as metric spaces, in order."""

    columns: tuple[Space, ...]

    @classmethod
    def fit(cls, schema: Schema, encoder: Encoder, codes: FloatArray, *, whole: bool = False) -> Spaces:
        """Learn the spaces of the encoder's columns from their codes in the original."""
        fitted = [Space.fit(schema[c.name], c, codes[:, j], whole=whole) for j, c in enumerate(encoder.codings)]
        return cls(columns=tuple(fitted))

    def weighted(self, importance: Mapping[str, float]) -> Spaces:
        """The same with the mapped distances of some columns times a weight, for sums over columns."""
        return Spaces(columns=tuple(space.times(importance.get(space.name, 1.0)) for space in self.columns))

    def __iter__(self) -> Iterator[Space]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, places: Sequence[int]) -> Spaces:
        """Some of the columns."""
        return Spaces(columns=tuple(self.columns[j] for j in places))

    def positions(self, codes: FloatArray) -> FloatArray:
        """Where each record lies, one column per space."""
        return np.column_stack([space.positions(codes[:, j]) for j, space in enumerate(self.columns)])

    def codes(self, positions: FloatArray) -> FloatArray:
        """The codes at these positions."""
        return np.column_stack([space.codes(positions[:, j]) for j, space in enumerate(self.columns)])

    def joint(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Sum of mapped distances between the rows of `a` and `b` (eq 4)."""
        total = np.zeros(len(a))
        for j, space in enumerate(self.columns):
            total += space.mapped(a[:, j], b[:, j])
        return total

    @cached_property
    def packed(self) -> Packed:
        """The same for kernels."""
        tables = [np.empty(0) if s.table is None else s.table.reshape(-1) for s in self.columns]
        room = max(len(s.mapping.x) for s in self.columns)
        padded = [np.pad(np.vstack((s.mapping.x, s.mapping.y)), ((0, 0), (0, room - len(s.mapping.x)))) for s in self]
        return Packed(
            shapes=np.array([_NUMBER[s.shape] for s in self.columns], dtype=np.int64),
            starts=np.cumsum([0, *(len(t) for t in tables[:-1])]).astype(np.int64),
            widths=np.array([0 if s.table is None else len(s.table) for s in self.columns], dtype=np.int64),
            table=np.concatenate(tables),
            x=np.ascontiguousarray([pair[0] for pair in padded]),
            y=np.ascontiguousarray([pair[1] for pair in padded]),
            n_knots=np.array([len(s.mapping.x) for s in self.columns], dtype=np.int64),
        )


def _check_fits(metric: Metric, coding: Coding) -> None:
    wrong = (metric.kind == "numeric") != (coding.kind == "numeric") and metric.kind in ("numeric", "ordinal")
    if (wrong and metric.kind == "numeric") or (metric.kind == "ordinal" and coding.kind == "nominal"):
        raise ColumnError(
            coding.name, f"has the metric {metric.kind}, which its values don't allow", got=f"kind {coding.kind}",
            hint="Declare the kind of the column, or give it another metric.",
        )  # fmt: skip


def _tabled(metric: Metric, coding: Coding, codes: FloatArray, whole: bool) -> Space:
    if coding.levels is None:
        values = np.unique(codes)
        table = metric.distances(_as_written(metric, pl.Series(values)), coding.name)
    else:
        values, table = None, _level_table(metric, coding, coding.levels, whole)
    return _of_table(coding.name, table, codes, values)


def _of_table(name: str, table: FloatArray, codes: FloatArray, values: FloatArray | None = None) -> Space:
    bare = Space(name=name, shape="table", mapping=_FLAT, table=table, values=values)
    places = bare.positions(codes).astype(np.int64)
    return replace(bare, mapping=map_distances(*table_pairs(table, places)))


_MOST_TABLED = 2000
"""Levels up to which distances between them are a table; more (dates, say) lie on a line, absences at its end."""


def _apart_table(coding: Coding) -> FloatArray:
    """Differences of positions; an absence is as far from everything as two levels can be."""
    place = np.arange(coding.n_levels, dtype=np.float64)
    absent = coding.is_absent(place)
    table = np.where(absent[:, None] | absent, coding.reach, np.abs(place[:, None] - place))
    np.fill_diagonal(table, 0.0)
    return table


_FLAT = Knots(x=np.array([0.0, 1.0]), y=np.array([0.0, 1.0]))


def _level_table(metric: Metric, coding: Coding, levels: pl.Series, whole: bool) -> FloatArray:
    """Distances between the levels that occur; a declared level that doesn't is as far as can be, unless `whole`."""
    occurs = np.flatnonzero((np.asarray(coding.examples)[: len(levels)] >= 0) | whole)
    texts = _as_written(metric, levels)
    named = [texts[i] for i in occurs]
    if coding.has_missing and metric.lists(""):
        occurs, named = np.append(occurs, len(levels)), [*named, ""]
    known = metric.distances(named, coding.name)
    table = np.full((coding.n_levels, coding.n_levels), known.max(initial=0.0) or 1.0)
    table[np.ix_(occurs, occurs)] = known
    np.fill_diagonal(table, 0.0)
    return table


def _as_written(metric: Metric, values: pl.Series) -> list[str]:
    """Values as the matrix or the tree writes them: 3, 3.0 and "3.00" are one."""
    written = [row[0] for row in (metric.rows or ())[metric.kind == "matrix" :]]
    found = codes_of(values, pl.Series(written, dtype=pl.String))
    return [written[j] if 0 <= j < len(written) else text for j, text in zip(found, spelled(values), strict=True)]


def _equal_pairs(codes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pairs that match and pairs that don't."""
    counts = np.unique(codes, return_counts=True)[1].astype(np.float64)
    same = float((counts * (counts - 1)).sum() / 2)
    return np.array([0.0, 1.0]), np.array([same, len(codes) * (len(codes) - 1) / 2 - same])
