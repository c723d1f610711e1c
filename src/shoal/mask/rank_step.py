"""The rank step: before anything else, numbers change places with neighbours in rank.

A column is sorted and cut into *runs* of whole tie classes, each of at least k people (what is left over joins the last
run), and the values of a run are handed round among its people by a uniform permutation. Absent values stay where they
are. Where levels go along with a number (time and event), runs are cut among people of the same levels.

**Proved.** Two tables that differ only in how the values of a run are allotted to its people have the same runs, as
these hold whole tie classes. A uniform permutation times a transposition is uniform, so after the step both tables have
the same law, and so has everything that is made of them. Whoever knows a person's exact value, and all else there is to
know, learns from the release nothing about which of the at least k people of the run had it.

Not promised: anything about the value itself, which moved by less than k ranks and its ties.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray

__all__ = ["rank_step", "runs", "within"]


def rank_step(values: FloatArray, k: int, rng: Generator, strata: IntArray | None = None) -> IntArray:
    """Return for each row the row whose value it gets; NaN stays in place.

    `strata` number the people among whom runs are cut; None: all together.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.rng import stream
    >>> values = np.array([5.0, 1.0, np.nan, 2.0, 4.0])
    >>> sorted(rank_step(values, 2, stream(1, "step"))[[1, 3]].tolist())
    [1, 3]
    """
    return within(runs(values, k, strata), rng)


def runs(values: FloatArray, k: int, strata: IntArray | None = None) -> IntArray:
    """Return the run of each value, −1 for NaN: whole tie classes of one stratum, of at least k rows where it has them.

    Examples
    --------
    >>> import numpy as np
    >>> runs(np.array([1.0, 2.0, 2.0, 3.0]), 2).tolist()
    [0, 0, 0, 0]
    """
    from shoal.mask._run_kernels import joined

    found = np.full(len(values), -1, dtype=np.int64)
    rows = np.flatnonzero(~np.isnan(values))
    if not len(rows):
        return found
    place = np.zeros(len(rows), dtype=np.int64) if strata is None else strata[rows]
    order = np.lexsort((values[rows], place))
    ordered, of_stratum = values[rows][order], place[order]
    new_stratum = np.append(True, np.diff(of_stratum) != 0)
    starts = np.flatnonzero(new_stratum | np.append(True, np.diff(ordered) != 0))
    sizes = np.diff(np.append(starts, len(rows)))
    found[rows[order]] = np.repeat(joined(sizes, new_stratum[starts], k), sizes)
    return found


def within(groups: IntArray, rng: Generator) -> IntArray:
    """Return for each row the row whose cell it gets: a uniform permutation inside each group; −1 stays in place."""
    draws = rng.random(len(groups))
    targets = np.argsort(groups, kind="stable")
    sources = np.lexsort((draws, groups))
    out = np.empty(len(groups), dtype=np.int64)
    out[targets] = sources
    stays = groups < 0
    out[stays] = np.flatnonzero(stays)
    return out
