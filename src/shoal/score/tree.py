"""A binary tree as plain arrays, grown by any rule of choice; JSON in and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.score.features import Features
from shoal.score.splits import Splits

__all__ = ["Choice", "Tree", "grow"]

Choice: TypeAlias = Callable[[FloatArray, FloatArray, int], int]
"""From the tables of all questions, the class counts and the depth to the question to ask, or −1 to stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Nodes in the order in which they were grown; node 0 is the root.

    A node asks whether low ≤ cell < high of its `variable` (−1: it is a leaf); `yes` and `no` are where to go. `counts`
    are the records of each class: exact ones, or noisy ones where the tree is certified.
    """

    variable: IntArray
    low: IntArray
    high: IntArray
    no: IntArray
    yes: IntArray
    counts: FloatArray

    @property
    def leaves(self) -> IntArray:
        """The numbers of the leaves."""
        return np.flatnonzero(self.variable < 0)

    @property
    def depth(self) -> int:
        """Questions on the longest way down."""
        return self._depth(0)

    def _depth(self, node: int) -> int:
        return 0 if self.variable[node] < 0 else 1 + max(self._depth(self.no[node]), self._depth(self.yes[node]))

    def apply(self, codes: IntArray) -> IntArray:
        """The leaf of each row of cells."""
        at = np.zeros(len(codes), dtype=np.int64)
        rows = np.arange(len(codes))
        while (inside := self.variable[at] >= 0).any():
            node, row = at[inside], rows[inside]
            cell = codes[row, self.variable[node]]
            right = (cell >= self.low[node]) & (cell < self.high[node])
            at[inside] = np.where(right, self.yes[node], self.no[node])
        return at

    def leaf(self, cells: Sequence[int]) -> int:
        """The leaf of one person."""
        at = 0
        while (variable := self.variable[at]) >= 0:
            at = self.yes[at] if self.low[at] <= cells[variable] < self.high[at] else self.no[at]
        return int(at)

    def with_leaf_counts(self, counts: FloatArray) -> Tree:
        """The tree with these counts in its leaves (in the order of `leaves`), summed up towards the root."""
        full = np.zeros_like(self.counts)
        full[self.leaves] = counts
        for node in range(len(full) - 1, -1, -1):  # children come after their parents
            if self.variable[node] >= 0:
                full[node] = full[self.no[node]] + full[self.yes[node]]
        return replace(self, counts=full)

    def structure(self) -> tuple[tuple[int, ...], ...]:
        """What the tree asks, without counts; equal for equal structures."""
        return tuple(map(tuple, np.column_stack([self.variable, self.low, self.high, self.no, self.yes]).tolist()))

    def lines(self, features: Features, say: Callable[[int], str], node: int = 0, mark: str = "") -> list[str]:
        """The tree as indented text; `say` gives the words of a leaf."""
        if self.variable[node] < 0:
            return [f"{mark}{say(node)}"]
        question = self.question(features, node)
        out = []
        for word, child in (("yes", self.yes[node]), ("no", self.no[node])):
            inner = self.lines(features, say, int(child), mark + "|   ")
            out += [f"{mark}{question}? {word}", *inner]
        return out

    def question(self, features: Features, node: int) -> str:
        """What a node asks, in words."""
        return features.question(int(self.variable[node]), int(self.low[node]))

    def to_dict(self) -> dict[str, Any]:
        """The tree as JSON-safe words."""
        names = ("variable", "low", "high", "no", "yes")
        return {name: getattr(self, name).tolist() for name in names} | {"counts": self.counts.tolist()}

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Tree:
        """Read the tree back from its words."""
        names = ("variable", "low", "high", "no", "yes")
        parts = {name: np.array(words[name], dtype=np.int64) for name in names}
        return cls(**parts, counts=np.array(words["counts"], dtype=np.float64).reshape(-1, 2))


def grow(keys: IntArray, splits: Splits, choose: Choice, weights: FloatArray | None = None) -> Tree:
    """Grow a tree on the records in `keys` (see `Splits.keys`), asking at each node what `choose` chooses."""
    nodes: list[list[int]] = []
    counts: list[FloatArray] = []

    def add(rows: IntArray, depth: int) -> int:
        node = len(nodes)
        tables, total = splits.tables(keys[rows], None if weights is None else weights[rows])
        nodes.append([-1, 0, 0, 0, 0])
        counts.append(total)
        chosen = choose(tables, total, depth) if len(splits) else -1
        if chosen < 0:
            return node
        variable, low, high = int(splits.variable[chosen]), int(splits.low[chosen]), int(splits.high[chosen])
        cell = keys[rows, variable] // 2 - splits.offsets[variable]
        yes = (cell >= low) & (cell < high)
        nodes[node] = [variable, low, high, add(rows[~yes], depth + 1), add(rows[yes], depth + 1)]
        return node

    add(np.arange(len(keys)), 0)
    table = np.array(nodes, dtype=np.int64)
    return Tree(
        variable=table[:, 0],
        low=table[:, 1],
        high=table[:, 2],
        no=table[:, 3],
        yes=table[:, 4],
        counts=np.array(counts, dtype=np.float64),
    )
