"""The nodes of a generalisation lattice, counted fast.

A node picks one level for each column. Rows are reduced to distinct combinations of values once; a level is a lookup
array from values to groups; a node's classes are counted from the smallest finer node counted before (roll-up: levels
nest, so a class of the finer node lies within one class of the coarser). Levels of a column that put the same values
together are one: the lowest of them stands for all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from shoal import coarsening
from shoal.arrays import LARGEST_KEY, AnyArray, BoolArray, FloatArray, IntArray, distinct_numbers
from shoal.coarsening.hierarchy import Ladder
from shoal.coarsening.loss import CellLoss
from shoal.condition.conditions import Conditions, Counted
from shoal.equivalence import Codes, combine

__all__ = ["Combinations", "Count", "Counter", "Node", "narrow_type", "usable_levels"]

Node: TypeAlias = tuple[int, ...]
_MOST_DEALT = 2**23  # items of all deals that are kept, about
_DEALT_GROUPS = 3  # of a column by which items are dealt, at least, if it has so many
_MOST_KEPT = 2**22  # classes of all remembered nodes together
_MOST_NODES = 1000  # remembered
_NARROW = 2**16  # values of a column whose codes fit two bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """What was counted at a node.

    Parameters
    ----------
    suppressed
        Rows in classes that fail.
    loss
        The loss with these rows suppressed.
    bound
        A lower bound of the loss of this node and of every coarser one.
    """

    suppressed: int
    loss: float
    bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Combinations:
    """The distinct combinations of values of a table.

    Parameters
    ----------
    codes
        The values of each combination, one column each.
    rows
        Rows that have each combination.
    of_row
        The combination of each row, or of each item that stands for some rows; None where it is its own number.
    """

    codes: AnyArray
    rows: IntArray
    of_row: IntArray | None

    @property
    def n(self) -> int:
        """Number of combinations."""
        return len(self.rows)

    @classmethod
    def of(cls, ladders: Sequence[Ladder]) -> Combinations:
        """Find the combinations that occur in the rows of the ladders."""
        key = combine([Codes(values=ladder.codes, n=len(ladder.values)) for ladder in ladders])
        shown = np.empty(key.n, dtype=np.int64)
        shown[key.values[::-1]] = np.arange(len(key.values) - 1, -1, -1)
        narrow = narrow_type(max(len(ladder.values) for ladder in ladders))
        codes = np.column_stack([ladder.codes[shown].astype(narrow) for ladder in ladders])
        totals = np.bincount(key.values, minlength=key.n)
        return cls(codes=np.ascontiguousarray(codes), rows=totals, of_row=key.values)

    @classmethod
    def of_sorted(cls, codes: AnyArray, rows: IntArray) -> Combinations:
        """The same from items that lie in the order of their codes; where all of them differ, nothing is copied."""
        new: BoolArray = np.zeros(len(codes), dtype=np.bool_)
        new[:1] = True
        for column in codes.T:
            new[1:] |= column[1:] != column[:-1]
        if new.all():
            return cls(codes=np.ascontiguousarray(codes), rows=rows, of_row=None)
        first = np.flatnonzero(new)
        return cls(codes=codes[first], rows=np.add.reduceat(rows, first), of_row=np.cumsum(new) - 1)

    def of_items(self, labels: AnyArray) -> AnyArray:
        """What is said of each combination, for each row or item."""
        return labels if self.of_row is None else labels[self.of_row]


def narrow_type(n_values: int) -> type[np.uint16] | type[np.int32]:
    """The type of codes of so many values."""
    return np.uint16 if n_values < _NARROW else np.int32


def usable_levels(ladder: Ladder, limit: int | None) -> list[int]:
    """The levels up to `limit` that differ: of levels that put the same values together, the lowest."""
    highest = ladder.height if limit is None else min(limit, ladder.height)
    sizes = [len(np.unique(ladder.groups[level])) for level in range(highest + 1)]
    return [level for level in range(highest + 1) if level == 0 or sizes[level] < sizes[level - 1]]


class _Memory:
    """Nodes counted before, from which coarser ones are counted; the smallest finer one serves best."""

    def __init__(self, bottom: Node, codes: AnyArray, rows: IntArray) -> None:
        self.known = [(codes, rows)]
        self._levels = np.zeros((_MOST_NODES, len(bottom)), dtype=np.int16)
        self._sizes = np.full(_MOST_NODES, len(rows))
        self._room = _MOST_KEPT

    def nearest(self, node: Node) -> tuple[AnyArray, IntArray]:
        n = len(self.known)
        below = (self._levels[:n] <= np.array(node, dtype=np.int16)).all(axis=1)
        return self.known[int(np.where(below, self._sizes[:n], _MOST_KEPT * 64).argmin())]

    def keep(self, node: Node, codes: AnyArray, rows: IntArray) -> None:
        n = len(self.known)
        if n < _MOST_NODES and len(rows) <= self._room:
            self._levels[n], self._sizes[n] = node, len(rows)
            self._room -= len(rows)
            self.known.append((codes, rows))


class Counter:
    """Counts the classes of nodes and says what they cost.

    Parameters
    ----------
    ladders, losses
        The levels of each column, and its loss; without cell losses (all zero), the loss is discernibility.
    conditions
        What every class must meet.
    limits
        The highest level allowed, by column.
    discernibility
        Whether the loss is that of class sizes.
    counted, combinations
        What the items of the ladders stand for, and the combinations that they are; None: they are rows, of the persons
        that `conditions` name.
    """

    def __init__(
        self,
        ladders: Sequence[Ladder],
        losses: Sequence[CellLoss],
        conditions: Conditions,
        limits: Mapping[str, int] | None = None,
        discernibility: bool = False,
        counted: Counted | None = None,
        combinations: Combinations | None = None,
    ) -> None:
        self.ladders, self.conditions, self.discernibility = tuple(ladders), conditions, discernibility
        self.levels = tuple(usable_levels(ladder, (limits or {}).get(ladder.name)) for ladder in ladders)
        self.base = tuple(loss.base[some] for loss, some in zip(losses, self.levels, strict=True))
        self.combinations = Combinations.of(ladders) if combinations is None else combinations
        self._item_rows = None if counted is None else counted.rows
        self._lay_out(losses)
        bottom = (0,) * len(ladders)
        self._memory = _Memory(bottom, self.combinations.codes, self.combinations.rows)
        # Half of the columns, those with most values: many nodes share their levels there and are counted from one node
        # that is exact in the other half.
        width = [-len(ladder.values) for ladder in ladders]
        self._widest = frozenset(np.argsort(width, kind="stable")[: (len(ladders) + 1) // 2].tolist())
        self._stations = {bottom}
        self._deal_levels = tuple(
            max((level for level, n in enumerate(sizes) if n >= _DEALT_GROUPS), default=0) for sizes in self._n_groups
        )
        self._deals: dict[tuple[int, Node], tuple[tuple[AnyArray, IntArray, IntArray], AnyArray]] = {}
        self._pairs = _pairs(self.combinations, conditions.persons, counted)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels of each column."""
        return tuple(map(len, self.levels))

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return int(self.combinations.rows.sum())

    def share_of(self, kept: BoolArray) -> float:
        """The share of rows in the items that are kept."""
        rows = np.ones(len(kept), dtype=np.int64) if self._item_rows is None else self._item_rows
        return int(rows[kept].sum()) / self.n_rows

    def base_loss(self, node: Node) -> float:
        """The loss of a node without suppression, which needs no counting; 0 for discernibility."""
        return float(sum(base[level] for base, level in zip(self.base, node, strict=True)))

    def count(self, node: Node) -> Count:
        """Count a node where only k matters: rows in classes of fewer than k persons, and the loss."""
        codes, rows, sizes = self._classes(node)
        return self._count(node, codes, rows, sizes >= self.conditions.k)

    def count_all(self, node: Node) -> Count:
        """Count a node by all conditions: rows in classes that must be left out, and the loss."""
        labels, first = self.labels(node)
        good = self.conditions.releasable_classes(self.combinations.of_items(labels).astype(np.int64), len(first))
        rows = np.bincount(labels, weights=self.combinations.rows, minlength=len(first)).astype(np.int64)
        return self._count(node, self.combinations.codes[first], rows, good)

    def exceeds(self, node: Node, limit: int) -> bool:
        """Whether more than `limit` rows are surely in classes of fewer than k; where persons count, it isn't tried."""
        if self._pairs is not None:
            return False
        at, radix, span = self._place(node)
        deal = self._dealt(*self._memory.nearest(node), node)
        return bool(coarsening.counting.exceeds(*deal, self._lut, at, radix, span > 0, self.conditions.k, limit))

    def _dealt(self, codes: AnyArray, rows: IntArray, node: Node) -> tuple[AnyArray, IntArray, IntArray]:
        """The items of a table of classes, dealt by their classes at a node that is coarser; the last few are kept.

        What is together at a node is together at every coarser one, so one deal by levels that barely tell items apart
        serves many nodes.
        """
        coarse = tuple(map(max, node, self._deal_levels))
        key = (id(codes), coarse)
        found = self._deals.pop(key, None)
        if found is None:
            found = coarsening.counting.dealt(codes, rows, self._lut, self._place(coarse)[0]), codes
            if len(self._deals) * self.combinations.n > _MOST_DEALT:
                self._deals.pop(next(iter(self._deals)))
        self._deals[key] = found
        return found[0]

    def labels(self, node: Node) -> tuple[AnyArray, AnyArray]:
        """The class of each combination at a node, and a combination of each class."""
        at, radix, span = self._place(node)
        labels, first = coarsening.counting.label(self.combinations.codes, self._lut, at, radix, span)
        return labels, first

    def row_labels(self, node: Node) -> tuple[IntArray, int]:
        """The class of each row at a node, and the number of classes."""
        labels, first = self.labels(node)
        return self.combinations.of_items(labels).astype(np.int64), len(first)

    def large_enough(self, node: Node) -> tuple[AnyArray, BoolArray]:
        """The class of each item at a node, and which classes hold k persons."""
        labels, first = self.labels(node)
        if self._pairs is None:
            sizes = np.bincount(labels, weights=self.combinations.rows, minlength=len(first))
        else:
            sizes = coarsening.counting.distinct_persons(labels, len(first), *self._pairs)
        return self.combinations.of_items(labels), sizes >= self.conditions.k

    def sizes(self, node: Node) -> tuple[IntArray, IntArray]:
        """Rows and persons of each class at a node."""
        _, rows, persons = self._classes(node)
        return rows, persons

    def _classes(self, node: Node) -> tuple[AnyArray, IntArray, IntArray]:
        """The values of a combination that stands for each class, its rows and its persons."""
        if self._pairs is not None:
            labels, first = self.labels(node)
            rows = np.bincount(labels, weights=self.combinations.rows, minlength=len(first)).astype(np.int64)
            return (
                self.combinations.codes[first],
                rows,
                coarsening.counting.distinct_persons(labels, len(first), *self._pairs),
            )
        via = tuple(level if j in self._widest else 0 for j, level in enumerate(node))
        if via not in self._stations and via != node:
            self._stations.add(via)
            self._rolled_up(via)
        codes, rows = self._rolled_up(node)
        return codes, rows, rows

    def _rolled_up(self, node: Node) -> tuple[AnyArray, IntArray]:
        """The classes of a node, counted from the smallest finer node that is remembered, and remembered in turn."""
        at, radix, span = self._place(node)
        finer = self._memory.nearest(node)
        codes, rows = coarsening.counting.count(*finer, self._lut, at, radix, span)
        if len(rows) < 0.8 * len(finer[1]):
            self._memory.keep(node, codes, rows)
        return codes, rows

    def _count(self, node: Node, codes: AnyArray, rows: IntArray, good: BoolArray) -> Count:
        at, _, _ = self._place(node)
        found = coarsening.counting.tally(codes, rows, good, self._excess, at)
        suppressed, n = int(found[0]), float(self.n_rows)
        if self.discernibility:
            return Count(suppressed=suppressed, loss=(found[3] + suppressed * n) / n**2, bound=found[2] / n**2)
        base = self.base_loss(node)
        return Count(suppressed=suppressed, loss=base + found[1] / n, bound=base)

    def _place(self, node: Node) -> tuple[IntArray, IntArray, int]:
        radix = np.array([sizes[level] for sizes, level in zip(self._n_groups, node, strict=True)])
        at = np.array([starts[level] for starts, level in zip(self._starts, node, strict=True)])
        span = math.prod(radix.tolist())
        return at, radix, span if span < LARGEST_KEY else 0

    def _lay_out(self, losses: Sequence[CellLoss]) -> None:
        """All lookup arrays end to end, and where each begins."""
        groups, excess, place = [], [], 0
        self._starts: list[list[int]] = []
        self._n_groups: list[list[int]] = []
        for ladder, loss, some in zip(self.ladders, losses, self.levels, strict=True):
            self._starts.append([place + i * len(ladder.values) for i in range(len(some))])
            self._n_groups.append([int(ladder.groups[level].max()) + 1 for level in some])
            groups += [ladder.groups[level] for level in some]
            excess += [loss.excess[level] for level in some]
            place += len(some) * len(ladder.values)
        self._lut = np.concatenate(groups).astype(np.int32)
        self._excess: FloatArray = np.concatenate(excess)


def _pairs(
    combinations: Combinations, persons: IntArray | None, counted: Counted | None
) -> tuple[IntArray, IntArray, IntArray] | None:
    """Pairs (combination, person) with the persons that each stands for, sorted by person; None: rows are persons."""
    if counted is not None and counted.item is not None and counted.group is not None and counted.persons is not None:
        own = counted.item if combinations.of_row is None else combinations.of_row[counted.item]
        return own, counted.group, counted.persons
    if persons is None:
        return None
    combination, person = _person_pairs(combinations, persons)
    return combination, person, np.ones(len(person), dtype=np.int64)


def _person_pairs(combinations: Combinations, persons: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct pairs (combination, person), sorted by person."""
    n = len(combinations.rows)
    pairs = distinct_numbers(persons * n + combinations.of_items(np.arange(n)))
    return pairs % n, pairs // n
