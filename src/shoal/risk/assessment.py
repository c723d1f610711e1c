"""All risk measures of one release, from one look at both tables.

What was tried on a random sample of people, tried on everybody, however long it takes.

Three measures of a large table ask a sample: the nearest match, the attack that uses unchanged columns too, and
linkage. A sample gives their share with an interval; asking everybody gives the share itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from shoal.group.mix import class_names
from shoal.pair import NOBODY, Pair
from shoal.progress import advance
from shoal.record import Record
from shoal.risk import (
    attacker_models,
    attribute_inference,
    class_disclosure,
    class_sizes,
    interval_disclosure,
    record_linkage,
    reidentification_attack,
    verbatim_rows,
)
from shoal.risk import population_uniqueness as uniqueness
from shoal.risk.closest_record import ClosestRecord
from shoal.risk.closest_record import measure as closest_to
from shoal.risk.dependence import Dependence, determined_by_quasi
from shoal.risk.nearest import match_pair
from shoal.risk.unchanged import UnchangedColumnsAttack
from shoal.risk.unchanged import measure as attack_unchanged

__all__ = ["NAMES", "RiskReport", "Tried", "assess", "sampled", "tried_on_all"]

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskReport(Record):
    """Every risk measure that applies to a release. It holds per-record risks: internal; `to_dict` has summaries only.

    Parameters
    ----------
    classes, uniqueness, attackers
        Of the released table; with a unit in the schema, classes count persons, found through the original.
    reidentification, linkage, intervals, inference, verbatim
        Of the released table against the original.
    unchanged
        Of the released table with its unchanged columns against the original: what 1/k does not cover.
    dependences
        Unchanged columns that follow from the quasi-identifiers, or give them away.
    class_mix
        How the groups mix the classes of each nominal or ordinal sensitive column; none without labels or classes.
    closest
        Of a synthetic table: whether its rows lie nearer to the original's records than other people do; else None.
    k, small_share
        The k that was asked about, and the share of released rows in classes of fewer than k persons.
    """

    releasable: ClassVar[bool] = False

    classes: class_sizes.ClassReport
    reidentification: reidentification_attack.Reidentification
    linkage: record_linkage.Linkage
    uniqueness: uniqueness.Uniqueness
    attackers: attacker_models.Attackers
    intervals: interval_disclosure.IntervalDisclosure
    inference: attribute_inference.Inference
    verbatim: verbatim_rows.Verbatim
    unchanged: UnchangedColumnsAttack
    dependences: tuple[Dependence, ...] = ()
    class_mix: tuple[class_disclosure.ClassMix, ...] = ()
    closest: ClosestRecord | None = None
    k: int | None = None
    small_share: float | None = None

    @property
    def strongest(self) -> float | None:
        """The share found by the strongest attack with one guess; None where nobody can be found."""
        shares = (self.reidentification.expected, self.linkage.nearest_share, self.unchanged.expected)
        return max((share for share in shares if share is not None), default=None)

    def _headlines(self) -> dict[str, Any]:
        """What an intruder achieves, each attack in one figure, and how many people are alone."""
        return {
            "strongest": self.strongest,
            "reidentification.expected": self.reidentification.expected,
            "linkage.nearest_share": self.linkage.nearest_share,
            "unchanged.expected": self.unchanged.expected,
            "classes.k": self.classes.k,
            "classes.unique_share": self.classes.unique_share,
            "k": self.k,
            "small_share": self.small_share,
        }


def assess(
    pair: Pair,
    labels: Any = None,
    k: int | None = None,
    seed: int = 0,
    *,
    exchangeable: bool = True,
    population: float | None = None,
) -> RiskReport:
    """Measure every risk of a release.

    Parameters
    ----------
    pair
        Original and release, brought together by `Pair.of`.
    labels
        Group of each original row (−1: left out), for the group formula of re-identification.
    k
        The size that classes should have, for `small_share`.
    seed
        Seed of the simulated part of re-identification, of the samples that large tables are matched by, and of the
        persons that the attack with unchanged columns tries.
    exchangeable
        Whether the released rows of a group are exchangeable, as blind masks make them; the group formula needs it.
    population
        Number of persons that the table was drawn from; None: the survey weights, else the table is the population.

    Notes
    -----
    Cost: two nearest-row searches, O(n log n) in the number of distinct points, half a second for 15,000 rows; and
    about a second for the attack with unchanged columns, whatever the number of rows. Of large tables a random sample
    of rows is matched; results say so (`sampled`, `n_targets`).
    """
    parts = _Parts(9)
    matches = parts.done(match_pair(pair, seed=seed))
    released, schema, found = pair.released, pair.schema, pair.released_classes()
    classes = parts.done(class_sizes.measure(released, schema, found=found))
    tied = parts.done(determined_by_quasi(pair, seed=seed))
    return RiskReport(
        classes=classes,
        reidentification=reidentification_attack.measure(
            pair, seed=seed, labels=labels if exchangeable else None, matches=matches
        ),
        linkage=parts.done(record_linkage.measure(pair, seed=seed)),
        uniqueness=parts.done(uniqueness.measure(released, schema, population, found=found)),
        attackers=attacker_models.measure(released, schema, population, found=found),
        intervals=parts.done(interval_disclosure.measure(pair)),
        inference=parts.done(attribute_inference.measure(pair, matches=matches)),
        verbatim=parts.done(verbatim_rows.measure(pair)),
        unchanged=parts.done(attack_unchanged(pair, seed=seed, k=k or 1, tied=tied)),
        dependences=tied,
        class_mix=_class_mix(pair, labels),
        closest=closest_to(pair, seed=seed) if (pair.source_rows == NOBODY).all() else None,
        k=k,
        small_share=None if k is None else classes.small_share(k),
    )


class _Parts:
    """Counts the measures that are made, for whoever waits."""

    def __init__(self, total: int) -> None:
        self._total, self._done = total, 0

    def done(self, measured: Value) -> Value:
        self._done += 1
        advance(self._done, self._total)
        return measured


def _class_mix(pair: Pair, labels: Any) -> tuple[class_disclosure.ClassMix, ...]:
    """One column at a time: the classes of many columns together are nearly all different, and tell nothing."""
    names = class_names(pair.schema) if labels is not None else ()
    return tuple(class_disclosure.measure(pair.original, labels, (name,)) for name in names)


NAMES = {
    "reidentification": "found by nearest match",
    "unchanged": "found, unchanged columns too",
    "linkage": "linkage, two guesses",
}
"""The measures of a `RiskReport` that a sample may stand for, and how their figure is called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried(Record):
    """One measure, the share that it found, and on how many of how many people or rows it was tried."""

    releasable: ClassVar[bool] = False
    derived: ClassVar[tuple[str, ...]] = ("name",)

    measure: str
    share: float | None
    n_tried: int
    n: int

    @property
    def name(self) -> str:
        """How its figure is called."""
        return NAMES[self.measure]


