"""Commands about aggregates beside `shoal reconstruct`: the LUDIA study, and what planned aggregates give away."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from shoal.risk.exposure import AggregateExposure

__all__ = ["LUDIA_EXAMPLES", "exposure", "ludia", "tell_exposure"]

LUDIA_EXAMPLES = """Examples:

shoal study ludia --out study

shoal study ludia --runs 50 --out study

shoal study ludia --data discharges.csv --value charge --by county --by hospital --days los --out study
"""


def ludia(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report and the numbers.")] = Path("study"),
    runs: Annotated[int, typer.Option(help="Simulated tables of each kind and size.", min=1)] = 5,
    size: Annotated[
        list[int] | None, typer.Option("--size", help="Points per group; repeat. [default: 10, 30, 100]")
    ] = None,
    rows: Annotated[int, typer.Option(help="Stays of the simulated inpatient table.", min=200)] = 3000,
    data: Annotated[Path | None, typer.Option(help="An inpatient file in the place of the simulated one.")] = None,
    value: Annotated[str, typer.Option(help="Its column of charges.")] = "charge",
    by: Annotated[
        list[str] | None,
        typer.Option("--by", help="Its levels, coarse to fine; repeat. [default: county, hospital, zip]"),
    ] = None,
    covariate: Annotated[
        list[str] | None, typer.Option("--covariate", "-x", help="Its covariates; repeat. [default: all other columns]")
    ] = None,
    days: Annotated[str, typer.Option(help="Its length of stay; 'none' for none.")] = "days",
    log: Annotated[bool, typer.Option("--log/--no-log", help="Take logarithms of charge and length of stay.")] = True,
    seed: Annotated[int, typer.Option(help="Seed of everything.", min=0)] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older study in that folder.")] = False,
) -> None:
    """Individual values from aggregates: LUDIA and CUDIA beside group means, ecological regression and ridge."""
    from shoal.cli.console import out as screen
    from shoal.cli.study import progress_bar
    from shoal.files import read_table
    from shoal.study.ludia import Settings, run
    from shoal.study.ludia_findings import findings
    from shoal.study.ludia_page import check_folder, write

    check_folder(out, overwrite)
    settings = Settings(runs=runs, sizes=tuple(size) if size else Settings().sizes, rows=rows, seed=seed)
    with progress_bar("tables") as progress:
        study = run(
            None if data is None else read_table(data),
            value=value,
            by=tuple(by) if by else ("county", "hospital", "zip"),
            covariates=covariate,
            days=None if days == "none" else days,
            log=log,
            name="the file given" if data is None else data.name,
            settings=settings,
            progress=progress,
        )
    write(study, out)
    for text in findings(study):
        screen.print(f"- {text}", markup=False)
    screen.print(f"\nReport: {out / 'report.html'}", markup=False)


def exposure(table: Any, schema: Any, by: Sequence[str]) -> AggregateExposure:
    """What `shoal risk --aggregates` measures: `by` names columns, or several of them joined by commas."""
    from shoal.risk.exposure import aggregate_exposure

    return aggregate_exposure(table, schema, by=[name.strip() for text in by for name in text.split(",")])


def tell_exposure(found: AggregateExposure) -> None:
    """Print what every method recovers, then the advice."""
    from shoal.cli.console import out as screen
    from shoal.cli.console import print_table

    rows = [
        [m.method, *(f"{share:.1%}" for share in (m.within_5_share, m.within_10_share, m.within_20_share)),
         f"{m.r_squared:.2f}", f"{m.mean_absolute_error:,.4g}"]
        for m in (found.overall_mean, *found.methods)
    ]  # fmt: skip
    head = ["", "within 5 %", "within 10 %", "within 20 %", "R²", "mean error"]
    print_table(f"'{found.value}' rebuilt from its means by {', '.join(found.by)}", head, rows)
    for text in (*found.advice, *found.warnings):
        screen.print(f"- {text}", markup=False)
