"""SUDA: the smallest sets of columns by which a record is alone, and a score that counts them.

A *minimal sample unique* (MSU) of a record is a set of quasi-identifiers on which it is the only one, while it isn't on
any proper subset (Elliot, Manning and Ford 2002). A record that needs one column is a more special unique than
one that needs five; a record with many MSUs stands out whichever of them an intruder knows. With ATT columns and
MSUs sought up to size M, an MSU of size k adds to a record's score

    elliot:  Π_{i=k}^{M} (ATT − i),  with M ≤ ATT − 1
    ihsn:    (2^(ATT − k) − 1) k! (ATT − k)! / ATT!

and, with U uniques, P records in classes of exactly two, and a sampling fraction π,

    DIS-SUDA_i = 1 / (1 + P (1 − π) / (π s_i^Q A)),   Q = 1 + (8 − ATT)/20,   A = Σ_{s_j > 0} s_j^−Q,   0 where s_i = 0.

MSUs are exact up to the size sought: being alone on a set follows for all its supersets, so each set is counted once
and compared with the sets of one column fewer. A missing value takes no part. Scores are a heuristic, no probability: a
duplicate of a risky record sets its score to 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.equivalence import Classes, Codes, combine
from shoal.errors import ParameterError
from shoal.frame import Frame, enter, series
from shoal.record import Record
from shoal.risk.class_sizes import table_classes
from shoal.risk.keys import coded_keys, compact, missing_keys
from shoal.risk.small_classes import in_small_classes
from shoal.schema import Schema

__all__ = ["ColumnShare", "Combination", "Suda", "measure", "minimal_uniques", "suda", "unit_score"]

Scale = Literal["elliot", "ihsn"]
_WORTH_IT = 0.2  # share of rows known to be alone from which the others are copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination(Record):
    """A combination of values by which one record is alone: for inside only.

    Parameters
    ----------
    row
        The record's row in the table.
    values
        The value of each column of the combination, as text.
    score
        The record's score.
    """

    releasable: ClassVar[bool] = False

    row: int
    values: dict[str, str]
    score: float

    def __str__(self) -> str:
        return " and ".join(f"{name} {value}" for name, value in self.values.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnShare(Record):
    """A column's part in all scores: `share` splits an MSU among its columns, `full` credits each with all of it."""

    column: str
    share: float
    full: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Suda(Record):
    """Minimal sample uniques of a table; records and combinations are for inside only.

    Parameters
    ----------
    size, scale, fraction
        Largest size of an MSU sought, how scores are made, and the sampling fraction π of DIS.
    n_records, n_unique, n_at_risk
        Rows, rows that are alone on all columns, and rows that have an MSU of at most `size` columns.
    n_minimal
        How many MSUs there are of each size.
    by_columns
        How many records have an MSU on each set of columns, the most frequent set first.
    columns
        Each column's share in the scores, the largest first.
    dis
        DIS of the file: 1 where no two records agree.
    combinations
        The combinations of the records with the largest scores.
    scores, dis_scores
        By row: the score and DIS-SUDA.
    """

    releasable: ClassVar[bool] = False
    private: ClassVar[tuple[str, ...]] = ("scores", "dis_scores")

    size: int
    scale: Scale
    fraction: float
    n_records: int
    n_unique: int
    n_at_risk: int
    n_minimal: dict[int, int]
    by_columns: tuple[tuple[tuple[str, ...], int], ...]
    columns: tuple[ColumnShare, ...]
    dis: float
    combinations: tuple[Combination, ...]
    scores: FloatArray = field(repr=False, compare=False)
    dis_scores: FloatArray = field(repr=False, compare=False)

    def riskiest(self, most: int = 10) -> IntArray:
        """The rows with the largest scores, ties by position: for inside only."""
        order = np.argsort(-self.scores, kind="stable")[:most]
        return order[self.scores[order] > 0]


