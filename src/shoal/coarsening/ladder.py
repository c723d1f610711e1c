"""A column with all its levels: which values each level puts together, and what it writes for them.

Level 0 is the column as it is, the last level is ``*`` (or one single label). Levels nest: values together at one level
stay together at all higher ones. Values are together where their written labels are equal, so what is counted here is
what a reader of the release can tell apart. A missing value is a class of its own at every level but the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shoal.arrays import BoolArray, IntArray
from shoal.coarsening.steps import Star, Step
from shoal.equivalence import ranks
from shoal.errors import ColumnError

__all__ = ["Ladder", "check_nested", "distinct_values", "ladder_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """The levels of one column.

    Parameters
    ----------
    name
        The column.
    codes, values
        The value of each row as a number, and the distinct values in order of these numbers (missing last).
    groups
        For each level, the class of each distinct value, as numbers from 0.
    labels
        For each level, what is written for each distinct value.
    steps
        What makes the labels of each level above 0.
    """

    name: str
    codes: IntArray
    values: pl.Series
    groups: tuple[IntArray, ...]
    labels: tuple[pl.Series, ...]
    steps: tuple[Step, ...]

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.groups) - 1

    def written(self, level: int) -> pl.Series:
        """The column as it is written at `level`."""
        return self.labels[level].gather(self.codes).alias(self.name)

    def written_of(self, level: int, kept: BoolArray) -> pl.Series:
        """The same with labels made from the `kept` rows alone; the others are missing.

        A label may follow from all values it is made from (``20-29`` where all are whole, else ``[20, 30)``), so the
        value of a row that is left out must have no part in it.
        """
        if level == 0 or kept.all():
            return self.written(level)
        shown = np.unique(self.codes[kept])
        labels = self.steps[level - 1].apply(self.values.gather(shown))
        place = np.where(kept, np.searchsorted(shown, self.codes), len(shown))
        return labels.extend_constant(None, 1).gather(place).alias(self.name)


def ladder_of(content: pl.Series, steps: Sequence[Step]) -> Ladder:
    """The levels that `steps` give a column, with the column itself below and ``*`` on top.

    Raises
    ------
    ColumnError
        The levels don't nest, or a step can't be applied; the message names column, level and counts.
    """
    codes, values = distinct_values(content)
    labels = [values, *(step.apply(values) for step in steps)]
    if labels[-1].n_unique() > 1 or len(labels) == 1:
        steps = (*steps, Star())
        labels.append(Star().apply(values))
    groups = tuple(ranks(label).values for label in labels)
    check_nested(content.name, groups)
    return Ladder(
        name=content.name, codes=codes, values=values, groups=groups, labels=tuple(labels), steps=tuple(steps)
    )


def distinct_values(content: pl.Series) -> tuple[IntArray, pl.Series]:
    """The value of each row as a number, and the distinct values in order, missing last."""
    found = ranks(content)
    shown = np.empty(found.n, dtype=np.int64)
    shown[found.values[::-1]] = np.arange(len(content) - 1, -1, -1)
    return found.values, content.gather(shown)


def check_nested(name: str, groups: Sequence[IntArray]) -> None:
    """Refuse levels of which a finer class falls into several coarser ones."""
    for level in range(1, len(groups)):
        fine, coarse = groups[level - 1], groups[level]
        n_split = _n_split(fine, coarse)
        if n_split:
            raise ColumnError(
                name,
                f"has levels that are not nested: classes of level {level - 1} are split across level {level}",
                got=f"{n_split} such classes",
                hint="Every class of a level must be contained in one class of the next.",
            )


def _n_split(fine: IntArray, coarse: IntArray) -> int:
    """Number of finer classes that lie in more than one coarser class."""
    if len(fine) == 0:
        return 0
    pairs = np.unique(np.column_stack((fine, coarse)), axis=0)
    return int((np.bincount(pairs[:, 0]) > 1).sum())
