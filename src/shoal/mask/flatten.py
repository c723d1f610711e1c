"""Flatten: chosen columns become the same for all records of a group (eq 9).

    a_ij = c_j    for all records i of the group and all chosen columns j,                      (9)

c_j the medoid (3) of the group under the column's own metric.

Promised: within a group the chosen columns are equal. Not promised: anything about the columns that weren't chosen, and
nothing where the group is small. The paper writes (9) for sensitive columns. Flattened, such a column is not hidden but
homogeneous: whoever finds the group learns the value written, which is right for more of its records than any other
guess. So it is done only to columns that are named, the claims say it, and diversity is counted on what is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from shoal.arrays import Generator
from shoal.mask.aware import AwareMask, Crowd, Masking, chosen_columns, quantiles, rewritten
from shoal.method import ReportText
from shoal.params import ColumnNames, Help, check
from shoal.schema import Schema

__all__ = ["Flatten"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flatten(AwareMask):
    """Write each group's centre into the chosen columns.

    Parameters
    ----------
    columns
        Names of the columns; None means all quasi-identifiers. A sensitive column is flattened only if it is named. In
        words: ``age/zip``.
    centers
        Where a centre is looked for: among the ``"values"`` that occur, or over the whole declared ``"domain"``. They
        differ only under a matrix or a tree of distances, where a level that nobody has may be nearest to all.

    Notes
    -----
    Works after any grouper. The centre is a value or a declared level, so types and levels stay. Survey weights
    are not used. Cost: n log n per column.

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

    maps_distances: ClassVar[bool] = True

    columns: Annotated[Sequence[str] | None, Help("columns to flatten, name/name; none: all quasi"), ColumnNames()] = (
        None
    )
    centers: Annotated[
        Literal["values", "domain"], Help("centre among the values that occur, or among all declared levels")
    ] = "values"

    def rewrites(self, schema: Schema) -> tuple[str, ...]:
        """The sensitive columns that are named."""
        return rewritten(self.columns, schema)

    def apply(self, state: Masking, rng: Generator) -> Masking:
        """Write the centres."""
        check(self)
        names = chosen_columns("Flatten", self.columns, state, responses=True)
        crowd = Crowd.of(state, names, whole=self.centers == "domain")
        centers = crowd.centers()
        flat = centers[crowd.labels]
        changed = flat != crowd.positions
        written = crowd.written(state, flat)
        return written.holding(
            written.codes,
            mask="flatten",
            columns=len(names),
            changed_share=float(changed.mean()),
            distance=quantiles(crowd.distances(centers).sum(axis=1)),
        )

    def caveats(self, state: Masking) -> tuple[str, ...]:
        """Quasi-identifiers that are not flattened stay linkable; a flattened sensitive column gives groups away."""
        names = chosen_columns("Flatten", self.columns, state, responses=True)
        left = [name for name in state.prepared.schema.quasi if name not in names]
        said = [f"Flatten leaves these quasi-identifiers as they are: {', '.join(left)}."] if left else []
        told = self.rewrites(state.prepared.schema)
        return (*said, *([_TOLD.format(names=", ".join(told))] if told else []))


_TOLD = (
    "Not as collected: {names}. Everybody in a group has its central value, so whoever finds a person's group learns "
    "that value, which is right for more of its members than any other guess."
)
