"""`shoal schema`: propose a schema, check one against its table, and make the changes that are safe."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import out, print_table
from shoal.cli.reading import FILE_HELP, Reading, reads
from shoal.conform import prepare
from shoal.errors import FileError, Problems
from shoal.files import write_text
from shoal.repair import problems_of, safe_fixes
from shoal.schema import Schema
from shoal.schema.amend import amended
from shoal.schema.infer import propose

__all__ = ["app"]

app = typer.Typer(help="Propose, check and fix schemas, which describe each column.", no_args_is_help=True)

_INFER = """Examples:

shoal schema infer people.csv --out schema.toml
"""
_FIX = """Examples:

shoal schema fix people.csv --schema schema.toml

shoal schema fix people.csv --schema schema.toml --yes
"""
_CHECK = """Examples:

shoal schema check people.csv --schema schema.toml
"""


@app.command(epilog=_INFER)
@reads
def infer(
    *,
    file: Annotated[Path | None, typer.Argument(help=FILE_HELP)] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="File to write. [default: print to the screen]")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    reading: Reading,
) -> None:
    """Propose a commented schema for FILE; correct it before you use it."""
    if out is not None and out.exists() and not overwrite:
        raise FileError(str(out), "already exists", hint="Choose another file, or use --overwrite.")
    text = propose(reading.table(file, "schema infer")).to_toml()
    if out is None:
        typer.echo(text)
    else:
        write_text(out, text)
        typer.echo(f"Wrote {out}. Correct it: the roles decide what is protected.")


@app.command(epilog=_CHECK)
@reads
def check(
    *,
    file: Annotated[Path | None, typer.Argument(help=FILE_HELP)] = None,
    schema: Annotated[Path, typer.Option("--schema", "-s", help="Schema file (TOML).")],
    reading: Reading,
) -> None:
    """Check FILE against its schema and describe each column."""
    rules = Schema.read(schema)
    prepared = prepare(reading.table(file, "schema check", rules), rules)
    rows = [[c.name, c.role, c.kind or "", str(c.missing)] for c in prepared.schema.columns]
    print_table(f"{prepared.n:,} of {prepared.n_original:,} rows usable", ["column", "role", "kind", "missing"], rows)
    for note in prepared.notes:
        out.print(note, markup=False)


@app.command(epilog=_FIX)
@reads
def fix(
    *,
    file: Annotated[Path | None, typer.Argument(help=FILE_HELP)] = None,
    schema: Annotated[Path, typer.Option("--schema", "-s", help="The schema to correct, in TOML.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write the changes without asking.")] = False,
    reading: Reading,
) -> None:
    """Make the changes of a schema that are safe, after asking; name what is left for you to decide.

    Safe is what never lets more be learnt: an entry for a column that is not there goes, a column without a role gets
    a cautious one, codes become nominal. Comments in the file stay. Exit code 4 if something is left.
    """
    rules = Schema.read(schema)
    table = reading.table(file, "schema fix", rules)
    fixes = safe_fixes(table, rules)
    for one in fixes:
        entries = "remove its entry" if one.entries is None else _spelled(one.entries)
        out.print(f"{one.column}: {entries}  ({one.reason})", markup=False)
    if fixes and (yes or typer.confirm(f"Write {len(fixes)} changes to {schema}?")):
        text = schema.read_text(encoding="utf-8-sig")
        write_text(schema, amended(text, {one.column: one.entries for one in fixes}))
        out.print(f"Wrote {schema}.", markup=False)
        rules = Schema.read(schema)
    Problems(problems_of(table, rules)).settle()
    out.print("The table fits its schema.")


def _spelled(entries: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value!r}" for name, value in entries.items() if name != "levels")
