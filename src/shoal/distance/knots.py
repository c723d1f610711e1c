"""A monotone function given by its knots, and its inverse."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray

__all__ = ["MOST_KNOTS", "Knots"]

MOST_KNOTS = 513


@dataclass(frozen=True, slots=True, kw_only=True)
class Knots:
    """The function that is `y` at `x` (both increasing from 0), linear in between, constant after the last."""

    x: FloatArray
    y: FloatArray

    def at(self, distances: FloatArray) -> FloatArray:
        """Mapped distances."""
        out: FloatArray = np.interp(distances, self.x, self.y)
        return out

    def reach(self, mapped: float) -> float:
        """The largest distance whose mapped one is at most `mapped`; infinite where all are."""
        if mapped >= self.y[-1]:
            return np.inf
        below = self.x[np.searchsorted(self.y, mapped, side="right") - 1]
        return float(max(below, np.interp(mapped, self.y, self.x)))
