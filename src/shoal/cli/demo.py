"""`shoal demo`: the main job on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import out as screen
from shoal.cli.console import print_table, steps
from shoal.cli.output import answer
from shoal.demo import SHOWN, Trial, recipes, trials
from shoal.release.folders import check_target

__all__ = ["EXAMPLES", "demo"]

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
