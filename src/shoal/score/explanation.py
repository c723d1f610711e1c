"""Why a score is what it is: what each of a person's values added, in log-odds.

score = 1 / (1 + exp(−(base + Σ contributions))), for the class that is explained; of more than two classes, before
their shares are made to add up to 1. A point table has one contribution a feature. In a tree each question on a
person's way moves the log-odds from one node's share to the next one's, and the move is the asked feature's; a forest
takes the mean over its trees.

All of it is made from the published model, which holds noise only. An explanation is post-processing: it costs nothing,
and any number of them tells no more than the model does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shoal.record import Record

__all__ = ["Contribution", "Explanation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution(Record):
    """What one value did: its feature, the cell that it lies in, in words, and the log-odds that it added."""

    feature: str
    cell: str
    log_odds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation(Record):
    """A score taken apart: `base` and the contributions, the largest first, add up to its log-odds.

    Examples
    --------
    >>> part = Contribution(feature="glucose", cell="from 140", log_odds=0.9)
    >>> print(Explanation(outcome="pos", score=0.48, base=-0.98, contributions=(part,)))
    pos: 0.48
      start -0.98
      glucose from 140 +0.90
    """

    releasable: ClassVar[bool] = True

    outcome: str
    score: float
    base: float
    contributions: tuple[Contribution, ...]

    def __str__(self) -> str:
        lines = [f"{self.outcome}: {self.score:.4g}", f"  start {self.base:+.2f}"]
        return "\n".join(lines + [f"  {p.feature} {p.cell} {p.log_odds:+.2f}" for p in self.contributions])
