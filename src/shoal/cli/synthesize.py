"""`shoal synthesize`: a table of no real person, with a price in epsilon that is kept in an account."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.console import out as screen
from shoal.cli.console import print_claims, steps
from shoal.cli.reading import FILE_HELP, Reading, reads
from shoal.cli.releasing import SAMPLE, check_trial, expect, format_of, listed, open_input, tell_where, tried
from shoal.cli.summary import VERBOSE, summary
from shoal.errors import ParameterError
from shoal.recipe import Synthesis, read_method
from shoal.release import make

__all__ = ["EXAMPLES", "synthesize"]

EXAMPLES = """Examples:

shoal synthesize people.csv --schema schema.toml --epsilon 1 --rows 10000 --out synthetic

shoal synthesize people.csv -s schema.toml --epsilon 1 --delta 1e-9 -o synthetic

shoal synthesize people.csv -s schema.toml --epsilon 0.1 --scope sample --rows 100 -o synthetic --limit 20

shoal synthesize people.csv -s schema.toml --epsilon 1 --price
"""


@reads
def synthesize(
    file: Annotated[Path | None, typer.Argument(help=FILE_HELP)] = None,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", "-s", help="Schema file (TOML) with the role and the public domain of each column."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder for the release; must not exist yet.")] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="Privacy loss. [default: 1]")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Delta of (epsilon, delta) privacy by zCDP; well below 1/records.")
    ] = None,
    scope: Annotated[
        str | None, typer.Option(help="dataset (one epsilon for all rows) or sample (epsilon per row).")
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows", "-n", help="Number of rows to draw; must not depend on the table. [default: noisy total]"
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help=f"Method: {listed('synthesize')}; parameters follow a colon.")
    ] = "pegs",
    limit: Annotated[
        float | None,
        typer.Option(help="Total epsilon that may ever be spent on FILE; fixed by the first run. [default: 10]"),
    ] = None,
    account: Annotated[
        bool, typer.Option(help="Charge the privacy account of FILE before anything is computed.")
    ] = True,
    ledger: Annotated[
        str | None,
        typer.Option(envvar="SHOAL_LEDGER", help="Shared ledger for a new account. [default: next to FILE]"),
    ] = None,
    data: Annotated[str | None, typer.Option(help="Data set that FILE belongs to, if already in the ledger.")] = None,
    corrected: Annotated[
        bool, typer.Option("--corrected", help="FILE was corrected and holds the same people.")
    ] = False,
    price: Annotated[bool, typer.Option("--price", help="Print the price and exit.")] = False,
    format: Annotated[
        str | None, typer.Option("--format", "-f", help="Output format: csv, tsv, parquet, dta, sav, xpt.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing release in that folder.")] = False,
    sample: Annotated[int | None, typer.Option("--sample", help=f"{SAMPLE} The account is not charged.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help=VERBOSE)] = False,
    *,
    reading: Reading,
) -> None:
    """Draw a synthetic table from FILE, and write it with a report and manifest.

    The privacy account of FILE is charged before anything is computed; if it is exhausted, nothing is computed or
    spent and the exit code is 3. Levels and bounds in the schema must be public knowledge.
    """
    given = {"epsilon": epsilon, "delta": delta, "scope": scope}
    synthesizer = read_method(method, "synthesize", {n: v for n, v in given.items() if v is not None})
    recipe = Synthesis.of(synthesizer, rows)
    if price:
        screen.print(str(recipe.price), markup=False)
        return
    target = check_trial(sample, out, "synthesize")
    with steps() as step:
        source, rules = open_input(file, schema, target, overwrite, reading, step, "synthesize")
        where: dict[str, Any] = {"ledger": ledger, "data": data, "changed": "continue" if corrected else "refuse"}
        charged = account and sample is None  # what isn't written doesn't leave
        if charged and not source.single:
            hint = "Save the rows to one file first, or name --no-account if the budget is kept elsewhere."
            rule = "keeps an account of one file, not of a folder, pipe or query"
            raise ParameterError("synthesize", rule, hint=hint)
        source = tried(source, rules, sample, None)
        expect(step, source, rules, recipe)
        with _account(source, recipe, limit, where) if charged else nullcontext() as book:
            release = make(source, rules, recipe, account=book, progress=step)
        if target is None:
            release.measure(progress=step)
        else:
            release.write(target, format=format or format_of(release), overwrite=overwrite, progress=step)
    _tell(release, target, book, verbose)


def _account(source: Any, recipe: Any, limit: float | None, where: dict[str, Any]) -> Any:
    from shoal.release.charge import account_of  # SQLAlchemy takes a third of a second to load

    return account_of(Path(source.path), recipe, limit, **where)


def _tell(release: Any, target: Path | None, book: Any, verbose: bool) -> None:
    screen.print(f"[bold]{len(release.source_rows):,} synthetic rows[/] by {release.recipe}")
    if verbose:
        _tell_all(release)
    else:
        for line in summary(release):
            screen.print(f"  {line}", markup=False)
        line = release.utility_lines[0]
        screen.print(f"  inside    {line.name}: {line.value}", markup=False)
    if book is not None:
        screen.print(f"Account {book.path}: {book.summary}", markup=False)
    tell_where(target)


def _tell_all(release: Any) -> None:
    for note in release.notes:
        screen.print(f"  {note}", markup=False, style="dim")
    print_claims(release.claims)
    if not release.claims:
        screen.print("  none: nothing is promised about differential privacy")
    screen.print("[bold]Measured (internal)[/]")
    for line in (*release.utility_lines, *release.risk_lines):
        screen.print(f"  {line.name:<58}{line.value}")
