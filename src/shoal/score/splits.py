"""Every yes-or-no question that a public domain allows, and the 2×2 tables of all of them at once.

Ordered cells (numbers, ordinal levels) are asked by cumulative cuts, *cell from c on*; nominal levels one by one. A
missing category is one more level; the cut of an ordinal feature answers no for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.domain import Axis
from shoal.score.features import Features

__all__ = ["Splits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """The candidate questions: the answer is yes where low ≤ cell < high of the variable."""

    variable: IntArray
    low: IntArray
    high: IntArray
    offsets: IntArray
    members: FloatArray  # questions × all cells: 1 where the cell answers yes
    first: FloatArray  # all cells: 1 for those of the first variable, which count each record once

    @classmethod
    def of(cls, features: Features) -> Splits:
        """All questions about the features."""
        rows = [(j, *span) for j, feature in enumerate(features.axes) for span in _spans(feature)]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        sizes = np.array(features.sizes, dtype=np.int64)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        cells = np.arange(offsets[-1])
        start = offsets[table[:, 0]]
        members = (cells >= (start + table[:, 1])[:, None]) & (cells < (start + table[:, 2])[:, None])
        return cls(
            variable=table[:, 0],
            low=table[:, 1],
            high=table[:, 2],
            offsets=offsets,
            members=members.astype(np.float64),
            first=(cells < sizes[0]).astype(np.float64),
        )

    def __len__(self) -> int:
        return len(self.variable)

    def keys(self, codes: IntArray, y: IntArray) -> IntArray:
        """For each record and variable the number of its (cell, class) among all."""
        return (codes + self.offsets[:-1]) * 2 + y[:, None]

    def tables(self, keys: IntArray, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """The 2×2 table (no/yes by class) of every question, and the class counts of the records in `keys`."""
        spread = None if weights is None else np.repeat(weights, keys.shape[1])
        counts = np.bincount(keys.ravel(), spread, minlength=2 * int(self.offsets[-1])).reshape(-1, 2)
        total = self.first @ counts
        yes = self.members @ counts
        return np.stack([total - yes, yes], axis=1), total


def _spans(axis: Axis) -> list[tuple[int, int]]:
    ordered = axis.n_ordered
    cuts = [(cut, ordered) for cut in range(1, ordered)]
    alone = [(cell, cell + 1) for cell in range(ordered, axis.size)]
    return cuts + alone
