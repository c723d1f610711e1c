"""MDAV: maximum distance to average vector, the standard heuristic of microaggregation.

While at least 3k records remain: take the one furthest from the mean of the remaining and group it with its k − 1
nearest; take the one furthest from it and do the same. What remains (k to 3k − 1 records) makes one or two groups
(Domingo-Ferrer and Torra, 2005).

Promised: every group holds at least k and at most 2k − 1 persons. Not promised: the least possible squared error.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from shoal.arrays import IntArray
from shoal.conform import Prepared
from shoal.group.grouper import Grouper, quasi_points
from shoal.group.points import Points
from shoal.method import Telling
from shoal.params import Help, Range

__all__ = ["MDAV"]


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
    telling = Telling(
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
