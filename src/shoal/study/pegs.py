"""The experiments of chapter 3 of Park's thesis (2014): risk and utility of PeGS, PeGS with reset and imputation.

What it repeats: figures 3.5 to 3.12 on a discharge table with the paper's columns: differences of margins and
conditionals, rank correlations, regression coefficients and a simulated intruder, for PeGS, PeGS with reset (blocks
of 10) and perturbed multiple imputation, at ε = 0.1 to 100 *per row*, 1,000 rows each.

What it adds: the price of the file. 1,000 rows at ε per row cost 1,000 ε for the data set, so the paper's maps run from
100 to 100,000. The second comparison is at equal ε *per data set*: noisy tables (pairs, tree, conditionals), margins
only, and PeGS by row at the same bill. A resample of the original of the same size shows what no method can be
expected to beat. l-diverse PeGS, which the thesis leaves to another paper, other ways to smooth and to hash, and the
steps by which one row comes about (table 3.3) stand beside them.

The original figures can't be matched number by number: the paper's extract is not at hand (access
on request), and its parents, starts and m
are not told. Shapes can: who is better where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, cast

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.datasets.discharges import discharge, discharge_schema
from shoal.domain import Domain
from shoal.errors import InputError
from shoal.frame import enter
from shoal.params import Help, Range, check
from shoal.rng import stream
from shoal.schema import Schema
from shoal.study.pegs_measures import (
    AGE,
    CHARGE,
    STAY,
    ZIP,
    Regression,
    conditional_gaps,
    intruder,
    marginal_gaps,
    pair_variation,
    rank_ties,
    regression_distance,
    regressions,
    shares,
)
from shoal.study.study import Flag, Progress, quiet
from shoal.synth import MarginalBootstrap, PeGS, PerturbedImputation
from shoal.synth.bootstrap import BootstrapModel
from shoal.synth.domain import encode_table
from shoal.synth.pegs_by_row import RowModel
from shoal.synth.perturbed_imputation import ImputationModel

__all__ = ["EPSILONS", "ROW_METHODS", "TABLE_METHODS", "PegsStudy", "Point", "Settings", "run"]

EPSILONS = (0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0)
TOTALS = (0.1, 1.0, 10.0, 100.0)
DIVERSITIES = (1.0, 1.25, 1.5, 1.75, 2.0)
BLOCK = 10
POOLED = ", realistic starts"
POOL_EPSILON = 1.0  # for the data set, once: what a pool of noisy margins costs
ROW_METHODS = ("PeGS", "PeGS with reset", f"PeGS{POOLED}", f"PeGS with reset{POOLED}", "imputation")
VARIANTS = ("smoothed by margins", "maximum entropy", "min-hash keys")
VARIANT_EPSILONS = (1.0, 10.0, 100.0)
TABLE_METHODS = (
    "graph, δ = 1e-9",
    "graph",
    "pairs, δ = 1e-9",
    "pairs",
    "tree",
    "conditionals",
    "margins only",
    "PeGS by row",
)
HISTOGRAMS = (AGE, ZIP, STAY, CHARGE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of a study; `seed` is of the table and of what is not protective noise."""

    n: Annotated[int, Range(low=500), Help("Number of records in the simulated table.")] = 20_000
    rows: Annotated[int, Range(low=50), Help("Synthetic rows per file; the paper drew 1,000.")] = 1_000
    draws: Annotated[int, Range(low=1), Help("Number of files to average over, at equal price of the data set.")] = 3
    row_draws: Annotated[int, Range(low=1), Help("Number of files to average over, row by row.")] = 5
    parents: Annotated[int, Range(low=1, high=4), Help("Number of parents per column in PeGS by row.")] = 2
    fit_rows: Annotated[int, Range(low=100), Help("Number of records to fit the imputation to.")] = 1_500
    seed: Annotated[int, Range(low=0), Help("Random seed of the table.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One method at one ε (or l), averaged over draws; gaps of margins and conditionals are mean absolute ones unless
    squared. `marginal_spread` and `pair_spread` are the standard deviations of `marginal_mae` and `pair_variation`
    between files, of which there are `n_files`.
    """

    method: str
    epsilon_per_row: float | None
    epsilon_per_data_set: float | None
    marginal_mse: float
    marginal_mae: float
    age_mse: float
    age_mae: float
    zip_mse: float
    zip_mae: float
    marginal_tau: float
    marginal_rho: float
    age_tau: float
    age_rho: float
    zip_tau: float
    zip_rho: float
    pair_variation: float
    logistic_distance: float
    logistic_errors: float
    linear_distance: float
    linear_errors: float
    category_missed: float
    charge_error: float
    unique_share: float
    coefficients: tuple[float, ...]
    logistic_coefficients: tuple[float, ...]
    marginal_spread: float
    pair_spread: float
    n_files: int
    diversity: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PegsStudy:
    """All points. It compares with the original without noise: internal."""

    releasable: ClassVar[bool] = False

    settings: Settings
    data: str
    n_records: int
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    by_row: tuple[Point, ...]
    by_data_set: tuple[Point, ...]
    resample: Point
    uniform: Point
    by_diversity: tuple[Point, ...]
    variants: tuple[Point, ...]
    trace: tuple[tuple[str, ...], ...]
    original_coefficients: tuple[float, ...]
    original_logistic: tuple[float, ...]
    histograms: dict[str, dict[str, list[float]]]

    def curve(self, method: str) -> tuple[Point, ...]:
        """The points of a method by row, ε growing."""
        return tuple(point for point in self.by_row if point.method == method)

    def total(self, method: str) -> tuple[Point, ...]:
        """The points of a method by data set, ε growing."""
        return tuple(point for point in self.by_data_set if point.method == method)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON-safe words."""
        return asdict(self)


def run(
    table: Annotated[Any, Flag("--data"), Help("A discharge table. [default: a simulated one]")] = None,
    schema: Annotated[Schema | None, Flag("--schema", "-s"), Help("Schema file (TOML).")] = None,
    *,
    name: str = "the file given",
    settings: Settings | None = None,
    progress: Progress = quiet,
) -> PegsStudy:
    """Draw every file of the study and measure it.

    Parameters
    ----------
    table, schema
        A discharge table with the columns of `shoal.datasets.discharge`, all with public levels. Left out: a
        simulated one.
    name
        What to call the table.
    settings
        The numbers of the study.
    progress
        Called with the files done and all files.

    Examples
    --------
    A run takes some seconds even with little data: ``run(settings=Settings(n=500, rows=60)).by_row`` has a point for
    each method and ε.

    >>> from shoal.study.pegs import Settings
    >>> Settings(n=500, rows=60).draws
    3
    """
    settings = settings or Settings()
    check(settings)
    if table is None or schema is None:
        table, schema, name = discharge(settings.n, settings.seed), discharge_schema(), "simulated discharges"
    experiment = _Experiment(table, schema, settings)
    return experiment.study(name, progress)


class _Experiment:
    """The original, measured once, and the models that are fitted once for all ε."""

    def __init__(self, table: Any, schema: Schema, settings: Settings) -> None:
        self.table, self.schema, self.settings = enter(table).to_polars(), schema, settings
        encoded = encode_table(self.table, schema, bins=1, missing="refuse", public=True, owner="study")
        self.domain, self.X = encoded.domain, encoded.codes
        absent = {AGE, STAY, CHARGE, ZIP, "sev", "cat", "mdc", "sex"} - set(self.domain.names)
        if absent:
            raise InputError("study", f"needs the column '{min(absent)}'", hint="See shoal.datasets.discharge.")
        self.sizes = self.domain.sizes
        self.original = regressions(self.table)
        self.known = self.table.sample(min(2000, self.table.height), seed=settings.seed)

    def study(self, name: str, progress: Progress) -> PegsStudy:
        more = len(DIVERSITIES) + len(VARIANTS) * len(VARIANT_EPSILONS) + 2
        steps = len(ROW_METHODS) * len(EPSILONS) + len(TABLE_METHODS) * len(TOTALS) + more
        points: list[Point] = []
        for point in self._points():
            points.append(point)
            progress(len(points), steps)
        rest = {point.method: point for point in points[-2:]}
        return PegsStudy(
            settings=self.settings,
            data=name,
            n_records=len(self.X),
            names=self.domain.names,
            sizes=self.sizes,
            by_row=tuple(p for p in points if p.epsilon_per_row is not None and p.method in ROW_METHODS),
            by_data_set=tuple(p for p in points if p.method in TABLE_METHODS),
            resample=rest["resample"],
            uniform=rest["uniform"],
            by_diversity=tuple(p for p in points if p.diversity is not None),
            variants=tuple(p for p in points if p.method in VARIANTS),
            trace=self._trace(),
            original_coefficients=self.original[1].coefficients,
            original_logistic=self.original[0].coefficients,
            histograms=self._histograms(),
        )

    def _points(self) -> Iterator[Point]:
        self._fit_rows()
        for method in ROW_METHODS:
            for epsilon in EPSILONS:
                yield self._by_row_point(method, epsilon)
        for method in VARIANTS:
            for epsilon in VARIANT_EPSILONS:
                yield self._by_row_point(method, epsilon)
        for l in DIVERSITIES:  # noqa: E741
            point = self._point("l-diverse PeGS", None, None, partial(self._diverse, l), self.settings.row_draws)
            yield replace(point, diversity=l)
        for method in TABLE_METHODS:
            for epsilon in TOTALS:
                yield self._point(method, None, epsilon, partial(self._by_table, method, epsilon))
        rng = stream(self.settings.seed, "pegs study", "resample")
        yield self._point("resample", None, None, lambda k: self.X[rng.integers(0, len(self.X), self.settings.rows)])
        yield self._point("uniform", None, None, lambda k: self.domain.uniform(self.settings.rows, rng))

    def _by_row_point(self, method: str, epsilon: float) -> Point:
        draw = partial(self._row_file, method, epsilon)
        return self._point(method, epsilon, epsilon * self.settings.rows, draw, self.settings.row_draws)

    def _diverse(self, l: float, k: int) -> IntArray:  # noqa: E741
        again = _row_model(self.row_model, 1.0, None, diversity=l)
        return again.draw_codes(self.settings.rows, self.pool, stream(self.settings.seed, "pegs study", "starts", k))

    def _trace(self) -> tuple[tuple[str, ...], ...]:
        """Table 3.3: a start from the pool, and the row after each draw, at ε = 10 a row."""
        start = self.domain.decode(self.pool[:1], stream(0, "unused"))
        steps = _row_model(self.row_model, 10.0, None).trace(start, seed=self.settings.seed)
        return tuple(tuple(str(value) for value in row) for row in steps.iter_rows())

    def _fit_rows(self) -> None:
        """Exact blocks and regressions, counted once: ε only enters when rows are drawn."""
        self.published = PeGS(
            scope="sample", choose="mutual-information", parents=self.settings.parents, missing="refuse"
        )
        self.row_model = cast(RowModel, self.published.fit(self.table, self.schema))
        hashed = PeGS(scope="sample", choose="min-hash", missing="refuse")
        self.hashed = cast(RowModel, hashed.fit(self.table, self.schema, seed=self.settings.seed))
        margins = MarginalBootstrap(epsilon=POOL_EPSILON, missing="refuse").fit(self.table, self.schema)
        self.shares = cast(BootstrapModel, margins).shares
        self.pool = margins.draw_codes(5_000, None, stream(self.settings.seed, "pegs study", "pool"))
        imputation = PerturbedImputation(fit_rows=self.settings.fit_rows, missing="refuse")
        self.imputation = imputation.fit(self.table, self.schema, seed=self.settings.seed)

    def _row_file(self, method: str, epsilon: float, k: int) -> IntArray:
        if method in VARIANTS:
            return self._variant(method, epsilon).draw_codes(
                self.settings.rows, self.pool, stream(self.settings.seed, "pegs study", "starts", k)
            )
        return self._by_row(method, epsilon, k=k)

    def _variant(self, method: str, epsilon: float) -> RowModel:
        """PeGS from realistic starts with one thing changed."""
        if method == "min-hash keys":
            return _row_model(self.hashed, epsilon, None)
        smoothing = "maximum-entropy" if method == "maximum entropy" else "margin"
        margins = self.shares if smoothing == "margin" else None
        return _row_model(self.row_model, epsilon, None, smoothing=smoothing, margins=margins)

    def _by_row(self, method: str, epsilon: float, block: int = BLOCK, k: int = 0) -> IntArray:
        n, rng = self.settings.rows, stream(self.settings.seed, "pegs study", "starts", k)
        if method == "imputation":
            assert isinstance(self.imputation, ImputationModel)
            model = ImputationModel(
                domain=self.domain,
                models=self.imputation.models,
                epsilon=epsilon,
                notes=(),
                account=None,
            )
            return model.draw_codes(n, None, rng)
        with_reset, pool = method.startswith("PeGS with reset"), self.pool if method.endswith(POOLED) else None
        again = _row_model(self.row_model, epsilon * block if with_reset else epsilon, block if with_reset else None)
        return again.draw_codes(n, pool, rng)

    def _by_table(self, method: str, epsilon: float, k: int) -> IntArray:
        """A file of the same number of rows at ε for the data set."""
        if method == "PeGS by row":
            return self._by_row("PeGS", epsilon / self.settings.rows, k=k)
        if method == "margins only":
            model: Any = MarginalBootstrap(epsilon=epsilon, missing="refuse").fit(self.table, self.schema)
        else:
            design, _, delta = method.partition(", ")
            options = {"design": design, "epsilon": epsilon, "delta": 1e-9 if delta else None, "missing": "refuse"}
            model = PeGS(**options).fit(self.table, self.schema, seed=k)  # type: ignore[arg-type]
        rng = stream(self.settings.seed, "pegs study", method, k)
        return np.asarray(model.draw_codes(self.settings.rows, None, rng), dtype=np.int64)

    def _point(
        self,
        method: str,
        per_row: float | None,
        total: float | None,
        draw: Callable[[int], IntArray],
        draws: int | None = None,
    ) -> Point:
        files = [self._measured(draw(k)) for k in range(draws or self.settings.draws)]
        means = {key: float(np.mean([file[0][key] for file in files])) for key in files[0][0]}
        logistic, linear = (
            np.mean([model.coefficients for model in models], axis=0)
            for models in ([file[1] for file in files], [file[2] for file in files])
        )
        spreads = {key: _spread([file[0][key] for file in files]) for key in ("marginal_mae", "pair_variation")}
        return Point(
            method=method,
            epsilon_per_row=per_row,
            epsilon_per_data_set=total,
            coefficients=tuple(map(float, linear)),
            logistic_coefficients=tuple(map(float, logistic)),
            marginal_spread=spreads["marginal_mae"],
            pair_spread=spreads["pair_variation"],
            n_files=len(files),
            **means,
        )

    def _measured(self, Y: IntArray) -> tuple[dict[str, float], Regression, Regression]:
        X, sizes = self.X, self.sizes
        rows = self.domain.decode(Y, stream(0, "unused"))
        age, area = self.domain.names.index(AGE), self.domain.names.index(ZIP)
        margins, by_age, by_zip = (
            marginal_gaps(X, Y, sizes), conditional_gaps(X, Y, sizes, age), conditional_gaps(X, Y, sizes, area),
        )  # fmt: skip
        logistic, linear = regressions(rows)
        missed, error, unique = intruder(self.known, rows)
        far, near = regression_distance(self.original[0], logistic), regression_distance(self.original[1], linear)
        tau, rho = rank_ties(X, Y, sizes)
        (age_tau, age_rho), (zip_tau, zip_rho) = (rank_ties(X, Y, sizes, given) for given in (age, area))
        return {
            "marginal_mse": margins[0], "marginal_mae": margins[1],
            "age_mse": by_age[0], "age_mae": by_age[1], "zip_mse": by_zip[0], "zip_mae": by_zip[1],
            "marginal_tau": tau, "marginal_rho": rho,
            "age_tau": age_tau, "age_rho": age_rho, "zip_tau": zip_tau, "zip_rho": zip_rho,
            "pair_variation": pair_variation(X, Y, sizes),
            "logistic_distance": far[0], "logistic_errors": far[1],
            "linear_distance": near[0], "linear_errors": near[1],
            "category_missed": missed, "charge_error": error, "unique_share": unique,
        }, logistic, linear  # fmt: skip

    def _histograms(self) -> dict[str, dict[str, list[float]]]:
        """Figure 3.5: margins of the original, of rows, and of blocks of growing length, at ε = 10 a row or block."""
        files = {
            "original": self.X,
            "PeGS": self._by_row("PeGS", 10.0),
            "reset, blocks of 10": self._by_row("PeGS with reset", 1.0),
            "reset, blocks of 100": self._by_row("PeGS with reset", 0.1, block=100),
        }
        out: dict[str, dict[str, list[float]]] = {}
        for name in HISTOGRAMS:
            j = self.domain.names.index(name)
            out[name] = {method: shares(Y[:, j], self.sizes[j]).tolist() for method, Y in files.items()}
        return out


def _row_model(
    model: RowModel, epsilon: float, block: int | None, margins: Sequence[FloatArray] | None = None, **options: Any
) -> RowModel:
    """The same blocks with another ε: counts need no second look."""
    pegs = PeGS(epsilon=epsilon, block=block, scope="sample", choose="mutual-information", missing="refuse", **options)
    domain: Domain = model.domain
    return RowModel(
        domain=domain,
        counts=model.counts,
        parents=model.parents,
        pegs=pegs,
        held=False,
        notes=(),
        account=None,
        chosen=None,
        hashing=model.hashing,
        margins=margins,
    )


def _spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
