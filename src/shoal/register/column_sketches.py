"""Whether two tables may be of the same people though no identifier is the same: sketches in which nobody has a place.

Of a table two things are kept beside the marks of its people, all of them keyed hashes that mean nothing without the
register's key:

- *rows*: the smallest hashes of rows without their identifiers, whatever their columns are called, of which there is
  one alone, each with a part of its person's mark. Rows that two tables share under other marks are people with other
  identifiers;
- *columns*: for each column in which nearly all values differ, the smallest hashes of its values, and of the ratios of
  differences between neighbours in their order, which are the same under every factor and shift.

A share of the smallest hashes that two sketches have in common estimates what the tables have in common (bottom-k
sketches, Cohen 1997). A column of few values tells nothing about who is in a table, and is not sketched. Cost: that of
sorting each column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import AnyArray, BoolArray, FloatArray
from shoal.register.column_links import numbers_of
from shoal.register.person_marks import row_hashes, text_hashes, written_cells

__all__ = ["NO_ROWS", "ColumnSketches", "RowSketch", "row_contents", "value_hashes"]

_ROWS, _VALUES = 256, 64
_FEWEST = 20  # hashes without which a sketch tells nothing
_OWN = 0.8  # share of values that differ, from which on a column tells people apart
_SAME_ROWS, _SAME_VALUES = 0.3, 0.3  # of the hashes in common, from which on tables are of the same people
_MOVED, _FEWEST_MOVED, _ALONE = (
    0.05,
    3,
    0.98,
)  # rows under another mark, and rows alone, from which on it is no accident
_DIGITS = 3  # of a ratio


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class RowSketch:
    """Hashes of rows without their identifiers, smallest first, and part of the mark of each one's person.

    Of the `n_distinct` smallest hashes those are kept of which there is one row alone.
    """

    rows: tuple[str, ...]
    marks: tuple[str, ...]
    n_distinct: int = 0

    @classmethod
    def of(cls, contents: AnyArray, marks: AnyArray) -> RowSketch:
        """Make it from the hashes of all rows, or of those with the smallest hashes."""
        order = np.argsort(contents, kind="stable")
        hashes, first, counts = np.unique(contents[order], return_index=True, return_counts=True)
        hashes, first, counts = hashes[:_ROWS], first[:_ROWS], counts[:_ROWS]
        alone = counts == 1
        whose = marks[order[first[alone]], 0]
        return cls(rows=_texts(hashes[alone]), marks=_texts(whose), n_distinct=len(hashes))

    def same_rows(self, other: RowSketch) -> tuple[int, int, int]:
        """How many rows are in both, how many of these under another mark, and of how many that could be told."""
        if not self.rows or not other.rows:
            return 0, 0, 0
        end = min(self.rows[-1], other.rows[-1])
        mine, theirs = (dict(zip(one.rows, one.marks, strict=True)) for one in (self, other))
        mine, theirs = ({row: mark for row, mark in one.items() if row <= end} for one in (mine, theirs))
        both = mine.keys() & theirs.keys()
        return len(both), sum(mine[row] != theirs[row] for row in both), min(len(mine), len(theirs))

    def shows_recoded(self, other: RowSketch) -> float:
        """The share of people who are in both under other marks, where it is no accident; else 0."""
        both, moved, n = self.same_rows(other)
        if n < _FEWEST or moved < max(_FEWEST_MOVED, _MOVED * n):
            return 0.0
        many = both >= _SAME_ROWS * n and moved >= both / 2
        return moved / n if many or (self.is_telling and other.is_telling) else 0.0

    @property
    def is_telling(self) -> bool:
        """Whether so few rows are alike that two people are hardly ever so by accident."""
        return len(self.rows) >= _ALONE * max(1, self.n_distinct)

    def is_of(self, other: RowSketch) -> bool:
        """Whether at least half of the rows are in both."""
        both, _, n = self.same_rows(other)
        return n >= _FEWEST and both >= n / 2

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {"rows": list(self.rows), "marks": list(self.marks), "n_distinct": self.n_distinct}

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> RowSketch:
        """Read it from the words of `to_dict`."""
        rows, marks = (tuple(words.get(name, ())) for name in ("rows", "marks"))
        return cls(rows=rows, marks=marks, n_distinct=int(words.get("n_distinct", 0)))


NO_ROWS = RowSketch(rows=(), marks=())
"""Where there are no columns but identifiers."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ColumnSketches:
    """The columns of a table in which nearly all values differ: smallest hashes of values, and of their spacing."""

    values: tuple[tuple[str, ...], ...] = ()
    spacing: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, key: bytes, table: pl.DataFrame) -> ColumnSketches:
        """Make them from the columns that are not identifiers."""
        own = [column.drop_nulls() for column in table]
        own = [one for one in own if len(one) >= _FEWEST and one.n_unique() >= _OWN * len(one)]
        spaced = [_spacing(key, one) for one in own]
        return cls(values=tuple(_values(key, one) for one in own), spacing=tuple(one for one in spaced if one))

    @classmethod
    def of_hashes(cls, columns: Sequence[tuple[AnyArray, AnyArray]]) -> ColumnSketches:
        """Make them from the smallest hashes of each column, batch by batch, with their rows; spacing is not known."""
        found = []
        for hashes, rows in columns:
            different, place = np.unique(hashes, return_inverse=True)
            counts = np.bincount(place.reshape(-1), weights=rows)[:_VALUES]
            if len(counts) >= _FEWEST and len(counts) >= _OWN * counts.sum():
                found.append(_smallest(different))
        return cls(values=tuple(found))

    @property
    def tell(self) -> bool:
        """Whether there is a column by which people can be told apart."""
        return bool(self.values)

    def resemble(self, other: ColumnSketches) -> bool:
        """Whether a column of each may be of the same people."""
        return _alike(self.values, other.values) or _alike(self.spacing, other.spacing)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {"values": [list(one) for one in self.values], "spacing": [list(one) for one in self.spacing]}

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> ColumnSketches:
        """Read them from the words of `to_dict`."""
        given = {name: tuple(tuple(one) for one in words.get(name, ())) for name in ("values", "spacing")}
        return cls(**given)


