"""The market-risk study of Wei, Ramamurthy and Varshney (2015, 2018), on simulated or real files.

What it repeats: Tables 1 and 2 (R² and relative bias of each new market without shift, with logistic and with ratio
weights), Figures 3 to 5 (re-identification by mask), Figures 6 to 10 (bias, R² and histogram intersection against k,
for Centroid, Resample and GaussianDither), which include the 2015 paper's Table 1 and Figures 2 to 4.

How it differs: splits come in pairs that exchange training and test half, so that a costly patient in one half weighs
against both signs; masks keep the distribution weighted by survey weight and enrolment; and what a mask does is told
as the **difference from the unprotected model in the same split**, with the standard error of that difference,
because the error of a bias itself is nearly all common to the methods. Standard errors are over splits of one file:
another file, or other regions, would move all of them together.

What to expect as k grows: masks of the dither family keep the distribution of x only. Inside a group a cost is handed
to any x̂ of the group, so what is left of the link between x and y is that between the *groups*. With groups of a
thousand there are seven of them, wide in every column: the slopes of the model drift away from the true ones
(`MarketRiskStudy.slope_changes`) and R² falls. On the unshifted market the drifts cancel on average; a market whose
mean of column j differs by Δ_j standard deviations gets Σ_j (change of slope j)·Δ_j of bias. So bias grows with k *and*
with the distance of the market.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Annotated, Any

import numpy as np

from shoal.arrays import FloatArray
from shoal.datasets import health_survey, health_survey_schema
from shoal.datasets.american_community import acs, is_acs
from shoal.errors import InputError, ParameterError
from shoal.params import Help, Range, check
from shoal.processes import ONE_THREAD
from shoal.schema import Schema
from shoal.shift.people import sums_by
from shoal.study.market_scene import PLAN, Scene, set_scene
from shoal.study.market_split import CODINGS, MASKS, SHIFTS, ClassRisks, SplitResult, class_risks, halves, run_split
from shoal.study.study import Flag, Progress, quiet

__all__ = ["KS", "MarketRiskStudy", "Settings", "run", "summary"]

KS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The numbers of a study. `seed` also drives regions, splits and masks; sizes above a quarter are left out."""

    splits: Annotated[int, Range(low=2), Help("Number of random half splits; the papers used 20 and 200.")] = 50
    ks: Annotated[tuple[int, ...], Flag("--k", "-k"), Help("Group sizes; repeatable. [default: 2 to 1000]")] = KS
    n: Annotated[int, Range(low=200), Flag("--rows"), Help("Number of people in the simulated survey.")] = 15_000
    n_regions: Annotated[int, Range(low=1), Flag("--simulated-regions"), Help("Number of simulated regions.")] = 18
    strength: Annotated[float, Range(low=0), Help("How much simulated regions differ.")] = 1.0
    age: Annotated[str | None, Help("Column that enrolment depends on, or 'none'.")] = "age_group"
    plan: Annotated[
        tuple[float, ...] | None, Flag(commas=True), Help("Shares of its levels among enrollees, separated by commas.")
    ] = PLAN
    draws: Annotated[int, Range(low=1), Help("Masked files per mask and k, to measure re-identification.")] = 5
    workers: Annotated[int | None, Range(low=1), Help("Number of worker processes. [default: number of cores]")] = None
    seed: Annotated[int, Range(low=0), Help("Random seed.")] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketRiskStudy:
    """All splits of a study.

    `bias` (percent) and `r_squared` have axes split, variant, shift, coding, market; `intersection` split, variant,
    shift, market; `gap` split, market; `slopes` split, variant, column (the intercept first). Variant 0 is
    unprotected, then come the masks of each k; market 0 is the baseline without shift, the others are `regions`.
    """

    settings: Settings
    regions: tuple[str, ...]
    ks: tuple[int, ...]
    bias: FloatArray
    r_squared: FloatArray
    intersection: FloatArray
    gap: FloatArray
    slopes: FloatArray
    slope_names: tuple[str, ...]
    baseline_overlap: FloatArray
    risks: tuple[ClassRisks, ...]
    n_records: int

    def variant(self, mask: str, k: int) -> int:
        """Place of a mask at a k; k = 1 is the unprotected model."""
        return 0 if k == 1 else 1 + self.ks.index(k) * len(MASKS) + list(MASKS).index(mask)

    def values(self, what: str, mask: str, k: int, shift: str, coding: str = "dummy") -> FloatArray:
        """``"bias"``, ``"r_squared"`` or ``"intersection"``, by split and market."""
        s, v = SHIFTS.index(shift), self.variant(mask, k)
        if what == "intersection":
            return self.intersection[:, v, s]
        out: FloatArray = getattr(self, what)[:, v, s, CODINGS.index(coding)]
        return out

    def difference(self, what: str, mask: str, k: int, shift: str, coding: str = "dummy") -> FloatArray:
        """The same less that of the unprotected model in the same split."""
        return self.values(what, mask, k, shift, coding) - self.values(what, mask, 1, shift, coding)

    def slope_changes(self, mask: str, k: int) -> list[dict[str, Any]]:
        """Slope of each column, in cost per standard deviation, without and with the mask, and the paired change.

        The slopes are those of the numeric model without weights on the enrolment of the unshifted market.
        """
        raw, masked = self.slopes[:, 0], self.slopes[:, self.variant(mask, k)]
        rows = []
        for j, name in enumerate(self.slope_names, 1):
            change, error = summary(masked[:, j] - raw[:, j])
            rows.append(
                {
                    "mask": mask,
                    "k": k,
                    "column": name,
                    "raw": float(raw[:, j].mean()),
                    "masked": float(masked[:, j].mean()),
                    "change": change,
                    "change_se": error,
                }
            )
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Settings, tables and curves as JSON-safe words."""
        return {
            "settings": {name: getattr(self.settings, name) for name in self.settings.__slots__},
            "regions": list(self.regions),
            "n_records": self.n_records,
            "tables": {coding: self.table(coding) for coding in CODINGS},
            "curves": self.curves(),
            "slopes": [row for k in self.ks for mask in MASKS for row in self.slope_changes(mask, k)],
            "reidentification": [risk.to_dict() for risk in self.risks],
        }

    def table(self, coding: str) -> list[dict[str, Any]]:
        """R² and bias of each region without protection: Tables 1 and 2."""
        rows = []
        for r, name in enumerate(self.regions, 1):
            row: dict[str, Any] = {"region": name}
            for shift in SHIFTS:
                row[f"r_squared_{shift}"] = summary(self.values("r_squared", "", 1, shift, coding)[:, r])[0]
                mean, error = summary(self.values("bias", "", 1, shift, coding)[:, r])
                row[f"bias_{shift}"], row[f"bias_{shift}_se"] = mean, error
                row[f"intersection_{shift}"] = summary(self.values("intersection", "", 1, shift)[:, r])[0]
            rows.append(row)
        return rows

    def curves(self) -> list[dict[str, Any]]:
        """Means over the regions, worst regions and the case without market shift, for every variant: Figures 6-10."""
        rows = []
        for k in (1, *self.ks):
            for mask in ("none",) if k == 1 else MASKS:
                for shift in SHIFTS:
                    rows += [self._curve(mask, k, shift, coding) for coding in CODINGS]
        return rows

    def _curve(self, mask: str, k: int, shift: str, coding: str) -> dict[str, Any]:
        bias, r_squared = (self.values(what, mask, k, shift, coding) for what in ("bias", "r_squared"))
        change = self.difference("bias", mask, k, shift, coding)
        worst = np.abs(change[:, 1:].mean(axis=0)).argmax() + 1
        mean, error = summary(change[:, 1:].mean(axis=1))
        overlap = self.values("intersection", mask, k, shift)
        return {
            "mask": mask,
            "k": k,
            "shift": shift,
            "coding": coding,
            "bias": float(bias[:, 1:].mean()),
            "absolute_bias": float(np.abs(bias[:, 1:].mean(axis=0)).mean()),
            "r_squared": float(r_squared[:, 1:].mean()),
            "intersection": float(overlap[:, 1:].mean()),
            "bias_difference": mean,
            "bias_difference_se": error,
            "worst_region": self.regions[worst - 1],
            "worst_difference": summary(change[:, worst])[0],
            "worst_difference_se": summary(change[:, worst])[1],
            "no_shift_bias": float(bias[:, 0].mean()),
            "no_shift_bias_difference": summary(change[:, 0])[0],
            "no_shift_bias_difference_se": summary(change[:, 0])[1],
            "no_shift_r_squared": float(r_squared[:, 0].mean()),
            "no_shift_intersection": float(overlap[:, 0].mean()),
        }


def run(
    table: Annotated[Any, Help("A survey with costs, instead of the simulated one.")] = None,
    schema: Annotated[Schema | None, Flag("--schema", "-s"), Help("Schema file (TOML).")] = None,
    regions: Annotated[Any, Help("People of the new markets, instead of simulated ones.")] = None,
    *,
    region_column: Annotated[str, Help("Column with the region of each person.")] = "region",
    settings: Settings | None = None,
    progress: Progress = quiet,
) -> MarketRiskStudy:
    """Run the study.

    Parameters
    ----------
    table, schema
        A survey with costs, such as MEPS cut into the papers' groups; None: the simulated survey.
    regions, region_column
        People of the new markets with the name of their region; or person records of the ACS as published, whose areas
        are the regions (`shoal.datasets.acs`); None: simulated regions.
    settings
        Splits, ks, seed and so on.
    progress
        Called with the number of splits done and their total.

    Notes
    -----
    Cost: about two seconds of one core a split (7,500 members, nine k, three masks, 18 regions).

    Examples
    --------
    >>> from shoal.study.market_risk import Settings, run
    >>> study = run(settings=Settings(splits=2, ks=(5,), n=600, n_regions=2, draws=1, workers=1))
    >>> study.bias.shape
    (2, 4, 3, 2, 3)
    """
    settings = settings or Settings()
    check(settings)
    scene = _scene(table, schema, regions, region_column, settings)
    ks = tuple(k for k in sorted(set(settings.ks)) if 1 < k <= scene.n // 4)
    if not ks:
        raise ParameterError("study", "ks must hold a size from 2 to a quarter of the records", got=repr(settings.ks))
    results = _all_splits(scene, ks, settings, progress)
    members = scene.members(halves(scene.n, 0, settings.seed)[0])
    base = _shares(sums_by(scene.cell, scene.weights, scene.n_cells))
    return MarketRiskStudy(
        settings=settings,
        regions=scene.names,
        ks=ks,
        bias=np.array([result.bias for result in results]),
        r_squared=np.array([result.r_squared for result in results]),
        intersection=np.array([result.intersection for result in results]),
        gap=np.array([result.gap for result in results]),
        slopes=np.array([result.slopes for result in results]),
        slope_names=tuple(scene.design.column_names("numeric")),
        baseline_overlap=np.minimum(_shares(scene.tilt * base), base).sum(axis=1)[1:],
        risks=class_risks(members, ks, settings.draws, settings.seed),
        n_records=scene.n,
    )


def summary(values: FloatArray) -> tuple[float, float]:
    """Mean over splits and its standard error, by pairs of splits that share a division."""
    mean = float(values.mean())
    n_pairs = (len(values) + 1) // 2
    if n_pairs < 2:
        return mean, float("nan")
    sums = np.bincount(np.arange(len(values)) // 2, weights=values - mean)
    return mean, float(np.sqrt(np.sum(sums**2) * n_pairs / (n_pairs - 1)) / len(values))


def _scene(table: Any, schema: Schema | None, regions: Any, region_column: str, settings: Settings) -> Scene:
    if (table is None) != (schema is None):
        raise ParameterError("study", "a table needs its schema, and a schema its table")
    if table is None or schema is None:
        table, schema = health_survey(settings.n, settings.seed), health_survey_schema()
    if regions is not None and is_acs(regions):
        regions, region_column = acs(regions), "area"
    scene = set_scene(
        table,
        schema,
        age=settings.age,
        plan=settings.plan,
        regions=regions,
        region_column=region_column,
        n_regions=settings.n_regions,
        strength=settings.strength,
        seed=settings.seed,
    )
    if scene.n < 120:
        raise InputError("study", "needs at least 120 records", got=f"{scene.n}")
    return scene


def _all_splits(scene: Scene, ks: Sequence[int], settings: Settings, progress: Progress) -> list[SplitResult]:
    progress(0, settings.splits)
    workers = min(settings.workers or os.cpu_count() or 1, settings.splits)
    if workers == 1:
        return [_counted(run_split(scene, i, ks, settings.seed), i, settings, progress) for i in range(settings.splits)]
    # Threads of a forked process can hang in Polars, and kernels on all cores in each process get in each other's way.
    with _one_thread_each(), ProcessPoolExecutor(workers, get_context("spawn"), _enter, (scene,)) as pool:
        jobs = {pool.submit(_split, i, tuple(ks), settings.seed): i for i in range(settings.splits)}
        done = {}
        for job in as_completed(jobs):
            done[jobs[job]] = job.result()
            progress(len(done), settings.splits)
    return [done[i] for i in range(settings.splits)]


_stage: list[Scene] = []


def _enter(scene: Scene) -> None:
    """Keep the scene in a worker process."""
    _stage[:] = [scene]


def _split(split: int, ks: tuple[int, ...], seed: int) -> SplitResult:
    return run_split(_stage[0], split, ks, seed)


def _counted(result: SplitResult, split: int, settings: Settings, progress: Progress) -> SplitResult:
    progress(split + 1, settings.splits)
    return result


@contextmanager
def _one_thread_each() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _shares(mass: FloatArray) -> FloatArray:
    shares: FloatArray = mass / mass.sum(axis=-1, keepdims=True)
    return shares
