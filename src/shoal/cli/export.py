"""`shoal export`: hand the tables of a release on, into a database, a workbook, FHIR resources or standard output."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import out
from shoal.cli.output import answer, is_asked, write_bytes
from shoal.errors import ParameterError
from shoal.files.delimited import delimited
from shoal.release.contents import export_fhir, export_table, export_tables, released_table

__all__ = ["EXAMPLES", "export"]

EXAMPLES = """Examples:

shoal export release --database research.duckdb --table people

shoal export release --database postgresql://steward@host/research --table people --overwrite

shoal export release --database research.duckdb    (linked tables, each under its name)

shoal export release --workbook clinic.xlsx

shoal export release --fhir shared/    (tables that `shoal schema pack fhir` read)

shoal export release --format arrow > people.arrow
"""


def export(
    directory: Annotated[Path, typer.Argument(help="Release folder.")],
    database: Annotated[
        str | None,
        typer.Option(help="Write to this database, in one transaction: FILE.sqlite, FILE.duckdb or postgresql://..."),
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="Name of the table in the database. [default: the tables' own names]")
    ] = None,
    workbook: Annotated[Path | None, typer.Option(help="Write a new workbook FILE.xlsx, one sheet per table.")] = None,
    fhir: Annotated[
        Path | None, typer.Option(help="Write FHIR resources (NDJSON) to this folder, one file per table.")
    ] = None,
    format: Annotated[str, typer.Option("--format", "-f", help="On standard output: csv or arrow.")] = "csv",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace tables of these names.")] = False,
) -> None:
    """Write released tables to a database, a workbook or FHIR resources, or one table to standard output.

    The folder must hold exactly what its manifest names; if not, nothing is written and the exit code is 3.
    """
    if format not in ("csv", "arrow"):
        raise ParameterError("--format", "must be csv or arrow", got=repr(format)[:40])
    several = sum(place is not None for place in (database, workbook, fhir)) > 1
    if several or (database is None and table is not None):
        rule = "needs --database, with --table or without, or --workbook, or --fhir, or none of them"
        raise ParameterError("export", rule)
    if database is not None and table is not None:
        rows = export_table(directory, database, table, overwrite=overwrite)
        answer(n_rows={table: rows})
        out.print(f"Wrote {rows:,} rows to the table {table}.", markup=False)
    elif database is not None or workbook is not None or fhir is not None:
        written = (
            export_tables(directory, database or str(workbook), overwrite=overwrite)
            if fhir is None
            else export_fhir(directory, fhir)
        )
        answer(n_rows=written)
        for name, rows in written.items():
            out.print(f"Wrote {rows:,} rows to {name}.", markup=False)
    else:
        _to_standard_output(directory, format)


def _to_standard_output(directory: Path, format: str) -> None:
    if is_asked():
        raise ParameterError("--json", "can't be printed beside the table", hint="Use --database or --workbook.")
    frame, content = released_table(directory), BytesIO()
    if format == "csv":
        content.write(delimited(frame, "csv", None))
    else:
        frame.write_ipc_stream(content)
    write_bytes(content.getbuffer())
