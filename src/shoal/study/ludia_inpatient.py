"""Section 4.5.2: charges rebuilt from county, hospital and ZIP means; daily charges, random effects, a lasso.

The chapter's Texas file isn't at hand, so `shoal.datasets.inpatient` stands in, twice: with hospitals that differ for
reasons of their own, and with *confounded* ones, where hospitals with heavier cases also charge more for the same
case. Any other file can be given. Errors are of the log charge, as in Table 4.3, and the aggregates are means of it.

On one simulated table luck decides which method is best. So, over many draws of the stays, plain and confounded,
charges are also rebuilt from hospital means by the methods that see one set, and from hospital means crossed with
severity × unit by stacked ridge and crossed regression; errors on the same draw are compared in pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shoal.aggregate import Aggregate, CrossedRegression, Ludia, PseudoInverse, Reconstructor, RidgeEcological
from shoal.aggregate.covariates import covariates as coded
from shoal.aggregate.problem import pose
from shoal.arrays import BoolArray, FloatArray
from shoal.datasets.inpatients import inpatient
from shoal.errors import ColumnError
from shoal.frame import enter, series
from shoal.rng import stream

__all__ = [
    "Daily",
    "Effects",
    "InpatientPart",
    "LassoError",
    "LevelError",
    "Scatter",
    "SeedErrors",
    "inpatient_part",
    "over_seeds",
]

_BINS = 24
_TEST_SHARE = 0.2
_LASSO = 0.01
_SHOWN = 300  # people in a scatter plot
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
ONE_SET: dict[str, Reconstructor] = {
    "MP": PseudoInverse(),
    "Ridge": RidgeEcological(),
    "LUDIA": Ludia(standardise=False),
    "LUDIA, standardised": Ludia(),
    "LUDIA, as printed": Ludia(printed=True),
}
TWO_SETS: dict[str, Reconstructor] = {"Ridge, two sets": RidgeEcological(), "Crossed": CrossedRegression()}


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelError:
    """A row of Table 4.3: mean and spread over people of the absolute and the squared error."""

    level: str
    n_groups: int
    method: str
    mae: float
    mae_spread: float
    mse: float
    mse_spread: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Daily:
    """Figure 4.6b: average daily charge, and its histogram's shares over common bins; distance is total variation."""

    method: str
    mean: float
    shares: tuple[float, ...]
    distance: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Figure 4.7: a slope on log days with an intercept per hospital, fitted to rebuilt charges."""

    method: str
    slope: float
    effects_mse: float
    effects_correlation: float
    intercepts: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LassoError:
    """Figure 4.8: absolute error on held-out people of a lasso trained on rebuilt targets."""

    method: str
    mae: float
    spread: float
    quantiles: tuple[float, ...] = ()
    """Of the absolute error: 5, 25, 50, 75 and 95%."""
    behind: float = 0.0
    """Mean difference from the error with the best rebuilt targets, person by person."""
    half: float = 0.0
    """Half the width of its 95% interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Figure 4.6a: original values of some people, and what each method made of them from hospital means."""

    original: tuple[float, ...]
    rebuilt: dict[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class InpatientPart:
    """All results on one file."""

    data: str
    n: int
    levels: tuple[LevelError, ...]
    stacked: tuple[LevelError, ...]
    bins: tuple[float, ...]
    daily: tuple[Daily, ...]
    scatter: Scatter
    effects: tuple[Effects, ...]
    lasso: tuple[LassoError, ...]


def inpatient_part(
    table: Any,
    methods: Mapping[str, Reconstructor],
    *,
    value: str,
    by: Sequence[str],
    covariates: Sequence[str] | None,
    days: str | None,
    log: bool,
    name: str,
    rows: int,
    seed: int,
) -> tuple[InpatientPart, ...]:
    """Section 4.5.2 on a given table, or on two simulated ones."""
    if table is not None:
        return (_part(_Stays.of(table, value, by, covariates, days, log), methods, name, seed),)
    files = {"simulated stays": 0.0, "simulated stays, hospitals confounded": 1.0}
    made = {
        label: _Stays.of(inpatient(rows, seed, kappa), "charge", by, ("days", "unit", "severity"), "days", True)
        for label, kappa in files.items()
    }
    return tuple(_part(stays, methods, label, seed) for label, stays in made.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stays:
    """Covariates (length of stay as its logarithm), target, groups and days."""

    X: pl.DataFrame
    y: FloatArray
    groups: dict[str, pl.Series]
    days: FloatArray | None
    log: bool

    @classmethod
    def of(
        cls, table: Any, value: str, by: Sequence[str], known: Sequence[str] | None, days: str | None, log: bool
    ) -> _Stays:
        frame = enter(table)
        chosen = [c for c in frame.columns if c not in (value, *by)] if known is None else list(known)
        for column in (value, *by, *chosen):
            if column not in frame.columns:
                raise ColumnError(column, "must be in the file of the study")
        X = pl.DataFrame([series(frame, column) for column in chosen])
        length = None if days is None or days not in frame.columns else _positive(series(frame, days))
        if length is not None and days in chosen and log:
            X = X.with_columns(pl.Series(str(days), np.log(length)))
        y = _positive(series(frame, value)) if log else series(frame, value).cast(pl.Float64).to_numpy()
        groups = {name: series(frame, name).cast(pl.String).fill_null("missing") for name in by}
        return cls(X=X, y=np.log(y) if log else y, groups=groups, days=length, log=log)

    def aggregate(self, level: str, among: BoolArray | None = None) -> Aggregate:
        labels, y = (self.groups[level], self.y) if among is None else (self.groups[level].filter(among), self.y[among])
        return Aggregate.of(pl.DataFrame({level: labels, "target": y}), by=level, value="target")


def _positive(column: pl.Series) -> FloatArray:
    values: FloatArray = column.cast(pl.Float64).fill_null(np.nan).to_numpy().astype(np.float64)
    if not (values > 0).all():
        raise ColumnError(column.name, "must be greater than 0 in every row", got=f"{int((~(values > 0)).sum())} not")
    return values


def _part(stays: _Stays, methods: Mapping[str, Reconstructor], name: str, seed: int) -> InpatientPart:
    X = coded(stays.X)
    sets = {level: stays.aggregate(level) for level in stays.groups}
    found = {level: {key: m.fit(pose(X, [a]), seed) for key, m in methods.items()} for level, a in sets.items()}
    levels = [
        _level_error(level, key, values, stays)
        for level, by_method in found.items()
        for key, values in by_method.items()
    ]
    problem = pose(X, list(sets.values()))
    together = " and ".join(sets)
    stacked = [_level_error(together, key, m.fit(problem, seed), stays) for key, m in methods.items()]
    middle = found[_hospital(stays)]
    bins, daily = _daily(stays, middle)
    return InpatientPart(
        data=name,
        n=len(stays.y),
        levels=tuple(levels),
        stacked=tuple(stacked),
        bins=bins,
        daily=daily,
        scatter=_scatter(stays, middle, seed),
        effects=_effects(stays, middle),
        lasso=_lasso(stays, methods, seed),
    )


def _hospital(stays: _Stays) -> str:
    """The level whose intercepts are looked at: the second, or the only one."""
    return list(stays.groups)[min(1, len(stays.groups) - 1)]


def _level_error(level: str, method: str, values: FloatArray, stays: _Stays) -> LevelError:
    off = np.abs(values - stays.y)
    n_groups = sum(stays.groups[name].n_unique() for name in level.split(" and ") if name in stays.groups)
    return LevelError(
        level=level,
        n_groups=n_groups,
        method=method,
        mae=float(off.mean()),
        mae_spread=float(off.std()),
        mse=float((off**2).mean()),
        mse_spread=float((off**2).std()),
    )


def _daily(stays: _Stays, found: Mapping[str, FloatArray]) -> tuple[tuple[float, ...], tuple[Daily, ...]]:
    """Charge over days, in dollars, from the values rebuilt at the hospital level."""
    if stays.days is None:
        return (), ()
    days = stays.days
    rates = {"original": stays.y, **found}
    rates = {name: (np.exp(np.clip(v, -50, 50)) if stays.log else v) / days for name, v in rates.items()}
    edges = np.linspace(0, np.quantile(rates["original"], 0.99), _BINS + 1)
    shares = {name: _histogram(rate, edges) for name, rate in rates.items()}
    out = [
        Daily(
            method=name,
            mean=float(rate.mean()),
            shares=tuple(shares[name].tolist()),
            distance=float(0.5 * np.abs(shares[name] - shares["original"]).sum()),
        )
        for name, rate in rates.items()
    ]
    return tuple(edges.tolist()), tuple(out)


def _histogram(values: FloatArray, edges: FloatArray) -> FloatArray:
    """Shares of the bins, with what lies outside in the outer ones."""
    counts = np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0]
    out: FloatArray = counts / counts.sum()
    return out


def _scatter(stays: _Stays, found: Mapping[str, FloatArray], seed: int) -> Scatter:
    some = stream(seed, "ludia study", "scatter").permutation(len(stays.y))[:_SHOWN]
    rebuilt = {name: tuple(values[some].round(4).tolist()) for name, values in found.items()}
    return Scatter(original=tuple(stays.y[some].round(4).tolist()), rebuilt=rebuilt)


def _effects(stays: _Stays, found: Mapping[str, FloatArray]) -> tuple[Effects, ...]:
    if stays.days is None:
        return ()
    labels = np.unique(stays.groups[_hospital(stays)].to_numpy(), return_inverse=True)[1].reshape(-1)
    x = np.log(stays.days)
    slope, truth = _intercepts(x, stays.y, labels)
    true_ones = tuple(truth.round(4).tolist())
    out = [Effects(method="original", slope=slope, effects_mse=0.0, effects_correlation=1.0, intercepts=true_ones)]
    for name, values in found.items():
        slope, effects = _intercepts(x, values, labels)
        together = float(np.corrcoef(truth, effects)[0, 1]) if effects.std() > 0 else 0.0
        mse = float(np.mean((effects - truth) ** 2))
        out.append(
            Effects(
                method=name,
                slope=slope,
                effects_mse=mse,
                effects_correlation=together,
                intercepts=tuple(effects.round(4).tolist()),
            )
        )
    return tuple(out)


def _intercepts(x: FloatArray, y: FloatArray, labels: Any) -> tuple[float, FloatArray]:
    """Slope of y on x within groups, and the groups' intercepts, centred."""
    size = np.bincount(labels)
    x_mean, y_mean = np.bincount(labels, x) / size, np.bincount(labels, y) / size
    inner_x, inner_y = x - x_mean[labels], y - y_mean[labels]
    slope = float(inner_x @ inner_y / max(float(inner_x @ inner_x), 1e-12))
    effects = y_mean - slope * x_mean
    return slope, effects - effects.mean()


