"""`shoal study`: repeat the papers' tables and figures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.errors import ParameterError

if TYPE_CHECKING:
    from shoal.study.camp_crest import CampCrestStudy
    from shoal.study.market_risk import MarketRiskStudy

__all__ = ["app", "progress_bar"]

app = typer.Typer(help="Repeat the tables and figures of the papers.", no_args_is_help=True)

_MARKET_RISK = """Examples:

shoal study market-risk --out study

shoal study market-risk --splits 200 --out study

shoal study market-risk --table meps.csv --schema meps.toml --regions acs.csv --region-column area --out study
"""


_CAMP_CREST = """Examples:

shoal study camp-crest --out study

shoal study camp-crest --data diabetes.csv --schema diabetes.toml --out study
"""


@app.callback()
def main() -> None:
    """Repeat the tables and figures of the papers."""


@app.command("market-risk", epilog=_MARKET_RISK)
def market_risk(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report and the numbers.")] = Path("study"),
    splits: Annotated[int, typer.Option(help="Random half splits; the papers took 20 and 200.", min=2)] = 50,
    k: Annotated[
        list[int] | None, typer.Option("--k", "-k", help="Sizes of groups; repeat. [default: 2 to 1000]")
    ] = None,
    rows: Annotated[int, typer.Option(help="People of the simulated survey.", min=200)] = 15_000,
    n_regions: Annotated[int, typer.Option("--simulated-regions", help="Simulated regions.", min=1)] = 18,
    strength: Annotated[float, typer.Option(help="How much simulated regions differ.", min=0)] = 1.0,
    table: Annotated[Path | None, typer.Option(help="A survey with costs, in place of the simulated one.")] = None,
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help="Its schema in TOML.")] = None,
    regions: Annotated[Path | None, typer.Option(help="People of the new markets, in place of simulated ones.")] = None,
    region_column: Annotated[str, typer.Option(help="Column that names the region of each person.")] = "region",
    age: Annotated[str, typer.Option(help="Column that enrolment depends on; 'none' for none.")] = "age_group",
    plan: Annotated[str | None, typer.Option(help="Shares of its levels among the enrolled, by commas.")] = None,
    draws: Annotated[int, typer.Option(help="Masked files per mask and k for re-identification.", min=1)] = 5,
    workers: Annotated[int | None, typer.Option(help="Processes. [default: one a core]", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything.", min=0)] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older study in that folder.")] = False,
) -> None:
    """Market risk under covariate shift on anonymised members: bias, R² and histograms by mask, k, shift and region."""
    from shoal.files import read_table
    from shoal.schema import Schema
    from shoal.study.market_page import check_folder, write
    from shoal.study.market_risk import KS, Settings, run
    from shoal.study.market_scene import PLAN

    check_folder(out, overwrite)
    settings = Settings(
        splits=splits,
        ks=tuple(k) if k else KS,
        n=rows,
        seed=seed,
        n_regions=n_regions,
        strength=strength,
        age=None if age == "none" else age,
        plan=PLAN if plan is None else _shares(plan),
        draws=draws,
        workers=workers or os.cpu_count() or 1,
    )
    with progress_bar("splits") as progress:
        study = run(
            None if table is None else read_table(table),
            None if schema is None else Schema.read(schema),
            None if regions is None else read_table(regions),
            region_column=region_column,
            settings=settings,
            progress=progress,
        )
    write(study, out)
    _tell(study, out)


@app.command("camp-crest", epilog=_CAMP_CREST)
def camp_crest(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report and the numbers.")] = Path("study"),
    data: Annotated[
        Path | None, typer.Option(help="A file with a class column. [default: NMES1988 if installed, else simulated]")
    ] = None,
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help="Its schema in TOML.")] = None,
    level: Annotated[
        list[float] | None, typer.Option("--level", help="Linkage levels; repeat. [default: 0.05, 0.01]")
    ] = None,
    draws: Annotated[int, typer.Option(help="Masked files per perturbation; the paper took 5.", min=1)] = 3,
    growth: Annotated[float, typer.Option(help="Factor from one k to the next.", min=1.01, max=4)] = 1.3,
    t: Annotated[float, typer.Option("--t", help="The t of t-closeness.", min=0, max=1)] = 0.2,
    rows: Annotated[int, typer.Option(help="Records of the simulated file.", min=100)] = 1500,
    seed: Annotated[int, typer.Option(help="Seed of everything.", min=0)] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older study in that folder.")] = False,
) -> None:
    """Class restricted groups and micro-perturbation: every grouping with every masking at equal linkage."""
    from shoal.files import read_table
    from shoal.schema import Schema
    from shoal.study.camp_crest import LEVELS, Settings, run
    from shoal.study.camp_crest_page import check_folder, write

    check_folder(out, overwrite)
    settings = Settings(levels=tuple(level) if level else LEVELS, draws=draws, growth=growth, t=t, n=rows, seed=seed)
    with progress_bar("sizes of groups") as progress:
        study = run(
            None if data is None else read_table(data),
            None if schema is None else Schema.read(schema),
            name="the file given" if data is None else data.name,
            settings=settings,
            progress=progress,
        )
    write(study, out)
    _tell_camp_crest(study, out)


def _tell_camp_crest(study: CampCrestStudy, out: Path) -> None:
    from shoal.cli.console import out as screen
    from shoal.study.camp_crest_findings import findings

    screen.print(f"Data: {study.data}, {study.n_records:,} records", markup=False)
    for level in study.settings.levels:
        screen.print(f"\nLinkage at most {level:.3g}", markup=False)
        for text in findings(study, level):
            screen.print(f"- {text}", markup=False)
    screen.print(f"\nReport: {out / 'report.html'}", markup=False)


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ParameterError("--plan", "must be numbers separated by commas", got=repr(text)[:60]) from None


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from shoal.cli.console import err

    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _tell(study: MarketRiskStudy, out: Path) -> None:
    from shoal.cli.console import out as screen

    for item in study.checks():
        mark = "[green]holds[/]" if item.holds else "[bold red]fails[/]"
        screen.print(f"{mark} {item.value:.3g} ({item.rule}): {item.name}")
    screen.print(f"Report: {out / 'report.html'}", markup=False)


def _wire() -> None:
    """The studies that have a file of their own."""
    from shoal.cli import aggregates, quantize, study_dpat, study_pegs

    app.command("dpat", epilog=study_dpat.EPILOG)(study_dpat.dpat)
    app.command("ludia", epilog=aggregates.LUDIA_EXAMPLES)(aggregates.ludia)
    app.command("pegs", epilog=study_pegs.EPILOG)(study_pegs.pegs)
    app.command("quantize", epilog=quantize.EXAMPLES)(quantize.quantize)


_wire()
