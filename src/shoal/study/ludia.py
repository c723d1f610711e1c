"""The experiments of chapter 4 on LUDIA (Park), with the baselines that the chapter didn't give their due.

What it repeats: 4.5.1, the error against points per group on four simulated tables (LR, FE, RE1, RE2; five groups,
rows assigned at random), and LUDIA from three starts; 4.5.2 in `shoal.study.ludia_inpatient`.

    LR    [X y] = U Vᵀ + 0.4 E, r = 2, four covariates
    FE    y = c + Xβ + 0.2 e, two covariates
    RE1   FE + an intercept per group, 0.2 sd          RE2   RE1 + slopes per group, 0.2 sd

How it differs: ecological regression comes as published (no correction) and with the correction line that the chapter
gave to LUDIA only; ridge and CUDIA stand beside it; LUDIA has an intercept (without one everything collapses) and
comes with covariates as given and standardised. And two experiments are added: 40 and 300 groups of *different case
mix*, which is what real counties have, and the error against the number of iterations, LUDIA's hidden tuning knob.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from shoal.aggregate import Aggregate, Cudia, EcologicalRegression, Ludia, PseudoInverse, Reconstructor, RidgeEcological
from shoal.aggregate.covariates import covariates
from shoal.aggregate.problem import pose
from shoal.arrays import FloatArray, Generator, IntArray
from shoal.params import Help, Range, check
from shoal.rng import stream
from shoal.study.ludia_inpatient import InpatientPart, SeedErrors, inpatient_part, over_seeds
from shoal.study.study import Flag, Progress, quiet

__all__ = ["KINDS", "METHODS", "Error", "LudiaStudy", "Settings", "Start", "run", "simulate"]

KINDS = ("LR", "FE", "RE1", "RE2")
METHODS: dict[str, Reconstructor] = {
    "MP": PseudoInverse(),
    "ER as published": EcologicalRegression(correct=False),
    "ER": EcologicalRegression(),
    "Ridge": RidgeEcological(),
    "LUDIA": Ludia(standardise=False),
    "LUDIA, standardised": Ludia(),
    "CUDIA": Cudia(restarts=2, iterations=15, sweeps=10),
}
PAPER_METHODS = ("MP", "ER as published", "LUDIA")
STARTS: dict[str, Reconstructor] = {
    "group means": Ludia(standardise=False),
    "ecological regression": Ludia(start="ecological", standardise=False),
    "random": Ludia(start="random", standardise=False),
}
KNOB = (1, 5, 20, 50, 100, 300, 1000)
_MIX = 0.5  # standard deviation of the groups' mean covariates, theirs within groups being 1
_MANY = ((40, 50), (300, 20))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of a study; the chapter has five groups. More runs steady the means."""

    runs: Annotated[int, Range(low=1), Help("Number of simulated tables of each kind and size.")] = 5
    n_groups: Annotated[int, Range(low=2), Flag("--groups"), Help("Number of groups in the simulated tables.")] = 5
    sizes: Annotated[tuple[int, ...], Flag("--size"), Help("Points per group; repeatable. [default: 10, 30, 100]")] = (
        10, 30, 100,
    )  # fmt: skip
    rows: Annotated[int, Range(low=200), Help("Number of stays in the simulated inpatient table.")] = 3000
    seeds: Annotated[int, Range(low=2), Help("Number of draws of that table, for paired comparisons.")] = 12
    seed: Annotated[int, Range(low=0), Help("Random seed.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """Mean absolute error of a method on one kind of table, over runs, with its standard error."""

    kind: str
    n_groups: int
    size: int
    method: str
    mae: float
    standard_error: float
    runs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """LUDIA from one start: its error over runs, and one table's original and reconstructed values."""

    start: str
    mae: float
    original: tuple[float, ...]
    reconstructed: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LudiaStudy:
    """All numbers of the study. Its tables are simulated, or a person's own: internal."""

    releasable: ClassVar[bool] = False

    settings: Settings
    few: tuple[Error, ...]
    many: tuple[Error, ...]
    knob: tuple[Error, ...]
    starts: tuple[Start, ...]
    inpatient: tuple[InpatientPart, ...]
    seeds: tuple[SeedErrors, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-safe words."""
        return asdict(self)


def run(
    table: Annotated[Any, Flag("--data"), Help("An inpatient file, instead of the simulated one.")] = None,
    *,
    value: Annotated[str, Help("Column with the charges.")] = "charge",
    by: Annotated[
        Sequence[str], Help("Its group columns, coarse to fine; repeatable. [default: county, hospital, zip]")
    ] = (
        "county",
        "hospital",
        "zip",
    ),
    covariates: Annotated[
        Sequence[str] | None,
        Flag("--covariate", "-x"),
        Help("Its covariates; repeatable. [default: all other columns]"),
    ] = None,
    days: Annotated[str | None, Help("Column with the length of stay, or 'none'.")] = "days",
    log: Annotated[bool, Help("Take logarithms of charge and length of stay.")] = True,
    name: str = "the file given",
    settings: Settings | None = None,
    progress: Progress = quiet,
) -> LudiaStudy:
    """Run every part of the study.

    Parameters
    ----------
    table
        An inpatient file in the place of the simulated one: any dataframe.
    value, by, covariates, days
        Its columns: the charge, the levels, the covariates (left out: all others) and the length of stay, if it has
        one.
    log
        Whether to take logarithms of charge and length of stay.
    settings
        The numbers of the study.
    progress
        Called with the steps done and all steps.

    Notes
    -----
    Cost: about a minute with the default settings, growing with `runs`.
    """
    settings = settings or Settings()
    check(settings)
    tell = _Steps(progress, settings)
    tell()
    stays = inpatient_part(  # first, for a given file may be unusable
        table,
        METHODS,
        value=value,
        by=by,
        covariates=covariates,
        days=days,
        log=log,
        name=name,
        rows=settings.rows,
        seed=settings.seed,
    )
    return LudiaStudy(
        settings=settings,
        few=tuple(_few(settings, tell)),
        many=tuple(_many(settings, tell)),
        knob=tuple(_knob(settings, tell)),
        starts=tuple(_starts(settings, tell)),
        inpatient=stays,
        seeds=over_seeds(settings.rows, settings.seeds, settings.seed),
    )


def simulate(
    kind: str, n_groups: int, size: int, rng: Generator, mix: float = 0.0
) -> tuple[FloatArray, FloatArray, IntArray]:
    """X, y and group labels of one table; `mix` is the spread of the groups' mean covariates.

    Examples
    --------
    >>> from shoal.rng import stream
    >>> from shoal.study.ludia import simulate
    >>> X, y, labels = simulate("RE1", 5, 10, stream(0, "example"))
    >>> X.shape, len(y), int(labels.max())
    ((50, 2), 50, 4)
    """
    n = n_groups * size
    labels = rng.permutation(np.repeat(np.arange(n_groups), size))
    if kind == "LR":
        U = rng.standard_normal((n, 2)) + mix * rng.standard_normal((n_groups, 2))[labels]
        D = U @ rng.standard_normal((2, 5)) + 0.4 * rng.standard_normal((n, 5))
        return D[:, :4], D[:, 4], labels
    X = rng.standard_normal((n, 2)) + mix * rng.standard_normal((n_groups, 2))[labels]
    y = rng.standard_normal() + X @ rng.standard_normal(2) + 0.2 * rng.standard_normal(n)
    if kind in ("RE1", "RE2"):
        y = y + 0.2 * rng.standard_normal(n_groups)[labels]
    if kind == "RE2":
        y = y + np.sum(X * (0.2 * rng.standard_normal((n_groups, 2)))[labels], axis=1)
    return X, y, labels


class _Steps:
    """Counts simulated tables for the progress bar."""

    def __init__(self, progress: Progress, settings: Settings) -> None:
        self.progress, self.done = progress, 0
        self.total = settings.runs * (len(KINDS) * (len(settings.sizes) + len(_MANY)) + 3) + 1

    def __call__(self) -> None:
        self.done += 1
        self.progress(self.done, self.total)


def _errors(
    kind: str, n_groups: int, size: int, mix: float, methods: dict[str, Reconstructor], settings: Settings, tell: _Steps
) -> list[Error]:
    found: dict[str, list[float]] = {name: [] for name in methods}
    for at in range(settings.runs):
        tell()
        rng = stream(settings.seed, "ludia study", kind, n_groups, size, at)
        X, y, labels = simulate(kind, n_groups, size, rng, mix)
        problem = pose(covariates(X), [Aggregate(by=labels, mean=np.bincount(labels, y) / size)])
        for name, method in methods.items():
            found[name].append(float(np.abs(method.fit(problem, settings.seed) - y).mean()))
    return [_error(kind, n_groups, size, name, values) for name, values in found.items()]


def _error(kind: str, n_groups: int, size: int, method: str, values: Sequence[float]) -> Error:
    spread = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return Error(
        kind=kind,
        n_groups=n_groups,
        size=size,
        method=method,
        mae=float(np.mean(values)),
        standard_error=spread if np.isfinite(spread) else 0.0,
        runs=tuple(values),
    )


def _few(settings: Settings, tell: _Steps) -> Iterable[Error]:
    """Figure 4.4: groups drawn at random, so that all have about the same case mix."""
    for kind in KINDS:
        for size in settings.sizes:
            yield from _errors(kind, settings.n_groups, size, 0.0, METHODS, settings, tell)


def _many(settings: Settings, tell: _Steps) -> Iterable[Error]:
    """Many groups of different case mix."""
    for kind in KINDS:
        for n_groups, size in _MANY:
            yield from _errors(kind, n_groups, size, _MIX, METHODS, settings, tell)


def _knob(settings: Settings, tell: _Steps) -> Iterable[Error]:
    """LUDIA's error as iterations grow, where it has little to go by and where it has much."""
    methods: dict[str, Reconstructor] = {str(i): Ludia(iterations=i, standardise=False) for i in KNOB}
    yield from _errors("RE1", settings.n_groups, 50, 0.0, methods, settings, tell)
    yield from _errors("RE1", 40, 50, _MIX, methods, settings, tell)


def _starts(settings: Settings, tell: _Steps) -> list[Start]:
    """Figure 4.5: LUDIA on RE1 from three starts."""
    errors = _errors("RE1", settings.n_groups, 50, 0.0, STARTS, settings, tell)
    rng = stream(settings.seed, "ludia study", "RE1", settings.n_groups, 50, 0)
    X, y, labels = simulate("RE1", settings.n_groups, 50, rng)
    problem = pose(covariates(X), [Aggregate(by=labels, mean=np.bincount(labels, y) / 50)])
    values = {name: method.fit(problem, settings.seed) for name, method in STARTS.items()}
    return [
        Start(
            start=error.method,
            mae=error.mae,
            original=tuple(y.round(4).tolist()),
            reconstructed=tuple(values[error.method].round(4).tolist()),
        )
        for error in errors
    ]
