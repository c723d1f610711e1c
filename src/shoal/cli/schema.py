"""`shoal schema`: propose a schema, and check one against its table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import out, print_table
from shoal.conform import prepare
from shoal.errors import FileError
from shoal.files import read_table, write_text
from shoal.schema import Schema
from shoal.schema.infer import propose

__all__ = ["app"]

app = typer.Typer(help="Propose and check schemas, which describe each column.", no_args_is_help=True)

_INFER = """Examples:

shoal schema infer people.csv --out schema.toml
"""
_CHECK = """Examples:

shoal schema check people.csv --schema schema.toml
"""


@app.command(epilog=_INFER)
def infer(
    file: Annotated[Path, typer.Argument(help="Table to examine.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. [default: print to the screen]")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    delimiter: Annotated[str | None, typer.Option(help="Field delimiter of a CSV file; detected by default.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Character encoding of a CSV file; detected by default.")] = None,
    decimal: Annotated[str, typer.Option(help="Decimal separator of a CSV file.")] = ".",
) -> None:
    """Propose a commented schema for FILE; correct it before you use it."""
    if out is not None and out.exists() and not overwrite:
        raise FileError(str(out), "already exists", hint="Choose another file, or use --overwrite.")
    text = propose(read_table(file, delimiter=delimiter, encoding=encoding, decimal=decimal)).to_toml()
    if out is None:
        typer.echo(text)
    else:
        write_text(out, text)
        typer.echo(f"Wrote {out}. Correct it: the roles decide what is protected.")


@app.command(epilog=_CHECK)
def check(
    file: Annotated[Path, typer.Argument(help="Table to check.")],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="Schema file (TOML).")],
    delimiter: Annotated[str | None, typer.Option(help="Field delimiter of a CSV file; detected by default.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Character encoding of a CSV file; detected by default.")] = None,
    decimal: Annotated[str, typer.Option(help="Decimal separator of a CSV file.")] = ".",
) -> None:
    """Check FILE against its schema and describe each column."""
    table = read_table(file, delimiter=delimiter, encoding=encoding, decimal=decimal)
    prepared = prepare(table, Schema.read(schema))
    rows = [[c.name, c.role, c.kind or "", str(c.missing)] for c in prepared.schema.columns]
    print_table(f"{prepared.n:,} of {prepared.n_original:,} rows usable", ["column", "role", "kind", "missing"], rows)
    for note in prepared.notes:
        out.print(note, markup=False)
