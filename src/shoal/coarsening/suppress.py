"""Local suppression: blank as few cells as it takes until every combination is shared by k persons.

Records that are alike in all quasi-identifiers with at least k − 1 others stay as they are. In the others, cells are
suppressed until they agree with enough people on what is left (`shoal.coarsening.cell_search`). The optimum is NP-hard
to find (Meyerson and Williams 2004), so the search is greedy; on tables of six records it needs a sixth more than the
fewest cells.

Counting rule: a suppressed cell is a level of its own, and matches suppressed cells only. (Tools that let it match
every value count larger classes, which somebody who knows the value can tell apart.) Texts are suppressed as ``*``;
numbers, dates and true/false become missing, so that the column keeps its type. Where such a column had missing cells
before, they are then written like suppressed ones; classes can only grow by that.

Promised: every combination of written quasi-identifiers is shared by at least k persons, and every value that is still
there is the true one. Not promised: the fewest cells, or that the share of suppressed cells is small: columns in which
nearly everybody differs are lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.coarsening.cell_search import Suppression, suppress_cells
from shoal.coarsening.coarsener import SUPPRESSED, Coarsened, Coarsener, within_limits
from shoal.coarsening.written_cells import one_zero
from shoal.condition.conditions import Conditions, smallest_in_subsets
from shoal.conform import Prepared
from shoal.equivalence import Codes, ranks
from shoal.errors import SchemaError
from shoal.fact import Fact
from shoal.frame import series
from shoal.importance import importance_of
from shoal.method import ReportText
from shoal.params import Help, Range, check
from shoal.rng import stream

__all__ = ["WRITTEN", "Suppress"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suppress(Coarsener):
    """Suppress single cells of rare records, and leave everything else as it is.

    Parameters
    ----------
    k
        Fewest persons who share a combination. Raising it suppresses more.
    importance
        What suppressing a cell of each column costs, as a mapping from column to a positive number; a column that isn't
        named costs 1. Raising it makes the column be suppressed later.
    records
        Largest share of records that may be left out instead of suppressing nearly everything in them.
    subsets
        Report the smallest class over all subsets of up to this many quasi-identifiers as well.
    diversity, closeness
        Further conditions on the sensitive columns of every class, as for `Mondrian`.
    risk, population
        The largest risk of an attacker, such as ``"journalist:0.05/marketer:0.01"`` (`shoal.condition.attackers`), met
        by raising k; and how many persons the table was drawn from, where survey weights don't tell.

    Notes
    -----
    A missing category is a level of its own. Where the schema names a unit, k counts distinct persons. Survey weights
    are not used. The result depends on the values and the seed, not on the order of rows: the seed decides which of
    equal records give a cell to fill up another class. Cost: one count of the records left over for each pattern of
    suppressed columns, 2^d of them for d ≤ 12 columns.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> from shoal.coarsening.suppress import Suppress
    >>> from shoal.conform import prepare
    >>> table = pl.DataFrame({"sex": ["f", "f", "m", "m", "m"], "town": ["A", "A", "B", "B", "C"]})
    >>> prepared = prepare(table, shoal.Schema.of(quasi=["sex", "town"]))
    >>> done = Suppress(k=2, importance={"sex": 2}).apply(prepared, seed=1)
    >>> done.details["suppressed_cells"]
    3
    """

    title = "local suppression"
    summary = "Leaves most cells unchanged and suppresses those that make people stand out."
    promise = "Every combination is shared by at least k persons, and the remaining values are true."
    report_text = ReportText(
        done="Single values were suppressed until each combination was shared by at least {k} people.",
        writes="suppressed in some rows",
        keeps="Every value that was not left out.",
    )
    rank = 3

    k: Annotated[int, Range(low=2), Help("fewest persons who share a combination")] = 5
    importance: Annotated[Mapping[str, float] | None, Help("cost of a suppressed cell of each column")] = None
    records: Annotated[float, Range(low=0, below=1), Help("largest share of suppressed records")] = 0.0
    subsets: Annotated[int | None, Range(low=1), Help("report k over subsets of up to this many columns")] = None
    diversity: Annotated[int | str | None, Help("l-diversity of every sensitive column in each class")] = None
    closeness: Annotated[float | str | None, Help("t-closeness of every sensitive column in each class")] = None
    risk: Annotated[str | None, Help("largest risk: prosecutor:0.1, journalist:0.05, marketer:0.01, q95:0.05")] = None
    population: Annotated[float | None, Range(low=1), Help("persons the table was drawn from, for risk")] = None

    @property
    def blanks_cells(self) -> bool:
        """Single cells are what it suppresses."""
        return True

    @property
    def leaves_out(self) -> bool:
        """Whether it may suppress whole records."""
        return self.records > 0

    def apply(self, prepared: Prepared, seed: int) -> Coarsened:
        """Suppress cells; the seed decides which of equal records are taken where only some are needed."""
        check(self)
        names = prepared.schema.quasi
        if not names:
            raise SchemaError("schema", "must name at least one quasi-identifier to suppress")
        importance = importance_of("Suppress", self.importance, names)
        run = partial(self._at, prepared, importance, seed)
        return within_limits("Suppress", prepared, self.k, run, self.risk, self.population)

    def _at(self, prepared: Prepared, importance: FloatArray, seed: int, k: int) -> Coarsened:
        names = prepared.schema.quasi
        conditions = Conditions.of(
            prepared, k=k, diversity=self.diversity, closeness=self.closeness, subsets=self.subsets
        )
        conditions.check_whole("Suppress", prepared.n)
        columns = [ranks(series(prepared.frame, name)) for name in names]
        allowance = math.floor(self.records * prepared.n + 1e-9)
        order = _order(prepared, seed)
        found = suppress_cells(columns, importance, conditions, allowance=allowance, order=order)
        return self._written(prepared, columns, found)

    def _written(self, prepared: Prepared, columns: list[Codes], found: Suppression) -> Coarsened:
        names = prepared.schema.quasi
        hidden = {name: found.cells[:, j] for j, name in enumerate(names) if found.cells[:, j].any()}
        counts = {name: int(found.cells[found.kept, j].sum()) for j, name in enumerate(names)}
        n_kept = int(found.kept.sum())
        total = sum(counts.values())
        share = total / max(1, n_kept * len(names))
        return Coarsened(
            columns=one_zero(prepared, {n: _blank(series(prepared.frame, n), mask) for n, mask in hidden.items()}),
            kept=found.kept,
            facts=(
                Fact(
                    says="{share:.2%} of the cells of quasi-identifiers are suppressed",
                    values={"share": share, "n": total},
                    counts="cells",
                ),
                Fact(says=WRITTEN, outside=True),
            ),
            details={
                "suppressed_cells": total,
                "suppressed_share": share,
                "suppressed_by_column": counts,
                "suppressed_records": len(found.kept) - n_kept,
                **self._subsets(prepared, columns, found),
            },
        )

    def _subsets(self, prepared: Prepared, columns: list[Codes], found: Suppression) -> dict[str, dict[str, int]]:
        if self.subsets is None:
            return {}
        written = [
            Codes(values=np.where(found.cells[:, j], column.n, column.values)[found.kept], n=column.n + 1)
            for j, column in enumerate(columns)
        ]
        persons = None if prepared.schema.unit is None else prepared.units()[found.kept]
        smallest = smallest_in_subsets(written, persons, self.subsets)
        return {"k_by_subset_size": {str(size): k for size, k in smallest.items()}}


WRITTEN = (
    "a suppressed text is written *, a suppressed number, date or true/false is missing; each is a level of its own "
    "when classes are counted"
)


def _blank(column: pl.Series, hidden: BoolArray) -> pl.Series:
    """Texts as ``*``, everything else as missing."""
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return column.cast(pl.String).set(pl.Series(hidden), SUPPRESSED)
    return column.set(pl.Series(hidden), None)


def _order(prepared: Prepared, seed: int) -> IntArray:
    """Rows sorted by value and then shuffled: the same whatever the order of the file."""
    names = (*prepared.schema.quasi, *prepared.schema.sensitive)
    values = [ranks(series(prepared.frame, name)).values for name in names]
    by_value = np.lexsort((prepared.units(), *values) if prepared.schema.unit else values)
    return by_value[stream(seed, "suppress").permutation(prepared.n)]
