"""`shoal ledger`: the one ledger of a data set. What was spent on what, limits, copies, and whether it is in order."""

from __future__ import annotations

import csv
import io
import json
import math
from contextlib import closing
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from shoal.cli.console import out as screen
from shoal.cli.console import print_table
from shoal.cli.options import LedgerUrl, Overwrite, check_free
from shoal.cli.output import answer
from shoal.dp import Budget
from shoal.errors import InputError, ParameterError
from shoal.files import write_text
from shoal.files.atomic import reporting
from shoal.ledger import Ledger
from shoal.ledger.archive import archive as move_to_archive
from shoal.ledger.copies import backup as copy
from shoal.ledger.copies import restore as put_back
from shoal.ledger.migration import has_earlier_layout, migrate_file, migrate_ledger
from shoal.ledger.tables import grant
from shoal.register.beside_earlier import stands_beside
from shoal.register.own_ledger import own_ledger
from shoal.release.folders import MANIFEST, SIGNATURE
from shoal.release.minisign import PublicKey
from shoal.release.sign import require_signed
from shoal.release.withdrawn import entry_of
from shoal.score.admitting import admission_of

__all__ = ["app"]

OwnLedger = Annotated[
    str | None, typer.Option("--ledger", envvar="SHOAL_LEDGER", help="Database URL of the ledger. [default: your own]")
]

app = typer.Typer(help="The privacy ledger: show, verify, back up, set limits.", no_args_is_help=True)

_SHOW = """Examples:

shoal ledger show --ledger sqlite:///ledger.db
"""
_EXPORT = """Examples:

shoal ledger export --out journal.csv --ledger sqlite:///ledger.db

shoal ledger export --out bill.csv --rate 0.5 --ledger sqlite:///ledger.db
"""
_LIMIT = """Examples:

shoal ledger limit client "ward 7" --epsilon 20 --ledger sqlite:///ledger.db
"""
_CREATE = """Examples:

shoal ledger create --ledger sqlite:///ledger.db

shoal ledger create --ledger postgresql://owner@db/ledger --service-role shoal_service --upgrade
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
_ARCHIVE = """Examples:

shoal ledger archive charges-2025.jsonl --days 400 --ledger sqlite:///ledger.db
"""
_RELEASES = """Examples:

shoal ledger releases

shoal ledger releases --data patients --ledger sqlite:///ledger.db
"""
_WITHDRAW = """Examples:

shoal ledger withdraw 3f9a1c22 --because "a trial that never left"

shoal ledger withdraw out1 out2 --because "trials"
"""
_EXPIRE = """Examples:

shoal ledger expire 3f9a1c22 --because "retention of ten years is over"
"""
_MIGRATE = """Examples:

shoal ledger migrate patients.csv

shoal ledger migrate patients.csv --ledger sqlite:///ledger.db

