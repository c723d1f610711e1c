"""The second half of Rosenblatt's transformation: uniform numbers back to the distribution of the data.

Dimension by dimension, u_ij is looked up in the empirical distribution of column j among the observed rows that agree
with what has been written so far (Wei, Ramamurthy and Varshney, equations 7 to 9):

    x̂_ij = inf{ v : F(v | x̂_i1 … x̂_i,j−1) ≥ u_ij }

The condition is on x̂, the values already written, not on u. Every x̂_i is therefore a combination that was observed. If
the u's are uniform and independent, each x̂_i has exactly the (weighted) distribution of the data.

`inverse_ranked` matches ranks instead of looking up: the smallest u's of column 1 receive the smallest values, and
so on within each block of equal prefix. Then the released rows as a whole are a permutation of the observed ones, and
the joint distribution is kept without sampling noise.

Distribution functions are ratios of integers (`masses`), so a step is found exactly, at the ends too: u = 0 gives the
least value, u = 1 the greatest, and no rounding can lead past the top.

On a column with hardly a repeated value both return original rows whole; `shoal.mask.smooth` has the remedy.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import AnyArray, FloatArray, IntArray

__all__ = ["dimension_order", "inverse", "inverse_ranked", "masses"]

_TOTAL = 2.0**50  # ratios of integers up to 2^50 are distinct as doubles


def dimension_order(values: FloatArray) -> IntArray:
    """Columns by increasing number of distinct values; ties keep their place."""
    distinct = [len(np.unique(column)) for column in values.T]
    return np.argsort(distinct, kind="stable").astype(np.int64)


def masses(weights: FloatArray | None, offsets: IntArray) -> IntArray:
    """Turn record weights into integers, so that distribution functions are exact ratios.

    Parameters
    ----------
    weights
        Non-negative, one per record, group by group; None counts records.
    offsets
        Where each group starts, and the end.

    Notes
    -----
    Weights are scaled to a total of about 2^50 and rounded; a positive weight becomes at least 1, a zero stays 0.
    Where all weights of a group are zero, its records get mass 1, since something must be drawn for them. Summed over
    all records, shares move by at most n·2^−49 (2e-10 for 100,000 records).
    """
    n = int(offsets[-1])
    if weights is None or not weights.any():
        return np.ones(n, dtype=np.int64)
    peak = weights / weights.max()
    mass: IntArray = np.rint(peak * (_TOTAL / peak.sum())).astype(np.int64)
    mass = np.maximum(mass, weights > 0)
    empty = np.add.reduceat(mass, offsets[:-1]) == 0
    mass[np.repeat(empty, np.diff(offsets))] = 1
    return mass


def inverse(u: FloatArray, target: FloatArray, mass: IntArray | None = None) -> FloatArray:
    """Look each row of u up in the conditional empirical distributions of `target`, equations (7) to (9).

    Parameters
    ----------
    u
        Numbers in [0, 1], columns in the order of conditioning.
    target
        The observed rows, columns in the same order.
    mass
        Integer mass of each observed row (`masses`); None counts rows. Rows of mass 0 are never returned.

    Returns
    -------
    FloatArray
        One observed combination per row of u.

    Notes
    -----
    Sorted lexicographically, the rows with a given prefix are neighbours, so each step is a binary search: cost
    (len(u) + n)·d·log n.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mask.rosenblatt import inverse
    >>> target = np.array([[0.0, 5.0], [0.0, 7.0], [1.0, 6.0], [1.0, 6.0]])
    >>> inverse(np.array([[0.3, 0.9], [0.8, 0.1]]), target).tolist()
    [[0.0, 7.0], [1.0, 6.0]]
    """
    rows, steps = sorted_steps(target, mass)
    found = np.empty(u.shape)
    _look_up(np.ascontiguousarray(u), rows, steps, found)
    return found


def inverse_ranked(u: FloatArray, target: FloatArray) -> FloatArray:
    """Hand the rows of `target` out by rank: dimension by dimension, within blocks of equal prefix.

    Parameters
    ----------
    u
        As many rows as `target`, columns in the order of conditioning.
    target
        The observed rows, columns in the same order.

    Returns
    -------
    FloatArray
        The rows of `target`, each exactly as often as it was observed.

    Notes
    -----
    Equal u's (of probability zero under a continuous dither, short of rounding to 0 or 1) are ordered by their row
    number. Rows arrive group by group with nothing that ties a place in the group to a record's own values, so this
    order tells nothing about a record either. Cost n·d·log n.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mask.rosenblatt import inverse_ranked
    >>> target = np.array([[0.0, 5.0], [0.0, 7.0], [1.0, 6.0]])
    >>> inverse_ranked(np.array([[0.3, 0.9], [0.8, 0.1], [0.2, 0.2]]), target).tolist()
    [[0.0, 7.0], [1.0, 6.0], [0.0, 5.0]]
    """
    rows = target[_lexicographic(target)]
    block = np.zeros(len(rows), dtype=np.int64)
    receiver = np.arange(len(rows))
    for j in range(rows.shape[1]):
        receiver = receiver[np.lexsort((u[receiver, j], block))]
        block = _refined(block, rows[:, j])
    handed = np.empty_like(rows)
    handed[receiver] = rows
    return handed


def sorted_steps(target: FloatArray, mass: IntArray | None) -> tuple[FloatArray, IntArray]:
    """Rows of positive mass in lexicographic order, and the cumulative mass before each and after the last."""
    mass = np.ones(len(target), dtype=np.int64) if mass is None else mass
    order = _lexicographic(target)
    order = order[mass[order] > 0]
    return np.ascontiguousarray(target[order]), np.concatenate([[0], np.cumsum(mass[order])])


def _lexicographic(values: FloatArray) -> AnyArray:
    return np.lexsort(values.T[::-1])


def _refined(block: IntArray, column: FloatArray) -> IntArray:
    """Number the runs in which both block and column stay the same."""
    new = (np.diff(block) != 0) | (np.diff(column) != 0)
    return np.concatenate([[0], np.cumsum(new)])


@njit(cache=True, nogil=True)
def _look_up(u: FloatArray, rows: FloatArray, steps: IntArray, found: FloatArray) -> None:
    for i in range(len(u)):
        start, stop = int(np.int64(0)), len(rows)  # a literal 0 would compile both searches a second time
        for j in range(rows.shape[1]):
            at = step_reached(steps, start, stop, u[i, j])
            found[i, j] = rows[at, j]
            start, stop = run_of(rows, j, rows[at, j], start, stop)


# The two searches below are compiled into the kernels of `cells` and `smooth` as well: after changing them, clear
# those modules' compiled caches.


@njit(cache=True, nogil=True)
def step_reached(steps: IntArray, start: int, stop: int, u: float) -> int:
    """Return the first row r in [start, stop) with F(r) ≥ u, F the share of mass up to and including r."""
    total = steps[stop] - steps[start]
    low, high = start, stop - 1
    while low < high:
        middle = (low + high) // 2
        if (steps[middle + 1] - steps[start]) / total >= u:
            high = middle
        else:
            low = middle + 1
    return low


@njit(cache=True, nogil=True)
def run_of(rows: FloatArray, j: int, value: float, start: int, stop: int) -> tuple[int, int]:
    """Return the range within [start, stop) in which column j, sorted there, equals `value`."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if rows[middle, j] < value:
            low = middle + 1
        else:
            high = middle
    first, high = low, stop
    while low < high:
        middle = (low + high) // 2
        if rows[middle, j] > value:
            high = middle
        else:
            low = middle + 1
    return first, low
