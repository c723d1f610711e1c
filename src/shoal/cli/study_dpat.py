"""`shoal study dpat`: the figures of the chapter on private trees, and what their promise is worth."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["EPILOG", "dpat"]

EPILOG = """Examples:

shoal study dpat --out study

shoal study dpat --data pima_diabetes.csv --halves 30 --out study

shoal study dpat --data sepsis.csv --schema sepsis.toml --target shock --out study
"""


def dpat(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report and the numbers.")] = Path("study"),
    data: Annotated[Path | None, typer.Option(help="A table in the Pima layout. [default: a simulated one]")] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="Schema of a table in another layout, in TOML.")
    ] = None,
    target: Annotated[str, typer.Option("--target", "-t", help="Column with the two classes.")] = "diabetes",
    n: Annotated[int, typer.Option(help="Records of the simulated table.", min=100)] = 768,
    halves: Annotated[int, typer.Option(help="Random halves; the paper took 30.", min=2)] = 10,
    deletions: Annotated[int, typer.Option(help="One-record deletions tried, at most.", min=1)] = 768,
    seed: Annotated[int, typer.Option(help="Seed of the table and of the halves.", min=0)] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older study in that folder.")] = False,
) -> None:
    """Private trees: C4.5 against 0-DiffStructure, AUROC against ε, and how private the published structure is."""
    from shoal.cli.console import out as screen
    from shoal.files import read_table
    from shoal.schema import Schema
    from shoal.study.dpat import Settings, run
    from shoal.study.dpat_findings import findings
    from shoal.study.dpat_page import check_folder, write

    check_folder(out, overwrite)
    with _bar() as progress:
        study = run(
            None if data is None else read_table(data),
            None if schema is None else Schema.read(schema),
            target,
            name="the file given" if data is None else data.name,
            settings=Settings(n=n, halves=halves, deletions=deletions, seed=seed),
            progress=progress,
        )
    write(study, out)
    for text in findings(study):
        screen.print(f"- {text}", markup=False)
    screen.print(f"\nReport: {out / 'report.html'}", markup=False)


def _bar() -> AbstractContextManager[Callable[[int, int], None]]:
    from shoal.cli.study import progress_bar as bar

    return bar("steps")
