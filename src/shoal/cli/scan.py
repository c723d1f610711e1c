"""`shoal scan`: does a table hold names, numbers or addresses of people?"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from shoal.cli.console import out, print_table, steps
from shoal.cli.options import File, Reading, grouped
from shoal.cli.output import answer
from shoal.compliance.scan import scan as look

__all__ = ["EXAMPLES", "scan"]

EXAMPLES = """Examples:

shoal scan people.csv

shoal scan people.csv --fail    (exit code 3 if anything is found, for pipelines)

shoal scan people.parquet --json
"""


@grouped
def scan(
    file: File = None,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with code 3 if anything is found.")] = False,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Examine at most this many distinct values per column.")
    ] = None,
    *,
    reading: Reading,
) -> None:
    """Scan FILE for the 18 Safe Harbor identifiers, by column names and values; print counts, never values."""
    with steps(2) as step:
        step("reading")
        table = reading.table(file, "scan")
        step("looking")
        found = look(table, sample=sample)
    answer(**found.to_dict())
    _tell(found)
    if fail and found.findings:
        raise typer.Exit(3)


def _tell(found: Any) -> None:
    size = f"{found.n_rows:,} rows, {found.n_columns} columns"
    if not found.findings:
        out.print(f"[bold]Nothing was found[/] in {size}. This does not prove that there are no identifiers.")
        return
    rows = [_row(finding) for finding in found.findings]
    print_table(f"Possible identifiers in {size}", ["column", "holds", "rule", "by", "cells", "share"], rows)
    for finding in found.findings:
        if not finding.judged:
            out.print(_question(finding), highlight=False)
    out.print(
        "Cell counts are internal. The scan misses identifiers that neither their name nor their form gives away."
    )


def _question(finding: Any) -> str:
    """What only a person can judge, and why it matters."""
    follows = f": {', '.join(finding.gives_away)} can be told from it" if finding.gives_away else ""
    return escape(f"For you to judge: {finding.identifier} in {finding.column}{follows}.")


def _row(finding: Any) -> list[str]:
    by = [word for word, found in (("name", finding.by_name), ("values", finding.by_values)) if found]
    return [
        finding.column,
        finding.identifier,
        finding.letter,
        ", ".join(by),
        f"{finding.n_matching:,}",
        f"{finding.share:.1%}",
    ]
