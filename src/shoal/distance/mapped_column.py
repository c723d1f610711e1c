"""What the metric mapping (eq 1) did to a column: distances between random pairs of records, before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, Generator
from shoal.distance.space import Space

__all__ = ["MappedColumn"]

_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedColumn:
    """Distances of a column between random pairs, before and after mapping, as shares of ten bins each."""

    name: str
    metric: str
    before: tuple[float, ...]
    after: tuple[float, ...]
    largest: float

    @classmethod
    def of(cls, space: Space, positions: FloatArray, rng: Generator) -> MappedColumn:
        """Pair each record with another at random; bins reach from 0 to the largest distance, mapped ones to 1."""
        raw = space.distance(positions[rng.permutation(len(positions))], positions)
        top = float(raw.max()) or 1.0
        ends = ((raw, top), (space.mapping.at(raw), 1.0))
        before, after = (np.histogram(x, bins=_BINS, range=(0, end))[0] / len(raw) for x, end in ends)
        return cls(
            name=space.name,
            metric=space.shape,
            before=tuple(before.tolist()),
            after=tuple(after.tolist()),
            largest=top,
        )
