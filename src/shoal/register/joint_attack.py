"""A release that is about to be written, attacked beside earlier ones: who loses candidates, and who loses values.

m-invariance: groups whose lasting sensitive values stay the same set from release to release (Xiao, Tao 2007).

*m-unique*: every group has at least m rows, all with different values. *m-invariant*: besides, the groups that a person
is in, over all releases, have the same *signature*, the set of their values. Rows of nobody (counterfeits) may fill
what leavers took away; how many is published.

**Proved**, for who takes every world that fits the releases for equally likely: P(person has v) = 1 / |signature|, at
most 1/m. A permutation of a signature S, applied to the values of everybody with that signature, keeps values within a
group different and inside S, and counterfeits take what is left: again a world that fits. So every v in S has equally
many of them. It fails for values that change, for who knows some values to be likelier, and where a token joins the
rows of a person.

What a release that isn't m-invariant leaves is counted: the values that are common to all of a person's groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, BoolArray, IntArray
from shoal.register.draft import Draft
from shoal.register.earlier_release import Past, side_of, spread
from shoal.register.intersection_attack import ABSENT, Side, aligned, candidates
from shoal.register.person_marks import row_hashes
from shoal.register.ties import Tie

__all__ = ["common_values", "few_values", "found_beside", "is_m_unique", "same_signature"]


def found_beside(draft: Draft, past: Sequence[Past], ties: Mapping[str, Tie], k: int) -> dict[str, Any]:
    """What the intersection attack finds, as fields of `Beside`."""
    people = draft.people
    if not past:
        return {"newcomers": len(people)}
    n, places = aligned([people.marks, *(one.people.marks for one in past)])
    new, *sides = [side_of(one, at, n) for one, at in zip([people, *(p.people for p in past)], places, strict=True)]
    on = [spread(ties[one.release].signatures(draft), places[0], n) for one in past]
    left = candidates(new, sides, k, on=on)
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
        "joined": tuple(sorted({link.now for one in past for link in ties[one.release].links})),
        "how": tuple(sorted({str(link) for one in past for link in ties[one.release].links})),
        "tied": any(one.tied and draft.tied for one in past),
        "not_compared": any(not ties[one.release].is_compared for one in past),
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


def few_values(past: Sequence[Past], ties: Mapping[str, Tie], draft: Draft, least: int, classes: AnyArray) -> int:
    """How many people have fewer than `least` values of a sensitive column in common to all their classes."""
    people = draft.people
    n, places = aligned([people.marks, *(one.people.marks for one in past)])
    worst = np.full(n, least)
    tables = [classes, *(_renamed(one.values, ties[one.release], draft.key) for one in past)]
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


def _renamed(values: AnyArray, tie: Tie, key: bytes) -> AnyArray:
    """The sensitive values of an earlier release, of columns that are called something else now under that name."""
    found = values.copy()
    for link in tie.links:
        if link.how == "same values" and len(values):
            then, now = row_hashes(key, "column", pl.DataFrame({"name": [link.earlier, link.now]}), 2)[:, 0]
            found[values[:, 1] == then, 1] = now
    return found


def _coded(labels: AnyArray, place: IntArray, table: AnyArray, n: int) -> tuple[IntArray, tuple[IntArray, AnyArray]]:
    """Classes as numbers, for people and for values alike."""
    codes = np.unique(np.concatenate((labels, table[:, 0])), return_inverse=True)[1].reshape(-1)
    groups = np.full(n, ABSENT)
    groups[place] = codes[: len(labels)]
    return groups, (codes[len(labels) :], table[:, 2])


def is_m_unique(groups: IntArray, values: IntArray, m: int) -> bool:
    """Whether each group has at least m rows, all with different values."""
    rows = pl.DataFrame({"group": groups, "value": values})
    found = rows.group_by("group").agg(pl.len().alias("n"), pl.col("value").n_unique().alias("different"))
    return bool(((found["n"] >= m) & (found["n"] == found["different"])).all())


def common_values(groups: Sequence[IntArray], values: Sequence[tuple[AnyArray, AnyArray]]) -> IntArray:
    """How many values all groups of each person have in common, over the releases that the person is in.

    Parameters
    ----------
    groups
        For each release the group of everybody; −1 for who is absent.
    values
        For each release every group with every value that it has, as two arrays.
    """
    n_in = np.sum([one != ABSENT for one in groups], axis=0)
    found = pl.concat([_values_of(one, *held) for one, held in zip(groups, values, strict=True)])
    counts = found.group_by("who", "value").len()
    in_all = counts.filter(pl.Series(counts["len"].to_numpy() == n_in[counts["who"].to_numpy()]))
    return np.bincount(in_all["who"].to_numpy(), minlength=len(n_in))


def _values_of(groups: IntArray, group: AnyArray, value: AnyArray) -> pl.DataFrame:
    """Each person who is present, with every value of their group."""
    here = np.flatnonzero(groups != ABSENT)
    known = pl.DataFrame({"group": group, "value": value}).unique()
    return pl.DataFrame({"who": here, "group": groups[here]}).join(known, on="group").select("who", "value")


def same_signature(groups: Sequence[IntArray], values: Sequence[tuple[AnyArray, AnyArray]]) -> BoolArray:
    """Whose groups have the same set of values in all releases that they are in."""
    shared = common_values(groups, values)
    same = np.ones(len(shared), dtype=np.bool_)
    for one, held in zip(groups, values, strict=True):
        own = np.bincount(_values_of(one, *held)["who"].to_numpy(), minlength=len(shared))
        same &= (one == ABSENT) | (own == shared)
    return same
