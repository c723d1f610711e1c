"""Which numbers follow from others by arithmetic: sums, days between dates, years of age, ratios such as the body mass
index, multiples, squares and logarithms.

Candidates are found on a few rows, which can only propose too many, and each is verified on all rows where its columns
are known. A rounded result may be off by half of its last decimal place. No constant is named: who is in the table has
a part in one that is fitted.

Where rows repeat beyond chance (`shoal.schema.repeats`), each different row counts once.

Nothing is said where it would prove little: of fewer than 50 rows, of addends that are nearly always 0, of results with
few different values (but for sums, which have no constant to fit).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.record import Record
from shoal.schema.repeats import first_of_each

__all__ = ["Formula", "formulas"]

_MOST_COLUMNS = 60
_LOOKED_AT, _SAMPLE, _FEWEST = 512, 64, 50  # rows to choose a sample from, its rows, rows that prove something
_MANY = 10  # different values above which a column is measured
_NEAR, _FINE, _USED = 0.99, 0.05, 0.01  # share of rows; rounding beside the spread; share of rows with an addend
_MOST_DATES = 8
_POWERS = {2.0: "the square of {}", 0.5: "the square root of {}", -1.0: "1 / {}", 3.0: "the cube of {}"}
_SAME = 1e-9  # of the largest value: what adding up decimals may do


@dataclass(frozen=True, slots=True, kw_only=True)
class Formula(Record):
    """`column` follows from `of`, as `words` say, in this share of the rows in which all are known."""

    column: str
    of: tuple[str, ...]
    words: str
    share: float
    is_sum: bool = False


def formulas(columns: Mapping[str, pl.Series]) -> tuple[Formula, ...]:
    """For each column of numbers at most one formula: of one other column, else a sum, else a ratio or product.

    Cost: all pairs of the first 60 columns of numbers or dates on 64 rows, then one pass over all rows for each that
    holds there.

    Examples
    --------
    >>> import polars as pl
    >>> from shoal.schema.arithmetic import formulas
    >>> wages, rent = pl.Series(range(100, 200)), pl.Series([7 * i % 31 for i in range(100)])
    >>> formulas({"wages": wages, "rent": rent, "income": wages + rent})
    (Formula(column='income', of=('wages', 'rent'), words='the sum of wages and rent', share=1.0, is_sum=True),)
    """
    columns = first_of_each(columns)
    named = [name for name, cells in columns.items() if _counts(cells)][:_MOST_COLUMNS]
    if len(named) < 2 or len(columns[named[0]]) < _FEWEST:
        return ()
    with np.errstate(all="ignore"):  # what is too large to be multiplied fits no formula
        table = _Table.of([columns[name] for name in named], named)
        candidates = (*_of_one(table), *_sums(table), *_ages(table, columns), *_of_two(table))
    made: dict[str, Formula] = {}
    for one in candidates:
        if one.column not in made and not any(set(one.of) <= {*old.of, old.column} for old in _with(made, one.column)):
            made[one.column] = one
    return tuple(made[name] for name in named if name in made)


def _with(made: Mapping[str, Formula], name: str) -> list[Formula]:
    """The formulas in which a column has a part: to say the same another way round says nothing new."""
    return [one for one in made.values() if name in one.of]


def _counts(cells: pl.Series) -> bool:
    usable = cells.dtype.is_numeric() or cells.dtype in (pl.Date, pl.Datetime)
    return usable and cells.n_unique() > 2 and int((~np.isnan(_floats(cells))).sum()) >= _FEWEST


@dataclass(frozen=True, kw_only=True)
class _Table:
    """Columns as floats, dates as days; a sample of their rows; how each is rounded."""

    names: Sequence[str]
    values: FloatArray
    sample: FloatArray
    dated: BoolArray
    rounding: FloatArray
    spread: FloatArray
    measured: BoolArray

    @classmethod
    def of(cls, cells: Sequence[pl.Series], names: Sequence[str]) -> _Table:
        values = np.column_stack([_floats(one) for one in cells])
        n = len(values)
        some = values[:: max(1, n // _LOOKED_AT)]
        sample = some[np.sort(np.argsort(np.isnan(some).sum(axis=1), kind="stable")[:_SAMPLE])]
        return cls(
            names=names,
            values=values,
            sample=sample,
            dated=np.array([not one.dtype.is_numeric() for one in cells]),
            rounding=np.array([_rounding(column) for column in values.T]),
            spread=np.nanstd(values, axis=0),
            measured=np.array([one.n_unique() > _MANY for one in cells]),
        )

    @property
    def fine(self) -> BoolArray:
        """Which columns are measured finely enough for a fit to prove something."""
        return self.measured & (self.rounding <= _FINE * self.spread) & ~self.dated

    def verified(self, made: FloatArray, target: int, tolerance: float) -> float:
        """The share of rows in which a column is what was made; 0 where too few are known."""
        off = np.abs(self.values[:, target] - made)
        known = ~np.isnan(off)
        return float((off[known] <= tolerance).mean()) if known.sum() >= _FEWEST else 0.0


def _floats(cells: pl.Series) -> FloatArray:
    if cells.dtype == pl.Datetime:
        cells = cells.dt.timestamp("ms") / 86_400_000
    elif cells.dtype == pl.Date:
        cells = cells.to_physical()
    values = cells.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def _rounding(values: FloatArray) -> float:
    """Half of the last decimal place that a column has, by its first known values."""
    known = values[~np.isnan(values)][:2_000]
    scale = np.abs(known).max(initial=1.0)
    for decimals in range(9):
        if np.all(np.abs(known - np.round(known, decimals)) <= 1e-12 * scale):
            return 0.5 * 10.0**-decimals
    return 1e-9 * float(scale)


# ---- one other column: a multiple, a logarithm, a power


def _of_one(table: _Table) -> Iterator[Formula]:
    for source in np.flatnonzero(table.fine):
        x = table.sample[:, source]
        positive = bool(np.nanmin(table.values[:, source]) > 0)
        for word, transform, power in _SHAPES if positive else _SHAPES[:1]:
            for target in _fitting(table, transform(x), int(source), power):
                if target < source and word == "multiple":
                    continue  # of two that say the same, the later one
                yield from _fitted(table, int(source), int(target), word)


def _same(x: FloatArray) -> FloatArray:
    return x


_SHAPES = (("multiple", _same, False), ("logarithm", np.log, False), ("power", np.log, True))


def _fitting(table: _Table, x: FloatArray, source: int, power: bool) -> IntArray:
    """The columns that are linear in x on the sample, within their rounding; their logarithms, for a power."""
    with np.errstate(all="ignore"):
        ys = np.where(table.sample > 0, np.log(table.sample), np.nan) if power else table.sample
        slack = table.rounding / table.sample if power else np.broadcast_to(table.rounding, table.sample.shape)
        known = ~np.isnan(ys) & ~np.isnan(x)[:, None]
        n = known.sum(axis=0)
        xs = np.where(known, x[:, None], 0.0)
        mean_x, mean_y = xs.sum(axis=0) / n, np.where(known, ys, 0.0).sum(axis=0) / n
        dx, dy = np.where(known, xs - mean_x, 0.0), np.where(known, ys - mean_y, 0.0)
        slope = (dx * dy).sum(axis=0) / (dx**2).sum(axis=0)
        off = np.abs(dy - slope * dx) <= 3 * slack + _SAME * (1 + np.abs(ys))
        fits = (off | ~known).all(axis=0) & (n >= _SAMPLE // 4) & table.fine & (slope != 0)
    fits[source] = False
    return np.flatnonzero(fits)


def _fitted(table: _Table, source: int, target: int, word: str) -> Iterator[Formula]:
    x, y = table.values[:, source], table.values[:, target]
    with np.errstate(all="ignore"):
        fx = x if word == "multiple" else np.log(x)
        fy = np.where(y > 0, np.log(y), np.nan) if word == "power" else y
    known = ~np.isnan(fx) & ~np.isnan(fy)
    if known.sum() < _FEWEST or not _is_told(x[known], y[known]):
        return
    slope, start = np.polyfit(fx[known], fy[known], 1)
    name, tolerance = table.names[source], 1.01 * table.rounding[target] + _SAME * np.abs(y[known]).max()
    if word == "power":
        near = [power for power in _POWERS if abs(slope - power) < 1e-3]
        if not near:
            return
        raised = x ** near[0]
        factor = float(np.nansum(raised * y) / np.nansum(np.where(np.isnan(y), np.nan, raised) ** 2))
        made, words = factor * raised, f"in proportion to {_POWERS[near[0]].format(name)}"
    else:
        made = slope * fx + start
        through = abs(start) <= tolerance
        equal = through and bool(np.mean(x[known] == y[known]) >= _NEAR)
        plain = f"the same as {name}" if equal else f"in proportion to {name}" if through else f"linear in {name}"
        words = plain if word == "multiple" else f"linear in the logarithm of {name}"
    share = table.verified(made, target, tolerance)
    if share >= _NEAR:
        yield Formula(column=table.names[target], of=(name,), words=words, share=share)


def _is_told(x: FloatArray, y: FloatArray) -> bool:
    """Whether rows of one x have one y, as a result has: an age and that of a year later are within rounding too."""
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    other = (x[1:] == x[:-1]) & (np.abs(y[1:] - y[:-1]) > 1e-12 * np.abs(y[1:]))
    return bool(other.mean() <= 1 - _NEAR)


# ---- sums, and days between dates


def _sums(table: _Table) -> Iterator[Formula]:
    sample, m = table.sample, len(table.names)
    used = ((sample != 0) & ~np.isnan(sample)).sum(axis=0) > 1
    runs = [tuple(range(i, j, step)) for step in (1, 2) for i in range(m) for j in range(i + 2 * step + 1, m + 1, step)]
    for addends in (*combinations(range(m), 2), *runs):
        total = sample[:, list(addends)].sum(axis=1)
        known = ~np.isnan(total)
        if known.sum() < _SAMPLE // 4 or not used[list(addends)].all():
            continue
        off = np.abs(sample[known] - total[known, None]) > _SAME * (1 + np.abs(total[known, None]))
        for target in np.flatnonzero(~off.any(axis=0)):
            if target not in addends:
                yield from _summed(table, addends, int(target))


def _summed(table: _Table, addends: tuple[int, ...], target: int) -> Iterator[Formula]:
    parts = table.values[:, list(addends)]
    n_dated = int(table.dated[list(addends)].sum())
    if n_dated != int(table.dated[target]) or (n_dated and len(addends) > 2):
        return
    known = ~np.isnan(parts).any(axis=1)
    if not n_dated and ((parts[known] != 0).mean(axis=0) < _USED).any():
        return
    total = parts.sum(axis=1)
    share = table.verified(total, target, _SAME * (1 + np.nanmax(np.abs(total))))
    if share < _NEAR:
        return
    names = [table.names[i] for i in addends]
    if n_dated:
        first, days = names if table.dated[addends[0]] else names[::-1]
        last = table.names[target]
        yield Formula(column=days, of=(first, last), words=f"the days from {first} to {last}", share=share)
    else:
        words = f"the sum of {', '.join(names[:-1])} and {names[-1]}"
        yield Formula(column=table.names[target], of=tuple(names), words=words, share=share, is_sum=True)


# ---- years between two dates


def _ages(table: _Table, columns: Mapping[str, pl.Series]) -> Iterator[Formula]:
    dates = [name for name, dated in zip(table.names, table.dated, strict=True) if dated][:_MOST_DATES]
    whole = [i for i in range(len(table.names)) if _could_be_age(table, i)]
    for first, last in permutations(dates, 2) if whole else ():
        years = _whole_years(columns[first], columns[last])
        for target in whole:
            share = table.verified(years, target, 0.0)
            if share >= _NEAR:
                words = f"the whole years from {first} to {last}"
                yield Formula(column=table.names[target], of=(first, last), words=words, share=share)


def _could_be_age(table: _Table, place: int) -> bool:
    values = table.values[:, place]
    return bool(table.measured[place] and not table.dated[place] and table.rounding[place] == 0.5) and (
        float(np.nanmin(values)) >= 0 and float(np.nanmax(values)) <= 130
    )


def _whole_years(first: pl.Series, last: pl.Series) -> FloatArray:
    """The birthdays that were had between two days."""
    a, b = first.cast(pl.Date), last.cast(pl.Date)
    before = _day_of_year(b) < _day_of_year(a)
    return _floats((b.dt.year() - a.dt.year()).cast(pl.Int64) - before.cast(pl.Int64))


def _day_of_year(days: pl.Series) -> pl.Series:
    return days.dt.month().cast(pl.Int64) * 100 + days.dt.day().cast(pl.Int64)


# ---- ratios and products, in any units


def _of_two(table: _Table) -> Iterator[Formula]:
    usable = np.flatnonzero(table.measured & ~table.dated & (np.nanmin(table.values, axis=0) > 0))
    results = table.fine
    for a, b in permutations(usable.tolist(), 2):
        for power in (1, 2, -1):
            if power == -1 and a > b:
                continue  # a product is the same the other way round
            shape = table.sample[:, a] / table.sample[:, b] ** power
            for target in _in_proportion(table, shape, results):
                if target not in (a, b):
                    yield from _proportional(table, (a, b), power, int(target))


def _in_proportion(table: _Table, shape: FloatArray, results: BoolArray) -> IntArray:
    ratio = table.sample / shape[:, None]
    known = ~np.isnan(ratio)
    enough = (known.sum(axis=0) >= _SAMPLE // 4) & results
    if not enough.any():
        return np.empty(0, dtype=np.int64)
    factor = np.full(ratio.shape[1], np.nan)
    factor[enough] = np.nanmedian(ratio[:, enough], axis=0)
    off = np.abs(table.sample - factor * shape[:, None]) <= 3 * table.rounding + _SAME
    return np.flatnonzero((off | ~known).all(axis=0) & enough & (factor != 0))  # mostly zeros are no result


def _proportional(table: _Table, pair: tuple[int, int], power: int, target: int) -> Iterator[Formula]:
    a, b = (table.names[i] for i in pair)
    shape = table.values[:, pair[0]] / table.values[:, pair[1]] ** power
    y = table.values[:, target]
    known = ~np.isnan(shape) & ~np.isnan(y)
    factor = float((shape[known] @ y[known]) / (shape[known] @ shape[known]))
    made = _plain(factor) * shape
    share = table.verified(made, target, 1.01 * table.rounding[target] + _SAME * np.abs(y[known]).max())
    words = {1: f"{a} / {b}", 2: f"{a} / {b}²", -1: f"{a} × {b}"}[power]
    if share >= _NEAR:
        yield Formula(column=table.names[target], of=(a, b), words=f"in proportion to {words}", share=share)


def _plain(factor: float) -> float:
    """A power of ten or a usual unit, if the factor is nearly one."""
    usual = (*(10.0**power for power in range(-8, 9)), 703.0, 60.0, 1 / 60, 12.0, 1 / 12)
    near = [unit for unit in usual if abs(factor / unit - 1) < 1e-3]
    return near[0] if near else factor
