"""Has a cluster kept its shape? The divergence of its members' distances to the centre, before and after.

Distances fall into 10 bins of equal width from 0 to the largest before; what lies beyond counts in the last. Each bin
starts with half a count, so that an empty one is no infinity:

    p_b = (c_b + ½) / (n + 5),      KL(p, p') = Σ_b p_b ln(p_b / p'_b)    in nats.

It is a comparison of shapes, not a measure of privacy: whoever changes nothing has KL = 0.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, IntArray

__all__ = ["BINS", "PSEUDO", "bins_of", "changed_shapes", "divergence", "group_divergences", "joint"]

BINS = 10
PSEUDO = 0.5


def joint(far: FloatArray) -> FloatArray:
    """Sum of the mapped distances of each record, from the first column to the last, as the kernels add them."""
    total = np.zeros(len(far))
    for column in far.T:
        total += column
    return total


def bins_of(distances: FloatArray, top: FloatArray) -> IntArray:
    """The bin of each distance, `top` being the largest before (one number for each)."""
    safe = np.where(top > 0, top, 1.0)
    return np.clip((distances / safe * BINS).astype(np.int64), 0, BINS - 1)


def divergence(before: IntArray, after: IntArray) -> FloatArray:
    """KL of the counts of bins along the last axis, in nats."""
    p = (before + PSEUDO) / (before.sum(axis=-1, keepdims=True) + BINS * PSEUDO)
    q = (after + PSEUDO) / (after.sum(axis=-1, keepdims=True) + BINS * PSEUDO)
    out: FloatArray = np.maximum(0.0, np.sum(p * np.log(p / q), axis=-1))
    return out


def group_divergences(before: FloatArray, after: FloatArray, labels: IntArray) -> FloatArray:
    """KL of each group's distances before and after, of the same records."""
    return changed_shapes(before, labels, after, labels)


def changed_shapes(before: FloatArray, labels: IntArray, after: FloatArray, later: IntArray) -> FloatArray:
    """KL of each group's distances before and after, where other records may be in it after (`later` their labels)."""
    n_groups = int(labels.max()) + 1
    top = np.zeros(n_groups)
    np.maximum.at(top, labels, before)
    counted = [
        np.bincount(own * BINS + bins_of(d, top[own]), minlength=n_groups * BINS).reshape(n_groups, BINS)
        for d, own in ((before, labels), (after, later))
    ]
    return divergence(counted[0], counted[1])
