"""What if: how many people would no longer stand out if one column said a little less?

For each quasi-identifier every change that is one step is tried on the whole table: dropping it, rounding (numbers),
top- and bottom-coding (numbers beyond the 99% or 1% quantile become that), and one level up its hierarchy. A change
is worth

    gain = records taken out of classes below k / information lost,
    information lost = H(X_j | what is written) = H(X_j) − H(written X_j)   in bits per record,

so that columns of different kinds compare. Changes are ranked by gain, ties by name. The counts are exact. What two
changes do together is not the sum of both: after one is made, ask again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.coarsening.default_hierarchies import hierarchy_for
from shoal.coarsening.steps import Cap, Round
from shoal.conform import kind_of
from shoal.equivalence import Classes, Codes, ranks
from shoal.errors import ShoalError
from shoal.frame import Frame, enter, series
from shoal.record import Record
from shoal.risk.class_sizes import table_classes
from shoal.risk.column_contribution import check_k
from shoal.risk.keys import coded_keys, require_keys
from shoal.risk.small_classes import Atoms, atoms_of
from shoal.schema import Column, Schema

if TYPE_CHECKING:
    from shoal.coarsening.steps import Step

__all__ = ["Action", "Change", "WhatIf", "measure", "what_if"]

Action = Literal["drop", "round", "top-code", "bottom-code", "coarsen"]
_TAIL = 0.01
_TINY = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Record):
    """One change of one column, and what it would do: for inside only, since a cap is a quantile of the data.

    Parameters
    ----------
    column, action
        What is done to which column.
    step
        The change in the words of `shoal.Recode`, or of a hierarchy; empty for dropping the column.
    n_at_risk, n_freed
        Records left in classes of fewer than k persons, and how many fewer that is.
    bits_lost, information_lost
        Information lost in bits per record, and as a share of what all quasi-identifiers have, column by column.
    gain
        Records freed per bit lost, over the number of rows.
    """

    releasable: ClassVar[bool] = False

    column: str
    action: Action
    step: Mapping[str, Any]
    n_at_risk: int
    n_freed: int
    bits_lost: float
    information_lost: float
    gain: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf(Record):
    """All changes of one step, the best first; `n_at_risk` of `n_records` are in classes of fewer than `k` now."""

    releasable: ClassVar[bool] = False
    listed: ClassVar[tuple[str, ...]] = ("changes",)

    k: int
    n_records: int
    n_at_risk: int
    changes: tuple[Change, ...]

    @property
    def best(self) -> Change | None:
        """The change that frees most records per bit lost; None where none helps."""
        return self.changes[0] if self.changes and self.changes[0].n_freed > 0 else None

    @property
    def strongest(self) -> Change | None:
        """The change that frees most records, whatever it loses."""
        return max(self.changes, key=lambda change: change.n_freed, default=None)


def what_if(table: Any, schema: Schema, k: int = 2) -> WhatIf:
    """Try every change of one step on every quasi-identifier and rank them by risk taken away per information lost.

    Parameters
    ----------
    table, schema
        A table of any dataframe type with the schema's quasi-identifiers, and which they are. Hierarchies of the
        schema are used; without one, the hierarchy that `Generalize` would generate.
    k
        Records in classes of fewer than `k` persons are at risk; 2: those that are alone.

    Notes
    -----
    A missing quasi value is a level of its own. With a unit column classes count persons. Survey weights are not used.
    Cost: one count of distinct combinations per change; a million rows of 8 columns take some seconds.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 33, 41, 44, 55, 58], "sex": ["f", "f", "m", "m", "f", "f"]})
    >>> schema = shoal.Schema.of(quasi=["age", "sex"], bounds={"age": (0, 120)})
    >>> best = shoal.risk.what_if(table, schema).best
    >>> best.column, best.action, best.n_freed
    ('age', 'coarsen', 6)
    """
    return measure(enter(table), schema, k)


def measure(
    frame: Frame,
    schema: Schema,
    k: int = 2,
    *,
    found: Classes | None = None,
    keys: Sequence[Codes] | None = None,
    atoms: Atoms | None = None,
) -> WhatIf:
    """`what_if` of a frame that has already entered.

    `found`, `keys` and `atoms` are its classes, coded columns and what both give for this k, where they are known.
    """
    check_k("what_if", k)
    names = require_keys(frame, schema)
    found = table_classes(frame, schema) if found is None else found
    keys = coded_keys(frame, schema) if keys is None else keys
    atoms = atoms_of(keys, found, k) if atoms is None else atoms
    before = int((found.row_sizes < k).sum())
    bits = [_entropy(np.bincount(key.values)) for key in keys]
    changes = [
        change
        for j, name in enumerate(names)
        for change in _changes(series(frame, name), schema[name], keys[j], atoms, j, before, bits)
    ]
    changes.sort(key=lambda change: (-change.gain, -change.n_freed, change.column, change.action))
    return WhatIf(k=k, n_records=len(frame), n_at_risk=before, changes=tuple(changes))


def _changes(
    content: pl.Series,
    column: Column,
    key: Codes,
    atoms: Atoms,
    j: int,
    before: int,
    bits: Sequence[float],
) -> Iterator[Change]:
    """Every change of one column; one that changes no value, or leaves a single one, isn't listed."""
    n = len(content)
    counts = np.bincount(key.values, minlength=key.n)
    below = atoms.changing(j)

    def change(action: Action, step: Mapping[str, Any], groups: Codes, left: float) -> Change:
        n_at_risk = below(groups)
        lost = bits[j] - left
        freed = before - n_at_risk
        return Change(
            column=column.name,
            action=action,
            step=step,
            n_at_risk=n_at_risk,
            n_freed=freed,
            bits_lost=lost,
            information_lost=lost / max(sum(bits), _TINY),
            gain=freed / n / max(lost, _TINY),
        )

    yield change("drop", {}, Codes(values=np.zeros(key.n, dtype=np.int64), n=1), 0.0)
    for action, step, merged in _steps(content, column, key):
        left = _entropy(np.bincount(merged.values, weights=counts, minlength=merged.n))
        yield change(action, step, merged, left)


