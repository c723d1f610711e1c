"""What an attacker who knows the covariates recovers from aggregates that are about to be published.

The attacker has individual covariates (a register, an older release) with each person's groups, and the planned means.
All methods of `shoal.aggregate` are tried on the publisher's own table, where the truth is known:

    share within 5, 10, 20% of a person's value,   R² = 1 − Σ(y − ŷ)² / Σ(y − ȳ)²,   mean |y − ŷ|,

beside the guess of somebody who has the overall mean only. What counts is the gain over that guess. Values that the
sets of groups determine together (a group of one, or sets whose difference is one person) are counted exactly.

Measured, not proved: another attack may do better, and small numbers today don't bind tomorrow's attacker. Only noise
bounds every attack; `noise` says how much of it, by OpenDP, and what the attack then finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from shoal.aggregate import (
    Aggregate,
    EcologicalRegression,
    Ludia,
    NoiseAdvice,
    PseudoInverse,
    Reconstructor,
    RidgeEcological,
    noise_for_means,
)
from shoal.aggregate.covariates import covariates as coded
from shoal.aggregate.cudia import affordable
from shoal.aggregate.problem import Problem, pose
from shoal.arrays import FloatArray
from shoal.conform import Prepared, floats, prepare
from shoal.domain.absence import stands_for_absence
from shoal.errors import ColumnError, ParameterError, SchemaError
from shoal.frame import series
from shoal.rng import stream
from shoal.schema import Schema

__all__ = ["AggregateExposure", "MethodExposure", "NoisyExposure", "aggregate_exposure"]

NEAR = (0.05, 0.10, 0.20)
EPSILONS = (0.1, 1.0, 10.0)
_SMALL = 10  # people; aggregates of smaller groups are seldom published
_DETERMINED = 1 - 1e-8
_VALUE = "\x1f value"  # no column of a table is called so
_GAIN = 0.1  # of R², from which on the advice speaks up


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodExposure:
    """What one method recovers: shares of people within 5, 10 and 20% of their value, R² and mean absolute error."""

    method: str
    within_5_share: float
    within_10_share: float
    within_20_share: float
    r_squared: float
    mean_absolute_error: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyExposure:
    """What `RidgeEcological` recovers if every mean carries Laplace noise at a total of ε for all sets.

    The noise drawn here is a simulation; `smallest` and `typical` are OpenDP's scales for the smallest and the median
    group.
    """

    epsilon: float
    smallest: NoiseAdvice
    typical: NoiseAdvice
    exposure: MethodExposure


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateExposure:
    """How far planned aggregates expose the people behind them. It is about single values: internal."""

    releasable: ClassVar[bool] = False

    value: str
    by: tuple[str, ...]
    covariates: tuple[str, ...]
    n: int
    n_groups: tuple[int, ...]
    smallest_group: int
    small_groups: int
    determined: int
    overall_mean: MethodExposure
    methods: tuple[MethodExposure, ...]
    alone: dict[str, float]
    noise: tuple[NoisyExposure, ...]
    advice: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def worst(self) -> MethodExposure:
        """The method that recovers most, by R²."""
        return max(self.methods, key=lambda method: method.r_squared)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-safe words."""
        return {**asdict(self), "worst": self.worst.method}


