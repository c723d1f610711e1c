"""A smoothed inverse for continuous columns, so that no original row comes back whole.

If (nearly) every value of a column occurs once, conditioning on it leaves one candidate row, and the exact inverse
returns that row verbatim. Here such a column is treated as a sample from a continuous distribution. It is worked on as
normal scores s = Φ⁻¹(share of mass below), and column j of a row is written in three steps:

* **candidates**: the observed rows in the same cell of the columns written before. Cells come from splitting on one
  column after the other: codes apart, amounts into bins of equal counts.
* **a line in the cell**: s_j is regressed on the earlier amounts over the candidates, so that dependence inside a bin
  is kept to first order. The written score is the line at the row's own earlier values plus the residual at quantile
  u, read off a quantile function that runs straight from one residual to the next and half a step beyond the ends.
* **a value**: Φ(s) is looked up in the column's own quantile function, which runs straight from one observed value to
  the next. Ties (a share of zeros, say) stay ties, the observed range is never left, values in between are new.

Coded columns, and numeric ones whose values repeat often, are written as in `shoal.mask.rosenblatt.inverse`: observed
values, equality as the condition, and among themselves only observed combinations.

**Sizes of cells.** For a continuous column every cell holds at least `minimum` rows (all rows, if there are fewer).
Codes with fewer are pooled with the next ones in order; of N rows, with q amounts left to condition on, the next is cut
into (N/minimum)^(1/q) bins. The default minimum is 2·n^(1/3), at least 50 and 6·d.

What is lost against the exact inverse is structure finer than a cell. Nothing here is private in itself: the bound on
re-identification comes from the mask, which sees no record's own row.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from scipy.special import ndtr, ndtri

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.mask.rosenblatt import step_reached

__all__ = ["continuous", "inverse_smooth"]

_RIDGE = 1e-6  # relative to each variance in a cell; keeps collinear columns harmless


def continuous(values: FloatArray, numeric: BoolArray) -> BoolArray:
    """Tell which numeric columns have so many distinct values, over n^(2/3), that equality is no condition.

    With fewer, a value is shared by n^(1/3) rows on average, enough to condition on.
    """
    limit = len(values) ** (2.0 / 3.0)
    many: BoolArray = np.array([len(np.unique(column)) > limit for column in values.T], dtype=np.bool_)
    return many & numeric


def inverse_smooth(
    u: FloatArray,
    target: FloatArray,
    numeric: BoolArray,
    mass: IntArray | None = None,
    minimum: int | None = None,
) -> FloatArray:
    """Turn uniform numbers into rows distributed like `target`, smoothing its continuous columns.

    Parameters
    ----------
    u
        Numbers in [0, 1], columns in the order of conditioning.
    target
        The observed rows, columns in the same order.
    numeric
        Columns whose values are amounts, not codes. Those with many distinct values (`continuous`) are smoothed.
    mass
        Integer mass of each observed row (`shoal.mask.rosenblatt.masses`); None counts rows.
    minimum
        Observed rows that a continuous column is drawn from, at least. Raising it smooths more: a written row resembles
        single observed ones less, and curved dependence is followed less closely.

    Returns
    -------
    FloatArray
        One row per row of u, every value within the observed range of its column.

    Notes
    -----
    Cost (n + len(u))·d²·log n.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.mask.smoothed_inverse import inverse_smooth
    >>> target = np.array([[0.0], [10.0], [20.0], [30.0]])
    >>> inverse_smooth(np.array([[0.25], [0.5]]), target, np.array([True])).round(2).tolist()
    [[4.25], [15.0]]
    """
    mass = np.ones(len(target), dtype=np.int64) if mass is None else mass
    target, mass = target[mass > 0], mass[mass > 0]
    smooth = continuous(target, numeric)
    minimum = _default_minimum(*target.shape) if minimum is None else minimum
    scores, written = _scores(target, mass, smooth), np.empty(u.shape)
    for j in range(u.shape[1]):
        if smooth[j]:
            written[:, j] = _score(j, u[:, j], scores, written, mass, numeric[:j], minimum)
        else:
            written[:, j] = _code(j, u[:, j], scores, written, mass, smooth[:j], minimum)
    for h in np.flatnonzero(smooth):
        written[:, h] = _values(written[:, h], target[:, h], mass)
    return written


def _default_minimum(n: int, d: int) -> int:
    """Enough rows for a line on d columns, and more as n grows."""
    return max(50, 6 * d, math.ceil(2.0 * math.cbrt(n)))


def _scores(target: FloatArray, mass: IntArray, smooth: BoolArray) -> FloatArray:
    """Replace continuous columns by normal scores; equal values get neighbouring ones, in row order."""
    scores = target.copy()
    for j in np.flatnonzero(smooth):
        order = np.argsort(target[:, j], kind="stable")
        scores[order, j] = ndtri(_middles(mass[order]))
    return scores


def _middles(mass: IntArray) -> FloatArray:
    """Where the middle of each row's mass stands, on a scale from 0 to 1."""
    middles: FloatArray = (np.cumsum(mass) - 0.5 * mass) / mass.sum()
    return middles


