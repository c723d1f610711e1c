"""Which columns, and which of their values, make records stand out.

Let v(S) be the share of records in classes of fewer than k persons (k = 2: records that are alone) on the columns S,
and v of no column 0.

- **Drop-one**: v(all) − v(all without j). It answers "what if I drop this column", and is 0 for each of two columns
  that say the same.
- **Shapley**: φ_j = Σ_{S without j} |S|! (d − |S| − 1)! / d! [v(S + j) − v(S)]. The shares add up to v(all); two equal
  columns get the same. It shares out what there is and forecasts nothing.

Up to twelve columns all 2^d sets are counted exactly; beyond, orders of the columns are drawn, and the intervals say
how far that can be off. A ranking of columns may be published; the values that stand out may not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.equivalence import Classes, Codes, combine
from shoal.errors import ParameterError
from shoal.frame import Frame, enter, series
from shoal.record import Interval, Record
from shoal.risk.class_sizes import table_classes
from shoal.risk.keys import coded_keys
from shoal.risk.small_classes import Atoms, atoms_of, in_small_classes
from shoal.risk.uncertainty import mean_interval
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["ColumnContribution", "Contribution", "ValueContribution", "contribution", "measure", "shapley"]

_MOST_EXACT = 12
_ORDERS = 60
_FEWEST_ORDERS = 10
_WORK = 40_000_000  # combinations times columns times orders: some seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueContribution(Record):
    """One value of a column: for inside only.

    Parameters
    ----------
    column, value
        The column and the value, as text; None where it is missing.
    n_records
        Records with the value.
    n_at_risk
        Those of them in classes of fewer than k persons.
    n_freed
        Those of them that would be in larger classes if the column were dropped.
    """

    releasable: ClassVar[bool] = False

    column: str
    value: str | None
    n_records: int
    n_at_risk: int
    n_freed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnContribution(Record):
    """One column.

    Parameters
    ----------
    column
        The column.
    drop_one
        Share of records that are at risk, and wouldn't be without the column.
    shapley, interval
        Its part in v(all); the interval has a width where orders of columns were drawn.
    n_freed
        Records that are no longer at risk without the column.
    """

    column: str
    drop_one: float
    shapley: float
    interval: Interval
    n_freed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution(Record):
    """How the quasi-identifiers share in making records stand out; values are for inside only.

    Parameters
    ----------
    k
        Records in classes of fewer than `k` persons are at risk.
    n_records, n_at_risk, share
        Rows, those at risk, and their share v(all).
    columns
        Each column's part, the largest Shapley value first.
    values
        The values through which most records stand out, by `n_freed`.
    exact
        Whether all sets of columns were counted.
    """

    releasable: ClassVar[bool] = False
    listed: ClassVar[tuple[str, ...]] = ("columns",)

    k: int
    n_records: int
    n_at_risk: int
    share: float
    columns: tuple[ColumnContribution, ...]
    values: tuple[ValueContribution, ...]
    exact: bool

    def __getitem__(self, name: str) -> ColumnContribution:
        return next(column for column in self.columns if column.column == name)


def contribution(table: Any, schema: Schema, k: int = 2, values: int = 20, seed: int = 0) -> Contribution:
    """Share out over columns, and name the values, by which records stand out.

    Parameters
    ----------
    table, schema
        A table of any dataframe type with the schema's quasi-identifiers, and which they are.
    k
        Records in classes of fewer than `k` persons count; 2: those that are alone.
    values
        How many values to name at most.
    seed
        Repeats the orders of columns that are drawn where there are more than twelve.

    Notes
    -----
    A missing quasi value is a level of its own. With a unit column classes count persons. Survey weights are not used.
    Cost: counting 2^d sets, most of them of few distinct combinations; a million rows of 8 columns take some seconds.

    References
    ----------
    Shapley 1953.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 57], "sex": ["f", "f", "f", "m"]})
    >>> found = shoal.risk.contribution(table, shoal.Schema.of(quasi=["age", "sex"]))
    >>> [(c.column, c.drop_one, c.shapley) for c in found.columns]
    [('age', 0.25, 0.375), ('sex', 0.0, 0.125)]
    """
    return measure(enter(table), schema, k, values, seed)


def measure(
    frame: Frame,
    schema: Schema,
    k: int = 2,
    values: int = 20,
    seed: int = 0,
    *,
    found: Classes | None = None,
    keys: Sequence[Codes] | None = None,
    atoms: Atoms | None = None,
) -> Contribution:
    """`contribution` of a frame that has already entered.

    `found`, `keys` and `atoms` are its classes, coded columns and what both give for this k, where they are known.
    """
    check_k("contribution", k)
    keys = coded_keys(frame, schema) if keys is None else keys
    found = table_classes(frame, schema) if found is None else found
    atoms = atoms_of(keys, found, k) if atoms is None else atoms
    at_risk = found.row_sizes < k
    freed = [_freed(keys, j, found, at_risk, atoms) for j in range(len(keys))]
    shares, exact = _shares(atoms, len(frame), seed)
    columns = [
        ColumnContribution(
            column=name,
            drop_one=float(freed[j].sum()) / len(frame),
            shapley=shares[j][0],
            interval=shares[j][1],
            n_freed=int(freed[j].sum()),
        )
        for j, name in enumerate(schema.quasi)
    ]
    return Contribution(
        k=k,
        n_records=len(frame),
        n_at_risk=int(at_risk.sum()),
        share=float(at_risk.mean()),
        columns=tuple(sorted(columns, key=lambda column: (-column.shapley, column.column))),
        values=_values(frame, schema, keys, at_risk, freed, values),
        exact=exact,
    )


def check_k(owner: str, k: object) -> None:
    """Refuse a k that is no whole number from 2 up."""
    if not isinstance(k, int) or isinstance(k, bool) or k < 2:
        raise ParameterError(owner, "k must be a whole number, at least 2", got=repr(k)[:60])


def _freed(keys: Sequence[Codes], j: int, found: Classes, at_risk: BoolArray, atoms: Atoms) -> BoolArray:
    """Which records are at risk, and in a class of at least k persons without column j."""
    k, shared = atoms.k, atoms.shared_without(j, len(at_risk))
    if shared is not None:
        return at_risk & shared
    rest = [*keys[:j], *keys[j + 1 :]]
    if found.persons is None:
        return at_risk & ~in_small_classes(combine(rest, n_rows=len(at_risk), dense=False), k)
    label = combine(rest, n_rows=len(at_risk))
    pair = combine([label, Codes(values=found.persons, n=int(found.persons.max()) + 1)])
    owner = np.empty(pair.n, dtype=np.int64)
    owner[pair.values] = label.values
    return at_risk & (np.bincount(owner, minlength=label.n)[label.values] >= k)


def _shares(atoms: Atoms, n: int, seed: int) -> tuple[list[tuple[float, Interval]], bool]:
    d = len(atoms.columns)
    if d <= _MOST_EXACT:
        worth = {mask: count / n for mask, count in atoms.every_subset()}
        worth[0] = 0.0
        return [(value, (value, value)) for value in shapley(worth, d)], True
    drawn = _drawn(atoms, n, seed)
    means = [float(values.mean()) for values in drawn.T]
    return [(mean, mean_interval(values)) for mean, values in zip(means, drawn.T, strict=True)], False


def shapley(worth: Mapping[int, float], d: int) -> list[float]:
    """The Shapley values of `d` players from the worth of every coalition, by bit mask."""
    weight = [math.factorial(s) * math.factorial(d - s - 1) / math.factorial(d) for s in range(d)]
    return [
        math.fsum(
            weight[mask.bit_count()] * (worth[mask | 1 << j] - value)
            for mask, value in worth.items()
            if not mask >> j & 1
        )
        for j in range(d)
    ]


def _drawn(atoms: Atoms, n: int, seed: int) -> FloatArray:
    """What each column adds, for random orders in which columns leave."""
    rng = stream(seed, "risk", "contribution")
    d = len(atoms.columns)
    orders = int(np.clip(_WORK // (len(atoms.columns[0].values) * d), _FEWEST_ORDERS, _ORDERS))
    out = np.zeros((orders, d))
    for draw in range(orders):
        order = [int(j) for j in rng.permutation(d)]
        out[draw, order] = -np.diff(atoms.leaving(order)) / n
    return out


def _values(
    frame: Frame,
    schema: Schema,
    keys: Sequence[Codes],
    at_risk: BoolArray,
    freed: Sequence[BoolArray],
    most: int,
) -> tuple[ValueContribution, ...]:
    found = []
    for j, name in enumerate(schema.quasi):
        found += _column_values(series(frame, name), keys[j], at_risk, freed[j], most)
    found.sort(key=lambda value: (-value.n_freed, -value.n_at_risk, value.column, value.value or ""))
    return tuple(found[:most])


def _column_values(
    content: pl.Series, key: Codes, at_risk: BoolArray, freed: BoolArray, most: int
) -> list[ValueContribution]:
    n = np.bincount(key.values, minlength=key.n)
    risky = np.bincount(key.values[at_risk], minlength=key.n)
    free = np.bincount(key.values[freed], minlength=key.n)
    example: IntArray = np.empty(key.n, dtype=np.int64)
    example[key.values] = np.arange(len(content))
    top = [int(code) for code in np.lexsort((-risky, -free))[:most] if risky[code]]
    shown = content.gather(example[top]).cast(pl.String, strict=False).to_list() if top else []
    return [
        ValueContribution(
            column=content.name,
            value=value,
            n_records=int(n[code]),
            n_at_risk=int(risky[code]),
            n_freed=int(free[code]),
        )
        for code, value in zip(top, shown, strict=True)
    ]
