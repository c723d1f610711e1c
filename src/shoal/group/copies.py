"""Distinct points and their copies: what a grouping kernel works on.

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

from typing import NamedTuple

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.errors import InputError, ParameterError

__all__ = ["Copies", "distinct", "on_grid", "prepare"]

_STRIDE = 4  # the kernels take columns four at a time
_HUGE = 1e100  # squares of distances stay finite
_LEAST_EXPONENT = -400  # and don't underflow
_MIX = np.uint64(0x9E3779B97F4A7C15)


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
