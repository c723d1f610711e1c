"""Minimum spanning trees of records, and the scale on which the tree methods measure distance.

**Scale.** Numeric and ordinal columns are brought to 0..1 by their range; a nominal mismatch costs 1. With δ_j the
difference in column j,

    |x − y| = sqrt(Σ_j δ_j²).

Nominal columns with more than two levels become indicators times sqrt(1/2), so that plain Euclidean distance over
the matrix is this distance.

**Tree.** The edges with the least total length that connect all records, found exactly and without a matrix of
distances. Edges of equal length are ordered by (lower row, higher row), which makes the tree unique. Copies of one
point hang on the copy with the lowest row.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared
from shoal.encode import Coding, Encoder
from shoal.errors import SchemaError
from shoal.group.copies import Copies, distinct
from shoal.group.mix import Mix

__all__ = ["Tree", "cut_tree", "range_points", "spanning_tree"]

_FEW_POINTS = 5000  # up to so many points, or from so many columns on, scans beat searches
_MANY_COLUMNS = 10


class Tree(NamedTuple):
    """Edges of a tree over rows 0..n-1, sorted by (low, high).

    Parameters
    ----------
    low, high
        The ends of each edge, the lower row first.
    length
        Its length.
    """

    low: IntArray
    high: IntArray
    length: FloatArray

    @classmethod
    def of(cls, low: IntArray, high: IntArray, length: FloatArray) -> Tree:
        """Put edges into their order, which is the order that breaks ties."""
        order = np.lexsort((high, low))
        return cls(low[order], high[order], length[order])

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.low) + 1


def range_points(prepared: Prepared) -> FloatArray:
    """The quasi-identifiers as points, each column on the scale 0..1."""
    if not prepared.schema.quasi:
        raise SchemaError("schema", "must name at least one quasi-identifier to group by")
    encoder = Encoder.fit(prepared, prepared.schema.quasi)
    codes = encoder.own_codes(prepared)
    encoder.check_width(len(codes))
    blocks = [_block(coding, codes[:, j]) for j, coding in enumerate(encoder.codings)]
    return np.ascontiguousarray(np.hstack(blocks)) + 0.0  # + 0.0 turns -0.0 into 0.0


def spanning_tree(points: FloatArray) -> Tree:
    """The minimum spanning tree of the rows of `points`.

    Notes
    -----
    Cost: up to nine columns, about n log n searches in a k-d tree; from ten on, where searches prune little, n²/2
    distances. Memory is linear in n.
    """
    copies = distinct(points)
    first = copies.rows[copies.starts[:-1]]
    order = np.argsort(first)
    low, high, squared = _grow(copies.points[order], points.shape[1])
    later = np.setdiff1d(np.arange(len(points)), first, assume_unique=True)
    head = first[order]
    return Tree.of(
        np.concatenate((head[low], first[copies.owner[later]])),
        np.concatenate((head[high], later)),
        np.concatenate((np.sqrt(squared), np.zeros(len(later)))),
    )


def cut_tree(
    tree: Tree, mix: Mix, k: int, rule: Literal["longest", "close", "divergence"], *, t: float = 1.0
) -> IntArray:
    """Cut a tree into groups of at least k by one of the rules of `shoal.group.cutting`; labels 0..c-1."""
    from shoal.group import cutting

    number = {"longest": cutting.LONGEST, "close": cutting.CLOSE, "divergence": cutting.DIVERGENCE}[rule]
    labels: IntArray = cutting.cut(*tree, mix, k, number, t)
    return labels


def _grow(points: FloatArray, n_columns: int) -> tuple[IntArray, IntArray, FloatArray]:
    """The tree of distinct points, by the faster way."""
    from shoal.group.prim import prim, prim_by_scan
    from shoal.group.spatial import index_of

    by_scan = len(points) <= _FEW_POINTS or n_columns >= _MANY_COLUMNS
    return prim_by_scan(points) if by_scan else prim(index_of(_singles(points)))


def _singles(points: FloatArray) -> Copies:
    """Points of which each is one row."""
    rows = np.arange(len(points))
    return Copies(points, rows, np.arange(len(points) + 1), rows)


def _block(coding: Coding, codes: FloatArray) -> FloatArray:
    if not coding.unordered:
        half = codes / 2  # differences of halves can't overflow
        low, high = half.min(), half.max()
        scaled: FloatArray = (half - low) / (high - low if high > low else 1.0)
        return scaled[:, None]
    indicators = np.zeros((len(codes), coding.n_levels))
    indicators[np.arange(len(codes)), codes.astype(np.int64)] = np.sqrt(0.5)
    return indicators
