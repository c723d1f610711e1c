"""A random part of a table, for a trial: rows, or whole persons where the schema names a unit.

A trial on a sample shows how a method behaves and what it costs. It is no smaller release: k is met among fewer people,
so groups are wider and utility lower than on the whole table; and a part of the people is published without the others.
So nothing that a trial makes is written where a release would be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.conform import unit_numbers, with_persons
from shoal.errors import ParameterError
from shoal.frame import enter, leave, pick, series
from shoal.rng import fresh_seed, stream
from shoal.schema import LinkedSchema, Schema

__all__ = ["sample_of"]


def sample_of(table: Any, schema: Schema | LinkedSchema, n: int, seed: int | None = None) -> Any:
    """About `n` rows of a table, drawn at random without replacement, in their order; all rows where there are fewer.

    Where the schema names a unit, whole persons are drawn, as many as are needed to have at least `n` rows. Of linked
    tables `n` persons are drawn, with all their events. Without a seed a fresh secret one is drawn.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.sampling import sample_of
    >>> table = pl.DataFrame({"who": [1, 1, 2, 3, 3], "age": [30, 31, 40, 50, 51]})
    >>> part = sample_of(table, shoal.Schema.of(unit="who", quasi=["age"]), 2, seed=1)
    >>> all((part["who"] == who).sum() in (0, (table["who"] == who).sum()) for who in (1, 2, 3))
    True
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ParameterError("sample", "must be a whole number of at least 1", got=repr(n)[:40])
    if isinstance(schema, LinkedSchema):
        return _linked(table, schema, n, seed)
    frame = enter(table)
    if n >= len(frame):
        return table
    rng = stream(fresh_seed() if seed is None else seed, "trial sample")
    own, counted = with_persons(frame, schema)
    unit = None if counted.unit not in own.columns else unit_numbers(series(own, str(counted.unit)))
    order = rng.permutation(len(frame) if unit is None else int(unit.max()) + 1)
    rows = np.sort(order[:n]) if unit is None else _whole_persons(unit, order, n)
    return leave(pick(frame, rows), like=table)


def _linked(tables: Mapping[str, Any], schema: LinkedSchema, n: int, seed: int | None) -> dict[str, Any]:
    """Persons, and below them what hangs on those that were drawn."""
    kept = {schema.persons.name: sample_of(tables[schema.persons.name], schema.persons.columns, n, seed)}
    for table in schema.events:
        frame, parent = enter(tables[table.name]), schema[str(table.parent)]
        keys = series(enter(kept[parent.name]), str(parent.key)).cast(pl.String)
        links = series(frame, str(table.link)).cast(pl.String)
        rows = links.is_in(keys.implode()).arg_true().to_numpy()
        kept[table.name] = leave(pick(frame, rows), like=tables[table.name])
    return {name: kept[name] for name in tables if name in kept}


def _whole_persons(unit: IntArray, order: IntArray, n: int) -> IntArray:
    """The rows of the first persons in `order` who together have at least `n` rows."""
    held = np.bincount(unit)[order]
    taken = int(np.searchsorted(np.cumsum(held), n)) + 1
    return np.flatnonzero(np.isin(unit, order[:taken]))
