"""`shoal keys`: who may ask the service, for which models, up to which epsilon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from shoal.ledger import Keys

__all__ = ["app"]

app = typer.Typer(help="API keys of the service: add, list, revoke.", no_args_is_help=True)

Book = Annotated[str, typer.Option("--ledger", envvar="SHOAL_LEDGER", help="Database URL of the ledger.")]

_ADD = """Examples:

shoal keys add "ward 7" --epsilon 10 --ledger sqlite:///ledger.db

shoal keys add "ward 7" --model risk --ledger sqlite:///ledger.db
"""
_LIST = """Examples:

shoal keys list --ledger sqlite:///ledger.db
"""
_REVOKE = """Examples:

shoal keys revoke 0123456789ab --ledger sqlite:///ledger.db
"""


@app.command(epilog=_ADD)
def add(
    name: Annotated[str, typer.Argument(help="The client. A known one keeps its account and gets another key.")],
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="What a new client may spend in all; 0: free models only.")
    ] = None,
    model: Annotated[list[str] | None, typer.Option("--model", "-m", help="A model it may ask. [default: all]")] = None,
    ledger: Book = "sqlite:///ledger.db",
) -> None:
    """Make a key and show it, once: the ledger keeps its hash only."""
    from shoal.cli.console import err

    with _keys(ledger, create=True) as keys:
        key, token = keys.add(name, epsilon=epsilon, models=model or ["*"])
    typer.echo(token)
    err.print(f"Key {key.id}. Keep the line above: it can't be shown again.", markup=False)


@app.command("list", epilog=_LIST)
def show(ledger: Book = "sqlite:///ledger.db") -> None:
    """Every key: its id, client, models, and whether it is in force. Never the secret."""
    from shoal.cli.console import print_table

    with _keys(ledger) as keys:
        found = keys.list()
    rows = [[k.id, k.name, " ".join(k.scopes), k.made[:10], (k.revoked or "in force")[:10]] for k in found]
    print_table(f"{len(rows)} keys", ["key", "client", "models", "made", "revoked"], rows)


@app.command(epilog=_REVOKE)
def revoke(
    key: Annotated[str, typer.Argument(help="The key's id, as `shoal keys list` shows it.")],
    ledger: Book = "sqlite:///ledger.db",
) -> None:
    """Refuse a key from now on; what its client spent stays spent."""
    with _keys(ledger) as keys:
        keys.revoke(key)
    typer.echo(f"Key {key} is revoked.")


@contextmanager
def _keys(url: str, *, create: bool = False) -> Iterator[Keys]:
    from shoal.ledger import Keys, Ledger

    book = Ledger.open(url, create=create)
    try:
        yield Keys(book)
    finally:
        book.close()
