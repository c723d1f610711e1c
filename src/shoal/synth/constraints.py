"""Rows that obey the schema's rules, without another look at the data.

Rows that break a rule are drawn again: first only their values within bins (a bin "0 to 4" may hold an age that a rule
forbids), then the whole row. What is left after that is mended from the rules alone: the columns of the broken rule
get cells drawn uniformly until it holds. All of it is post-processing of what was drawn. Where every row has a price,
only the free remedies are used.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, Generator, IntArray
from shoal.domain import Domain
from shoal.errors import GuaranteeError

__all__ = ["put", "satisfying"]

_BIN_DRAWS, _ROW_DRAWS, _MENDS = 20, 30, 2_000


def satisfying(
    domain: Domain, draw: Callable[[int], IntArray], n: int, rng: Generator, *, rows_are_free: bool = True
) -> pl.DataFrame:
    """Draw `n` rows of values that break no rule."""
    codes = draw(n)
    rows = domain.decode(codes, rng)
    broken = np.flatnonzero(domain.broken(rows)) if domain.rules else np.empty(0, dtype=np.int64)
    if len(broken) == 0:
        return rows
    mended = _obedient(domain, codes[broken], rng, draw if rows_are_free else None)
    return put(rows, broken, mended)


def _obedient(domain: Domain, codes: IntArray, rng: Generator, draw: Callable[[int], IntArray] | None) -> pl.DataFrame:
    """Rows in the place of broken ones: other values from their bins, else other rows, else mended ones."""
    in_bins = any(axis.levels is None for axis in domain.axes)
    rows = domain.decode(codes, rng)
    for attempt in range(_BIN_DRAWS + _ROW_DRAWS):
        anew = draw is not None and attempt >= _BIN_DRAWS
        if not anew and not in_bins:
            continue
        broken = np.flatnonzero(domain.broken(rows))
        if len(broken) == 0:
            return rows
        if anew and draw is not None:
            codes[broken] = draw(len(broken))
        rows = put(rows, broken, domain.decode(codes[broken], rng))
    return _mended(domain, codes, rows, rng)


def _mended(domain: Domain, codes: IntArray, rows: pl.DataFrame, rng: Generator) -> pl.DataFrame:
    for _ in range(_MENDS):
        broken = np.flatnonzero(domain.broken(rows))
        if len(broken) == 0:
            return rows
        touched = _touched(domain, rows[broken])
        fresh = domain.uniform(len(broken), rng)
        codes[broken] = np.where(touched, fresh, codes[broken])
        rows = put(rows, broken, domain.decode(codes[broken], rng))
    raise GuaranteeError(
        "rules", "no row could be found that satisfies all of them", hint="Do they contradict each other?"
    )


def _touched(domain: Domain, rows: pl.DataFrame) -> BoolArray:
    """Which cells belong to a rule that its row breaks."""
    columns = {name: rows[name] for name in rows.columns}
    out = np.zeros(rows.shape, dtype=np.bool_)
    for rule in domain.rules:
        broken = rule.broken(columns, domain.codes)
        for name in rule.columns:
            out[:, domain.names.index(name)] |= broken
    return out


def put(rows: pl.DataFrame, at: IntArray, new: pl.DataFrame) -> pl.DataFrame:
    """`rows` with those at the positions `at` replaced by `new`."""
    order = np.arange(len(rows))
    order[at] = len(rows) + np.arange(len(at))
    return pl.concat([rows, new])[order]
