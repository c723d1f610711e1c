"""Plain microaggregation: every record gets its group's centre.

Numeric columns get the group's mean (rounded where the column holds whole numbers, or to its declared step), ordinal
ones the mean position rounded to the nearest level that occurs, nominal ones the group's most frequent level (ties: the
level more frequent overall). A number or a reason, a level or a reason: the mean of the numbers or positions
where at least half of the group have one, else the most frequent reason; an absence is never averaged with a value.

With ``center="medoid"`` the centre is a value that occurs (Miche et al. 2016, eq 3): the lower median of numbers and
positions, the most frequent level of nominal columns. `Flatten` does the same under metrics of the user's own.

Promised: the rows of a group are equal, so every combination of quasi-identifiers is shared by at least k persons
(k-anonymity, verified on the written file). Not promised: variances and correlations shrink, distributions collapse
onto few points. It is the baseline.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from shoal.arrays import FloatArray, Generator
from shoal.distance.medoid import lower_medians, modes
from shoal.encode import Coding
from shoal.mask.mask import BlindMask, ValueSets
from shoal.method import ReportText
from shoal.params import Help

__all__ = ["Centroid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Centroid(BlindMask):
    """Replace each group's values by their centre.

    Parameters
    ----------
    center
        ``"mean"``, or ``"medoid"``: the value with the least total distance to the group's. A medoid is a value that
        somebody has, and resists outliers.

    Notes
    -----
    Survey weights are not used. Cost: one pass, n·d.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [21, 22, 23, 61, 62, 63]})
    >>> schema = shoal.Schema.of(quasi=["age"])
    >>> release = shoal.anonymize(table, schema, group=shoal.MDAV(k=3), mask=shoal.Centroid(), seed=1)
    >>> sorted(release.table["age"].unique())
    [22, 62]
    """

    title = "group centre"
    summary = "Everyone in a group gets its mean or most frequent level: plain microaggregation."
    promise = "k-anonymity, counted again on the written file."
    report_text = ReportText(
        done="All members of a group got the same values: the group's average, or the level nearest to it.",
        writes="replaced: the average of the person's group, or the level nearest to it",
        keeps="The mean of each group; spread and correlations shrink.",
    )
    rank = 1

    collapses: ClassVar[bool] = True

    center: Annotated[Literal["mean", "medoid"], Help("mean of a group, or its medoid")] = "mean"

    def draw(self, sets: ValueSets, rng: Generator) -> FloatArray:
        """Each group's centre, once per member."""
        if self.center == "medoid":
            return np.repeat(_medoids(sets), sets.sizes, axis=0)
        columns = [
            _mode(sets, j, coding) if coding.unordered else _mean(sets, j, coding)
            for j, coding in enumerate(sets.encoder.codings)
        ]
        return np.repeat(np.column_stack(columns), sets.sizes, axis=0)


def _medoids(sets: ValueSets) -> FloatArray:
    columns = [
        modes(sets.values[:, j], sets.groups)
        if coding.kind == "nominal"
        else lower_medians(sets.values[:, j], sets.groups, coding.edge)
        for j, coding in enumerate(sets.encoder.codings)
    ]
    return np.column_stack(columns)


def _mean(sets: ValueSets, j: int, coding: Coding) -> FloatArray:
    if coding.atoms is not None:
        return _number_or_reason(sets, j, coding)
    column = sets.values[:, j]
    # Deviations from the group's first value: a group of equal values keeps that value to the last bit.
    first = column[sets.offsets[:-1]]
    sums = np.add.reduceat(column - np.repeat(first, sets.sizes), sets.offsets[:-1])
    return coding.snap(coding.to_step(first + sums / sets.sizes))


def _number_or_reason(sets: ValueSets, j: int, coding: Coding) -> FloatArray:
    """The mean of the numbers of each group, or its most frequent reason where more than half have none."""
    column = sets.values[:, j]
    absent, n_groups = coding.is_absent(column), len(sets.sizes)
    n_present = np.bincount(sets.groups[~absent], minlength=n_groups)
    deviations = np.where(absent, 0.0, column - coding.center)
    means = coding.center + np.add.reduceat(deviations, sets.offsets[:-1]) / np.maximum(n_present, 1)
    atoms = np.asarray(coding.atoms)
    counts = np.zeros((n_groups, len(atoms) + 1))
    np.add.at(counts, (sets.groups, coding.reason(column)), 1.0)
    commonest = atoms[counts[:, 1:].argmax(axis=1)]
    means = coding.snap(np.minimum(coding.to_step(means), coding.edge))
    return np.where(2 * n_present >= sets.sizes, means, commonest)


def _mode(sets: ValueSets, j: int, coding: Coding) -> FloatArray:
    counts = np.zeros((len(sets.sizes), coding.n_levels))
    np.add.at(counts, (sets.groups, sets.values[:, j].astype(np.int64)), 1.0)
    modes: FloatArray = counts.argmax(axis=1).astype(np.float64)
    return modes
