"""Flatten: chosen columns become the same for all records of a group (eq 9).

    a_ij = c_j    for all records i of the group and all chosen columns j,                      (9)

c_j the medoid (3) of the group under the column's own metric.

Promised: within a group the chosen columns are equal. Not promised: anything about the columns that weren't chosen, and
nothing where the group is small. A *sensitive* column is refused: flattened it would not be hidden but homogeneous, and
the value written right for more records of the group than any other guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from shoal.arrays import Generator
from shoal.mask.aware import AwareMask, Crowd, Masking, chosen_columns, quantiles
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, check

__all__ = ["Flatten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flatten(AwareMask):
    """Write each group's centre into the chosen columns.

    Parameters
    ----------
    columns
        Names of the columns; None means all quasi-identifiers. In words: ``age/zip``.

    Notes
    -----
    Works after any grouper. The centre is a value of the table, so types and levels stay. Survey weights are not used.
    Cost: n log n per column.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 25, 61, 62, 69], "zip": [1, 2, 3, 7, 8, 9]})
    >>> schema = shoal.Schema.of(quasi=["age", "zip"])
    >>> mask = shoal.Flatten(columns=["age"])
    >>> release = shoal.anonymize(table, schema, group=shoal.MDAV(k=3), mask=mask, seed=1)
    >>> sorted(release.table["age"].unique())
    [22, 62]
    """

    title = "one value per group"
    summary = "Selected columns get the group's centre by their own distance."
    promise = "The selected columns are equal within a group."
    report_text = ReportText(
        done="In the columns named, all members of a group got its central value.",
        writes="replaced: the central value of the person's group",
        keeps="The central value of each group.",
    )
    rank = 7

    columns: Annotated[Sequence[str] | None, Help("columns to flatten, name/name; none: all quasi"), ColumnNames()] = (
        None
    )

    def apply(self, state: Masking, rng: Generator) -> Masking:
        """Write the centres."""
        check(self)
        names = chosen_columns("Flatten", self.columns, state)
        crowd = Crowd.of(state, names)
        centers = crowd.centers()
        flat = centers[crowd.labels]
        changed = flat != crowd.positions
        return state.holding(
            crowd.written(state, flat),
            mask="flatten",
            columns=len(names),
            changed_share=float(changed.mean()),
            distance=quantiles(crowd.distances(centers).sum(axis=1)),
        )

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """Quasi-identifiers that are not flattened stay linkable."""
        names = chosen_columns("Flatten", self.columns, state)
        left = [name for name in state.prepared.schema.quasi if name not in names]
        return (f"Flatten leaves these quasi-identifiers as they are: {', '.join(left)}.",) if left else ()
