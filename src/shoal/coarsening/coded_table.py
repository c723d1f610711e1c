"""A table of distinct combinations as numbers: a few bytes for each combination, where values would take hundreds.

Where a table doesn't fit in memory, its distinct combinations may: each is a row of small whole numbers, the places of
its values among the different values of each column, with how many rows and persons have it. Rows lie in the order of
their numbers, so equal tables are equal here, whatever order they came in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shoal.arrays import LARGEST_KEY, AnyArray, BoolArray, IntArray
from shoal.condition.conditions import Counted
from shoal.conform import Prepared
from shoal.fact import Fact
from shoal.frame import enter
from shoal.schema import Schema

__all__ = ["CoarsenedValues", "CodedTable", "order_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedTable:
    """Distinct combinations of quasi-identifiers, and of sensitive columns where these play a part.

    Parameters
    ----------
    schema
        The columns, with their kinds settled.
    values
        The different values of each column, in order, missing last: quasi-identifiers first.
    codes
        The value of each combination in each of these columns, as a place among its values; rows in their order.
    counted
        The rows and persons that each combination stands for.
    """

    schema: Schema
    values: Mapping[str, pl.Series] = field(repr=False)
    codes: AnyArray = field(repr=False)
    counted: Counted = field(repr=False)

    @property
    def quasi(self) -> AnyArray:
        """The codes of the quasi-identifiers alone."""
        return self.codes[:, : len(self.schema.quasi)]

    def sensitive(self) -> Prepared:
        """The other columns, as values; where there are none, a table without rows."""
        n, named = len(self.codes), enumerate(self.values.items())
        others = [of.gather(self.codes[:, j]) for j, (name, of) in named if name not in self.schema.quasi]
        frame = pl.DataFrame(others or [of.head(0) for of in self.values.values()])
        return Prepared(frame=enter(frame), schema=self.schema, rows=np.arange(len(frame)), n_original=n)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoarsenedValues:
    """What is written for the values of a coded table.

    Parameters
    ----------
    labels
        For each quasi-identifier that changed, what is written for each of its values; missing where nobody who is kept
        has the value, whose label then follows from nothing.
    kept
        Which combinations are released.
    facts, details
        What was done, as in `shoal.coarsening.coarsener.Coarsened`.
    """

    labels: Mapping[str, pl.Series]
    kept: BoolArray
    facts: tuple[Fact, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


def order_of(codes: AnyArray, sizes: Sequence[int]) -> IntArray:
    """The rows of `codes` in their order; `sizes` says how many codes each column has.

    Where one whole number holds a row, rows are sorted by that: a third of the time, and of the memory.
    """
    span = 1
    for size in sizes:
        span *= max(1, size)
    if span >= LARGEST_KEY:
        return np.lexsort(codes.T[::-1])
    key = np.zeros(len(codes), dtype=np.int64)
    for column, size in zip(codes.T, sizes, strict=True):
        key *= size
        key += column
    return np.argsort(key)  # rows that are equal are interchangeable
