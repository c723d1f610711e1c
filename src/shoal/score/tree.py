"""A binary tree as plain arrays, grown by any rule of choice; JSON in and out.

Trees whose questions are drawn at random from the public domain: they cost nothing, only their counts do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.domain import Axis
from shoal.score.features import Features
from shoal.score.splits import Splits

__all__ = ["Choice", "Tree", "grow", "random_tree"]

Choice: TypeAlias = Callable[[FloatArray, FloatArray, int], int]
"""From the tables of all questions, the class counts and the depth to the question to ask, or −1 to stop."""
_QUESTION = ("variable", "low", "high", "no", "yes")


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
        return self.path(cells)[-1]

    def path(self, cells: Sequence[int]) -> list[int]:
        """The nodes on one person's way down, root first."""
        way = [0]
        while (variable := self.variable[way[-1]]) >= 0:
            at = way[-1]
            way.append(int(self.yes[at] if self.low[at] <= cells[variable] < self.high[at] else self.no[at]))
        return way

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

    @classmethod
    def of(cls, nodes: Sequence[Sequence[int]], counts: FloatArray) -> Tree:
        """The tree of a list of nodes, each with its `_QUESTION`."""
        table = np.array(nodes, dtype=np.int64)
        return cls(**dict(zip(_QUESTION, table.T, strict=True)), counts=counts)

    def to_dict(self) -> dict[str, Any]:
        """The tree as JSON-safe words."""
        return {name: getattr(self, name).tolist() for name in (*_QUESTION, "counts")}

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Tree:
        """Read the tree back from its words."""
        parts = {name: np.array(words[name], dtype=np.int64) for name in _QUESTION}
        return cls(**parts, counts=np.array(words["counts"], dtype=np.float64).reshape(len(words["variable"]), -1))


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
        cell = keys[rows, variable] // splits.n_classes - splits.offsets[variable]
        yes = (cell >= low) & (cell < high)
        nodes[node] = [variable, low, high, add(rows[~yes], depth + 1), add(rows[yes], depth + 1)]
        return node

    add(np.arange(len(keys)), 0)
    return Tree.of(nodes, np.array(counts, dtype=np.float64))


def random_tree(features: Features, max_depth: int, rng: Generator, n_classes: int = 2) -> Tree:
    """A tree of random questions, each one that the way down has left open; counts are 0.

    A variable is drawn uniformly among those that can still be asked about, then a cut or level of it.
    """
    nodes: list[list[int]] = []

    def add(open_cells: list[frozenset[int]], depth: int) -> int:
        node = len(nodes)
        nodes.append([-1, 0, 0, 0, 0])
        asked = [j for j, cells in enumerate(open_cells) if len(cells) > 1]
        if depth >= max_depth or not asked:
            return node
        variable = int(rng.choice(asked))
        spans = _spans(features.axes[variable], open_cells[variable])
        low, high = spans[int(rng.integers(len(spans)))]
        yes = frozenset(cell for cell in open_cells[variable] if low <= cell < high)
        sides = (open_cells[variable] - yes, yes)
        children = [add([*open_cells[:variable], side, *open_cells[variable + 1 :]], depth + 1) for side in sides]
        nodes[node] = [variable, low, high, *children]
        return node

    add([frozenset(range(size)) for size in features.sizes], 0)
    return Tree.of(nodes, np.zeros((len(nodes), n_classes)))


def _spans(axis: Axis, cells: frozenset[int]) -> list[tuple[int, int]]:
    """Questions about the cells left that have two answers."""
    ordered = axis.n_ordered
    spans = [(cut, ordered) for cut in range(1, ordered)]
    spans += [(cell, cell + 1) for cell in range(ordered, axis.size)]
    return [span for span in spans if 0 < sum(span[0] <= cell < span[1] for cell in cells) < len(cells)]
