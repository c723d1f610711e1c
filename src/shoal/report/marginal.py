"""How often each value of a column occurs, before and after, in cells that the small-cell rule allows.

A number is cut into ten to twenty bins with round edges, between its 1st and 99th percentile or so; the outer bins are
open, so that no smallest or largest value is shown. A date is cut into calendar units. A category has its levels. Then
`smallcells` merges what is held by fewer than k people, before or after. What is left holds no trace of smaller
cells, so a `Marginal` may be shown to anybody.

Cost: O(n log n) a column.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, FloatArray, IntArray
from shoal.coarsening.coarsener import SUPPRESSED
from shoal.conform import floats, levels_like
from shoal.domain.absence import numbers
from shoal.frame import series
from shoal.pair import Pair
from shoal.report.bands import Partition, Tally, merge_neighbours, people_of, pool_small
from shoal.schema import Column

__all__ = ["Cell", "Marginal", "RowCells", "cells_of_rows", "marginals_of"]

N_BINS = 20
MOST_LEVELS = 12
MISSING = "missing"
_CALENDAR = (("1mo", "%Y-%m"), ("1y", "%Y"), ("10y", "%Ys"), ("100y", "%Ys"))  # never days: a day is a value


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One row of a marginal: what it holds, and how many records and which share of the total weight.

    `low` and `high` are the ends of a bin of numbers, None where it is open (or no bin). `name` is None for levels
    that are not named.
    """

    name: str | None
    n_merged: int
    before: int
    after: int
    before_share: float
    after_share: float
    low: float | None = None
    high: float | None = None
    missing: bool = False

    @property
    def label(self) -> str:
        """The cell's name, or how many levels it stands for."""
        if self.name is not None:
            return self.name
        return f"other levels ({self.n_merged})" if self.n_merged else "other levels"


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """The distribution of one column, before and after, without small cells.

    No cells at all means that fewer than k people have a value.
    """

    column: str
    role: str
    kind: str
    cells: tuple[Cell, ...]
    step: float | None
    weighted: bool

    def distance(self) -> float:
        """Total variation between before and after over the cells shown."""
        return round(0.5 * sum(abs(cell.before_share - cell.after_share) for cell in self.cells), 12)

    def fresh(self) -> float:
        """About the distance of a fresh sample of as many records: Σ √(2 p (1 − p) / (π n)) / 2 over the cells.

        With survey weights that differ, a fresh sample moves more.
        """
        n = max(1, sum(cell.before for cell in self.cells))
        return 0.5 * sum(math.sqrt(2 * p * (1 - p) / (math.pi * n)) for p in (c.before_share for c in self.cells))

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {
            "column": self.column,
            "role": self.role,
            "kind": self.kind,
            "weighted": self.weighted,
            "cells": [
                {
                    "label": cell.label,
                    "before": cell.before,
                    "after": cell.after,
                    "before_share": cell.before_share,
                    "after_share": cell.after_share,
                }
                for cell in self.cells
            ],
        }