def _lasso(stays: _Stays, methods: Mapping[str, Reconstructor], seed: int) -> tuple[LassoError, ...]:
    """Train on rebuilt targets of four fifths (hospital means of these), test on the rest."""
    from sklearn.linear_model import Lasso

    n = len(stays.y)
    test = np.zeros(n, dtype=np.bool_)
    test[stream(seed, "ludia study", "split").permutation(n)[: int(_TEST_SHARE * n)]] = True
    X = coded(stays.X).matrix
    X = (X - X[~test].mean(axis=0)) / np.where(X[~test].std(axis=0) > 0, X[~test].std(axis=0), 1.0)
    problem = pose(coded(X[~test]), [stays.aggregate(_hospital(stays), ~test)])
    targets = {"original": stays.y[~test], **{name: m.fit(problem, seed) for name, m in methods.items()}}
    off = {
        name: np.abs(Lasso(alpha=_LASSO).fit(X[~test], target).predict(X[test]) - stays.y[test])
        for name, target in targets.items()
    }
    least = min((errors for name, errors in off.items() if name != "original"), key=lambda errors: float(errors.mean()))
    return tuple(_lasso_error(name, errors, least) for name, errors in off.items())


def _lasso_error(name: str, errors: FloatArray, least: FloatArray) -> LassoError:
    gap = errors - least
    return LassoError(
        method=name,
        mae=float(errors.mean()),
        spread=float(errors.std()),
        quantiles=tuple(np.quantile(errors, _QUANTILES).tolist()),
        behind=float(gap.mean()),
        half=float(1.96 * gap.std() / np.sqrt(len(gap))),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedErrors:
    """Mean absolute error of the log charge by method, one number for each draw."""

    data: str
    errors: dict[str, tuple[float, ...]]


def over_seeds(rows: int, seeds: int, seed: int) -> tuple[SeedErrors, ...]:
    """Errors on `seeds` draws of plain and of confounded stays."""
    files = {"simulated stays": 0.0, "simulated stays, hospitals confounded": 1.0}
    return tuple(
        SeedErrors(data=label, errors=_errors(rows, [seed + at for at in range(seeds)], kappa))
        for label, kappa in files.items()
    )


def _errors(rows: int, seeds: list[int], confounding: float) -> dict[str, tuple[float, ...]]:
    found: dict[str, list[float]] = {name: [] for name in (*ONE_SET, *TWO_SETS)}
    for seed in seeds:
        stays = inpatient(rows, seed, confounding).with_columns(
            target=pl.col("charge").log(),
            days=pl.col("days").log(),
            band=pl.concat_str("severity", "unit", separator=" "),
        )
        y, X = stays["target"].to_numpy(), stays.select("days", "unit", "severity")
        sets = [Aggregate.of(stays, by=level, value="target") for level in ("hospital", "band")]
        for methods, seen in ((ONE_SET, sets[:1]), (TWO_SETS, sets)):
            for name, method in methods.items():
                found[name].append(float(np.abs(method.reconstruct(X, seen).values - y).mean()))
    return {name: tuple(values) for name, values in found.items()}
