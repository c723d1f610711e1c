"""`shoal ledger`: what clients, models and data sets have spent, and the journal behind it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from shoal.ledger import Ledger

__all__ = ["app"]

app = typer.Typer(help="The service's book: show, export, set limits.", no_args_is_help=True)

Book = Annotated[str, typer.Option("--ledger", envvar="SHOAL_LEDGER", help="Database URL of the ledger.")]

_SHOW = """Examples:

shoal ledger show --ledger sqlite:///ledger.db
"""
_EXPORT = """Examples:

shoal ledger export --out journal.csv --ledger sqlite:///ledger.db

shoal ledger export --out journal.jsonl --ledger sqlite:///ledger.db
"""
_LIMIT = """Examples:

shoal ledger limit client "ward 7" --epsilon 20 --ledger sqlite:///ledger.db
"""


@app.command(epilog=_SHOW)
def show(
    ledger: Book = "sqlite:///ledger.db",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Every account with its limit, what is spent and what is left; the sums are checked against the journal."""
    from shoal.cli.console import print_table

    with _opened(ledger) as book:
        accounts = [balance.to_dict() for balance in book.balances()]
    if as_json:
        typer.echo(json.dumps({"accounts": accounts}, indent=1, ensure_ascii=False))
        return
    rows = [[a["kind"], a["name"], a["limit"] or "none", a["spent"], a["left"] or ""] for a in accounts]
    print_table(f"{len(rows)} accounts, in epsilon", ["account", "name", "limit", "spent", "left"], rows)


@app.command(epilog=_EXPORT)
def export(
    out: Annotated[Path, typer.Option("--out", "-o", help="A .csv or .jsonl file.")],
    ledger: Book = "sqlite:///ledger.db",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Write the journal: when, who, which model, which data, how much; no query and no answer."""
    from shoal.errors import FileError, ParameterError
    from shoal.files import write_text

    if out.suffix not in _WRITERS:
        raise ParameterError("--out", "must end in .csv or .jsonl", got=repr(out.suffix))
    if out.exists() and not overwrite:
        raise FileError(str(out), "already exists", hint="Name another file, or allow overwriting (--overwrite).")
    with _opened(ledger) as book:
        entries = list(book.journal())
    write_text(out, _WRITERS[out.suffix](entries))
    typer.echo(f"Wrote {len(entries):,} entries to {out}.")


@app.command(epilog=_LIMIT)
def limit(
    kind: Annotated[Literal["client", "model", "data"], typer.Argument(help="client, model or data.")],
    name: Annotated[str, typer.Argument(help="Its name, as `shoal ledger show` has it.")],
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The new limit.")],
    ledger: Book = "sqlite:///ledger.db",
) -> None:
    """Set a limit anew, with an entry in the journal; that of a data set can only be lowered."""
    with _opened(ledger) as book:
        balance = book.limit(kind, name, epsilon).to_dict()
    typer.echo(f"{kind} {name}: limit {balance['limit']}, spent {balance['spent']}, left {balance['left']}")


def _csv(entries: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    names = ["number", "at", "kind", "client", "model", "data", "epsilon"]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _plain(value) for name, value in entry.items()} for entry in entries)
    return text.getvalue()


def _plain(value: object) -> object:
    """A name that a spreadsheet would read as a formula is quoted."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value


def _lines(entries: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)


_WRITERS = {".csv": _csv, ".jsonl": _lines}


@contextmanager
def _opened(url: str) -> Iterator[Ledger]:
    from shoal.ledger import Ledger

    book = Ledger.open(url, create=False)
    try:
        yield book
    finally:
        book.close()
