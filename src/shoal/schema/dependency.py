"""Which columns follow from others: a description from its code, an age group from the age, a body mass index from
height and weight.

X determines Y if no value of X comes with two values of Y (a missing value counts as one). Candidates are found on a
sample of rows, which can only propose too many, and each is verified on all rows. Nothing is said where it would be
empty: a column in which nearly everybody differs determines everything, a constant follows from anything.

Where rows repeat beyond chance (`shoal.schema.repeats`), each different row counts once: copies agree in everything,
and are evidence of nothing.

A near dependency holds in at least 99 rows of 100 and leaves at most a tenth of the errors that the commonest value
would make. A pair of columns is judged on the rows whose pair of values comes again, the others proving nothing, and
must leave at most a tenth of the errors that either of the two would make alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.record import Record
from shoal.schema.repeats import first_of_each

__all__ = ["Dependency", "dependencies"]

_SAMPLE = 2_000
_MOST_COLUMNS = 500  # whose pairs are looked at
_MOST_PAIRED = 16  # numeric columns among which pairs are tried
_NEAR, _ERRORS_LEFT = 0.99, 0.1
_REPEATED = 0.3  # share of rows whose pair of values must come again
_ROWS_EACH = 3.0  # rows for each value of what determines, on average: fewer would prove nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency(Record):
    """`column` follows from `of` in this share of the rows: 1 if exactly.

    Of a pair, the share is that of the rows whose pair of values comes again.
    """

    column: str
    of: tuple[str, ...]
    share: float
    both_ways: bool = False


def dependencies(columns: Mapping[str, pl.Series]) -> tuple[Dependency, ...]:
    """For each column, what determines it: single columns, the coarsest first, else a pair of numeric ones.

    Cost: pairs of columns on a sample, then one count over all rows for each candidate. Of tables of more than 500
    columns, whose pairs are too many, nothing is said.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema.dependency import dependencies
    >>> code = pl.Series([1, 2, 3, 1, 2, 3] * 5)
    >>> dependencies({"code": code, "word": code.replace_strict({1: "a", 2: "b", 3: "b"})})
    (Dependency(column='word', of=('code',), share=1.0, both_ways=False),)
    """
    if len(columns) > _MOST_COLUMNS:
        return ()
    columns = first_of_each(columns)
    codes = {name: _dense(cells) for name, cells in columns.items()}
    sizes = {name: int(code.max(initial=-1)) + 1 for name, code in codes.items()}
    n = len(next(iter(codes.values()), ()))
    left = [name for name, size in sizes.items() if size > 1 and size * _ROWS_EACH <= n]
    found = [one for name in codes if sizes[name] > 1 for one in _singles(name, left, codes, sizes)]
    single = {one.column for one in found}
    numbers = [name for name in codes if columns[name].dtype.is_numeric() and sizes[name] > 10][:_MOST_PAIRED]
    return (*found, *_pairs([name for name in numbers if name not in single], numbers, codes))


def _singles(
    name: str, left: Sequence[str], codes: Mapping[str, IntArray], sizes: Mapping[str, int]
) -> list[Dependency]:
    n = len(codes[name])
    sample = slice(0, None, max(1, n // _SAMPLE))
    made = []
    for other in sorted(left, key=sizes.__getitem__):
        if other == name or sizes[other] < sizes[name]:
            continue
        if _kept(codes[other][sample], codes[name][sample]) < _NEAR:
            continue
        share = _kept(codes[other], codes[name])
        if share == 1 or _is_near(share, codes[name]):
            both = share == 1 and sizes[other] == sizes[name]
            made.append(Dependency(column=name, of=(other,), share=share, both_ways=both))
    return made


def _is_near(share: float, code: IntArray) -> bool:
    commonest = np.bincount(code).max() / len(code)
    return share >= _NEAR and 1 - share <= _ERRORS_LEFT * (1 - commonest)


def _pairs(names: Sequence[str], numbers: Sequence[str], codes: Mapping[str, IntArray]) -> list[Dependency]:
    """For each column the first pair that determines it, judged on the rows whose pair of values comes again."""
    made: dict[str, Dependency] = {}
    for pair in combinations(numbers, 2):
        joined = _joined([codes[one] for one in pair])
        again = np.flatnonzero(np.bincount(joined)[joined] > 1)
        if len(again) < _REPEATED * len(joined):
            continue
        first = again[: _SAMPLE // 4]
        for name in names:
            if name in pair or name in made or _kept(joined[first], codes[name][first]) < _NEAR:
                continue
            share = _kept(joined[again], codes[name][again])
            alone = max(_kept(codes[one][again], codes[name][again]) for one in pair)
            if share >= _NEAR and 1 - share <= _ERRORS_LEFT * (1 - alone) and alone < 1:
                made[name] = Dependency(column=name, of=pair, share=share)
    return list(made.values())


def _kept(code: IntArray, target: IntArray) -> float:
    """The share of rows whose target is the commonest one among rows of the same code."""
    joined = _joined([code, target])
    first, at, counts = np.unique(joined, return_index=True, return_counts=True)
    best = np.zeros(int(code.max()) + 1, dtype=np.int64)
    np.maximum.at(best, code[at], counts)
    return float(best.sum() / len(code)) if len(first) else 1.0


def _joined(parts: Sequence[IntArray]) -> IntArray:
    joined = parts[0]
    for part in parts[1:]:
        joined = joined * (int(part.max(initial=0)) + 1) + part
        joined = np.unique(joined, return_inverse=True)[1]
    return joined


def _dense(cells: pl.Series) -> IntArray:
    """Equal values get equal numbers from 0 up; a missing value has one of its own."""
    ranks = cells.cast(pl.String).rank("dense") if cells.dtype in (pl.Categorical, pl.Enum) else cells.rank("dense")
    return ranks.cast(pl.Int64).fill_null(0).rank("dense").cast(pl.Int64).to_numpy() - 1
