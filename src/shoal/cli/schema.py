"""`shoal schema`: propose a schema, check one against its table, and make the changes that are safe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import out as screen
from shoal.cli.console import print_table
from shoal.cli.options import File, Overwrite, Reading, SchemaFile, check_free, grouped, required
from shoal.cli.output import answer, product
from shoal.cli.schema_pack import EXAMPLES as PACK
from shoal.cli.schema_pack import pack
from shoal.conform import prepare
from shoal.errors import Problems
from shoal.files import Labels, write_text
from shoal.files.linked import names_in, read_linked
from shoal.files.source import READING
from shoal.linked import Collection
from shoal.recipe.event_rules import check_events
from shoal.recipe.rules import check_rules
from shoal.repair import problems_of, safe_fixes
from shoal.schema import LinkedSchema, Schema, read_schema
from shoal.schema.amend import amended
from shoal.schema.infer import propose
from shoal.schema.infer_linked import propose_linked

__all__ = ["app"]

_HELP = "Propose, check and fix schemas, which describe each column; packs for OMOP, FHIR and CMS."
app = typer.Typer(help=_HELP, no_args_is_help=True)
app.command(epilog=PACK)(pack)

_INFER = """Examples:

shoal schema infer people.csv --out schema.toml

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
    reading: Reading,
) -> None:
    """Propose a commented schema for FILE; correct it before you use it."""
    check_free(out, overwrite)
    text = _linked_text(file, reading) if linked else _text(file, reading)
    answer(schema=text, out=out)
    if out is None:
        product(text)
    else:
        write_text(out, text)
        screen.print(f"Wrote {out}. Correct it: the roles decide what is protected.", markup=False, soft_wrap=True)


def _text(file: Path | None, reading: Reading) -> str:
    source = reading.source(file, "schema infer", codes=None)
    labels = source.labels or Labels()
    return propose(source.frame, labels.absences, labels.columns).to_toml()


def _linked_text(file: Path | None, reading: Reading) -> str:
    place = required(file, "FOLDER", "schema infer")
    options = {name: getattr(reading, name) for name in READING if name not in ("sheet", "sql")}
    return propose_linked(read_linked(str(place), names_in(str(place)), **options).frame).to_toml()


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
    prepared = prepare(reading.table(file, "schema check", rules), rules)
    check_rules(prepared)
    answer(n_usable=prepared.n, n_rows=prepared.n_original, columns=[c.name for c in prepared.schema.columns])
    answer(notes=prepared.notes)
    rows = [[c.name, c.role, c.kind or "", str(c.missing)] for c in prepared.schema.columns]
    print_table(f"{prepared.n:,} of {prepared.n_original:,} rows usable", ["column", "role", "kind", "missing"], rows)
    for note in prepared.notes:
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

    Safe is what never lets more be learnt: an entry for a column that is not there goes, a column without a role gets
    a cautious one, codes become nominal, missing numbers a level of their own. Comments in the file stay. Exit code 4
    if something is left.
    """
    rules = Schema.read(schema)
    table = reading.table(file, "schema fix", rules)
    fixes = safe_fixes(table, rules)
    answer(fixes=[{"column": one.column, "entries": one.entries, "reason": one.reason} for one in fixes])
    for one in fixes:
        entries = "remove its entry" if one.entries is None else _spelled(one.entries)
        screen.print(f"{one.column}: {entries}  ({one.reason})", markup=False)
    if fixes and (yes or typer.confirm(f"Write {len(fixes)} changes to {schema}?", err=True)):
        text = schema.read_text(encoding="utf-8-sig")
        write_text(schema, amended(text, {one.column: one.entries for one in fixes}))
        screen.print(f"Wrote {schema}.", markup=False)
        rules = Schema.read(schema)
    Problems(problems_of(table, rules)).raise_if_any()
    screen.print("The table fits its schema.")


def _spelled(entries: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in entries.items() if name != "levels")
