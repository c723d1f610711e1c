"""A spatial index that points leave one by one: the tree of boxes and the shells, kept in step.

It answers which of the remaining rows are nearest to a place (`nearest`) and which point is furthest from it
(`furthest_by_boxes`, `furthest_by_shells`), exactly, with ties to the lowest row. It is rebuilt when half of the points
are gone, which at most doubles the cost of building. Cost of a query: about log n in few columns, growing to a scan of
all packs in many. Memory is linear.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from shoal.arrays import FloatArray, IntArray
from shoal.group.box_tree import BoxTree, nearest_rows, plant, room_for_tree, shrink
from shoal.group.copies import Copies
from shoal.group.packs import vacate
from shoal.group.remaining import Remaining, live_points
from shoal.group.shells import Shells, arrange, room_for_shells

__all__ = ["Index", "index_of", "nearest", "remove"]


class Index(NamedTuple):
    """The remaining points, in a tree of boxes and in shells; `alive` counts them now and at the last rebuild."""

    points: FloatArray
    remaining: Remaining
    tree: BoxTree
    shells: Shells
    alive: IntArray


def index_of(copies: Copies) -> Index:
    """Index all points."""
    index = Index(
        points=copies.points,
        remaining=Remaining(copies.rows, copies.starts[:-1].copy(), copies.starts[1:]),
        tree=room_for_tree(*copies.points.shape),
        shells=room_for_shells(*copies.points.shape),
        alive=np.zeros(2, dtype=np.int64),
    )
    _rebuild(index)
    return index


@njit(cache=True, nogil=True)
def nearest(index: Index, centre: FloatArray, near: FloatArray, near_rows: IntArray) -> int:
    """Find the rows nearest to `centre`, as many as `near` holds, the furthest of them first; return how many exist."""
    n: int = nearest_rows(index.tree, index.remaining, centre, near, near_rows)
    return n


@njit(cache=True, nogil=True)
def remove(index: Index, point: int) -> None:
    """Take the lowest remaining copy off a point, and the point out of the index when none is left."""
    index.remaining.head[point] += 1
    if index.remaining.head[point] < index.remaining.end[point]:
        return
    index.alive[0] -= 1
    if 0 < 2 * index.alive[0] <= index.alive[1]:
        _rebuild(index)
    else:
        vacate(index.shells.packs, point)
        shrink(index.tree, vacate(index.tree.leaves, point), index.points, point)


@njit(cache=True, nogil=True)
def _rebuild(index: Index) -> None:
    live = live_points(index.remaining)
    index.alive[0] = index.alive[1] = len(live)
    plant(index.tree, index.points, live)
    arrange(index.shells, index.points, live)
