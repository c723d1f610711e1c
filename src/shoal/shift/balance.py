"""Does the weighted existing market look like the new one? Shares of every level, before and after weighting.

For each level of each covariate: its share in the existing market, in the existing market weighted by w, and in the
new market, which the second should match; and its share among the members, before and after, whom the weights carry
towards the new market's enrolment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.arrays import FloatArray
from shoal.shift.populations import Populations
from shoal.shift.tally import sums_by

__all__ = ["LevelBalance", "balance_table", "effective_sample_size", "imbalance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelBalance:
    """Shares of one level of one column."""

    column: str
    level: str
    existing: float
    weighted: float
    new: float
    members: float
    weighted_members: float

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe words."""
        return {name: getattr(self, name) for name in self.__slots__}


def balance_table(
    populations: Populations, existing: FloatArray, new: FloatArray, members: FloatArray, w: FloatArray
) -> tuple[LevelBalance, ...]:
    """Shares of each level; all arrays are masses on the combinations, `w` the weight of each."""
    masses = (existing, existing * w, new, members, members * w)
    rows: list[LevelBalance] = []
    cells = populations.design.cells(populations.points)
    for j, factor in enumerate(populations.design.factors):
        shares = [_shares(sums_by(cells[:, j], mass, factor.axis.size)) for mass in masses]
        for i, level in enumerate(factor.axis.labels()):
            row = [float(share[i]) for share in shares]
            if any(row):
                rows.append(_level(factor.name, level, row))
    return tuple(rows)


def imbalance(rows: Sequence[LevelBalance], which: str = "weighted") -> dict[str, float]:
    """Total variation from the new market, column by column; `which` is ``"existing"`` or ``"weighted"``."""
    out: dict[str, float] = {}
    for row in rows:
        out[row.column] = out.get(row.column, 0.0) + 0.5 * abs(getattr(row, which) - row.new)
    return out


def effective_sample_size(weights: FloatArray) -> float:
    """Kish's (Σw)² / Σw²: how many equally weighted records say as much."""
    squares = float(np.sum(weights**2))
    return float(np.sum(weights) ** 2 / squares) if squares > 0 else 0.0


def _level(column: str, level: str, row: Sequence[float]) -> LevelBalance:
    existing, weighted, new, members, weighted_members = row
    return LevelBalance(
        column=column,
        level=level,
        existing=existing,
        weighted=weighted,
        new=new,
        members=members,
        weighted_members=weighted_members,
    )


def _shares(mass: FloatArray) -> FloatArray:
    total = mass.sum()
    return mass / total if total > 0 else mass
