"""The ledger: no answer without a charge, no charge above a limit, no charge twice.

What is promised, for any number of threads, processes and machines on one database:

1. **Never above a limit.** Check and addition are one transaction under a lock, and the database holds a CHECK besides.
2. **Charged first.** `Ledger.settle` returns when the charges are on the disk; noise is drawn only afterwards. A kill
   at any moment leaves "charged, perhaps unanswered", never the reverse.
3. **No refunds.** There is no way to take a charge back, and the journal's triggers forbid it.
4. **The same question gets the same answer.** A charge is known by its mark; asked again, by idempotency key or in the
   same words, it costs nothing. Answers are stored before they leave, the first one wins, so noise can't be
   averaged away.
5. **Exact.** Whole units of 10⁻¹² ε; costs are rounded up, limits down.
6. **Client, model and data set together**, all or nothing: clients who join forces still share one data set.
7. **A refusal changes nothing** and tells only what is left.
8. **Balances follow from the journal.** Opening replays it and refuses to go on where the sums differ.
9. **Data sets are known by their fingerprint**, so a new name or a new fit brings no fresh budget.

What isn't promised: whoever may write the database may rewrite it, triggers and all; keep it as you keep the data.
"""

from __future__ import annotations

import hmac
import secrets
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from shoal.dp.budget import Amount, Budget
from shoal.errors import GuaranteeError, InputError, ParameterError
from shoal.ledger.amount import cost_units, limit_units, to_budget, to_text
from shoal.ledger.engine import LedgerError, file_of, make_private, open_engine, reporting
from shoal.ledger.records import Balance, Kind, Order, Outcome
from shoal.ledger.replay import check_sums, journal_rows
from shoal.ledger.settling import now, settle
from shoal.ledger.tables import ACCOUNT, GUARDS, JOURNAL, META, TABLES

__all__ = ["Enrolled", "Ledger"]

_FORMAT = "1"
_LOCK = 0x5E0A1  # the number of PostgreSQL's advisory lock for making the tables


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolled:
    """The accounts that a query to a model is charged to, beside the client's."""

    model: int
    data: int


