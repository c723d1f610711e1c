"""A nominal column with a hierarchy: boxes follow its tree, and are written by the names that it has for them.

The values are put in the order of the tree, so that those of one class stand side by side, and are cut like an ordered
column. A box is written as the lowest class of the hierarchy that holds all its values (``Europe``, not ``{France,
Italy}``), and loses the share of the domain that this class covers. Two boxes can get the same name; their classes then
merge, which only makes them larger.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import FloatArray, IntArray
from shoal.coarsening.cells import Axis, Boxes
from shoal.coarsening.generated import ladder_for
from shoal.coarsening.ladder import Ladder
from shoal.coarsening.steps import as_text
from shoal.schema import Column

__all__ = ["TreeAxis", "follows_tree", "tree_axis"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeAxis(Axis):
    """A nominal column in the order of its hierarchy.

    Parameters
    ----------
    groups
        For each level, the class of each number.
    labels
        For each level, what is written for each number.
    """

    groups: tuple[IntArray, ...] = ()
    labels: tuple[pl.Series, ...] = ()

    def cover(self, boxes: Boxes) -> FloatArray:
        """The share of the domain in the lowest class that holds each box."""
        low, level = self._lowest(boxes)
        sizes = np.stack([np.bincount(group)[group] for group in self.groups])
        share: FloatArray = (sizes[level, low] - 1).astype(np.float64) * self.step
        return share

    def write(self, boxes: Boxes) -> pl.Series:
        """The name of the lowest class that holds the row's box."""
        low, level = self._lowest(boxes)
        every = pl.concat(self.labels)
        return every.gather(level * self.n_levels + low).gather(boxes.labels).alias(self.name)

    def _lowest(self, boxes: Boxes) -> tuple[IntArray, IntArray]:
        """A number of each box, and the lowest level at which all of the box are together.

        Classes are stretches of the order, so the first and the last number of a box tell.
        """
        low, high = self._ends(boxes)
        together = np.stack([group[low] == group[high] for group in self.groups])
        return low, np.argmax(together, axis=0)


def follows_tree(column: Column) -> bool:
    """Whether the schema gives a nominal column a hierarchy."""
    declared = column.hierarchy is not None and column.hierarchy.get("kind") != "default"
    return column.kind == "nominal" and declared


def tree_axis(content: pl.Series, column: Column) -> TreeAxis:
    """A column with a declared hierarchy as an axis; errors name the column and count the values without a class."""
    ladder = ladder_for(content, column)
    order = np.lexsort(ladder.groups)
    rank = np.argsort(order)
    n = len(order)
    return TreeAxis(
        name=column.name,
        kind="nominal",
        codes=rank[ladder.codes],
        texts=as_text(ladder.values).gather(order),
        place=np.arange(n) / max(1, n - 1),
        groups=tuple(group[order] for group in ladder.groups),
        labels=_labels(ladder, order),
    )


def _labels(ladder: Ladder, order: IntArray) -> tuple[pl.Series, ...]:
    return tuple(as_text(label).cast(pl.String).gather(order).alias(ladder.name) for label in ladder.labels)
