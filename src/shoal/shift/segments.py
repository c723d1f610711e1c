"""A market by level of each column: who they are, what they cost, where the weights lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.errors import InputError
from shoal.shift.assessment import WeightCell
from shoal.shift.people import named
from shoal.shift.populations import Populations
from shoal.shift.tally import ratio, sums_by

__all__ = ["Level", "levels_of", "unseen_levels", "weight_map"]

MOST_LEVELS = 12
"""Columns with more cells are left out of segments and weight maps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level of one column, and the combinations that have it."""

    column: str
    label: str
    points: IntArray


def levels_of(populations: Populations, target: FloatArray) -> tuple[Level, ...]:
    """The levels in which somebody is expected, of every column that hasn't too many."""
    design = populations.design
    cells = design.cells(populations.points)
    out: list[Level] = []
    for j, factor in enumerate(design.factors):
        there = np.flatnonzero(sums_by(cells[:, j], target, factor.axis.size) > 0)
        labels = factor.axis.labels()
        if len(there) <= MOST_LEVELS:
            out += [
                Level(column=factor.name, label=labels[cell], points=np.flatnonzero(cells[:, j] == cell))
                for cell in there
            ]
    return tuple(out)


def unseen_levels(populations: Populations, target: FloatArray, limit: float) -> list[str]:
    """Say which levels of the new market no member has; more than `limit` of the market there is an error."""
    design = populations.design
    cells = design.cells(populations.points)
    notes: list[str] = []
    for j, factor in enumerate(design.factors):
        there = sums_by(cells[:, j], target, factor.axis.size) / target.sum()
        seen = sums_by(cells[:, j], populations.tables[0].mass, factor.axis.size) > 0
        gaps = np.flatnonzero((there > 0) & ~seen)
        share = float(there[gaps].sum())
        if share == 0:
            continue
        words = f"{named([factor.axis.labels()[i] for i in gaps])} ({share:.1%} of the new market)"
        if share > limit:
            raise InputError(
                "new market",
                f"must not have more than {limit:.0%} of people at levels that no member has",
                got=f"column '{factor.name}', {words}",
                hint="Merge levels, drop these people, or raise limit.",
            )
        notes.append(f"No member has {factor.name} = {words}; their cost is extrapolated from other levels.")
    return notes


def weight_map(populations: Populations, w: FloatArray) -> tuple[WeightCell, ...]:
    """Mean weight of the existing market's people at each pair of levels, for every pair of columns."""
    factors = populations.design.factors
    few = [j for j, factor in enumerate(factors) if 1 < factor.axis.size - 1 <= MOST_LEVELS]
    pairs = [(i, j) for n, i in enumerate(few) for j in few[n + 1 :]]
    return tuple(cell for i, j in pairs for cell in _pair_cells(populations, w, i, j))


def _pair_cells(populations: Populations, w: FloatArray, i: int, j: int) -> Iterator[WeightCell]:
    first, second = populations.design.factors[i], populations.design.factors[j]
    cells = populations.design.cells(populations.points)
    shape = (first.axis.size, second.axis.size)
    key = np.ravel_multi_index((cells[:, i], cells[:, j]), shape).astype(np.int64)
    _, existing, new = populations.tables
    mass, weighted, q = (sums_by(key, x, shape[0] * shape[1]) for x in (existing.mass, existing.mass * w, new.mass))
    means = ratio(weighted, mass)
    rows, columns = first.axis.labels(), second.axis.labels()
    for place in np.flatnonzero(mass > 0):
        row, column = np.unravel_index(place, shape)
        yield WeightCell(
            columns=(first.name, second.name),
            levels=(rows[row], columns[column]),
            weight=float(means[place]),
            new_share=float(q[place] / q.sum()),
        )
