"""The cell dither: uniform noise on the cells around observed values.

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
"""

from __future__ import annotations

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.mask.rosenblatt import run_of, sorted_steps

__all__ = ["cell_edges", "draw_cells", "forward_cells", "pick_members"]


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
        cell = np.searchsorted(distinct, members[:, j])
        lower, upper = edges[cell], edges[cell + 1]
        fall = lower + rng.random(len(members)) * (upper - lower)
        x[:, j] = np.minimum(np.maximum(fall, np.nextafter(lower, np.inf)), upper)
    return x


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
    >>> from shoal.mask.cell_dither import forward_cells
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