def _steps(content: pl.Series, column: Column, key: Codes) -> Iterator[tuple[Action, Mapping[str, Any], Codes]]:
    """Each step with the group that it puts each code of the column in."""
    example: IntArray = np.empty(key.n, dtype=np.int64)
    example[key.values] = np.arange(len(content))
    values = content.gather(example)
    settled = replace(column, kind=column.kind or kind_of(content, column))
    for action, step in _candidates(content, values, settled):
        try:
            merged = ranks(step.apply(values))
        except ShoalError:
            continue  # a hierarchy that doesn't fit the values is no way out
        if 1 < merged.n < key.n:
            yield action, step.to_dict(), merged


def _candidates(content: pl.Series, values: pl.Series, column: Column) -> Iterator[tuple[Action, Step]]:
    if column.kind == "numeric" and not content.dtype.is_numeric():
        return  # numbers among codes that are texts, of which no step is known to be good
    if column.kind == "numeric":
        base = _base(values)
        if base is not None:
            yield "round", Round(base=base)
        yield from _caps(content)
    try:
        steps = hierarchy_for(values, column).steps
    except ShoalError:
        return
    if steps:
        yield "coarsen", steps[0]


def _base(values: pl.Series) -> float | None:
    """The next base of the form 1, 2 or 5 times a power of ten above the usual gap between neighbouring values."""
    shown = np.unique(values.drop_nulls().to_numpy().astype(np.float64))
    if len(shown) < 3:
        return None
    gap = float(np.median(np.diff(shown)))
    power = 10.0 ** np.floor(np.log10(gap))
    return next(float(f"{times * power:.12g}") for times in (1, 2, 5, 10, 20) if times * power > gap * (1 + 1e-9))


def _caps(content: pl.Series) -> Iterator[tuple[Action, Step]]:
    low, high = (content.quantile(share, "nearest") for share in (_TAIL, 1 - _TAIL))
    if low is None or high is None or not low < high:
        return
    if high < content.max():  # type: ignore[operator]
        yield "top-code", Cap(high=float(high))
    if low > content.min():  # type: ignore[operator]
        yield "bottom-code", Cap(low=float(low))


def _entropy(counts: Any) -> float:
    """Entropy of a column in bits."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
