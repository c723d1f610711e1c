"""Uniqueness: records that nobody else resembles, in the table and, by estimate, in the population.

A unique record in a sample is at risk where it is unique in the population too. How many persons of the population
are unique is estimated by three models from the class sizes of the sample (formulas in `uniqueness_models`),
and Dankar et al. (2012) say which to trust: Pitman up to a sampling fraction of 0.1, above it the smaller of
Zayatz and the slide negative binomial. Between them they can differ by a factor, so the range of all that have an
estimate (`spread`) belongs beside the one chosen, and so does how well Pitman's model describes the sample (`fits`).
All assume that persons were drawn with equal probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from shoal.equivalence import Classes
from shoal.frame import Frame, enter
from shoal.record import Interval, Record
from shoal.risk.class_sizes import table_classes
from shoal.risk.population_size import estimated_size
from shoal.risk.uniqueness_models import (
    NotApplicable,
    expected_sizes,
    fit_pitman,
    pitman,
    slide_negative_binomial,
    zayatz,
)
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["PopulationUniques", "Uniqueness", "measure", "uniqueness"]

_REDRAWS = 20
_UNKNOWN = "the population size is not known: give it, or a table with survey weights"


@dataclass(frozen=True, slots=True, kw_only=True)
class PopulationUniques(Record):
    """One model's estimate: number of unique persons in the population and their share, or None with the reason.

    `interval` is the 95 % interval of the number over samples like this one, where it was computed: it says how far the
    draw can be off, not how far the model can.
    """

    releasable: ClassVar[bool] = True

    model: str
    uniques: float | None
    share: float | None
    reason: str = ""
    interval: Interval | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Uniqueness(Record):
    """Unique records of a table and estimated uniques of its population.

    Parameters
    ----------
    n_records
        Records, counted once for each person and class.
    n_unique, unique_share
        Records that are alone in their class, and their share.
    population, sampling_fraction
        Persons in the population and n_records over it; None where unknown.
    pitman, zayatz, snb
        The three models' estimates.
    chosen
        The estimate that the rule of Dankar et al. picks.
    spread
        The lowest and the highest share of population uniques over all models that have an estimate.
    fits
        Whether the Pitman model expects the numbers of uniques and pairs that the sample has, to within a tenth or
        two standard errors; None where it has no estimate.
    """

    releasable: ClassVar[bool] = True

    n_records: int
    n_unique: int
    unique_share: float
    population: float | None
    sampling_fraction: float | None
    pitman: PopulationUniques
    zayatz: PopulationUniques
    snb: PopulationUniques
    chosen: PopulationUniques
    spread: Interval | None = None
    fits: bool | None = None

    def __float__(self) -> float:
        return self.unique_share


def uniqueness(table: Any, schema: Schema, population: float | None = None) -> Uniqueness:
    """Count unique records and estimate how many persons are unique in the population.

    Parameters
    ----------
    table, schema
        A table of any dataframe type with the schema's quasi-identifiers, and which they are.
    population
        Number of persons that the table was drawn from; None: the sum of the survey weights, where there are any.

    Notes
    -----
    A model that doesn't apply gives None and the reason: no unique record, an unknown population, equations without a
    solution. Missing quasi values are a level of their own. With a unit column classes count persons. Weights serve
    for the size of the population only. Cost: O(n), and some milliseconds for each model.

    References
    ----------
    Zayatz 1991; Chen and Keller-McNulty 1998; Haas and Stokes 1998; Hoshino 2001; Dankar et al. 2012.

    Examples
    --------
    >>> import polars as pl, shoal
    >>> table = pl.DataFrame({"age": [30, 30, 41, 41, 41, 57]})
    >>> result = shoal.risk.uniqueness(table, shoal.Schema.of(quasi=["age"]), population=6)
    >>> result.n_unique, result.chosen.uniques
    (1, 1.0)
    """
    return measure(enter(table), schema, population)


def measure(
    frame: Frame,
    schema: Schema,
    population: float | None = None,
    *,
    found: Classes | None = None,
) -> Uniqueness:
    """`uniqueness` of a frame that has already entered; `found` are its classes, where they are already known."""
    found = table_classes(frame, schema) if found is None else found
    histogram = found.histogram()
    n, unique = int(found.sizes.sum()), histogram.get(1, 0)
    N = estimated_size(frame, schema, found, population)
    models = {
        "pitman": _estimate("pitman", pitman, histogram, N, n),
        "zayatz": _estimate("zayatz", zayatz, histogram, N, n),
        "snb": _estimate("snb", slide_negative_binomial, histogram, N, n),
    }
    shares = [model.share for model in models.values() if model.share is not None]
    return Uniqueness(
        n_records=n,
        n_unique=unique,
        unique_share=unique / n,
        population=N,
        sampling_fraction=None if N is None else n / N,
        chosen=_with_interval(_choose(n, N, **models), histogram, N, n),
        spread=(min(shares), max(shares)) if shares else None,
        fits=None if models["pitman"].uniques is None or N is None or n >= N else _fits(histogram, n),
        **models,
    )


def _with_interval(
    chosen: PopulationUniques, histogram: Mapping[int, int], N: float | None, n: int
) -> PopulationUniques:
    """The estimate with the interval of its values for class counts drawn anew, each Poisson with what was seen."""
    model = {"pitman": pitman, "zayatz": zayatz}.get(chosen.model)
    if chosen.uniques is None or model is None or N is None or n >= N:
        return chosen
    rng = stream(0, "risk", "population uniques")
    drawn: list[float] = []
    for _ in range(_REDRAWS):
        counts = ((size, int(rng.poisson(count))) for size, count in histogram.items())
        again = {size: count for size, count in counts if count}
        scale = sum(size * count for size, count in again.items()) / n  # the sampling fraction stays
        with suppress(NotApplicable, ValueError, ZeroDivisionError):
            drawn.append(model(again, N * scale) / scale)
    known = [value for value in drawn if math.isfinite(value)]
    if len(known) < _REDRAWS // 2:
        return chosen
    half = 1.96 * float(np.std(known, ddof=1))
    return replace(chosen, interval=(max(0.0, chosen.uniques - half), min(N, chosen.uniques + half)))


def _fits(histogram: Mapping[int, int], n: int) -> bool:
    theta, a = fit_pitman(histogram)
    pairs = [(histogram.get(j, 0), expected_sizes(theta, a, n, j)) for j in (1, 2)]
    return all(abs(seen - expected) <= max(2 * math.sqrt(expected), 0.1 * expected, 1.0) for seen, expected in pairs)


def _estimate(
    name: str, model: Callable[[Mapping[int, int], float], float], histogram: Mapping[int, int], N: float | None, n: int
) -> PopulationUniques:
    if N is None:
        return PopulationUniques(model=name, uniques=None, share=None, reason=_UNKNOWN)
    try:
        # Of a whole population nothing is estimated: its uniques are those of the table.
        uniques = float(histogram.get(1, 0)) if n >= N else model(histogram, N)
    except NotApplicable as why:
        return PopulationUniques(model=name, uniques=None, share=None, reason=str(why))
    if not math.isfinite(uniques):
        return PopulationUniques(model=name, uniques=None, share=None, reason="the model has no finite estimate")
    return PopulationUniques(model=name, uniques=uniques, share=uniques / N)


def _choose(
    n: int, N: float | None, pitman: PopulationUniques, zayatz: PopulationUniques, snb: PopulationUniques
) -> PopulationUniques:
    if N is None or (n / N <= 0.1 and pitman.uniques is not None):
        return pitman
    if n / N > 0.1 and snb.uniques is not None and zayatz.uniques is not None and snb.uniques <= zayatz.uniques:
        return snb
    return zayatz
