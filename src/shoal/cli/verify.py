"""`shoal verify`: check somebody's release again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from shoal.cli.console import out, steps
from shoal.cli.options import EngineOptions, grouped
from shoal.cli.output import answer
from shoal.release.verify import Check, Verification
from shoal.release.verify import verify as check_again

__all__ = ["EXAMPLES", "verify"]

EXAMPLES = """Examples:

shoal verify release

shoal verify release --signer publisher.pub

shoal verify release --original people.csv --signer publisher.pub

shoal verify release --engine duckdb --memory 4GB    (a table in several Parquet files)
"""


@grouped
def verify(
    directory: Annotated[Path, typer.Argument(help="Release folder.")],
    original: Annotated[
        Path | None,
        typer.Option(help="The input file; repeats the run and compares table, manifest and report in full."),
    ] = None,
    signer: Annotated[Path | None, typer.Option(help="The publisher's public key, to check the signature.")] = None,
    *,
    engine: EngineOptions,
) -> None:
    """Check a written release, and report what each claim rests on.

    A claim is recomputed, signed, or on the publisher's word. Exit code 0: nothing rests on the publisher's word
    alone; 3: a check fails; 5: no check fails, but something rests on the publisher's word.
    """

    with steps(1) as step:
        step("verifying")
        with engine.chosen(directory).open() as opened:
            result = check_again(directory, original=original, signer=signer, engine=opened)
    answer(**result.to_dict())
    _print(result.checks)
    out.print(_summary(result), style="bold")
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _print(checks: Sequence[Check]) -> None:
    """A line for each check; rules of a preset of which the same was found share one."""
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    for alike in _alike(checks):
        lines.add_row(_mark(alike[0]), escape(_printable(f"{_named(alike)}: {alike[0].detail}")))
    out.print(lines)


def _alike(checks: Sequence[Check]) -> list[list[Check]]:
    found: dict[object, list[Check]] = {}
    for i, check in enumerate(checks):
        same = (check.preset, check.holds, check.standing, check.detail)
        found.setdefault(same if check.preset is not None else i, []).append(check)
    return list(found.values())


def _named(alike: Sequence[Check]) -> str:
    if len(alike) == 1:
        return alike[0].name
    return f"{alike[0].preset}, {len(alike)} rules ({'; '.join(str(check.rule) for check in alike)})"


def _mark(check: Check) -> str:
    if check.holds is False:
        return "[bold red]fails[/]"
    if check.standing is not None:
        colour = "yellow" if check.holds is None and check.standing != "signed" else "green"
        return f"[{colour}]{check.standing}[/]"
    return "[green]holds[/]" if check.holds else "[yellow]not checked[/]"


def _printable(text: str) -> str:
    """On one line, and nothing that steers a terminal: names come out of a file that anybody may have written."""
    return "".join(sign if sign.isprintable() else "�" for sign in text)


def _summary(result: Verification) -> str:
    n_failed, n_word = sum(check.holds is False for check in result.checks), len(result.on_word)
    if n_failed:
        return f"{n_failed} of {len(result.checks)} checks fail."
    if n_word:
        entries = "1 entry rests" if n_word == 1 else f"{n_word} entries rest"
        return f"No check fails; {entries} on the publisher's word alone."
    return "No check fails, and nothing rests on the publisher's word alone."
