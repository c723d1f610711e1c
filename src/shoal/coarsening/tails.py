"""Top and bottom coding by quantile: the few largest and smallest numbers become the quantile that bounds them.

A share says how many people are pooled; the bounds follow from the column, so this is a step of `Recode` alone: it
settles to a `Cap` at a value that occurs, and a hierarchy, which sees one value at a time, can't hold it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from shoal.coarsening.steps import Cap, Step
from shoal.errors import ColumnError, ParameterError
from shoal.params import Help, Range, check

__all__ = ["Tails"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tails(Step):
    """Numbers beyond a quantile become the quantile; the column stays numeric.

    Parameters
    ----------
    low, high
        Share of the records at either end that is pooled; 0 leaves an end open. Raising it says less.

    Notes
    -----
    The quantile is a value that occurs: the smallest such that no more than the share lies beyond it. Where many
    records share the extreme value, nothing changes. What is written depends on the values of all records.

    Examples
    --------
    >>> import polars as pl
    >>> [cap.to_dict() for cap in Tails(high=0.2).settled(pl.Series("age", [20, 30, 40, 50, 97]))]
    [{'kind': 'cap', 'high': 50.0}]
    """

    kind: ClassVar[str] = "tails"
    pools_some: ClassVar[bool] = True

    low: Annotated[float, Range(low=0, below=0.5), Help("share of the smallest numbers that is pooled")] = 0.0
    high: Annotated[float, Range(low=0, below=0.5), Help("share of the largest numbers that is pooled")] = 0.0

    def check(self) -> None:
        """Hold the parameters to their rules."""
        check(self)
        if self.low == 0 and self.high == 0:
            raise ParameterError("Tails", "must pool a share of the largest or of the smallest numbers")

    def settled(self, content: pl.Series) -> tuple[Step, ...]:
        """The caps that the shares mean for a column."""
        self.check()
        if not content.dtype.is_numeric():
            raise ColumnError(content.name, "must hold numbers for this step", got=f"type {content.dtype.base_type()}")
        ordered = content.drop_nulls().sort()
        n = len(ordered)
        caps: list[Step] = []
        if n and self.low:
            caps.append(Cap(low=float(ordered[int(self.low * n)])))
        if n and self.high:
            caps.append(Cap(high=float(ordered[n - 1 - int(self.high * n)])))
        return tuple(caps)

    def _write(self, content: pl.Series) -> pl.Series:
        raise ParameterError("Tails", "follows from all values of a column: it is a step of Recode, not of a hierarchy")
