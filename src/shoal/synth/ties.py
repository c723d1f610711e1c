"""Whether synthetic columns are tied to each other at all, as a fact that programs can read.

With few records or a small ε no pair of columns stands out of its noise. Rows are then drawn from margins alone: ages
and diagnoses are those of the data, but who has which is chance. That must be said first, not in a footnote, and with
the ε that would change it: the least at which the public rule `allocation.n_pairs` would measure a pair, from the noisy
margins and number of records. All of it follows from noisy tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shoal.arrays import FloatArray
from shoal.record import Record
from shoal.synth.allocation import n_pairs
from shoal.synth.spend import total_budget

if TYPE_CHECKING:
    from shoal.synth.pegs import PeGS

__all__ = ["Ties", "ties_found"]

_STEP, _MOST = 1.25, 1e4


@dataclass(frozen=True, slots=True, kw_only=True)
class Ties(Record):
    """Whether columns came out independent, and if so about the ε at which they would not (None: not within 10,000)."""

    independent: bool = False
    epsilon_needed: float | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """The warning, if there is one to give."""
        if not self.independent:
            return ()
        remedy = (
            "more records or fewer levels would be needed"
            if self.epsilon_needed is None
            else f"about ε = {self.epsilon_needed:.2g} would be needed with these records"
        )
        return (
            "Columns are independent of each other: no tie between two of them stood out of the noise. Single "
            f"columns can be studied in these rows, relations between columns can't; {remedy}.",
        )

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Ties:
        """Read the facts back from a model's words; older models don't have them."""
        return cls(**words.get("ties", {}))


def ties_found(pegs: PeGS, margins: tuple[Sequence[FloatArray], float], one_variance: float, n_found: int) -> Ties:
    """The facts about a model with `n_found` ties, from its margins and number of records."""
    shares, total = margins
    if n_found or len(shares) < 2:
        return Ties()
    epsilon = pegs.epsilon
    while epsilon < _MOST:
        epsilon *= _STEP
        deviation = math.sqrt(one_variance) * pegs.epsilon / epsilon
        if n_pairs(shares, total, deviation, total_budget(epsilon, pegs.delta)):
            return Ties(independent=True, epsilon_needed=float(f"{epsilon:.2g}"))
    return Ties(independent=True)
