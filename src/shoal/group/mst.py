"""Microaggregation by a minimum spanning tree: connect the records with the shortest tree, then cut long edges.

While some edge can go and leave both parts with at least k records, the longest such edge goes (Laszlo and Mukherjee,
"Minimum spanning tree partitioning algorithm for microaggregation", 2005). Groups follow the gaps in the data.

Promised: every group holds at least k persons. Not promised: an upper limit. Where the data have no gaps groups grow
large, since a group of 2k or more stays whole if its tree has no edge with k records on both sides.

Microaggregation with t-close groups: cut long edges as long as every group keeps the overall class mix.

The tree of `MST`, cut at the longest edge whose two parts both have at least k records and are both t-close: in every
class column

    ½ Σ_c |f_c − F_c|  ≤  t,

f the class shares of the part and F those of the table (total variation; Li, Li and Venkatasubramanian 2007). This is
the benchmark of Li and Sarkar, "Class Restricted Clustering and Micro-Perturbation for Data Privacy" (2013).

Promised: every group holds at least k persons and is t-close. Not promised: small groups; a low t makes them large.

Minimum spanning trees of records, and the scale on which the tree methods measure distance.

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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared
from shoal.encode import Coding, Encoder
from shoal.errors import SchemaError
from shoal.group.grouper import Grouper
from shoal.group.mix import ClassGrouper, Mix, require_two_groups
from shoal.group.points import Copies, Points, distinct
from shoal.method import ReportText
from shoal.params import Help, Range

__all__ = ["MST", "TCloseMST", "Tree", "cut_tree", "range_points", "spanning_tree"]

_FEW_POINTS = 5000  # up to so many points, or from so many columns on, scans beat searches
_MANY_COLUMNS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class MST(Grouper):
    """Group by cutting the longest edges of the minimum spanning tree.

    Parameters
    ----------
    k
        Smallest group size. Raising it lowers risk and blurs the data.

    Notes
    -----
    Distance is Euclidean over columns scaled to 0..1 by their range; a nominal mismatch counts 1. Missing categories
    are a level of their own. Survey weights are not used. Cost: about n log n searches in a k-d tree, then at worst
    n²/k looks at edges; 50,000 rows of 8 columns take a few seconds.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63]})
    >>> labels = shoal.MST(k=3).assign(table, shoal.Schema.of(quasi=["age"]), seed=1)
    >>> len(set(labels[:3])), len(set(labels))
    (1, 2)
    """

    title = "spanning tree"
    summary = "Follows gaps in the data: the longest edges of the tree are cut as long as both sides keep k."
    promise = "Every group holds at least k persons."
    report_text = ReportText(
        done=(
            "Each person was put into a group of at least {k} people who are near each other (by cutting the "
            "longest edges of a minimum spanning tree)."
        ),
    )
    rank = 3

    k: Annotated[int, Range(low=2), Help("smallest group size")] = 5

    def _points(self, prepared: Prepared) -> Points:
        return Points.of(range_points(prepared))

    def _partition(self, points: Points) -> tuple[IntArray, Mapping[str, Any]]:
        return cut_tree(spanning_tree(points.dense()), Mix.none(len(points)), self.k, "longest"), {}

    def _check_size(self, n_persons: int) -> None:
        require_two_groups(self, n_persons)


@dataclass(frozen=True, slots=True, kw_only=True)
class TCloseMST(ClassGrouper):
    """Group by cutting the longest edges of the minimum spanning tree that leave t-close parts.

    Parameters
    ----------
    k
        Smallest group size. Raising it lowers risk and blurs the data.
    t
        Largest total variation between the class shares of a group and those of the table. Lowering it tells less
        about a person's class, and makes groups larger.

    Notes
    -----
    The class columns are the nominal and ordinal sensitive columns, each for itself; a missing class is a class.
    Ordinal classes are compared as if they had no order. Survey weights are not used. Cost as for `MST`, times the
    number of classes in the cutting.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 31, 32, 61, 62, 71, 72], "ill": ["no", "yes"] * 4})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
    >>> labels = shoal.TCloseMST(k=2, t=0.0).assign(table, schema, seed=1)
    >>> len(set(labels)), bool(labels[0] == labels[1])
    (4, True)
    """

    title = "spanning tree with t-closeness"
    summary = "Like the spanning tree, with the classes of each group close to those of the whole table."
    promise = "Every group holds at least k persons, and its classes differ from the table's by at most t."
    report_text = ReportText(
        done=(
            "Each person was put into a group of at least {k} people who are near each other and as mixed in "
            "what is sensitive as the table is (t-close minimum spanning tree)."
        ),
    )
    rank = 4

    k: Annotated[int, Range(low=2), Help("smallest group size")] = 5
    t: Annotated[float, Range(low=0, high=1), Help("largest total variation of a group's classes")] = 0.2

    def _points(self, prepared: Prepared) -> Points:
        return Points.of(range_points(prepared))

    def _divide(self, points: FloatArray, mix: Mix) -> tuple[IntArray, Mapping[str, Any]]:
        return cut_tree(spanning_tree(points), mix, self.k, "close", t=self.t), {}

    def required_closeness(self) -> float | None:
        """The largest total variation between a group's classes and the table's."""
        return self.t


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
    encoder = Encoder.of(prepared, prepared.schema.quasi)
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
    if coding.unordered:
        return _indicators(codes.astype(np.int64), coding.n_levels)
    if coding.atoms is None:
        return _scaled(codes)[:, None]
    has = ~coding.is_absent(codes)
    number = np.full(len(codes), 0.5)
    number[has] = _scaled(codes[has]) if has.any() else 0.5
    return np.column_stack((number, _indicators(coding.reason(codes), len(coding.atoms) + 1)))


def _scaled(codes: FloatArray) -> FloatArray:
    half = codes / 2  # differences of halves can't overflow
    low, high = half.min(), half.max()
    scaled: FloatArray = (half - low) / (high - low if high > low else 1.0)
    return scaled


def _indicators(levels: IntArray, n_levels: int) -> FloatArray:
    indicators = np.zeros((len(levels), n_levels))
    indicators[np.arange(len(levels)), levels] = np.sqrt(0.5)
    return indicators