def suda(
    table: Any,
    schema: Schema,
    size: int = 3,
    scale: Scale = "elliot",
    fraction: float = 0.01,
    most: int = 20,
) -> Suda:
    """Find the minimal sample uniques of every record up to `size` columns, and score the records.

    Parameters
    ----------
    table, schema
        A table of any dataframe type with the schema's quasi-identifiers, and which they are.
    size
        Largest number of columns of an MSU. Raising it finds more, at a cost that grows with the number of such sets.
    scale
        ``"elliot"`` or ``"ihsn"``.
    fraction
        Sampling fraction for DIS: set the true one.
    most
        How many combinations to spell out.

    Notes
    -----
    With a unit column a record is alone where no other person has its values. Survey weights are not used. Cost: one
    count for each set of columns, O(n Σ_k C(columns, k)): 100,000 rows of 10 columns to size 3 in about a second.

    References
    ----------
    Elliot, Manning and Ford 2002; Manning, Haglin and Keane 2008 (SUDA2).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]})
    >>> shoal.risk.suda(table, shoal.Schema.of(quasi=["a", "b", "c"]), size=2).scores.tolist()
    [2.0, 4.0, 2.0]
    """
    return measure(enter(table), schema, size, scale, fraction, most)


def measure(
    frame: Frame,
    schema: Schema,
    size: int = 3,
    scale: Scale = "elliot",
    fraction: float = 0.01,
    most: int = 20,
    *,
    found: Classes | None = None,
    keys: Sequence[Codes] | None = None,
) -> Suda:
    """`suda` of a frame that has already entered; `found` and `keys` are its classes and coded quasi columns."""
    _check(size, scale, fraction)
    keys = coded_keys(frame, schema) if keys is None else keys
    classes = table_classes(frame, schema) if found is None else found
    uniques = list(minimal_uniques(keys, missing_keys(frame, schema), size, classes.persons))
    units = {s: unit_score(s, len(keys), size, scale) for s in range(1, size + 1)}
    scores, at_risk = np.zeros(len(frame)), np.zeros(len(frame), dtype=np.bool_)
    for places, rows in uniques:
        scores[rows] += units[len(places)]
        at_risk[rows] = True
    pairs = int((classes.row_sizes == 2).sum())
    return Suda(
        size=size,
        scale=scale,
        fraction=fraction,
        n_records=len(frame),
        n_unique=int((classes.row_sizes == 1).sum()),
        n_at_risk=int(at_risk.sum()),
        n_minimal={s: sum(len(rows) for places, rows in uniques if len(places) == s) for s in range(1, size + 1)},
        by_columns=_by_columns(uniques, schema.quasi),
        columns=_column_shares(uniques, units, schema.quasi),
        dis=_dis(int((classes.row_sizes == 1).sum()), pairs, fraction),
        combinations=_combinations(frame, schema, uniques, scores, most),
        scores=scores,
        dis_scores=dis_suda(scores, pairs, fraction, len(keys)),
    )


def minimal_uniques(
    keys: Sequence[Codes], missing: BoolArray, size: int, persons: IntArray | None = None
) -> Iterator[tuple[tuple[int, ...], IntArray]]:
    """The sets of columns, by position, with the rows of which each is a minimal sample unique; empty ones left out."""
    smaller: dict[tuple[int, ...], BoolArray] = {(): np.zeros(len(missing), dtype=np.bool_)}
    for s in range(1, min(size, len(keys)) + 1):
        alone: dict[tuple[int, ...], BoolArray] = {}
        for places in combinations(range(len(keys)), s):
            known = smaller[places[1:]].copy()  # alone on fewer columns
            for i in range(1, s):
                known |= smaller[(*places[:i], *places[i + 1 :])]
            rows = _newly_alone(keys, missing, places, persons, known)
            if s < size:
                known[rows] = True
                alone[places] = known
            if len(rows):
                yield places, rows
        smaller = alone


def _newly_alone(
    keys: Sequence[Codes], missing: BoolArray, places: tuple[int, ...], persons: IntArray | None, known: BoolArray
) -> IntArray:
    """The rows that have values on all columns `places` which no other person's row has, and are not `known`.

    Rows that are known to be alone on fewer columns share no combination with others: where they are many, they are
    left out before the others are counted.
    """
    columns, rows = [keys[place] for place in places], None
    if np.count_nonzero(known) > _WORTH_IT * len(known):
        rows = np.flatnonzero(~known)
        columns = [Codes(values=column.values[rows], n=column.n) for column in columns]
        persons = None if persons is None else persons[rows]
    key = combine(columns, dense=False)
    alone = in_small_classes(key, 2) if persons is None else _of_one_person(compact(key), persons)
    found = np.flatnonzero(alone & ~known) if rows is None else rows[alone]
    # A missing value is a level of its own, so that rows with one never share a key with complete rows.
    return found[~missing[found][:, list(places)].any(axis=1)]


