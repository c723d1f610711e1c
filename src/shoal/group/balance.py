"""Balance: people change places between groups until what is shuffled separately goes together no more inside them.

With a and b features of different blocks,

    W_ab = Σ_g Σ_{i∈g} (a_i − ā_g)(b_i − b̄_g),    F = |W − A|² / 2n + λ Σ |c_i − c̄_g|²,

A a secret aim and c the coordinates (`shoal.group.halving`). A uniform permutation of each block inside groups changes
the sum of a·b by −W_ab in the mean, so with W = 0 second moments are unbiased whatever k is. An exchange of i ∈ g and
j ∈ h changes W by −(u dᵀ + d uᵀ), with d = M_j − M_i, u = m_g − m_h + d (1/n_g + 1/n_h)/2. With Z = M (W − A), made
once a sweep, the three most promising of either group are found and their nine exchanges judged; the best one is
judged by W itself, and made if F falls.

The aim hides that W is small: who knows all pairings but one would read it off W = 0. It is normal, 0.3 √n in standard
deviation, more where a feature rests on fewer than 200 people, and comes from the secret key.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.group.features import Features
from shoal.group.halving import Cells

__all__ = ["Balance", "aim_of", "balanced", "cross"]

_CLOSENESS, _FROM = 0.02, 4000  # λ, which falls with the root of people beyond so many, as W's chance unit grows
_NEAR = 10  # groups to either side, in the order of the halving, that people are exchanged with
_GOOD = 0.1
_MOST_SWEEPS = 150
_PATIENCE, _LEAST_GAIN = 10, 0.01
_PART = 50_000
_MANY_PEOPLE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Groups after balancing: their cells, W outside the blocks, the aim, and F after each sweep of each part."""

    cells: Cells
    within: FloatArray
    aim: FloatArray
    before: float
    course: tuple[tuple[float, ...], ...]

    def distance(self, n: int) -> float:
        """Return the root mean square of W − A over pairs of features of different blocks, in chance units √n."""
        return _rms(self.within - self.aim, n)


def aim_of(features: Features, n: int, sd: float, rng: Generator) -> FloatArray:
    """Draw a secret aim for the sums of `n` people: symmetric, 0 inside blocks."""
    p = len(features.block)
    rarer = np.minimum(features.people[:, None], features.people[None, :])
    scale = sd * np.sqrt(n) * np.maximum(1.0, np.sqrt(_MANY_PEOPLE / rarer)) if p else np.empty((0, 0))
    drawn = np.triu(rng.normal(size=(p, p)) * scale, 1)
    return cross(drawn + drawn.T, features.block)


def cross(sums: FloatArray, block: IntArray) -> FloatArray:
    """Return sums over pairs of features with 0 inside blocks."""
    return np.where(block[:, None] == block[None, :], 0.0, sums)


def balanced(
    features: Features,
    points: FloatArray,
    cells: Cells,
    *,
    aim: float,
    rng: Generator,
    strata: IntArray | None = None,
) -> Balance:
    """Exchange people between near groups of one stratum until W is near a secret aim of standard deviation `aim` √n.

    More than 50,000 people are balanced in parts of the halving; W, the aims and what they are missed by add up.
    """
    p = len(features.block)
    order, offsets = cells.order.copy(), cells.offsets
    place = np.zeros(len(order), dtype=np.int64) if strata is None else strata
    within, wanted, before, course = np.zeros((p, p)), np.zeros((p, p)), np.zeros((p, p)), list[tuple[float, ...]]()
    for low, high in _parts(offsets):
        part = _Part.of(features, points, order, offsets[low : high + 1], place)
        drawn = part.reachable(aim_of(features, len(part.rows), aim, rng))
        start = part.within()
        done, falls = part.balance(start, drawn, rng)
        order[offsets[low] : offsets[high]] = part.rows[part.order]
        within, wanted, before = within + done, wanted + drawn, before + start
        course.append(falls)
    return Balance(
        cells=replace(cells, order=order),
        within=within,
        aim=wanted,
        before=_rms(before, len(order)),
        course=tuple(course),
    )


