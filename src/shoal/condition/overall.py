"""The mix of a sensitive column over a whole table, for those who see a part of it.

Closeness compares a class with all released records. Whoever works on some of them (a cell of neighbours on an engine)
is told the mix of all: the different values in order, and how many records or persons have each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.conform import Prepared

__all__ = ["OverallMix"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverallMix:
    """How often each value of a sensitive column occurs in the whole table.

    Parameters
    ----------
    values
        The different values, in the order of their ranks; missing is one of them.
    counts
        How many records or persons have each.
    """

    values: pl.Series = field(repr=False)
    counts: IntArray = field(repr=False)

    def codes(self, content: pl.Series) -> IntArray:
        """The rank of each value of a part of the column."""
        table = self.values.to_frame("value").with_row_index("code")
        found = content.to_frame("value").join(table, on="value", how="left", nulls_equal=True, maintain_order="left")
        return found["code"].to_numpy().astype(np.int64)

    def tell(self, prepared: Prepared, name: str) -> None:
        """Let whoever asks `prepared`, a part of the table, know the mix of column `name` in all of it."""
        prepared.once(_name(name), lambda: self)

    @staticmethod
    def told(prepared: Prepared, name: str) -> OverallMix | None:
        """The mix of the whole table, where `prepared` is a part of one."""
        found: OverallMix | None = prepared.once(_name(name), lambda: None)
        return found


def _name(column: str) -> tuple[str, str]:
    return "overall mix", column