class Ledger:
    """Accounts, charges and answers in one database; open it with `Ledger.open`.

    Notes
    -----
    A call to `settle` is one transaction, whatever the number of orders: hand it many at once where many wait. Opening
    replays the journal, about a second for a million charges.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shoal.dp import Budget
    >>> from shoal.ledger import Charge, Keys, Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.open("sqlite:///" + str(pathlib.Path(folder.name, "ledger.db")))
    >>> key, _ = Keys(ledger).add("ward 7", epsilon=1)
    >>> model = ledger.enrol("risk", digest="ab12", data="fingerprint", data_limit=Budget(epsilon=10))
    >>> query = Charge(key=key.id, client=key.client, model=model.model, data=model.data,
    ...                amount=6 * 10**11, mark=ledger.mark("ward 7", "ab12", "age=41"))
    >>> ledger.settle([query])[0].amount, ledger.settle([query])[0].amount  # the second time it is known
    (600000000000, 0)
    >>> print(ledger.balance("client", "ward 7").to_dict()["left"])
    0.4
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(self, engine: Engine, secret: bytes) -> None:
        self.engine = engine
        self._secret = secret
        self._file = file_of(engine)

    @classmethod
    def open(cls, url: str, *, patience: float = 5.0, create: bool = True) -> Ledger:
        """Open the ledger at a database URL, make its tables if they are not there, and hold its sums to its journal.

        Parameters
        ----------
        url
            ``sqlite:///FILE`` or ``postgresql://user:password@host/name``.
        patience
            Seconds to wait for a lock or a connection before a `LedgerError`.
        create
            Whether an empty database may become a ledger; a reader says no.
        """
        engine = open_engine(url, patience=patience)
        if create:
            make_private(engine)
        with reporting():
            secret = _begin(engine) if create else _secret(engine)
        ledger = cls(engine, secret)
        try:
            ledger.check()
        except BaseException:
            engine.dispose()
            raise
        return ledger

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    def settle(self, orders: Sequence[Order]) -> list[Outcome]:
        """Charge and store in one durable transaction; outcomes are in the order of `orders`."""
        with self.writing() as connection:
            return settle(connection, orders)

    def enrol(
        self,
        model: str,
        *,
        digest: str,
        data: str,
        fit: Budget | None = None,
        data_limit: Budget | None = None,
        model_limit: Budget | None = None,
    ) -> Enrolled:
        """Give a model and its data set their accounts, and record what the fit cost, once.

        Parameters
        ----------
        model
            Its name.
        digest
            The hash of the model file: the same file is never recorded twice.
        data
            The fingerprint of the training data; every model fitted to them shares one account.
        fit
            What the fit itself cost; nothing for a model that pays by query.
        data_limit, model_limit
            Limits for accounts that are new. An existing limit stays as it is.

        Raises
        ------
        GuaranteeError
            Where the data set's account does not cover the fit.
        """
        with self.writing() as connection:
            numbers = Enrolled(
                model=open_account(connection, "model", model, model_limit),
                data=open_account(connection, "data", data, data_limit or Budget(epsilon=10)),
            )
            self._record_fit(connection, numbers, model, self.mark("fit", digest, data), fit or Budget(epsilon=0))
        return numbers

    def mark(self, *parts: str) -> str:
        """The keyed hash of some words: which query it was, without its content."""
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return hmac.new(self._secret, text.encode(), "sha256").hexdigest()

    def balance(self, kind: Kind, name: str) -> Balance:
        """One account as it stands."""
        wanted = kind, account_name(kind, name)
        for balance in self.balances():
            if (balance.kind, balance.name) == wanted:
                return balance
        raise InputError("ledger", f"there is no account of that name for a {kind}")

    def balances(self) -> list[Balance]:
        """Every account, clients first."""
        with self.reading() as connection:
            rows = connection.execute(select(ACCOUNT).order_by(ACCOUNT.c.kind, ACCOUNT.c.name)).all()
        return [Balance(kind=row.kind, name=row.name, cap=row.cap, spent=row.spent) for row in rows]

    def journal(self) -> Iterator[dict[str, Any]]:
        """Every entry, oldest first, as JSON-safe words: no query, no answer, no mark."""
        with self.reading() as connection:
            yield from journal_rows(connection)

    def limit(self, kind: Kind, name: str, limit: Budget | Amount) -> Balance:
        """Set a limit anew; a data set's can only be lowered, and none below what is spent.

        The people in the data were promised that limit; clients and models are the operator's to arrange.
        """
        cap = limit_units(limit)
        with self.writing() as connection:
            _change_limit(connection, self._found(connection, kind, name), cap)
        return self.balance(kind, name)

    def check(self) -> None:
        """Replay the journal; a GuaranteeError where sums or limits do not follow from it."""
        with self.reading() as connection:
            check_sums(connection)

    def ping(self) -> None:
        """Nothing, or a LedgerError."""
        with self.reading() as connection:
            connection.execute(select(META.c.value).where(META.c.name == "format")).one()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that holds the write lock and is durable when it ends."""
        self._check_file()
        with reporting(), self.engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one moment."""
        self._check_file()
        with reporting(), self.engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def _check_file(self) -> None:
        if file_of(self.engine) != self._file:
            hint = "It was moved, deleted or replaced while in use. Put it back, or start again."
            raise LedgerError("ledger", "the file must stay the one that was opened", hint=hint)

    def _found(self, connection: Connection, kind: Kind, name: str) -> Any:
        wanted = (
            select(ACCOUNT).where(ACCOUNT.c.kind == kind, ACCOUNT.c.name == account_name(kind, name)).with_for_update()
        )
        row = connection.execute(wanted).first()
        if row is None:
            raise InputError("ledger", f"there is no account of that name for a {kind}")
        return row

    def _record_fit(self, connection: Connection, to: Enrolled, model: str, mark: str, fit: Budget) -> None:
        row = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == to.data).with_for_update()).one()
        known = connection.execute(select(JOURNAL.c.id).where(JOURNAL.c.mark == mark)).first()
        amount = cost_units(fit)
        if known or not amount:
            return
        if row.spent + amount > row.cap:
            left = to_budget(row.cap - row.spent)
            rule = "the data set's account must cover what the fit cost"
            hint = "The model is not served. A limit given for the data set when it is new can be larger."
            raise GuaranteeError(f"model '{model}'", rule, got=f"{fit} with {left} left", hint=hint)
        entry = {"at": now(), "kind": "fit", "model_id": to.model, "data_id": to.data, "amount": amount, "mark": mark}
        connection.execute(insert(JOURNAL), [entry])
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == to.data).values(spent=ACCOUNT.c.spent + amount))


def open_account(connection: Connection, kind: Kind, name: str, limit: Budget | None) -> int:
    """The number of an account; made new, with its limit in the journal, where there is none."""
    name = account_name(kind, name)
    where = (ACCOUNT.c.kind == kind, ACCOUNT.c.name == name)
    known = connection.execute(select(ACCOUNT.c.id).where(*where)).scalar()
    if known is not None:
        return int(known)
    cap = None if limit is None else limit_units(limit)
    row = {"kind": kind, "name": name, "cap": cap, "spent": 0}
    try:
        with connection.begin_nested():
            number = connection.execute(insert(ACCOUNT).returning(ACCOUNT.c.id), row).scalar_one()
    except IntegrityError:  # another process was faster
        return int(connection.execute(select(ACCOUNT.c.id).where(*where)).scalar_one())
    if cap is not None:
        _journal_limit(connection, kind, int(number), cap)
    return int(number)


def account_name(kind: Kind, name: str) -> str:
    """The name if it can be one, its letters in one spelling, so that nobody has two accounts by accident."""
    name = unicodedata.normalize("NFC", name)
    if not name or len(name) > 200 or not name.isprintable() or name != name.strip():
        rule = f"the name of a {kind} must be 1 to 200 printable characters, without a space at either end"
        raise ParameterError("ledger", rule)
    return name


def _change_limit(connection: Connection, row: Any, cap: int) -> None:
    if cap < row.spent:
        got = f"epsilon = {to_text(cap)} where {to_text(row.spent)} is spent"
        raise ParameterError("ledger", "a limit must not lie below what is spent", got=got)
    if row.kind == "data" and cap > row.cap:
        raise GuaranteeError("ledger", "the limit of a data set can't be raised", hint="It was promised to the people.")
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == row.id).values(cap=cap))
    _journal_limit(connection, row.kind, row.id, cap)


def _journal_limit(connection: Connection, kind: Kind, number: int, cap: int) -> None:
    connection.execute(insert(JOURNAL), [{"at": now(), "kind": "limit", f"{kind}_id": number, "amount": cap}])


def _begin(engine: Engine) -> bytes:
    """Make the tables, once, though several processes start together; the ledger's secret."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if connection.dialect.name == "postgresql":
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        TABLES.create_all(connection)
        if not _meta(connection):
            for statement in GUARDS[connection.dialect.name]:
                connection.exec_driver_sql(statement)
            rows = {"format": _FORMAT, "secret": secrets.token_hex(32)}
            connection.execute(insert(META), [{"name": name, "value": value} for name, value in rows.items()])
        return _read_secret(_meta(connection))


def _secret(engine: Engine) -> bytes:
    from sqlalchemy import inspect

    file = engine.url.database if engine.dialect.name == "sqlite" else None
    if (file and not Path(file).exists()) or not inspect(engine).has_table("meta"):  # SQLite would make the file
        engine.dispose()
        raise InputError("ledger", "there is no ledger in that database", hint="`shoal keys add` begins one.")
    with engine.connect() as connection:
        return _read_secret(_meta(connection))


def _meta(connection: Connection) -> dict[str, str]:
    return {row.name: row.value for row in connection.execute(select(META))}


def _read_secret(meta: dict[str, str]) -> bytes:
    if meta.get("format") != _FORMAT or "secret" not in meta:
        raise InputError("ledger", "must be of a layout that this version knows", got=repr(meta.get("format"))[:20])
    return bytes.fromhex(meta["secret"])