def _parts(offsets: IntArray) -> list[tuple[int, int]]:
    """Neighbouring groups, of at most 50,000 people together, about equally many."""
    n_groups, n = len(offsets) - 1, int(offsets[-1])
    n_parts = -(-n // _PART)
    edges = np.round(np.linspace(0, n_groups, n_parts + 1)).astype(int).tolist()
    return list(pairwise(edges))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Neighbouring groups that are balanced together; rows are numbered from 0 here."""

    rows: IntArray
    values: FloatArray
    points: FloatArray
    order: IntArray
    offsets: IntArray
    stratum: IntArray
    block: IntArray

    @classmethod
    def of(cls, features: Features, points: FloatArray, order: IntArray, offsets: IntArray, place: IntArray) -> _Part:
        rows = order[offsets[0] : offsets[-1]].copy()
        return cls(
            rows=rows,
            values=np.ascontiguousarray(features.values[rows]),
            points=np.ascontiguousarray(points[rows]),
            order=np.arange(len(rows)),
            offsets=offsets - offsets[0],
            stratum=place[order[offsets[:-1]]],
            block=features.block,
        )

    def within(self) -> FloatArray:
        """W of the groups as they are."""
        from shoal.group._balance_kernels import within_groups

        sizes = np.diff(self.offsets)
        means = within_groups(self.values, self.order, self.offsets)
        sums = self.values.T @ self.values - (means * sizes[:, None]).T @ means
        return cross((sums + sums.T) / 2, self.block)

    def reachable(self, aim: FloatArray) -> FloatArray:
        """The aim without features that don't differ inside groups, as those of strata."""
        from shoal.group._balance_kernels import within_groups

        means = within_groups(self.values, self.order, self.offsets)
        sizes = np.diff(self.offsets)
        left = (self.values**2).sum(axis=0) - (sizes[:, None] * means**2).sum(axis=0)
        fixed = (left < 1e-6 * len(self.rows)) & (len(np.unique(self.stratum)) > 1)
        return np.where(fixed[:, None] | fixed[None, :], 0.0, aim)

    def balance(self, start: FloatArray, aim: FloatArray, rng: Generator) -> tuple[FloatArray, tuple[float, ...]]:
        """W after the exchanges, and what was lowered after each sweep."""
        from shoal.group._balance_kernels import sweep, within_groups

        n = len(self.rows)
        excess = start - aim
        weight = _closeness(n)
        rounded = self.values.astype(np.float32)  # what promises most is chosen by it, and judged exactly
        starts = np.append(0, np.cumsum(np.unique(self.block, return_counts=True)[1])).astype(np.int64)
        means = within_groups(self.values, self.order, self.offsets)
        centers = within_groups(self.points, self.order, self.offsets)
        course = [self._lowered(excess, centers)]
        while len(course) <= _MOST_SWEEPS and _rms(excess, n) >= _GOOD and not _stalls(course):
            pull = rounded @ excess.astype(np.float32)
            own = np.einsum("ij,ij->i", rounded, pull)
            partners = self._partners(rng)
            taken = sweep(
                self.values, self.points, self.order, self.offsets, means, centers, excess, pull, own, starts,
                partners, weight,
            )  # fmt: skip
            course.append(self._lowered(excess, centers))
            if taken == 0:
                break
        return excess + aim, tuple(course)

    def _lowered(self, excess: FloatArray, centers: FloatArray) -> float:
        sizes = np.diff(self.offsets)
        error = float((self.points**2).sum() - (sizes[:, None] * centers**2).sum())
        return float((excess**2).sum()) / (2 * len(self.rows)) + _closeness(len(self.rows)) * error

    def _partners(self, rng: Generator) -> IntArray:
        """A near group of the same stratum for each; itself where it is alone."""
        n = len(self.offsets) - 1
        low = np.searchsorted(self.stratum, self.stratum, side="left")
        high = np.searchsorted(self.stratum, self.stratum, side="right")
        here = np.arange(n)
        first, last = np.maximum(low, here - _NEAR), np.minimum(high - 1, here + _NEAR)
        drawn = first + np.floor(rng.random(n) * (last - first)).astype(np.int64)
        return np.where(last > first, drawn + (drawn >= here), here)


def _closeness(n: int) -> float:
    return _CLOSENESS * min(1.0, float(np.sqrt(_FROM / n)))


def _stalls(course: list[float]) -> bool:
    return len(course) > _PATIENCE and course[-1] > (1 - _LEAST_GAIN) * course[-1 - _PATIENCE]


def _rms(excess: FloatArray, n: int) -> float:
    """Over pairs of different features; inside a block all are 0 and count for little."""
    pairs = np.count_nonzero(excess) or 1
    return float(np.sqrt((excess**2).sum() / pairs / n)) if n else 0.0