def sampled(risk: RiskReport) -> tuple[Tried, ...]:
    """The measures of a report that were tried on a sample."""
    match, attack, linkage = risk.reidentification, risk.unchanged, risk.linkage
    found = {
        Tried(
            measure="reidentification", share=match.expected, n_tried=match.n_targets, n=match.n_records
        ): match.sampled,
        Tried(measure="unchanged", share=attack.expected, n_tried=attack.n_targets, n=attack.n_records): attack.sampled,
        Tried(measure="linkage", share=linkage.share, n_tried=linkage.n_targets, n=linkage.n_rows): linkage.sampled,
    }
    return tuple(one for one, is_sample in found.items() if is_sample)


def tried_on_all(pair: Pair, measure: str, *, seed: int = 0, k: int = 1) -> Tried:
    """A measure of `NAMES` with everybody asked; `seed` and `k` as `shoal.risk.assessment.assess` has them.

    Cost: a search for each distinct row; of the attack with unchanged columns a second for every 2,000 people.
    """
    if measure == "reidentification":
        found = reidentification_attack.measure(pair, seed=seed, matches=match_pair(pair, seed=seed, everyone=True))
        return Tried(measure=measure, share=found.expected, n_tried=found.n_targets, n=found.n_records)
    if measure == "unchanged":
        attack = attack_unchanged(pair, seed=seed, k=k, everyone=True)
        return Tried(measure=measure, share=attack.expected, n_tried=attack.n_targets, n=attack.n_records)
    linkage = record_linkage.measure(pair, seed=seed, everyone=True)
    return Tried(measure=measure, share=linkage.share, n_tried=linkage.n_targets, n=linkage.n_rows)
