"""`shoal export`: hand the table of a release on, into a database or to standard output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import out
from shoal.errors import ParameterError
from shoal.files.delimited import delimited
from shoal.release.export import export_table, released_table

__all__ = ["EXAMPLES", "export"]

EXAMPLES = """Examples:

shoal export release --database research.duckdb --table people

shoal export release --database postgresql://steward@host/research --table people --overwrite

shoal export release --format arrow > people.arrow
"""


def export(
    directory: Annotated[Path, typer.Argument(help="Release folder.")],
    database: Annotated[
        str | None,
        typer.Option(help="Write to this database, in one transaction: FILE.sqlite, FILE.duckdb or postgresql://..."),
    ] = None,
    table: Annotated[str | None, typer.Option(help="Name of the table in the database.")] = None,
    format: Annotated[str, typer.Option("--format", "-f", help="On standard output: csv or arrow.")] = "csv",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a table of that name.")] = False,
) -> None:
    """Write the released table to a database, or to standard output if none is named.

    The folder must hold exactly what its manifest names; if not, nothing is written and the exit code is 3.
    """
    if format not in ("csv", "arrow"):
        raise ParameterError("--format", "must be csv or arrow", got=repr(format)[:40])
    if (database is None) != (table is None):
        raise ParameterError("export", "needs --database and --table together, or neither")
    if database is not None and table is not None:
        rows = export_table(directory, database, table, overwrite=overwrite)
        out.print(f"Wrote {rows:,} rows to the table {table}.", markup=False)
        return
    frame = released_table(directory)
    if format == "csv":
        sys.stdout.buffer.write(delimited(frame, "csv", None))
    else:
        frame.write_ipc_stream(sys.stdout.buffer)
