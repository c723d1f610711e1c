"""Metric mapping: distances of unlike columns made comparable (eq 1).

A distance of 5 years and one of 1 nationality can't be added. Each column's distances are therefore mapped, by a
monotone function, so that the distances of two records drawn at random follow the law that they would follow if the
column were uniform on 0..1: that of |U − U'|, with

    F(t) = 1 − (1 − t)²,        F⁻¹(p) = 1 − sqrt(1 − p).

For a distance d > 0 of the column let p = P(D < d) + P(D = d)/2 over pairs of records; then

    map(d) = F⁻¹(p),     map(0) = 0.

Where distances are continuous the mapped ones follow F exactly. Where they have atoms they can't: a distance of two
values stays one of two values, and a mismatch that holds between a share q of the pairs becomes 1 − sqrt(q/2), so a
difference counts more the rarer it is. The anchor at 0 is our addition (the plain quantile mapping would put two equal
values apart), and mapped distances need not obey the triangle inequality.

The law of a column's distances depends on its values alone, not on who has them. It is exact for columns of up to 512
distinct values; else 512 evenly spaced order statistics stand for the column. No random choice enters.
"""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.distance.knots import MOST_KNOTS, Knots

__all__ = ["line_pairs", "map_distances", "reference_quantile", "table_pairs"]

_SAMPLE = 512


def map_distances(distances: FloatArray, weights: FloatArray) -> Knots:
    """The mapping for a column whose pairs are at `distances` with `weights` (zeros among them count as pairs)."""
    found, place = np.unique(distances, return_inverse=True)
    mass = np.bincount(place.reshape(-1), weights=weights)
    p = (np.cumsum(mass) - mass / 2) / mass.sum() if mass.sum() > 0 else np.zeros(len(found))
    positive = (found > 0) & (mass > 0)
    x, y = found[positive], reference_quantile(p[positive])
    if len(x) == 0:
        x, y = np.array([1.0]), np.array([1.0])  # a constant column: whatever differs is as far as can be
    if len(x) > MOST_KNOTS - 1:
        kept = np.unique(np.linspace(0, len(x) - 1, MOST_KNOTS - 1).round().astype(np.int64))
        x, y = x[kept], y[kept]
    return Knots(x=np.concatenate(([0.0], x)), y=np.concatenate(([0.0], y)))


def reference_quantile(p: FloatArray) -> FloatArray:
    """F⁻¹(p) of |U − U'|."""
    out: FloatArray = 1.0 - np.sqrt(1.0 - np.clip(p, 0.0, 1.0))
    return out


def line_pairs(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distances |a − b| between records with these values, and the weight of each."""
    found, counts = np.unique(values, return_counts=True)
    if len(found) > _SAMPLE:
        ordered = np.sort(values)
        found, counts = np.unique(
            ordered[np.linspace(0, len(ordered) - 1, _SAMPLE).round().astype(np.int64)], return_counts=True
        )
    return _pairs(np.abs(found[:, None] - found), counts)


def table_pairs(table: FloatArray, positions: IntArray) -> tuple[FloatArray, FloatArray]:
    """Distances between records at these rows of a table, and the weight of each."""
    return _pairs(table, np.bincount(positions, minlength=len(table)))


def _pairs(table: FloatArray, counts: IntArray) -> tuple[FloatArray, FloatArray]:
    """Every unordered pair of different records once: c_a c_b of different values, c(c − 1)/2 of the same."""
    upper = np.triu_indices(len(table))
    weights = (counts[upper[0]] * counts[upper[1]]).astype(np.float64)
    same = upper[0] == upper[1]
    weights[same] = counts * (counts - 1) / 2
    return table[upper], weights