def _values(score: FloatArray, column: FloatArray, mass: IntArray) -> FloatArray:
    """Read Φ(score) off the column's quantile function; what lies beyond an end is reflected there."""
    order = np.argsort(column, kind="stable")
    place, middles = ndtr(score), _middles(mass[order])
    place = np.where(place < middles[0], 2.0 * middles[0] - place, place)
    place = np.where(place > middles[-1], 2.0 * middles[-1] - place, place)
    values: FloatArray = np.interp(place, middles, column[order])
    return values


def _cells(
    scores: FloatArray, written: FloatArray, codes: IntArray, amounts: IntArray, least: int, minimum: int
) -> tuple[IntArray, IntArray]:
    """Cell of each observed row, and of each row being written, after splitting on codes, then on amounts."""
    cells, places = np.zeros(len(scores), dtype=np.int64), np.zeros(len(written), dtype=np.int64)
    for h in codes:
        sizes = np.full(cells.max() + 1, least)
        cells, places = _split(cells, places, scores[:, h], written[:, h], sizes)
    for k, h in enumerate(amounts):
        counts = np.bincount(cells)
        bins = np.maximum(1.0, np.floor((counts / minimum) ** (1.0 / (len(amounts) - k)) + 1e-9))
        cells, places = _split(cells, places, scores[:, h], written[:, h], (counts // bins).astype(np.int64))
    return cells, places


def _split(
    cells: IntArray, places: IntArray, column: FloatArray, wanted: FloatArray, sizes: IntArray
) -> tuple[IntArray, IntArray]:
    """Cut each cell into bins of at least ``sizes[cell]`` rows, never between equal values; renumber from 0."""
    order = np.lexsort((column, cells))
    first = _bin_starts(cells[order], column[order], sizes)
    finer = np.empty_like(cells)
    finer[order] = np.cumsum(first) - 1
    heads = order[first]
    bounds = np.where(np.diff(cells[heads], prepend=-1) > 0, -np.inf, column[heads])  # the first bin is open below
    return finer, _last_bound(cells[heads], bounds, places, wanted)


def _last_bound(cells: IntArray, bounds: FloatArray, places: IntArray, wanted: FloatArray) -> IntArray:
    """For each wanted value, the number of the last bound in its cell that isn't above it."""
    n = len(cells)
    cell, value = np.concatenate([cells, places]), np.concatenate([bounds, wanted])
    order = np.lexsort((np.arange(len(cell)) >= n, value, cell))
    number = np.empty(len(cell), dtype=np.int64)
    number[order] = np.cumsum(order < n) - 1
    return number[n:]


def _code(
    j: int, u: FloatArray, scores: FloatArray, written: FloatArray, mass: IntArray, smooth: BoolArray, minimum: int
) -> FloatArray:
    """Draw coded column j among rows with the same codes and in the same bins of the continuous columns."""
    cells, places = _cells(scores, written, np.flatnonzero(~smooth), np.flatnonzero(smooth), 1, minimum)
    return _drawn(u, scores[:, j], cells, places, mass, False)


def _score(
    j: int, u: FloatArray, scores: FloatArray, written: FloatArray, mass: IntArray, numeric: BoolArray, minimum: int
) -> FloatArray:
    """Draw continuous column j: in each cell the line on earlier amounts, plus a quantile of what it leaves."""
    amounts = np.flatnonzero(numeric)
    cells, places = _cells(scores, written, np.flatnonzero(~numeric), amounts, minimum, minimum)
    slopes = _slopes(scores[:, amounts], scores[:, j], cells, mass)
    rest = scores[:, j] - (slopes[cells] * scores[:, amounts]).sum(axis=1)
    line: FloatArray = (slopes[places] * written[:, amounts]).sum(axis=1)
    return line + _drawn(u, rest, cells, places, mass, True)


def _drawn(
    u: FloatArray, values: FloatArray, cells: IntArray, places: IntArray, mass: IntArray, smooth: bool
) -> FloatArray:
    """Quantile u of the values in the cell where each row being written belongs."""
    order = np.lexsort((values, cells))
    edges = np.concatenate([[0], np.cumsum(np.bincount(cells))])
    steps = np.concatenate([[0], np.cumsum(mass[order])])
    drawn: FloatArray = _quantiles(
        np.ascontiguousarray(u), edges[places], edges[places + 1], values[order], steps, smooth
    )
    return drawn


def _slopes(x: FloatArray, y: FloatArray, cells: IntArray, mass: IntArray) -> FloatArray:
    """Weighted least-squares slopes of y on the columns of x in each cell; 0 where rows are too few to tell."""
    q, count = x.shape[1], np.bincount(cells)
    if q == 0:
        return np.zeros((len(count), 0))
    order = np.argsort(cells, kind="stable")
    starts = np.concatenate([[0], np.cumsum(count)[:-1]])
    weight = mass[order] / np.repeat(np.add.reduceat(mass[order], starts), count)
    table = np.column_stack([x, y])[order]
    table -= np.repeat(np.add.reduceat(weight[:, None] * table, starts), count, axis=0)
    product = np.add.reduceat(weight[:, None, None] * table[:, :, None] * table[:, None, :-1], starts)
    inner, outer = product[:, :q], product[:, q]
    variance = np.einsum("ckk->ck", inner)
    inner = inner + _RIDGE * np.eye(q) * np.where(variance > 0, variance, 1.0)[:, None, :]
    slopes: FloatArray = np.linalg.solve(inner, outer[:, :, None])[:, :, 0]
    return np.where((count >= 3 * (q + 1))[:, None], slopes, 0.0)


@njit(cache=True, nogil=True)
def _bin_starts(cells: IntArray, column: FloatArray, sizes: IntArray) -> BoolArray:
    """Flag the first row of each bin; rows are sorted by cell, then column. A short last bin joins the one before."""
    first = np.zeros(len(cells), dtype=np.bool_)
    start = 0
    for i in range(len(cells)):
        full = i - start >= sizes[cells[i]] and column[i] != column[i - 1]
        if i == 0 or cells[i] != cells[i - 1] or full:
            first[i], start = True, i
        last = i + 1 == len(cells) or cells[i + 1] != cells[i]
        if last and i + 1 - start < sizes[cells[i]] and start > 0 and cells[start - 1] == cells[i]:
            first[start] = False
    return first


@njit(cache=True, nogil=True)
def _quantiles(
    u: FloatArray, start: IntArray, stop: IntArray, values: FloatArray, steps: IntArray, smooth: bool
) -> FloatArray:
    """Quantile u of values[start:stop], sorted there; straight lines between the middles of masses if smooth."""
    found = np.empty(len(u))
    for i in range(len(u)):
        at: int = step_reached(steps, start[i], stop[i], u[i])
        found[i] = values[at]
        if smooth and stop[i] - start[i] > 1:
            place = 2.0 * (u[i] * (steps[stop[i]] - steps[start[i]]) + steps[start[i]])
            at -= place < steps[at] + steps[at + 1]
            at = min(max(at, start[i]), stop[i] - 2)
            before, after = steps[at] + steps[at + 1], steps[at + 1] + steps[at + 2]
            found[i] = values[at] + (values[at + 1] - values[at]) * ((place - before) / (after - before))
    return found
