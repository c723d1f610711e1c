"""`shoal schema pack`: the schema of health tables of a known layout, for the tables that are there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
import tomli_w
import typer

from shoal.cli.console import out as screen
from shoal.cli.options import Overwrite, check_free
from shoal.cli.output import answer, product
from shoal.datasets.bulk_data import fhir, fhir_schema
from shoal.datasets.layouts import LAYOUTS, pack_schema
from shoal.errors import FileError, ParameterError
from shoal.files import write_table, write_text
from shoal.files.linked import names_in, read_linked
from shoal.schema import LinkedSchema

__all__ = ["EXAMPLES", "pack"]

EXAMPLES = """Examples:

shoal schema pack omop --out omop.toml    (all tables and fields of the pack)

shoal schema pack omop cdm/ --also person.region=quasi --out omop.toml    (those of the files in cdm/)

shoal schema pack synpuf claims/ --out claims.toml

shoal schema pack fhir export/ --drop name --drop telecom --tables flat/ --out fhir.toml
"""


def pack(
    layout: Annotated[
        Literal["omop", "fhir", "synpuf"],
        typer.Argument(help="OMOP common data model, FHIR bulk data (NDJSON), or CMS's synthetic claims (DE-SynPUF)."),
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(help="Folder, workbook or database of the tables; of FHIR, the folder of the NDJSON files."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. [default: print to the screen]")
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="TABLE.FIELD=ROLE", help="Role of a field that the pack doesn't know; may be repeated."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="FHIR: what is left out, such as name, address.city or Observation; may be repeated."),
    ] = None,
    tables: Annotated[
        Path | None, typer.Option(help="FHIR: new folder for the resources as linked tables, one CSV file each.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write the schema of OMOP, FHIR or CMS tables; fields that nobody decided about are refused, all at once.

    Then: shoal schema check FOLDER --schema FILE, and correct the roles: they decide what is protected.
    """
    check_free(out, overwrite)
    _check_options(layout, folder, also, drop, tables)
    schema = _fhir(folder, drop or [], tables) if layout == "fhir" else _packed(layout, folder, also or [])
    text = tomli_w.dumps(schema.to_dict())
    answer(schema=text, out=out)
    if out is None:
        product(text)
        return
    write_text(out, text)
    screen.print(f"Wrote {out}. Correct it: the roles decide what is protected.", markup=False, soft_wrap=True)


def _check_options(
    layout: str, folder: Path | None, also: list[str] | None, drop: list[str] | None, tables: Path | None
) -> None:
    """Say all that doesn't go together."""
    of_fhir = {"--drop": drop, "--tables": tables}
    wrong = [f"{name} is for fhir" for name, value in of_fhir.items() if value is not None and layout != "fhir"]
    if layout == "fhir" and also is not None:
        wrong.append("--also is for omop and synpuf (what fhir doesn't read is left out by --drop)")
    if layout == "fhir" and (folder is None) != (tables is None):
        wrong.append("fhir needs both the folder and --tables, or neither: resources become tables before a release")
    if tables is not None and tables.exists():
        wrong.append("--tables must be a new folder")
    if wrong:
        raise ParameterError("schema pack", "; ".join(wrong))


def _fhir(folder: Path | None, drop: Collection[str], tables: Path | None) -> LinkedSchema:
    if folder is None or tables is None:
        return fhir_schema()
    frames = fhir(folder, drop=drop)
    _write(frames, tables)
    return fhir_schema(frames)


def _write(frames: Mapping[str, pl.DataFrame], folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise FileError(str(folder), "must be a place that can be written", got=error.strerror or "") from None
    for name, frame in frames.items():
        write_table(frame, folder / f"{name}.csv")
        screen.print(f"Wrote {len(frame):,} rows to {folder / name}.csv.", markup=False, soft_wrap=True)


def _packed(layout: str, folder: Path | None, also: list[str]) -> LinkedSchema:
    roles = _roles(also)
    if folder is None:
        return pack_schema(layout, None, roles)
    there = names_in(folder)
    names = [name for name in LAYOUTS[layout] if name in there]
    first = next(iter(LAYOUTS[layout]))
    if first not in names or len(names) < 2:
        rule = f"must hold the table {first} and at least one of {', '.join(list(LAYOUTS[layout])[1:])}"
        raise FileError(str(folder), rule)
    left_out = [name for name in there if name not in names]
    if left_out:
        screen.print(f"Not in the pack, and left out: {', '.join(left_out)}.", markup=False, soft_wrap=True)
    found = read_linked(str(folder), names).frame
    return pack_schema(layout, {name: frame.columns for name, frame in found.items()}, roles)


def _roles(also: list[str]) -> dict[str, dict[str, str]]:
    made: dict[str, dict[str, str]] = {}
    for text in also:
        place, _, role = text.partition("=")
        table, _, field = place.partition(".")
        if not (table and field and role):
            raise ParameterError("--also", "must be TABLE.FIELD=ROLE, as in person.region=quasi")
        made.setdefault(table, {})[field] = role
    return made
