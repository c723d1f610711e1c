"""Columns published unchanged that follow from the quasi-identifiers, or give them away.

A survey weight is often population / sample of a cell of quasi-identifiers, and some columns are derived from others.
Such a column undoes the masking: whoever knows a person's true quasi-identifiers knows its value, and its value tells
the true quasi-identifiers of a row. Two directions are measured over the records:

- **determined**: given some quasi-identifiers the column's value is (nearly) always the same;
- **tells**: given the column's value some quasi-identifiers are (nearly) always the same.

Only combinations that several persons share say anything: a table in which everybody is unique determines nothing.
Where rows repeat beyond chance (`shoal.schema.repeats`), each different row counts once, as copies prove nothing. With
D the share of records, among those, that have the commonest value of their combination, and D₀ the same after the
values were dealt out at random,

    share = (D − D₀) / (1 − D₀):   0 for independent columns, 1 for a function, however rare or common the values.

A column is named where the share is at least 0.9, at least 20 records and a tenth of all are in shared combinations,
and none of 19 random deals reaches D.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.equivalence import Codes, codes, combine, persons
from shoal.frame import pick, series
from shoal.pair import Pair
from shoal.record import Record
from shoal.rng import stream
from shoal.schema import Schema
from shoal.schema.column import NAMING
from shoal.schema.repeats import distinct_rows
from shoal.schema.whose_rows import readable

__all__ = ["Dependence", "dependences", "determined_by_quasi", "unchanged_names"]

Direction = Literal["determined", "tells"]

_NEAR = 0.9
_FEWEST = 20
_FEWEST_SHARE = 0.1
_DEALS = 19
_MOST_ROWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence(Record):
    """An unchanged column that is tied to quasi-identifiers.

    Parameters
    ----------
    column, direction
        The column, and whether the quasi-identifiers determine it or it tells them.
    quasi
        The quasi-identifiers it is tied to.
    share
        How far, corrected for chance: 1 for a function.
    exact
        Whether there is no exception among the records looked at.
    """

    derived: ClassVar[tuple[str, ...]] = (
        "finding",
        "remedy",
    )
    releasable: ClassVar[bool] = True

    column: str
    direction: Direction
    quasi: tuple[str, ...]
    share: float
    exact: bool

    @property
    def finding(self) -> str:
        """What was found, in one sentence."""
        how, names = ("" if self.exact else "nearly "), ", ".join(self.quasi)
        if self.direction == "determined":
            return f"Column {self.column} is published unchanged and {how}follows from {names}."
        return f"Column {self.column} is published unchanged and {how}tells {names}."

    @property
    def remedy(self) -> str:
        """What the publisher can do about it."""
        return (
            f"Drop {self.column}, coarsen it, give it the role quasi so that it is masked with the others, or replace "
            "weights by rounded ones."
        )


def unchanged_names(pair: Pair) -> tuple[str, ...]:
    """The columns of the release that no mask touched: sensitive, other and weight."""
    schema = pair.schema
    names = (*schema.sensitive, *schema.other, *([schema.weight] if schema.weight else []))
    released = set(pair.released.columns)
    return tuple(name for name in names if name in released)


def dependences(
    original: Any, released: Any, schema: Schema, source_rows: Any = None, seed: int = 0
) -> tuple[Dependence, ...]:
    """Find unchanged columns that are a function of the quasi-identifiers, or give them away.

    Parameters
    ----------
    original, released, schema
        Both tables, of any dataframe type, and the schema of the original.
    source_rows
        Original row number of each released row; None: the rows are in the same order.
    seed
        Seed of the random deals, and of the 20,000 records that stand for a longer table.

    Notes
    -----
    Sets of quasi-identifiers are grown one column at a time, so a column that only several of them
    determine together is found by all of them or not at all. Each person counts once. Missing is a value of its own.
    Cost: O(n) for each unchanged column and each of at most q² sets of q quasi-identifiers.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"area": ["a", "b", "c", "d"] * 10, "weight": [3.5, 8.0, 2.25, 4.0] * 10})
    >>> schema = shoal.Schema.of(quasi=["area"], weight="weight")
    >>> [(found.column, found.direction, found.exact) for found in shoal.risk.dependences(table, table, schema)]
    [('weight', 'determined', True), ('weight', 'tells', True)]
    """
    return determined_by_quasi(Pair.of(original, released, schema, source_rows), seed=seed)


def determined_by_quasi(pair: Pair, *, seed: int = 0) -> tuple[Dependence, ...]:
    """`dependences` of an existing pair."""
    names = unchanged_names(pair)
    rows = (
        _looked_at(pair, stream(seed, "dependence", "rows"))
        if names and pair.schema.quasi
        else np.empty(0, dtype=np.int64)
    )
    if len(rows) < _FEWEST:
        return ()
    quasi = quasi_codes(pair, rows)
    found: list[Dependence] = []
    for name in names:
        column = _dense(codes(series(pair.released, name)).values[rows])
        rng = stream(seed, "dependence", name)
        found += _determined(name, column, quasi, rng) + _tells(name, column, quasi, rng)
    return tuple(found)


def quasi_codes(pair: Pair, rows: IntArray) -> dict[str, Codes]:
    """The true quasi-identifiers of the persons of released rows, as numbers of their values."""
    sources = pair.source_rows[rows]
    true = pair.original_codes[sources]
    return {coding.name: _dense(true[:, j]) for j, coding in enumerate(pair.encoder.codings)}


def _looked_at(pair: Pair, rng: Generator) -> IntArray:
    """Released rows of known source, one for each person and different row, at most 20,000 drawn at random."""
    known = np.flatnonzero(pair.source_rows >= 0)
    rows = pair.source_rows[known]
    first = pair.original.once(("first of each row", rows.tobytes()), partial(_first_of_each, pair, rows))
    if first is not None:
        known = known[first]
    unit = pair.schema.unit
    if unit is not None and len(known):
        person = persons(series(pair.original.frame, unit)).values[pair.source_rows[known]]
        known = known[np.sort(np.unique(person, return_index=True)[1])]
    return known if len(known) <= _MOST_ROWS else np.sort(rng.permutation(known)[:_MOST_ROWS])


def _first_of_each(pair: Pair, rows: IntArray) -> BoolArray | None:
    """Which of these rows of the original come for the first time; None where none repeats beyond chance.

    Rows that were left out play no part: not their copies, and not the types of their cells.
    """
    schema, frame = pair.schema, pick(pair.original.frame, rows)
    names = [column.name for column in schema.columns if column.role not in (*NAMING, "weight")]
    return distinct_rows(readable(frame, names))


def _determined(name: str, column: Codes, quasi: dict[str, Codes], rng: Generator) -> list[Dependence]:
    """The smallest set of quasi-identifiers, grown column by column, that determines `column`; else all of them."""
    chosen: tuple[str, ...] = ()
    best = 0.0
    dealt = _deal(column, rng)
    while len(chosen) < len(quasi) and best < 1.0:
        tried = {
            (*chosen, more): _strength(quasi, (*chosen, more), column, dealt) for more in quasi if more not in chosen
        }
        step = max(tried, key=lambda names: (tried[names], -len(names)))
        if tried[step] <= best + 1e-12:
            break
        chosen, best = step, tried[step]
        if best >= _NEAR and _named(quasi, chosen, column, rng):
            break
    for names in (chosen, tuple(quasi)):
        if names and (found := _named(quasi, names, column, rng)):
            share, exact = found
            return [Dependence(column=name, direction="determined", quasi=names, share=share, exact=exact)]
    return []


def _tells(name: str, column: Codes, quasi: dict[str, Codes], rng: Generator) -> list[Dependence]:
    strengths = {}
    for one, values in quasi.items():
        found = _named({name: column}, (name,), values, rng)
        if found:
            strengths[one] = found
    if not strengths:
        return []
    share, exact = min(share for share, _ in strengths.values()), all(exact for _, exact in strengths.values())
    return [Dependence(column=name, direction="tells", quasi=tuple(strengths), share=share, exact=exact)]


def _strength(given: dict[str, Codes], names: Sequence[str], column: Codes, dealt: Codes) -> float:
    """How far `names` determine `column`, corrected by one random deal; 0 where too few combinations are shared."""
    cells = combine([given[name] for name in names])
    hits, rows = modal_hits(cells, column)
    if rows < max(_FEWEST, _FEWEST_SHARE * len(column.values)):
        return 0.0
    return _excess(hits, modal_hits(cells, dealt)[0], rows)


def _named(given: dict[str, Codes], names: Sequence[str], column: Codes, rng: Generator) -> tuple[float, bool] | None:
    """Share and exactness where the dependence passes the guard, else None."""
    cells = combine([given[name] for name in names])
    hits, rows = modal_hits(cells, column)
    if rows < max(_FEWEST, _FEWEST_SHARE * len(column.values)):
        return None
    if _excess(hits, modal_hits(cells, _deal(column, rng))[0], rows) < _NEAR / 2:
        return None  # far from it: spare the other deals
    by_chance = [modal_hits(cells, _deal(column, rng))[0] for _ in range(_DEALS)]
    share = _excess(hits, float(np.mean(by_chance)), rows)
    return (share, hits == rows) if share >= _NEAR and hits > max(by_chance) else None


def _excess(hits: float, by_chance: float, rows: int) -> float:
    return (hits - by_chance) / (rows - by_chance) if rows > by_chance else 0.0


def modal_hits(cells: Codes, column: Codes) -> tuple[int, int]:
    """Rows that have the commonest value of their cell, and all rows, over the cells of at least two rows."""
    of, count = _contents(cells, column)[1:]
    sizes, most = np.bincount(cells.values, minlength=cells.n), np.zeros(cells.n, dtype=np.int64)
    np.maximum.at(most, of, count)
    shared = sizes > 1
    return int(most[shared].sum()), int(sizes[shared].sum())


def modal_values(cells: Codes, column: Codes) -> IntArray:
    """The commonest value of each cell."""
    value, of, count = _contents(cells, column)
    order = np.lexsort((value, count, of))
    modes = np.zeros(cells.n, dtype=np.int64)
    modes[of[order]] = value[order]  # the last of a cell, which has the largest count, stays
    return modes


def _contents(cells: Codes, column: Codes) -> tuple[IntArray, IntArray, IntArray]:
    """The pairs (value, cell) that occur, with their number of rows."""
    keys, count = np.unique(cells.values * column.n + column.values, return_counts=True)
    return keys % column.n, keys // column.n, count


def _deal(column: Codes, rng: Generator) -> Codes:
    return Codes(values=rng.permutation(column.values), n=column.n)


def _dense(values: IntArray | FloatArray) -> Codes:
    found, place = np.unique(values, return_inverse=True)
    return Codes(values=place.reshape(-1), n=len(found))
