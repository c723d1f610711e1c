"""How a command reads its table: the options that all commands share, declared once.

A command that takes a parameter ``reading: Reading`` and is decorated with `reads` gets these options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.errors import ParameterError
from shoal.files import Source, read_source
from shoal.files.source import READING
from shoal.schema import Schema

__all__ = ["FILE_HELP", "Reading", "reads"]

FILE_HELP = "CSV, Excel, Parquet, Arrow, SAS, Stata or SPSS file; a folder or pattern of files; - for standard input."

_OPTIONS: dict[str, Any] = {
    "delimiter": typer.Option(help="Field delimiter of a CSV file; detected automatically."),
    "encoding": typer.Option(help="Character encoding of a CSV file; detected automatically."),
    "decimal": typer.Option(help="Decimal separator of a CSV file, . or , ; detected where unambiguous."),
    "thousands": typer.Option(help="Thousands separator of a CSV file."),
    "sheet": typer.Option(help="Sheet of a workbook; needed if several hold data."),
    "sql": typer.Option(help="Read the rows of this query instead of a file."),
    "database": typer.Option(
        envvar="SHOAL_DATABASE", help="Database to query: clinic.sqlite, clinic.duckdb, postgresql://USER@HOST/NAME."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The options of reading a table, as they were given."""

    delimiter: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    sheet: str | None = None
    sql: str | None = None
    database: str | None = None

    def source(self, file: Path | None, command: str, schema: Schema | None = None) -> Source:
        """The table that the command was given; its dates by the forms that the schema declares."""
        options = {name: getattr(self, name) for name in READING}
        return read_source(self._place(file, command), formats=schema.formats if schema else None, **options)

    def table(self, file: Path | None, command: str, schema: Schema | None = None) -> Any:
        """The table alone."""
        return self.source(file, command, schema).frame

    def _place(self, file: Path | None, command: str) -> str:
        if file is not None and self.sql is not None and self.database is not None:
            raise ParameterError(command, "takes FILE or --sql QUERY --database URL, not both")
        if file is not None:
            return str(file)
        if self.sql is None:
            hint = f"Or --sql QUERY --database URL. See: shoal {command} --help."
            raise ParameterError(command, "FILE must be given", hint=hint)
        if self.database is None:
            raise ParameterError("--database", "must be given with --sql", hint="For example: --database clinic.sqlite")
        return self.database


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Reading` in place of its parameter `reading`."""
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.name != "reading"]
    names = [field.name for field in fields(Reading)]
    shared = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, _OPTIONS[name]]
        )
        for name in names
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        reading = Reading(**{name: given.pop(name) for name in names})
        command(**given, reading=reading)

    run.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
    return run
