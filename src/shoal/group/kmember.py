"""Greedy k-member clustering: small groups of records that resemble each other.

Take the record furthest from the last one added, add to it whoever raises the group's squared error least until it
has k members, and start the next group; each leftover joins the group whose error it raises least,

    min over groups of  q/(q+1) · |x − centroid|²    (q members so far).

Distance is Euclidean over the standardised quasi-identifiers x and, counted `response_weight` times, the numeric
sensitive columns y: |x − x̄|² + w·|y − ȳ|² (eq 4 of Wei, Ramamurthy and Varshney, "Distribution-preserving
k-anonymity", 2018).

Promised: floor(n/k) groups, each of at least k persons. Not promised: the least possible squared error (that is
NP-hard), or that members of a group differ in what is sensitive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from shoal.arrays import IntArray
from shoal.conform import Prepared
from shoal.group.grouper import Grouper, quasi_points, response_points
from shoal.group.points import Points
from shoal.method import Telling
from shoal.params import Help, Range

__all__ = ["KMember"]


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
    telling = Telling(
        done=(
            "Each person was put into a group of at least {k} people who resemble each other (greedy k-member "
            "grouping)."
        ),
    )
    rank = 1

    k: Annotated[int, Range(low=2), Help("smallest group size")] = 5
    response_weight: Annotated[float, Range(low=0), Help("weight of the sensitive numbers in the distance")] = 1.0

    @property
    def uses_response(self) -> bool:
        """Whether the sensitive numbers have a weight."""
        return self.response_weight > 0

    def _points(self, prepared: Prepared) -> Points:
        return quasi_points(prepared) + response_points(prepared, self.response_weight)

    def _partition(self, points: Points) -> tuple[IntArray, Mapping[str, Any]]:
        from shoal.group.blocks import partition

        return partition(points, self.k, "kmember")
