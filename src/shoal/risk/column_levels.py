"""Columns cut into few levels, for tables of counts: what the attack with unchanged columns learns from.

A number with many values is cut at quantiles; where its values repeat, as survey weights do, they count as levels too,
because equal weights say more than like ones. Of many levels the commonest have places of their own and the rest share
one. A column whose values hardly repeat teaches nothing about another person and is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.conform import floats
from shoal.encode import Coding
from shoal.equivalence import codes

__all__ = ["Levels", "quasi_levels", "unchanged_levels"]

_BINS = 20
_MOST_VALUES = 50
_MOST_LEVELS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """The level of each row, a number from 0 to n − 1."""

    values: IntArray
    n: int


def unchanged_levels(column: pl.Series) -> Iterator[Levels]:
    """A released column in the one or two codings from which something can be learnt."""
    _, values = np.unique(codes(column).values, return_inverse=True)
    distinct = int(values.max()) + 1
    repeats = 2 * distinct <= len(values)
    if column.dtype.is_numeric() and distinct > _MOST_VALUES:
        yield _binned(floats(column))
    if repeats and distinct > 1:
        yield _commonest(values.reshape(-1))


def quasi_levels(coding: Coding, true: FloatArray, shown: FloatArray) -> tuple[Levels, Levels]:
    """A quasi-identifier of the original and of the release in the same few levels."""
    if coding.levels is not None:
        n = coding.n_levels + 1
        return tuple(Levels(values=np.clip(np.rint(side), 0, n - 1).astype(np.int64), n=n) for side in (true, shown))  # type: ignore[return-value]
    cuts = _cuts(true, _BINS)
    before, after = (Levels(values=np.searchsorted(cuts, side), n=len(cuts) + 1) for side in (true, shown))
    return before, after


def _binned(values: FloatArray) -> Levels:
    present = ~np.isnan(values)
    cuts = _cuts(values[present], _BINS)
    return Levels(values=np.where(present, np.searchsorted(cuts, values), len(cuts) + 1), n=len(cuts) + 2)


def _cuts(values: FloatArray, bins: int) -> FloatArray:
    distinct = np.unique(values)
    if len(distinct) <= bins:
        return distinct[:-1] / 2 + distinct[1:] / 2
    return np.unique(np.quantile(values, np.arange(1, bins) / bins))


def _commonest(values: IntArray) -> Levels:
    counts = np.bincount(values)
    if len(counts) <= _MOST_LEVELS:
        return Levels(values=values, n=len(counts))
    place = np.full(len(counts), _MOST_LEVELS, dtype=np.int64)
    place[np.argsort(-counts, kind="stable")[:_MOST_LEVELS]] = np.arange(_MOST_LEVELS)
    return Levels(values=place[values], n=_MOST_LEVELS + 1)
