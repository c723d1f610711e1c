"""The second half of Rosenblatt's transformation: uniform numbers back to the distribution of the data.

Dimension by dimension, u_ij is looked up in the empirical distribution of column j among the observed rows that agree
with what has been written so far (Wei, Ramamurthy and Varshney, equations 7 to 9):

    x̂_ij = inf{ v : F(v | x̂_i1 … x̂_i,j−1) ≥ u_ij }

The condition is on x̂, the values already written, not on u. Every x̂_i is therefore a combination that was observed.
If the u's are uniform and independent, each x̂_i has exactly the (weighted) distribution of the data.

`inverse_ranked` matches ranks instead of looking up: the smallest u's of column 1 receive the smallest values, and
so on within each block of equal prefix. Then the released rows as a whole are a permutation of the observed ones, and
the joint distribution is kept without sampling noise.

Distribution functions are ratios of integers (`masses`), so a step is found exactly, at the ends too: u = 0 gives the
least value, u = 1 the greatest, and no rounding can lead past the top.

On a column with hardly a repeated value both return original rows whole; `shoal.mask.smoothed_inverse` has the remedy.

The cell dither: uniform noise on the cells around observed values.

In each column the observed values v(1) < v(2) < … share the line out among cells whose edges are the midpoints between
neighbours; the outermost cells reach as far outward as inward. A row of group l moves to the cell of one of its
group's members, picked by mass (Wei, Ramamurthy and Varshney, equation 10), and falls uniformly within that product of
cells. `forward_cells` gives the conditional distribution functions of this mixture over all groups, (6).

Theorem 2 of the paper: looked up in `shoal.mask.rosenblatt.inverse`, they return exactly the member that was picked, so
the whole procedure is resampling with replacement. That holds here bit by bit, not only with probability one:

* a cell is (lower edge, upper edge], edges obey v(i) ≤ edge < v(i+1), and draws are kept inside, so the cell that a
  draw is found in is the one it was drawn in, whatever the rounding;
* u is kept inside (F before, F after], both computed from the same integers by the same division as in the lookup;
* masses are integers below 2^50, for which different ratios are different doubles, so that interval is never empty.

Corollary 3: in one dimension, neighbouring cells whose records all belong to one and the same group may be merged
(`merged_cells`). A draw then falls anywhere in the merged cell, and the lookup picks one of its values by mass: another
value than the one that was picked first, with the same probabilities.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import AnyArray, FloatArray, Generator, IntArray

__all__ = [
    "cell_edges",
    "dimension_order",
    "draw_cells",
    "draw_merged",
    "forward_cells",
    "forward_merged",
    "inverse",
    "inverse_ranked",
    "masses",
    "merged_cells",
    "pick_members",
]

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


def cell_edges(column: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the distinct values of a column and the edges of their cells, one more than values.

    A single value gets a cell of width 1. Every value lies in its cell: ``edges[i] < values[i] <= edges[i + 1]``.
    """
    values = np.unique(column)
    if len(values) == 1:
        return values, _outward(values, values - 0.5, values + 0.5)
    middle = np.maximum(0.5 * values[:-1] + 0.5 * values[1:], values[:-1])
    middle = np.where(middle < values[1:], middle, values[:-1])  # neighbouring doubles have nothing between them
    lower, upper = 2.0 * values[:1] - middle[:1], 2.0 * values[-1:] - middle[-1:]
    return values, np.concatenate([_outward(values, lower, upper)[:1], middle, _outward(values, lower, upper)[1:]])


def _outward(values: FloatArray, lower: FloatArray, upper: FloatArray) -> FloatArray:
    """Outermost edges, moved if need be so that the first and last value lie in their cells."""
    return np.concatenate([np.minimum(lower, np.nextafter(values[:1], -np.inf)), np.maximum(upper, values[-1:])])


def pick_members(offsets: IntArray, rng: Generator, mass: IntArray | None = None) -> IntArray:
    """For each row pick a member of its own group by mass, with replacement (10); returns row numbers."""
    mass = np.ones(int(offsets[-1]), dtype=np.int64) if mass is None else mass
    steps = np.concatenate([[0], np.cumsum(mass)])
    start, stop = (np.repeat(steps[edge], np.diff(offsets)) for edge in (offsets[:-1], offsets[1:]))
    return np.searchsorted(steps, rng.integers(start, stop), side="right") - 1


def draw_cells(members: FloatArray, values: FloatArray, rng: Generator) -> FloatArray:
    """Draw uniformly within the product of cells around each row of `members`.

    Parameters
    ----------
    members
        Rows picked from `values` (`pick_members`).
    values
        All observed rows; they define the cells.
    rng
        Source of the uniform draws.
    """
    x = np.empty_like(members)
    for j, column in enumerate(values.T):
        distinct, edges = cell_edges(column)
        x[:, j] = _fallen(np.searchsorted(distinct, members[:, j]), edges, rng)
    return x


def _fallen(cell: IntArray, edges: FloatArray, rng: Generator) -> FloatArray:
    """A uniform draw in each (lower edge, upper edge]."""
    lower, upper = edges[cell], edges[cell + 1]
    fall = lower + rng.random(len(cell)) * (upper - lower)
    return np.asarray(np.minimum(np.maximum(fall, np.nextafter(lower, np.inf)), upper))