def aggregate_exposure(
    table: Any,
    schema: Schema,
    *,
    by: str | Sequence[str],
    value: str | None = None,
    covariates: Sequence[str] | None = None,
    log: bool = False,
    epsilons: Sequence[float] = EPSILONS,
    seed: int = 0,
) -> AggregateExposure:
    """Measure how well individual values can be rebuilt from means by group, before these are published.

    Parameters
    ----------
    table, schema
        The publisher's table and its schema.
    by
        Columns whose groups will get a published mean, each a set of its own.
    value
        The averaged column; left out: the only numeric sensitive column.
    covariates
        What the attacker knows of each person besides the groups; left out: the quasi-identifiers other than `by`.
    log
        Let the attacker work on logarithms, which serves charges better.
    epsilons
        Totals of ε for which noise is advised and tried; needs the schema's bounds of `value`.
    seed
        Seed of the attacks that draw.

    Notes
    -----
    Survey weights of the schema make weighted means; people count once in every share. Cost: linear in the rows,
    mostly Cudia.

    Examples
    --------
    >>> from shoal.datasets import health_survey, health_survey_schema
    >>> from shoal.risk.exposure import aggregate_exposure
    >>> found = aggregate_exposure(health_survey(400, seed=1), health_survey_schema(), by=["education"])
    >>> [method.method for method in found.methods]
    ['PseudoInverse', 'EcologicalRegression', 'RidgeEcological', 'Ludia', 'Cudia']
    """
    prepared = prepare(table, schema)
    sets = (by,) if isinstance(by, str) else tuple(by)
    name = _value_column(prepared.schema, value)
    known = _known(prepared.schema, covariates, sets, name)
    y = _truth(prepared, name)
    attack = _Attack.of(prepared, sets, known, y, log=log, seed=seed)
    methods = tuple(attack.try_method(method) for method in _methods(attack.problem))
    found = AggregateExposure(
        value=name,
        by=sets,
        covariates=known,
        n=prepared.n,
        n_groups=tuple(groups.p for groups in attack.problem.sets),
        smallest_group=min(int(groups.sizes.min()) for groups in attack.problem.sets),
        small_groups=sum(int((groups.sizes < _SMALL).sum()) for groups in attack.problem.sets),
        determined=int((attack.problem.leverage() > _DETERMINED).sum()),
        overall_mean=_measure("overall mean", np.full(prepared.n, attack.level), y),
        methods=methods,
        alone=attack.alone(),
        noise=_noise(attack, prepared.schema[name].bounds, epsilons),
        advice=(),
        warnings=attack.warnings(),
    )
    return replace(found, advice=tuple(_advice(found)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attack:
    """The attacker's problem beside the truth."""

    X: pl.DataFrame
    aggregates: tuple[Aggregate, ...]
    weights: FloatArray | None
    problem: Problem
    y: FloatArray
    log: bool
    seed: int

    @classmethod
    def of(
        cls, prepared: Prepared, by: Sequence[str], known: Sequence[str], y: FloatArray, *, log: bool, seed: int
    ) -> _Attack:
        frame, weights = prepared.frame, prepared.weights()
        for name in by:
            if name not in frame.columns:
                raise ColumnError(name, "must be in the table to form groups")
        columns = [series(frame, name) for name in known] or [pl.Series("none", np.zeros(prepared.n))]
        X = pl.DataFrame(columns)
        labels = {name: series(frame, name).cast(pl.String).fill_null("missing") for name in by}
        grouped = pl.DataFrame({**labels, _VALUE: y})
        aggregates = tuple(Aggregate.of(grouped, by=name, value=_VALUE, weights=weights) for name in by)
        problem = pose(coded(X), aggregates, weights, log=log)
        return cls(X=X, aggregates=aggregates, weights=weights, problem=problem, y=y, log=log, seed=seed)

    @property
    def level(self) -> float:
        """The overall mean that the aggregates tell."""
        return float(np.average(self.y, weights=self.weights))

    def try_method(self, method: Reconstructor, aggregates: Sequence[Aggregate] | None = None) -> MethodExposure:
        found = method.reconstruct(
            self.X, aggregates or self.aggregates, weights=self.weights, log=self.log, seed=self.seed
        )
        return _measure(type(method).__name__, found.values, self.y)

    def alone(self) -> dict[str, float]:
        """R² of the better of group means and ridge for each set by itself."""
        tried = (PseudoInverse(), RidgeEcological())
        return {a.name: max(self.try_method(m, [a]).r_squared for m in tried) for a in self.aggregates}

    def warnings(self) -> tuple[str, ...]:
        found = RidgeEcological().reconstruct(self.X, self.aggregates, weights=self.weights, log=self.log)
        return found.warnings


def _methods(problem: Problem) -> tuple[Reconstructor, ...]:
    components = max(1, min(3, problem.sets[0].p))
    return PseudoInverse(), EcologicalRegression(), RidgeEcological(), Ludia(), affordable(problem.n, components)


def _measure(method: str, values: FloatArray, y: FloatArray) -> MethodExposure:
    off = np.abs(values - y)
    five, ten, twenty = (float(np.mean(off <= near * np.abs(y))) for near in NEAR)
    spread = float(np.sum((y - y.mean()) ** 2))
    return MethodExposure(
        method=method,
        within_5_share=five,
        within_10_share=ten,
        within_20_share=twenty,
        r_squared=1 - float(np.sum(off**2)) / spread if spread > 0 else 1.0,
        mean_absolute_error=float(off.mean()),
    )


def _noise(attack: _Attack, bounds: tuple[float, float] | None, epsilons: Sequence[float]) -> tuple[NoisyExposure, ...]:
    if bounds is None:
        return ()
    return tuple(_noisy(attack, (float(bounds[0]), float(bounds[1])), float(epsilon)) for epsilon in epsilons)


def _noisy(attack: _Attack, bounds: tuple[float, float], epsilon: float) -> NoisyExposure:
    sizes = np.concatenate([groups.sizes for groups in attack.problem.sets])
    k = len(attack.problem.sets)
    smallest, typical = (
        noise_for_means(epsilon=epsilon, size=int(size), bounds=bounds, n_sets=k)
        for size in (sizes.min(), np.median(sizes))
    )
    rng = stream(attack.seed, "aggregate exposure", "noise", str(epsilon))
    noisy = []
    for aggregate, groups in zip(attack.aggregates, attack.problem.sets, strict=True):
        scale = typical.scale * typical.size / groups.sizes
        means = np.clip(np.asarray(aggregate.mean) + rng.laplace(scale=scale), *bounds)
        noisy.append(replace(aggregate, mean=means))
    plain = replace(attack, log=False)
    exposure = plain.try_method(RidgeEcological(groups="size"), noisy)
    return NoisyExposure(epsilon=epsilon, smallest=smallest, typical=typical, exposure=exposure)


def _advice(found: AggregateExposure) -> list[str]:
    worst = found.worst
    said = [
        f"The best attack, {worst.method}, gets {worst.within_10_share:.1%} of the people within 10% of their value, "
        f"against {found.overall_mean.within_10_share:.1%} for a guess by the overall mean; its R² is "
        f"{worst.r_squared:.2f}."
    ]
    if found.determined:
        said.append(
            f"The aggregates determine {found.determined} values exactly. Don't publish them so: merge groups, or "
            "leave a set out."
        )
    if found.small_groups:
        said.append(f"{found.small_groups} groups have fewer than {_SMALL} people: make them larger.")
    said += _about_sets(found)
    if worst.r_squared > _GAIN:
        said.append("Larger groups, or groups of a more even mix, give an attacker less.")
    return said + _about_noise(found)


def _about_sets(found: AggregateExposure) -> list[str]:
    best = max(found.alone.values())
    if len(found.by) > 1 and found.worst.r_squared > best + 0.01:
        return [
            f"The {len(found.by)} sets together give R² {found.worst.r_squared:.2f}, the most telling one alone "
            f"{best:.2f}: publish fewer sets."
        ]
    return []


def _about_noise(found: AggregateExposure) -> list[str]:
    if not found.noise:
        return [f"Declare public bounds of '{found.value}' in the schema to see what noise would cost."]
    return [_noise_words(item) for item in found.noise]


def _noise_words(item: NoisyExposure) -> str:
    r_squared = item.exposure.r_squared
    left = f"R² {r_squared:.2f}" if r_squared > 0 else "nothing over the overall mean"
    return (
        f"Noise for ε = {item.epsilon:g} in all: Laplace scale {item.typical.scale:.3g} on the mean of a group of "
        f"{item.typical.size} (by OpenDP, values clamped to the schema's bounds); it leaves the ridge attack {left}."
    )


def _value_column(schema: Schema, value: str | None) -> str:
    if value is not None:
        if value not in schema:
            raise SchemaError("schema", f"must have the column '{value}', whose means are planned")
        return value
    numeric = [name for name in schema.sensitive if schema[name].kind == "numeric"]
    if len(numeric) != 1:
        raise SchemaError(
            "schema", "must have one numeric sensitive column", got=f"{len(numeric)}", hint="Name it: value=COLUMN."
        )
    return numeric[0]


def _known(schema: Schema, given: Sequence[str] | None, by: Sequence[str], value: str) -> tuple[str, ...]:
    if not by:
        raise ParameterError("aggregate_exposure", "by must name at least one group column")
    if given is None:
        return tuple(name for name in schema.quasi if name not in by and name != value)
    absent = [name for name in given if name not in schema]
    if absent:
        raise ColumnError(absent[0], "must be in the table to serve as a covariate")
    if value in given:
        raise ParameterError("aggregate_exposure", "covariates must not hold the value itself")
    return tuple(given)


def _truth(prepared: Prepared, value: str) -> FloatArray:
    column = series(prepared.frame, value)
    absent = int(stands_for_absence(column, prepared.schema[value]).sum())
    if not column.dtype.is_numeric() or absent:
        raise ColumnError(
            value,
            "must hold numbers without missing values to be averaged",
            got=f"{absent} missing",
            hint='Set missing = "drop" in the schema.',
        )
    return floats(column)