shoal ledger migrate --ledger sqlite:///ledger.db
"""


@app.command(epilog=_SHOW)
def show(
    ledger: LedgerUrl = "sqlite:///ledger.db",
) -> None:
    """List the accounts: limit, spent, reserved and left; the sums are checked first."""
    with _opened(ledger) as book:
        accounts, head = [balance.to_dict() for balance in book.balances()], book.head()
    answer(head=str(head), accounts=accounts)
    rows = [
        [_shown(a), a["limit"] or "none", a["spent"], a["reserved"], a["left"] or "", a.get("rule", "")]
        for a in accounts
    ]
    print_table(f"{len(rows)} accounts", ["account", "limit", "spent", "reserved", "left", "counted by"], rows)
    _say(f"Journal head: {head}")


def _shown(account: dict[str, Any]) -> str:
    label = f" ({account['label']})" if account.get("label") else ""
    return f"{account['kind']} {account['name']}{label}"


@app.command(epilog=_RELEASES)
def releases(
    data: Annotated[str | None, typer.Option(help="Data set, by name or label. [default: all]")] = None,
    ledger: OwnLedger = None,
) -> None:
    """List the releases: when, to whom, how many people, k, and how each holds up beside earlier ones."""
    with _own(ledger) as book:
        labels = {one.name: one.label or one.name for one in book.balances() if one.kind == "data"}
        wanted = [words for words in book.releases() if data in (None, words["data"], labels[words["data"]])]
    answer(releases=[{n: v for n, v in words.items() if n not in ("sketch", "marks")} for words in wanted])
    names = ["release", "data set", "day", "recipient", "rows", "people", "k", "stands", "folder"]
    rows = [[_cell(words, labels, name) for name in names] for words in wanted]
    print_table(f"{len(rows)} releases", names, rows)


def _cell(words: dict[str, Any], labels: dict[str, str], name: str) -> str:
    stands = "withdrawn" if words["withdrawn"] else stands_beside(words)
    found = {"data set": labels[words["data"]], "day": words["at"][:10], "stands": stands}
    value = found.get(name, words.get(name))
    return "" if value is None else str(value)


@app.command(epilog=_WITHDRAW)
def withdraw(
    release: Annotated[
        list[str],
        typer.Argument(help="Releases, as `shoal ledger releases` lists them, or the folders they were written to."),
    ],
    because: Annotated[str, typer.Option(help="The reason; recorded in the journal.")],
    ledger: OwnLedger = None,
) -> None:
    """Withdraw releases that were never handed over, or were recalled; later ones are not checked against them.

    Their folders need not exist any more. A withdrawn release can't be signed or handed over.
    """
    with _own(ledger) as book:
        known = book.releases()
        named = [_named(known, name) for name in dict.fromkeys(release)]
        answer(withdrawn=[words["release"] for words in named])
        for words in named:
            book.withdraw(words["release"], because)
            _say(f"Release {words['release']} is withdrawn; it stays in the journal.{_beware(words)}")


def _named(known: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The release of that name, or the one that was written to that folder."""
    named = next((words for words in known if words["release"] == name), None)
    named = named or entry_of(name, [words for words in known if words["withdrawn"] is None])
    if named is None:
        hint = "`shoal ledger releases` lists them."
        raise InputError("register", "has no release of that name or in that folder", hint=hint)
    return named


def _beware(words: dict[str, Any]) -> str:
    """What is left to be done with the folder."""
    folder = Path(words.get("folder") or "")
    if not words.get("folder") or entry_of(folder, [words]) is None or not (folder / MANIFEST).is_file():
        return ""
    if (folder / SIGNATURE).is_file():
        return f" {folder} was signed: make sure that nobody has it, and delete it."
    return f" Delete {folder}, or write over it."


@app.command(epilog=_EXPIRE)
def expire(
    release: Annotated[str, typer.Argument(help="Release, as `shoal ledger releases` lists it.")],
    because: Annotated[str, typer.Option(help="The reason; recorded in the journal.")],
    ledger: OwnLedger = None,
) -> None:
    """Delete the marks of a release's people; later releases can't be checked against it, and say so."""
    with _own(ledger) as book:
        book.forget(release, because)
    answer(expired=release)
    _say(f"The marks of release {release} are deleted; the release stays in the journal.")


@app.command(epilog=_CREATE)
def create(
    ledger: LedgerUrl = "sqlite:///ledger.db",
    service_role: Annotated[
        str | None, typer.Option(help="PostgreSQL: role for the service, which may add entries but not change them.")
    ] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="If there is a ledger of an earlier version, bring it up to date.")
    ] = False,
) -> None:
    """Create an empty ledger; one that is there already stays as it is."""
    if upgrade and has_earlier_layout(ledger):
        _upgrade(ledger)
    with closing(Ledger.open(ledger)) as book:
        if service_role is not None:
            grant(book, service_role)
        answer(ledger=book.founded.name, head=str(book.head()))
        _say(f"Ledger {book.founded.name}, head {book.head()}")


@app.command(epilog=_VERIFY)
def verify(
    ledger: LedgerUrl = "sqlite:///ledger.db",
    head: Annotated[str | None, typer.Option(help="A head recorded elsewhere, in the log or in a manifest.")] = None,
    archive: Annotated[
        list[Path] | None, typer.Option("--archive", help="Archive of old entries, checked too; repeat as needed.")
    ] = None,
) -> None:
    """Verify the whole ledger: triggers, sums, hash chain, answers and anchor."""
    with closing(Ledger.unchecked(ledger)) as book:
        found = book.verify(head=head, archives=archive or [])
    answer(head=str(found.head), n_answers=found.answers, n_accounts=found.accounts)
    answer(n_unseen=found.unseen, key_outside=found.key_outside)
    _say(f"Valid: {found.head.number:,} entries, {found.answers:,} answers, {found.accounts:,} accounts.")
    _say(f"Journal head: {found.head}")
    if found.unseen:
        _say(f"{found.unseen:,} entries are in archives that were not checked. See --archive.")
    if not found.key_outside:
        _say("The key of the chain is in the database: damage and edits by hand show, a forger with the key only")
        _say("by a head noted elsewhere. See SHOAL_LEDGER_KEY.")


