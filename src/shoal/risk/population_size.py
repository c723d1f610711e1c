"""How many persons stand behind a table: a number that is given, or the sum of survey weights."""

from __future__ import annotations

import math

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.conform import floats
from shoal.equivalence import Classes, Codes, combine
from shoal.errors import ParameterError
from shoal.frame import Frame, series
from shoal.schema import Schema

__all__ = ["estimated_size", "person_weights"]


def estimated_size(frame: Frame, schema: Schema, classes: Classes, population: float | None) -> float | None:
    """Persons in the population; None where nothing says it (weights that sum to the sample say nothing)."""
    n = int(classes.sizes.sum())
    if population is not None:
        return _checked(population, n)
    weights = person_weights(frame, schema, classes)
    total = 0.0 if weights is None else float(weights.sum())
    return total if total > n * (1 + 1e-6) else None


def person_weights(frame: Frame, schema: Schema, classes: Classes) -> FloatArray | None:
    """Sum of survey weights in each class; a person with several rows in it counts with their mean weight."""
    name = schema.weight
    if name is None or name not in frame.columns:
        return None
    weights = np.nan_to_num(floats(series(frame, name)), nan=0.0)
    if classes.persons is None:
        return _sums(classes.labels, weights, classes.n_classes)
    return _mean_per_person(classes, classes.persons, weights)


def _mean_per_person(classes: Classes, persons: IntArray, weights: FloatArray) -> FloatArray:
    label = Codes(values=classes.labels, n=classes.n_classes)
    both = combine([label, Codes(values=persons, n=int(persons.max(initial=-1)) + 1)])
    means = _sums(both.values, weights, both.n) / np.bincount(both.values)
    owner = np.empty(both.n, dtype=np.int64)
    owner[both.values] = classes.labels
    return _sums(owner, means, classes.n_classes)


def _sums(places: IntArray, weights: FloatArray, n: int) -> FloatArray:
    return np.bincount(places, weights=weights, minlength=n).astype(np.float64, copy=False)


def _checked(population: float, n: int) -> float:
    number = isinstance(population, int | float) and not isinstance(population, bool)
    if not (number and math.isfinite(population) and population >= n):
        raise ParameterError(
            "population",
            "must be a number of persons, at least as many as in the table",
            got=repr(population)[:60],
            hint="Omit it to use the survey weights.",
        )
    return float(population)