def _of_one_person(label: Codes, persons: IntArray) -> BoolArray:
    """Which rows have a label that no other person's row has."""
    first = np.empty(label.n, dtype=np.int64)
    first[label.values] = persons
    several = np.bincount(label.values[persons != first[label.values]], minlength=label.n) > 0
    return ~several[label.values]


def unit_score(k: int, n_columns: int, size: int, scale: Scale) -> float:
    """What an MSU of size `k` adds to a score."""
    if scale == "elliot":
        return float(math.prod(n_columns - i for i in range(k, min(size, n_columns - 1) + 1)))
    return float(2 ** (n_columns - k) - 1) / math.comb(n_columns, k)


def dis_suda(scores: FloatArray, pairs: int, fraction: float, n_columns: int) -> FloatArray:
    """DIS-SUDA of each record."""
    some = scores > 0
    out = np.zeros(len(scores))
    power = 1 + (8 - n_columns) / 20
    if some.any():
        weight = (scores[some] ** -power).sum()
        out[some] = 1 / (1 + pairs * (1 - fraction) / (fraction * scores[some] ** power * weight))
    return out


def _dis(unique: int, pairs: int, fraction: float) -> float:
    both = unique * fraction + pairs * (1 - fraction)
    return unique * fraction / both if both > 0 else 0.0


def _by_columns(
    found: Sequence[tuple[tuple[int, ...], IntArray]], names: Sequence[str]
) -> tuple[tuple[tuple[str, ...], int], ...]:
    sets = [(tuple(names[place] for place in places), len(rows)) for places, rows in found]
    return tuple(sorted(sets, key=lambda item: (-item[1], len(item[0]), item[0])))


def _column_shares(
    found: Sequence[tuple[tuple[int, ...], IntArray]], units: dict[int, float], names: Sequence[str]
) -> tuple[ColumnShare, ...]:
    full, split = np.zeros(len(names)), np.zeros(len(names))
    for places, rows in found:
        full[list(places)] += units[len(places)] * len(rows)
        split[list(places)] += units[len(places)] * len(rows) / len(places)
    total = float(split.sum()) or 1.0
    shares = [
        ColumnShare(column=name, share=float(split[j]) / total, full=float(full[j]) / total)
        for j, name in enumerate(names)
    ]
    return tuple(sorted(shares, key=lambda share: (-share.share, share.column)))


def _combinations(
    frame: Frame,
    schema: Schema,
    found: Sequence[tuple[tuple[int, ...], IntArray]],
    scores: FloatArray,
    most: int,
) -> tuple[Combination, ...]:
    """The smallest MSU of each of the records with the largest scores."""
    top = np.argsort(-scores, kind="stable")[:most]
    on_top = np.zeros(len(scores), dtype=np.bool_)
    on_top[top] = True
    shown: dict[int, tuple[int, ...]] = {}
    for places, rows in found:  # smaller sets come first
        for row in rows[on_top[rows]]:
            shown.setdefault(int(row), places)
    columns = {name: series(frame, name) for name in schema.quasi}
    return tuple(
        Combination(
            row=int(row),
            values={schema.quasi[place]: _text(columns[schema.quasi[place]], int(row)) for place in shown[int(row)]},
            score=float(scores[row]),
        )
        for row in top
        if int(row) in shown
    )


def _text(column: pl.Series, row: int) -> str:
    return str(column[row])


def _check(size: object, scale: object, fraction: float) -> None:
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise ParameterError("suda", "size must be a whole number, at least 1", got=repr(size)[:60])
    if scale not in ("elliot", "ihsn"):
        raise ParameterError("suda", "scale must be 'elliot' or 'ihsn'", got=repr(scale)[:60])
    if not 0 < fraction <= 1:
        raise ParameterError("suda", "fraction must be greater than 0 and at most 1", got=repr(fraction)[:60])
