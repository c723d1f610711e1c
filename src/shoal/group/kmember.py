"""Greedy k-member clustering: small groups of records that resemble each other.

Take the record furthest from the last one added, add to it whoever raises the group's squared error least until it
has k members, and start the next group; each leftover joins the group whose error it raises least,

    min over groups of  q/(q+1) · |x − centroid|²    (q members so far).

Distance is Euclidean over the standardised quasi-identifiers x and, counted `response_weight` times, the numeric
sensitive columns y: |x − x̄|² + w·|y − ȳ|² (eq 4 of Wei, Ramamurthy and Varshney, "Distribution-preserving
k-anonymity", 2018). With ``solver="exchange"`` the groups are a start: neighbouring ones then exchange records as long
as that lowers the squared error (`seams.mend`), a local search that never ends worse.

Promised: floor(n/k) groups, each of at least k persons. Not promised: the least possible squared error (that is
NP-hard), or that members of a group differ in what is sensitive.

MDAV: maximum distance to average vector, the standard heuristic of microaggregation.

While at least 3k records remain: take the one furthest from the mean of the remaining and group it with its k − 1
nearest; take the one furthest from it and do the same. What remains (k to 3k − 1 records) makes one or two groups
(Domingo-Ferrer and Torra, 2005).

Promised: every group holds at least k and at most 2k − 1 persons. Not promised: the least possible squared error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from shoal.arrays import IntArray
from shoal.conform import Prepared
from shoal.group.grouper import Grouper, quasi_points, response_points
from shoal.group.points import Points
from shoal.method import ReportText
from shoal.params import Help, Range

__all__ = ["MDAV", "KMember"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KMember(Grouper):
    """Group each person with at least k − 1 others who resemble them.

    Parameters
    ----------
    k
        Smallest group size. Raising it lowers risk (re-identification at most 1/k) and blurs the data.
    response_weight
        Weight w of the numeric sensitive columns in the distance. Raising it keeps the link between
        quasi-identifiers and sensitive values better, and makes groups more alike in what is sensitive; 0 leaves
        the sensitive columns out.
    solver
        ``"greedy"`` as published; ``"exchange"`` improves its groups by exchanging records between neighbours, which
        never raises the squared error and takes about half as long again.

    Notes
    -----
    A missing sensitive number counts as the column's mean. Survey weights play no part: grouping counts records.
    Cost: linear in n. Above some thousand rows (the more, the fewer columns; a nominal one counts for each level) the
    points are first cut into blocks of neighbours, between levels where it can be, each block is grouped exactly, and
    neighbouring groups exchange records where that lowers the squared error; `release.notes` says so.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63], "cost": [1, 2, 3, 7, 8, 9]})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["cost"])
    >>> labels = shoal.KMember(k=3).assign(table, schema, seed=1)
    >>> len(set(labels[:3])), len(set(labels))
    (1, 2)
    """

    title = "k-member clustering"
    summary = "Small, tight groups, also similar in the numeric sensitive columns: the usual choice."
    promise = "Every group holds at least k persons."
    report_text = ReportText(
        done=(
            "Each person was put into a group of at least {k} people who resemble each other (greedy k-member "
            "grouping)."
        ),
    )
    rank = 1

    k: Annotated[int, Range(low=2), Help("smallest group size")] = 5
    response_weight: Annotated[float, Range(low=0), Help("weight of the sensitive numbers in the distance")] = 1.0
    solver: Annotated[Literal["greedy", "exchange"], Help("as published, or improved by exchanges")] = "greedy"

    @property
    def uses_response(self) -> bool:
        """Whether the sensitive numbers have a weight."""
        return self.response_weight > 0

    def _points(self, prepared: Prepared) -> Points:
        return quasi_points(prepared) + response_points(prepared, self.response_weight)

    def _partition(self, points: Points) -> tuple[IntArray, Mapping[str, Any]]:
        from shoal.group.blocks import improved, partition

        labels, notes = partition(points, self.k, "kmember")
        if self.solver == "greedy":
            return labels, notes
        return improved(points, labels), {**notes, "solver": self.solver}


@dataclass(frozen=True, slots=True, kw_only=True)
class MDAV(Grouper):
    """Group by distance over the standardised quasi-identifiers alone.

    Parameters
    ----------
    k
        Smallest group size. Raising it lowers risk and blurs the data.

    Notes
    -----
    Survey weights are not used. Cost as for `KMember`.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63]})
    >>> labels = shoal.MDAV(k=3).assign(table, shoal.Schema.of(quasi=["age"]), seed=1)
    >>> len(set(labels[:3])), len(set(labels))
    (1, 2)
    """

    title = "MDAV"
    summary = "Standard microaggregation by quasi-identifiers only, so sensitive values do not influence the groups."
    promise = "Every group holds k to 2k − 1 persons."
    report_text = ReportText(
        done=(
            "Each person was put into a group of at least {k} people who resemble each other (MDAV grouping, "
            "by maximum distance to the average)."
        ),
    )
    rank = 2

    k: Annotated[int, Range(low=2), Help("smallest group size")] = 5

    def _points(self, prepared: Prepared) -> Points:
        return quasi_points(prepared)

    def _partition(self, points: Points) -> tuple[IntArray, Mapping[str, Any]]:
        from shoal.group.blocks import partition

        return partition(points, self.k, "mdav")
