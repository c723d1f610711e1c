"""A release that is about to be written, attacked beside earlier ones: who loses candidates, and who loses values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.arrays import AnyArray, IntArray
from shoal.register.earlier_release import Past, side_of, spread
from shoal.register.intersection_attack import ABSENT, Side, aligned, candidates
from shoal.register.m_invariance import common_values
from shoal.register.person_marks import Draft

__all__ = ["few_values", "found_beside"]


def found_beside(draft: Draft, past: Sequence[Past], k: int) -> dict[str, Any]:
    """What the intersection attack finds, as fields of `Beside`."""
    people = draft.people
    if not past:
        return {"newcomers": len(people)}
    n, places = aligned([people.marks, *(one.people.marks for one in past)])
    new, *sides = [side_of(one, at, n) for one, at in zip([people, *(p.people for p in past)], places, strict=True)]
    left = candidates(new, sides, k, on=[spread(one.joined_on(draft), places[0], n) for one in past])
    lost = left < np.minimum(k, _lost_before(past, sides, k))
    before = np.any([side.present for side in sides], axis=0)
    return {
        "earlier": tuple(one.release for one in past),
        "returning": int((new.present & before).sum()),
        "newcomers": int((new.present & ~before).sum()),
        "leavers": int((before & ~new.present).sum()),
        "below": int(lost.sum()),
        "single": int((lost & (left <= 1)).sum()),
        "lost_before": int(((left < k) & ~lost).sum()),
        "smallest": int(left.min()),
        "joined": tuple(sorted({name for one in past for name in set(one.columns) & set(draft.columns)})),
        "tied": any(one.tied and draft.tied for one in past),
    }


def _lost_before(past: Sequence[Past], sides: Sequence[Side], k: int) -> IntArray:
    """How many candidates the earlier releases leave: who has lost their cover already doesn't lose it again.

    No limit for new people, and for all where the columns of the earlier releases can't be compared.
    """
    first, *others = reversed(list(zip(past, sides, strict=True)))
    if any(one.columns != first[0].columns or one.tied != first[0].tied for one, _ in others):
        return np.full(len(first[1].groups), np.iinfo(np.int64).max)
    on = [None if first[0].tied else first[1].signatures for _ in others]
    found = candidates(first[1], [side for _, side in others], k, on=on)
    seen = np.any([side.present for side in sides], axis=0)
    return np.where(seen, found, np.iinfo(np.int64).max)


def few_values(past: Sequence[Past], draft: Draft, least: int, classes: AnyArray) -> int:
    """How many people have fewer than `least` values of a sensitive column in common to all their classes."""
    people = draft.people
    n, places = aligned([people.marks, *(one.people.marks for one in past)])
    worst = np.full(n, least)
    tables = [classes, *(one.values for one in past)]
    for column in np.unique(classes[:, 1]):
        known = [table[table[:, 1] == column] for table in tables]
        use = [i for i, table in enumerate(known) if len(table)]
        if len(use) < 2:
            continue
        labels = [people.labels, *(one.people.labels for one in past)]
        groups, values = zip(*(_coded(labels[i], places[i], known[i], n) for i in use), strict=True)
        common = common_values(groups, values)
        repeated = np.sum([one != ABSENT for one in groups], axis=0) > 1
        worst = np.where(repeated, np.minimum(worst, common), worst)
    return int((worst < least).sum())


def _coded(labels: AnyArray, place: IntArray, table: AnyArray, n: int) -> tuple[IntArray, tuple[IntArray, AnyArray]]:
    """Classes as numbers, for people and for values alike."""
    codes = np.unique(np.concatenate((labels, table[:, 0])), return_inverse=True)[1].reshape(-1)
    groups = np.full(n, ABSENT)
    groups[place] = codes[: len(labels)]
    return groups, (codes[len(labels) :], table[:, 2])
