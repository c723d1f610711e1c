"""The account that a run is charged to: a file's own, begun by the first run, in a step that no other run undoes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shoal.dp import Budget
from shoal.errors import GuaranteeError, ParameterError
from shoal.recipe import Recipe

if TYPE_CHECKING:
    from shoal.ledger.account import Account

__all__ = ["account_for", "account_of"]

USUAL_LIMIT, USUAL_DELTA = 10.0, 1e-6


@contextmanager
def account_of(
    file: Path,
    recipe: Recipe,
    limit: float | None,
    *,
    ledger: str | None = None,
    data: str | None = None,
    changed: Literal["refuse", "continue"] = "refuse",
) -> Iterator[Account | None]:
    """The account of `file`; none for a recipe without a price. What could never be paid begins no account.

    Parameters
    ----------
    limit
        The epsilon that may ever be spent, set by the first run; None: 10.
    ledger, data, changed
        As in `shoal.dp.Account.open`.
    """
    price = recipe.price
    if price is None or (price.per_row is None and price.per_data_set is None):
        yield None
        return
    _check_first_price(file, recipe.bill, limit)
    account = account_for(file, limit, ledger=ledger, data=data, changed=changed)
    try:
        yield account
    finally:
        account.ledger.close()


def account_for(file: Path, limit: float | None, **words: Any) -> Account:
    """The account of `file`, begun with `limit` (None: 10) where there is none.

    A file that the user's register knows by its content goes on with the data set that it is there.
    """
    from shoal.ledger.account import Account, has_account  # SQLAlchemy takes a third of a second to load

    if not has_account(file) and words.get("data") is None and words.get("ledger") is None:
        words = {**words, **_registered(file)}
    if not has_account(file) and words.get("data") is None:
        return Account.open(file, limit=_limit(limit or USUAL_LIMIT), **words)
    account = Account.open(file, **words)
    if limit is not None and account.limit != _limit(limit):
        if not account.untouched:
            rule = "was set when the account was begun and can't be changed"
            raise ParameterError("--limit", rule, got=f"{limit:g}", hint=f"Omit it: it is {account.limit}.")
        account.ledger.limit("data", account.data_set, _limit(limit))
    return account


def _registered(file: Path) -> dict[str, str]:
    """The user's own ledger and the data set of a file in it, where releases of the file were entered."""
    from shoal.ledger.account import fingerprint
    from shoal.ledger.ledger import Ledger
    from shoal.register.own_ledger import own_ledger

    url = own_ledger()
    if not Path(url.removeprefix("sqlite:///")).exists():
        return {}
    book = Ledger.open(url, create=False, keep=False)
    try:
        name = book.data_of(fingerprint(file, book))
    finally:
        book.close()
    return {} if name is None else {"ledger": url, "data": name}


def _check_first_price(file: Path, whole: Budget | None, limit: float | None) -> None:
    """Refuse a first run that its own limit does not cover, before anything is written."""
    from shoal.ledger.account import has_account

    if whole is None or has_account(file):
        return
    most = _limit(limit or USUAL_LIMIT)
    if whole.definition != "zcdp" and not most.covers(whole):
        got = f"{whole} to spend, {most} left of {most}"
        raise GuaranteeError("Account", "the charge must not exceed what is left", got=got, hint="Nothing was spent.")


def _limit(epsilon: float) -> Budget:
    return Budget(epsilon=epsilon, delta=USUAL_DELTA)
