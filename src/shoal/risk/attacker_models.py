"""Attacker models: prosecutor, journalist and marketer, as used in health-data practice (El Emam 2013).

For a class with f persons in the table and F in the population:

- prosecutor: knows that a certain person is in the table; risk 1/f for each of the class's records;
- journalist: doesn't know who is in the table and matches against a register of the population; risk 1/F;
- marketer: wants to re-identify as many records as possible; the mean over records of the journalist's risk.

F is unknown, so the risk is E(1/F | f) of a named model, never 1/(f N/n): that would give every unique record
exactly n/N, however rare it is. With survey weights the model is the negative binomial one, with p = f / Σ weights.
With the size of the population only, it is the one of negative binomial and Pitman that gives the larger mean.
The largest of them is the largest *expected* risk: if one unique record of the table is unique in the population too,
the true largest risk is 1. With neither, the table is taken to be the population: F = f, the worst case.

No model is right, so `models` has all that apply, with how well each describes the table; `spread` is the range of
their means and `largest_spread` of their largest risks. Negative binomial (without weights) and Pitman give every
unique record the same risk, the mean over all of them; the log-linear model, which joins with two columns or more,
tells rare combinations from common ones, so its largest risk is often several times theirs. `worst` takes the highest
figure over the models that are not seen to fit poorly: limits are held against that.
The models look at classes of equal values only: where a mask moved the values, `reidentification` is the measure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from shoal import frequency as posterior
from shoal.arrays import FloatArray, IntArray
from shoal.equivalence import Classes, Codes
from shoal.errors import ParameterError
from shoal.frame import Frame, enter
from shoal.frequency import drawn_alike, estimated_size, person_weights, sampling_fractions
from shoal.record import Interval, Record
from shoal.risk.class_sizes import table_classes
from shoal.risk.individual_risk import expected_risks
from shoal.risk.log_linear import LogLinear
from shoal.risk.population_uniqueness import REDRAWS, fit_pitman, pitman_fits, redrawn
from shoal.schema import Schema

__all__ = ["AttackerRisk", "Attackers", "ModelRisk", "attackers", "measure"]

Model = Literal["negative binomial", "pitman", "log-linear", "census"]
_NORMAL = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRisk(Record):
    """What one model says of the journalist's risk.

    Parameters
    ----------
    model
        ``"negative binomial"``, ``"pitman"``, ``"log-linear"`` or ``"census"``.
    largest, mean, above_share
        The largest E(1/F | f), its mean over the records (the marketer's risk), and the share of records above the
        threshold.
    interval
        95% interval of the mean over samples like this one, by class counts drawn anew; it says how far the draw can
        be off, not how far the model can. None of a census.
    population_uniques
        Expected number of population uniques among the table's uniques.
    fits
        Whether the model expects about as many uniques and pairs as the table has; None where that can't be judged.
    """

    releasable: ClassVar[bool] = True

    model: Model
    largest: float
    mean: float
    above_share: float
    interval: Interval | None
    population_uniques: float
    fits: bool | None = None


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
    models
        What each of them says.
    """

    releasable: ClassVar[bool] = True
    derived: ClassVar[tuple[str, ...]] = ("largest_spread",)
    listed: ClassVar[tuple[str, ...]] = ("models",)

    prosecutor: AttackerRisk
    journalist: AttackerRisk
    marketer: float
    threshold: float
    population: float | None
    model: Model = "census"
    matches: float = 0.0
    population_uniques: float = 0.0
    spread: Interval = (0.0, 0.0)
    models: tuple[ModelRisk, ...] = ()

    @property
    def largest_spread(self) -> Interval:
        """The lowest and the highest of the models' largest risks."""
        found = [model.largest for model in self.models]
        return min(found), max(found)

    @property
    def above_spread(self) -> Interval:
        """The lowest and the highest share of records above the threshold over the models."""
        found = [model.above_share for model in self.models]
        return min(found), max(found)

    @property
    def trusted(self) -> tuple[ModelRisk, ...]:
        """The models that are not seen to fit poorly; all, where none is left."""
        return tuple(model for model in self.models if model.fits is not False) or self.models

    def worst(self, figure: Literal["largest", "mean", "above_share"]) -> ModelRisk:
        """The trusted model that gives the highest of a figure."""
        return max(self.trusted, key=lambda model: float(getattr(model, figure)))


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
    keys: Sequence[Codes] | None = None,
    fitted: LogLinear | None = None,
) -> Attackers:
    """`attackers` of a frame that has already entered.

    `found`, `keys` and `fitted` are its classes, coded quasi columns and log-linear model, where they are known.
    """
    if not 0 <= threshold <= 1:
        raise ParameterError("attackers", "threshold must be a number from 0 to 1", got=repr(threshold)[:60])
    found = table_classes(frame, schema) if found is None else found
    size = estimated_size(frame, schema, found, population)
    by_class = _models(frame, schema, found, size, keys, fitted)
    models = {name: one.model_risk(name, found, threshold) for name, one in by_class.items()}
    named = [name for name in models if name != "log-linear"]
    chosen = models[max(named, key=lambda name: models[name].mean)]
    means = [model.mean for model in models.values()]
    return Attackers(
        prosecutor=_summary(1.0 / found.row_sizes, threshold),
        journalist=_summary(by_class[chosen.model].risks[found.labels], threshold),
        marketer=chosen.mean,
        threshold=threshold,
        population=size,
        model=chosen.model,
        matches=chosen.mean * float(found.sizes.sum()),
        population_uniques=chosen.population_uniques,
        spread=(min(means), max(means)),
        models=tuple(models.values()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ByClass:
    """A model's E(1/F | f) of each class."""

    risks: FloatArray
    population_uniques: float
    fits: bool | None = None
    interval: Interval | None = None

    def model_risk(self, model: Model, found: Classes, threshold: float) -> ModelRisk:
        n, matched = float(found.sizes.sum()), self.risks * found.sizes
        half = _NORMAL * float(np.sqrt((matched**2).sum())) / n  # class counts are Poisson
        mean = float(matched.sum()) / n
        return ModelRisk(
            model=model,
            largest=float(self.risks.max()),
            mean=mean,
            above_share=float((self.risks > threshold)[found.labels].mean()),
            interval=None if model == "census" else self.interval or (max(0.0, mean - half), min(1.0, mean + half)),
            population_uniques=self.population_uniques,
            fits=self.fits,
        )


def _models(
    frame: Frame,
    schema: Schema,
    found: Classes,
    size: float | None,
    keys: Sequence[Codes] | None,
    fitted: LogLinear | None,
) -> dict[Model, _ByClass]:
    """Each model that applies."""
    f = found.sizes
    if size is None or size <= f.sum():
        return {"census": _ByClass(risks=1.0 / f, population_uniques=float((f == 1).sum()))}
    p = sampling_fractions(frame, schema, found, size)
    models: dict[Model, _ByClass] = {
        "negative binomial": _ByClass(
            risks=posterior.negative_binomial(f, p), population_uniques=float(p[f == 1].sum())
        )
    }
    histogram = found.histogram()
    if drawn_alike(person_weights(frame, schema, found), f) and 1 in histogram and max(histogram) > 1:
        models["pitman"] = _pitman(f, histogram, size)
    if len(schema.quasi) > 1 and 1 in histogram:
        risk, unique, fit = expected_risks(frame, schema, found, size, "log-linear", keys, fitted)
        fits = None if fit is None else fit.fits
        models["log-linear"] = _ByClass(risks=risk, population_uniques=float(unique.sum()), fits=fits)
    return models


def _pitman(f: IntArray, histogram: dict[int, int], size: float) -> _ByClass:
    theta, a = fit_pitman(histogram)
    n = float(f.sum())
    sizes, place = np.unique(f, return_inverse=True)
    return _ByClass(
        risks=posterior.pitman(sizes, n, size, theta, a)[place.reshape(-1)],
        population_uniques=histogram[1] * posterior.pitman_unique(n, size, theta, a),
        fits=pitman_fits(histogram, int(n)),
        interval=_pitman_interval(histogram, size),
    )


def _pitman_interval(histogram: dict[int, int], size: float) -> Interval | None:
    """The interval of the mean over samples like this one, the model fitted anew to each."""
    means = []
    for again, scale in redrawn(histogram):
        if 1 in again and max(again) > 1:
            f, s = np.array(list(again), dtype=np.int64), np.array(list(again.values()))
            n = float(f @ s)
            means.append(float(posterior.pitman(f, n, size * scale, *fit_pitman(again)) @ (f * s)) / n)
    if len(means) < REDRAWS // 2:
        return None
    middle, half = float(np.mean(means)), _NORMAL * float(np.std(means, ddof=1))
    return max(0.0, middle - half), min(1.0, middle + half)


def _summary(risk: FloatArray, threshold: float) -> AttackerRisk:
    return AttackerRisk(
        largest=float(risk.max()), mean=float(risk.mean()), above_share=float((risk > threshold).mean())
    )
