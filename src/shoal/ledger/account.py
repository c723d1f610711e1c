"""The account of a data file: what its data set has spent, over all uses, across processes and over the years.

Privacy loss adds up over everything that is ever computed from the same people's data. A file ``visits.parquet`` has a
tag beside it, ``visits.parquet.budget.json``, which names its data set and the ledger that keeps its account: a ledger
of its own, ``visits.parquet.budget.db``, or one that is shared with others and with the service. What is promised:

- **One book.** Synthesis, fits and the answers of published models spend from one limit; `Account.left` knows them all.
- **Charged first.** `Account.charge` returns when the charge is on the disk: a crash may lose an answer, no charge.
- **Never above the limit**, for any number of processes, and on a shared PostgreSQL for any number of machines.
- **The same data set, whatever the file.** Its name is made once. A corrected file goes on with what was spent
  (``changed="continue"``); a keyed hash of the content (HMAC-SHA256) only proposes which data set a file without a tag
  may be, and a person declares it (``data=``).

What isn't: a copy of the data elsewhere, with neither tag nor shared ledger, has no account, and whoever may write the
files may delete them. Network file systems without locks are no place for a ledger in SQLite.
"""

from __future__ import annotations

import hmac
import json
import os
import sys
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import select, update

from shoal.claim import Claim
from shoal.dp.budget import Budget
from shoal.dp.journal import Entry, Spending
from shoal.errors import FileError, ParameterError
from shoal.files.atomic import check_readable, reporting
from shoal.files.table import files_at
from shoal.ledger import account_rows
from shoal.ledger.amount import Units
from shoal.ledger.chain import Head, append, entry, lock_head
from shoal.ledger.ledger import Ledger
from shoal.ledger.records import Balance
from shoal.ledger.tables import ACCOUNT
from shoal.ledger.tag import Tag, embedded_place, tag_place, without_password

__all__ = ["Account", "charged", "fingerprint", "has_account", "note_charge", "opened_by_tag"]


def has_account(path: str | os.PathLike[str]) -> bool:
    """Whether a data file has an account already; links are followed."""
    return tag_place(Path(path).resolve()).exists()


