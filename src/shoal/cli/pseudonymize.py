"""`shoal pseudonymize`: keyed pseudonyms in the place of identifiers, and each person's dates shifted together."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.console import out as screen
from shoal.cli.options import File, Reading, SomeSchema, grouped, required
from shoal.cli.output import answer
from shoal.cli.releasing import PseudonymOptions
from shoal.errors import ParameterError
from shoal.files import write_table
from shoal.pseudonym import DateShift, ProjectKey, Pseudonyms, Shifted, days_between
from shoal.schema import Schema

__all__ = ["EXAMPLES", "pseudonymize"]

EXAMPLES = """Examples:

shoal pseudonymize --new-key project.key

shoal pseudonymize visits.csv -s schema.toml -o visits-p.csv --pseudonym-key project.key --scope "registry"

shoal pseudonymize visits.csv -s schema.toml -o visits-p.csv --scope "registry" --pseudonym-format digits:12

shoal pseudonymize visits.csv -s schema.toml -o visits-p.csv --scope "registry" --shift admitted --shift left --weeks 26
"""


@grouped
def pseudonymize(
    file: File = None,
    schema: SomeSchema = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; must not exist yet.")] = None,
    shift: Annotated[list[str] | None, typer.Option(help="Column of dates to shift. Repeatable.")] = None,
    weeks: Annotated[int | None, typer.Option(help="Shift by whole weeks, up to this many either way.")] = None,
    days: Annotated[int | None, typer.Option(help="Shift by days, up to this many either way.")] = None,
    window: Annotated[
        str | None,
        typer.Option(help="FIRST:LAST day of the study, if publicly known: counts the shifts that remain possible."),
    ] = None,
    ids_as_text: Annotated[bool, typer.Option("--ids-as-text", help="Treat 7 and '7' as the same identifier.")] = False,
    new_key: Annotated[Path | None, typer.Option(help="Write a new project key to this file and exit.")] = None,
    *,
    pseudonym: PseudonymOptions,
    reading: Reading,
) -> None:
    """Replace identifiers of FILE by keyed pseudonyms, and shift each person's dates.

    Columns with pseudonym = true get pseudonyms, other identifiers are removed. The result links a person's rows and
    is still personal data: a release can be made from it, but it is not one itself.
    """
    if new_key is not None:
        _make_key(new_key)
        return
    rules = Schema.read(required(schema, "--schema FILE", "pseudonymize"))
    target = required(out, "--out FILE", "pseudonymize")
    if target.exists():
        raise ParameterError("--out", "must not exist yet", hint="Name a new file.")
    shifted_columns, between = shift or [], None if window is None else days_between(window, ":")
    _check_shift(rules, shifted_columns, weeks, days, window)
    names = pseudonym.of(rules, as_text=ids_as_text)
    if names is None:
        raise ParameterError(
            "pseudonymize", "the schema wants no pseudonym", hint="Declare pseudonym = true for a column."
        )
    table, shifted = reading.table(file, "pseudonymize", rules), None
    if shifted_columns:
        table, shifted = _shift_of(names, weeks, days).apply(
            table, person=str(rules.unit), columns=shifted_columns, window=between
        )
    made = names.apply(table, rules).drop([c.name for c in rules.columns if c.is_removed and c.name in table.columns])
    write_table(made, target)
    _tell(target, names, shifted)


def _make_key(path: Path) -> None:
    key = ProjectKey.draw()
    key.write(path)
    answer(key=key.id, file=path)
    screen.print(f"Project key {key.id}: {path} (keep it; without it no pseudonym can be made again)", markup=False)


def _check_shift(schema: Schema, columns: list[str], weeks: int | None, days: int | None, window: str | None) -> None:
    if not columns and (weeks, days, window) != (None, None, None):
        raise ParameterError("--shift", "must name the columns of dates")
    if columns and schema.unit is None:
        raise ParameterError("--shift", "needs persons: the schema must name the unit")


def _shift_of(names: Pseudonyms, weeks: int | None, days: int | None) -> DateShift:
    return DateShift(key=names.key, scope=names.scope, weeks=weeks, days=days, as_text=names.as_text)


def _tell(target: Path, names: Pseudonyms, shifted: Shifted | None) -> None:
    answer(scope=names.scope, key=names.key.id, shifted=shifted, out=target)
    screen.print(f"Pseudonyms of scope {names.scope}, key {names.key.id}: {target}", markup=False)
    if shifted is not None:
        screen.print(
            f"{shifted.n_dates:,} dates of {shifted.n_persons:,} persons shifted by one of {shifted.n_shifts} "
            "shifts each; gaps between a person's dates are as they were, and may single them out",
            markup=False,
        )
    if shifted is not None and shifted.fewest_possible is not None:
        screen.print(
            f"Fewest shifts that a person's dates leave possible: {shifted.fewest_possible}; "
            f"a single one: {shifted.n_single}"
        )
    screen.print("No release: rows of a person are linked, and nothing is hidden but names and days.")
