"""The options that several commands share, declared once.

A single option is an annotated type: ``schema: SchemaFile = None``. Options that go together are the fields of a
dataclass (`Reading`, `EngineOptions`, `AccountOptions`): a command that is decorated with `grouped` and has a parameter
of that type gets its fields as options.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from shoal.cli.console import note
from shoal.engine import Engine, open_engine
from shoal.engine.choose import suited
from shoal.errors import FileError, ParameterError
from shoal.files import read_source
from shoal.files.linked import LinkedSource, read_linked
from shoal.files.source import READING
from shoal.schema import LinkedSchema, Schema

__all__ = [
    "AccountOptions",
    "EngineOptions",
    "File",
    "LedgerUrl",
    "Overwrite",
    "Reading",
    "SchemaFile",
    "SomeSchema",
    "check_free",
    "grouped",
    "required",
]

_FILE = "CSV, Excel, Parquet, Arrow, SAS, Stata or SPSS file; a folder or pattern of files; - for standard input."

File = Annotated[Path | None, typer.Argument(help=_FILE)]
SchemaFile = Annotated[Path, typer.Option("--schema", "-s", help="Schema file (TOML) with the role of each column.")]
SomeSchema = Annotated[
    Path | None, typer.Option("--schema", "-s", help="Schema file (TOML) with the role of each column.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is already there.")]
LedgerUrl = Annotated[str, typer.Option("--ledger", envvar="SHOAL_LEDGER", help="Database URL of the ledger.")]


def required(value: Path | None, name: str, command: str) -> Path:
    """The value of an argument that can't be left out."""
    if value is None:
        raise ParameterError(command, f"{name} must be given", hint=f"See: shoal {command} --help.")
    return value


