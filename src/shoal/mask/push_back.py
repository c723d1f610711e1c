"""PushBack: records that stand out are moved back into the crowd, with as few changes as possible (eqs 4-8).

A person of a small group (fewer than `minimum`) joins the large group whose centre c (3) is nearest,

    arg min over large groups of  Σ_j map_j(d_j(a_j, c_j)),                                     (4)

and there only those values change that are farther from the centre than any member's:

    a_j changes  if and only if  d_j(a_j, c_j) > max over members i of d_j(a_ij, c_j).          (5)

The new value is (a) ``to="noise"``: c_j + r, r such that the members' distances to the centre keep their distribution
(KL ≤ divergence), for numbers only, else as in (c) (6); (b) ``to="centroid"``: c_j (7); (c) ``to="element"``: the value
of a member drawn at random (8).

(4) is undefined where no group is large. Then pairs of small groups that hold `minimum` together merge, the nearest
pair first, the smaller moving to the larger; if there is no such pair, nothing is released.

Promised: no small group is left; a value that is not farther out than the crowd's own stays to the last bit. Not
promised: that a moved record obeys the radius of the grouping to every member. ``strict=True`` sees to it: no group
becomes wider in any column. **Nobody but the moved is protected by this mask**: all other records are as they were.
Follow it with `Shuffle` or a blind mask.

Who moves where: the nearest large group of each person in a small one (eq 4).

How far out a crowd's own members are: the reach of (5), and the range that strict push-back keeps to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.distance.space import Space, Spaces
from shoal.encode import Coding
from shoal.errors import GuaranteeError
from shoal.importance import importance_of
from shoal.mask.aware import AwareMask, Crowd, Masking, quantiles
from shoal.mask.shape_divergence import UNITS, ShapeMeasure
from shoal.method import ReportText
from shoal.params import Help, Range, check

__all__ = ["MemberRange", "Move", "PushBack"]

_TRIES = 50  # draws of noise for one value
_MOST_PAIRED = 2000  # small groups that are compared pair by pair where no group is large


@dataclass(frozen=True, slots=True, kw_only=True)
class PushBack(AwareMask):
    """Move the records of small groups into the nearest large ones.

    Parameters
    ----------
    to
        What a value that is too far out becomes: that of a random member (``"element"``), the ``"centroid"``, or the
        centroid plus ``"noise"`` (numbers only; other columns take a member's value).
    strict
        Also change values inside the reach of (5) that would make the group wider than its members are.
    divergence
        With ``to="noise"``, how much the distribution of a column's distances to the centre may change in any group.
        Raising it makes the noise easier to place.
    measure
        How that change is measured: ``"kl"``, in nats, or ``"emd"``, the earth mover's distance as a share of the
        largest distance.
    importance
        Weights of columns in the sum (4) that says which group is nearest, 1 for those that are not named: ``age=3``.
        Raising one sends a record where that column fits.

    Notes
    -----
    Works after any grouper that leaves small groups; elsewhere it changes nothing. All rows of a person move together.
    Survey weights are not used. Cost: persons in small groups times large groups times columns.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [28, 29, 21, 23, 50], "zip": [13053, 13068, 13068, 13053, 14853]})
    >>> schema = shoal.Schema.of(quasi=["age", "zip"])
    >>> ball = shoal.Ball(radius={"age": 10, "zip": 20}, minimum=4)
    >>> release = shoal.anonymize(table, schema, group=ball, mask=shoal.PushBack(to="centroid"), seed=1)
    >>> release.table["age"].max(), release.table["zip"].max()
    (29, 13068)
    """

    title = "push outliers back"
    summary = "Moves outliers into the nearest group, with few changes. Follow it with another mask."
    promise = "No small group is left; nothing is promised for those who weren't moved."
    report_text = ReportText(
        done=(
            "People who stood out were moved back into the nearest group, in the columns in which they were "
            "too far away."
        ),
        writes="changed for people who stood out: moved back into the nearest group",
        keeps="The value of everybody who did not stand out.",
    )
    rank = 6

    maps_distances: ClassVar[bool] = True

    to: Annotated[Literal["element", "centroid", "noise"], Help("what replaces a value that is too far away")] = (
        "element"
    )
    strict: Annotated[bool, Help("no group becomes wider in any column")] = False
    divergence: Annotated[float, Range(above=0), Help("with noise: largest change of a group's distances")] = 0.2
    measure: Annotated[ShapeMeasure, Help("with noise: KL in nats, or the earth mover's distance")] = "kl"
    importance: Annotated[Mapping[str, float] | None, Help("weight of a column in the distance to a group")] = None

    def apply(self, state: Masking, rng: Generator) -> Masking:
        """Move who stands out."""
        check(self)
        importance_of("PushBack", self.importance, state.prepared.schema.quasi)
        crowd = Crowd.of(state, importance=self.importance)
        move = _find_hosts(state, crowd)
        if len(move.rows) == 0:
            return state.holding(state.codes, mask="push-back", to=self.to, moved=0, moved_share=0.0)
        return _Pushing.of(self, state, crowd, move).done(rng)

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """Only the moved are protected."""
        return (_OTHERS,)


_OTHERS = (
    "Push-back changes only records that stood out; every other record keeps its values, and a mask after it has to "
    "protect them."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pushing:
    """One push-back at work: who moves where, and which of their values are too far out."""

    mask: PushBack
    state: Masking
    crowd: Crowd
    move: Move
    members: MemberRange
    out: BoolArray

    @classmethod
    def of(cls, mask: PushBack, state: Masking, crowd: Crowd, move: Move) -> _Pushing:
        members = MemberRange.of(crowd, move)
        out = members.too_far(crowd.positions[move.rows], move)
        if mask.strict:
            out |= members.outside(crowd.positions[move.rows], move)
        return cls(mask=mask, state=state, crowd=crowd, move=move, members=members, out=out)

    def done(self, rng: Generator) -> Masking:
        """The next state."""
        old = self.crowd.positions[self.move.rows]
        drawn, reached = self._values(old, rng)
        new = np.where(self.out, drawn, old)
        if self.mask.strict:
            new = np.where(self.members.outside(new, self.move), self.members.drawn(self.move, rng), new)
        positions = self.crowd.positions.copy()
        positions[self.move.rows] = new
        codes = self.crowd.written(self.state, positions).codes
        labels = self.state.labels.copy()
        labels[self.move.rows] = self.move.hosts[self.move.to]
        dense = np.unique(labels, return_inverse=True)[1].reshape(-1)
        return self.state.holding(codes, dense, **self._record(old, new, reached))

    def _values(self, old: FloatArray, rng: Generator) -> tuple[FloatArray, list[float]]:
        """New values for all cells (only those too far out are used), and the divergences that noise reached."""
        if self.mask.to == "centroid":
            return self.members.centers[self.move.to], []
        drawn, reached = self.members.drawn(self.move, rng), []
        if self.mask.to == "noise":
            for j, coding in self._numeric():
                reached += self._add_noise(drawn, j, coding, rng)
            self._check_noise(reached)
        return drawn, reached

    def _numeric(self) -> list[tuple[int, Coding]]:
        codings = [self.state.coding(name) for name in self.crowd.names]
        lines = [space.shape == "line" for space in self.crowd.spaces]
        return [(j, c) for j, c in enumerate(codings) if c.kind == "numeric" and c.atoms is None and lines[j]]

    def _add_noise(self, drawn: FloatArray, j: int, coding: Coding, rng: Generator) -> list[float]:
        from shoal.mask._crowd_kernels import noisy

        low, high = coding.axis.bounds or (-np.inf, np.inf)
        reached = []
        for host in np.unique(self.move.to[self.out[:, j]]):
            rows = np.flatnonzero(self.out[:, j] & (self.move.to == host))
            own = self.members.of_host(host)[:, j]
            uniforms = rng.random((len(rows), _TRIES, 3))
            drawn[rows, j], gap = noisy(
                own,
                self.members.centers[host, j],
                len(rows),
                low,
                high,
                coding.integral,
                self.mask.divergence,
                self.mask.measure == "emd",
                uniforms,
            )
            reached.append(float(gap))
        return reached

    def _check_noise(self, reached: list[float]) -> None:
        if reached and max(reached) > self.mask.divergence:
            raise GuaranteeError(
                "PushBack",
                f"noise must change no group's distances by more than {self.mask.divergence:g} "
                f"{UNITS[self.mask.measure]}",
                got=f"{max(reached):.3g}",
                hint='Raise divergence, widen the radius so that fewer records move, or use to="element".',
            )

    def _record(self, old: FloatArray, new: FloatArray, reached: list[float]) -> dict[str, Any]:
        changed = (new != old).sum(axis=1)
        outside = self.members.outside(new, self.move).any(axis=1)
        counts = np.bincount(changed, minlength=len(self.crowd.names) + 1)
        record: dict[str, Any] = {
            "mask": "push-back",
            "to": self.mask.to,
            "moved": len(old),
            "moved_share": len(old) / len(self.state.labels),
            "small_groups": self.move.n_small,
            "large_groups": len(self.move.hosts),
            "merged_pairs": self.move.n_merged,
            "records_by_columns_changed": {str(n): int(count) for n, count in enumerate(counts)},
            "values_changed_share": float(changed.mean() / len(self.crowd.names)),
            "distance_moved": quantiles(self.crowd.spaces.joint(old, new)),
            "outside_range_share": float(outside.mean()),
        }
        return record | ({"divergence": quantiles(np.array(reached))} if reached else {})


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


def _find_hosts(state: Masking, crowd: Crowd) -> Move:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRange:
    """The members of the hosts, before anybody joins them.

    Parameters
    ----------
    crowd
        All records.
    centers
        The centre of each host.
    rows, offsets
        Host h has the members ``rows[offsets[h]:offsets[h + 1]]``.
    reach
        The largest distance of a member to the centre, host by host and column by column.
    """

    crowd: Crowd
    centers: FloatArray
    rows: IntArray
    offsets: IntArray
    reach: FloatArray

    @classmethod
    def of(cls, crowd: Crowd, move: Move) -> MemberRange:
        """Collect the members of the hosts."""
        starts, ends = crowd.offsets[move.hosts], crowd.offsets[move.hosts + 1]
        rows = np.concatenate([crowd.order[a:b] for a, b in zip(starts, ends, strict=True)])
        offsets = np.concatenate(([0], np.cumsum(ends - starts))).astype(np.int64)
        own = np.repeat(move.centers, ends - starts, axis=0)
        far = np.column_stack([s.distance(crowd.positions[rows, j], own[:, j]) for j, s in enumerate(crowd.spaces)])
        reach = np.maximum.reduceat(far, offsets[:-1], axis=0)
        return cls(crowd=crowd, centers=move.centers, rows=rows, offsets=offsets, reach=reach)

    def of_host(self, host: int) -> FloatArray:
        """Where the members of one host lie."""
        return self.crowd.positions[self.rows[self.offsets[host] : self.offsets[host + 1]]]

    def too_far(self, positions: FloatArray, move: Move) -> BoolArray:
        """Which values are farther from their host's centre than any member's (5)."""
        columns = [
            space.distance(positions[:, j], self.centers[move.to, j]) > self.reach[move.to, j]
            for j, space in enumerate(self.crowd.spaces)
        ]
        return np.column_stack(columns)

    def outside(self, positions: FloatArray, move: Move) -> BoolArray:
        """Which values would make their host wider than its members are."""
        return np.column_stack([self._outside(s, j, positions[:, j], move.to) for j, s in enumerate(self.crowd.spaces)])

    def drawn(self, move: Move, rng: Generator) -> FloatArray:
        """A value of a random member of the host for every cell (8)."""
        sizes = np.diff(self.offsets)[move.to]
        picks = np.floor(rng.random((len(move.to), len(self.crowd.names))) * sizes[:, None]).astype(np.int64)
        rows = self.rows[self.offsets[move.to][:, None] + picks]
        values: FloatArray = self.crowd.positions[rows, np.arange(len(self.crowd.names))]
        return values

    def _outside(self, space: Space, j: int, values: FloatArray, to: IntArray) -> BoolArray:
        own = self.crowd.positions[self.rows, j]
        low: FloatArray = np.minimum.reduceat(own, self.offsets[:-1])[to]
        high: FloatArray = np.maximum.reduceat(own, self.offsets[:-1])[to]
        if space.shape == "line":
            return (values < low) | (values > high)
        if space.table is None:
            differs: BoolArray = (low == high) & (values != low)  # two levels in a group are as far apart as any
            return differs
        width = len(space.table)
        hosts = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        absent: BoolArray = ~np.isin(to * width + values.astype(np.int64), hosts * width + own.astype(np.int64))
        return absent
