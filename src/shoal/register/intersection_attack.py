"""What several releases of the same people give away together: the intersection attack, run for everybody.

Release r puts person i into a group or class C_r(i). Where rows of two releases can be joined, because they carry the
same column unchanged (J), a token, or both, who knows i in all of them keeps

    C(i) = { (a_1, ..., a_T) : a_r in C_r(i), a_r[J] = a_s[J] for all r, s }

**Proved** (symmetry lemma): persons of one *cell*, with the same group in every release (absence is a group), can be
exchanged without a trace where masks are blind, so nobody is found with a higher probability than 1 / (size of their
cell), whatever joins the rows. Where the cell is smaller than k, the join itself decides, and it is run:

- *present in both*: rows of the class that have a partner with the same J in the other class;
- *newcomers and leavers*: rows of the class whose J occurs more often in this release than in the other;
- a person whose unchanged columns did change in between counts by the cell alone, and so does everybody where one
  release carries columns that the other lacks: an intruder may join by a part of them.

The number of candidates is the larger of cell and join, the smallest over the releases that the person is in. Cost:
O(n log n) for the cells, and (people in small cells) × (size of their classes) for the join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, BoolArray, IntArray

__all__ = ["ABSENT", "Side", "aligned", "candidates", "cells_of", "sizes_of"]

ABSENT = -1
_MOST = 4_000_000  # rows of a join that are held at once


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Side:
    """One release, over everybody who is in any of them.

    Parameters
    ----------
    groups
        The group of each person as a number from 0; −1 for who is absent.
    signatures
        What is unchanged about each person who is present; None: nothing joins but a token.
    """

    groups: IntArray
    signatures: AnyArray | None = None

    @property
    def present(self) -> BoolArray:
        """Who is in it."""
        here: BoolArray = self.groups != ABSENT
        return here


def aligned(marks: Sequence[AnyArray]) -> tuple[int, list[IntArray]]:
    """How many people there are in all, and the number of each person of each release."""
    stacked = np.concatenate(marks) if marks else np.empty((0, 2), dtype=np.uint64)
    order = np.lexsort((stacked[:, 1], stacked[:, 0]))
    is_new = np.ones(len(order), dtype=np.bool_)
    is_new[1:] = (stacked[order[1:]] != stacked[order[:-1]]).any(axis=1)
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_new) - 1
    ends = np.cumsum([len(one) for one in marks])[:-1]
    return int(is_new.sum()), np.split(numbers, ends)


def cells_of(groups: Sequence[IntArray]) -> IntArray:
    """The cell of each person: those who share the group in every release; absence is a group of its own."""
    cells = np.zeros(len(groups[0]), dtype=np.int64)
    for one in groups:
        width = int(one.max(initial=0)) + 2
        cells = np.unique(cells * width + one + 1, return_inverse=True)[1].reshape(-1)
    return cells


def sizes_of(cells: IntArray) -> IntArray:
    """How many share each person's cell."""
    return np.bincount(cells)[cells]


def candidates(new: Side, earlier: Sequence[Side], k: int, *, on: Sequence[AnyArray | None]) -> IntArray:
    """How many candidates are left for each person, at least; those with k or more in their cell are not joined.

    Parameters
    ----------
    new, earlier
        The releases; those of `earlier` can all be joined with `new`, directly or through each other.
    k
        Fewer candidates are counted exactly.
    on
        For each earlier release the signatures of the new one on that one's columns; None: a token joins them.
    """
    proved = sizes_of(cells_of([new.groups, *(one.groups for one in earlier)]))
    small = np.flatnonzero(proved < k)
    if not len(small):
        return proved
    pairs = list(zip(earlier, on, strict=True))
    found = _left(new.groups, [_joined(new.groups, mine, one) for one, mine in pairs], small)
    for one, mine in pairs:
        back = Side(groups=new.groups, signatures=mine)
        found = np.minimum(found, _left(one.groups, [_joined(one.groups, one.signatures, back)], small))
    left = proved.copy()
    left[small] = np.maximum(proved[small], found)
    return left


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Token:
    """Rows of two releases that a token joins: a row is its owner's in both."""

    theirs: IntArray

    def fits(self, whose: IntArray, row: IntArray) -> BoolArray:
        """Whether a person's row may be that of another: they share the group, or the absence, in the other release."""
        same: BoolArray = self.theirs[whose] == self.theirs[row]
        return same

    def code(self) -> IntArray:
        """People with the same number have the same candidates."""
        return self.theirs + 1


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Columns:
    """Rows of two releases that unchanged columns join.

    Parameters
    ----------
    own
        The signatures on this side.
    theirs, known
        The groups of the other, and every group with every signature that is in it.
    steady
        Who carries the same in both.
    surplus
        Whose row looks new beside the other release: absent there, or one of more rows that are alike than there are.
    """

    own: AnyArray
    theirs: IntArray
    known: pl.DataFrame
    steady: BoolArray
    surplus: BoolArray

    def fits(self, whose: IntArray, row: IntArray) -> BoolArray:
        """Whether a person's row may be that of another."""
        group = self.theirs[whose]
        asked = pl.DataFrame({"group": group, "what": self.own[row]})
        found = asked.join(self.known, on=["group", "what"], how="left", maintain_order="left")["found"]
        matched = found.fill_null(value=False).to_numpy()
        fit: BoolArray = np.where(group != ABSENT, matched & self.steady[whose], self.surplus[row])
        return fit

    def code(self) -> IntArray:
        """People with the same number have the same candidates."""
        return 2 * (self.theirs + 1) + self.steady


