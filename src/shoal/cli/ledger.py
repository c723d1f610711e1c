"""`shoal ledger`: the one book of a data set. What was spent on what, limits, copies, and whether it is in order."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from shoal.cli.console import out, print_table
from shoal.dp import Budget
from shoal.errors import FileError, ParameterError
from shoal.files import write_text
from shoal.ledger import Ledger
from shoal.ledger.copies import backup as copy
from shoal.ledger.copies import restore as put_back
from shoal.ledger.migration import migrate_file, migrate_ledger
from shoal.ledger.roles import grant
from shoal.score.admitting import admission_of

__all__ = ["app"]

app = typer.Typer(help="The privacy ledger: show, verify, back up, set limits.", no_args_is_help=True)

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
_CREATE = """Examples:

shoal ledger create --ledger sqlite:///ledger.db

shoal ledger create --ledger postgresql://owner@db/ledger --service-role shoal_service
"""
_RESERVE = """Examples:

shoal ledger reserve 0123456789abcdef --epsilon 5 --ledger sqlite:///ledger.db
"""
_ADMIT = """Examples:

shoal ledger admit models/diabetes.json --ledger sqlite:///ledger.db
"""
_VERIFY = """Examples:

shoal ledger verify --ledger sqlite:///ledger.db

shoal ledger verify --head 1042:9f3c2a7d51e80b46 --ledger sqlite:///ledger.db
"""
_BACKUP = """Examples:

shoal ledger backup ledger-2026-01-31.db --ledger sqlite:///ledger.db
"""
_RESTORE = """Examples:

shoal ledger restore ledger-2026-01-31.db --ledger sqlite:///ledger.db
"""
_MIGRATE = """Examples:

shoal ledger migrate patients.csv

shoal ledger migrate patients.csv --ledger sqlite:///ledger.db

shoal ledger migrate --ledger sqlite:///ledger.db
"""


@app.command(epilog=_SHOW)
def show(
    ledger: Book = "sqlite:///ledger.db",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the accounts: limit, spent, reserved and left; the sums are checked first."""
    with _opened(ledger) as book:
        accounts, head = [balance.to_dict() for balance in book.balances()], book.head()
    if as_json:
        typer.echo(json.dumps({"head": str(head), "accounts": accounts}, indent=1, ensure_ascii=False))
        return
    rows = [
        [_shown(a), a["limit"] or "none", a["spent"], a["reserved"], a["left"] or "", a.get("rule", "")]
        for a in accounts
    ]
    print_table(f"{len(rows)} accounts", ["account", "limit", "spent", "reserved", "left", "counted by"], rows)
    out.print(f"Journal head: {head}", markup=False)


def _shown(account: dict[str, Any]) -> str:
    label = f" ({account['label']})" if account.get("label") else ""
    return f"{account['kind']} {account['name']}{label}"


@app.command(epilog=_CREATE)
def create(
    ledger: Book = "sqlite:///ledger.db",
    service_role: Annotated[
        str | None, typer.Option(help="PostgreSQL: role for the service, which may add entries but not change them.")
    ] = None,
) -> None:
    """Create an empty ledger."""
    book = Ledger.open(ledger)
    try:
        if service_role is not None:
            grant(book, service_role)
        typer.echo(f"Ledger {book.founded.name}, head {book.head()}")
    finally:
        book.close()


@app.command(epilog=_VERIFY)
def verify(
    ledger: Book = "sqlite:///ledger.db",
    head: Annotated[str | None, typer.Option(help="A head recorded elsewhere, in the log or in a manifest.")] = None,
) -> None:
    """Verify the whole ledger: triggers, sums, hash chain, answers and anchor."""
    book = Ledger.unchecked(ledger)
    try:
        found = book.verify(head=head)
    finally:
        book.close()
    typer.echo(f"Valid: {found.head.number:,} entries, {found.answers:,} answers, {found.accounts:,} accounts.")
    typer.echo(f"Journal head: {found.head}")
    if not found.key_outside:
        typer.echo("The key of the chain is in the database: damage and edits by hand show, a forger with the key only")
        typer.echo("by a head noted elsewhere. See SHOAL_LEDGER_KEY.")


@app.command(epilog=_BACKUP)
def backup(
    file: Annotated[Path, typer.Argument(help="File for the backup; must not exist yet.")],
    ledger: Book = "sqlite:///ledger.db",
) -> None:
    """Back up a SQLite ledger, even while in use, and verify the copy. For PostgreSQL, the tools to use are named."""
    head = copy(ledger, file)
    typer.echo(f"Copied {head.number:,} entries to {file}. Journal head: {head}")


