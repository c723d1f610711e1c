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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import AnyArray, BoolArray, Generator, IntArray
from shoal.register.earlier_release import Past, aligned_with
from shoal.register.intersection_attack import ABSENT, cells_of

__all__ = ["SameGroups", "held_back", "held_rows", "plan_same_groups"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SameGroups:
    """Groups of an earlier release for the rows of a table.

    Parameters
    ----------
    release
        The earlier release.
    groups
        The group of each row; −1 for newcomers, who are grouped among themselves.
    held
        Which rows are held back.
    people
        How many people these are.
    """

    release: str
    groups: IntArray
    held: BoolArray
    people: int


def plan_same_groups(past: Sequence[Past], release: str, marks: AnyArray, k: int, rng: Generator) -> SameGroups:
    """The groups of an earlier release for the people who are still there, and who must be held back.

    Parameters
    ----------
    past, release
        The earlier releases, and the one whose groups are kept.
    marks
        The person of each row of the new table.
    k
        How many people a group has at least.
    """
    sides, now, n = aligned_with(past, marks)
    kept = next(side.groups for one, side in zip(past, sides, strict=True) if one.release == release)
    earlier = cells_of([side.groups for side in sides])
    newcomer = np.all([side.groups == ABSENT for side in sides], axis=0)
    own = int(kept.max()) + 1 + earlier  # who was released before but not in that one keeps together by cell
    groups = np.full(n, ABSENT)
    groups[now] = np.where(kept == ABSENT, np.where(newcomer, int(own.max()) + 1, own), kept)[now]
    back = held_back(earlier, groups, newcomer, k, rng)
    return SameGroups(
        release=release,
        groups=np.where(newcomer[now], ABSENT, groups[now]),
        held=back[now],
        people=int(back.sum()),
    )


def held_rows(past: Sequence[Past], marks: AnyArray, labels: IntArray, k: int, rng: Generator) -> BoolArray:
    """Which rows must be held back for classes that are what they are; `labels` are −1 for who is left out."""
    if not past:
        return np.zeros(len(labels), dtype=np.bool_)
    sides, now, n = aligned_with(past, marks)
    groups = np.full(n, ABSENT)
    groups[now] = labels
    newcomer = np.all([side.groups == ABSENT for side in sides], axis=0)
    back = held_back(cells_of([side.groups for side in sides]), groups, newcomer, k, rng)
    rows: BoolArray = back[now]
    return rows


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
