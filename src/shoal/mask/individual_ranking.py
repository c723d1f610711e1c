"""Microaggregation column by column: each value becomes the mean of its neighbours in rank (individual ranking).

The values of a column are sorted and cut into runs of k persons (the last has up to 2k − 1); a run is written as its
mean, that of an ordinal column as the level nearest to it (Defays and Nanopoulos 1993).

Promised: every written value of a column is shared by at least k persons in that column, and, but for rounding to whole
numbers or levels, the column keeps its sum. Not promised: k-anonymity. Runs differ from column to column, so whole
records stay unique: with x = 1 2 3 4, y = 1 3 2 4 and k = 2 both columns have runs of two, and all four records differ.
What is left is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.mask.aware import AwareMask, Masking, by_content, ordered_columns
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, Range, check

__all__ = ["IndividualRanking", "runs_of", "runs_of_persons"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndividualRanking(AwareMask):
    """Write the mean of k neighbours in rank, column by column.

    Parameters
    ----------
    columns
        The quasi-identifiers to average; None means all numbers and ordinal ones. In words: ``age/income``.
    size
        Fewest persons in a run; None means the grouper's k. Raising it hides more.

    Notes
    -----
    Groups and survey weights play no part. Equal values may fall into two runs. Cost: n log n for each column.

    References
    ----------
    Defays and Nanopoulos 1993.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"x": [1.0, 2, 3, 4, 5, 6, 10]})
    >>> mask = shoal.IndividualRanking(size=3)
    >>> release = shoal.anonymize(table, shoal.Schema.of(quasi=["x"]), group=shoal.MDAV(k=3), mask=mask, seed=1)
    >>> sorted(release.table["x"])
    [2.0, 2.0, 2.0, 6.25, 6.25, 6.25, 6.25]
    """

    title = "microaggregation column by column"
    summary = "Each value becomes the mean of k neighbours in rank, one column at a time (individual ranking)."
    promise = "Each value is shared by k persons in its column; re-identification is measured, not bounded."
    report_text = ReportText(
        done="Values were replaced by the mean of their neighbours in rank, one column at a time.",
        writes="replaced: the mean of values of neighbouring rank",
        keeps="The sum of its values, and nearly their distribution.",
    )
    rank = 24
    perturbs = True
    trials = ({"group": {"method": "mdav", "k": 5}, "mask": [{"method": "individual-ranking"}]},)

    columns: Annotated[
        Sequence[str] | None, Help("columns to average, name/name; none: all with an order"), ColumnNames()
    ] = None
    size: Annotated[int | None, Range(low=2), Help("fewest persons in a run; none: the grouper's k")] = None

    def apply(self, state: Masking, rng: Generator) -> Masking:
        """Average column by column."""
        check(self)
        names = ordered_columns("IndividualRanking", self.columns, state)
        size = self.size or state.minimum
        order, codes = by_content(state), state.codes.copy()
        units = None if state.prepared.schema.unit is None else state.prepared.units()
        for name in names:
            j = state.encoder.names.index(name)
            coding = state.encoder.codings[j]
            known = order[~coding.is_absent(codes[order, j])]
            if not len(known):
                continue
            ranked = known[np.argsort(codes[known, j], kind="stable")]
            runs = runs_of(len(ranked), size) if units is None else runs_of_persons(units[ranked], size)
            codes[ranked, j] = coding.snap(np.minimum(_means(codes[ranked, j], runs), coding.edge))
        return state.holding(codes, mask="individual ranking", columns=len(names), smallest_run=size)

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """Nothing is proved about who can be found."""
        absent = [coding.name for coding in state.encoder.codings if coding.atoms is not None]
        return (_MEASURED, _ABSENT.format(names=", ".join(absent))) if absent else (_MEASURED,)


_MEASURED = (
    "Microaggregation column by column makes every value common in its column, not the combination of values: records "
    "stay as unique as before. What is left was measured, not proved."
)

_ABSENT = "Absences are no value to average and stay with their records, however few have one: {names}."


def _means(values: FloatArray, runs: IntArray) -> FloatArray:
    """The mean of each run, once per member; a run of equal values keeps that value to the last bit."""
    first = values[np.flatnonzero(np.diff(runs, prepend=-1))]
    apart = np.bincount(runs, weights=values - first[runs]) / np.bincount(runs)
    means: FloatArray = (first + apart)[runs]
    return means


def runs_of(n: int, size: int) -> IntArray:
    """The run of each of `n` ranked values: `size` to a run, the rest in the last."""
    return np.minimum(np.arange(n) // size, max(n // size - 1, 0))


def runs_of_persons(persons: IntArray, size: int) -> IntArray:
    """The run of each ranked row such that every run holds `size` persons: closed as soon as it does."""
    runs, run, held = np.empty(len(persons), dtype=np.int64), 0, set[int]()
    for i, person in enumerate(persons.tolist()):
        if len(held) == size:
            run, held = run + 1, set()
        held.add(person)
        runs[i] = run
    return runs if len(held) == size or run == 0 else np.minimum(runs, run - 1)