def marginals_of(pair: Pair, names: Sequence[str], k: int) -> tuple[Marginal, ...]:
    """The marginals of the columns `names`, which both tables must have."""
    people = people_of(pair)
    weights = _weights(pair)
    return tuple(_marginal(pair, pair.schema[name], people, weights, k) for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCells:
    """A column with the cell of its marginal that each row lies in, before and after: for inside."""

    marginal: Marginal
    before: IntArray
    after: IntArray


def cells_of_rows(pair: Pair, names: Sequence[str], k: int) -> tuple[RowCells, ...]:
    """The marginals of the columns `names`, and where the rows lie in them; columns without cells are left out."""
    people, weights = people_of(pair), _weights(pair)
    made = [_divided(pair, pair.schema[name], people, weights, k, grouped=True) for name in names]
    return tuple(_row_cells(marginal, cut, parts) for marginal, cut, parts in made if parts)


def _row_cells(marginal: Marginal, cut: _Cut, parts: Sequence[Sequence[int]]) -> RowCells:
    place = np.zeros(cut.n, dtype=np.int64)
    for i, members in enumerate(parts):
        place[list(members)] = i
    return RowCells(marginal=marginal, before=place[cut.before], after=place[cut.after])


_Both: TypeAlias = tuple[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """The finest cells of a column: which cell each row is in, and how a run of cells is called."""

    before: IntArray
    after: IntArray
    n: int
    kind: str
    has_missing: bool
    names: tuple[str, ...] = ()
    edges: FloatArray | None = None
    whole: bool = False
    from_zero: bool = False
    step: float | None = None


def _marginal(pair: Pair, column: Column, people: _Both, weights: _Both, k: int) -> Marginal:
    return _divided(pair, column, people, weights, k)[0]


def _divided(
    pair: Pair, column: Column, people: _Both, weights: _Both, k: int, *, grouped: bool = False
) -> tuple[Marginal, _Cut, tuple[tuple[int, ...], ...]]:
    """A column's marginal, its finest cells, and which of these each cell of the marginal holds.

    `grouped` shows original levels under the group that they were released as, where each has one.
    """
    before = series(pair.original.frame, column.name)
    # A coarse number is read as the typical one behind it; a coarse level is shown as it was written.
    after = pair.released_column(column.name) if _is_binned(before, column) else series(pair.released, column.name)
    groups = _groups(before, after, pair.source_rows) if grouped and not _is_binned(before, column) else {}
    cut = _cut(before, after, column, k, groups)
    tallies = (Tally.of(cut.before, people[0], cut.n), Tally.of(cut.after, people[1], cut.n))
    if cut.kind == "levels":
        shown, pool = pool_small(tallies, k, most=MOST_LEVELS)
    else:
        shown, pool = merge_neighbours(tallies, k), ()
    marginal = Marginal(
        column=column.name,
        role=column.role,
        kind=column.kind or "nominal",
        cells=_cells(cut, shown, pool, weights),
        step=cut.step,
        weighted=pair.schema.weight is not None,
    )
    return marginal, cut, (*shown, *([pool] if pool else []))


def _groups(before: pl.Series, after: pl.Series, source_rows: IntArray) -> dict[str, str]:
    """The coarser level that each original one was released as; empty where none is, or where one has several."""
    kept = source_rows >= 0
    behind, written = before.gather(source_rows[kept]), after.filter(pl.Series(kept))
    both = pl.DataFrame({"before": behind.cast(pl.String), "after": written.cast(pl.String)})
    pairs = both.drop_nulls().filter(pl.col("after") != SUPPRESSED).unique()
    coarse = set(pairs["after"]) - set(before.drop_nulls().cast(pl.String).unique())
    if not coarse or pairs["before"].n_unique() < len(pairs):
        return {}
    return dict(pairs.iter_rows())


def _cells(cut: _Cut, shown: Partition, pool: tuple[int, ...], weights: _Both) -> tuple[Cell, ...]:
    before, after = np.bincount(cut.before, minlength=cut.n), np.bincount(cut.after, minlength=cut.n)
    w_before = np.bincount(cut.before, weights=weights[0], minlength=cut.n)
    w_after = np.bincount(cut.after, weights=weights[1], minlength=cut.n)
    made = []
    for members in (*shown, *([pool] if pool else [])):
        at = list(members)
        name, low, high = _spell(cut, members) if members != pool else (None, None, None)
        made.append(
            Cell(
                name=name,
                n_merged=len(members),
                before=int(before[at].sum()),
                after=int(after[at].sum()),
                before_share=_share(w_before, at),
                after_share=_share(w_after, at),
                low=low,
                high=high,
                missing=cut.has_missing and members == (cut.n - 1,),
            )
        )
    return tuple(made)


def _share(weights: AnyArray, at: list[int]) -> float:
    total = weights.sum()
    return float(weights[at].sum() / total) if total > 0 else 0.0


def _cut(before: pl.Series, after: pl.Series, column: Column, k: int, groups: Mapping[str, str]) -> _Cut:
    if _is_binned(before, column):
        return _cut_numbers(numbers(before, column), numbers(after, column), k)
    if before.dtype in (pl.Date, pl.Datetime) and after.dtype == before.dtype:
        return _cut_dates(before, after)
    return _cut_levels(before, after, column, groups)


def _is_binned(before: pl.Series, column: Column) -> bool:
    ordered_numbers = column.kind == "ordinal" and before.dtype.is_numeric() and before.n_unique() > MOST_LEVELS
    return column.kind == "numeric" or ordered_numbers


def _cut_numbers(before: FloatArray, after: FloatArray, k: int) -> _Cut:
    present = before[~np.isnan(before)]
    step, edges = _round_edges(present, k)
    has_missing = bool(np.isnan(before).any() or np.isnan(after).any())
    return _Cut(
        before=_binned(before, edges),
        after=_binned(after, edges),
        n=len(edges) + 1 + has_missing,
        kind="numbers",
        has_missing=has_missing,
        edges=edges,
        whole=_are_whole(present) and _are_whole(after[~np.isnan(after)]),
        from_zero=bool((present >= 0).all()),
        step=step,
    )


def _binned(values: FloatArray, edges: FloatArray) -> IntArray:
    bins = np.searchsorted(edges, values, side="right")
    return np.where(np.isnan(values), len(edges) + 1, bins).astype(np.int64)


def _are_whole(values: FloatArray) -> bool:
    return bool((values == np.round(values)).all())


def _round_edges(values: FloatArray, k: int) -> tuple[float, FloatArray]:
    """The step of the bins, and the round numbers between them; none where there is nothing to part."""
    low, high = _inner_range(values, k)
    step = _round_step((high - low) / N_BINS)
    if not 0 < step < math.inf:
        return 1.0, np.empty(0)
    step = max(1.0, step) if _are_whole(values) else step
    digits = max(0, -math.floor(math.log10(step)))
    first, last = math.floor(low / step) + 1, math.floor(high / step)
    return step, np.array([round(i * step, digits) for i in range(first, last + 1)])


def _inner_range(values: FloatArray, k: int) -> tuple[float, float]:
    """The range without the outer 1% or k values on either side, whichever are more: nobody's value shapes the bins.

    Where nearly all values are equal, it is stretched to that of the others.
    """
    if len(values) == 0:
        return 0.0, 0.0
    low, high = _trimmed(values, k)
    others = values[values != low]
    if low < high or len(others) == 0:
        return low, high
    return min(low, _trimmed(others, k)[0]), max(high, _trimmed(others, k)[1])


def _trimmed(values: FloatArray, k: int) -> tuple[float, float]:
    share = min(0.25, max(0.01, k / len(values)))
    low, high = np.quantile(values, [share, 1 - share])
    return float(low), float(high)


def _round_step(width: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least `width`; 0 for none."""
    if not 1e-300 < width < 1e300:
        return 0.0
    power = 10.0 ** math.floor(math.log10(width))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= width * (1 - 1e-9))


def _cut_dates(before: pl.Series, after: pl.Series) -> _Cut:
    both = pl.concat([before, after.alias(before.name)])
    for every, _ in _CALENDAR:
        units = both.drop_nulls().dt.truncate(every).unique().sort()
        if len(units) <= N_BINS + 4:
            break
    names = units.dt.strftime(dict(_CALENDAR)[every]).to_list()
    return _coded([content.dt.truncate(every) for content in (before, after)], units, names, "dates")


def _cut_levels(before: pl.Series, after: pl.Series, column: Column, groups: Mapping[str, str]) -> _Cut:
    texts = [before.cast(pl.String).replace(groups), after.cast(pl.String)]
    names = list(dict.fromkeys(groups.get(name, name) for name in _ordered_levels(before, after, column)))
    return _coded(texts, pl.Series(names, dtype=pl.String), names, "levels")


def _coded(contents: list[pl.Series], levels: pl.Series, names: list[str], kind: str) -> _Cut:
    place = pl.Series(np.arange(len(levels)))
    coded = [
        content.replace_strict(levels, place, default=len(levels), return_dtype=pl.Int64).to_numpy()
        for content in contents
    ]
    has_missing = any(content.null_count() for content in contents)
    n = len(levels) + has_missing
    return _Cut(before=coded[0], after=coded[1], n=n, kind=kind, has_missing=has_missing, names=tuple(names))


def _ordered_levels(before: pl.Series, after: pl.Series, column: Column) -> list[str]:
    """An ordinal column's levels in their order; a nominal one's with the most frequent first."""
    declared = levels_like(before, column).cast(pl.String).to_list() if column.levels is not None else []
    if column.kind == "ordinal" and column.levels is None and before.dtype == after.dtype:
        declared = pl.concat([before, after.alias(before.name)]).drop_nulls().unique().sort().cast(pl.String).to_list()
    found = pl.concat([before.cast(pl.String), after.cast(pl.String).alias(before.name)]).drop_nulls().alias("level")
    counted = found.value_counts(name="n").sort(["n", "level"], descending=[True, False])["level"].to_list()
    first, then = (declared, counted) if column.kind == "ordinal" else (counted, declared)
    return list(dict.fromkeys([*first, *then]))


def _spell(cut: _Cut, members: tuple[int, ...]) -> tuple[str, float | None, float | None]:
    """The name of a run of cells, and its ends where it is a bin."""
    with_missing = cut.has_missing and members[-1] == cut.n - 1
    present = members[:-1] if with_missing else members
    if not present:
        return MISSING, None, None
    name, low, high = _spell_bins(cut, present) if cut.kind == "numbers" else (_spell_names(cut, present), None, None)
    return (f"{name}, or missing" if with_missing else name), low, high


def _spell_names(cut: _Cut, members: tuple[int, ...]) -> str:
    first, last = cut.names[members[0]], cut.names[members[-1]]
    if len(members) == 1:
        return first
    if members[0] == 0:
        return f"until {last}"
    return f"from {first}" if members[-1] == len(cut.names) - 1 else f"{first} to {last}"


def _spell_bins(cut: _Cut, members: tuple[int, ...]) -> tuple[str, float | None, float | None]:
    edges = cut.edges if cut.edges is not None else np.empty(0)
    low = float(edges[members[0] - 1]) if members[0] > 0 else None
    high = float(edges[members[-1]]) if members[-1] < len(edges) else None
    return _spell_range(low, high, cut), low, high


def _spell_range(low: float | None, high: float | None, cut: _Cut) -> str:
    if low is None and high is None:
        return "all values"
    if high is None:
        return f"{_edge(low)} and over"
    if low is None:
        return _spell_first(high, cut)
    if not cut.whole:
        return f"{_edge(low)} to {_edge(high)}"
    return _edge(low) if low == high - 1 else f"{_edge(low)}–{_edge(high - 1)}"


def _spell_first(high: float, cut: _Cut) -> str:
    if not cut.whole:
        return f"under {_edge(high)}"
    return "0" if cut.from_zero and high == 1 else f"up to {_edge(high - 1)}"


def _edge(value: float | None) -> str:
    """An edge as it is: a round number needs no rounding."""
    if value is None:
        return ""
    plain = f"{value:,.6f}".rstrip("0").rstrip(".")
    return (plain if float(plain.replace(",", "")) == value and abs(value) < 1e12 else f"{value:.6g}").replace("-", "−")


def _weights(pair: Pair) -> tuple[FloatArray | None, FloatArray | None]:
    weights = pair.original.weights()
    if weights is None:
        return None, None
    name = pair.schema.weight
    if name in pair.released.columns:
        return weights, floats(series(pair.released, str(name)))
    return weights, weights[pair.source_rows]
