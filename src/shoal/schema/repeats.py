"""Rows that occur more than once: the same person twice, or different people who are alike?

In a table of few coarse columns rows repeat by chance. Where they agree in more than chance explains, each copy of a
row would count as one more person in the crowd that hides it. So repeats are counted, and judged by two comparisons:

- **independent columns**: a row whose values have the shares p_1 .. p_m is expected n · p_1 ··· p_m times again. Only
  rows expected less than 0.05 times count as evidence, and pairs of them must be at least twice as many as expected. A
  column that follows from another adds nothing, however many columns say the same, nor does the rarest value of a row,
  as its column may follow from several others together.
- **near misses**: where d pairs of rows differ in one column alone, and two rows agree in it with chance s, about
  d · s / (1 − s) pairs of different people agree in all. Of the finest columns the one that explains most counts, and
  equal pairs must be twenty times as many. Copies have hardly any near miss; alike people have many.

Columns in which all values differ number the rows; they, identifiers and survey weights take no part: copies of a row
have numbers of their own, and a weight spread over them. Cost: O(n) for each column, on hashes of its cells.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.record import Record

__all__ = ["Repeats", "content_numbers", "distinct_rows", "first_of_each", "repeats_of"]

_SURPRISE = 0.05  # times that a row is expected again, below which a second one proves something
_EXCESS = 2.0  # times as many pairs as independent columns would give
_FINEST, _ALIKE = 4, 20.0  # columns in which pairs may differ alone; times as many pairs as their near misses explain
_MOST_COLUMNS, _SAMPLE, _LOOKED_AT = 64, 20_000, 2_000  # columns that are judged by their shares, rows that tell them
_COARSE = 3  # rows for each value from which on a column can be seen to follow from another

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats(Record):
    """How often rows of a table repeat. About the whole table: internal.

    Parameters
    ----------
    n_rows, n_distinct
        Rows of the table, and how many of them differ.
    n_again
        Rows that occur more than once, in all columns but identifiers and the weight.
    n_again_weighted
        The same where the weight counts too.
    most
        The most copies of one row.
    beyond_chance
        Whether they are more than people who are alike would give.
    sampled
        Whether the counts are those of a part of the different rows, scaled up.
    """

    n_rows: int
    n_distinct: int
    n_again: int
    n_again_weighted: int
    most: int
    beyond_chance: bool
    sampled: bool = False

    def __str__(self) -> str:
        """What was counted, in a few words."""
        if not self.n_again:
            return "No row occurs more than once"
        about = "About " if self.sampled else ""
        but = " (but for the weight)" if self.n_again_weighted < self.n_again else ""
        return f"{about}{self.n_again:,} rows occur more than once{but}, up to {self.most:,} times"


def repeats_of(
    columns: Mapping[str, pl.Series], *, weight: str | None = None, skip: Collection[str] = (), share: float = 1.0
) -> Repeats:
    """Count the rows that occur more than once, and judge whether that is more than chance would give.

    Parameters
    ----------
    columns
        The table, column by column.
    weight
        The survey weight: rows that differ in it alone are counted with and without it.
    skip
        Identifiers, and whatever else says nothing of a person.
    share
        Which part of the different rows of a larger table these are, with all their copies.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema.repeats import repeats_of
    >>> ages = pl.Series(range(1000))
    >>> sick = {"age": ages, "days": ages * 37 % 1009, "cost": ages * 7919 % 10007}
    >>> found = repeats_of({name: pl.concat([cells, cells[:20]]) for name, cells in sick.items()})
    >>> found.n_again, found.beyond_chance
    (40, True)
    """
    used = [name for name in columns if name not in skip and name != weight and not _numbers_rows(columns[name])]
    n = len(next(iter(columns.values()), ()))
    if not used or n < 2:
        return Repeats(n_rows=n, n_distinct=n, n_again=0, n_again_weighted=0, most=min(n, 1), beyond_chance=False)
    hashes = {name: _hashed(columns[name], place) for place, name in enumerate(used, 1)}
    rows = _total(hashes.values())
    again, counts = _again(rows)
    weighted = again if weight not in columns else _again(rows + _hashed(columns[str(weight)], 0))[0]
    return Repeats(
        n_rows=n,
        n_distinct=len(counts),
        n_again=int(again.sum()),
        n_again_weighted=int(weighted.sum()),
        most=int(counts.max()),
        beyond_chance=bool(again.any()) and _beyond_chance(hashes, rows, {name: columns[name] for name in used}, share),
    )


def distinct_rows(columns: Mapping[str, pl.Series], *, skip: Collection[str] = ()) -> BoolArray | None:
    """Which rows come for the first time, where rows repeat beyond chance; None where all rows count."""
    used = {name: cells for name, cells in columns.items() if name not in skip and not _numbers_rows(cells)}
    if not used or not repeats_of(used).beyond_chance:
        return None
    rows = _total(_hashed(cells, place) for place, cells in enumerate(used.values(), 1))
    first = np.zeros(len(rows), dtype=np.bool_)
    first[np.unique(rows, return_index=True)[1]] = True
    return first


def first_of_each(columns: Mapping[str, pl.Series]) -> Mapping[str, pl.Series]:
    """The columns with each different row once, where rows repeat beyond chance; else as they are."""
    first = distinct_rows(columns)
    if first is None:
        return columns
    return {name: cells.filter(pl.Series(first)) for name, cells in columns.items()}


def content_numbers(columns: Mapping[str, pl.Series]) -> pl.Series:
    """A number for each row, the same for rows that hold the same, in the order of what they hold.

    Numbers of rows take no part. It doesn't depend on the order of rows.
    """
    used = {name: _plain(cells) for name, cells in columns.items() if not _numbers_rows(cells)}
    n = len(next(iter(columns.values()), ()))
    if not used:
        return pl.Series(range(n), dtype=pl.Int64)
    table = pl.DataFrame({f"{place}": cells for place, cells in enumerate(used.values())})
    distinct = table.unique().sort(table.columns, nulls_last=True).with_row_index("number")
    found = table.join(distinct, on=table.columns, how="left", nulls_equal=True, maintain_order="left")
    return found["number"].cast(pl.Int64)


def _plain(cells: pl.Series) -> pl.Series:
    """Categories as texts, one zero, and one way of missing."""
    if cells.dtype in (pl.Categorical, pl.Enum):
        return cells.cast(pl.String)
    return cells.fill_nan(None) + 0.0 if cells.dtype.is_float() else cells


def _numbers_rows(cells: pl.Series) -> bool:
    """Whether no value comes twice, as with numbers of rows."""
    return len(cells) > 1 and cells.null_count() == 0 and cells.n_unique() == len(cells)


def _hashed(cells: pl.Series, seed: int) -> Hashes:
    """Equal values get equal numbers; the seed keeps columns apart."""
    return _plain(cells).hash(seed).to_numpy().astype(np.uint64)


def _total(hashes: Iterable[Hashes]) -> Hashes:
    """Hashes of whole rows: of which those of single columns can be taken away again."""
    first, *others = hashes
    total = first.copy()
    for one in others:
        total += one
    return total


def _again(rows: Hashes) -> tuple[BoolArray, IntArray]:
    """Which rows occur more than once, and how often each different one does."""
    _, place, counts = np.unique(rows, return_inverse=True, return_counts=True)
    return counts[place] > 1, counts


def _beyond_chance(hashes: Mapping[str, Hashes], rows: Hashes, columns: Mapping[str, pl.Series], share: float) -> bool:
    """Whether equal rows are more than independent columns give, and more than near misses explain."""
    finest = sorted(columns, key=lambda name: -columns[name].n_unique())
    expected = _times_again(_telling(finest[:_MOST_COLUMNS], hashes), len(rows)) / share
    rare = expected < _SURPRISE
    equal = _n_pairs(rows[rare])
    if equal <= _EXCESS * float(expected[rare].sum()) / 2:
        return False
    near = (_explained(hashes[name], rows[rare] - hashes[name][rare], equal) for name in finest[:_FINEST])
    return equal > _ALIKE * max(near) / share


def _explained(cells: Hashes, rest: Hashes, equal: int) -> float:
    """How many equal pairs are expected among different people, by pairs that differ in one column alone."""
    counts = np.unique(cells, return_counts=True)[1]
    same = float(((counts / counts.sum()) ** 2).sum())
    return (_n_pairs(rest) - equal) * same / (1 - same) if same < 1 else 0.0


def _telling(names: list[str], hashes: Mapping[str, Hashes]) -> list[Hashes]:
    """Columns from the finest on, but those that follow from a coarse one before them."""
    every = max(1, len(hashes[names[0]]) // _LOOKED_AT)
    kept: list[str] = []
    coarse: list[tuple[Hashes, int]] = []
    for name in names:
        cells = hashes[name][::every]
        if any(len(np.unique(one + cells)) == n for one, n in coarse):
            continue
        kept.append(name)
        n_values = len(np.unique(cells))
        if n_values * _COARSE <= len(cells):
            coarse.append((cells, n_values))
    return [hashes[name] for name in kept]


def _times_again(columns: list[Hashes], n: int) -> FloatArray:
    """How often each row would come again if columns were independent, by the shares of values in a sample.

    The rarest value of a row is left out: its column may follow from several others.
    """
    every = max(1, n // _SAMPLE)
    expected, rarest = np.full(n, float(n)), np.ones(n)
    for cells in columns:
        values, counts = np.unique(cells[::every], return_counts=True)
        place = np.minimum(np.searchsorted(values, cells), len(values) - 1)
        seen = np.where(values[place] == cells, counts[place], 0)
        share = (seen + 1) / (counts.sum() + 1)
        expected *= share
        rarest = np.minimum(rarest, share)
    return expected / rarest


def _n_pairs(rows: Hashes) -> int:
    counts = np.unique(rows, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())
