"""`shoal verify`: check somebody's release again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["EXAMPLES", "verify"]

EXAMPLES = """Examples:

shoal verify release

shoal verify release --original people.csv
"""

_MARKS = {True: "[green]holds[/]", False: "[bold red]fails[/]", None: "[yellow]not checked[/]"}


def verify(
    directory: Annotated[Path, typer.Argument(help="Folder of a release.")],
    original: Annotated[
        Path | None, typer.Option(help="The input file: repeats the run and measures the proved bound.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Measure a written release again; exit code 3 if a check fails."""
    from rich.markup import escape

    from shoal.cli.console import out, steps
    from shoal.release import verify as check_again

    with steps(1) as step:
        step("verifying")
        result = check_again(directory, original=original)
    if json:
        out.print_json(data=result.to_dict())
    else:
        for check in result.checks:
            out.print(f"{_MARKS[check.holds]:<24} {escape(f'{check.name}: {check.detail}')}")
    if not result.holds:
        raise typer.Exit(3)
