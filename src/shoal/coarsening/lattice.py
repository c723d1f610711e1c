"""Search the lattice of full-domain generalisations for the node of least loss.

A node g picks a level for each column; h is coarser than g if no level is lower. A node is *feasible* if the records in
classes that fail the conditions are at most `limit`. Two facts prune the search, and nothing else does:

- **Failing goes down.** The classes of a coarser node are unions of those of a finer one. A class with at least k
  persons keeps them in every union, so rows in small classes only get fewer from a node to a coarser one: where g needs
  too much suppression for k alone, every finer node does. The same holds for distinct l-diversity, and, where nothing
  may be suppressed and each row is a person, for the other conditions too (`Conditions.monotone`, `monotone_together`).
  Where it isn't proved, a failing node rules out itself only.
- **Losses are bounded from below.** bound(g), the loss without suppression, is at most the loss of g and of all coarser
  nodes (`shoal.coarsening.loss`). Nodes whose bound isn't below the best loss found can't be better.

The exhaustive search first looks for a good node: it bisects a chain from the bottom to the top (as Flash does;
Kohlmayer et al. 2012) and goes down from what it found while the loss falls. Then it decides the nodes whose bound is
below the best loss, highest bound first: one that fails rules out all that is below it. For discernibility, whose
bounds are known only by counting, it bisects chains from the node of least bound instead. It ends when no undecided
node has a bound below the best loss: the best is optimal. Stopped by its time limit, it gives the best node so far and
the least bound left, between which the optimum lies.

Lattices of more than a few million nodes are searched from the top: greedy steps down to the feasible node of least
loss, then its neighbourhood in order of loss, up to a number of counted nodes. The result is good but not proved
optimal.
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray
from shoal.coarsening.lattice_nodes import Count, Counter, Node

__all__ = ["Found", "search"]

LARGEST_LATTICE = 2**21
MOST_COUNTED = 4000
_MOST_AXES = 32  # of an array, in older versions of NumPy
_AT_ONCE = 2000  # nodes looked at before those ruled out are cleared away
_TINY = 1e-12  # losses nearer than this are equal: sums in another order


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The result of a search.

    Parameters
    ----------
    node, loss
        The best feasible node and its loss; None and infinity where none was found.
    optimal
        Whether no node of the lattice has a smaller loss.
    bound
        No feasible node has a smaller loss than this; the loss itself where it is optimal.
    n_counted
        Nodes whose classes were counted.
    least_suppressed
        The fewest rows that a counted node had to leave out; all rows where none was counted by all conditions.
    """

    node: Node | None
    loss: float
    optimal: bool
    bound: float
    n_counted: int
    least_suppressed: int


def search(counter: Counter, limit: int, seconds: float | None = None) -> Found:
    """Find the feasible node of least loss: at most `limit` rows suppressed, at least one kept."""
    judge = _Judge(counter, limit, seconds)
    if math.prod(counter.shape) <= LARGEST_LATTICE and len(counter.shape) <= _MOST_AXES:
        return _Exhaustive(judge).run()
    return _descend(judge)


class _Judge:
    """Counts nodes, remembers the best, and says what a failing node rules out."""

    def __init__(self, counter: Counter, limit: int, seconds: float | None) -> None:
        conditions = counter.conditions
        self.counter, self.limit = counter, limit
        self.k_only = not conditions.sensitive
        self.fails_down = conditions.monotone or (limit == 0 and conditions.monotone_together)
        self.best: Node | None = None
        self.loss = float("inf")
        self.n_counted, self.least_suppressed = 0, counter.n_rows
        self._seconds = seconds
        self._end: float | None = None

    @property
    def out_of_time(self) -> bool:
        return self._end is not None and self.best is not None and time.monotonic() > self._end

    def judge(self, node: Node) -> tuple[bool, bool, Count | None]:
        """Whether a node is feasible (or can't beat the best), whether its failing rules out finer ones, its count.

        A node that fails for k alone isn't counted to the end, once a better one is known.
        """
        self.n_counted += 1
        if self.best is not None and not self.counter.discernibility and self.counter.exceeds(node, self.limit):
            return False, True, None
        found = self.counter.count(node)
        if self._seconds is not None and self._end is None:  # the first count may have had to compile
            self._end = time.monotonic() + self._seconds
        if found.suppressed > self.limit:
            if self.k_only:  # by all conditions it would be more
                self._note(found)
            return False, True, found
        if not self.k_only and found.loss < self.loss - _TINY:
            found = self.counter.count_all(node)
        elif not self.k_only:
            return True, False, found  # more conditions only suppress more: it can't beat the best
        self._note(found)
        feasible = found.suppressed <= self.limit and found.suppressed < self.counter.n_rows
        if feasible and found.loss < self.loss - _TINY:
            self.best, self.loss = node, found.loss
        return feasible, self.fails_down, found

    def found(self, optimal: bool, bound: float) -> Found:
        return Found(
            node=self.best,
            loss=self.loss,
            optimal=optimal,
            bound=self.loss if optimal else min(bound, self.loss),
            n_counted=self.n_counted,
            least_suppressed=self.least_suppressed,
        )

    def _note(self, found: Count) -> None:
        self.least_suppressed = min(self.least_suppressed, found.suppressed)


