"""Find a person by all their rows at once, where columns published unchanged say which rows are one person's.

A person with several rows is in several classes. A column that stays the same over a person's rows (a height, a place
of birth, a yearly sum) ties their released rows together, whatever was done to the quasi-identifiers, and all their
classes together are shared by far fewer people than each is: each row hides among k, the person among nobody. The
intruder knows the true quasi-identifiers of all rows of a person, puts released rows with equal values of such columns
into bundles, and picks the bundle that fits best:

    cost(person, bundle) = Σ_i min_r d(i, r) + Σ_r min_i d(i, r) + |rows of the person − rows of the bundle| · scale

over the person's rows i and the bundle's rows r; d is the squared distance, or in a coarsened release 0 where r is of
the class that i was written to and 1 elsewhere. Of the 50 likeliest bundles of a masked release, the cheapest pairing
of the person's rows with the bundle's decides. Among equal bundles he picks at random, and in it any row.

Cost: rows of the people tried × released rows, at most ten million pairs or thirty people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.equivalence import Codes, codes, combine
from shoal.frame import series
from shoal.pair import Pair
from shoal.rng import stream

__all__ = ["LinkedRows", "linked_rows"]

_MOST_PAIRS = 10_000_000
_FEWEST_PEOPLE = 30
_CONSTANT = 0.95  # share of people whose rows all have one value, from which a column links rows
_TIE = 1e-9
_REFINED = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedRows:
    """What was found: for the targets that were tried (by their place), the probability of a hit and how sure it is."""

    tried: IntArray
    hits: FloatArray
    certainty: FloatArray


def linked_rows(pair: Pair, targets: IntArray, names: Sequence[str], seed: int = 0) -> LinkedRows | None:
    """Try the attack on the people of `targets` by the unchanged columns `names`; None where nothing links rows."""
    person = pair.original.units()
    if pair.schema.unit is None or int(person.max()) + 1 == len(person):
        return None
    owner = np.where(pair.source_rows >= 0, person[pair.source_rows], -1)
    linking = [column for column in (codes(series(pair.released, name)) for name in names) if _links(column, owner)]
    if not linking:
        return None
    trial = _Trial.of(pair, person, owner, combine(linking))
    people, whose = _in_random_order(person[targets], seed)
    most = max(_FEWEST_PEOPLE, _MOST_PAIRS * len(people) // max(1, len(pair.released) * len(person)))
    found = np.array([trial.attack(int(one)) for one in people[:most]])
    tried = np.flatnonzero(whose < most)
    return LinkedRows(tried=tried, hits=found[whose[tried], 0], certainty=found[whose[tried], 1])


def _in_random_order(person: IntArray, seed: int) -> tuple[IntArray, IntArray]:
    """The people in random order, and the place of each target's: where not all are tried, the first are a sample."""
    people, whose = np.unique(person, return_inverse=True)
    order = stream(seed, "linked rows").permutation(len(people))
    return people[order], np.argsort(order)[whose.reshape(-1)]


def _links(column: Codes, owner: IntArray) -> bool:
    """Whether nearly all people with several released rows have one value in them, and people differ."""
    known = owner >= 0
    held = np.unique(np.column_stack((owner[known], column.values[known])), axis=0)[:, 0]
    several = np.flatnonzero(np.bincount(owner[known]) > 1)
    if len(several) == 0 or len(np.unique(column.values[known])) == 1:
        return False
    return bool(np.mean(np.bincount(held)[several] == 1) >= _CONSTANT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """The released rows sorted by bundle, and what is known of people."""

    bundle: IntArray
    starts: IntArray
    sizes: IntArray
    owner: IntArray
    person: IntArray
    original: FloatArray
    released: FloatArray
    coarse: bool

    @classmethod
    def of(cls, pair: Pair, person: IntArray, owner: IntArray, bundles: Codes) -> _Trial:
        order = np.argsort(bundles.values, kind="stable")
        sizes = np.bincount(bundles.values, minlength=bundles.n)
        cells = pair.cells
        before, after = (
            (pair.original_points(), pair.released_points())
            if cells is None
            else (cells[0][:, None].astype(np.float64), cells[1][:, None].astype(np.float64))
        )
        return cls(
            bundle=bundles.values[order],
            starts=np.cumsum(sizes) - sizes,
            sizes=sizes,
            owner=owner[order],
            person=person,
            original=before,
            released=after[order],
            coarse=cells is not None,
        )

    def attack(self, one: int) -> tuple[float, float]:
        """Probability of a hit and of being right by the intruder's own account, for one person."""
        gaps = self._gaps(self.original[self.person == one])
        cost = np.minimum.reduceat(gaps, self.starts, axis=1).sum(axis=0)
        cost += np.bincount(self.bundle, weights=gaps.min(axis=0), minlength=len(self.sizes))
        cost += np.abs(self.sizes - len(gaps)) * (1.0 if self.coarse else float(gaps.mean()))
        cost = cost if self.coarse else self._refined(gaps, cost)
        best = cost <= cost.min() + _TIE * (1.0 + abs(float(cost.min())))
        own = np.bincount(self.bundle, weights=self.owner == one, minlength=len(self.sizes)) / self.sizes
        return float(own[best].mean()), 1.0 / int(best.sum())

    def _refined(self, gaps: FloatArray, cost: FloatArray) -> FloatArray:
        """The cost of the likeliest bundles if each row of the person is one row of the bundle; the others are out."""
        from scipy.optimize import linear_sum_assignment

        refined = np.full(len(cost), np.inf)
        for bundle in np.argsort(cost, kind="stable")[:_REFINED]:
            rows = slice(self.starts[bundle], self.starts[bundle] + self.sizes[bundle])
            own, shown = linear_sum_assignment(gaps[:, rows])
            missing = abs(len(gaps) - int(self.sizes[bundle]))
            refined[bundle] = gaps[:, rows][own, shown].sum() + missing * gaps.mean()
        return refined

    def _gaps(self, own: FloatArray) -> FloatArray:
        """The distance of each row of a person to each released row."""
        if self.coarse:
            differs: FloatArray = (own != self.released.T).astype(np.float64)
            return differs
        return np.column_stack([((self.released - row) ** 2).sum(axis=1) for row in own]).T
