"""What suppression took: of each level of every quasi-identifier, and of each pair where that is worse, who is gone.

Leaving out 0.1% of the records may leave out everybody in a small state. So for every level the records that came in
are held against those whose cell still tells it: a record that was left out and a cell that was blanked are both lost.
Numbers are counted in their declared intervals (`edges`), else in tenths of the records; a number of few different
values, a category and an absence by value.

A pair of levels is listed where it lost clearly more than its two levels explain. Were what two levels lost, the
shares s_a and s_b, spread evenly over their records, and independently, the pair would lose

    e = s_a + s_b − s_a s_b;

it is listed where its loss exceeds n·e by more than three standard deviations √(n e (1 − e)).

The groups that lost most are those that lost clearly more than the share s of all records that was left out, in the
order of (lost − n·s)² / n: many people, and a large share of the group.

Everything here tells of people who are not in the release: it never leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.coarsening import SUPPRESSED
from shoal.domain.absence import coded, numbers
from shoal.domain.bins import labels_of, quantiles
from shoal.domain.declared import content_of, declared_levels
from shoal.errors import ColumnError
from shoal.frame import Frame
from shoal.record import Record
from shoal.schema import Column, Schema
from shoal.value import codes_of

__all__ = [
    "ColumnLoss",
    "Group",
    "SuppressionLoss",
    "Told",
    "levels_of",
    "loss_between",
    "loss_of",
    "loss_of_values",
    "told_by",
]

CountedIn: TypeAlias = Literal["levels", "declared intervals", "tenths"]

_FEW_NUMBERS = 20  # different numbers up to which each is a level
_TENTHS = 10
_MOST_LEVELS = 1000  # of a column that are listed
_MOST_PAIRED = 200  # levels of a column up to which its pairs are looked at
_MOST_COLUMNS = 20  # whose pairs are looked at
_MOST_PAIRS = 100
_CLEARLY = 3.0  # standard deviations


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Record):
    """Records with one level of a column, or of two: how many came in, and of how many that is still told."""

    releasable: ClassVar[bool] = False
    derived: ClassVar[tuple[str, ...]] = ("share",)

    columns: tuple[str, ...]
    values: tuple[str, ...]
    before: int
    after: int

    @property
    def lost(self) -> int:
        """How many are left out, or have a blank in its place."""
        return self.before - self.after

    @property
    def share(self) -> float:
        """The share that is lost."""
        return self.lost / max(1, self.before)

    @property
    def name(self) -> str:
        """Its columns and levels."""
        return " and ".join(f"{column} {value}" for column, value in zip(self.columns, self.values, strict=True))

    def beyond(self, share: float) -> float:
        """By how much it lost more than that share: (lost − n·share)² / n; 0 where that may be chance."""
        more = self.lost - self.before * share
        chance = np.sqrt(self.before * share * (1 - share))
        return float(more**2 / max(1, self.before)) if more > _CLEARLY * chance else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnLoss(Record):
    """The levels of one column; of very many, those that lost most."""

    releasable: ClassVar[bool] = False

    column: str
    counted_in: CountedIn
    n_levels: int
    levels: tuple[Group, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressionLoss(Record):
    """What a release lost by suppression.

    Parameters
    ----------
    before, after
        Records that came in, and that are in the release.
    blanked
        Cells of quasi-identifiers of released records that were blanked.
    columns
        Every quasi-identifier, by level.
    pairs
        Pairs of levels that lost more than both levels explain, the worst first.
    unpaired
        Columns of too many levels for their pairs to be looked at.
    """

    releasable: ClassVar[bool] = False

    before: int
    after: int
    blanked: int
    columns: tuple[ColumnLoss, ...]
    pairs: tuple[Group, ...] = ()
    unpaired: tuple[str, ...] = ()

    @property
    def left_out(self) -> int:
        """Records that are not in the release."""
        return self.before - self.after

    @property
    def share(self) -> float:
        """The share of all records that is not in the release."""
        return self.left_out / max(1, self.before)

    @property
    def levels(self) -> tuple[Group, ...]:
        """The levels of all columns."""
        return tuple(level for column in self.columns for level in column.levels)

    @property
    def vanished(self) -> tuple[Group, ...]:
        """Levels that nobody in the release has any more, the largest first."""
        gone = [level for level in self.levels if level.after == 0 < level.before]
        return tuple(sorted(gone, key=lambda group: -group.before))

    def worst(self, n: int = 3) -> tuple[Group, ...]:
        """The levels and pairs that lost most, of those that lost clearly more than all records did."""
        beyond = [(group.beyond(self.share), group) for group in (*self.levels, *self.pairs)]
        found = sorted((one for one in beyond if one[0] > 0), key=lambda one: -one[0])
        return tuple(group for _, group in found[:n])


@dataclass(frozen=True, slots=True)
class Told:
    """One quasi-identifier in levels: their names, and the level of each row that came in; −1 where it is blank."""

    column: str
    counted_in: CountedIn
    names: tuple[str, ...]
    before: IntArray
    after: IntArray


def loss_between(
    original: Frame, released: Frame, source_rows: IntArray, schema: Schema, *, blanks: bool
) -> SuppressionLoss | None:
    """What `released` lost of `original`; None where nothing was suppressed.

    Parameters
    ----------
    source_rows
        The row of `original` of each released row.
    blanks
        Whether a missing cell or a ``*`` in the release is a cell that was blanked.
    """
    gone = len(original) - len(np.unique(source_rows))
    empty = {name: _blanked(original, released, name, source_rows) for name in schema.quasi} if blanks else {}
    if not gone and not any(blank.any() for blank in empty.values()):
        return None
    columns = []
    for name in schema.quasi:
        kind, names, place = levels_of(content_of(original, name), schema[name])
        after = place[source_rows]
        columns.append(Told(name, kind, names, place, np.where(empty[name], -1, after) if blanks else after))
    rows = np.ones(len(original)), np.ones(len(source_rows))
    return loss_of(columns, *rows)


def _blanked(original: Frame, released: Frame, name: str, source_rows: IntArray) -> BoolArray:
    before, after = content_of(original, name), content_of(released, name)
    empty = after.is_null() | (after.cast(pl.String, strict=False) == SUPPRESSED).fill_null(False)
    known = before.is_not_null().to_numpy()[source_rows]
    return np.asarray(empty.to_numpy() & known, dtype=np.bool_)


def told_by(column: Column, values: pl.Series, before: IntArray, after: IntArray, weights: FloatArray) -> Told:
    """A column of which rows are known as places among its different `values`; −1 is a blank.

    `weights` are the records of each row of `before`.
    """
    kind, names, place = levels_of(values, column, _counts(before, weights, len(values)))
    return Told(column.name, kind, names, place[before], np.where(after < 0, -1, place[np.maximum(after, 0)]))


def loss_of_values(before: pl.DataFrame, after: pl.DataFrame, schema: Schema, rows: str) -> SuppressionLoss | None:
    """What was lost, from the combinations that came in and those that were written; `rows` counts the rows of each.

    A cell that was not blanked is written as it came.
    """
    columns = [_told_alike(before[name], after[name], schema[name], before[rows]) for name in schema.quasi]
    came, left = (frame[rows].cast(pl.Float64).to_numpy() for frame in (before, after))
    lost = came.sum() > left.sum() or any((column.after < 0).any() for column in columns)
    return loss_of(columns, came, left) if lost else None


def _told_alike(before: pl.Series, after: pl.Series, column: Column, rows: pl.Series) -> Told:
    texts, written = before.cast(pl.String), after.cast(pl.String)
    values = pl.DataFrame({"text": texts, "value": before}).unique("text", maintain_order=True).with_row_index("#")
    place = values.select("text", "#")
    codes = [
        pl.DataFrame({"text": cells}).join(place, on="text", how="left", nulls_equal=True, maintain_order="left")["#"]
        for cells in (texts, written)
    ]
    blank = (written.is_null() & bool(texts.null_count() == 0)) | (written == SUPPRESSED).fill_null(False)
    own, left = (found.cast(pl.Int64).fill_null(-1).to_numpy() for found in codes)
    left = np.where(blank.to_numpy(), -1, left)
    return told_by(column, values["value"], own, left, rows.cast(pl.Float64).to_numpy())


def loss_of(columns: Sequence[Told], before: FloatArray, after: FloatArray) -> SuppressionLoss:
    """What was lost, from columns in levels; `before` and `after` are the records that each row stands for."""
    shares = [_level_counts(column, before, after) for column in columns]
    paired = [j for j, column in enumerate(columns) if len(column.names) <= _MOST_PAIRED][:_MOST_COLUMNS]
    pairs = [
        group
        for i, j in combinations(paired, 2)
        for group in _pairs_of(columns[i], columns[j], shares[i], shares[j], before, after)
    ]
    return SuppressionLoss(
        before=round(float(before.sum())),
        after=round(float(after.sum())),
        blanked=round(float(sum(after[column.after < 0].sum() for column in columns))),
        columns=tuple(_column_loss(column, *counts) for column, counts in zip(columns, shares, strict=True)),
        pairs=tuple(sorted(pairs, key=lambda group: -group.lost * group.share)[:_MOST_PAIRS]),
        unpaired=tuple(column.column for j, column in enumerate(columns) if j not in paired),
    )


def _level_counts(column: Told, before: FloatArray, after: FloatArray) -> tuple[FloatArray, FloatArray]:
    n, told = len(column.names), column.after >= 0
    return _counts(column.before, before, n), _counts(column.after[told], after[told], n)


def _counts(places: IntArray, weights: FloatArray, n: int) -> FloatArray:
    """The weight at each of `n` places."""
    return np.bincount(places, weights=weights, minlength=n).astype(np.float64)


def _column_loss(column: Told, came: FloatArray, left: FloatArray) -> ColumnLoss:
    shown = np.arange(len(came))
    if len(came) > _MOST_LEVELS:
        worst = np.argsort(-((came - left) ** 2) / np.maximum(came, 1), kind="stable")[:_MOST_LEVELS]
        shown = np.sort(worst)
    groups = [
        Group(columns=(column.column,), values=(column.names[i],), before=round(came[i]), after=round(left[i]))
        for i in shown.tolist()
        if came[i] > 0
    ]
    return ColumnLoss(
        column=column.column,
        counted_in=column.counted_in,
        n_levels=int((came > 0).sum()),
        levels=tuple(groups),
    )


def _pairs_of(
    one: Told,
    other: Told,
    own: tuple[FloatArray, FloatArray],
    its: tuple[FloatArray, FloatArray],
    before: FloatArray,
    after: FloatArray,
) -> Iterator[Group]:
    """The pairs of levels of two columns that lost clearly more than both levels explain."""
    width, size = len(other.names), len(one.names) * len(other.names)
    came = _counts(one.before * width + other.before, before, size)
    told = (one.after >= 0) & (other.after >= 0)
    keys = one.after[told] * width + other.after[told]
    left = _counts(keys, after[told], size)
    lost_one, lost_other = (1 - kept / np.maximum(all_, 1) for all_, kept in (own, its))
    explained = np.clip(lost_one[:, None] + lost_other - lost_one[:, None] * lost_other, 0, 1).ravel()
    expected = came * explained
    worse = came - left > expected + _CLEARLY * np.sqrt(expected * (1 - explained)) + 0.5
    for cell in np.flatnonzero(worse).tolist():
        yield Group(
            columns=(one.column, other.column),
            values=(one.names[cell // width], other.names[cell % width]),
            before=round(came[cell]),
            after=round(left[cell]),
        )


def levels_of(
    content: pl.Series, column: Column, counts: FloatArray | None = None
) -> tuple[CountedIn, tuple[str, ...], IntArray]:
    """The levels in which a column is counted, and that of each cell; `counts` are the records of each."""
    weights = np.ones(len(content)) if counts is None else counts
    if content.dtype.is_temporal():
        return _in_bins(content.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy(), content, column, weights)
    values = _as_numbers(content, column)
    return _by_value(content, column) if values is None else _in_bins(values, content, column, weights)


def _as_numbers(content: pl.Series, column: Column) -> FloatArray | None:
    """The numbers of a column of numbers, NaN where there is none; None for any other."""
    if column.kind not in (None, "numeric") or column.levels is not None:
        return None
    if column.kind is None and not content.dtype.is_numeric():
        return None
    own = column if column.kind == "numeric" else Column(name=column.name, role=column.role, kind="numeric")
    try:
        return numbers(coded(content, own), own)
    except ColumnError:
        return None


def _in_bins(
    values: FloatArray, content: pl.Series, column: Column, weights: FloatArray
) -> tuple[CountedIn, tuple[str, ...], IntArray]:
    """Numbers in declared intervals or in tenths; absences by value, behind them."""
    known = ~np.isnan(values)
    if column.edges is None and len(np.unique(values[known])) <= _FEW_NUMBERS:
        return _by_value(content, column)
    edges = quantiles(values, weights, _TENTHS) if column.edges is None else np.array(column.edges[1:-1])
    names = labels_of(edges.tolist(), "left") if content.dtype.is_numeric() or column.edges else _dated(edges, content)
    place = np.searchsorted(edges, values, side="right").astype(np.int64)
    texts = content.cast(pl.String).filter(pl.Series(~known))
    absent, found = _different(texts)
    place[~known] = len(names) + absent
    shown = ["missing" if text is None else text for text in found]
    return ("tenths" if column.edges is None else "declared intervals"), (*names, *shown), place


def _dated(edges: FloatArray, content: pl.Series) -> list[str]:
    """The bins between dates or times in words."""
    kind = pl.Int32 if content.dtype == pl.Date else pl.Int64
    ends = pl.Series(edges.astype(np.int64)).cast(kind).cast(content.dtype).cast(pl.String).to_list()
    between = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [f"before {ends[0]}", *between, f"from {ends[-1]}"] if ends else ["any"]


def _by_value(content: pl.Series, column: Column) -> tuple[CountedIn, tuple[str, ...], IntArray]:
    """Each different value is a level: declared ones in their order, others sorted, missing last."""
    found, values = _different(content.cast(pl.String))
    order = sorted(range(len(values)), key=_place_of(values, content, column))
    rank = np.empty(len(values), dtype=np.int64)
    rank[order] = np.arange(len(values))
    named = tuple("missing" if values[i] is None else str(values[i]) for i in order)
    return "levels", named, rank[found]


def _place_of(values: Sequence[str | None], content: pl.Series, column: Column) -> Any:
    """What sorts the different values of a column."""
    levels = declared_levels(column) if column.levels is not None else None
    places = codes_of(pl.Series(values, dtype=pl.String), levels) if levels is not None else np.zeros(len(values))
    numeric = content.dtype.is_numeric()

    def place(i: int) -> tuple[bool, float, float, str]:
        text = values[i]
        size = float(text) if numeric and text is not None else 0.0
        return text is None, float(places[i]), size, text or ""

    return place


def _different(texts: pl.Series) -> tuple[IntArray, list[str | None]]:
    """Each cell as a place among the different texts, and these; missing last."""
    ranks = texts.rank("dense").cast(pl.Int64)
    n = int(ranks.max() or 0)  # type: ignore[arg-type]
    place: IntArray = (ranks - 1).fill_null(n).to_numpy().astype(np.int64)
    first = np.zeros(n + int(texts.null_count() > 0), dtype=np.int64)
    first[place[::-1]] = np.arange(len(place) - 1, -1, -1)
    return place, texts.gather(first).to_list()
