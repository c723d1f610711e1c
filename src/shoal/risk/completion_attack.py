"""Completion: who knows a few values of a person finds a row by them, and reads the others.

The intruder of `unchanged_columns` wants to know *which row* is a person's. This one doesn't care: a few cells are
known (some quasi-identifiers, all of them, or one sensitive value such as an exact cost), a released row is found by
them, and its other cells are taken for the person's. Two ways of finding are tried:

- the row nearest to all known cells together;
- for each known cell alone, the row nearest to it, as where columns are released apart from each other.

A guess that is right is no harm by itself: the nearest *other* person of the original tells much of anybody, and would
do so had the person taken no part. So what is read in the release is held against what is read from the nearest other
person, and

    gain = (right − right from others) / (1 − right from others)

is what being in the data costs: 1 for a copy of the table, about 0 where the release tells no more of a person than
other people do, below 0 where it tells less. Only people who are alone by what is known are tried: of the others, the
known cells point at a crowd. A level is right if it is equal, a number if it lies within a fortieth of all people by
rank on either side.

Measured on a stated random sample. It is a lower bound of what an intruder may reach: knowing more, or a better model,
reads more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from numba import njit

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.errors import ParameterError
from shoal.frame import enter
from shoal.pair import NOBODY, Pair
from shoal.record import Interval, Record
from shoal.risk.uncertainty import mean_interval
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["Completion", "CompletionAttack", "completion", "measure"]

_MOST_SETS = 8
_MOST_TARGETS, _FEWEST_TARGETS = 300, 50  # of each set of known columns
_MOST_CELLS = 1e7  # rows times targets of a set
_FEWEST_ALONE = 20
_NEAR = 0.025  # of all people, by rank, on either side


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletionAttack(Record):
    """What one intruder reads.

    Parameters
    ----------
    given
        What is known: ``"some quasi-identifiers"`` (as many as were asked for), ``"all quasi-identifiers"`` or ``"one
        sensitive column"``.
    way
        How a row is found: ``"nearest row"``, or ``"row of one cell"``.
    n_sets, n_targets
        Sets of known columns that were tried, and people tried, each with one of the sets.
    alone_share
        Share of the people drawn who are alone by what is known; only these were tried.
    right, others
        Share of the unknown cells that the release tells rightly, and that the nearest other person does.
    gain, interval
        What being in the data costs (see the module's formula), and its 95% interval over people.
    column, column_right, column_others
        The column with the largest difference of the two shares, and both shares of it.
    """

    given: str
    way: str
    n_sets: int
    n_targets: int
    alone_share: float
    right: float
    others: float
    gain: float
    interval: Interval
    column: str
    column_right: float
    column_others: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion(Record):
    """What is read of people by whoever knows some of their values.

    Parameters
    ----------
    attacks
        Each intruder and way that could be tried, the strongest first.
    known
        How many quasi-identifiers were known.
    n_records, sampled
        Original records, and whether those tried are a random sample of them.
    why
        Why nothing was measured; None where it was.
    """

    releasable: ClassVar[bool] = True
    listed: ClassVar[tuple[str, ...]] = ("attacks",)

    attacks: tuple[CompletionAttack, ...]
    known: int
    n_records: int
    sampled: bool
    why: str | None = None

    @property
    def strongest(self) -> CompletionAttack | None:
        """The attack that gains most; None where nothing was measured."""
        return self.attacks[0] if self.attacks else None

    def __float__(self) -> float:
        return self.attacks[0].gain if self.attacks else float("nan")


def completion(
    original: Any, released: Any, schema: Schema, source_rows: Any = None, known: int = 3, seed: int = 0
) -> Completion:
    """Read people's values from the rows that their known values lead to, and hold that against other people's.

    Parameters
    ----------
    original, released, schema
        Both tables, of any dataframe type, and the schema of the original. Rows need not correspond.
    source_rows
        Original row number of each released row. With it only people who were released are tried; it is needed where a
        column was coarsened, to read its cells.
    known
        How many quasi-identifiers the intruder knows. Raising it makes more people alone, and points harder at them.
    seed
        Seed of the draw of sets and people.

    Notes
    -----
    At most eight sets of quasi-identifiers, and each sensitive column alone, with at most 300 people each. Numbers are
    compared by their rank among the original's. A missing value is a value of its own. With a unit column "another
    person" has no row of the same unit. Weights play no part and are not read. Cost: each person tried is held against
    every row, O(n) a person; the number tried falls so that the whole stays about a second at 100,000 rows.

    Examples
    --------
    >>> import numpy as np, polars as pl, shoal
    >>> rng = np.random.default_rng(1)
    >>> table = pl.DataFrame(rng.normal(size=(300, 4)), schema=["a", "b", "c", "d"])
    >>> schema = shoal.Schema.of(quasi=["a", "b", "c"], sensitive=["d"])
    >>> apart = table.select(column.shuffle(seed=i) for i, column in enumerate(table))
    >>> float(shoal.risk.completion(table, table, schema)), float(shoal.risk.completion(table, apart, schema)) < 0.1
    (1.0, True)
    """
    if source_rows is None:
        source_rows = np.full(len(enter(released, owner="released table")), NOBODY)
    return measure(Pair.of(original, released, schema, source_rows), known=known, seed=seed)


def measure(pair: Pair, *, known: int = 3, seed: int = 0) -> Completion:
    """`completion` of an existing pair."""
    if isinstance(known, bool) or not isinstance(known, int) or known < 1:
        raise ParameterError("completion", "known must be a whole number from 1", got=repr(known)[:60])
    table = _Cells.of(pair)
    rng = stream(seed, "completion")
    targets = _released_people(pair)
    sets = list(_sets(pair, table, known, rng))
    size = _size(pair, len(targets))
    found = [
        _tried(table, pair.original.units(), columns, given, rng.permutation(targets)[:size]) for given, columns in sets
    ]
    attacks = [
        _attack(table, [one for one in found if one.given == given], way)
        for given in dict.fromkeys(given for given, _ in sets)
        for way in (0, 1)
        if not (way == 1 and given == _SENSITIVE)
    ]
    measured = sorted((one for one in attacks if one is not None), key=lambda one: -one.gain)
    return Completion(
        attacks=tuple(measured),
        known=known,
        n_records=pair.original.n,
        sampled=size < len(targets),
        why=None if measured else _why_not(sets, found),
    )


_SOME, _ALL, _SENSITIVE = "some quasi-identifiers", "all quasi-identifiers", "one sensitive column"
_WAYS = ("nearest row", "row of one cell")


def _why_not(sets: Sequence[tuple[str, IntArray]], found: Sequence[_Tried]) -> str:
    if not sets:
        return "no column is left to be read beside those that are known"
    if not sum(one.n_drawn for one in found):
        return "no released row belongs to a known person"
    return f"fewer than {_FEWEST_ALONE} of the people tried are alone by what is known"


def _released_people(pair: Pair) -> IntArray:
    """Return the original rows of people who were released; all of them where nobody says whose rows are whose."""
    known = pair.source_rows[pair.source_rows >= 0]
    return np.unique(known) if pair.is_of_people else np.arange(pair.original.n)


def _size(pair: Pair, n_targets: int) -> int:
    rows = pair.original.n + len(pair.released)
    return min(n_targets, max(_FEWEST_TARGETS, min(_MOST_TARGETS, int(_MOST_CELLS / rows))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """Both tables as numbers that compare: ranks of numbers and of ordered levels, codes of other levels."""

    names: tuple[str, ...]
    own: FloatArray
    released: FloatArray
    is_level: BoolArray
    exact: BoolArray

    @classmethod
    def of(cls, pair: Pair) -> _Cells:
        """Read each column of the schema that the release has, but for weights."""
        names = [c.name for c in pair.schema.released.columns if c.role != "weight" and c.name in pair.released.columns]
        encoder, own, released = pair.codes_of(names)
        kinds = [coding.kind for coding in encoder.codings]
        compared = [_comparable(kind, own[:, j], released[:, j]) for j, kind in enumerate(kinds)]
        for j, (mine, shown) in enumerate(compared):
            own[:, j], released[:, j] = mine, shown
        return cls(
            names=tuple(names),
            own=own,
            released=released,
            is_level=np.array([kind == "nominal" for kind in kinds], dtype=np.bool_),
            exact=np.array([kind != "numeric" for kind in kinds], dtype=np.bool_),
        )

    def places(self, names: Sequence[str]) -> IntArray:
        """Return where these columns stand; those that aren't released are left out."""
        return np.array([self.names.index(name) for name in names if name in self.names], dtype=np.int64)


def _comparable(kind: str, own: FloatArray, released: FloatArray) -> tuple[FloatArray, FloatArray]:
    if kind == "nominal":
        return own, released
    ordered = np.sort(own[~np.isnan(own)])
    return _ranks(ordered, own), _ranks(ordered, released)


def _ranks(ordered: FloatArray, values: FloatArray) -> FloatArray:
    """Return the middle rank of each value among `ordered`, from 0 to 1; missing ones stay so."""
    low, high = np.searchsorted(ordered, values, side="left"), np.searchsorted(ordered, values, side="right")
    ranks: FloatArray = (low + high) / (2 * max(1, len(ordered)))
    return np.where(np.isnan(values), np.nan, ranks)


def _sets(pair: Pair, table: _Cells, known: int, rng: Generator) -> Iterator[tuple[str, IntArray]]:
    """Yield what is known: sets of quasi-identifiers, at most eight, then all of them, and each sensitive column."""
    quasi, sensitive = table.places(pair.schema.quasi), table.places(pair.schema.sensitive)
    if known < len(quasi):
        for chosen in _drawn(len(quasi), known, rng):
            yield _SOME, quasi[list(chosen)]
    if 0 < len(quasi) < len(table.names):
        yield _ALL, quasi
    if len(table.names) > 1:
        for column in sensitive:
            yield _SENSITIVE, np.array([column])


def _drawn(n: int, size: int, rng: Generator) -> list[tuple[int, ...]]:
    """Return all sets of a size, or eight different ones at random."""
    if comb(n, size) <= _MOST_SETS:
        return list(combinations(range(n), size))
    chosen: dict[tuple[int, ...], None] = {}
    while len(chosen) < _MOST_SETS:
        chosen[tuple(sorted(rng.choice(n, size, replace=False).tolist()))] = None
    return list(chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tried:
    """One set of known columns: what is right in each unknown column, for each person who is alone by it."""

    given: str
    unknown: IntArray
    n_drawn: int
    right: FloatArray  # way × person × unknown column
    others: FloatArray


def _tried(table: _Cells, person: IntArray, columns: IntArray, given: str, targets: IntArray) -> _Tried:
    unknown = np.setdiff1d(np.arange(len(table.names)), columns)
    tolerance = np.where(table.exact[unknown], 0.0, _NEAR)
    asked, true = table.own[targets][:, columns], table.own[targets][:, unknown]
    levels = table.is_level[columns]
    nobody = np.full(len(targets), NOBODY)
    rows = np.arange(len(table.own))
    near, others = read_cells(
        asked, true, table.own[:, columns], table.own[:, unknown], levels, tolerance, person[targets], person[rows]
    )
    alone = near > 0
    _, right = read_cells(
        asked[alone],
        true[alone],
        table.released[:, columns],
        table.released[:, unknown],
        levels,
        tolerance,
        nobody[alone],
        np.zeros(len(table.released), dtype=np.int64),
    )
    return _Tried(given=given, unknown=unknown, n_drawn=len(targets), right=right, others=others[:, alone])


def _attack(table: _Cells, tried: Sequence[_Tried], way: int) -> CompletionAttack | None:
    """Return what one intruder reads one way, over all sets; None where too few people are alone."""
    people = [np.column_stack([one.right[way].mean(axis=1), one.others[0].mean(axis=1)]) for one in tried]
    each = np.concatenate(people) if people else np.empty((0, 2))
    if len(each) < _FEWEST_ALONE:
        return None
    right, others = each.mean(axis=0)
    low, high = mean_interval(each[:, 0] - each[:, 1])
    scale = max(1 - others, 1e-9)
    column, column_right, column_others = _worst_column(table, tried, way)
    return CompletionAttack(
        given=tried[0].given,
        way=_WAYS[way],
        n_sets=len(tried),
        n_targets=len(each),
        alone_share=len(each) / sum(one.n_drawn for one in tried),
        right=float(right),
        others=float(others),
        gain=float((right - others) / scale),
        interval=(float(low / scale), float(high / scale)),
        column=column,
        column_right=column_right,
        column_others=column_others,
    )


def _worst_column(table: _Cells, tried: Sequence[_Tried], way: int) -> tuple[str, float, float]:
    """Return the unknown column in which the release is right most beyond other people, and both shares."""
    right, others, n = (np.zeros(len(table.names)) for _ in range(3))
    for one in tried:
        right[one.unknown] += one.right[way].sum(axis=0)
        others[one.unknown] += one.others[0].sum(axis=0)
        n[one.unknown] += one.right.shape[1]
    enough = n >= _FEWEST_ALONE
    gap = np.where(enough, (right - others) / np.maximum(1, n), -np.inf)
    worst = int(gap.argmax())
    return table.names[worst], float(right[worst] / n[worst]), float(others[worst] / n[worst])


@njit(cache=True, nogil=True)
def read_cells(
    asked: FloatArray,
    true: FloatArray,
    known: FloatArray,
    cells: FloatArray,
    is_level: BoolArray,
    tolerance: FloatArray,
    skipped: IntArray,
    person: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the distance of the nearest row to each person asked about, and what is right in it, both ways.

    Rows of the person `skipped` don't count. Of rows that are equally near, each is as likely to be read. The second
    result is way × person × column: the row nearest to all cells, and the mean over the rows nearest to each alone.
    """
    right = np.zeros((2, len(asked), cells.shape[1]))
    nearest = np.full(len(asked), np.inf)
    for t in range(len(asked)):
        best, share = _read(asked[t], true[t], known, cells, is_level, tolerance, skipped[t], person)
        nearest[t] = best[-1]
        right[0, t] = share[-1]
        for way in range(len(best) - 1):
            right[1, t] += share[way] / (len(best) - 1)
    return nearest, right


@njit(cache=True, nogil=True)
def _read(
    asked: FloatArray,
    true: FloatArray,
    known: FloatArray,
    cells: FloatArray,
    is_level: BoolArray,
    tolerance: FloatArray,
    skipped: int,
    person: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the smallest distance by each known cell and, last, by all; and the share of rows there that are right."""
    n_known = len(asked)
    best, count = np.full(n_known + 1, np.inf), np.zeros(n_known + 1)
    hits = np.zeros((n_known + 1, len(true)))
    part = np.zeros(n_known + 1)
    for i in range(len(known)):
        if person[i] == skipped:
            continue
        part[n_known] = 0.0
        for j in range(n_known):
            part[j] = _apart(asked[j], known[i, j], is_level[j])
            part[n_known] += part[j]
        for way in range(n_known + 1):
            if part[way] < best[way]:
                best[way], count[way] = part[way], 0.0
                hits[way] = 0.0
            if part[way] == best[way]:
                count[way] += 1.0
                for c in range(len(true)):
                    hits[way, c] += _is_right(true[c], cells[i, c], tolerance[c])
    for way in range(n_known + 1):
        hits[way] /= max(1.0, count[way])
    return best, hits


@njit(cache=True, nogil=True)
def _apart(x: float, y: float, is_level: bool) -> float:
    """Squared distance of two cells: 1 on average over two people's ranks, 1 between levels or beside an absence."""
    if np.isnan(x) or np.isnan(y):
        return 0.0 if np.isnan(x) and np.isnan(y) else 1.0
    if is_level:
        return 0.0 if x == y else 1.0
    return 6.0 * (x - y) ** 2


@njit(cache=True, nogil=True)
def _is_right(true: float, read: float, tolerance: float) -> float:
    if np.isnan(true) or np.isnan(read):
        return 1.0 if np.isnan(true) and np.isnan(read) else 0.0
    return 1.0 if abs(true - read) <= tolerance + 1e-12 else 0.0
