"""`shoal demo`: the main job on built-in data, a simulated health survey protected in nine ways, side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import out as screen
from shoal.cli.console import print_table, steps
from shoal.cli.output import answer
from shoal.coarsening import Generalize, Mondrian
from shoal.datasets import health_survey, health_survey_schema
from shoal.group import Ball, KMember
from shoal.mask import CellDither, Centroid, GaussianDither, PushBack, Resample, Shuffle
from shoal.release import Release, anonymize, coarsen
from shoal.release.folders import check_target

__all__ = ["EXAMPLES", "SHOWN", "Trial", "demo", "recipes", "trials"]

EXAMPLES = """Examples:

shoal demo

shoal demo --rows 5000 --k 20 --out my-demo
"""


def demo(
    rows: Annotated[int, typer.Option(help="Number of people in the simulated survey.", min=50)] = 1_200,
    k: Annotated[int, typer.Option("--k", "-k", help="Smallest group size.", min=2)] = 5,
    seed: Annotated[int, typer.Option(help="Random seed of the survey and the releases.", min=0)] = 1,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the release.")] = Path("shoal-demo"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing demo in that folder.")] = False,
) -> None:
    """Protect a simulated health survey in nine ways, compare them, and write one release."""
    check_target(out, overwrite=overwrite)
    with steps(len(recipes(k)) + 4) as step:
        done = trials(rows, k, seed, step)
        shown = next(trial for trial in done if trial.name == SHOWN)
        shown.release.write(out, overwrite=overwrite, progress=step)
    answer(methods=[_facts(trial) for trial in done], shown=shown.name, out=out)
    bootstrap = float(done[0].release.utility.bootstrap_intersection)
    head = ["method", "k-anon.", "mean risk", "max", "joint kept", "corr. Δ", "R²", "s"]
    print_table(f"Simulated survey, {rows:,} people, groups or classes of {k}", head, [_row(trial) for trial in done])
    screen.print(_LEGEND.format(bound=1 / k, bootstrap=bootstrap, baseline=_baseline(done[0])))
    screen.print(f"Open [bold]{out / 'report.html'}[/] to see the evidence for the {shown.name} release.")
    screen.print(f"Check it: shoal verify {out}")
    screen.print("On your own file: shoal compare FILE --schema SCHEMA, or work in the browser: shoal web")


def _facts(trial: Trial) -> dict[str, Any]:
    return {"name": trial.name, "recipe": str(trial.release.recipe), "claims": trial.release.claims}


_LEGEND = """\
[dim]risk: chance that matching on the quasi-identifiers finds a person's record;
  proved to be at most {bound:.3g}, but for shuffled balls, where it is measured only
joint kept: overlap of the joint histograms of the quasi-identifiers;
  a bootstrap of the original has {bootstrap:.3f}
corr. Δ: largest change of a correlation with cost
R²: model trained on the release, tested on other people's original records
  (trained on the original: {baseline})
s: seconds of grouping and masking, the first with compiling[/]"""


def _row(trial: Trial) -> list[str]:
    risk, utility = trial.release.risk, trial.release.utility
    found, moved = risk.reidentification, utility.moments.largest_response_correlation_difference
    mean, largest = (found.by_group.mean, found.by_group.largest) if found.by_group else (found.expected, found.largest)
    fit = utility.regression.trained_on_released.r_squared if utility.regression else None
    return [
        trial.name,
        "yes" if any(claim.kind == "k-anonymity" for claim in trial.release.claims) else "no",
        f"{mean:.4f}",
        f"{largest:.4f}",
        f"{utility.histogram_intersection:.3f}",
        "" if moved is None else f"{moved:.3f}",
        "" if fit is None else f"{fit:.3f}",
        f"{trial.seconds:.1f}",
    ]


def _baseline(trial: Trial) -> str:
    regression = trial.release.utility.regression
    fit = regression.trained_on_original.r_squared if regression else None
    return "not available" if fit is None else f"{fit:.3f}"


SHOWN = "gaussian-dither"
"""The trial whose release is written to look at."""

Make = Callable[[Any, Any, int], Release]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One method tried on the survey."""

    name: str
    release: Release
    seconds: float


def recipes(k: int) -> Mapping[str, Make]:
    """The methods of the demonstration by name."""
    masks = {
        "centroid": Centroid(),
        "resample": Resample(),
        "resample, replace=false": Resample(replace=False),
        "cell-dither": CellDither(),
        SHOWN: GaussianDither(),
        "gaussian-dither, exact": GaussianDither(exact=True),
    }
    ball = Ball(radius=0.4, minimum=k)
    return {
        **{name: _masked(KMember(k=k), mask) for name, mask in masks.items()},
        "ball, push-back, shuffle": _masked(ball, [PushBack(), Shuffle()]),
        "mondrian": lambda table, schema, seed: coarsen(table, schema, Mondrian(k=k), seed=seed),
        "generalize": lambda table, schema, seed: coarsen(table, schema, Generalize(k=k), seed=seed),
    }


def trials(n: int, k: int, seed: int, progress: Callable[[str], None]) -> list[Trial]:
    """Release the survey once with every method."""
    table, schema = health_survey(n, seed), health_survey_schema()
    done = []
    for name, make in recipes(k).items():
        progress(name)
        start = time.perf_counter()
        release = make(table, schema, seed)
        done.append(Trial(name=name, release=release, seconds=time.perf_counter() - start))
        _ = release.risk, release.utility
    return done


def _masked(group: Any, mask: Any) -> Make:
    return lambda table, schema, seed: anonymize(table, schema, group=group, mask=mask, seed=seed)
