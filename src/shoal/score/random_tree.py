"""Trees whose questions are drawn at random from the public domain: they cost nothing, only their counts do."""

from __future__ import annotations

import numpy as np

from shoal.arrays import Generator
from shoal.domain import Axis
from shoal.score.features import Features
from shoal.score.tree import Tree

__all__ = ["random_tree"]


def random_tree(features: Features, max_depth: int, rng: Generator) -> Tree:
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
    table = np.array(nodes, dtype=np.int64)
    return Tree(
        variable=table[:, 0],
        low=table[:, 1],
        high=table[:, 2],
        no=table[:, 3],
        yes=table[:, 4],
        counts=np.zeros((len(table), 2)),
    )


def _spans(axis: Axis, cells: frozenset[int]) -> list[tuple[int, int]]:
    """Questions about the cells left that have two answers."""
    ordered = axis.n_ordered
    spans = [(cut, ordered) for cut in range(1, ordered)]
    spans += [(cell, cell + 1) for cell in range(ordered, axis.size)]
    return [span for span in spans if 0 < sum(span[0] <= cell < span[1] for cell in cells) < len(cells)]
