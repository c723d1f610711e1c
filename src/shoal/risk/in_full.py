"""What was tried on a random sample of people, tried on everybody, however long it takes.

Three measures of a large table ask a sample: the nearest match, the attack that uses unchanged columns too, and
linkage. A sample gives their share with an interval; asking everybody gives the share itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.pair import Pair
from shoal.record import Record
from shoal.risk import record_linkage, reidentification_attack
from shoal.risk.assessment import RiskReport
from shoal.risk.nearest import match_pair
from shoal.risk.unchanged import measure as attack_unchanged

__all__ = ["NAMES", "Tried", "sampled", "tried_on_all"]

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