@app.command(epilog=_BACKUP)
def backup(
    file: Annotated[Path, typer.Argument(help="File for the backup; must not exist yet.")],
    ledger: LedgerUrl = "sqlite:///ledger.db",
) -> None:
    """Back up a SQLite ledger, even while in use, and verify the copy. For PostgreSQL, the tools to use are named."""
    head = copy(ledger, file)
    answer(head=str(head), file=file)
    _say(f"Copied {head.number:,} entries to {file}. Journal head: {head}")


@app.command(epilog=_RESTORE)
def restore(
    file: Annotated[Path, typer.Argument(help="A backup made by `shoal ledger backup`.")],
    ledger: LedgerUrl = "sqlite:///ledger.db",
    go_back: Annotated[
        bool, typer.Option("--go-back", help="Accept the loss of charges made after the backup.")
    ] = False,
) -> None:
    """Restore a SQLite ledger from a backup, unless entries would be lost."""
    head, lost = put_back(ledger, file, go_back=go_back)
    answer(head=str(head), n_lost=lost)
    _say(f"Restored. Journal head: {head}. Entries lost: {lost:,}")


@app.command("archive", epilog=_ARCHIVE)
def archive_entries(
    file: Annotated[Path, typer.Argument(help="File for the archive (JSON lines); must not exist yet.")],
    days: Annotated[float, typer.Option(min=0, help="Keep the charges of this many days.")] = 400.0,
    ledger: LedgerUrl = "sqlite:///ledger.db",
) -> None:
    """Move old charges and their answers to a file. What was spent stays spent, and the chain stays verifiable.

    A query whose charge was archived is no longer known: asked again, it is charged again. Limits, fits, admitted
    models and releases stay in the ledger.
    """
    with _opened(ledger) as book:
        made = move_to_archive(book, file, before=datetime.now(UTC) - timedelta(days=days))
    answer(n_entries=made.entries, n_charges=made.charges, n_answers=made.answers, end=str(made.end), file=file)
    _say(f"Wrote {made.entries:,} entries to {file}; {made.charges:,} charges and {made.answers:,} answers left.")
    _say(f"The chain in the ledger begins after {made.end}.")


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
        answer(data=account.data_set, summary=account.summary)
        _say(f"Data set {account.data_set}: {account.summary}. The old files end in .migrated.")
        return
    if ledger is None:
        raise ParameterError("migrate", "FILE or --ledger must be given")
    _upgrade(ledger)


@app.command(epilog=_RESERVE)
def reserve(
    data: Annotated[str, typer.Argument(help="Data set, as listed by `shoal ledger show`.")],
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="Total for answers, including those already given. [default: none]"),
    ] = None,
    rho: Annotated[
        float | None, typer.Option("--rho", help="The same for a data set whose limit is in rho. [default: none]")
    ] = None,
    ledger: LedgerUrl = "sqlite:///ledger.db",
) -> None:
    """Reserve part of a data set's limit for the answers of published models; without an amount, drop the reserve."""
    if epsilon is not None and rho is not None:
        raise ParameterError("reserve", "--epsilon and --rho exclude each other")
    with _opened(ledger) as book:
        _tell(book.reserve(data, epsilon if rho is None else Budget.zcdp(rho)).to_dict())