def row_contents(key: bytes, rows: pl.DataFrame, n: int, *, typed: bool = False) -> AnyArray:
    """The keyed hash of what each row holds, whatever its columns are called and in which order they stand."""
    if not rows.columns:
        return np.empty(0, dtype=np.uint64)
    cells = written_cells(rows, typed=typed)
    held = cells.select(pl.concat_list(pl.all()).list.sort().list.join("|")).to_series().to_list()
    return text_hashes(key, "content", held)[:, 0]


def value_hashes(key: bytes, column: pl.Series, *, typed: bool = False) -> AnyArray:
    """The keyed hashes of the known values of a column."""
    known = pl.DataFrame([column.drop_nulls().alias("value")])
    return row_hashes(key, "spread", known, len(known), typed=typed)[:, 0]


def _values(key: bytes, column: pl.Series) -> tuple[str, ...]:
    return _smallest(value_hashes(key, column))


def _spacing(key: bytes, column: pl.Series) -> tuple[str, ...]:
    """Hashes of the ratios of neighbouring differences; a ratio and its inverse are one, for numbers that were turned.

    Three ratios in a row, of four differences, are hashed together: few columns have these by chance.
    """
    numbers = np.unique(_finite(numbers_of(column)))
    if len(numbers) < _FEWEST + 5:
        return ()
    steps = np.diff(numbers)
    low, high = np.minimum(steps[:-1], steps[1:]), np.maximum(steps[:-1], steps[1:])
    ratios = np.round(low / high, _DIGITS)
    shapes = np.column_stack((ratios[:-2], ratios[1:-1], ratios[2:]))
    shapes = np.where((shapes[:, :1] <= shapes[:, 2:]), shapes, shapes[:, ::-1])
    telling = shapes[~_is_even(shapes)]
    if len(telling) < _FEWEST:
        return ()
    rows = pl.DataFrame(np.unique(telling, axis=0), schema=["a", "b", "c"], orient="row")
    return _smallest(row_hashes(key, "spacing", rows, len(rows))[:, 0])


def _is_even(shapes: FloatArray) -> BoolArray:
    """Equal differences, which whole numbers have everywhere."""
    even: BoolArray = np.asarray(np.isin(shapes, (1.0, 0.5)).all(axis=1))
    return even


def _finite(numbers: FloatArray) -> FloatArray:
    return numbers[np.isfinite(numbers)]


def _alike(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]]) -> bool:
    return any(_share(one, other) >= _SAME_VALUES for one in first for other in second)


def _share(one: Sequence[str], other: Sequence[str]) -> float:
    if min(len(one), len(other)) < _FEWEST:
        return 0.0
    end = min(one[-1], other[-1])
    mine, theirs = ({text for text in texts if text <= end} for texts in (one, other))
    return len(mine & theirs) / max(1, min(len(mine), len(theirs)))


def _smallest(hashes: AnyArray) -> tuple[str, ...]:
    return _texts(np.unique(hashes)[:_VALUES])


def _texts(hashes: AnyArray) -> tuple[str, ...]:
    return tuple(f"{int(one):016x}" for one in hashes)
