"""Write less exact values until each person looks like others: what every coarsener shares.

A coarsener sees a prepared table and says what is written instead of each quasi-identifier (an interval, a set, a
wider category, a mean, or ``*`` where a value is suppressed) and which records are left out. Rows whose written
quasi-identifiers are equal form a class. What it promises is counted on the written file afterwards: every class
holds at least k persons, and the sensitive columns are as mixed as was asked for.

Counting rules: a missing value is a level of its own, a suppressed cell likewise, a suppressed record is in no class.

Raise k until the attackers' risks are within their limits, whatever the coarsener.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray
from shoal.condition.attackers import risk_limits, smallest_k, worst_risks
from shoal.conform import Prepared
from shoal.equivalence import classes_of
from shoal.errors import ParameterError
from shoal.fact import Fact, RewrittenCells, sentences
from shoal.frame import adopt, pick, with_columns
from shoal.method import Method
from shoal.schema import Column

__all__ = ["SUPPRESSED", "Coarsened", "Coarsener", "within_limits"]

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
    cells
        What was rewritten cell by cell, by place among the prepared rows: which rows are released decides what is told.
    declared
        Rewritten columns with a domain that still holds, where it follows from the schema; others have none any more.
    """

    columns: Mapping[str, pl.Series]
    kept: BoolArray
    facts: tuple[Fact, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    outside: Mapping[str, Any] = field(default_factory=dict)
    cells: tuple[RewrittenCells, ...] = ()
    declared: Mapping[str, Column] = field(default_factory=dict)

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


def within_limits(
    owner: str,
    prepared: Prepared,
    k: int,
    run: Callable[[int], Coarsened],
    risk: str | None,
    population: float | None,
) -> Coarsened:
    """What `run` writes at `k`, or at the smallest larger one tried at which the limits hold on what is written.

    Parameters
    ----------
    owner
        The coarsener, for errors.
    run
        Coarsens the table at a k.
    risk, population
        The limits in words, and how many persons the table was drawn from; None: the survey weights tell, or the table
        is the population.
    """
    limits = risk_limits(risk)
    if not limits:
        if population is not None:
            raise ParameterError(owner, "population is used by limits of risk only", hint="Add risk=journalist:0.05.")
        return run(k)

    def meets(done: Coarsened) -> bool:
        return all(limit.holds(value) for limit, value in zip(limits, _found(done), strict=True))

    def _found(done: Coarsened) -> tuple[float, ...]:
        rows = np.flatnonzero(done.kept)
        if not len(rows):
            return tuple(1.0 for _ in limits)
        frame = pick(prepared.frame, rows)
        written = with_columns(frame, {name: adopt(new.gather(rows), frame) for name, new in done.columns.items()})
        found = classes_of(written, prepared.schema.quasi, prepared.schema.unit)
        return worst_risks(limits, written, prepared.schema, found, population)

    chosen, done = smallest_k(limits, k, run, meets)
    fact = Fact(says="k = {k} is the smallest tried at which {risk} holds", values={"k": chosen, "risk": risk})
    return replace(done, facts=(*done.facts, fact), details={**done.details, "k": chosen})
