"""Points cut into blocks of neighbours until each is small enough to be grouped at once.

Groups can't straddle a cut, so a cut should separate records that would not have shared a group. Levels come first:
any two of them are equally far apart, so a cut between counties costs only groups that mix counties, and each part has
fewer levels, hence fewer indicator columns. Among the nominal columns the one of largest variance is cut, between two
sets of its levels; where no set holds a fair share of the rows, numbers are cut, again in the column of largest
variance. Equal values stay together where that leaves both parts a fair share; otherwise ties are cut in the next
column and so on, last by row number.

Each part holds a multiple of k rows (one takes the remainder). Cost n log n per column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.group.points import Points

__all__ = ["Limit", "cells"]

Limit = Callable[[int], float]
"""How many rows a block of so many coordinates may have."""

_FAIR = 0.2  # least share of the rows on either side of a cut between levels or values
_DIGITS = 9  # variances that agree in so many are equal, so that rounding decides nothing


def cells(
    points: Points, k: int, limit: Limit, share: float = 0.5, first: Literal["levels", "numbers"] = "levels"
) -> list[IntArray]:
    """Cut points until every block is within the limit; return the rows of each, in increasing order.

    Parameters
    ----------
    k
        Each block holds a multiple of `k` rows; one takes the remainder. A block of fewer than 2k is not cut.
    share
        Part of the rows that a cut should leave on its lower side. Another share puts cuts elsewhere.
    first
        What is cut as long as it can be.
    """
    done, waiting = [], [np.arange(len(points))]
    while waiting:
        rows = waiting.pop()
        part = points.take(rows)
        if len(rows) < 2 * k or len(rows) <= limit(part.width):
            done.append(rows)
        else:
            lower = _in_multiples(_lower(part, share, first), k)
            waiting += [rows[~lower], rows[lower]]
    return done


def _lower(points: Points, share: float, first: str) -> BoolArray:
    """The rows on the lower side of the cut."""
    variances = points.variances()
    order = np.argsort(-np.round(variances / max(variances.max(initial=0.0), 1e-300), _DIGITS), kind="stable")
    numbers = [points.values[:, j] for j in order if not points.is_level[j] and variances[j] > 0]
    if first == "levels" or not numbers:
        for j in order[points.is_level[order] & (variances[order] > 0)]:
            lower = _some_levels(points.values[:, j].astype(np.int64), points.counts(j), share)
            if _is_fair(lower):
                return lower
    return _lowest(numbers, len(points), int(share * len(points)))


def _some_levels(levels: IntArray, counts: IntArray, share: float) -> BoolArray:
    """Rows of the most frequent levels, as many of these as come nearest to the share."""
    by_count = np.argsort(-counts, kind="stable")
    n_chosen = 1 + int(np.argmin(np.abs(np.cumsum(counts[by_count]) - share * len(levels))))
    chosen = np.zeros(len(counts), dtype=np.bool_)
    chosen[by_count[:n_chosen]] = True
    return chosen[levels]


def _lowest(columns: list[FloatArray], n: int, size: int) -> BoolArray:
    """About `size` rows that are lowest in the first column; ties stay together if that is fair, else by the next."""
    chosen, tied = np.zeros(n, dtype=np.bool_), np.arange(n)
    for column in columns:
        values = column[tied]
        edge = np.partition(values, size)[size]
        below, upto = values < edge, values <= edge
        for side in (below, upto) if 2 * size < below.sum() + upto.sum() else (upto, below):
            whole = chosen.copy()
            whole[tied[side]] = True
            if _is_fair(whole):
                return whole
        chosen[tied[below]] = True
        size -= int(np.count_nonzero(below))
        tied = tied[values == edge]
    chosen[tied[:size]] = True
    return chosen


def _is_fair(lower: BoolArray) -> bool:
    return _FAIR <= int(np.count_nonzero(lower)) / len(lower) <= 1 - _FAIR


def _in_multiples(lower: BoolArray, k: int) -> BoolArray:
    """Move the last rows of one side to the other, such that the lower side holds a multiple of k and neither < k."""
    n_lower = int(np.count_nonzero(lower))
    size = min(max(round(n_lower / k), 1), len(lower) // k - 1) * k
    if size < n_lower:
        lower[np.flatnonzero(lower)[size:]] = False
    elif size > n_lower:
        lower[np.flatnonzero(~lower)[n_lower - size :]] = True
    return lower
