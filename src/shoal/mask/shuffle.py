"""Shuffle: values change places within each group, one column at a time, and the cluster keeps its shape (eq 10).

Let D_i = Σ_j map_j(d_j(a_ij, c_j)) be the joint distance of record i to its group's centre. New values are drawn such
that

    KL(distribution of D before, after) ≤ divergence       in every group                       (10)

(10 bins, see `shoal.mask.shape_divergence`, which also has the earth mover's distance in place of KL; `importance`
weighs the columns in D_i). Values only change places within a group and a column, so every column
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

The paper writes (10) for sensitive columns. They are shuffled only if they are named, with D_i over them (and over the
quasi-identifiers where one of these is named too). One sensitive column alone, beside quasi-identifiers that are equal
in a group, is then the same table in another order; several lose their joint distribution within groups.

Promised: (10) in every group and `change` over the table, or nothing is released (GuaranteeError). Not promised: any
bound on re-identification. It is measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.errors import GuaranteeError
from shoal.importance import importance_of
from shoal.mask.aware import AwareMask, Crowd, Masking, chosen_columns, quantiles, rewritten
from shoal.mask.shape_divergence import UNITS, ShapeMeasure, group_divergences, joint
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, Range, check
from shoal.schema import Schema

__all__ = ["Shuffle", "changeable"]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Shuffle(AwareMask):
    """Let values change places within groups while each cluster keeps its shape.

    Parameters
    ----------
    columns
        The columns to shuffle; None means all quasi-identifiers. A sensitive column is shuffled only if it is named. In
        words: ``age/zip``. Shuffling only some quasi-identifiers is much harder to reconcile with `divergence`, and
        leaves the others as a handle.
    divergence
        Largest divergence of a cluster's shape. Raising it lets more single values move.
    measure
        How shapes are compared: ``"kl"``, in nats, or ``"emd"``, the mean distance that members would have to move, as
        a share of the largest. KL refuses to fill an empty bin, however near the next one is; EMD counts how near.
    importance
        Weights of columns in the joint distance, 1 for those that are not named: ``age=3/zip=0.5``. Raising one makes
        its values harder to move, as they then decide where a record lies.
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

    maps_distances: ClassVar[bool] = True

    columns: Annotated[Sequence[str] | None, Help("columns to shuffle, name/name; none: all quasi"), ColumnNames()] = (
        None
    )
    divergence: Annotated[float, Range(low=0), Help("largest divergence of a cluster's shape")] = 0.05
    measure: Annotated[ShapeMeasure, Help("how shapes are compared: KL in nats, or the earth mover's distance")] = "kl"
    importance: Annotated[Mapping[str, float] | None, Help("weight of a column in the joint distance")] = None
    change: Annotated[float, Range(low=0, high=1), Help("smallest share of values changed")] = 0.5

    def apply(self, state: Masking, rng: Generator) -> Masking:
        """Stir every group."""
        check(self)
        names = chosen_columns("Shuffle", self.columns, state, responses=True)
        crowd = self._crowd(state, names)
        active = np.array([crowd.names.index(name) for name in names], dtype=np.int64)
        centers = crowd.centers()
        far = crowd.distances(centers)
        possible = changeable(crowd, active).sum(axis=1)
        target = np.ceil(self.change * possible).astype(np.int64)
        source = _stir(crowd, far, active, self, target, rng)
        moved = np.column_stack([crowd.positions[source[:, j], j] for j in range(len(crowd.names))])
        reached = self._verified(crowd, centers, far, moved)
        changed, most = int((moved != crowd.positions).sum()), int(possible.sum())
        self._check_change(changed, most)
        written = _written(state, crowd, source)
        return written.holding(
            written.codes,
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

    def rewrites(self, schema: Schema) -> tuple[str, ...]:
        """The sensitive columns that are named."""
        return rewritten(self.columns, schema)

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """Nothing is proved about who can be found, and rows of sensitive values may be nobody's."""
        told = self.rewrites(state.prepared.schema)
        return (_MEASURED, *([_EXCHANGED.format(names=", ".join(told))] if told else []))

    def _crowd(self, state: Masking, names: Sequence[str]) -> Crowd:
        """What D_i is summed over: all quasi-identifiers where one of them is shuffled, and the sensitive columns."""
        told = self.rewrites(state.prepared.schema)
        quasi = state.prepared.schema.quasi if len(told) < len(names) else ()
        compared = (*quasi, *told)
        importance_of("Shuffle", self.importance, compared, "must name columns that are shuffled together")
        return Crowd.of(state, compared, importance=self.importance)

    def _verified(self, crowd: Crowd, centers: FloatArray, far: FloatArray, moved: FloatArray) -> FloatArray:
        """The divergence of each group, computed afresh from what was written."""
        after = replace(crowd, positions=moved).distances(centers)
        reached = group_divergences(joint(far), joint(after), crowd.labels, self.measure)
        if reached.max() > self.divergence + _ROUNDING:
            raise GuaranteeError(
                "Shuffle",
                f"every cluster must keep its shape to {self.divergence:g} {UNITS[self.measure]}",
                got=f"{reached.max():.3g}",
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
_EXCHANGED = (
    "Not as collected: {names}. Values were exchanged within groups, so a row may show another person's, and every "
    "group still holds the values of its own people: whoever finds a group in which all agree learns them."
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


def _stir(
    crowd: Crowd, far: FloatArray, active: IntArray, asked: Shuffle, target: IntArray, rng: Generator
) -> IntArray:
    """The record from which each value comes."""
    from shoal.mask._crowd_kernels import swap

    order = crowd.order
    seeds = rng.integers(0, 2**62, size=len(crowd.offsets) - 1)
    found = swap(
        np.ascontiguousarray(crowd.positions[order]),
        np.ascontiguousarray(far[order]),
        crowd.offsets,
        active,
        asked.divergence,
        asked.measure == "emd",
        target,
        seeds,
    )
    source = np.empty_like(found)
    source[order] = order[found]
    return source


def _written(state: Masking, crowd: Crowd, source: IntArray) -> Masking:
    return state.writing({name: state.column(name)[source[:, j]] for j, name in enumerate(crowd.names)})
