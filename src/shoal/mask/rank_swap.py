"""Rank swapping: values of a column change places between records of nearby rank (Moore 1996).

Column by column, in rank order, each value that hasn't moved changes places with one drawn from the next ⌊p n / 100⌋
ranks that haven't either.

Promised: every column keeps its values exactly, and no rank moves by more than p n / 100. Not promised: any bound
on re-identification. Extreme values stay extreme, the window is nothing in small tables, and an intruder who knows p
intersects the windows of all columns (100 records, two columns, p = 5: 1.8 candidates on average, the true one
always among them). What is left is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.mask.aware import AwareMask, Masking, by_content, ordered_columns
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, Range, check

__all__ = ["RankSwap"]

_TRIES = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSwap(AwareMask):
    """Let values change places with values of nearby rank, column by column.

    Parameters
    ----------
    columns
        The quasi-identifiers to swap; None means all numbers and ordinal ones. In words: ``age/income``.
    percent
        Largest move in percent of the records. Raising it hides more and weakens relations between columns.

    Notes
    -----
    Groups and survey weights play no part. Equal values are ranked at random. Cost: n log n for each column.

    References
    ----------
    Moore 1996.

    Examples
    --------
    >>> import shoal
    >>> table, schema = shoal.datasets.health_survey(500, seed=1), shoal.datasets.health_survey_schema()
    >>> release = shoal.anonymize(table, schema, group=shoal.MDAV(k=5), mask=shoal.RankSwap(percent=10), seed=1)
    >>> sorted(release.table["income"]) == sorted(table["income"])
    True
    """

    title = "rank swapping"
    summary = "Values are swapped with values of nearby rank, column by column."
    promise = "Each column keeps its values exactly; re-identification is measured, not bounded."
    report_text = ReportText(
        done="Values were exchanged between records of nearby rank, one column at a time.",
        writes="exchanged with a value of nearby rank",
        keeps="Its values exactly, and roughly who has more than whom.",
    )
    rank = 21
    perturbs = True
    trials = ({"group": {"method": "mdav", "k": 5}, "mask": [{"method": "rank-swap"}]},)

    columns: Annotated[
        Sequence[str] | None, Help("columns to swap, name/name; none: all with an order"), ColumnNames()
    ] = None
    percent: Annotated[float, Range(above=0, high=100), Help("largest change of rank, in percent of records")] = 5.0

    def apply(self, state: Masking, rng: Generator) -> Masking:
        """Swap column by column."""
        check(self)
        names = ordered_columns("RankSwap", self.columns, state)
        window = int(self.percent * len(state.codes) / 100)
        order = by_content(state)
        codes = state.codes.copy()
        for name in names:
            j = state.encoder.names.index(name)
            for rows in _apart(order, state.encoder.codings[j].is_absent(codes[order, j])):
                codes[rows, j] = _swapped(codes[rows, j], window, rng)
        places = [state.encoder.names.index(name) for name in names]
        return state.holding(
            codes,
            mask="rank swap",
            columns=len(names),
            changed_share=float((codes != state.codes)[:, places].mean()),
            largest_move=window,
        )

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """Nothing is proved about who can be found."""
        small = int(self.percent * len(state.codes) / 100) == 0
        return (_MEASURED, _NOTHING) if small else (_MEASURED,)


_MEASURED = (
    "Rank swapping keeps every value within a known window of ranks: whoever knows the window can intersect it over "
    "the columns. What is left was measured, not proved."
)
_NOTHING = "The table has so few records that the window of ranks is empty: nothing was swapped."


def _apart(order: IntArray, absent: BoolArray) -> list[IntArray]:
    """Records with a value, and those with an absence: neither rank is near the other's."""
    return [rows for rows in (order[~absent], order[absent]) if len(rows)]


def _swapped(values: FloatArray, window: int, rng: Generator) -> FloatArray:
    """The column with its values exchanged."""
    from shoal.mask._crowd_kernels import partners

    n = len(values)
    ranked = np.lexsort((rng.random(n), values))
    partner = partners(n, window, rng.random((n, _TRIES)))
    out = np.empty(n)
    out[ranked] = values[ranked[partner]]
    return out
