"""Who is held back so that a refreshed release stays safe beside those before it.

Cells of the common refinement only shrink: a group that leavers left with fewer than k people can't be mended by
regrouping. So in every cell of the earlier releases, as many people as are in the new release must be none or at least
k in each of its groups, and as many as are absent none or at least k:

- fewer than k who would be released together are held back;
- fewer than k who left would be singled out by their absence: some who stayed are held back with them, as few as
  possible, chosen at random.

A cell that earlier releases made smaller than k can't lose what it has lost: it stays together, or it is held back.

Newcomers have a cell of their own, and their absence before is no secret: they are released by k or more in a group, or
wait. Cost: O(n log n).
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import BoolArray, Generator, IntArray
from shoal.register.crossing import ABSENT

__all__ = ["held_back"]


def held_back(cells: IntArray, groups: IntArray, newcomer: BoolArray, k: int, rng: Generator) -> BoolArray:
    """Who of those in the new release is held back.

    Parameters
    ----------
    cells
        The cell of everybody in the earlier releases; one for all newcomers.
    groups
        The group of everybody in the new release; −1 for who is absent.
    newcomer
        Who is in no earlier release.
    """
    now = groups.copy()
    order = np.argsort(cells, kind="stable")
    starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
    for members in np.split(order, starts[1:]):
        if (now[members] != ABSENT).any():
            new = bool(newcomer[members[0]])
            _settle(now, members, k if new else min(k, len(members)), rng, absence_tells=not new)
    back: BoolArray = (groups != ABSENT) & (now == ABSENT)
    return back


def _settle(now: IntArray, members: IntArray, k: int, rng: Generator, *, absence_tells: bool) -> None:
    """Make the groups of one cell large enough, in place."""
    here = members[now[members] != ABSENT]
    _, inverse, sizes = np.unique(now[here], return_inverse=True, return_counts=True)
    now[here[(sizes < k)[inverse.reshape(-1)]]] = ABSENT
    while absence_tells:
        absent = int((now[members] == ABSENT).sum())
        if absent == 0 or absent >= k or absent == len(members):
            return
        _hold_more(now, members, k, k - absent, rng)


def _hold_more(now: IntArray, members: IntArray, k: int, missing: int, rng: Generator) -> None:
    """Hold back `missing` people of the largest group that can spare them, or else the whole smallest group."""
    here = members[now[members] != ABSENT]
    names, sizes = np.unique(now[here], return_counts=True)
    spare = int(sizes.max()) - missing >= k
    group = here[now[here] == names[sizes.argmax() if spare else sizes.argmin()]]
    now[rng.permutation(group)[:missing] if spare else group] = ABSENT