class Account:
    """The privacy account of one data file; open it with `Account.open`.

    Notes
    -----
    A charge is one durable transaction, some milliseconds. Opening reads the data file once, to see that it is the
    same.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shoal.dp import Account, Budget
    >>> folder = tempfile.TemporaryDirectory()
    >>> data = pathlib.Path(folder.name, "visits.csv")
    >>> _ = data.write_text("age\\n41\\n")
    >>> account = Account.open(data, limit=Budget(epsilon=1.0))
    >>> entry = account.charge(Budget(epsilon=0.4), purpose="synthetic table for teaching")
    >>> print(account.summary)
    spent ε = 0.4, reserved ε = 0, left ε = 0.6 of ε = 1
    >>> account.affords(Budget(epsilon=0.7))
    False
    >>> folder.cleanup()
    """

    def __init__(self, file: Path, ledger: Ledger, name: str) -> None:
        self._file, self.ledger, self._name = file, ledger, name

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        limit: Budget | None = None,
        changed: Literal["refuse", "continue"] = "refuse",
        ledger: str | None = None,
        data: str | None = None,
    ) -> Account:
        """Open the account of the data file `path`, or begin one.

        Parameters
        ----------
        path
            The data file, or the folder of the files of a table; links are followed, so that one file has one account.
        limit
            How much may ever be spent, over all uses. Needed to begin an account; once something is spent it is
            fixed, and may be left out.
        changed
            What to do when the file's content is not what the account knows: refuse, or (for corrected or extended
            data about the same people) go on, with all that was spent staying spent.
        ledger
            The URL of a shared ledger to begin the account in, which must be there already; None: a ledger of its own
            beside the file. A file whose tag names a ledger stays with that one.
        data
            The name of a data set in the ledger that this file, which has no tag, is declared to be.
        """
        _check_opening(limit, changed)
        file = Path(path).resolve()
        for part in files_at(str(file)) if file.is_dir() else [file]:
            check_readable(part)
        tag = Tag.read(file)
        if tag is not None:
            return cls._known(file, tag, limit, changed, ledger, data)
        if limit is None and data is None and not embedded_place(file).exists():
            hint = "For example Budget(epsilon=1)."
            raise ParameterError("Account", "limit must be given to open a new account", hint=hint)
        return cls._begun(file, limit, changed, ledger, data)

    @property
    def path(self) -> Path:
        """The file that says where the account is kept."""
        return tag_place(self._file)

    @property
    def data_set(self) -> str:
        """The name of the data set: made once, and telling nothing of it."""
        return self._name

    @property
    def limit(self) -> Budget:
        """How much may be spent in all."""
        return self.balance.limit.budget

    @property
    def spent(self) -> Budget:
        """What has been spent over all uses, in the currency of the limit."""
        balance = self.balance
        return Units(amount=balance.spent, delta=balance.delta_spent, currency=balance.currency).budget

    @property
    def reserved(self) -> Budget:
        """What is kept free for the answers of published models."""
        balance = self.balance
        return Units(amount=balance.reserved, currency=balance.currency).budget

    @property
    def left(self) -> Budget:
        """What may still be spent."""
        balance = self.balance
        return balance.limit.budget - balance.committed.budget

    @property
    def balance(self) -> Balance:
        """The account as it stands in the ledger."""
        return self.ledger.balance("data", self._name)

    @property
    def summary(self) -> str:
        """Spent, reserved and left of the limit, in words."""
        return f"spent {self.spent}, reserved {self.reserved}, left {self.left} of {self.limit}"

    @property
    def untouched(self) -> bool:
        """Whether nothing was ever spent or reserved."""
        balance = self.balance
        return not (balance.spent or balance.delta_spent) and balance.share is None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Every charge but those of answers, oldest first."""
        with self.ledger.reading() as connection:
            return account_rows.entries_of(connection, self._name)

    @property
    def spending(self) -> Spending:
        """Name, total and limit at one moment, for the manifest of a release."""
        n_entries, head = len(self.entries), str(self.head)
        return Spending(account=self._name, spent=self.spent, limit=self.limit, n_entries=n_entries, head=head)

    @property
    def head(self) -> Head:
        """The head of the ledger's chain."""
        return self.ledger.head()

    def affords(self, budget: Budget) -> bool:
        """Whether `budget` could be charged now; charges nothing."""
        return account_rows.affords(self.balance, _checked(budget))

    def charge(self, budget: Budget, *, purpose: str, claim: Claim | None = None) -> Entry:
        """Spend `budget`, before anything is computed from the data.

        Parameters
        ----------
        budget
            The whole price of what follows.
        purpose
            What it is spent on, for the reader of the account. Never a value from the data.
        claim
            The promise that the result will carry.

        Raises
        ------
        GuaranteeError
            Where it is not covered by what is left; nothing is spent then.
        """
        _check_words(purpose, claim)
        made = self.ledger.charge(self._name, _checked(budget), purpose=purpose, claim=claim)
        note_charge(f"{made.price} on {self._file.name}")
        return made

    def to_dict(self) -> dict[str, Any]:
        """Limit, totals and entries as JSON-safe words; neither key nor fingerprint."""
        words = {name: getattr(self, name).to_dict() for name in ("limit", "spent", "reserved", "left")}
        return {**words, "rule": self.balance.rule, "entries": [entry.to_dict() for entry in self.entries]}

    def __repr__(self) -> str:
        return f"Account({str(self.path)!r})"

    # ---- opening

    @classmethod
    def _known(
        cls, file: Path, tag: Tag, limit: Budget | None, changed: str, ledger: str | None, data: str | None
    ) -> Account:
        if data is not None and data != tag.data:
            raise ParameterError(
                "data", "the file's tag refers to another data set", got=f"{data} where it is {tag.data}"
            )
        book = opened_by_tag(file, tag, ledger)
        account = cls(file, book, tag.data)
        account._check_content(changed)
        account._check_limit(limit)
        return account

    @classmethod
    def _begun(cls, file: Path, limit: Budget | None, changed: str, ledger: str | None, data: str | None) -> Account:
        url = ledger or f"sqlite:///{embedded_place(file)}"
        book = Ledger.open(url, create=ledger is None, keep=False)
        if data is None:
            data = _begin(book, file, limit, alone=ledger is None)
        account = cls(file, book, data)
        account._check_content(changed)
        account._check_limit(limit)
        place = without_password(ledger) if ledger else ""
        Tag(data=data, ledger=place, ledger_name=book.founded.name).write(file)
        _sync_folder(file.parent)
        return account

    def _check_content(self, changed: str) -> None:
        """Go on only with the content that the account knows, unless a person says that the people are the same."""
        content = fingerprint(self._file, self.ledger)
        with self.ledger.moving() as (connection, heads):
            heads.append(lock_head(connection))
            row = account_rows.found_data(connection, self._name)
            if row.content is not None and hmac.compare_digest(row.content, content):
                return
            if row.content is not None and changed == "refuse":
                hint = "If these are corrected data on the same people, open it with changed='continue'."
                raise FileError(str(self.path), "the account belongs to a data file with different content", hint=hint)
            connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == row.id).values(content=content))
            nothing = Balance.of(row).limit.budget * 0
            note = account_rows.note_of("the data file changed; what was spent stays spent", nothing)
            if row.content is not None:
                heads.append(append(connection, self.ledger.founded.key, [entry("data", data_id=row.id, note=note)]))

    def _check_limit(self, limit: Budget | None) -> None:
        """A limit may be set anew while nothing was ever spent or reserved."""
        balance = self.balance
        if limit is None or Units.limit(limit) == balance.limit:
            return
        if not self.untouched:
            got = f"{limit} where it is {balance.limit.budget}"
            raise ParameterError("Account", "limit is fixed once something is spent", got=got)
        self.ledger.limit("data", self._name, limit)