def check_free(file: Path | None, overwrite: bool) -> None:
    """Refuse to write to a file that is already there, or where no folder is, before any work is done or paid for."""
    if file is not None and file.exists() and not overwrite:
        raise FileError(str(file), "already exists", hint="Choose another file, or use --overwrite.")
    if file is not None and not file.absolute().parent.is_dir():
        raise FileError(str(file.parent), "must be a folder that exists", hint="Create it, or choose another.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How the table is read."""

    delimiter: Annotated[str | None, typer.Option(help="Field delimiter of a CSV file; detected automatically.")] = None
    encoding: Annotated[str | None, typer.Option(help="Character encoding of a CSV file; detected automatically.")] = (
        None
    )
    decimal: Annotated[
        str | None, typer.Option(help="Decimal separator of a CSV file, . or , ; detected where unambiguous.")
    ] = None
    thousands: Annotated[str | None, typer.Option(help="Thousands separator of a CSV file.")] = None
    sheet: Annotated[str | None, typer.Option(help="Sheet of a workbook; needed if several hold data.")] = None
    sql: Annotated[str | None, typer.Option(help="Read the rows of this query instead of a file.")] = None
    database: Annotated[
        str | None,
        typer.Option(
            envvar="SHOAL_DATABASE",
            help="Database to query: clinic.sqlite, clinic.duckdb, postgresql://USER@HOST/NAME.",
        ),
    ] = None
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which a query is given up. [default: 900]", show_default=False)
    ] = None

    def source(
        self,
        file: Path | None,
        command: str,
        schema: Schema | LinkedSchema | None = None,
        codes: Collection[str] | None = (),
    ) -> Any:
        """The table, or linked tables, that the command was given; dates by the forms that the schema declares.

        `codes` are columns whose codes for an absence are read as they are, where no schema says it: None for all.
        """
        options = {name: getattr(self, name) for name in READING}
        if isinstance(schema, LinkedSchema):
            return self._linked(required(file, "FOLDER", command), schema, options)
        formats, codes = (schema.formats, schema.coded) if schema else (None, codes)
        return read_source(self._place(file, command), formats=formats, codes=codes, timeout=self.timeout, **options)

    def _linked(self, place: Path, schema: LinkedSchema, options: Mapping[str, Any]) -> LinkedSource:
        for name in ("sheet", "sql"):
            if options[name] is not None:
                raise ParameterError(f"--{name}", "is for one table; linked ones are found by their names")
        formats = {table.name: table.columns.formats for table in schema.tables}
        codes = {table.name: table.columns.coded for table in schema.tables}
        text = {name: value for name, value in options.items() if name not in ("sheet", "sql")}
        return read_linked(str(place), list(formats), formats=formats, codes=codes, **text)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Where the work is done: in memory, or by an engine for files that don't fit there."""

    engine: Annotated[
        str,
        typer.Option(
            help="memory, duckdb (files larger than memory), spark, or auto (memory if the forecast fits, else duckdb)."
        ),
    ] = "auto"
    memory: Annotated[
        str | None, typer.Option(help="Memory limit, such as 4GB: of the process (duckdb) or of an executor (spark).")
    ] = None
    spill: Annotated[Path | None, typer.Option(help="Folder for what exceeds the memory limit (duckdb).")] = None
    master: Annotated[
        str | None, typer.Option(help="Where Spark runs: local[4], spark://HOST:7077, yarn, sc://HOST.")
    ] = None

    def chosen(self, path: Path | None) -> EngineOptions:
        """The same with auto replaced by what the table at `path` needs; options of other engines are refused."""
        if self.engine == "auto":
            name = "spark" if self.master else "memory" if path is None else suited(path, self.memory)
            if name == "memory":
                return EngineOptions(engine=name)
            note(f"Engine: {name}" + ("" if self.master else ": the table may not fit in memory."))
            return replace(self, engine=name)
        if self.engine != "spark":
            self.refuse({"--master": self.master})
        if self.engine != "duckdb":
            self.refuse({"--spill": self.spill})
        if self.engine == "memory":
            self.refuse({"--memory": self.memory})
        return self

    @property
    def in_memory(self) -> bool:
        """Whether the table is held whole."""
        return self.engine == "memory"

    def open(self) -> Engine:
        """Start the engine."""
        return open_engine(self.engine, memory=self.memory, spill=self.spill, master=self.master)

    def refuse(self, given: Mapping[str, Any], reading: Reading | None = None) -> None:
        """Refuse options that the engine doesn't have: those of `given` with a value, and most ways of reading."""
        if reading is not None:
            names = ("encoding", "thousands", "sheet", "sql")
            given = {**given, **{f"--{name}": getattr(reading, name) for name in names}}
            given["--decimal"] = reading.decimal not in (None, ".")
        for option, value in given.items():
            if value:
                hint = "Leave it out, or use another engine."
                raise ParameterError(option, f"can't be used with --engine {self.engine}", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountOptions:
    """The privacy account of the file that a result is computed from."""

    limit: Annotated[
        float | None,
        typer.Option(help="Total epsilon that may ever be spent on FILE; fixed by the first run. [default: 10]"),
    ] = None
    account: Annotated[bool, typer.Option(help="Charge the privacy account of FILE before anything is computed.")] = (
        True
    )
    ledger: Annotated[
        str | None,
        typer.Option(envvar="SHOAL_LEDGER", help="Shared ledger for a new account. [default: next to FILE]"),
    ] = None
    data: Annotated[str | None, typer.Option(help="Data set that FILE belongs to, if already in the ledger.")] = None
    corrected: Annotated[bool, typer.Option("--corrected", help="FILE was corrected and holds the same people.")] = (
        False
    )

    @property
    def place(self) -> dict[str, Any]:
        """Ledger and data set of the account, in the words of `shoal.dp.Account.open`."""
        return {"ledger": self.ledger, "data": self.data, "changed": "continue" if self.corrected else "refuse"}


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of its dataclass parameters as options, after its own."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {p.name: p.annotation for p in signature.parameters.values() if is_dataclass(p.annotation)}
    own = [p for p in signature.parameters.values() if p.name not in groups]
    options = {name: _options(group) for name, group in groups.items()}
    shared = [option for group in options.values() for option in group]

    @wraps(command)
    def run(**given: Any) -> None:
        made = {name: groups[name](**{o.name: given.pop(o.name) for o in options[name]}) for name in groups}
        command(**given, **made)

    run.__signature__ = signature.replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
    return run


def _options(group: Any) -> list[inspect.Parameter]:
    kinds = get_type_hints(group, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(
            field.name,
            keyword,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=kinds[field.name],
        )
        for field in fields(group)
    ]
