"""Shuffle: values change places within each group, one column at a time, and the cluster keeps its shape (eq 10).

Let D_i = Σ_j map_j(d_j(a_ij, c_j)) be the joint distance of record i to its group's centre. New values are drawn such
that

    KL(distribution of D before, after) ≤ divergence       in every group                       (10)

(10 bins, see `shoal.mask.shape_divergence`). Values only change places within a group and a column, so every column
keeps its distribution in every group, and the centre stays where it is; no record ends farther from the centre than the
farthest was. As printed, (10) bounds the columns one by one, which *any* permutation satisfies; and the identity
satisfies it in any reading. So it bounds utility, never risk, and `change` is asked for beside it: the share of values
that changed among those that could have, min(s, 2(s − m)) in a group of s records of which m share their most frequent
value.

How: whole rows change places at random first, which keeps D exactly where all quasi-identifiers are shuffled; then
pairs of single values do, drawn at random and accepted whenever (10) still holds, so that all arrangements that it
allows are about equally likely. Only where fewer values than asked for have changed by then are more made to. (To seek
change beyond that would be a leak: a value of two that is known to have changed is known.) A group of few records has
few bins to fill, and single values then hardly move; rows still do.

Promised: (10) in every group and `change` over the table, or nothing is released (GuaranteeError). Not promised: any
bound on re-identification. It is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.errors import GuaranteeError, ParameterError
from shoal.mask.aware import AwareMask, Crowd, Masking, chosen_columns, quantiles
from shoal.mask.shape_divergence import group_divergences, joint
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, Range, check

__all__ = ["Shuffle", "changeable"]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(AwareMask):
    """Let values change places within groups while each cluster keeps its shape.

    Parameters
    ----------
    columns
        The quasi-identifiers to shuffle; None means all. In words: ``age/zip``. Shuffling only some is much harder to
        reconcile with `divergence`, and leaves the others as a handle.
    divergence
        Largest divergence of a cluster's shape, in nats. Raising it lets more single values move.
    change
        Smallest share of values changed among those that can change. Raising it may be impossible, and far above 0.5 it
        is self-defeating for columns of two values: whoever knows that a value has changed then knows what it was.

    Notes
    -----
    Works after any grouper. Survey weights are not used. Cost: about five tries per value, each of the order of the
    number of columns; memory linear.

    Examples
    --------
    >>> import shoal
    >>> table, schema = shoal.datasets.health_survey(500, seed=1), shoal.datasets.health_survey_schema()
    >>> release = shoal.anonymize(table, schema, group=shoal.MDAV(k=10), mask=shoal.Shuffle(), seed=1)
    >>> sorted(release.table["income"]) == sorted(table["income"])
    True
    """

    title = "shuffle in groups"
    summary = (
        "Values are swapped within a group, column by column, so that distances to its centre keep their distribution."
    )
    promise = (
        "The required share of values has changed, or nothing is released; re-identification is measured, not bounded."
    )
    report_text = ReportText(
        done=(
            "Values were exchanged between the members of a group, one column at a time, so that distances to "
            "the group's centre stay distributed as they were."
        ),
        writes="values exchanged between the people of a group",
        keeps="The values of each group; not who has which.",
    )
    rank = 8

    columns: Annotated[Sequence[str] | None, Help("columns to shuffle, name/name; none: all quasi"), ColumnNames()] = (
        None
    )
    divergence: Annotated[float, Range(low=0), Help("largest divergence of a cluster's shape, in nats")] = 0.05
    change: Annotated[float, Range(low=0, high=1), Help("smallest share of values changed")] = 0.5

    def apply(self, state: Masking, rng: Generator) -> Masking:
        """Stir every group."""
        check(self)
        crowd = Crowd.of(state)
        active = self._active(state, crowd)
        centers = crowd.centers()
        far = crowd.distances(centers)
        possible = changeable(crowd, active).sum(axis=1)
        target = np.ceil(self.change * possible).astype(np.int64)
        source = _stir(crowd, far, active, self.divergence, target, rng)
        moved = np.column_stack([crowd.positions[source[:, j], j] for j in range(len(crowd.places))])
        reached = self._verified(crowd, centers, far, moved)
        changed, most = int((moved != crowd.positions).sum()), int(possible.sum())
        self._check_change(changed, most)
        return state.holding(
            _written(state, crowd, source),
            mask="shuffle",
            columns=len(active),
            changed_share=changed / most if most else 1.0,
            values_that_can_change=most,
            values_changed=changed,
            recombined_share=float((source[:, active] != source[:, active[:1]]).any(axis=1).mean()),
            distance_before=quantiles(joint(far)),
            distance_after=quantiles(joint(replace(crowd, positions=moved).distances(centers))),
            divergence=quantiles(reached),
            divergence_bound=self.divergence,
        )

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """Nothing is proved about who can be found."""
        return (_MEASURED,)

    def _active(self, state: Masking, crowd: Crowd) -> IntArray:
        names = chosen_columns("Shuffle", self.columns, state)
        of = [space.name for space in crowd.spaces]
        outside = [name for name in names if name not in of]
        if outside:
            raise ParameterError(
                "Shuffle", "columns must be quasi-identifiers", got=f"'{outside[0]}'", parameter="columns"
            )
        return np.array([of.index(name) for name in names], dtype=np.int64)

    def _verified(self, crowd: Crowd, centers: FloatArray, far: FloatArray, moved: FloatArray) -> FloatArray:
        """The divergence of each group, computed afresh from what was written."""
        after = replace(crowd, positions=moved).distances(centers)
        reached = group_divergences(joint(far), joint(after), crowd.labels)
        if reached.max() > self.divergence + _ROUNDING:
            raise GuaranteeError(
                "Shuffle", f"every cluster must keep its shape to {self.divergence:g} nats", got=f"{reached.max():.3g}"
            )
        return reached

    def _check_change(self, changed: int, possible: int) -> None:
        if changed < self.change * possible:
            raise GuaranteeError(
                "Shuffle",
                f"at least {self.change:.0%} of the values that can change must, within a divergence of "
                f"{self.divergence:g} in every group",
                got=f"{changed / possible:.1%}",
                hint="Shuffle all quasi-identifiers, raise divergence, lower change, or form larger groups.",
            )


_MEASURED = (
    "Shuffle bounds how much a cluster's shape may change, not how well a record can be found: what is left of that "
    "was measured, not proved."
)


def changeable(crowd: Crowd, active: IntArray) -> IntArray:
    """How many values of each group and active column a permutation can change at most: min(s, 2(s − m))."""
    sizes = np.diff(crowd.offsets)
    columns = [np.minimum(sizes, 2 * (sizes - _largest_count(crowd, int(j)))) for j in active]
    return np.column_stack(columns)


def _largest_count(crowd: Crowd, j: int) -> IntArray:
    """Records of each group that share its most frequent value."""
    values = np.unique(crowd.positions[:, j], return_inverse=True)[1].reshape(-1)
    cells, counts = np.unique(crowd.labels * (values.max() + 1) + values, return_counts=True)
    out = np.zeros(len(crowd.offsets) - 1, dtype=np.int64)
    np.maximum.at(out, cells // (values.max() + 1), counts)
    return out


def _stir(crowd: Crowd, far: FloatArray, active: IntArray, bound: float, target: IntArray, rng: Generator) -> IntArray:
    """The record from which each value comes."""
    from shoal.mask._crowd_kernels import swap

    order = crowd.order
    seeds = rng.integers(0, 2**62, size=len(crowd.offsets) - 1)
    found = swap(
        np.ascontiguousarray(crowd.positions[order]),
        np.ascontiguousarray(far[order]),
        crowd.offsets,
        active,
        bound,
        target,
        seeds,
    )
    source = np.empty_like(found)
    source[order] = order[found]
    return source


def _written(state: Masking, crowd: Crowd, source: IntArray) -> FloatArray:
    codes = state.codes.copy()
    for j, place in enumerate(crowd.places):
        codes[:, place] = state.codes[source[:, j], place]
    return codes
