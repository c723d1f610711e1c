"""Groups of k by halving: cut along the first principal direction, each half again, at multiples of k.

All groups have k members but one, which has fewer than 2k. In many dimensions about as tight as MDAV, in n log n.

Groups agree in what columns tell of each other: each feature is predicted by ridge regression from those of the *other*
blocks, and what is predicted are the coordinates that are cut. The rest of a column is its own and may change hands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, Generator, IntArray
from shoal.group.features import Features

__all__ = ["Cells", "coordinates", "halved"]

_PENALTY = 5.0  # times features / people
_MOST_AXES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Cells:
    """Groups as parts of an order: those that are near each other in it are near in their coordinates."""

    order: IntArray
    offsets: IntArray

    def labels(self) -> IntArray:
        """Return the group of each row."""
        out = np.empty(len(self.order), dtype=np.int64)
        out[self.order] = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        return out


def coordinates(features: Features) -> FloatArray:
    """Return what the other blocks predict of each feature, turned to its principal axes."""
    values, block = features.values, features.block
    n, p = values.shape
    gram = values.T @ values / n
    precision = np.linalg.inv(gram + _PENALTY * p / n * np.eye(p))
    weights = np.zeros((p, p))
    for b in np.unique(block):
        own, others = np.flatnonzero(block == b), np.flatnonzero(block != b)
        weights[np.ix_(others, own)] = -precision[np.ix_(others, own)] @ np.linalg.inv(precision[np.ix_(own, own)])
    spread, axes = np.linalg.eigh(weights.T @ gram @ weights)
    used = np.argsort(-spread)[: min(p, _MOST_AXES)]
    return np.ascontiguousarray(values @ (weights @ axes[:, used]))


def halved(points: FloatArray, k: int, rng: Generator, strata: IntArray | None = None) -> Cells:
    """Return groups of `k` by halving, each within one of the `strata`; every stratum has at least k rows."""
    from shoal.group._balance_kernels import halve

    place = np.zeros(len(points), dtype=np.int64) if strata is None else strata
    mixed = rng.permutation(len(points))
    order = mixed[np.argsort(place[mixed], kind="stable")]
    start = rng.normal(size=(points.shape[1],))
    ends = np.cumsum(np.bincount(place))
    cuts = [np.zeros(1, dtype=np.int64)]
    for low, high in zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True):
        if high > low:
            cuts.append(halve(points, order, low, high, k, start))
    return Cells(order=order, offsets=np.concatenate(cuts))
