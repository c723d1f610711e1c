"""Has a cluster kept its shape? The divergence of its members' distances to the centre, before and after.

Distances fall into 10 bins of equal width from 0 to the largest before; what lies beyond counts in the last. Two
measures. For ``"kl"`` each bin starts with half a count, so that an empty one is no infinity:

    p_b = (c_b + ½) / (n + 5),      KL(p, p') = Σ_b p_b ln(p_b / p'_b)    in nats.

``"emd"``, the earth mover's distance, is how far the members have to move on average, as a share of the largest
distance:

    p_b = c_b / n,      EMD(p, p') = Σ_b |P_b − P'_b| / 10,      P, P' the cumulative sums.

Either is a comparison of shapes, not a measure of privacy: whoever changes nothing has 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from shoal.arrays import FloatArray, IntArray

__all__ = [
    "BINS",
    "PSEUDO",
    "UNITS",
    "ShapeMeasure",
    "bins_of",
    "changed_shapes",
    "divergence",
    "group_divergences",
    "joint",
]

ShapeMeasure = Literal["kl", "emd"]
UNITS: dict[ShapeMeasure, str] = {"kl": "nats", "emd": "of the largest distance"}

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


def divergence(before: IntArray, after: IntArray, measure: ShapeMeasure = "kl") -> FloatArray:
    """How far the counts of bins along the last axis are apart: KL in nats, or the earth mover's distance."""
    if measure == "emd":
        shares = [counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1) for counts in (before, after)]
        gaps: FloatArray = np.abs(np.cumsum(shares[0] - shares[1], axis=-1)).sum(axis=-1) / BINS
        return gaps
    p = (before + PSEUDO) / (before.sum(axis=-1, keepdims=True) + BINS * PSEUDO)
    q = (after + PSEUDO) / (after.sum(axis=-1, keepdims=True) + BINS * PSEUDO)
    out: FloatArray = np.maximum(0.0, np.sum(p * np.log(p / q), axis=-1))
    return out


def group_divergences(
    before: FloatArray, after: FloatArray, labels: IntArray, measure: ShapeMeasure = "kl"
) -> FloatArray:
    """Divergence of each group's distances before and after, of the same records."""
    return changed_shapes(before, labels, after, labels, measure)


def changed_shapes(
    before: FloatArray, labels: IntArray, after: FloatArray, later: IntArray, measure: ShapeMeasure = "kl"
) -> FloatArray:
    """Divergence of each group's distances, where other records may be in it after (`later` their labels)."""
    n_groups = int(labels.max()) + 1
    top = np.zeros(n_groups)
    np.maximum.at(top, labels, before)
    counted = [
        np.bincount(own * BINS + bins_of(d, top[own]), minlength=n_groups * BINS).reshape(n_groups, BINS)
        for d, own in ((before, labels), (after, later))
    ]
    return divergence(counted[0], counted[1], measure)
