"""A spatial index with deletions: nearest and furthest of the remaining points, exactly.

**Tree.** Points are cut at the median of the widest column, again and again, until a cell fills a pack of 32. Nodes
are wide (32 children whose boxes are tested together). A subtree is skipped when its box shows that it can't matter.
For a box [l, h] and a point c,

    nearest:   Σ max(l − c, c − h, 0)²  ≤  |x − c|²,        furthest:   Σ max(c − l, h − c)²  ≥  |x − c|²,

for every x inside, also as computed: differences, squares and sums in one order round monotonically. So no tolerance
is needed, and equal distances are never cut off: a subtree goes only if its bound is *strictly* worse.

**Shells.** In many columns boxes say little about the furthest point: their corners are far out and empty. So the
points are also kept in packs by decreasing distance r from a centre m, and scanned from outside until

    (r + |c − m|)² (1 + 1e-9)  <  the best so far,

the triangle inequality with room for rounding.

Boxes shrink as points leave, and the index is rebuilt when half of it is gone, which at most doubles the cost of
building. Ties go to the point whose first remaining copy has the lowest row. Cost of a query: about log n in few
dimensions, growing to a scan of all packs in many. Memory is linear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.group.copies import Copies
from shoal.group.kd_order import kd_order
from shoal.group.near_heap import offer
from shoal.group.packs import PACK, Packs, distances, fill, room_for, squared_distance, vacate

__all__ = ["Index", "for_a_thread", "furthest_by_boxes", "furthest_by_shells", "index_of", "nearest", "remove"]

_FAN = 32  # children of a node
_TOP = 4 * _FAN  # most nodes at the top: many enough that leaves fill their packs
_ROOM = 1.0 + 1e-9
_ALIVE, _BUILT, _N_TOP, _FIRST_LEAF, _FIRST_SHELL, _N_SHELLS = range(6)  # places in Index.state


class Index(NamedTuple):
    """The remaining points, in a tree of boxes and in shells.

    Parameters
    ----------
    points, rows, head, end
        Point p has the remaining copies `rows[head[p]:end[p]]`.
    leaves, shells
        The points by cell, and by decreasing distance from `centre`.
    reach, centre
        The largest distance from `centre` in each shell.
    boxes
        (families, 2, columns, children): lower and upper corner of each child; an empty one is (∞, −∞).
    child
        What lies below each node (family · 32 + position): a family, or ~leaf.
    parent
        The node above each family, or −1 at the top.
    state
        Points alive and at the last rebuild, families at the top, node of leaf 0, first shell in use, shells.
    stack, stack_bounds, work
        Room to work in.
    """

    points: FloatArray
    rows: IntArray
    head: IntArray
    end: IntArray
    leaves: Packs
    shells: Packs
    reach: FloatArray
    centre: FloatArray
    boxes: FloatArray
    child: IntArray
    parent: IntArray
    state: IntArray
    stack: IntArray
    stack_bounds: FloatArray
    work: FloatArray


def index_of(copies: Copies) -> Index:
    """Index all points."""
    n, d = copies.points.shape
    n_nodes, span = _shape(n)
    n_leaves, n_shells, n_families = n_nodes * span, -(-n // PACK), _n_families(n_nodes, span)
    index = Index(
        points=copies.points,
        rows=copies.rows,
        head=copies.starts[:-1].copy(),
        end=copies.starts[1:],
        leaves=room_for(n_leaves, n, d),
        shells=room_for(n_shells, n, d),
        reach=np.empty(n_shells),
        centre=np.empty(d),
        boxes=np.empty((n_families, 2, d, _FAN)),
        child=np.empty(n_families * _FAN, dtype=np.int64),
        parent=np.empty(n_families, dtype=np.int64),
        state=np.zeros(6, dtype=np.int64),
        stack=np.empty(16 * _FAN, dtype=np.int64),
        stack_bounds=np.empty(16 * _FAN),
        work=np.empty((2, max(_FAN, PACK))),
    )
    _rebuild(index)
    return index


def for_a_thread(index: Index) -> Index:
    """The same points with room to work of its own, for searches at the same time."""
    return index._replace(
        stack=np.empty_like(index.stack),
        stack_bounds=np.empty_like(index.stack_bounds),
        work=np.empty_like(index.work),
    )


@njit(cache=True, nogil=True)
def nearest(index: Index, centre: FloatArray, near: FloatArray, near_rows: IntArray) -> int:
    """Find the rows nearest to `centre`, as many as `near` holds, the furthest of them first; return how many exist."""
    boxes, child, nodes, least = index.boxes, index.child, index.stack, index.stack_bounds
    coordinates, members, counts, _ = index.leaves
    size, limit, lanes = 0, np.inf, index.work[1]
    top = _open(boxes, child, 0, index.state[_N_TOP], centre, False, limit, nodes, least, 0, index.work[0])
    while top > 0:
        top -= 1
        node = nodes[top]
        if least[top] > limit:
            continue
        if node >= 0:
            top = _open(boxes, child, node, node + 1, centre, False, limit, nodes, least, top, index.work[0])
        elif distances(coordinates, ~node, centre, limit, lanes) > 0:
            for lane in range(counts[~node]):
                point = members[~node, lane]
                for copy in range(index.head[point], index.end[point]):
                    if not offer(near, near_rows, size, lanes[lane], index.rows[copy]):
                        break
                    size = min(size + 1, len(near))
            if size == len(near):
                limit = near[0]
    return size


@njit(cache=True, nogil=True)
def furthest_by_boxes(index: Index, centre: FloatArray) -> int:
    """Find the point furthest from `centre`; the way to do it in few columns, from a point that is far out."""
    boxes, child, nodes, least = index.boxes, index.child, index.stack, index.stack_bounds
    coordinates, members, counts, _ = index.leaves
    best, found, lanes = -1.0, -1, index.work[1]
    top = _open(boxes, child, 0, index.state[_N_TOP], centre, True, -best, nodes, least, 0, index.work[0])
    while top > 0:
        top -= 1
        node = nodes[top]
        if least[top] > -best:
            continue
        if node >= 0:
            top = _open(boxes, child, node, node + 1, centre, True, -best, nodes, least, top, index.work[0])
        else:
            distances(coordinates, ~node, centre, np.inf, lanes)
            best, found = _furthest_lane(members[~node], counts[~node], lanes, index.rows, index.head, best, found)
    return found


@njit(cache=True, nogil=True)
def furthest_by_shells(index: Index, centre: FloatArray) -> int:
    """Find the point furthest from `centre`; the way to do it in many columns, or from the middle."""
    coordinates, members, counts, _ = index.shells
    lanes, state = index.work[1], index.state
    best, found = -1.0, -1
    offset = np.sqrt(squared_distance(centre, index.centre))
    while counts[state[_FIRST_SHELL]] == 0:
        state[_FIRST_SHELL] += 1
    for p in range(state[_FIRST_SHELL], state[_N_SHELLS]):
        if counts[p] > 0:
            bound = index.reach[p] + offset
            if bound * bound * _ROOM < best:
                break
            distances(coordinates, p, centre, np.inf, lanes)
            best, found = _furthest_lane(members[p], counts[p], lanes, index.rows, index.head, best, found)
    return found


@njit(cache=True, nogil=True)
def remove(index: Index, point: int) -> None:
    """Take the lowest remaining copy off a point, and the point out of the index when none is left."""
    index.head[point] += 1
    if index.head[point] < index.end[point]:
        return
    state = index.state
    state[_ALIVE] -= 1
    if 0 < 2 * state[_ALIVE] <= state[_BUILT]:
        _rebuild(index)
        return
    vacate(index.shells, point)
    leaf = vacate(index.leaves, point)
    lanes, count = index.leaves.coordinates[leaf], index.leaves.counts[leaf]
    _shrink(index.boxes, index.parent, state[_FIRST_LEAF] + leaf, lanes, count, index.points[point])


@njit(cache=True, nogil=True)
def _open(
    boxes: FloatArray,
    child: IntArray,
    first: int,
    last: int,
    centre: FloatArray,
    far: bool,
    limit: float,
    nodes: IntArray,
    least: FloatArray,
    base: int,
    bounds: FloatArray,
) -> int:
    """Put the children of families `first` to `last` with bounds up to the limit on the stack, the best one on top.

    Bounds are lower bounds on the squared distance, or if `far`, on minus the squared distance.
    """
    best, top = base, base
    for family in range(first, last):
        if far:
            _bound_minus(boxes, family, centre, bounds)
        else:
            _bound(boxes, family, centre, bounds)
        for i in range(_FAN):
            if bounds[i] <= limit and bounds[i] < np.inf:
                nodes[top], least[top] = child[family * _FAN + i], bounds[i]
                best = top if bounds[i] < least[best] else best
                top += 1
    if best < top - 1:
        nodes[best], nodes[top - 1] = nodes[top - 1], nodes[best]
        least[best], least[top - 1] = least[top - 1], least[best]
    return top


@njit(cache=True, nogil=True)
def _bound(boxes: FloatArray, family: int, centre: FloatArray, out: FloatArray) -> None:
    """Lower bounds on the squared distance between `centre` and the points below each child; ∞ if there are none."""
    for i in range(_FAN):
        out[i] = 0.0
    for j in range(len(centre)):
        c = centre[j]
        for i in range(_FAN):
            below, above = boxes[family, 0, j, i] - c, c - boxes[family, 1, j, i]
            gap = below if below > above else above
            gap = gap if gap > 0.0 else 0.0
            out[i] += gap * gap


@njit(cache=True, nogil=True)
def _bound_minus(boxes: FloatArray, family: int, centre: FloatArray, out: FloatArray) -> None:
    """Lower bounds on minus the squared distance; ∞ if there are no points."""
    for i in range(_FAN):
        out[i] = 0.0
    for j in range(len(centre)):
        c = centre[j]
        for i in range(_FAN):
            below, above = c - boxes[family, 0, j, i], boxes[family, 1, j, i] - c
            gap = below if below > above else above
            out[i] -= gap * gap
    for i in range(_FAN):
        out[i] = out[i] if boxes[family, 0, 0, i] < np.inf else np.inf


@njit(cache=True, nogil=True)
def _furthest_lane(
    members: IntArray, count: int, lanes: FloatArray, rows: IntArray, head: IntArray, best: float, found: int
) -> tuple[float, int]:
    for lane in range(count):
        if lanes[lane] >= best:
            point = members[lane]
            if lanes[lane] > best or rows[head[point]] < rows[head[found]]:
                best, found = lanes[lane], point
    return best, found


@njit(cache=True, nogil=True)
def _shrink(boxes: FloatArray, parent: IntArray, leaf: int, lanes: FloatArray, count: int, x: FloatArray) -> None:
    """Draw the boxes around a leaf tight, in the columns and as far up as `x`, which has gone, was at the border."""
    for j in range(len(x)):
        family, i = leaf // _FAN, leaf % _FAN
        low, high = boxes[family, 0, j, i], boxes[family, 1, j, i]
        if (low == x[j] or high == x[j]) and (low < high or count == 0):
            _set_box(boxes, leaf, j, lanes[j], lanes[j], count)
            node = parent[family]
            while node >= 0 and (
                boxes[node // _FAN, 0, j, node % _FAN] == x[j] or boxes[node // _FAN, 1, j, node % _FAN] == x[j]
            ):
                _set_box(boxes, node, j, boxes[family, 0, j], boxes[family, 1, j], _FAN)
                family = node // _FAN
                node = parent[family]


@njit(cache=True, nogil=True)
def _set_box(boxes: FloatArray, node: int, j: int, lower: FloatArray, upper: FloatArray, count: int) -> None:
    low, high = np.inf, -np.inf
    for i in range(count):
        low = lower[i] if lower[i] < low else low
        high = upper[i] if upper[i] > high else high
    boxes[node // _FAN, 0, j, node % _FAN] = low
    boxes[node // _FAN, 1, j, node % _FAN] = high


@njit(cache=True, nogil=True)
def _rebuild(index: Index) -> None:
    """Index the points that have copies left."""
    live = _live(index.head, index.end)
    n_nodes, span = _shape(len(live))
    index.state[_ALIVE], index.state[_BUILT] = len(live), len(live)
    index.state[_N_TOP] = -(-n_nodes // _FAN)
    index.state[_FIRST_LEAF] = _connect(index.child, index.parent, n_nodes, span)
    kd_order(index.points, live, n_nodes * span, span)
    fill(index.leaves, index.points, live, n_nodes * span)
    _fit_boxes(index.boxes, index.parent, index.leaves.coordinates, index.state[_FIRST_LEAF], n_nodes * span)
    n_shells = -(-len(live) // PACK)
    index.state[_FIRST_SHELL], index.state[_N_SHELLS] = 0, n_shells
    radius = _radii(index.points, live, index.centre)
    kd_order(radius, live, n_shells, 1)
    fill(index.shells, index.points, live, n_shells)
    for p in range(n_shells):
        index.reach[p] = 0.0
        for lane in range(index.shells.counts[p]):
            index.reach[p] = max(index.reach[p], -radius[index.shells.members[p, lane], 0])


@njit(cache=True, nogil=True)
def _live(head: IntArray, end: IntArray) -> IntArray:
    n, live = 0, np.empty(len(head), np.int64)
    for point in range(len(head)):
        if head[point] < end[point]:
            live[n] = point
            n += 1
    return live[:n]


@njit(cache=True, nogil=True)
def _shape(n: int) -> tuple[int, int]:
    """Choose the number of nodes at the top, and how many leaves lie below each."""
    span = 1
    while n > _TOP * PACK * span:
        span *= _FAN
    return -(-n // (PACK * span)), span


def _n_families(n_nodes: int, span: int) -> int:
    below = 0
    while span > 1:
        below, n_nodes, span = below + n_nodes, n_nodes * _FAN, span // _FAN
    return below + _TOP // _FAN


@njit(cache=True, nogil=True)
def _connect(child: IntArray, parent: IntArray, n_nodes: int, span: int) -> int:
    """Number nodes level by level, `n_nodes` at the top and `span` leaves below each; return the node of leaf 0."""
    first, family = 0, _TOP // _FAN  # of the level, and of the level below
    for i in range(family):
        parent[i] = -1
    while span > 1:
        for i in range(n_nodes):
            child[first + i], parent[family + i] = family + i, first + i
        first, family, n_nodes, span = family * _FAN, family + n_nodes, n_nodes * _FAN, span // _FAN
    for leaf in range(n_nodes):
        child[first + leaf] = ~leaf
    return first


@njit(cache=True, nogil=True)
def _fit_boxes(boxes: FloatArray, parent: IntArray, coordinates: FloatArray, first_leaf: int, n_leaves: int) -> None:
    """Draw all boxes tight, from the leaves up; children that do not exist are empty."""
    for family in range(len(parent)):
        for j in range(boxes.shape[2]):
            for i in range(_FAN):
                boxes[family, 0, j, i], boxes[family, 1, j, i] = np.inf, -np.inf
    for leaf in range(n_leaves):
        for j in range(boxes.shape[2]):
            _set_box(boxes, first_leaf + leaf, j, coordinates[leaf, j], coordinates[leaf, j], PACK)
    for family in range((first_leaf + n_leaves - 1) // _FAN, _TOP // _FAN - 1, -1):
        for j in range(boxes.shape[2]):
            _set_box(boxes, parent[family], j, boxes[family, 0, j], boxes[family, 1, j], _FAN)


@njit(cache=True, nogil=True)
def _radii(points: FloatArray, live: IntArray, centre: FloatArray) -> FloatArray:
    """Move `centre` to the mean; return the negative distance of each live point from it, as a column."""
    for j in range(len(centre)):
        centre[j] = 0.0
    for point in live:
        for j in range(len(centre)):
            centre[j] += points[point, j] / len(live)
    radii = np.empty((len(points), 1))
    for point in live:
        radii[point, 0] = -np.sqrt(squared_distance(points[point], centre))
    return radii
