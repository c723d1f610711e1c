"""A tree of boxes with deletions: nearest and furthest of the remaining points, exactly.

Points are cut at the median of the widest column, again and again, until a cell fills a pack of 32. Nodes are wide:
a family of 32 children whose boxes are tested together. A subtree is skipped when its box shows that it can't matter.
For a box [l, h] and a point c,

    nearest:   Σ max(l − c, c − h, 0)²  ≤  |x − c|²,        furthest:   Σ max(c − l, h − c)²  ≥  |x − c|²,

for every x inside, also as computed: differences, squares and sums in one order round monotonically. So no tolerance
is needed, and equal distances are never cut off: a subtree goes only if its bound is *strictly* worse. Boxes shrink as
points leave. Ties go to the point whose first remaining copy has the lowest row.

The nearest rows so far, as a heap: the worst of them is at hand, to be replaced by a better one.

A row is better if its distance is smaller, or equal and its number lower.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.group.packs import PACK, Packs, Remaining, distances, fill, further, furthest_lane, kd_order, room_for

__all__ = ["BoxTree", "furthest_by_boxes", "nearest_rows", "plant", "room_for_tree", "shrink"]

_FAN = 32  # children of a family
_TOP = 4  # families at the top: enough nodes there for leaves to fill their packs
_N_TOP, _FIRST_LEAF = range(2)  # places in BoxTree.shape


class BoxTree(NamedTuple):
    """Points by cell, and the boxes around cells.

    Parameters
    ----------
    leaves
        The points, a cell to a pack.
    boxes
        (families, 2, columns, children): lower and upper corner of each child; an empty one is (∞, −∞).
    child
        What lies below each node (family · 32 + position): a family, or ~leaf.
    parent
        The node above each family, or −1 at the top.
    shape
        Number of families at the top, and the node of leaf 0.
    stack, least, work
        Room for a search: nodes to visit, their bounds, and a family's bounds and a pack's distances.
    """

    leaves: Packs
    boxes: FloatArray
    child: IntArray
    parent: IntArray
    shape: IntArray
    stack: IntArray
    least: FloatArray
    work: FloatArray


def room_for_tree(n_points: int, n_columns: int) -> BoxTree:
    """A tree to be planted."""
    n_nodes, span = _layout(n_points)
    n_families = _n_families(n_nodes, span)
    return BoxTree(
        leaves=room_for(n_nodes * span, n_points, n_columns),
        boxes=np.empty((n_families, 2, n_columns, _FAN)),
        child=np.empty(n_families * _FAN, dtype=np.int64),
        parent=np.empty(n_families, dtype=np.int64),
        shape=np.zeros(2, dtype=np.int64),
        stack=np.empty(16 * _FAN, dtype=np.int64),
        least=np.empty(16 * _FAN),
        work=np.empty((2, max(_FAN, PACK))),
    )


@njit(cache=True, nogil=True)
def nearest_rows(tree: BoxTree, remaining: Remaining, centre: FloatArray, near: FloatArray, near_rows: IntArray) -> int:
    """Find the rows nearest to `centre`, as many as `near` holds, the furthest of them first; return how many exist."""
    boxes, child, stack, least, bounds, lanes = (
        tree.boxes,
        tree.child,
        tree.stack,
        tree.least,
        tree.work[0],
        tree.work[1],
    )
    coordinates, members, counts = tree.leaves.coordinates, tree.leaves.members, tree.leaves.counts
    size, limit = 0, np.inf
    top = _open(boxes, child, 0, tree.shape[_N_TOP], centre, False, limit, stack, least, 0, bounds)
    while top > 0:
        top -= 1
        node = stack[top]
        if least[top] > limit:
            continue
        if node >= 0:
            top = _open(boxes, child, node, node + 1, centre, False, limit, stack, least, top, bounds)
        elif distances(coordinates, ~node, centre, limit, lanes) > 0:
            for lane in range(counts[~node]):
                if lanes[lane] <= limit:  # spares most of the look-ups in memory
                    point = members[~node, lane]
                    for copy in range(remaining.head[point], remaining.end[point]):
                        if not _offer(near, near_rows, size, lanes[lane], remaining.rows[copy]):
                            break
                        size = min(size + 1, len(near))
                    if size == len(near):
                        limit = near[0]
    return size


@njit(cache=True, nogil=True)
def furthest_by_boxes(tree: BoxTree, remaining: Remaining, centre: FloatArray) -> int:
    """Find the point furthest from `centre`."""
    boxes, child, stack, least, bounds, lanes = (
        tree.boxes,
        tree.child,
        tree.stack,
        tree.least,
        tree.work[0],
        tree.work[1],
    )
    coordinates, members, counts = tree.leaves.coordinates, tree.leaves.members, tree.leaves.counts
    best, found = -1.0, -1
    top = _open(boxes, child, 0, tree.shape[_N_TOP], centre, True, np.inf, stack, least, 0, bounds)
    while top > 0:
        top -= 1
        node = stack[top]
        if least[top] > -best:
            continue
        if node >= 0:
            top = _open(boxes, child, node, node + 1, centre, True, -best, stack, least, top, bounds)
        elif further(coordinates, ~node, centre, best, lanes) > 0:
            best, found = furthest_lane(remaining, members, ~node, counts[~node], lanes, best, found)
    return found


@njit(cache=True, nogil=True)
def shrink(tree: BoxTree, leaf: int, points: FloatArray, point: int) -> None:
    """Draw the boxes around a leaf tight, in the columns and as far up as a point that has gone was at the border."""
    boxes, count, node = tree.boxes, tree.leaves.counts[leaf], tree.shape[_FIRST_LEAF] + leaf
    for j in range(points.shape[1]):
        x, low, high = points[point, j], boxes[node // _FAN, 0, j, node % _FAN], boxes[node // _FAN, 1, j, node % _FAN]
        if (low == x or high == x) and (low < high or count == 0):
            _fit_leaf(boxes, node, j, tree.leaves.coordinates, leaf, count)
            _shrink_above(boxes, tree.parent, node // _FAN, j, x)


@njit(cache=True, nogil=True)
def _shrink_above(boxes: FloatArray, parent: IntArray, family: int, j: int, x: float) -> None:
    node = parent[family]
    while node >= 0 and (boxes[node // _FAN, 0, j, node % _FAN] == x or boxes[node // _FAN, 1, j, node % _FAN] == x):
        _fit_family(boxes, node, j, family)
        family = node // _FAN
        node = parent[family]


@njit(cache=True, nogil=True)
def plant(tree: BoxTree, points: FloatArray, live: IntArray) -> None:
    """Grow the tree anew over the points `live`, whose order changes."""
    n_nodes, span = _layout(len(live))
    kd_order(points, live, n_nodes * span, span)
    fill(tree.leaves, points, live, n_nodes * span)
    tree.shape[_N_TOP] = -(-n_nodes // _FAN)
    tree.shape[_FIRST_LEAF] = _connect(tree.child, tree.parent, n_nodes, span)
    _fit_boxes(tree.boxes, tree.parent, tree.leaves.coordinates, tree.shape[_FIRST_LEAF], n_nodes * span)


@njit(cache=True, nogil=True)
def _open(
    boxes: FloatArray,
    child: IntArray,
    first: int,
    last: int,
    centre: FloatArray,
    far: bool,
    limit: float,
    stack: IntArray,
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
                stack[top], least[top] = child[family * _FAN + i], bounds[i]
                best = top if bounds[i] < least[best] else best
                top += 1
    if best < top - 1:
        stack[best], stack[top - 1] = stack[top - 1], stack[best]
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
def _fit_leaf(boxes: FloatArray, node: int, j: int, coordinates: FloatArray, leaf: int, count: int) -> None:
    low, high = np.inf, -np.inf
    for i in range(count):
        x = coordinates[leaf, j, i]
        low, high = x if x < low else low, x if x > high else high
    boxes[node // _FAN, 0, j, node % _FAN], boxes[node // _FAN, 1, j, node % _FAN] = low, high


@njit(cache=True, nogil=True)
def _fit_family(boxes: FloatArray, node: int, j: int, family: int) -> None:
    low, high = np.inf, -np.inf
    for i in range(_FAN):
        a, b = boxes[family, 0, j, i], boxes[family, 1, j, i]
        low, high = a if a < low else low, b if b > high else high
    boxes[node // _FAN, 0, j, node % _FAN], boxes[node // _FAN, 1, j, node % _FAN] = low, high


@njit(cache=True, nogil=True)
def _layout(n: int) -> tuple[int, int]:
    """Choose the number of nodes at the top, and how many leaves lie below each."""
    span = 1
    while n > _TOP * _FAN * PACK * span:
        span *= _FAN
    return -(-n // (PACK * span)), span


def _n_families(n_nodes: int, span: int) -> int:
    below = 0
    while span > 1:
        below, n_nodes, span = below + n_nodes, n_nodes * _FAN, span // _FAN
    return below + _TOP


@njit(cache=True, nogil=True)
def _connect(child: IntArray, parent: IntArray, n_nodes: int, span: int) -> int:
    """Number nodes level by level, `n_nodes` at the top and `span` leaves below each; return the node of leaf 0."""
    first, family = 0, _TOP  # of the level, and of the level below
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
            _fit_leaf(boxes, first_leaf + leaf, j, coordinates, leaf, PACK)
    for family in range((first_leaf + n_leaves - 1) // _FAN, _TOP - 1, -1):
        for j in range(boxes.shape[2]):
            _fit_family(boxes, parent[family], j, family)


@njit(cache=True, nogil=True)
def _offer(near: FloatArray, rows: IntArray, size: int, distance: float, row: int) -> bool:
    """Offer a row to a heap that holds `size` of `len(near)`; return whether it was taken."""
    if size < len(near):
        _sift_up(near, rows, size, distance, row)
    elif _is_worse(near[0], rows[0], distance, row):
        _sift_down(near, rows, distance, row)
    else:
        return False
    return True


@njit(cache=True, nogil=True)
def _is_worse(distance: float, row: int, than: float, than_row: int) -> bool:
    return distance > than or (distance == than and row > than_row)


@njit(cache=True, nogil=True)
def _sift_up(near: FloatArray, rows: IntArray, at: int, distance: float, row: int) -> None:
    while at > 0:
        above = (at - 1) // 2
        if not _is_worse(distance, row, near[above], rows[above]):
            break
        near[at], rows[at] = near[above], rows[above]
        at = above
    near[at], rows[at] = distance, row


@njit(cache=True, nogil=True)
def _sift_down(near: FloatArray, rows: IntArray, distance: float, row: int) -> None:
    at, below = 0, 1
    while below < len(near):
        if below + 1 < len(near) and _is_worse(near[below + 1], rows[below + 1], near[below], rows[below]):
            below += 1
        if not _is_worse(near[below], rows[below], distance, row):
            break
        near[at], rows[at] = near[below], rows[below]
        at, below = below, 2 * below + 1
    near[at], rows[at] = distance, row
