"""How a person's columns go with the number of that person's events, before and after: what exchanges loosen.

Ordered columns (numbers, ordinal levels, two levels) by Pearson's correlation with the number of events; other
categories by the correlation ratio,

    η = sqrt(Σ_c n_c (mean_c − mean)² / Σ_i (b_i − mean)²),

over persons whose value is known. Coarsened cells count as `shoal.decode` reads them. A constant column, or equally
many events for everybody, has neither: None. Cost: n for each column and table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.encode import Coding
from shoal.pair import Pair
from shoal.reading import Reading
from shoal.record import Record

__all__ = ["EventCount", "event_counts"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCount(Record):
    """How one column of the persons goes with the number of events in one table; for inside.

    Parameters
    ----------
    column, table
        Which column of the persons, and which table of events.
    ordered
        Whether `before` and `after` are correlations, from −1 to 1, or correlation ratios, from 0 to 1.
    before, after
        In the original and in the release; None where it is not defined.
    n
        Persons of the release.
    """

    releasable: ClassVar[bool] = False

    column: str
    table: str
    ordered: bool
    before: float | None
    after: float | None
    n: int

    @property
    def reading(self) -> Reading:
        """By how much it changed, beside twice the standard error of a correlation among as many persons."""
        if self.before is None or self.after is None:
            return Reading(name=self.column, value=None, shows="number", meaning="One of them is not defined.")
        chance = 2 * (1 - self.before**2) / self.n**0.5
        changed = abs(self.after - self.before)
        return Reading(name=self.column, value=changed, chance=chance, against="sampling error", shows="number")


def event_counts(pair: Pair, before: Mapping[str, IntArray], after: Mapping[str, IntArray]) -> tuple[EventCount, ...]:
    """For each released column of persons and each table: original and released rows with their numbers of events.

    `before` has a number for each row of the prepared original, `after` for each released row.
    """
    return tuple(
        EventCount(
            column=coding.name,
            table=table,
            ordered=not coding.unordered,
            before=_strength(own, before[table], coding),
            after=_strength(new, after[table], coding),
            n=len(pair.released),
        )
        for coding, own, new in _columns(pair)
        for table in before
    )


def _columns(pair: Pair) -> Iterator[tuple[Coding, FloatArray, FloatArray]]:
    """The codes of each quasi-identifier and sensitive column, before and after."""
    for j, coding in enumerate(pair.encoder.codings):
        yield coding, pair.original_codes[:, j], pair.released_codes[:, j]
    names = [name for name in pair.schema.sensitive if name in pair.released.columns]
    encoder, own, new = pair.codes_of(names)
    for j, coding in enumerate(encoder.codings):
        yield coding, own[:, j], new[:, j]


def _strength(codes: FloatArray, counts: IntArray, coding: Coding) -> float | None:
    values = coding.present(codes)
    if coding.levels is not None:
        values = np.where(codes >= len(coding.levels), np.nan, values)
    known = ~np.isnan(values)
    values, numbers = values[known], counts[known].astype(np.float64)
    if not len(values) or np.ptp(values) == 0 or np.ptp(numbers) == 0:
        return None
    return _ratio(values, numbers) if coding.unordered else float(np.corrcoef(values, numbers)[0, 1])


def _ratio(groups: FloatArray, counts: FloatArray) -> float:
    """The correlation ratio η."""
    which = np.unique(groups, return_inverse=True)[1].reshape(-1)
    n, total = np.bincount(which), np.bincount(which, weights=counts)
    center = counts.mean()
    between = float((n * (total / n - center) ** 2).sum())
    return float(np.sqrt(between / ((counts - center) ** 2).sum()))
