"""Fixed recoding: chosen steps on chosen columns, with no promise of k.

Use it for what must be done whatever the counts are (ages in bands, ZIP codes to three digits), alone or before a
method that promises k.

Top and bottom coding by quantile: the few largest and smallest numbers become the quantile that bounds them.

A share says how many people are pooled; the bounds follow from the column, so this is a step of `Recode` alone: it
settles to a `Cap` at a value that occurs, and a hierarchy, which sees one value at a time, can't hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from shoal.coarsening.coarsener import Coarsened, Coarsener
from shoal.coarsening.hierarchy import distinct_values
from shoal.coarsening.steps import Cap, Step, keeping, step_of
from shoal.conform import Prepared
from shoal.domain.absence import bare, kept_codes
from shoal.errors import ColumnError, ParameterError, SchemaError
from shoal.fact import Fact
from shoal.frame import series
from shoal.method import ReportText
from shoal.params import Help, Range, build, check

__all__ = ["Recode", "Tails"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recode(Coarsener):
    """Apply one step to each of some columns; all records are kept and no k is promised.

    Parameters
    ----------
    steps
        What is done to which column: a step or its words.

    Notes
    -----
    Missing values stay missing; survey weights play no part. Cost: O(n) for each column.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.conform import prepare
    >>> table = pl.DataFrame({"age": [34, 35, 97], "zip": ["02139", "02140", "94110"]})
    >>> prepared = prepare(table, shoal.Schema.of(quasi=["age", "zip"]))
    >>> recode = Recode(steps={"age": {"kind": "cap", "high": 90}, "zip": {"kind": "prefix", "keep": 3}})
    >>> {name: new.to_list() for name, new in recode.apply(prepared, seed=0).columns.items()}
    {'age': [34, 35, 90], 'zip': ['021**', '021**', '941**']}
    """

    title = "fixed steps"
    summary = "Bands, caps, rounding, prefixes, parts of dates, hierarchy tables: as specified, column by column."
    promise = "The steps are applied; no k is promised. Follow it with a method that ensures k."
    report_text = ReportText(
        done="Columns were recoded by fixed steps.",
        writes="recoded by the steps given",
        keeps="What the steps leave.",
    )
    rank = 4

    steps: Annotated[Mapping[str, Step | Mapping[str, Any]], Help("a step for each column")]
    k: int = field(default=1, init=False)

    @property
    def blanks_cells(self) -> bool:
        """Whether a step may pool the values of a few people and leave the others' as they are."""
        return any(_step_of(words).pools_some for words in self.steps.values())

    def apply(self, prepared: Prepared, seed: int) -> Coarsened:
        """Coarsen a prepared table; the seed plays no part."""
        check(self)
        steps = {name: _step_of(words) for name, words in self.steps.items()}
        columns = {name: _recoded(prepared, name, step) for name, step in steps.items()}
        return Coarsened(
            columns=columns,
            kept=np.ones(prepared.n, dtype=np.bool_),
            facts=tuple(_fact(name, step) for name, step in steps.items()),
            details={"steps": {name: step.kind for name, step in steps.items()}},
        )


def _fact(name: str, step: Step) -> Fact:
    return Fact(says="{column}: recoded by {step}", values={"step": step.kind}, column=name, outside=True)


def _recoded(prepared: Prepared, name: str, step: Step) -> pl.Series:
    if name not in prepared.schema:
        raise SchemaError("Recode", f"has a step for the column '{name}', which is not in the schema")
    content, column = series(prepared.frame, name), prepared.schema[name]
    codes, values = distinct_values(content)
    for one in step.caps(bare(content, column)) if isinstance(step, Tails) else (step,):
        values = keeping(one, kept_codes(column)).apply(values)
    return values.gather(codes)


def _step_of(words: Step | Mapping[str, Any]) -> Step:
    """A step by its words; the one that follows from a whole column is known here only."""
    if isinstance(words, Mapping) and words.get("kind") == Tails.kind:
        return build(Tails, {name: value for name, value in words.items() if name != "kind"})
    return step_of(words)


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
    >>> [cap.to_dict() for cap in Tails(high=0.2).caps(pl.Series("age", [20, 30, 40, 50, 97]))]
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

    def caps(self, content: pl.Series) -> tuple[Step, ...]:
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
