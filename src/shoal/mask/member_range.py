"""How far out a crowd's own members are: the reach of (5), and the range that strict push-back keeps to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.arrays import BoolArray, FloatArray, Generator, IntArray
from shoal.distance.space import Space
from shoal.mask.crowd import Crowd
from shoal.mask.hosts import Move

__all__ = ["MemberRange"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRange:
    """The members of the hosts, before anybody joins them.

    Parameters
    ----------
    crowd
        All records.
    centers
        The centre of each host.
    rows, offsets
        Host h has the members ``rows[offsets[h]:offsets[h + 1]]``.
    reach
        The largest distance of a member to the centre, host by host and column by column.
    """

    crowd: Crowd
    centers: FloatArray
    rows: IntArray
    offsets: IntArray
    reach: FloatArray

    @classmethod
    def of(cls, crowd: Crowd, move: Move) -> MemberRange:
        """Collect the members of the hosts."""
        starts, ends = crowd.offsets[move.hosts], crowd.offsets[move.hosts + 1]
        rows = np.concatenate([crowd.order[a:b] for a, b in zip(starts, ends, strict=True)])
        offsets = np.concatenate(([0], np.cumsum(ends - starts))).astype(np.int64)
        own = np.repeat(move.centers, ends - starts, axis=0)
        far = np.column_stack([s.distance(crowd.positions[rows, j], own[:, j]) for j, s in enumerate(crowd.spaces)])
        reach = np.maximum.reduceat(far, offsets[:-1], axis=0)
        return cls(crowd=crowd, centers=move.centers, rows=rows, offsets=offsets, reach=reach)

    def of_host(self, host: int) -> FloatArray:
        """Where the members of one host lie."""
        return self.crowd.positions[self.rows[self.offsets[host] : self.offsets[host + 1]]]

    def too_far(self, positions: FloatArray, move: Move) -> BoolArray:
        """Which values are farther from their host's centre than any member's (5)."""
        columns = [
            space.distance(positions[:, j], self.centers[move.to, j]) > self.reach[move.to, j]
            for j, space in enumerate(self.crowd.spaces)
        ]
        return np.column_stack(columns)

    def outside(self, positions: FloatArray, move: Move) -> BoolArray:
        """Which values would make their host wider than its members are."""
        return np.column_stack([self._outside(s, j, positions[:, j], move.to) for j, s in enumerate(self.crowd.spaces)])

    def drawn(self, move: Move, rng: Generator) -> FloatArray:
        """A value of a random member of the host for every cell (8)."""
        sizes = np.diff(self.offsets)[move.to]
        picks = np.floor(rng.random((len(move.to), len(self.crowd.places))) * sizes[:, None]).astype(np.int64)
        rows = self.rows[self.offsets[move.to][:, None] + picks]
        values: FloatArray = self.crowd.positions[rows, np.arange(len(self.crowd.places))]
        return values

    def _outside(self, space: Space, j: int, values: FloatArray, to: IntArray) -> BoolArray:
        own = self.crowd.positions[self.rows, j]
        low: FloatArray = np.minimum.reduceat(own, self.offsets[:-1])[to]
        high: FloatArray = np.maximum.reduceat(own, self.offsets[:-1])[to]
        if space.shape == "line":
            return (values < low) | (values > high)
        if space.table is None:
            differs: BoolArray = (low == high) & (values != low)  # two levels in a group are as far apart as any
            return differs
        width = len(space.table)
        hosts = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        absent: BoolArray = ~np.isin(to * width + values.astype(np.int64), hosts * width + own.astype(np.int64))
        return absent