def merged_cells(column: FloatArray, groups: IntArray) -> tuple[IntArray, FloatArray]:
    """Merge neighbouring cells whose records all belong to one group (Corollary 3).

    Returns
    -------
    tuple
        The merged cell of each row, and the edges of merged cells, one more than cells.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mask.rosenblatt import merged_cells
    >>> cells, edges = merged_cells(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 0, 0, 1]))
    >>> cells.tolist(), edges.tolist()
    ([0, 0, 0, 1], [0.5, 3.5, 4.5])
    """
    distinct, edges = cell_edges(column)
    cell = np.searchsorted(distinct, column)
    least, most = np.full(len(distinct), np.iinfo(np.int64).max), np.full(len(distinct), -1)
    np.minimum.at(least, cell, groups)
    np.maximum.at(most, cell, groups)
    alone = least == most
    first = np.concatenate([[True], ~(alone[1:] & alone[:-1] & (least[1:] == least[:-1]))])
    return (np.cumsum(first) - 1)[cell], np.concatenate([edges[:-1][first], edges[-1:]])


def draw_merged(members: IntArray, cells: IntArray, edges: FloatArray, rng: Generator) -> FloatArray:
    """Draw uniformly within the merged cell of each of the rows `members` (`pick_members`)."""
    return _fallen(cells[members], edges, rng)


def forward_merged(x: FloatArray, cells: IntArray, edges: FloatArray, mass: IntArray | None = None) -> FloatArray:
    """Return F(x) under the mixture of uniform merged cells over all groups, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mask.rosenblatt import forward_merged
    >>> forward_merged(np.array([2.0, 4.5]), np.array([0, 0, 0, 1]), np.array([0.5, 3.5, 4.5])).tolist()
    [0.375, 1.0]
    """
    mass = np.ones(len(cells), dtype=np.int64) if mass is None else mass
    held = np.zeros(len(edges) - 1, dtype=np.int64)
    np.add.at(held, cells, mass)
    steps = np.concatenate([[0], np.cumsum(held)])
    at = np.clip(np.searchsorted(edges, x, side="left") - 1, 0, len(held) - 1)
    before, after = steps[at] / steps[-1], steps[at + 1] / steps[-1]
    share = (x - edges[at]) / (edges[at + 1] - edges[at])
    inside = np.maximum(before + share * (after - before), np.nextafter(before, 2.0))
    return np.asarray(np.minimum(inside, after))


def forward_cells(x: FloatArray, values: FloatArray, mass: IntArray | None = None) -> FloatArray:
    """Return u_ij = F(x_ij | x_i1 … x_i,j−1) under the mixture of uniform cells over all groups, equation (6).

    Parameters
    ----------
    x
        Rows in the support of the mixture, as `draw_cells` gives them; columns in the order of conditioning.
    values
        All observed rows, columns in the same order.
    mass
        Integer mass of each observed row (`shoal.mask.rosenblatt.masses`); None counts rows.

    Returns
    -------
    FloatArray
        Numbers in (0, 1]. Where a condition x_i1 … x_i,j−1 lies outside the support, its distribution doesn't exist
        and u is NaN from there on.

    Notes
    -----
    Cost (len(x) + n)·d·log n.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mask.rosenblatt import forward_cells
    >>> forward_cells(np.array([[0.25], [1.0]]), np.array([[0.0], [0.0], [1.0], [1.0]])).tolist()
    [[0.375], [0.75]]
    """
    rows, steps = sorted_steps(values, mass)
    u = np.full(x.shape, np.nan)
    start, stop = np.zeros(len(x), dtype=np.int64), np.full(len(x), len(rows), dtype=np.int64)
    for j, column in enumerate(values.T):
        distinct, edges = cell_edges(column)
        cell = np.searchsorted(edges, x[:, j], side="left") - 1
        _climb(np.ascontiguousarray(x[:, j]), cell, distinct, edges, rows, steps, j, start, stop, u)
    return u


@njit(cache=True, nogil=True)
def _climb(
    x: FloatArray,
    cell: IntArray,
    distinct: FloatArray,
    edges: FloatArray,
    rows: FloatArray,
    steps: IntArray,
    j: int,
    start: IntArray,
    stop: IntArray,
    u: FloatArray,
) -> None:
    """Fill column j of u, and narrow [start, stop) to the rows that share the cell."""
    for i in range(len(x)):
        if start[i] == stop[i]:
            continue
        c = min(max(cell[i], 0), len(distinct) - 1)
        first, last = run_of(rows, j, distinct[c], start[i], stop[i])
        share = (x[i] - edges[c]) / (edges[c + 1] - edges[c])
        u[i, j] = _within(steps, start[i], first, last, stop[i], share)
        start[i], stop[i] = first, last


@njit(cache=True, nogil=True)
def _within(steps: IntArray, start: int, first: int, last: int, stop: int, share: float) -> float:
    """F at a fraction `share` of the way through the cell of rows [first, last), kept inside (before, after]."""
    total = steps[stop] - steps[start]
    before, after = float((steps[first] - steps[start]) / total), float((steps[last] - steps[start]) / total)
    inside = max(before + share * (after - before), float(np.nextafter(before, 2.0)))
    return min(inside, after)
