"""Attacker models: prosecutor, journalist and marketer, as used in health-data practice (El Emam 2013).

For a class with f persons in the table and F in the population:

- prosecutor: knows that a certain person is in the table; risk 1/f for each of the class's records;
- journalist: doesn't know who is in the table and matches against a register of the population; risk 1/F;
- marketer: wants to re-identify as many records as possible; risk f/F for a class, the mean over records of 1/F.

F is estimated by the sum of the survey weights in the class, or by f · N/n for a population of N; it is never below f.
With neither, the table is taken to be the population: F = f, the worst case. The models look at classes of equal
values only: where a mask moved the values, `reidentification` is the measure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from shoal.arrays import FloatArray
from shoal.equivalence import Classes
from shoal.errors import ParameterError
from shoal.frame import Frame, enter
from shoal.record import Record
from shoal.risk.class_sizes import table_classes
from shoal.risk.population_size import estimated_size, person_weights
from shoal.schema import Schema

__all__ = ["AttackerRisk", "Attackers", "attackers", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackerRisk(Record):
    """Risk of single records under one attacker: the largest, the mean, and the share above the threshold."""

    releasable: ClassVar[bool] = True

    largest: float
    mean: float
    above_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attackers(Record):
    """The three attackers.

    Parameters
    ----------
    prosecutor, journalist
        Risk of single records.
    marketer
        Expected share of records that are matched rightly.
    threshold
        The risk above which a record counts in `above_share`.
    population
        Estimated size of the population, None where the table is taken to be it.
    """

    releasable: ClassVar[bool] = True

    prosecutor: AttackerRisk
    journalist: AttackerRisk
    marketer: float
    threshold: float
    population: float | None


def attackers(table: Any, schema: Schema, population: float | None = None, threshold: float = 0.2) -> Attackers:
    """Risk of a table under the prosecutor, journalist and marketer models.

    Parameters
    ----------
    table, schema
        A table of any dataframe type with the schema's quasi-identifiers, and which they are.
    population
        Number of persons that the table was drawn from. None: the sum of the survey weights where the table has
        them, else the table is taken to be the population.
    threshold
        Records with a larger risk count in `above_share`; 0.2 is one person in five.

    Notes
    -----
    Missing quasi values are a level of their own. With a unit column classes count persons. Weights give each class
    its size in the population. Cost: O(n).

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 41, 41, 57]})
    >>> result = shoal.risk.attackers(table, shoal.Schema.of(quasi=["age"]), population=60)
    >>> result.prosecutor.largest, result.journalist.largest, round(result.marketer, 3)
    (1.0, 0.1, 0.05)
    """
    return measure(enter(table), schema, population, threshold)


def measure(
    frame: Frame,
    schema: Schema,
    population: float | None = None,
    threshold: float = 0.2,
    *,
    found: Classes | None = None,
) -> Attackers:
    """`attackers` of a frame that has already entered; `found` are its classes, where they are already known."""
    if not 0 <= threshold <= 1:
        raise ParameterError("attackers", "threshold must be a number from 0 to 1", got=repr(threshold)[:60])
    found = table_classes(frame, schema) if found is None else found
    size, F = _population_sizes(frame, schema, found, population)
    prosecutor = 1.0 / found.row_sizes
    journalist = 1.0 / F[found.labels]
    return Attackers(
        prosecutor=_summary(prosecutor, threshold),
        journalist=_summary(journalist, threshold),
        marketer=float(journalist.mean()),
        threshold=threshold,
        population=size,
    )


def _population_sizes(
    frame: Frame, schema: Schema, found: Classes, population: float | None
) -> tuple[float | None, FloatArray]:
    """Size of the population and of each class in it."""
    f = found.sizes.astype(np.float64)
    size = estimated_size(frame, schema, found, population)
    if size is None:
        return None, f
    weights = person_weights(frame, schema, found)
    if population is not None or weights is None:
        return size, f * (size / f.sum())
    return size, np.maximum(f, weights)


def _summary(risk: FloatArray, threshold: float) -> AttackerRisk:
    return AttackerRisk(
        largest=float(risk.max()), mean=float(risk.mean()), above_share=float((risk > threshold).mean())
    )
