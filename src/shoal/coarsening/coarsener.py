"""Write less exact values until each person looks like others: what every coarsener shares.

A coarsener sees a prepared table and says what is written instead of each quasi-identifier (an interval, a set, a
wider category, a mean, or ``*`` where a value is suppressed) and which records are left out. Rows whose written
quasi-identifiers are equal form a class. What it promises is counted on the written file afterwards: every class
holds at least k persons, and the sensitive columns are as mixed as was asked for.

Counting rules: a missing value is a level of its own, a suppressed cell likewise, a suppressed record is in no class.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from shoal.arrays import BoolArray
from shoal.conform import Prepared
from shoal.fact import Fact, sentences
from shoal.method import Method

__all__ = ["SUPPRESSED", "Coarsened", "Coarsener"]

SUPPRESSED = "*"
"""What is written in place of a suppressed cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coarsened:
    """What a coarsener writes.

    Parameters
    ----------
    columns
        The new content of the quasi-identifiers that changed, one value per prepared row, kept or not.
    kept
        Which prepared rows are released; the others are suppressed records.
    facts
        What was done.
    details
        Loss, counts, whether the optimum was found, and so on; JSON-safe, for inside.
    outside
        What of it may leave: only what the released rows show anyway, such as the levels that were chosen.
    """

    columns: Mapping[str, pl.Series]
    kept: BoolArray
    facts: tuple[Fact, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    outside: Mapping[str, Any] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done, in sentences."""
        return sentences(self.facts)


class Coarsener(Method):
    """Coarsens the quasi-identifiers until every class holds at least `k` persons."""

    family = "coarsen"
    coarsens = True

    k: int

    @property
    def blanks_cells(self) -> bool:
        """Whether it may blank single cells of records that it keeps, or pool the values of a few people.

        The others' stay as they are, so a comparison with the original would tell what was blanked or pooled: it stays
        inside.
        """
        return False

    @property
    def leaves_out(self) -> bool:
        """Whether it may suppress whole records."""
        return False

    @abstractmethod
    def apply(self, prepared: Prepared, seed: int) -> Coarsened:
        """Coarsen a prepared table; the seed decides ties only."""
