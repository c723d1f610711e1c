"""Microaggregation with t-close groups: cut long edges as long as every group keeps the overall class mix.

The tree of `MST`, cut at the longest edge whose two parts both have at least k records and are both t-close: in every
class column

    ½ Σ_c |f_c − F_c|  ≤  t,

f the class shares of the part and F those of the table (total variation; Li, Li and Venkatasubramanian 2007). This is
the benchmark of Li and Sarkar, "Class Restricted Clustering and Micro-Perturbation for Data Privacy" (2013).

Promised: every group holds at least k persons and is t-close. Not promised: small groups; a low t makes them large.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared
from shoal.group.mix import ClassGrouper, Mix
from shoal.group.points import Points
from shoal.group.spanning import cut_tree, range_points, spanning_tree
from shoal.method import Telling
from shoal.params import Help, Range

__all__ = ["TCloseMST"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TCloseMST(ClassGrouper):
    """Group by cutting the longest edges of the minimum spanning tree that leave t-close parts.

    Parameters
    ----------
    k
        Smallest group size. Raising it lowers risk and blurs the data.
    t
        Largest total variation between the class shares of a group and those of the table. Lowering it tells less
        about a person's class, and makes groups larger.

    Notes
    -----
    The class columns are the nominal and ordinal sensitive columns, each for itself; a missing class is a class.
    Ordinal classes are compared as if they had no order. Survey weights are not used. Cost as for `MST`, times the
    number of classes in the cutting.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 31, 32, 61, 62, 71, 72], "ill": ["no", "yes"] * 4})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
    >>> labels = shoal.TCloseMST(k=2, t=0.0).assign(table, schema, seed=1)
    >>> len(set(labels)), bool(labels[0] == labels[1])
    (4, True)
    """

    title = "spanning tree with t-closeness"
    summary = "Like the spanning tree, with the classes of each group close to those of the whole table."
    promise = "Every group holds at least k persons, and its classes differ from the table's by at most t."
    telling = Telling(
        done=(
            "Each person was put into a group of at least {k} people who are near each other and as mixed in "
            "what is sensitive as the table is (t-close minimum spanning tree)."
        ),
    )
    rank = 4

    k: Annotated[int, Range(low=2), Help("smallest group size")] = 5
    t: Annotated[float, Range(low=0, high=1), Help("largest total variation of a group's classes")] = 0.2

    def _points(self, prepared: Prepared) -> Points:
        return Points.of(range_points(prepared))

    def _divide(self, points: FloatArray, mix: Mix) -> tuple[IntArray, Mapping[str, Any]]:
        return cut_tree(spanning_tree(points), mix, self.k, "close", t=self.t), {}
