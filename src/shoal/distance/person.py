"""Where a person of several rows lies: the mean of their numbers, the most frequent of their levels."""

from __future__ import annotations

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.distance.medoid import modes
from shoal.distance.space import Spaces

__all__ = ["person_positions"]


def person_positions(positions: FloatArray, spaces: Spaces, units: IntArray) -> FloatArray:
    """One row of positions per person, whatever the order of the rows."""
    counts = np.bincount(units)
    if len(counts) == len(units):
        return positions[np.argsort(units)]
    columns = [
        _means(positions[:, j], units, counts) if space.shape == "line" else modes(positions[:, j], units)
        for j, space in enumerate(spaces)
    ]
    return np.column_stack(columns)


def _means(values: FloatArray, units: IntArray, counts: IntArray) -> FloatArray:
    ordered = values[np.lexsort((values, units))]  # sorted sums: the order of the file changes no bit
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    out: FloatArray = np.add.reduceat(ordered, starts) / counts
    return out
