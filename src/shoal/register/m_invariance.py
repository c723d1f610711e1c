"""m-invariance: groups whose lasting sensitive values stay the same set from release to release (Xiao, Tao 2007).

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

from collections.abc import Sequence

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, BoolArray, IntArray
from shoal.register.intersection_attack import ABSENT

__all__ = ["common_values", "is_m_unique", "same_signature"]


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
