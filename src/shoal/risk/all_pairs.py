"""Nearest neighbours with all ties in a small table: every pair is looked at, and nothing has to be compiled.

Distances are those of `shoal.risk.mixed_tree`, summed in the same order, and so the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.risk.geometry import Geometry

__all__ = ["is_small", "nearest_few", "search"]

_MOST = 2**21  # pairs: a tenth of a second, where a tree would first have to be compiled
_BLOCK = 2**16  # pairs at a time: they stay in the cache


def is_small(n_queries: int, n_targets: int) -> bool:
    """Whether all pairs are few enough to be looked at."""
    return n_targets > 0 and n_queries * n_targets <= _MOST


def search(
    geometry: Geometry, targets: FloatArray, queries: FloatArray, skip: int, slack: float
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Targets that tie with neighbour number `skip` (0 or 1) of each query; as `shoal.risk.mixed_tree.search`."""
    near, pairs = np.full((len(queries), 2), np.inf), [np.empty((2, 0), dtype=np.int64)]
    for first, squared in _blocks(geometry, targets, queries):
        rows = np.arange(len(squared))
        least = np.argmin(squared, axis=1)
        mine = near[first : first + len(squared)]
        mine[:, : targets.shape[0]] = np.partition(squared, min(1, targets.shape[0] - 1), axis=1)[:, :2]
        ties = squared <= mine[:, [skip]] * slack
        if skip == 1:
            ties[rows, least] = False
        query, target = np.nonzero(ties)
        pairs.append(np.stack((query + first, target)))
    query, target = np.concatenate(pairs, axis=1)
    return query, target, near, np.full(len(queries), len(targets))


def nearest_few(geometry: Geometry, targets: FloatArray, queries: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """Squared distances to the `k` nearest targets of each query, nearest first, and which these are."""
    distance, which = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.int64)
    for first, squared in _blocks(geometry, targets, queries):
        order = np.argsort(squared, axis=1, kind="stable")[:, :k]
        which[first : first + len(order)] = order
        distance[first : first + len(order)] = np.take_along_axis(squared, order, axis=1)
    return distance, which


def _blocks(geometry: Geometry, targets: FloatArray, queries: FloatArray) -> Iterator[tuple[int, FloatArray]]:
    """The first query of each block, and the squared distances of its queries to all targets."""
    points, asked = geometry.coordinates(targets), geometry.coordinates(queries)
    step = max(1, _BLOCK // max(1, len(points)))
    for first in range(0, len(asked), step):
        yield first, _squared(geometry, asked[first : first + step], points)


def _squared(geometry: Geometry, asked: FloatArray, points: FloatArray) -> FloatArray:
    total = np.zeros((len(asked), len(points)))
    for j in range(points.shape[1]):
        x, y = asked[:, j, None], points[None, :, j]
        if geometry.unordered[j]:
            n = geometry.n_levels[j]
            unlike = np.where((x >= n) | (y >= n), geometry.blank[j], geometry.mismatch[j])
            total += np.where(x != y, unlike, 0.0)
        else:
            total += (x - y) * (x - y)
    return total