@app.command(epilog=_ADMIT)
def admit(
    model: Annotated[Path, typer.Argument(help="Model file made by `shoal score fit`.")],
    ledger: LedgerUrl = "sqlite:///ledger.db",
    data: Annotated[str | None, typer.Option(help="Its data set. [default: as stated in the file]")] = None,
    charged: Annotated[
        bool,
        typer.Option("--charged", help="The data set was already charged for the fit; otherwise it is charged now."),
    ] = False,
    signer: Annotated[Path | None, typer.Option(help="Public key that must have signed the file.")] = None,
) -> None:
    """Admit a model file for serving: its hash, price, data set and claim are recorded, and you vouch for them."""
    if signer is not None:
        with reporting(model):
            content = model.read_bytes()
        require_signed(model, content, PublicKey.read(signer))
    with _opened(ledger) as book:
        admission = admission_of(model, data=data, by="person")
        cost = None if charged or admission.spent is None else Budget.from_dict(admission.spent)
        book.admit(admission, pay=cost)
    answer(model=admission.model, data=admission.data, digest=admission.digest)
    _say(f"Admitted '{admission.model}' on data set {admission.data}, {admission.digest[:16]}.")


@app.command(epilog=_EXPORT)
def export(
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write, .csv or .jsonl.")],
    ledger: LedgerUrl = "sqlite:///ledger.db",
    overwrite: Overwrite = False,
    rate: Annotated[
        float | None, typer.Option(min=0, help="Money per unit of epsilon: adds what each client owes for an answer.")
    ] = None,
) -> None:
    """Export the journal: time, client, model, data set and cost; no queries or answers."""
    if out.suffix not in _WRITERS:
        raise ParameterError("--out", "must end in .csv or .jsonl", got=repr(out.suffix))
    if rate is not None and not math.isfinite(rate):
        raise ParameterError("--rate", "must be an amount of money", got=f"{rate}")
    check_free(out, overwrite)
    with _opened(ledger) as book:
        entries = list(book.journal())
    owed = {} if rate is None else _billed(entries, Decimal(str(rate)))
    write_text(out, _WRITERS[out.suffix](entries))
    answer(n_entries=len(entries), out=out, owed={name: str(sum_) for name, sum_ in owed.items()})
    _say(f"Wrote {len(entries):,} entries to {out}.")
    for name, sum_ in owed.items():
        _say(f"{name} owes {sum_}")


@app.command(epilog=_LIMIT)
def limit(
    kind: Annotated[Literal["client", "model", "data"], typer.Argument(help="client, model or data.")],
    name: Annotated[str, typer.Argument(help="Its name, as listed by `shoal ledger show`.")],
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="The new limit.")] = None,
    rho: Annotated[float | None, typer.Option("--rho", help="The same for a data set whose limit is in rho.")] = None,
    ledger: LedgerUrl = "sqlite:///ledger.db",
) -> None:
    """Change a limit, with an entry in the journal; that of a data set can only be lowered."""
    if epsilon is not None and rho is not None:
        raise ParameterError("limit", "--epsilon and --rho exclude each other")
    with _opened(ledger) as book:
        currency = book.balance(kind, name).currency
        amount = rho if currency == "rho" else epsilon
        if amount is None:
            raise ParameterError("limit", f"the limit of that account is in {currency}", hint=f"Use --{currency}.")
        _tell(book.limit(kind, name, amount).to_dict())


def _upgrade(url: str) -> None:
    n_entries = migrate_ledger(url)
    answer(n_upgraded=n_entries)
    _say(f"Upgraded {n_entries:,} entries to the layout of this version.")


def _say(line: str) -> None:
    screen.print(line, markup=False, soft_wrap=True)


def _tell(balance: dict[str, Any]) -> None:
    answer(account=balance)
    amounts = ", ".join(f"{word} {balance[word]}" for word in ("limit", "spent", "reserved", "left"))
    _say(f"{balance['kind']} {balance['name']}: {amounts}")


def _billed(entries: list[dict[str, Any]], rate: Decimal) -> dict[str, Decimal]:
    """Give every answer that was charged to a client its price in money; the sum by client."""
    owed: dict[str, Decimal] = {}
    for line in entries:
        if line["kind"] == "charge" and line.get("client") and line.get("epsilon"):
            price = Decimal(str(line["epsilon"])) * rate
            line["money"] = f"{price:f}"
            owed[line["client"]] = owed.get(line["client"], Decimal(0)) + price
    return owed


def _csv(entries: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    names = ["number", "at", "kind", "client", "model", "data", "epsilon", "rho", "purpose"]
    names += ["money"] if any("money" in entry for entry in entries) else []
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


def _own(url: str | None) -> closing[Ledger]:
    return _opened(own_ledger() if url is None else url)


def _opened(url: str) -> closing[Ledger]:
    return closing(Ledger.open(url, create=False))
