"""`shoal synthesize`: a table of no real person, with a price in epsilon that is kept in an account."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

import shoal.release
from shoal.cli.console import out as screen
from shoal.cli.console import steps
from shoal.cli.options import AccountOptions, EngineOptions, File, Reading, grouped, required
from shoal.cli.output import answer
from shoal.cli.release_on_engine import account_place, release_on_engine
from shoal.cli.releasing import PresetOptions, TrialOptions, expect, open_input, tried
from shoal.errors import ParameterError
from shoal.files import read_table
from shoal.recipe import Synthesis, read_method
from shoal.release import make
from shoal.release.account import account_of, register_in
from shoal.schema import Schema

__all__ = ["EXAMPLES", "synthesize"]

EXAMPLES = """Examples:

shoal synthesize people.csv --schema schema.toml --epsilon 1 --rows 10000 --out synthetic

shoal synthesize people.csv -s schema.toml --epsilon 1 --delta 1e-9 -o synthetic

shoal synthesize people.csv -s schema.toml --epsilon 0.1 --scope sample --rows 100 -o synthetic --limit 20

shoal synthesize claims/ -s schema.toml --epsilon 1 -o synthetic --engine duckdb --memory 4GB    (beyond memory)

shoal synthesize people.csv -s schema.toml --epsilon 1 --price
"""


@grouped
def synthesize(
    file: File = None,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", "-s", help="Schema file (TOML) with the role and the public domain of each column."),
    ] = None,
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
        str, typer.Option("--method", "-m", help="Method: {synthesize}; parameters follow a colon.")
    ] = "pegs",
    control: Annotated[
        Path | None,
        typer.Option(help="Table of people who are not in FILE, as a baseline for the attacks in the internal report."),
    ] = None,
    recipient: Annotated[str | None, typer.Option(help="Who receives the release; recorded in the register.")] = None,
    price: Annotated[bool, typer.Option("--price", help="Print the price and exit.")] = False,
    *,
    to: TrialOptions,
    rules: PresetOptions,
    budget: AccountOptions,
    engine: EngineOptions,
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
        answer(price=str(recipe.price))
        screen.print(str(recipe.price), markup=False)
        return
    to.check("synthesize")
    held = rules.held
    engine = engine.chosen(file if to.sample is None else None)
    if not engine.in_memory:
        given_too = {"--preset": rules.preset, "--sample": to.sample, "--control": control}
        engine.refuse(given_too, reading)
        allow = tuple(rules.allow or ())
        _on_engine(required(file, "FILE", "synthesize"), schema, recipe, to, budget, engine, reading, recipient, allow)
        return
    with steps() as step:
        source, roles = open_input(file, schema, to, reading, step, "synthesize")
        charged = budget.account and to.sample is None  # what isn't written doesn't leave
        if charged and not source.single:
            hint = "Save the rows to one file first, or pass --no-account if the budget is accounted for elsewhere."
            rule = "keeps an account of one file, not of a folder, pipe or query"
            raise ParameterError("synthesize", rule, hint=hint)
        source = tried(source, roles, to.sample, None)
        others = None if control is None else read_table(control)
        expect(step, source, roles, recipe)
        with _account(Path(str(source.path)), recipe, budget) if charged else nullcontext() as account:
            register = None if account is None else register_in(account, recipient)
            words: dict[str, Any] = {"account": account, "control": others, "register": register, **held}
            release = make(source, roles, recipe, keeps_paid=True, progress=step, **words)
            to.write(release, step)
    to.tell(release, account)


def _on_engine(
    file: Path,
    schema: Path | None,
    recipe: Synthesis,
    to: TrialOptions,
    budget: AccountOptions,
    engine: EngineOptions,
    reading: Reading,
    recipient: str | None,
    allow: Sequence[str],
) -> None:
    roles = Schema.read(required(schema, "--schema FILE", "synthesize"))
    target = required(to.out, "--out FOLDER", "synthesize")
    shoal.release.check_on(recipe, roles, format=to.format)
    words: dict[str, Any] = {
        "delimiter": reading.delimiter,
        "overwrite": to.overwrite,
        "format": to.format,
        "allow": allow,
    }
    with _account(account_place(file), recipe, budget) if budget.account else nullcontext() as account:
        if account is not None:
            words["register"] = register_in(account, recipient)
        elif recipient is not None:
            raise ParameterError("--recipient", "is for the register", hint="Omit it, or --no-account.")
        release_on_engine(file, roles, recipe, target, engine, account=account, **words)
        if account is not None:
            answer(account={"path": account.path, "summary": account.summary})
            screen.print(f"Account: {account.summary}", markup=False)


def _account(place: Path, recipe: Any, budget: AccountOptions) -> Any:
    return account_of(place, recipe, budget.limit, **budget.place)