@app.command(epilog=_RESTORE)
def restore(
    file: Annotated[Path, typer.Argument(help="A backup made by `shoal ledger backup`.")],
    ledger: Book = "sqlite:///ledger.db",
    go_back: Annotated[
        bool, typer.Option("--go-back", help="Accept the loss of charges made after the backup.")
    ] = False,
) -> None:
    """Restore a SQLite ledger from a backup, unless entries would be lost."""
    head, lost = put_back(ledger, file, go_back=go_back)
    typer.echo(f"Restored. Journal head: {head}. Entries lost: {lost:,}")


@app.command(epilog=_MIGRATE)
def migrate(
    file: Annotated[
        Path | None, typer.Argument(help="Data file with an account; omit it to upgrade the ledger itself.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option("--ledger", envvar="SHOAL_LEDGER", help="Shared ledger. [default: next to FILE]")
    ] = None,
) -> None:
    """Upgrade an account or a ledger of an earlier version, or move a file's account into a shared ledger."""
    if file is not None:
        account = migrate_file(file, ledger)
        typer.echo(f"Data set {account.data_set}: {account.summary}. The old files end in .migrated.")
        return
    if ledger is None:
        raise ParameterError("migrate", "FILE or --ledger must be given")
    typer.echo(f"Migrated {migrate_ledger(ledger):,} entries.")


@app.command(epilog=_RESERVE)
def reserve(
    data: Annotated[str, typer.Argument(help="Data set, as listed by `shoal ledger show`.")],
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="Total for answers, including those already given. [default: none]"),
    ] = None,
    ledger: Book = "sqlite:///ledger.db",
) -> None:
    """Reserve part of a data set's limit for the answers of published models; without --epsilon, drop the reserve."""
    with _opened(ledger) as book:
        _tell(book.reserve(data, epsilon).to_dict())


@app.command(epilog=_ADMIT)
def admit(
    model: Annotated[Path, typer.Argument(help="Model file made by `shoal score fit`.")],
    ledger: Book = "sqlite:///ledger.db",
    data: Annotated[str | None, typer.Option(help="Its data set. [default: as stated in the file]")] = None,
    charged: Annotated[
        bool,
        typer.Option("--charged", help="The data set was already charged for the fit; otherwise it is charged now."),
    ] = False,
) -> None:
    """Admit a model file for serving: its hash, price, data set and claim are recorded, and you vouch for them."""
    with _opened(ledger) as book:
        admission = admission_of(model, data=data, by="person")
        cost = None if charged or admission.spent is None else Budget.from_dict(admission.spent)
        book.admit(admission, pay=cost)
    typer.echo(f"Admitted '{admission.model}' on data set {admission.data}, {admission.digest[:16]}.")


@app.command(epilog=_EXPORT)
def export(
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write, .csv or .jsonl.")],
    ledger: Book = "sqlite:///ledger.db",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
) -> None:
    """Export the journal: time, client, model, data set and cost; no queries or answers."""
    if out.suffix not in _WRITERS:
        raise ParameterError("--out", "must end in .csv or .jsonl", got=repr(out.suffix))
    if out.exists() and not overwrite:
        raise FileError(str(out), "already exists", hint="Choose another file, or use --overwrite.")
    with _opened(ledger) as book:
        entries = list(book.journal())
    write_text(out, _WRITERS[out.suffix](entries))
    typer.echo(f"Wrote {len(entries):,} entries to {out}.")


@app.command(epilog=_LIMIT)
def limit(
    kind: Annotated[Literal["client", "model", "data"], typer.Argument(help="client, model or data.")],
    name: Annotated[str, typer.Argument(help="Its name, as listed by `shoal ledger show`.")],
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="The new limit.")],
    ledger: Book = "sqlite:///ledger.db",
) -> None:
    """Change a limit, with an entry in the journal; that of a data set can only be lowered."""
    with _opened(ledger) as book:
        _tell(book.limit(kind, name, epsilon).to_dict())


def _tell(balance: dict[str, Any]) -> None:
    told = ", ".join(f"{word} {balance[word]}" for word in ("limit", "spent", "reserved", "left"))
    typer.echo(f"{balance['kind']} {balance['name']}: {told}")


def _csv(entries: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    names = ["number", "at", "kind", "client", "model", "data", "epsilon", "purpose"]
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
    book = Ledger.open(url, create=False)
    try:
        yield book
    finally:
        book.close()
