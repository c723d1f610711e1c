"""Who moves where: the nearest large group of each person in a small one (eq 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.distance.space import Spaces
from shoal.errors import GuaranteeError
from shoal.mask.aware import Masking
from shoal.mask.crowd import Crowd

__all__ = ["Move", "find_hosts"]

_MOST_PAIRED = 2000  # small groups that are compared pair by pair where no group is large


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Who moves where.

    Parameters
    ----------
    rows
        The records that move.
    to
        For each, the number of its host among `hosts`.
    hosts
        The groups that stay.
    centers
        Their centres.
    n_small, n_merged
        How many groups were small, and how many pairs of them merged because none was large.
    """

    rows: IntArray
    to: IntArray
    hosts: IntArray
    centers: FloatArray
    n_small: int
    n_merged: int


def find_hosts(state: Masking, crowd: Crowd) -> Move:
    """The nearest large group of each person in a small one; where none is large, small ones merge."""
    persons, centers = state.persons(), crowd.centers()
    small = persons < state.minimum
    pairs = _pairs(persons, centers, crowd.spaces, state.minimum) if small.all() else np.empty((0, 2), dtype=np.int64)
    hosts = pairs[:, 0] if small.all() else np.flatnonzero(~small)
    stays = np.zeros(len(small), dtype=np.bool_)
    stays[hosts] = True
    rows = np.flatnonzero(~stays[crowd.labels])
    to = _nearest(state, crowd, rows, centers[hosts])
    guest_of = np.full(len(small), -1, dtype=np.int64)
    guest_of[pairs[:, 1]] = np.arange(len(pairs))
    bound = guest_of[crowd.labels[rows]]
    return Move(
        rows=rows,
        to=np.where(bound >= 0, bound, to),
        hosts=hosts,
        centers=centers[hosts],
        n_small=int(small.sum()),
        n_merged=len(pairs),
    )


def _nearest(state: Masking, crowd: Crowd, rows: IntArray, centers: FloatArray) -> IntArray:
    """The nearest centre of each row's person."""
    if len(rows) == 0:
        return np.empty(0, dtype=np.int64)
    from shoal.mask._crowd_kernels import nearest_center

    persons, place = np.unique(state.prepared.units()[rows], return_inverse=True)
    by_person = np.argsort(place.reshape(-1), kind="stable")
    offsets = np.concatenate(([0], np.cumsum(np.bincount(place.reshape(-1), minlength=len(persons))))).astype(np.int64)
    positions = np.ascontiguousarray(crowd.positions[rows[by_person]])
    found = nearest_center(crowd.spaces.packed, positions, offsets, np.ascontiguousarray(centers))
    return found[place.reshape(-1)]


def _pairs(persons: IntArray, centers: FloatArray, spaces: Spaces, minimum: int) -> IntArray:
    """Disjoint pairs of small groups that are large together, the nearest first; the larger of a pair comes first."""
    able = np.flatnonzero(persons + persons.max() >= minimum)
    able = able[np.argsort(-persons[able], kind="stable")][:_MOST_PAIRED]
    first, second = np.triu_indices(len(able), 1)
    enough = persons[able[first]] + persons[able[second]] >= minimum
    first, second = able[first[enough]], able[second[enough]]
    if len(first) == 0:
        raise GuaranteeError(
            "PushBack",
            f"needs a group of at least {minimum} persons, or two groups that hold as many together",
            got=f"a largest group of {int(persons.max())}",
            hint="Widen the radius (Ball.suggest finds one) or lower minimum.",
        )
    near = np.argsort(spaces.joint(centers[first], centers[second]), kind="stable")
    return _disjoint(first[near], second[near], len(persons))


def _disjoint(first: IntArray, second: IntArray, n_groups: int) -> IntArray:
    free: BoolArray = np.ones(n_groups, dtype=np.bool_)
    taken = []
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        if free[a] and free[b]:
            free[a] = free[b] = False
            taken.append((a, b))
    return np.array(taken, dtype=np.int64)
