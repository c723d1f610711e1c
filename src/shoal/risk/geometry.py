"""How far apart two rows of codes are: numbers by their difference, levels by whether they are equal.

    d²(x, y) = Σ_numbers ((x_j − y_j) / s_j)² + Σ_levels m_j [x_j ≠ y_j]

A nominal column isn't spread over one indicator a level: between indicators of height h any two different levels are
2 h² apart, so its part of d² is a constant m_j = 2 h² or nothing. A code beyond the last level is blank: it
equals other blanks and is b_j away from every level.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolArray, FloatArray
from shoal.encode import Coding, Encoder

__all__ = ["Geometry"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """The scale of each column of codes, and what a difference of levels costs.

    Parameters
    ----------
    centers, scales
        Of the numbers; 0 and 1 for columns of levels.
    unordered
        Which columns are levels.
    mismatch, blank
        Squared distance between two levels (m_j), and between a level and a blank (b_j).
    n_levels
        Number of levels; codes from there on are blank.
    """

    centers: FloatArray
    scales: FloatArray
    unordered: BoolArray
    mismatch: FloatArray
    blank: FloatArray
    n_levels: FloatArray

    @classmethod
    def plain(cls, n_columns: int) -> Geometry:
        """Euclidean distance between codes as they are."""
        return cls.numbers(np.zeros(n_columns), np.ones(n_columns))

    @classmethod
    def numbers(cls, centers: FloatArray, scales: FloatArray) -> Geometry:
        """Euclidean distance between scaled numbers."""
        none = np.zeros(len(centers))
        return cls(
            centers=centers,
            scales=scales,
            unordered=none.astype(np.bool_),
            mismatch=none,
            blank=none,
            n_levels=none,
        )

    @classmethod
    def standardised(cls, encoder: Encoder) -> Geometry:
        """The Euclidean distance between `Encoder.points`."""
        codings = encoder.codings
        height = np.array([_squared_height(coding) for coding in codings])
        centers, scales = np.array([c.center for c in codings]), np.array([c.scale for c in codings])
        return cls.numbers(centers, scales).with_levels(codings, mismatch=2 * height, blank=height)

    def with_levels(self, codings: tuple[Coding, ...], *, mismatch: FloatArray, blank: FloatArray) -> Geometry:
        """The same for numbers, with levels in the unordered columns of `codings`."""
        unordered = np.array([coding.unordered for coding in codings], dtype=np.bool_)
        return Geometry(
            centers=np.where(unordered, 0.0, self.centers),
            scales=np.where(unordered, 1.0, self.scales),
            unordered=unordered,
            mismatch=np.where(unordered, mismatch, 0.0),
            blank=np.where(unordered, blank, 0.0),
            n_levels=np.array([float(coding.n_levels) for coding in codings]),
        )

    @property
    def n_columns(self) -> int:
        """Number of columns that have a distance."""
        return len(self.scales)

    def coordinates(self, codes: FloatArray) -> FloatArray:
        """Codes as they are compared: scaled numbers (a missing one is the mean), levels, one number for all blanks.

        Columns on the right beyond `n_columns` have no distance.
        """
        scaled: FloatArray = (codes[:, : self.n_columns] - self.centers) / self.scales
        np.nan_to_num(scaled, copy=False, nan=0.0)
        for j in np.flatnonzero(self.unordered):
            np.minimum(scaled[:, j], self.n_levels[j], out=scaled[:, j])
        return np.ascontiguousarray(scaled)

    def squared_distances(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """d² between the coordinates `first` and `second`, row by row."""
        total = np.zeros(len(first))
        for j in range(self.n_columns):
            a, b = first[:, j], second[:, j]
            if self.unordered[j]:
                is_blank = np.maximum(a, b) >= self.n_levels[j]
                total += np.where(a == b, 0.0, np.where(is_blank, self.blank[j], self.mismatch[j]))
            else:
                total += (a - b) ** 2
        return total


def _squared_height(coding: Coding) -> float:
    """The square of the height of an indicator in `Encoder.points`: 1 / (1 − Σ p²)."""
    if coding.shares is None:
        return 0.0
    return 1.0 / (float(1.0 - np.sum(coding.shares**2)) or 1.0)
