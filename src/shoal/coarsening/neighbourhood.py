"""The choices of levels around one: what each would suppress and lose, so that a person can try them by hand.

A node of the lattice is one level for each quasi-identifier. Small lattices are counted whole; of others the nodes that
are few steps away, a step being one level of one column: as many whole rounds as the work allows, and always one.
Counts are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

from shoal.coarsening.generalize import Generalize
from shoal.coarsening.lattice_nodes import Counter, Node
from shoal.condition.conditions import Conditions
from shoal.conform import Prepared
from shoal.record import Record

__all__ = ["Neighbour", "Neighbourhood", "neighbourhood"]

MOST_NODES = 2_500
MOST_COUNTED = 20_000_000  # combinations in all nodes together


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour(Record):
    """One choice of levels: for inside only.

    Parameters
    ----------
    smallest
        Persons in the smallest class if nothing were suppressed.
    suppressed_share
        Share of the rows in classes of fewer than k persons, which would be left out.
    loss
        The loss that the method minimises.
    """

    releasable: ClassVar[bool] = False

    smallest: int
    suppressed_share: float
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbourhood(Record):
    """The choices that were counted: for inside only.

    Parameters
    ----------
    k
        The class size that was asked for.
    levels
        For each quasi-identifier, the levels that differ from each other.
    nodes
        What was counted, by one level for each column, in their order.
    """

    releasable: ClassVar[bool] = False

    k: int
    levels: Mapping[str, tuple[int, ...]]
    nodes: Mapping[tuple[int, ...], Neighbour]

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words; a node is named by its levels, joined by commas."""
        return {
            "k": self.k,
            "levels": {name: list(levels) for name, levels in self.levels.items()},
            "nodes": {",".join(map(str, node)): one.to_dict() for node, one in self.nodes.items()},
        }


def neighbourhood(prepared: Prepared, method: Generalize, centre: Mapping[str, int]) -> Neighbourhood:
    """Count the choices of levels around `centre`, the level of each quasi-identifier.

    Cost: one count of the distinct combinations for each node, of at most 2,500 nodes and 20 million combinations.
    """
    conditions = Conditions.of(prepared, k=method.k, diversity=None, closeness=None, subsets=None)
    counter = replace(method, limits=None).counter(prepared, conditions)
    names = [ladder.name for ladder in counter.ladders]
    at = tuple(_place(levels, centre.get(name, 0)) for name, levels in zip(names, counter.levels, strict=True))
    nodes = {
        _levels_at(counter, node): _counted(counter, node)
        for node in _around(counter.shape, at, counter.combinations.n)
    }
    levels = {name: tuple(some) for name, some in zip(names, counter.levels, strict=True)}
    return Neighbourhood(k=method.k, levels=levels, nodes=nodes)


def _place(levels: list[int], level: int) -> int:
    """Where a level stands among those that differ."""
    return max((i for i, known in enumerate(levels) if known <= level), default=0)


def _around(shape: tuple[int, ...], at: Node, n_combinations: int) -> Iterator[Node]:
    """Nodes by their steps from `at`: every node if there is room for all, else whole rounds of them."""
    room = max(1, min(MOST_NODES, MOST_COUNTED // max(1, n_combinations)))
    if math.prod(shape) <= room:
        yield from product(*map(range, shape))
        return
    yield at
    seen, ring = {at}, sorted(_next_to(at, shape))
    while ring:
        yield from ring
        seen.update(ring)
        ring = sorted({node for one in ring for node in _next_to(one, shape)} - seen)
        if len(seen) + len(ring) > room:
            return


def _next_to(node: Node, shape: tuple[int, ...]) -> Iterator[Node]:
    for j, (level, size) in enumerate(zip(node, shape, strict=True)):
        yield from ((*node[:j], i, *node[j + 1 :]) for i in (level - 1, level + 1) if 0 <= i < size)


def _levels_at(counter: Counter, node: Node) -> tuple[int, ...]:
    return tuple(levels[i] for levels, i in zip(counter.levels, node, strict=True))


def _counted(counter: Counter, node: Node) -> Neighbour:
    found = counter.count(node)
    return Neighbour(
        smallest=int(counter.sizes(node)[1].min()),
        suppressed_share=found.suppressed / counter.n_rows,
        loss=float(found.loss),
    )
