"""`shoal study pegs`: the figures of the synthesis chapter, and the same at equal ε for the data set."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["EPILOG", "pegs"]

EPILOG = """Examples:

shoal study pegs --out study

shoal study pegs --data discharges.csv --schema discharges.toml --rows 1000 --out study
"""


def pegs(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report and the numbers.")] = Path("study"),
    data: Annotated[Path | None, typer.Option(help="A discharge table. [default: a simulated one]")] = None,
    schema: Annotated[Path | None, typer.Option("--schema", "-s", help="Its schema in TOML.")] = None,
    n: Annotated[int, typer.Option(help="Records of the simulated table.", min=500)] = 20_000,
    rows: Annotated[int, typer.Option(help="Synthetic rows of a file; the paper drew 1,000.", min=50)] = 1_000,
    draws: Annotated[int, typer.Option(help="Files that a number is averaged over.", min=1)] = 1,
    parents: Annotated[int, typer.Option(help="Parents of a column in PeGS by row.", min=1, max=4)] = 2,
    seed: Annotated[int, typer.Option(help="Seed of the table.", min=0)] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older study in that folder.")] = False,
) -> None:
    """Synthesis by PeGS: risk and utility by row as published, and at equal ε for the whole data set."""
    from shoal.cli.console import out as screen
    from shoal.files import read_table
    from shoal.schema import Schema
    from shoal.study.pegs import Settings, run
    from shoal.study.pegs_findings import findings
    from shoal.study.pegs_page import check_folder, write

    check_folder(out, overwrite)
    with _bar() as progress:
        study = run(
            None if data is None else read_table(data),
            None if schema is None else Schema.read(schema),
            name="the file given" if data is None else data.name,
            settings=Settings(n=n, rows=rows, draws=draws, parents=parents, seed=seed),
            progress=progress,
        )
    write(study, out)
    for text in findings(study):
        screen.print(f"- {text}", markup=False)
    screen.print(f"\nReport: {out / 'report.html'}", markup=False)


def _bar() -> AbstractContextManager[Callable[[int, int], None]]:
    from shoal.cli.study import progress_bar as bar

    return bar("files")
