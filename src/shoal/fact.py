"""What a run has to say, as values: what happened, to which column, counting what, and for whom.

A sentence is made from a fact at the very end (`str(fact)`); nothing is ever decided by reading one. A fact is for
inside unless its maker says that it follows from the schema, the recipe and the released rows alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from shoal.arrays import BoolArray, IntArray
from shoal.record import Record

__all__ = ["Counts", "Fact", "RewrittenCells", "Step", "sentences"]

Counts = Literal["records", "persons", "cells", "groups"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact(Record):
    """One thing that a run has to say.

    Parameters
    ----------
    says
        The sentence, with `values` by name in braces and ``{column}`` for the column; empty where a list shows it.
    values
        The numbers and names in it.
    column
        The column it is about, if it is about one.
    counts
        What its numbers count, where they count anything.
    outside
        Whether it may leave the secure environment: only if it follows from schema, recipe and released rows alone.

    Examples
    --------
    >>> from shoal.fact import Fact
    >>> str(Fact(says="{column}: written at level {level} of {height}", values={"level": 2, "height": 4}, column="age"))
    'age: written at level 2 of 4'
    """

    says: str
    values: Mapping[str, Any] = field(default_factory=dict)
    column: str | None = None
    counts: Counts | None = None
    outside: bool = False

    def __str__(self) -> str:
        return self.says.format(column=self.column, **self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewrittenCells:
    """Which known cells of a column a rule rewrote, and what the column was found to hold.

    That it did may be told only if most of the released cells were rewritten, as then the column shows it; that a few
    were, such as ages over 89, tells of these people, and a later step may leave them out. `always` says that every
    cell is rewritten whatever the rows: dates by their type, suppressed places.
    """

    column: str
    title: str
    rows: IntArray
    rewritten: BoolArray
    always: bool

    def at(self, rows: IntArray) -> RewrittenCells:
        """The same with its rows numbered as `rows` says."""
        return replace(self, rows=rows[self.rows])

    def show(self, released: IntArray | None) -> bool:
        """Whether most of the released cells were rewritten; None: whichever rows are released."""
        if released is None:
            return self.always
        own = self.rewritten[np.isin(self.rows, released)]
        return 2 * int(own.sum()) > len(own)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Record):
    """What one step of a recipe did.

    Parameters
    ----------
    name
        The method.
    details
        Loss, moves, counts: for inside.
    outside
        What of it may leave: nothing but what the released rows show anyway, such as the levels that were chosen.
    cells
        What was rewritten cell by cell, until it is known which rows are released (`of_released`).
    reidentification, linkage
        What an intruder achieves after this step, where it was measured: for inside.
    """

    name: str
    details: Mapping[str, Any] = field(default_factory=dict)
    outside: Mapping[str, Any] = field(default_factory=dict)
    cells: tuple[RewrittenCells, ...] = ()
    reidentification: float | None = None
    linkage: float | None = None

    private = ("cells",)

    def of_released(self, rows: IntArray | None) -> Step:
        """The step with the columns that it rewrote, by what they held: of released rows, or (None) of any."""
        shown = [one for one in self.cells if one.show(rows)]
        held = {one.title: [other.column for other in shown if other.title == one.title] for one in shown}
        return replace(self, outside={**self.outside, **held}, cells=())


def sentences(facts: Iterable[Fact], *, outside: bool = False) -> tuple[str, ...]:
    """The facts in words; with `outside`, only those that may leave."""
    return tuple(str(fact) for fact in facts if fact.says and (fact.outside or not outside))
