"""What a class of records writes in each column: an interval, a range of levels, a set of levels, or a mean.

An `Axis` is one quasi-identifier as whole numbers: numeric and ordinal columns in their order, nominal ones in that of
their levels. Given a label for each row, it says which part of its domain each class covers, and writes it:

- numbers: ``20-29`` for whole numbers, ``[1.5, 2.25]`` otherwise (and where a column has negative numbers);
- ordered levels: ``school to college``;
- levels without order: ``{a, b}``, and ``*`` where the whole domain is covered. A level with a comma, a brace or a
  quotation mark in it is written in quotation marks inside a set;
- one value alone: itself, as text.

Missing is a level of its own: alone it stays missing, among others it is written ``or missing``; so is every code that
stands for an absence (``20-29 or -8``). Bounds of a class are
those of its own records, so nothing wider is written than what it holds.

The share of the domain that is covered is the loss of a cell: (highest − lowest) / range for numbers and ranks,
(levels covered − 1) / (levels − 1) for sets; 0 for an exact value, 1 where nothing is said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.coarsening.coarsener import SUPPRESSED
from shoal.conform import Prepared
from shoal.encode import Coding, Encoder
from shoal.frame import series
from shoal.schema import Column, Kind, Level
from shoal.value import same_as, text_of

__all__ = ["Axis", "Boxes", "axes_of", "one_zero"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Boxes:
    """Which rows are written alike.

    Parameters
    ----------
    labels
        The box of each row, from 0 up; none is empty.
    order
        The rows, box after box.
    starts
        Where each box begins in that order.
    """

    labels: IntArray
    order: IntArray
    starts: IntArray

    @classmethod
    def of(cls, labels: IntArray) -> Boxes:
        """The boxes that `labels` names."""
        order = np.argsort(labels, kind="stable")
        return cls(labels=labels, order=order, starts=_starts(labels[order]))

    @property
    def n(self) -> int:
        """Number of boxes."""
        return len(self.starts)

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each box."""
        return np.diff(np.append(self.starts, len(self.labels)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One quasi-identifier as whole numbers, with what each number stands for.

    Parameters
    ----------
    name, kind
        Which column it is.
    codes
        The number of each row's value, from 0 to `n_levels` − 1; a missing value has the last, or one of the last.
    texts
        The value behind each number as text; null for missing.
    place
        Where each number lies on its domain, scaled to 0..1; None for a nominal column.
    values
        The numbers of a numeric column; None for the others.
    n_absent
        How many levels, the last ones, stand in no order because they are absences.
    absent
        The numbers of a numeric column that stand for its absences, NaN for an empty cell.
    """

    name: str
    kind: Kind
    codes: IntArray
    texts: pl.Series
    place: FloatArray | None
    values: FloatArray | None = None
    n_absent: int = 0
    absent: tuple[float, ...] = ()

    @property
    def n_levels(self) -> int:
        """Number of values of the domain, missing included."""
        return len(self.texts)

    @property
    def has_missing(self) -> bool:
        """Whether missing is one of the levels."""
        return self.texts.null_count() > 0

    @property
    def step(self) -> float:
        """What one more level costs in a set."""
        return 1.0 / max(1, self.n_levels - 1)

    def cover(self, boxes: Boxes) -> FloatArray:
        """The share of the domain that each box covers."""
        if self.place is None:
            counts = np.bincount(self._pairs(boxes) // self.n_levels, minlength=boxes.n)
            return (counts - 1).astype(np.float64) * self.step
        low, high = self._ends(boxes)
        share: FloatArray = self.place[high] - self.place[low]
        return share

    def write(self, boxes: Boxes) -> pl.Series:
        """The text of each row."""
        written = self._sets(boxes) if self.place is None else self._ranges(boxes)
        return written.gather(boxes.labels).alias(self.name)

    def means(self, boxes: Boxes) -> pl.Series:
        """The mean of each row's box, as a float; sums run in order of value, whatever the order of rows."""
        if self.values is None:
            raise TypeError("only numeric columns have means")
        order = np.lexsort((self.codes, boxes.labels))
        known = self.codes[order] < self._n_known
        sums = np.add.reduceat(np.where(known, self.values[self.codes[order]], 0.0), boxes.starts)
        n_known = np.add.reduceat(known.astype(np.int64), boxes.starts)
        means = sums / np.maximum(n_known, 1)
        if self.n_absent:
            means = np.where(2 * n_known >= boxes.sizes, means, self._commonest(boxes))
        return pl.Series(self.name, means[boxes.labels]).fill_nan(None)

    @property
    def _n_known(self) -> int:
        """How many of the levels are no absence."""
        return self.n_levels - self.n_absent

    def _commonest(self, boxes: Boxes) -> FloatArray:
        """The number that stands for the most frequent absence of each box."""
        counts = np.zeros((boxes.n, self.n_absent))
        rows = np.flatnonzero(self.codes >= self._n_known)
        np.add.at(counts, (boxes.labels[rows], self.codes[rows] - self._n_known), 1.0)
        commonest: FloatArray = np.array(self.absent)[counts.argmax(axis=1)]
        return commonest

    def _ends(self, boxes: Boxes) -> tuple[IntArray, IntArray]:
        """The lowest and the highest number in each box."""
        codes = self.codes[boxes.order]
        return np.minimum.reduceat(codes, boxes.starts), np.maximum.reduceat(codes, boxes.starts)

    def _pairs(self, boxes: Boxes) -> IntArray:
        """Each level of each box once, as box · levels + level, in that order."""
        pairs = np.sort(boxes.labels * self.n_levels + self.codes)
        return pairs[_starts(pairs)]

    def _ranges(self, boxes: Boxes) -> pl.Series:
        low, high = self._ends(boxes)
        if not (high >= self._n_known).any():
            return self._between(low, high)
        known = np.where(self.codes >= self._n_known, -1, self.codes)[boxes.order]  # the highest that is no absence
        high = np.maximum(low, np.maximum.reduceat(known, boxes.starts))
        high = np.where(low >= self._n_known, low, high)
        return self._between(low, high) + self._or_absent(boxes, low)

    def _or_absent(self, boxes: Boxes, low: IntArray) -> pl.Series:
        """The absences of each box in words, but for one that stands first, having nothing before it."""
        texts = pl.Series([""] * boxes.n, dtype=pl.String)
        for level in range(self._n_known, self.n_levels):
            there = np.bincount(boxes.labels[self.codes == level], minlength=boxes.n) > 0
            word = self.texts[level]
            texts += pl.Series(np.where(there & (low != level), f" or {'missing' if word is None else word}", ""))
        return texts

    def _between(self, low: IntArray, high: IntArray) -> pl.Series:
        first, last = self.texts.gather(low), self.texts.gather(high)
        wide = pl.Series(low < high)
        return pl.select(
            pl.when(wide).then(pl.concat_str(first, pl.lit(self._hyphen), last)).otherwise(first)
        ).to_series()

    @property
    def _hyphen(self) -> str:
        """What stands between the ends of a range: ``20-29`` where all are whole and none has a minus."""
        if self.values is None:
            return " to "
        values = self.values[: self._n_known]
        return "-" if bool(np.all(values == np.round(values)) and values.min(initial=0.0) >= 0) else " to "

    def _sets(self, boxes: Boxes) -> pl.Series:
        pairs = self._pairs(boxes)
        of, level = pairs // self.n_levels, pairs % self.n_levels
        size = np.bincount(of, minlength=boxes.n)
        inside = pl.Series([_quoted(text) for text in self.texts.to_list()], dtype=pl.String)
        shown = inside.gather(level)
        joined = (
            pl.DataFrame({"of": of, "text": shown})
            .drop_nulls("text")
            .group_by("of", maintain_order=True)
            .agg(pl.col("text").str.join(", "), n=pl.len())
        )
        return self._sets_in_words(joined, size, self.texts.gather(level[_starts(of)]))

    def _sets_in_words(self, joined: pl.DataFrame, size: IntArray, single: pl.Series) -> pl.Series:
        """Sets with braces, the whole domain as ``*``, a single level as itself."""
        words = pl.DataFrame({"of": np.arange(len(size)), "size": size, "single": single})
        words = words.join(joined, on="of", how="left", maintain_order="left")
        size_, known = pl.col("size"), pl.col("n").fill_null(0)
        braces = pl.when(known > 1).then(pl.concat_str(pl.lit("{"), "text", pl.lit("}"))).otherwise(pl.col("single"))
        return words.select(
            pl.when(size_ == 1)
            .then(pl.col("single"))
            .when(size_ == self.n_levels)
            .then(pl.lit(SUPPRESSED))
            .when(known < size_)
            .then(pl.concat_str(braces, pl.lit(" or missing")))
            .otherwise(braces)
        ).to_series()


def axes_of(prepared: Prepared, names: Sequence[str]) -> tuple[Axis, ...]:
    """The columns `names` of a prepared table as axes."""
    encoder = Encoder.of(prepared, names)
    codes = encoder.own_codes(prepared)
    return tuple(_axis(c, codes[:, j], prepared.schema[c.name]) for j, c in enumerate(encoder.codings))


def one_zero(prepared: Prepared, columns: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """The columns, and with them those left as they are that hold both zeros: −0.0 and 0.0 are one value, but are
    written differently."""
    out = dict(columns)
    for name in prepared.schema.quasi:
        content = out.get(name, series(prepared.frame, name))
        if content.dtype.is_float() and bool(((content == 0) & ((1 / content) < 0)).any()):
            out[name] = pl.select(pl.when(content == 0).then(0.0).otherwise(content)).to_series().alias(name)
    return out


def _axis(coding: Coding, codes: FloatArray, column: Column) -> Axis:
    if coding.levels is None:
        return _numbers(coding, codes, column.reasons)
    return _levels(coding, codes.astype(np.int64), column.absences)


def _numbers(coding: Coding, found: FloatArray, names: Mapping[float, Level]) -> Axis:
    if coding.atoms is not None:
        return _numbers_or_reasons(coding, found, names)
    values, codes = np.unique(found + 0.0, return_inverse=True)
    low, high = coding.axis.bounds or (values[0], values[-1])
    place = (values - low) / (high - low) if high > low else np.zeros(len(values))
    whole = bool(np.all(values == np.round(values)))
    texts = pl.Series(values).cast(pl.Int64 if whole and np.abs(values).max() < 2**53 else pl.Float64).cast(pl.String)
    return Axis(name=coding.name, kind="numeric", codes=codes, texts=texts, place=place, values=values)


def _numbers_or_reasons(coding: Coding, found: FloatArray, names: Mapping[float, Level]) -> Axis:
    """Numbers on the first half of the domain, absences behind them: a box of both covers more than one of either."""
    reason = coding.reason(found)
    axis = _numbers(replace(coding, atoms=None, edge=np.inf), found[reason == 0], {}) if (reason == 0).any() else None
    shown = np.unique(reason[reason > 0])
    absent = np.array(coding.absent)[shown - 1]
    n_known = 0 if axis is None else axis.n_levels
    codes = np.searchsorted(shown, reason) + n_known
    codes[reason == 0] = np.empty(0) if axis is None else axis.codes
    words = [None if np.isnan(number) else text_of(names[float(number)]) for number in absent]
    known = [] if axis is None else [axis.texts]
    places = [] if axis is None else [np.asarray(axis.place) / 2]
    return Axis(
        name=coding.name,
        kind="numeric",
        codes=codes.astype(np.int64),
        texts=pl.concat([*known, pl.Series(words, dtype=pl.String)]),
        place=np.concatenate([*places, 1.0 - np.arange(len(shown))[::-1] / (4 * max(1, len(shown)))]),
        values=np.concatenate([*([] if axis is None else [np.asarray(axis.values)]), np.zeros(len(shown))]),
        n_absent=len(shown),
        absent=tuple(absent.tolist()),
    )


def _levels(coding: Coding, codes: IntArray, absences: Sequence[Level]) -> Axis:
    """Levels in their own order: declared or sorted for ordinal ones, sorted as texts for nominal ones.

    Those of the levels that are `absences` stand behind all others (`shoal.domain.declared.learn_levels`).
    """
    assert coding.levels is not None
    texts = coding.levels.cast(pl.String)
    place = None
    n_absent = int(coding.has_missing) + int(same_as(coding.levels, absences).sum())
    if coding.kind == "ordinal":
        place = np.arange(coding.n_levels) / max(1, coding.n_levels - 1)
    else:
        order = texts.arg_sort().to_numpy()
        rank = np.append(np.argsort(order), len(order))  # missing stays last
        texts, codes = texts.gather(order), rank[codes]
    if coding.has_missing:
        texts = texts.append(pl.Series([None], dtype=pl.String))
    return Axis(name=coding.name, kind=coding.kind, codes=codes, texts=texts, place=place, n_absent=n_absent)


def _starts(ordered: IntArray) -> IntArray:
    return np.flatnonzero(np.diff(ordered, prepend=-1))


def _quoted(text: str | None) -> str | None:
    marked = text is not None and (any(sign in text for sign in ',{}"') or text != text.strip() or not text)
    return json.dumps(text, ensure_ascii=False) if marked else text
