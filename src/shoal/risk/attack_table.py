"""Original, release and control group in the same numbers, for attacks that compare values across the three."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.conform import floats, levels_like, prepare
from shoal.equivalence import codes, ranks
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.frame import series
from shoal.pair import NOBODY, Pair
from shoal.schema import Column, Schema

__all__ = ["AttackTable", "attack_table", "check_attacks", "gower", "nearest"]

_BLOCK = 4_000_000  # distances held at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackTable:
    """Three tables in common codes; a missing value is NaN.

    Parameters
    ----------
    names, ordered
        The columns, and which of them have an order (numbers and ordinal levels).
    original, released, control
        Codes by row and column; `control` is None where no control group was given.
    persons, control_persons
        The person of each original and control row.
    """

    names: tuple[str, ...]
    ordered: BoolArray
    original: FloatArray
    released: FloatArray
    control: FloatArray | None
    persons: IntArray
    control_persons: IntArray | None

    def of(self, names: Sequence[str]) -> AttackTable:
        """Some of the columns."""
        place = [self.names.index(name) for name in names]
        return replace(
            self,
            names=tuple(names),
            ordered=self.ordered[place],
            original=self.original[:, place],
            released=self.released[:, place],
            control=None if self.control is None else self.control[:, place],
        )

    def sides(self) -> list[tuple[FloatArray, IntArray]]:
        """Original and control with their persons, the control only where there is one."""
        both = [(self.original, self.persons)]
        if self.control is not None and self.control_persons is not None:
            both.append((self.control, self.control_persons))
        return both


def attack_table(
    original: Any,
    released: Any,
    schema: Schema,
    control: Any = None,
    source_rows: Any = None,
    columns: Sequence[str] | None = None,
) -> AttackTable:
    """Bring the tables together over `columns`, by default all quasi-identifiers and sensitive ones of the release.

    Which released row is whose plays no part; `source_rows` are needed to read a coarsened release only.
    """
    n_released = len(released) if hasattr(released, "__len__") else None
    rows = source_rows if source_rows is not None or n_released is None else np.full(n_released, NOBODY)
    pair = Pair.of(original, released, schema, rows)
    others = None if control is None else prepare(control, schema)
    names = _names(pair, columns)
    coded = [_coded(pair, None if others is None else others.frame, name) for name in names]
    n, m = pair.original.n, len(pair.released)
    if m == 0:
        raise InputError("released table", "must have at least one row", got="0 rows")
    whole = np.column_stack(coded)
    return AttackTable(
        names=names,
        ordered=np.array([pair.schema[name].kind != "nominal" for name in names], dtype=np.bool_),
        original=whole[:n],
        released=whole[n : n + m],
        control=None if others is None else whole[n + m :],
        persons=pair.original.units(),
        control_persons=None if others is None else others.units(),
    )


def check_attacks(owner: str, attacks: object) -> None:
    """Refuse a number of attacks that is no whole number from 1 up."""
    if not isinstance(attacks, int) or isinstance(attacks, bool) or attacks < 1:
        raise ParameterError(owner, "attacks must be a whole number, at least 1", got=repr(attacks)[:60])


def nearest(
    queries: FloatArray, targets: FloatArray, ordered: BoolArray, k: int, rng: Generator
) -> tuple[IntArray, FloatArray]:
    """The `k` nearest rows of `targets` for each query, with their distances; ties are broken at random."""
    k = min(k, len(targets))
    span = spans(targets, ordered)
    found, far = np.empty((len(queries), k), dtype=np.int64), np.empty((len(queries), k))
    step = max(1, _BLOCK // max(1, len(targets)))
    for start in range(0, len(queries), step):
        block = slice(start, start + step)
        distance = gower(queries[block], targets, ordered, span)
        shaken = distance + rng.random(len(targets)) * 1e-9
        some = np.argpartition(shaken, k - 1, axis=1)[:, :k] if k < len(targets) else np.argsort(shaken, axis=1)
        order = np.argsort(np.take_along_axis(shaken, some, axis=1), axis=1)
        found[block] = np.take_along_axis(some, order, axis=1)
        far[block] = np.take_along_axis(distance, found[block], axis=1)
    return found, far


def spans(targets: FloatArray, ordered: BoolArray) -> FloatArray:
    """The range of each ordered column among the released rows; 1 where there is none."""
    span = np.ones(targets.shape[1])
    for j in np.flatnonzero(ordered):
        known = targets[~np.isnan(targets[:, j]), j]
        span[j] = (known.max() - known.min() if len(known) else 0.0) or 1.0
    return span


def gower(queries: FloatArray, targets: FloatArray, ordered: BoolArray, span: FloatArray) -> FloatArray:
    """Mean over columns of |difference| / range, or of 0 and 1 for levels; missing is far from all but missing."""
    total = np.zeros((len(queries), len(targets)))
    for j in range(queries.shape[1]):
        a, b = queries[:, j, None], targets[None, :, j]
        apart = np.abs(a - b) / span[j] if ordered[j] else (a != b).astype(np.float64)
        lost_a, lost_b = np.isnan(a), np.isnan(b)
        if lost_a.any() or lost_b.any():
            apart = np.where(lost_a & lost_b, 0.0, np.where(lost_a | lost_b, 1.0, apart))
        total += apart
    mean: FloatArray = total / max(1, queries.shape[1])
    return mean


def _names(pair: Pair, columns: Sequence[str] | None) -> tuple[str, ...]:
    shown = pair.released.columns
    if columns is None:
        return tuple(name for name in (*pair.schema.quasi, *pair.schema.sensitive) if name in shown)
    for name in columns:
        if name not in pair.schema or name not in shown:
            raise SchemaError("columns", f"column '{name}' must be in the schema and in both tables")
    return tuple(columns)


def _coded(pair: Pair, others: Any, name: str) -> FloatArray:
    column = pair.schema[name]
    parts = [series(pair.original.frame, name), pair.released_column(name)]
    parts += [] if others is None else [series(others, name)]
    if column.kind == "numeric":
        return np.concatenate([floats(part) for part in parts])
    return _levels(pl.concat([part.cast(pl.String).alias(name) for part in parts]), parts[0], column)


def _levels(texts: pl.Series, content: pl.Series, column: Column) -> FloatArray:
    if column.kind == "nominal":
        found = codes(texts)
    elif column.levels is not None:
        found = ranks(texts, levels_like(content, column).cast(pl.String))
    else:
        own = content.drop_nulls().unique().sort().cast(pl.String)
        found = ranks(texts, own)
    values = found.values.astype(np.float64)
    values[texts.is_null().to_numpy()] = np.nan
    return values
