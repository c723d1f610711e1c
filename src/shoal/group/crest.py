"""CREST: groups that are close in the quasi-identifiers and mixed in the class.

Grouping by similarity puts people with the same diagnosis together, so the group gives the diagnosis away. The class
restricted spanning tree (Li and Sarkar, "Class Restricted Clustering and Micro-Perturbation for Data Privacy", 2013)
looks at both. It grows by the candidate edge e with the smallest composite distance

    CD_e = α L_e + (1 − α) JSD_{B(e)},                                  (6)

where L_e is the length of e and JSD_{B(e)} the Jensen-Shannon divergence, in bits, between the class mix around e and
the overall one; B(e) is both ends and the first b − 2 tree vertices met breadth-first from the inner end. Then the
removable edge (both parts keep at least k) with the smallest

    r_e = (WJSD − JSD_parent) / L_e                                     (9)

is cut, until none is left. Every candidate is brought up to date whenever the tree grows (Definition 3; keys computed
once are something else and mix worse). The tree starts at the record nearest the mean.

Promised: every group holds at least k persons. Not promised: any class mix. It is as a rule far more even than that of
`MST`, but groups of one class can occur; `shoal.risk.class_mix` counts them. `TCloseMST` promises a mix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import Prepared
from shoal.group.mix import Classes, ClassGrouper, Mix
from shoal.group.mst import Tree, cut_tree, range_points, spanning_tree
from shoal.group.points import Points, distinct
from shoal.method import ReportText
from shoal.params import Help, Range

__all__ = ["Crest", "composite_tree"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crest(ClassGrouper):
    """Group records that are near each other and differ in their class.

    Parameters
    ----------
    k
        Smallest group size. Raising it lowers risk, evens the class mix and blurs the data.
    alpha
        Weight α of distance against class mix while the tree grows. Raising it keeps the data better and mixes
        classes less; 1 is Partial CREST, which looks at classes only when it cuts, and is much faster.
    neighbours
        Size b of the neighbourhood whose class mix counts; None means k.
    scale
        ``"published"`` divides the distance by the number J of quasi-identifiers, as printed; ``"unit"`` by sqrt(J), so
        that it really fills 0..1. The second weighs distance sqrt(J) times as much at the same α.
    classes
        With several class columns, ``"compound"`` counts each combination of classes as one class; ``"each"`` takes the
        mean of the columns' divergences, which serves many columns better.

    Notes
    -----
    The class columns are the nominal and ordinal sensitive columns; a missing class is a class of its own. Numeric and
    ordinal quasi-identifiers are scaled to 0..1 by their range; a nominal mismatch counts 1. Where the schema names a
    unit, persons are grouped and bring the classes of all their rows. Survey weights are not used. Cost: one search
    in a k-d tree per record and kind of class, several times over, and in the worst case n² distances; memory is n
    times the number of classes. 4,406 rows of 20 columns take about a second, Partial CREST half of that.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 31, 32, 61, 62, 71, 72], "ill": ["no", "yes"] * 4})
    >>> schema = shoal.Schema.of(quasi=["age"], sensitive=["ill"])
    >>> labels = shoal.Crest(k=2).assign(table, schema, seed=1)
    >>> [len(set(table["ill"].filter(labels == g))) for g in range(4)]
    [2, 2, 2, 2]
    """

    title = "CREST"
    summary = "Groups of similar people, mixed in the sensitive class, so that a group reveals less."
    promise = "Every group holds at least k persons; no class mix is promised."
    report_text = ReportText(
        done=(
            "Each person was put into a group of at least {k} people who are near each other and mixed in "
            "what is sensitive (class restricted spanning tree)."
        ),
    )
    rank = 5

    k: Annotated[int, Range(low=2), Help("smallest group size")] = 5
    alpha: Annotated[float, Range(low=0, high=1), Help("weight of distance against class mix")] = 0.5
    neighbours: Annotated[
        int | None, Range(low=2), Help("size of the neighbourhood whose class mix counts; none: k")
    ] = None
    scale: Annotated[Literal["published", "unit"], Help("distance over J, or over sqrt(J)")] = "published"
    classes: Annotated[Classes, Help("several class columns as one compound class, or separately")] = "compound"

    def _points(self, prepared: Prepared) -> Points:
        J = len(prepared.schema.quasi)
        return Points.of(range_points(prepared) / (J if self.scale == "published" else np.sqrt(J)))

    def _divide(self, points: FloatArray, mix: Mix) -> tuple[IntArray, Mapping[str, Any]]:
        if self.alpha == 1:
            tree = spanning_tree(points)
        else:
            tree = composite_tree(points, mix, self.alpha, self.k if self.neighbours is None else self.neighbours)
        return cut_tree(tree, mix, self.k, "divergence"), {}

    def how_counted(self) -> Classes:
        """Whether several class columns count together or each for itself."""
        return self.classes


def composite_tree(points: FloatArray, mix: Mix, alpha: float, b: int) -> Tree:
    """The spanning tree that Prim's rule grows with the composite distance (6) from the record nearest the mean."""
    from shoal.group.composite import grow
    from shoal.group.spatial import index_of

    spread = points - points.mean(axis=0)
    start = int(np.argmin((spread**2).sum(axis=1)))
    apart = 4.0 * (1.0 + float(np.sqrt((np.ptp(points, axis=0) ** 2).sum())))
    copies = distinct(np.column_stack((mix.kinds * apart, points)))
    place = distinct(points).owner
    low, high, squared = grow(points, place, mix, index_of(copies), copies.owner, apart, alpha, b, start)
    return Tree.of(low, high, np.sqrt(squared))