def _begin(book: Ledger, file: Path, limit: Budget | None, *, alone: bool) -> str:
    """The data set of a file without a tag: the only one of its own ledger, or a new one of a shared ledger.

    One step under the lock: two first runs at once begin one account.
    """
    content = fingerprint(file, book)
    with book.moving() as (connection, heads):
        heads.append(lock_head(connection))
        known = connection.execute(select(ACCOUNT).where(ACCOUNT.c.kind == "data").order_by(ACCOUNT.c.id)).all()
        if alone and known:
            return str(known[0].name)
        for row in known:
            if row.content == content:
                hint = f"If they are the same people, declare it: data='{row.name}' (--data {row.name})."
                rule = f"has the content of the data set '{row.label or row.name}', which is already in the ledger"
                raise FileError(str(file), rule, hint=hint)
        if limit is None:
            raise ParameterError("Account", "limit must be given to open a new account")
        name = account_rows.new_name()
        heads.append(
            account_rows.begin_data(connection, book.founded.key, name, limit, label=file.name[:200], content=content)[
                1
            ]
        )
    return name


def opened_by_tag(file: Path, tag: Tag, ledger: str | None) -> Ledger:
    """The ledger that the tag names; `ledger` may bring its password, and nothing else."""
    if not tag.ledger and not embedded_place(file).exists():
        hint = "Restore it from a backup. A new account would forget what was spent."
        raise FileError(str(embedded_place(file)), "the account is missing although its tag exists", hint=hint)
    same = ledger is not None and bool(tag.ledger) and without_password(ledger) == tag.ledger
    book = Ledger.open(ledger if same and ledger else tag.url(file), create=False, keep=False)
    if book.founded.name != tag.ledger_name:
        book.close()
        hint = "Restore the ledger that the file was charged to."
        raise FileError(str(tag_place(file)), "refers to a different ledger from the one found", hint=hint)
    if ledger is not None and not same:
        book.close()
        hint = f"Omit --ledger, or move the account there: `shoal ledger migrate {file} --ledger URL`."
        raise ParameterError("ledger", "the file's account is in another ledger", hint=hint)
    return book


def _check_opening(limit: Budget | None, changed: str) -> None:
    if limit is not None:
        _checked(limit, "limit")
    if changed not in ("refuse", "continue"):
        raise ParameterError("Account", "changed must be 'refuse' or 'continue'", got=repr(changed)[:60])


def _check_words(purpose: str, claim: Claim | None) -> None:
    if not isinstance(purpose, str) or not purpose.strip():
        raise ParameterError("Account", "purpose must be a string that says what the charge is for")
    if claim is not None and not isinstance(claim, Claim):
        raise ParameterError("Account", "claim must be a Claim or none", got=type(claim).__name__)
    try:
        json.dumps(claim.to_dict() if claim else None, allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError("Account", "claim must hold plain, finite numbers") from None


def _checked(budget: Budget, name: str = "budget") -> Budget:
    if not isinstance(budget, Budget):
        raise ParameterError("Account", f"{name} must be a Budget", got=type(budget).__name__)
    return budget


def fingerprint(file: Path, book: Ledger) -> str:
    """The keyed hash of a file's content: without the ledger nobody can test a guess of it."""
    digest = hmac.new(book.founded.secret, b"content", digestmod="sha256")
    for part in files_at(str(file)) if file.is_dir() else [file]:
        if part != file:
            digest.update(f"{part.name}\n{part.stat().st_size}\n".encode())
        with reporting(part), open(part, "rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)  # so that the new name outlives a power cut as well
    finally:
        os.close(handle)


_CHARGED: list[str] = []


def note_charge(what: str) -> None:
    """Remember a charge that is on the disk."""
    _CHARGED.append(what)


def charged() -> tuple[str, ...]:
    """Every charge of this process, in words."""
    return tuple(_CHARGED)
