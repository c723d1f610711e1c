"""Replicated uniques: people who are alone in the original and turn up, alone again, in the release.

A unique combination of quasi-identifiers that a synthetic table has exactly once looks like the person it fits, whether
or not the row is meant to be anybody's (Raab, Nowok and Dibben 2024). With a control group of the same population, the
share of *its* uniques that turn up says how much of it is chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import IntArray
from shoal.equivalence import Codes, combine
from shoal.frame import Frame, enter, series
from shoal.record import Interval, Record
from shoal.risk.keys import common_codes, require_keys
from shoal.risk.uncertainty import wilson
from shoal.schema import Schema

__all__ = ["ReplicatedUniques", "replicated_uniques"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicatedUniques(Record):
    """Uniques that turn up again.

    Parameters
    ----------
    n_unique
        Records that are alone in the original.
    n_replicated, share, interval
        Those that fit exactly one released row, their share in the uniques, and its 95 % interval.
    record_share
        The same in all records of the original.
    control_share
        Share of the control group's uniques that fit exactly one released row; None without a control group.
    """

    n_unique: int
    n_replicated: int
    share: float
    interval: Interval
    record_share: float
    control_share: float | None


def replicated_uniques(original: Any, released: Any, schema: Schema, control: Any = None) -> ReplicatedUniques:
    """Count the uniques of the original that the release has, exactly once.

    Parameters
    ----------
    original, released, schema
        Tables of any dataframe type with the schema's quasi-identifiers; rows need not correspond.
    control
        People of the same population who had no part in the release.

    Notes
    -----
    Values are compared as they are written; a missing one is a level of its own. Rows count, not persons. Cost: O(n).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 57]})
    >>> shoal.risk.replicated_uniques(table, table, shoal.Schema.of(quasi=["age"])).n_replicated
    2
    """
    before, after = enter(original), enter(released, owner="released table")
    require_keys(before, schema)
    require_keys(after, schema)
    n_unique, found = _replicated(before, after, schema)
    others = None if control is None else _replicated(enter(control, owner="control"), after, schema)
    share = found / n_unique if n_unique else 0.0
    return ReplicatedUniques(
        n_unique=n_unique,
        n_replicated=found,
        share=share,
        interval=wilson(share, n_unique),
        record_share=found / len(before),
        control_share=None if others is None else others[1] / others[0] if others[0] else 0.0,
    )


def _replicated(before: Frame, after: Frame, schema: Schema) -> tuple[int, int]:
    """Rows that are alone in the first table, and those of them that fit one row of the second."""
    stacked = []
    for name in schema.quasi:
        first, second = common_codes(series(before, name), series(after, name))
        stacked.append(Codes(values=np.concatenate([first.values, second.values]), n=first.n))
    key = combine(stacked)
    f: IntArray = np.bincount(key.values[: len(before)], minlength=key.n)
    g: IntArray = np.bincount(key.values[len(before) :], minlength=key.n)
    return int((f == 1).sum()), int(((f == 1) & (g == 1)).sum())
