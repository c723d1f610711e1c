"""Interval disclosure: how many masked values still lie in a small interval around the true one?

For a numeric quasi-identifier with original value x, released value x' and width w (Mateo-Sanz, Sebé and
Domingo-Ferrer 2004; dRisk of sdcMicro):

- by spread: |x − x'| ≤ w·sd, sd the original's standard deviation;
- by rank: x lies among the w·n original values whose ranks are centred on that of x'.

For an ordinal or nominal column: the same level. Beside the share stands what chance alone would give, were the
released values dealt out at random: only the excess over it tells of a person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.encode import Coding
from shoal.errors import ParameterError
from shoal.pair import Pair
from shoal.record import Record
from shoal.schema import Kind, Schema

__all__ = ["ColumnDisclosure", "IntervalDisclosure", "intervals", "measure"]

_SLACK = 1e-9  # a value on the interval's edge counts as inside, whatever the rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDisclosure(Record):
    """One column: share within the interval by spread (or at the same level), by rank, and by chance."""

    releasable: ClassVar[bool] = True

    column: str
    kind: Kind
    share: float
    rank_share: float
    chance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalDisclosure(Record):
    """Share of masked values within a small interval of the original.

    Parameters
    ----------
    share, rank_share, chance
        Means over the quasi-identifiers; None where nothing could be measured.
    all_share
        Share of released rows in which every such column lies within its interval by spread (sdcMicro's dRisk).
    columns
        The same by column.
    width, n_rows
        The interval's width and the number of released rows whose original is known.
    why
        Why nothing was measured; None where it was.
    """

    releasable: ClassVar[bool] = True

    share: float | None
    rank_share: float | None
    all_share: float | None
    chance: float | None
    columns: dict[str, ColumnDisclosure]
    width: float
    n_rows: int
    why: str | None = None

    def __float__(self) -> float:
        return math.nan if self.share is None else self.share


def intervals(
    original: Any, released: Any, schema: Schema, source_rows: Any = None, width: float = 0.1
) -> IntervalDisclosure:
    """Share of masked quasi values within a small interval of the original, or at the same level.

    Parameters
    ----------
    original, released, schema
        Both tables, of any dataframe type, and the schema of the original.
    source_rows
        Original row number of each released row; None: the rows are in the same order.
    width
        Half-width by spread in standard deviations, and share of rows in the interval by rank. Raising it raises all
        shares.

    Notes
    -----
    A number blanked out in the release lies in no interval. Rows whose original was left out for a missing
    number don't count. Where no released row has a known original, nothing is measured and `why` says so. Weights play
    no part. Cost: O(n log n) a column.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 35, 41, 57]})
    >>> masked = pl.DataFrame({"age": [30, 35, 49, 49]})
    >>> shoal.risk.intervals(table, masked, shoal.Schema.of(quasi=["age"])).share
    0.5
    """
    return measure(Pair.of(original, released, schema, source_rows), width=width)


def measure(pair: Pair, *, width: float = 0.1) -> IntervalDisclosure:
    """`intervals` of an existing pair."""
    if not (isinstance(width, int | float) and math.isfinite(width) and width > 0):
        raise ParameterError("intervals", "width must be a number above 0", got=repr(width)[:60])
    known = np.flatnonzero(pair.source_rows >= 0)
    why = _why_not(pair, len(known))
    if why is not None:
        none = {"share": None, "rank_share": None, "all_share": None, "chance": None}
        return IntervalDisclosure(**none, columns={}, width=width, n_rows=len(known), why=why)
    inside = np.ones(len(known), dtype=np.bool_)
    columns: dict[str, ColumnDisclosure] = {}
    for j, coding in enumerate(pair.encoder.codings):
        masked, everyone = pair.released_codes[known, j], pair.original_codes[:, j]
        hit, column = _column(coding, everyone[pair.source_rows[known]], masked, everyone, width)
        columns[coding.name] = column
        inside &= hit
    return IntervalDisclosure(
        share=_mean([column.share for column in columns.values()]),
        rank_share=_mean([column.rank_share for column in columns.values()]),
        all_share=_mean(inside),
        chance=_mean([column.chance for column in columns.values()]),
        columns=columns,
        width=width,
        n_rows=len(known),
    )


def _why_not(pair: Pair, n_known: int) -> str | None:
    if not pair.encoder.codings:
        return "the schema names no quasi-identifier"
    return None if n_known else "no released row belongs to a known person"


def _column(
    coding: Coding, true: FloatArray, masked: FloatArray, everyone: FloatArray, width: float
) -> tuple[BoolArray, ColumnDisclosure]:
    has_levels = coding.kind != "numeric"
    reach = 0.0 if has_levels else width * float(np.nanstd(coding.present(everyone))) + _SLACK * coding.scale
    hit = np.abs(true - masked) <= reach
    ordered = Ordered.of(everyone)
    near = hit if has_levels else _near_in_rank(true, masked, ordered, width)
    column = ColumnDisclosure(
        column=coding.name,
        kind=coding.kind,
        share=_mean(hit),
        rank_share=_mean(near),
        chance=_chance(masked, ordered, reach),
    )
    return hit, column


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """Sorted values, kept as distinct ones with the place of the first: few values are found without a long search."""

    values: FloatArray
    starts: IntArray

    @classmethod
    def of(cls, column: FloatArray) -> Ordered:
        """Sort a column."""
        values, counts = np.unique(column, return_counts=True)
        return cls(values=values, starts=np.concatenate([[0], np.cumsum(counts)]))

    @property
    def n(self) -> int:
        """Number of values, equal ones counted as often as they occur."""
        return int(self.starts[-1])

    def below(self, x: FloatArray) -> IntArray:
        """How many values are smaller than each of `x`."""
        return self.starts[np.searchsorted(self.values, x)]

    def up_to(self, x: FloatArray) -> IntArray:
        """How many values are at most each of `x`."""
        return self.starts[np.searchsorted(self.values, x, side="right")]


def _near_in_rank(true: FloatArray, masked: FloatArray, ordered: Ordered, width: float) -> BoolArray:
    """Whether the true value's rank (the nearest of its ties) is within w·n/2 of the released value's middle rank."""
    low, high = ordered.below(true), ordered.up_to(true) - 1
    middle = (ordered.below(masked) + ordered.up_to(masked) - 1) / 2
    gap = np.maximum(0.0, np.maximum(low - middle, middle - high))
    return (gap <= width * ordered.n / 2) & ~np.isnan(masked)


def _chance(masked: FloatArray, ordered: Ordered, reach: float) -> float:
    """Mean share of all original values that lie within reach of a released one."""
    present = masked[~np.isnan(masked)]
    inside = ordered.up_to(present + reach) - ordered.below(present - reach)
    return float(inside.sum() / (ordered.n * len(masked))) if len(masked) else 0.0


def _mean(values: Any) -> float:
    return float(np.mean(values))
