"""`shoal study quantize`: vector-quantization anonymization on the paper's toy table and on planted outliers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["EXAMPLES", "quantize"]

EXAMPLES = """Examples:

shoal study quantize --out study

shoal study quantize --rows 10000 --share 0.02 --minimum 10 --out study
"""


def quantize(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the report and the numbers.")] = Path("study"),
    rows: Annotated[int, typer.Option(help="Records of the simulated table.", min=200)] = 3000,
    share: Annotated[float, typer.Option(help="Share of planted outliers.", min=0.001, max=0.2)] = 0.01,
    minimum: Annotated[int, typer.Option(help="Persons a group must hold not to be small.", min=2)] = 5,
    seed: Annotated[int, typer.Option(help="Seed of everything.", min=0)] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older study in that folder.")] = False,
) -> None:
    """Outliers found, pushed back and stirred: recall, distortion, cluster shape and linkage after each step."""
    from shoal.cli.console import out as screen
    from shoal.cli.console import steps
    from shoal.study.quantize import CHAINS, Settings, run
    from shoal.study.quantize_page import check_folder, findings, write

    check_folder(out, overwrite)
    with steps(len(CHAINS) + 2) as step:
        study = run(
            Settings(n=rows, share=share, minimum=minimum, seed=seed),
            progress=lambda done, total: step(f"step {done + 1} of {total}"),
        )
        step("drawing")
        write(study, out)
    for text in findings(study):
        screen.print(f"- {text}", markup=False)
    screen.print(f"\nReport: {out / 'report.html'}", markup=False)
