"""The classes of a whole table, for groupers that see a part of it.

A cell of neighbours on an engine holds some of the records, and so does what rules between columns keep together, but
a group is compared with all of them. Whoever works on a part is told the classes that occur anywhere, in one order, and
how many rows have each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shoal.arrays import IntArray
from shoal.conform import Prepared

__all__ = ["WholeClasses"]

_NAME = "classes of the whole table"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeClasses:
    """How many rows of the whole table have each class.

    Parameters
    ----------
    tables
        The combinations of some class columns that occur, in order: one table for each column, or one for all of them.
    counts
        The rows of each combination, for each table.
    """

    tables: tuple[pl.DataFrame, ...] = field(repr=False)
    counts: tuple[IntArray, ...] = field(repr=False)

    @classmethod
    def of(cls, prepared: Prepared, columns: Sequence[Sequence[str]]) -> WholeClasses:
        """The classes of a whole table that is at hand: by each of `columns`, alone or several together."""
        rows = prepared.frame.select([name for names in columns for name in names]).to_polars()
        counted = [rows.group_by(names).agg(pl.len().alias("#rows")).sort(names, nulls_last=True) for names in columns]
        return cls(
            tables=tuple(table.drop("#rows") for table in counted),
            counts=tuple(table["#rows"].to_numpy().astype(np.int64) for table in counted),
        )

    def codes(self, prepared: Prepared) -> IntArray:
        """The classes of each row of a part of the table, one column for each of the tables."""
        rows = prepared.frame.to_polars()
        return np.column_stack([_found(rows, table) for table in self.tables])

    @property
    def sizes(self) -> IntArray:
        """How many classes each table has."""
        return np.array([len(counts) for counts in self.counts], dtype=np.int64)

    @property
    def overall(self) -> IntArray:
        """The rows of all classes, end to end."""
        return np.concatenate(self.counts).astype(np.int64)

    @property
    def total(self) -> int:
        """The rows of the whole table."""
        return int(self.counts[0].sum())

    def tell(self, prepared: Prepared) -> None:
        """Let whoever groups `prepared`, a part of the table, know the classes of all of it."""
        prepared.once(_NAME, lambda: self)

    @staticmethod
    def told(prepared: Prepared) -> WholeClasses | None:
        """The classes of the whole table, where `prepared` is a part of one."""
        found: WholeClasses | None = prepared.once(_NAME, lambda: None)
        return found


def _found(rows: pl.DataFrame, table: pl.DataFrame) -> IntArray:
    numbered = table.with_row_index("#class")
    keys = table.columns
    joined = rows.select(keys).join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return joined["#class"].to_numpy().astype(np.int64)
