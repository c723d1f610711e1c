"""`shoal schema`: propose a schema, check one against its table, and make the changes that are safe.

`shoal schema pack`: the schema of health tables of a known layout, for the tables that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
import tomli_w
import typer

from shoal.cli.console import out as screen
from shoal.cli.console import print_table
from shoal.cli.options import File, Overwrite, Reading, SchemaFile, check_free, grouped, required
from shoal.cli.output import answer, product
from shoal.cli.proposal import print_proposal, print_rows
from shoal.conform import prepare
from shoal.datasets.bulk_data import fhir, fhir_schema
from shoal.datasets.layouts import LAYOUTS, pack_schema
from shoal.errors import FileError, ParameterError, Problems
from shoal.files import write_table, write_text
from shoal.files.linked import names_in, read_linked
from shoal.files.source import READING, ROW_NAMES
from shoal.frame import enter
from shoal.linked import Collection
from shoal.recipe.derived import derived_faults
from shoal.recipe.linked import check_events
from shoal.recipe.rules import check_rules, rule_faults
from shoal.repair import problems_of, safe_fixes
from shoal.schema import LinkedSchema, Schema, read_schema
from shoal.schema.amend import amended
from shoal.schema.codes_seen import undeclared
from shoal.schema.infer import Proposal, propose
from shoal.schema.infer_linked import LinkedProposal, propose_linked
from shoal.schema.person_key import unit_warnings
from shoal.schema.whose_rows import whose_rows

__all__ = ["PACK", "app", "pack"]

PACK = """Examples:

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
        typer.Option(metavar="TABLE.FIELD=ROLE", help="Role of a field that the pack doesn't know; repeatable."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="FHIR: what to leave out, such as name, address.city or Observation; repeatable."),
    ] = None,
    tables: Annotated[
        Path | None, typer.Option(help="FHIR: new folder for the resources as linked tables, one CSV file each.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write the schema of OMOP, FHIR or CMS tables; fields that need a decision are refused, all at once.

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


def _fhir(folder: Path | None, drop: Sequence[str], tables: Path | None) -> LinkedSchema:
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


_HELP = "Propose, check and fix schemas, which describe each column; packs for OMOP, FHIR and CMS."
app = typer.Typer(help=_HELP, no_args_is_help=True)
app.command(epilog=PACK)(pack)

_INFER = """Examples:

shoal schema infer people.csv --out schema.toml

shoal schema infer people.csv --codebook codebook.csv --out schema.toml

shoal schema infer clinic/ --linked --out linked.toml    (a folder, workbook or database of linked tables)
"""
_FIX = """Examples:

shoal schema fix people.csv --schema schema.toml

shoal schema fix people.csv --schema schema.toml --yes
"""
_CHECK = """Examples:

shoal schema check people.csv --schema schema.toml
"""


@app.command(epilog=_INFER)
@grouped
def infer(
    *,
    file: File = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. [default: print to the screen]")
    ] = None,
    overwrite: Overwrite = False,
    linked: Annotated[
        bool, typer.Option("--linked", help="FILE is a folder, workbook or database of linked tables.")
    ] = False,
    codebook: Annotated[
        Path | None,
        typer.Option(help="Codebook of FILE (names, labels, codes): a table, REDCap's dictionary, or JSON."),
    ] = None,
    reading: Reading,
) -> None:
    """Propose a commented schema for FILE; correct it before you use it."""
    check_free(out, overwrite)
    if linked and codebook is not None:
        raise ParameterError("--codebook", "must be omitted with --linked", hint="Propose one table at a time with it.")
    made = _linked(file, reading) if linked else _single(file, codebook, reading)
    text = made.to_toml()
    answer(schema=text, out=out)
    if out is None:
        product(text)
        return
    write_text(out, text)
    if isinstance(made, Proposal):
        print_proposal(made)
    screen.print(f"Wrote {out}. Correct it: the roles decide what is protected.", markup=False, soft_wrap=True)


def _single(file: Path | None, codebook: Path | None, reading: Reading) -> Proposal:
    source = reading.source(file, "schema infer", codes=None)
    if source.names_rows:
        screen.print(f"The first column has no name: it is read as {ROW_NAMES}.", markup=False)
    return propose(source.frame, source.labels, codebook=codebook)


def _linked(file: Path | None, reading: Reading) -> LinkedProposal:
    place = required(file, "FOLDER", "schema infer")
    options = {name: getattr(reading, name) for name in READING if name not in ("sheet", "sql")}
    return propose_linked(read_linked(str(place), names_in(str(place)), **options).frame)


@app.command(epilog=_CHECK)
@grouped
def check(
    *,
    file: File = None,
    schema: SchemaFile,
    reading: Reading,
) -> None:
    """Check FILE against its schema and describe each column."""
    rules = read_schema(schema)
    if isinstance(rules, LinkedSchema):
        _check_linked(reading.source(file, "schema check", rules).frame, rules)
        return
    table = enter(reading.table(file, "schema check", rules))
    prepared = prepare(table, rules)
    Problems([*rule_faults(prepared), *derived_faults(prepared)]).raise_if_any()
    answer(n_usable=prepared.n, n_rows=prepared.n_original, columns=[c.name for c in prepared.schema.declared])
    whose = whose_rows(table, rules)
    answer(whose_rows=whose)
    asked = [f"{name}: {words}" for name, words in undeclared(prepared.frame, rules).items()]
    notes = (*filter(None, [whose.warning]), *prepared.notes, *unit_warnings(table, rules), *asked)
    answer(notes=notes)
    rows = [[c.name, c.role, c.kind or "", str(c.missing)] for c in prepared.schema.declared]
    print_table(f"{prepared.n:,} of {prepared.n_original:,} rows usable", ["column", "role", "kind", "missing"], rows)
    for note in notes:
        screen.print(note, markup=False)


def _check_linked(tables: Mapping[str, Any], rules: LinkedSchema) -> None:
    """Hold linked tables to their schema, and say how they hang together."""
    found = Collection.of(tables, rules)
    check_events(rules, found.tables, [])
    check_rules(prepare(tables[rules.persons.name], rules.persons.whole))
    answer(n_rows={name: len(table) for name, table in found.tables.items()})
    rows = [
        [table.name, f"{len(found.tables[table.name]):,}", table.parent or "persons", ", ".join(table.known)]
        for table in (rules.persons, *rules.events)
    ]
    print_table("The tables hang together", ["table", "rows", "of", "known to an intruder"], rows)


@app.command(epilog=_FIX)
@grouped
def fix(
    *,
    file: File = None,
    schema: Annotated[Path, typer.Option("--schema", "-s", help="The schema to correct, in TOML.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write the changes without asking.")] = False,
    reading: Reading,
) -> None:
    """Make the changes of a schema that are safe, after asking; name what is left for you to decide.

    A change is safe if it never reveals more: an entry for a missing column is removed, a column without a role gets
    a cautious one, codes become nominal, missing numbers become a level of their own. Comments in the file stay. Exit
    code 4 if something is left to decide.
    """
    rules = Schema.read(schema)
    table = reading.table(file, "schema fix", rules)
    fixes = safe_fixes(table, rules)
    answer(fixes=[{"column": one.column, "entries": one.entries, "reason": one.reason} for one in fixes])
    rows = [(one.column, "remove its entry" if one.entries is None else _spelled(one.entries)) for one in fixes]
    reasons = dict.fromkeys(one.reason for one in fixes)
    for reason in reasons:
        print_rows(
            reason[:1].upper() + reason[1:], [row for row, one in zip(rows, fixes, strict=True) if one.reason == reason]
        )
    if fixes and (yes or typer.confirm(f"Write {len(fixes)} changes to {schema}?", err=True)):
        text = schema.read_text(encoding="utf-8-sig")
        write_text(schema, amended(text, {one.column: one.entries for one in fixes}))
        screen.print(f"Wrote {schema}.", markup=False)
        rules = Schema.read(schema)
    Problems(problems_of(table, rules)).raise_if_any()
    screen.print("The table fits its schema.")


def _spelled(entries: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in entries.items() if name != "levels")
