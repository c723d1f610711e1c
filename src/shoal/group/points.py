"""Records as points without indicator columns: numbers, and levels with the height that their indicators would have.

A nominal column of L levels stands for L indicators of height h (`Encoder.points`): any two different levels are
√2·h apart. A county of 200 levels is one column here and 200 there. Kernels work on plain coordinates, so `dense`
spells the indicators out, but only of the levels that occur: a block of neighbours has few.

Distinct points and their copies: what a grouping kernel works on.

Survey codes repeat: 200,000 rows may hold 300 distinct points. The kernels search distinct points and take copies
off them one by one, lowest row first, so that equal rows cost a search of the distinct points and no more.

**Exact sums.** A centroid must not depend on the order in which members were added, or ties would be decided by
rounding noise. Each column is therefore rounded to multiples of

    u = 2^(e + b − 52),   2^e > max |x|,   2^b > n,

(for a million rows, less than 1e-9 of the column's largest value). Every sum of up to n such numbers is a multiple of
u below 2^53 u, hence exact in floating point, in any order; a centroid is an exact sum with one rounding, its
division. Rounding is idempotent, and a subset of rounded rows is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.encode import Encoder
from shoal.errors import InputError, ParameterError

__all__ = ["Copies", "Points", "distinct", "on_grid", "prepare"]

_STRIDE = 4  # the kernels take columns four at a time
_HUGE = 1e100  # squares of distances stay finite
_LEAST_EXPONENT = -400  # and don't underflow
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """One row per record, one column per variable.

    Parameters
    ----------
    values
        Coordinates, and codes of levels.
    heights
        Per column: the height h of its indicators; 0 for a column of coordinates.
    """

    values: FloatArray
    heights: FloatArray

    @classmethod
    def of(cls, coordinates: FloatArray) -> Points:
        """Plain coordinates."""
        return cls(values=coordinates, heights=np.zeros(coordinates.shape[1]))

    @classmethod
    def encoded(cls, encoder: Encoder, codes: FloatArray) -> Points:
        """What `Encoder.points` makes of `codes` of the table that the encoder was learnt from."""
        parts = [part for j, coding in enumerate(encoder.codings) for part in coding.parts(codes[:, j])]
        if not parts:
            return cls.of(codes)
        return cls(
            values=np.ascontiguousarray(np.column_stack([values for values, _ in parts])),
            heights=np.array([height for _, height in parts]),
        )

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, others: Points) -> Points:
        """The columns of both."""
        return Points(
            values=np.hstack((self.values, others.values)), heights=np.concatenate((self.heights, others.heights))
        )

    def take(self, rows: IntArray) -> Points:
        """Some rows."""
        return Points(values=self.values[rows], heights=self.heights)

    @property
    def is_level(self) -> BoolArray:
        """Which columns hold levels."""
        levels: BoolArray = self.heights > 0
        return levels

    def keys(self) -> FloatArray:
        """Numbers that sort rows as their coordinates would: a row whose first indicator is 1 comes last."""
        keys: FloatArray = np.where(self.is_level, -self.values, self.values)
        return keys

    def counts(self, j: int) -> IntArray:
        """How many rows show each level of column j."""
        return np.bincount(self.values[:, j].astype(np.int64))

    @property
    def width(self) -> int:
        """Number of columns of `dense`."""
        levels: list[int] = np.flatnonzero(self.is_level).tolist()
        n_numbers = len(self.heights) - len(levels)
        return n_numbers + sum(_width(int(np.count_nonzero(self.counts(j)))) for j in levels)

    def variances(self) -> FloatArray:
        """Total variance of each column: Σ (x − x̄)² / n, or h² (1 − Σ p²)."""
        variances = np.zeros(len(self.heights))
        numbers = np.flatnonzero(~self.is_level)
        variances[numbers] = self.values[:, numbers].var(axis=0)
        for j in np.flatnonzero(self.is_level).tolist():
            shares = self.counts(j) / len(self)
            variances[j] = self.heights[j] ** 2 * (1.0 - np.sum(shares**2))
        return variances

    def dense(self) -> FloatArray:
        """Plain coordinates: an indicator per level that occurs; a level that all rows share takes no column."""
        columns = zip(self.values.T, self.heights, strict=True)
        parts = [_indicators(column, h) if h > 0 else column[:, None] for column, h in columns]
        return np.ascontiguousarray(np.hstack(parts)) if parts else self.values


def _width(n_levels: int) -> int:
    return n_levels if n_levels > 1 else 0


def _indicators(codes: FloatArray, height: float) -> FloatArray:
    levels = codes.astype(np.int64)
    present = np.bincount(levels) > 0
    place, n_levels = np.cumsum(present) - 1, _width(int(np.count_nonzero(present)))
    indicators = np.zeros((len(codes), n_levels))
    if n_levels:
        indicators[np.arange(len(codes)), place[levels]] = height
    return indicators


class Copies(NamedTuple):
    """Distinct points, and the rows that hold them.

    Parameters
    ----------
    points
        The distinct points, one per row, with columns of zeros up to a multiple of four: a zero adds nothing to a
        distance.
    rows
        All rows, point by point; the copies of a point in increasing order.
    starts
        The copies of point p are `rows[starts[p]:starts[p + 1]]`.
    owner
        The point of each row.
    """

    points: FloatArray
    rows: IntArray
    starts: IntArray
    owner: IntArray


def prepare(method: str, points: FloatArray, k: int) -> Copies:
    """Check, round and collapse the points that a kernel is given."""
    if not 1 <= k <= len(points):
        raise ParameterError(method, f"k must be between 1 and the number of rows, {len(points)}", got=f"{k}")
    return distinct(on_grid(points))


def on_grid(points: FloatArray) -> FloatArray:
    """Round each column to a dyadic grid on which all sums over rows are exact; below 1e-120 all is zero."""
    if not (np.abs(points) < _HUGE).all():
        raise InputError(
            "grouping", f"needs numbers below {_HUGE:g}", hint="Declare how to treat missing and infinite numbers."
        )
    largest = np.abs(points).max(axis=0, initial=0.0)
    exponent = np.maximum(np.frexp(largest)[1] + len(points).bit_length() - 52, _LEAST_EXPONENT)
    unit = np.ldexp(1.0, exponent)
    rounded: FloatArray = np.rint(points / unit) * unit
    return rounded + 0.0  # turns -0.0 into 0.0


def distinct(points: FloatArray) -> Copies:
    """Collapse equal rows.

    Rows are sorted by a hash of their bits. Should two different points share a hash, one of them may appear as two
    points with equal coordinates, which costs time but changes no answer.
    """
    key = _hash(points)
    rows = np.argsort(key, kind="stable")
    ordered = points[rows]
    new = np.ones(len(rows), dtype=np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    owner = np.empty(len(rows), dtype=np.int64)
    owner[rows] = np.cumsum(new) - 1
    starts = np.append(np.flatnonzero(new), len(rows))
    return Copies(_padded(ordered[new]), rows, starts, owner)


def _hash(points: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    key = np.zeros(len(points), dtype=np.uint64)
    for column in points.T:
        key ^= np.ascontiguousarray(column).view(np.uint64)
        key *= _MIX
        key ^= key >> np.uint64(29)
    return key


def _padded(points: FloatArray) -> FloatArray:
    n, d = points.shape
    padded = np.zeros((n, max(_STRIDE, -(-d // _STRIDE) * _STRIDE)))
    padded[:, :d] = points
    return padded
