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

app = typer.Typer(help="Propose and check schemas: what each column is.", no_args_is_help=True)

_INFER = """Examples:

shoal schema infer people.csv --out schema.toml
"""
_CHECK = """Examples:

shoal schema check people.csv --schema schema.toml
"""


@app.command(epilog=_INFER)
def infer(
    file: Annotated[Path, typer.Argument(help="The table to look at.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write there; the screen if left out.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    delimiter: Annotated[str | None, typer.Option(help="Delimiter of a CSV file; found by itself if left out.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a CSV file; found by itself if left out.")] = None,
    decimal: Annotated[str, typer.Option(help="Decimal sign of a CSV file.")] = ".",
) -> None:
    """Propose a commented schema for FILE; correct it before you use it."""
    if out is not None and out.exists() and not overwrite:
        raise FileError(str(out), "already exists", hint="Name another file, or allow overwriting (--overwrite).")
    text = propose(read_table(file, delimiter=delimiter, encoding=encoding, decimal=decimal)).to_toml()
    if out is None:
        typer.echo(text)
    else:
        write_text(out, text)
        typer.echo(f"Wrote {out}. Correct it: the roles decide what is protected.")


@app.command(epilog=_CHECK)
def check(
    file: Annotated[Path, typer.Argument(help="The table.")],
    schema: Annotated[Path, typer.Option("--schema", "-s", help="Its schema in TOML.")],
    delimiter: Annotated[str | None, typer.Option(help="Delimiter of a CSV file; found by itself if left out.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding of a CSV file; found by itself if left out.")] = None,
    decimal: Annotated[str, typer.Option(help="Decimal sign of a CSV file.")] = ".",
) -> None:
    """Hold FILE to its schema and say what each column is."""
    table = read_table(file, delimiter=delimiter, encoding=encoding, decimal=decimal)
    prepared = prepare(table, Schema.read(schema))
    rows = [[c.name, c.role, c.kind or "", str(c.missing)] for c in prepared.schema.columns]
    print_table(f"{prepared.n:,} of {prepared.n_original:,} rows usable", ["column", "role", "kind", "missing"], rows)
    for note in prepared.notes:
        out.print(note, markup=False)
