"""Records as points without indicator columns: numbers, and levels with the height that their indicators would have.

A nominal column of L levels stands for L indicators of height h (`Encoder.points`): any two different levels are
√2·h apart. A county of 200 levels is one column here and 200 there. Kernels work on plain coordinates, so `dense`
spells the indicators out, but only of the levels that occur: a block of neighbours has few.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolArray, FloatArray, IntArray
from shoal.encode import Encoder

__all__ = ["Points"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """One row per record, one column per variable.

    Parameters
    ----------
    values
        Coordinates, and codes of levels.
    heights
        Per column: the height h of its indicators; 0 for a column of coordinates.
    """

    values: FloatArray
    heights: FloatArray

    @classmethod
    def of(cls, coordinates: FloatArray) -> Points:
        """Plain coordinates."""
        return cls(values=coordinates, heights=np.zeros(coordinates.shape[1]))

    @classmethod
    def encoded(cls, encoder: Encoder, codes: FloatArray) -> Points:
        """What `Encoder.points` makes of `codes` of the table that the encoder was learnt from."""
        heights = np.array([coding.height for coding in encoder.codings])
        standard = encoder.standardise(codes) if encoder.codings else codes
        values: FloatArray = np.where(heights > 0, codes, np.nan_to_num(standard, nan=0.0))
        return cls(values=values, heights=heights)

    def __len__(self) -> int:
        return len(self.values)

    def __add__(self, others: Points) -> Points:
        """The columns of both."""
        return Points(
            values=np.hstack((self.values, others.values)), heights=np.concatenate((self.heights, others.heights))
        )

    def take(self, rows: IntArray) -> Points:
        """Some rows."""
        return Points(values=self.values[rows], heights=self.heights)

    @property
    def is_level(self) -> BoolArray:
        """Which columns hold levels."""
        levels: BoolArray = self.heights > 0
        return levels

    def keys(self) -> FloatArray:
        """Numbers that sort rows as their coordinates would: a row whose first indicator is 1 comes last."""
        keys: FloatArray = np.where(self.is_level, -self.values, self.values)
        return keys

    def counts(self, j: int) -> IntArray:
        """How many rows show each level of column j."""
        return np.bincount(self.values[:, j].astype(np.int64))

    @property
    def width(self) -> int:
        """Number of columns of `dense`."""
        levels: list[int] = np.flatnonzero(self.is_level).tolist()
        n_numbers = len(self.heights) - len(levels)
        return n_numbers + sum(_width(int(np.count_nonzero(self.counts(j)))) for j in levels)

    def variances(self) -> FloatArray:
        """Total variance of each column: Σ (x − x̄)² / n, or h² (1 − Σ p²)."""
        variances = np.zeros(len(self.heights))
        numbers = np.flatnonzero(~self.is_level)
        variances[numbers] = self.values[:, numbers].var(axis=0)
        for j in np.flatnonzero(self.is_level).tolist():
            shares = self.counts(j) / len(self)
            variances[j] = self.heights[j] ** 2 * (1.0 - np.sum(shares**2))
        return variances

    def dense(self) -> FloatArray:
        """Plain coordinates: an indicator per level that occurs; a level that all rows share takes no column."""
        columns = zip(self.values.T, self.heights, strict=True)
        parts = [_indicators(column, h) if h > 0 else column[:, None] for column, h in columns]
        return np.ascontiguousarray(np.hstack(parts)) if parts else self.values


def _width(n_levels: int) -> int:
    return n_levels if n_levels > 1 else 0


def _indicators(codes: FloatArray, height: float) -> FloatArray:
    levels = codes.astype(np.int64)
    present = np.bincount(levels) > 0
    place, n_levels = np.cumsum(present) - 1, _width(int(np.count_nonzero(present)))
    indicators = np.zeros((len(codes), n_levels))
    if n_levels:
        indicators[np.arange(len(codes)), place[levels]] = height
    return indicators
