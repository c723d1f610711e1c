"""`shoal keys`: who may ask the service, for which models, up to which epsilon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Annotated, Literal

import typer

from shoal.cli.console import err, out, print_table
from shoal.cli.options import LedgerUrl
from shoal.cli.output import answer, product
from shoal.ledger import Keys, Ledger

__all__ = ["app"]

app = typer.Typer(help="API keys of the service: add, list, rotate, revoke.", no_args_is_help=True)

_ADD = """Examples:

shoal keys add "ward 7" --epsilon 10 --ledger sqlite:///ledger.db

shoal keys add "ward 7" --model risk --days 365 --ledger sqlite:///ledger.db

shoal keys add "data protection office" --role auditor --ledger sqlite:///ledger.db
"""
_ROTATE = """Examples:

shoal keys rotate 0123456789ab --hours 48 --ledger sqlite:///ledger.db
"""
_LIST = """Examples:

shoal keys list --ledger sqlite:///ledger.db
"""
_REVOKE = """Examples:

shoal keys revoke 0123456789ab --ledger sqlite:///ledger.db
"""


@app.command(epilog=_ADD)
def add(
    name: Annotated[
        str, typer.Argument(help="Name of the client; an existing one keeps its account and gets another key.")
    ],
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="Total epsilon that a new client may spend; 0 allows free models only."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", "-m", help="A model it may query; repeatable. [default: all]")
    ] = None,
    role: Annotated[
        Literal["client", "auditor", "administrator"],
        typer.Option(help="client queries models, auditor sees every account, administrator does both."),
    ] = "client",
    days: Annotated[float | None, typer.Option(help="Days until the key expires. [default: never]")] = None,
    ledger: LedgerUrl = "sqlite:///ledger.db",
) -> None:
    """Make a key and show it once; the ledger stores only its hash."""
    with _keys(ledger) as keys:
        key, token = keys.add(name, epsilon=epsilon, models=model or ["*"], role=role, days=days)
    _show_once(key.id, token)


@app.command(epilog=_ROTATE)
def rotate(
    key: Annotated[str, typer.Argument(help="Key id, as listed by `shoal keys list`.")],
    hours: Annotated[float, typer.Option(help="Hours until the old key expires.")] = 24.0,
    ledger: LedgerUrl = "sqlite:///ledger.db",
) -> None:
    """Make a new key for the same client, models and role; the old one expires after a grace period."""
    with _keys(ledger) as keys:
        new, token = keys.rotate(key, hours=hours)
    _show_once(new.id, token)


def _show_once(number: str, token: str) -> None:
    answer(key=number, token=token)
    product(token)
    err.print(f"Key {number}. Save the line above: it cannot be shown again.", markup=False)


@app.command("list", epilog=_LIST)
def show(ledger: LedgerUrl = "sqlite:///ledger.db") -> None:
    """List the keys: id, client, models and state, never the secret."""
    with _keys(ledger) as keys:
        found = keys.list()
    answer(keys=found)
    rows = [
        [k.id, k.name, k.role, " ".join(k.scopes), k.made[:10], (k.expires or "")[:10], (k.used or "")[:10],
         (k.revoked or ("in force" if k.in_force else "ended"))[:10]]
        for k in found
    ]  # fmt: skip
    print_table(f"{len(rows)} keys", ["key", "client", "role", "models", "made", "ends", "used", "revoked"], rows)


@app.command(epilog=_REVOKE)
def revoke(
    key: Annotated[str, typer.Argument(help="Key id, as listed by `shoal keys list`.")],
    ledger: LedgerUrl = "sqlite:///ledger.db",
) -> None:
    """Revoke a key; what its client has spent stays spent."""
    with _keys(ledger) as keys:
        keys.revoke(key)
    answer(revoked=key)
    out.print(f"Key {key} is revoked.", markup=False)


@contextmanager
def _keys(url: str) -> Iterator[Keys]:
    with closing(Ledger.open(url, create=False)) as book:
        yield Keys(book)
