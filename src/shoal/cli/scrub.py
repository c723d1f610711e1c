"""`shoal scrub`: replace what names people in columns of free text, by Presidio, and count it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import out as screen
from shoal.cli.console import print_table
from shoal.cli.options import File, Overwrite, Reading, grouped, required
from shoal.cli.output import answer
from shoal.compliance.free_text import scrub as scrubbed
from shoal.errors import ParameterError
from shoal.files import write_table

__all__ = ["EXAMPLES", "scrub"]

EXAMPLES = """Examples:

shoal scrub notes.csv --column note --model en_core_web_lg --out scrubbed.csv

shoal scrub notes.csv --column note --out scrubbed.csv    (without a model: numbers, addresses, dates; no names)
"""


@grouped
def scrub(
    file: File = None,
    column: Annotated[list[str] | None, typer.Option(help="Column of free text. Repeatable.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write.")] = None,
    overwrite: Overwrite = False,
    model: Annotated[
        str | None, typer.Option(help="Installed spaCy model to recognise names with; without one, none are found.")
    ] = None,
    language: Annotated[str, typer.Option(help="Language of the texts.")] = "en",
    *,
    reading: Reading,
) -> None:
    """Replace what Presidio recognises in free text of FILE by its kind, and print how much of each.

    Needs the extra `text`. What is not recognised stays: read the result before you allow the column in a release.
    """
    if not column:
        raise ParameterError("--column", "must name a column of free text")
    target = required(out, "--out FILE", "scrub")
    if target.exists() and not overwrite:
        raise ParameterError("--out", "must not exist yet", hint="Name a new file, or add --overwrite.")
    done = scrubbed(reading.table(file, "scrub"), column, model=model, language=language)
    write_table(done.table, target)
    answer(counts=done.counts, out=target)
    rows = [[name, kind, f"{n:,}"] for name, counts in done.counts.items() for kind, n in counts.items()]
    print_table("Replaced", ["column", "what", "times"], rows)
    if model is None:
        screen.print("No names were looked for: that needs a language model (--model).")
    screen.print(f"Table: {target}. Still personal data: what was not recognised is still there.", markup=False)
