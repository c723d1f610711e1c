"""Attacker models: prosecutor, journalist and marketer, as used in health-data practice (El Emam 2013).

For a class with f persons in the table and F in the population:

- prosecutor: knows that a certain person is in the table; risk 1/f for each of the class's records;
- journalist: doesn't know who is in the table and matches against a register of the population; risk 1/F;
- marketer: wants to re-identify as many records as possible; the mean over records of the journalist's risk.

F is unknown, so the risk is E(1/F | f) of a named model, never 1/(f N/n): that would give every unique record
exactly n/N, however rare it is. With survey weights the model is the negative binomial one, with p = f / Σ weights.
With the size of the population only, it is the one of negative binomial and Pitman that gives the larger mean, and
`spread` has both. The largest of them is the largest *expected* risk: if one unique record of the table is unique in
the population too, the true largest risk is 1. With neither, the table is taken to be the population: F = f, the worst
case.
The models look at classes of equal values only: where a mask moved the values, `reidentification` is the measure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal import frequency as posterior
from shoal.arrays import FloatArray, IntArray
from shoal.equivalence import Classes
from shoal.errors import ParameterError
from shoal.frame import Frame, enter
from shoal.frequency import drawn_alike, estimated_size, person_weights, sampling_fractions
from shoal.record import Interval, Record
from shoal.risk.class_sizes import table_classes
from shoal.risk.population import fit_pitman
from shoal.schema import Schema

__all__ = ["AttackerRisk", "Attackers", "attackers", "measure"]

Model = Literal["negative binomial", "pitman", "census"]


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
    model
        What the journalist's and the marketer's risk follow from: ``"negative binomial"``, ``"pitman"``, or
        ``"census"`` where the table is taken to be the population.
    matches
        Expected number of correct matches, over all persons and classes.
    population_uniques
        Expected number of population uniques among the table's uniques.
    spread
        The lowest and the highest marketer risk over the models that apply.
    """

    releasable: ClassVar[bool] = True

    prosecutor: AttackerRisk
    journalist: AttackerRisk
    marketer: float
    threshold: float
    population: float | None
    model: Model = "census"
    matches: float = 0.0
    population_uniques: float = 0.0
    spread: Interval = (0.0, 0.0)


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
    its sampling fraction. Cost: O(n), and some milliseconds for Pitman's model.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 41, 41, 57]})
    >>> result = shoal.risk.attackers(table, shoal.Schema.of(quasi=["age"]), population=60)
    >>> result.prosecutor.largest, round(result.journalist.largest, 3), round(result.marketer, 3)
    (1.0, 0.279, 0.102)
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
    size = estimated_size(frame, schema, found, population)
    models = _models(frame, schema, found, size)
    means = {name: float(risk @ found.sizes) / float(found.sizes.sum()) for name, (risk, _) in models.items()}
    model = max(models, key=lambda name: means[name])
    risk, unique = models[model]
    return Attackers(
        prosecutor=_summary(1.0 / found.row_sizes, threshold),
        journalist=_summary(risk[found.labels], threshold),
        marketer=means[model],
        threshold=threshold,
        population=size,
        model=model,
        matches=float(risk @ found.sizes),
        population_uniques=unique,
        spread=(min(means.values()), max(means.values())),
    )


def _models(frame: Frame, schema: Schema, found: Classes, size: float | None) -> dict[Model, tuple[FloatArray, float]]:
    """E(1/F | f) of each class, and the population uniques to expect among the table's, for each model that applies."""
    f = found.sizes
    if size is None or size <= f.sum():
        return {"census": (1.0 / f, float((f == 1).sum()))}
    p = sampling_fractions(frame, schema, found, size)
    models: dict[Model, tuple[FloatArray, float]] = {
        "negative binomial": (posterior.negative_binomial(f, p), float(p[f == 1].sum()))
    }
    histogram = found.histogram()
    if drawn_alike(person_weights(frame, schema, found), f) and 1 in histogram and max(histogram) > 1:
        models["pitman"] = _pitman(f, histogram, size)
    return models


def _pitman(f: IntArray, histogram: dict[int, int], size: float) -> tuple[FloatArray, float]:
    theta, a = fit_pitman(histogram)
    n = float(f.sum())
    sizes, place = np.unique(f, return_inverse=True)
    risk = posterior.pitman(sizes, n, size, theta, a)[place.reshape(-1)]
    return risk, histogram[1] * posterior.pitman_unique(n, size, theta, a)


def _summary(risk: FloatArray, threshold: float) -> AttackerRisk:
    return AttackerRisk(
        largest=float(risk.max()), mean=float(risk.mean()), above_share=float((risk > threshold).mean())
    )
