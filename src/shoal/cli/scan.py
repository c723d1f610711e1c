"""`shoal scan`: does a table hold names, numbers or addresses of people?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import out, print_table, steps
from shoal.compliance.scan import scan as look
from shoal.files import read_table

__all__ = ["EXAMPLES", "scan"]

EXAMPLES = """Examples:

shoal scan people.csv

shoal scan people.csv --fail    (exit code 3 if something is found, for pipelines)

shoal scan people.parquet --json
"""


def scan(
    file: Annotated[Path, typer.Argument(help="The table to look at.")],
    fail: Annotated[bool, typer.Option("--fail", help="Exit with code 3 if something is found.")] = False,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Look at this many different values of a column at most.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    delimiter: Annotated[str | None, typer.Option(help="Delimiter of a CSV file; found by itself if left out.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a CSV file; found by itself if left out.")] = None,
    decimal: Annotated[str, typer.Option(help="Decimal sign of a CSV file.")] = ".",
) -> None:
    """Look for the 18 Safe Harbor identifiers in FILE, by names and values; print counts, never values."""
    with steps(2) as step:
        step("reading")
        table = read_table(file, delimiter=delimiter, encoding=encoding, decimal=decimal)
        step("looking")
        found = look(table, sample=sample)
    if json:
        out.print_json(data=found.to_dict())
    else:
        _tell(found)
    if fail and found.findings:
        raise typer.Exit(3)


def _tell(found: Any) -> None:
    size = f"{found.n_rows:,} rows, {found.n_columns} columns"
    if not found.findings:
        out.print(f"[bold]Nothing was found[/] in {size}. That doesn't show that nothing is there.")
        return
    rows = [_row(finding) for finding in found.findings]
    print_table(f"Possible identifiers in {size}", ["column", "holds", "rule", "by", "cells", "share"], rows)
    out.print("Counts of cells are for the secure room. What is neither named nor formed like an identifier escapes.")


def _row(finding: Any) -> list[str]:
    by = [word for word, told in (("name", finding.by_name), ("values", finding.by_values)) if told]
    return [
        finding.column,
        finding.identifier,
        finding.letter,
        ", ".join(by),
        f"{finding.n_matching:,}",
        f"{finding.share:.1%}",
    ]