class _Exhaustive:
    """Every node is decided: ruled out, counted, or bounded away."""

    def __init__(self, judge: _Judge) -> None:
        self.judge, self.shape = judge, judge.counter.shape
        self.bound = _outer_sum(judge.counter.base)  # infinite where a node is decided
        self.flat = self.bound.reshape(-1)  # the same numbers

    def run(self) -> Found:
        self._decide(tuple(size - 1 for size in self.shape))
        if not self.judge.counter.discernibility:
            self._first()
            self._from_above()
        while not self.judge.out_of_time:
            start = int(np.argmin(self.flat))
            if not self.flat[start] < self.judge.loss - _TINY:
                break
            self._bisect(self._chain(self._node(start)))
        least = float(self.flat.min())
        decided = not least < self.judge.loss - _TINY
        return self.judge.found(optimal=decided and self.judge.best is not None, bound=least)

    def _first(self) -> None:
        """A good feasible node to begin with: bisect a chain from the bottom, then go down while the loss falls."""
        self._bisect(self._chain(self._node(0)))
        before = None
        while self.judge.best != before and not self.judge.out_of_time:
            before = self.judge.best
            for down in _downs(before or ()):
                if np.isfinite(self.bound[down]):
                    self._decide(down)

    def _from_above(self) -> None:
        """Decide the nodes whose bound is below the best loss, highest bound first: one that fails rules out most."""
        while len(left := np.flatnonzero(self.flat < self.judge.loss - _TINY)):
            order = left[np.argsort(-self.flat[left], kind="stable")]
            for index in order[:_AT_ONCE]:
                if self.judge.out_of_time:
                    return
                if self.flat[index] < self.judge.loss - _TINY:
                    self._decide(self._node(int(index)))

    def _node(self, index: int) -> Node:
        return tuple(int(i) for i in np.unravel_index(index, self.shape))

    def _chain(self, node: Node) -> list[Node]:
        """Undecided nodes from `node` upwards, each next one of least bound."""
        chain = [node]
        while True:
            above = [(float(self.bound[up]), up) for up in _ups(chain[-1], self.shape)]
            least, up = min(above, default=(float("inf"), node))
            if not least < self.judge.loss - _TINY:
                return chain
            chain.append(up)

    def _bisect(self, chain: list[Node]) -> None:
        low, high = 0, len(chain) - 1
        while low <= high and not self.judge.out_of_time:
            middle = (low + high) // 2
            if self._decide(chain[middle]):
                high = middle - 1
            else:
                low = middle + 1

    def _decide(self, node: Node) -> bool:
        feasible, rules_out, found = self.judge.judge(node)
        if found is not None and self.judge.counter.discernibility:
            above = self.bound[tuple(slice(level, None) for level in node)]
            np.maximum(above, found.bound, out=above)
        if not feasible and rules_out:
            self.bound[tuple(slice(0, level + 1) for level in node)] = np.inf
        self.bound[node] = np.inf
        return feasible


def _descend(judge: _Judge) -> Found:
    """Greedy steps down from the top, then the neighbourhood of what was found, in order of loss."""
    shape = judge.counter.shape
    seen: set[Node] = set()

    def look(nodes: Iterator[Node]) -> list[tuple[float, Node]]:
        new = [node for node in nodes if node not in seen]
        seen.update(new)
        return [(loss, node) for node in new if (loss := _feasible_loss(judge, node)) is not None]

    ahead = look(iter([tuple(size - 1 for size in shape)]))
    while ahead and not judge.out_of_time:  # depth first: the best child of the best
        ahead = look(_downs(min(ahead)[1]))
    _widen(judge, look, shape)
    return judge.found(optimal=False, bound=0.0 if judge.best is not None else float("inf"))


def _widen(judge: _Judge, look: Callable[[Iterator[Node]], list[tuple[float, Node]]], shape: tuple[int, ...]) -> None:
    queue = [] if judge.best is None else [(judge.loss, judge.best)]
    while queue and judge.n_counted < MOST_COUNTED and not judge.out_of_time:
        _, node = heapq.heappop(queue)
        for around in (_downs(node), _ups(node, shape), _swaps(node, shape)):
            for pair in look(around):
                heapq.heappush(queue, pair)


def _feasible_loss(judge: _Judge, node: Node) -> float | None:
    feasible, _, found = judge.judge(node)
    return found.loss if feasible and found is not None else None


def _ups(node: Node, shape: tuple[int, ...]) -> Iterator[Node]:
    return ((*node[:j], node[j] + 1, *node[j + 1 :]) for j in range(len(node)) if node[j] + 1 < shape[j])


def _downs(node: Node) -> Iterator[Node]:
    return ((*node[:j], node[j] - 1, *node[j + 1 :]) for j in range(len(node)) if node[j] > 0)


def _swaps(node: Node, shape: tuple[int, ...]) -> Iterator[Node]:
    """One column up, another down."""
    return (down for up in _ups(node, shape) for down in _downs(up) if down != node)


def _outer_sum(parts: tuple[FloatArray, ...]) -> FloatArray:
    """The sum of one number of each part, for every choice, as an array with one axis a part."""
    total = np.zeros((1,) * len(parts))
    for axis, part in enumerate(parts):
        total = total + part.reshape((1,) * axis + (-1,) + (1,) * (len(parts) - axis - 1))
    return np.ascontiguousarray(total)