def _joined(groups: IntArray, own: AnyArray | None, other: Side) -> _Token | _Columns:
    """How the rows of one side are joined to those of another."""
    if own is None or other.signatures is None:
        return _Token(theirs=other.groups)
    here, there = groups != ABSENT, other.present
    steady = here & there & (own == other.signatures)
    more = _counted(own, here, own) > _counted(other.signatures, there, own)
    known = pl.DataFrame({"group": other.groups[there], "what": other.signatures[there]}).unique()
    return _Columns(
        own=own,
        theirs=other.groups,
        known=known.with_columns(found=True),
        steady=steady,
        surplus=~there | (more & steady),
    )


def _counted(signatures: AnyArray, here: BoolArray, asked: AnyArray) -> IntArray:
    """How often each asked signature is among those of the people who are here."""
    counts = pl.DataFrame({"what": signatures[here]}).group_by("what").len()
    found = pl.DataFrame({"what": asked}).join(counts, on="what", how="left", maintain_order="left")
    return found["len"].fill_null(0).to_numpy().astype(np.int64)


def _left(groups: IntArray, joins: Sequence[_Token | _Columns], people: IntArray) -> IntArray:
    """How many rows of their own class fit each person in all joins; no limit for who isn't in the release."""
    found = np.full(len(people), np.iinfo(np.int64).max)
    here = np.flatnonzero(groups[people] != ABSENT)
    alike = cells_of([groups, *(join.code() for join in joins)])[people[here]]
    _, first, back = np.unique(alike, return_index=True, return_inverse=True)
    asked = people[here][first]
    found[here] = _fitting(groups, joins, asked)[back.reshape(-1)]
    return found


def _fitting(groups: IntArray, joins: Sequence[_Token | _Columns], asked: IntArray) -> IntArray:
    """The same for some people, one by one, a bounded number of rows at a time."""
    members, start = _members(groups)
    sizes = np.diff(start)[groups[asked]]
    counts = np.zeros(len(asked), dtype=np.int64)
    for part in _parts(sizes):
        whose = np.repeat(np.arange(part.start, part.stop), sizes[part])
        place = np.arange(len(whose)) - np.repeat(np.cumsum(sizes[part]) - sizes[part], sizes[part])
        row = members[start[groups[asked[whose]]] + place]
        fit = np.ones(len(whose), dtype=np.bool_)
        for join in joins:
            fit &= join.fits(asked[whose], row)
        counts += np.bincount(whose[fit], minlength=len(asked))
    return counts


def _members(groups: IntArray) -> tuple[IntArray, IntArray]:
    """The people of every group, one group after the other, and where each begins."""
    here = np.flatnonzero(groups != ABSENT)
    order = here[np.argsort(groups[here], kind="stable")]
    sizes = np.bincount(groups[here], minlength=int(groups.max(initial=-1)) + 1)
    return order, np.concatenate(([0], np.cumsum(sizes)))


def _parts(sizes: IntArray) -> list[slice]:
    """Runs of people whose classes together hold a bounded number of rows."""
    block = np.cumsum(sizes) // _MOST
    cuts = np.flatnonzero(np.diff(block)) + 1
    ends = [0, *cuts.tolist(), len(sizes)]
    return [slice(a, b) for a, b in pairwise(ends) if b > a]
