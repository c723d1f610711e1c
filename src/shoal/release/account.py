"""The account that a run is charged to: a file's own, begun by the first charge, in a step that no other run undoes.

A run that is refused before it is charged leaves nothing beside its input, but for the tag of a file that goes on with
a known data set (by ``data=``, or as the user's register knows it). An account that was begun is never taken away
again: another run may have been charged to it meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from shoal.dp import Budget
from shoal.dp.journal import Entry
from shoal.errors import GuaranteeError, ParameterError
from shoal.recipe import Recipe

if TYPE_CHECKING:
    from shoal.ledger.account import Account
    from shoal.register.register import Register

__all__ = ["account_for", "account_of", "register_in"]

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
    found = FirstAccount(file, limit, {"ledger": ledger, "data": data, "changed": changed})
    try:
        yield cast("Account", found)
    finally:
        found.close()


class FirstAccount:
    """The account of a file: opened at once where there is one, else begun when it is charged or asked for more.

    Until then nothing was spent of its limit, and nothing is written.
    """

    def __init__(self, file: Path, limit: float | None, words: Mapping[str, Any]) -> None:
        self._file, self._limit, self._words = file, limit, words
        self._begun: Account | None = None
        if _is_known(file, words):
            self._open()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every charge so far."""
        return () if self._begun is None else self._begun.entries

    def affords(self, price: Budget) -> bool:
        """Whether `price` could be charged now."""
        if self._begun is None and price.definition != "zcdp":
            return _limit(self._limit or USUAL_LIMIT).covers(price)
        return self._open().affords(price)

    def close(self) -> None:
        """Give the connections back."""
        if self._begun is not None:
            self._begun.ledger.close()

    def _open(self) -> Account:
        self._begun = self._begun or account_for(self._file, self._limit, **self._words)
        return self._begun

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._open(), name)


class FirstRegister:
    """The register in the ledger of an account, opened when a release is there to be entered."""

    declared = "the data set of the account"

    def __init__(self, account: Account, recipient: str | None, despite: str | None = None) -> None:
        from shoal.register.register import check_reasons

        check_reasons(recipient, despite)
        self._account, self._recipient, self._despite = account, recipient, despite

    @cached_property
    def _register(self) -> Register:
        from shoal.register.register import Register

        found = Register.of(self._account.ledger, self._account.data_set)
        return found.to(self._recipient, despite=self._despite)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._register, name)


def register_in(account: Account, recipient: str | None = None, *, despite: str | None = None) -> Register:
    """The register in the ledger of an account, for the release of a run that is charged to it.

    Parameters
    ----------
    recipient, despite
        As in `shoal.Register.to`.
    """
    return cast("Register", FirstRegister(account, recipient, despite))


def _is_known(file: Path, words: Mapping[str, Any]) -> bool:
    """Whether the file has an account, or may go on with that of a data set."""
    from shoal.ledger.account import has_account

    return has_account(file) or words["data"] is not None or (words["ledger"] is None and bool(_registered(file)))


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
