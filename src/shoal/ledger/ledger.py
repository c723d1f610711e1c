"""The ledger: the one book of a data set. No use without a charge, no charge above a limit, no charge twice.

What is promised, for any number of threads, processes and machines on one database:

1. **Never above a limit.** Check and addition are one transaction under a lock, and the database holds a CHECK besides.
2. **Charged first.** `Ledger.settle` and `Ledger.charge` return when the charges are on the disk; noise is drawn only
   afterwards. A kill at any moment leaves "charged, perhaps unanswered", never the reverse.
3. **No refunds.** There is no way to take a charge back, and the journal's triggers forbid it.
4. **The same question gets the same answer.** A charge is known by its mark; asked again, by idempotency key or in the
   same words, it costs nothing. Answers are stored before they leave, the first one wins, so noise can't be
   averaged away.
5. **Exact.** Whole units of 10⁻¹² ε or ρ and of 10⁻¹⁸ δ; costs are rounded up, limits down.
6. **Client, model and data set together**, all or nothing: clients who join forces still share one data set.
7. **A refusal changes nothing** and tells only what is left.
8. **Balances follow from the journal.** Opening replays it and refuses to go on where the sums differ.
9. **One limit over all uses.** Synthesis, fits and answers spend from one account of the data set. It is known by a
   name made once, so that a corrected file, a new name or a new fit brings no fresh budget. A part may be reserved for
   answers.
10. **Tampering shows.** The journal is a chain of keyed hashes (`shoal.ledger.chain`), its head is noted outside
    (`shoal.ledger.anchor`), triggers and orphaned answers are looked for.

What isn't promised: whoever may write the database *and* reads its key may rewrite it; only a head noted elsewhere (a
log, a manifest) shows that then. Keep the database as you keep the data.
"""

from __future__ import annotations

import hmac
import json
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, insert, select, update
from sqlalchemy.exc import IntegrityError

from shoal.claim import Claim
from shoal.dp.budget import Amount, Budget
from shoal.dp.journal import Entry
from shoal.errors import GuaranteeError, InputError, ParameterError
from shoal.ledger import admission as admitting
from shoal.ledger import data_set
from shoal.ledger.admission import Admission
from shoal.ledger.amount import Units, cost_units, limit_units, to_budget, to_text
from shoal.ledger.anchor import Anchor
from shoal.ledger.chain import Head, append, entry, lock_head, read_head
from shoal.ledger.engine import LedgerError, Lines, file_of, open_engine, reporting
from shoal.ledger.founding import Founded, begin, read_founded
from shoal.ledger.records import Balance, Kind, Order, Outcome
from shoal.ledger.replay import check_anchor, check_answers, check_chain, check_guards, check_sums, journal_rows
from shoal.ledger.settling import settle
from shoal.ledger.tables import ACCOUNT, HEAD, JOURNAL

__all__ = ["Enrolled", "Ledger", "Verified"]

_USUAL_LIMIT = Budget(epsilon=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolled:
    """The accounts that a query to a model is charged to, beside the client's."""

    model: int
    data: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What `Ledger.verify` found in order."""

    head: Head
    answers: int
    accounts: int
    key_outside: bool


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
    >>> people = ledger.begin_data_set("patients", limit=Budget(epsilon=10))
    >>> entry = ledger.charge(people, Budget(epsilon=1), purpose="synthetic table")
    >>> key, _ = Keys(ledger).add("ward 7", epsilon=1)
    >>> model = ledger.enrol("risk", digest="ab12", data=people)
    >>> query = Charge(key=key.id, client=key.client, model=model.model, data=model.data,
    ...                amount=6 * 10**11, mark=ledger.mark("ward 7", "ab12", "age=41"))
    >>> ledger.settle([query])[0].amount, ledger.settle([query])[0].amount  # the second time it is known
    (600000000000, 0)
    >>> print(ledger.balance("client", "ward 7").to_dict()["left"], ledger.balance("data", people).to_dict()["left"])
    0.4 8.4
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(self, engine: Engine, founded: Founded) -> None:
        self.engine = engine
        self.founded = founded
        self.anchor = Anchor.of(engine, founded.name)
        self.last: Head | None = None  # the last head that this process wrote
        self._lines = Lines(engine)
        self._file = file_of(engine)

    @classmethod
    def open(cls, url: str, *, patience: float = 5.0, create: bool = True, keep: bool = True) -> Ledger:
        """Open the ledger at a database URL, make its tables if they are not there, and hold its sums to its journal.

        Parameters
        ----------
        url
            ``sqlite:///FILE`` or ``postgresql://user:password@host/name``.
        patience
            Seconds to wait for a lock or a connection before a `LedgerError`.
        create
            Whether an empty database may become a ledger; a reader says no.
        keep
            Whether connections are kept between uses.
        """
        ledger = cls.unchecked(url, patience=patience, create=create, keep=keep)
        try:
            ledger.check()
        except BaseException:
            ledger.close()
            raise
        return ledger

    @classmethod
    def unchecked(cls, url: str, *, patience: float = 5.0, create: bool = False, keep: bool = True) -> Ledger:
        """Open a ledger that may be out of order, to look at it or to restore it."""
        engine = open_engine(url, patience=patience, keep=keep)
        try:
            with reporting():
                return cls(engine, begin(engine) if create else read_founded(engine))
        except BaseException:
            engine.dispose()
            raise

    def close(self) -> None:
        """Give the connections back."""
        self.anchor.close()
        self.engine.dispose()

    def cut(self) -> None:
        """End every wait for a database that does not answer."""
        self._lines.cut()

    # ---- answers of the service

    def settle(self, orders: Sequence[Order]) -> list[Outcome]:
        """Charge and store in one durable transaction; outcomes are in the order of `orders`."""
        with self.writing() as connection:
            outcomes, head = settle(connection, self.founded.key, orders)
        if head is not None:
            self._note(head)
        return outcomes

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
            The name of the data set; every model fitted to it shares one account.
        fit
            What the fit itself cost; nothing for a model that pays by query. A fit that this ledger was charged for
            when it was made, and that was admitted, is not recorded again.
        data_limit
            The limit of a data set that is new to the ledger (default: 10). A known one has another already: a
            ParameterError, as it can't be changed here.
        model_limit
            The limit of the model; a known one is set anew.

        Raises
        ------
        GuaranteeError
            Where the data set's account does not cover the fit.
        """
        with self.moving() as (connection, heads):
            heads.append(lock_head(connection))
            numbers = Enrolled(
                model=self._model(connection, model, model_limit, heads),
                data=self._data(connection, data, data_limit, heads),
            )
            admitted = any(found.digest == digest for found in admitting.admissions(connection))
            if not admitted:
                mark = self.mark("fit", digest, data)
                self._record_fit(connection, numbers, model, mark, fit or Budget(epsilon=0), heads)
        return numbers

    def mark(self, *parts: str) -> str:
        """The keyed hash of some words: which query it was, without its content."""
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return hmac.digest(self.founded.secret, text.encode(), "sha256").hex()

    # ---- data sets

    def begin_data_set(
        self, label: str | None = None, *, limit: Budget, name: str | None = None, content: str | None = None
    ) -> str:
        """A new data set with one limit over all its uses; its name, which it keeps for good."""
        name = account_name("data", name or data_set.new_name())
        with self.moving() as (connection, heads):
            heads.append(
                data_set.begin_data(connection, self.founded.key, name, limit, label=label, content=content)[1]
            )
        return name

    def charge(self, data: str, budget: Budget, *, purpose: str, claim: Claim | None = None) -> Entry:
        """Spend `budget` on a data set, durably, before anything is computed from it."""
        with self.moving() as (connection, heads):
            made, head = data_set.spend(connection, self.founded.key, data, budget, purpose, claim)
            heads.append(head)
        return made

    def reserve(self, data: str, epsilon: Budget | Amount | None) -> Balance:
        """Keep a part of a data set's limit for answers (None: nothing any more); what answers have spent counts."""
        share = None if epsilon is None else limit_units(epsilon)
        with self.moving() as (connection, heads):
            heads.append(data_set.reserve_data(connection, self.founded.key, data, share))
        return self.balance("data", data)

    def admit(self, admission: Admission, *, pay: Budget | None = None) -> None:
        """Let a model file be served; its data set must be in this ledger.

        Parameters
        ----------
        pay
            What the fit cost, where this ledger was not charged for it when it was made; charged with the admission,
            once, or neither.
        """
        with self.moving() as (connection, heads):
            heads.append(lock_head(connection))
            model = self._model(connection, admission.model, None, heads)
            row = data_set.found_data(connection, admission.data)
            if pay is not None and not pay.empty and not admitting.is_admitted(connection, admission):
                purpose = f"risk score '{admission.model}', fitted elsewhere"
                heads.append(data_set.spend(connection, self.founded.key, admission.data, pay, purpose, None)[1])
            heads.append(admitting.admit(connection, self.founded.key, model, row.id, admission))

    def admissions(self) -> dict[str, Admission]:
        """Every admitted model file by its SHA-256."""
        with self.reading() as connection:
            return {found.digest: found for found in admitting.admissions(connection)}

    def register(self, data: str, *, digest: str, words: Mapping[str, Any]) -> Head:
        """Note a release in the book: the SHA-256 of its manifest, and what to say of it; costs nothing."""
        note = json.dumps(
            {"purpose": "release", "digest": digest, **words}, ensure_ascii=False, allow_nan=False, sort_keys=True
        )
        with self.moving() as (connection, heads):
            heads.append(lock_head(connection))
            row = data_set.found_data(connection, data)
            heads.append(append(connection, self.founded.key, [entry("release", data_id=row.id, note=note)]))
        return heads[-1]

    def releases(self, data: str | None = None) -> list[dict[str, Any]]:
        """The register of releases, oldest first."""
        joined = JOURNAL.join(ACCOUNT, ACCOUNT.c.id == JOURNAL.c.data_id)
        wanted = select(JOURNAL.c.id, JOURNAL.c.at, JOURNAL.c.note, ACCOUNT.c.name).select_from(joined)
        with self.reading() as connection:
            rows = connection.execute(wanted.where(JOURNAL.c.kind == "release").order_by(JOURNAL.c.id)).all()
        found = [{"number": row.id, "at": row.at, "data": row.name, **json.loads(row.note)} for row in rows]
        return [words for words in found if data is None or words["data"] == data]

    # ---- what stands in the book

    def balance(self, kind: Kind, name: str) -> Balance:
        """One account as it stands."""
        with self.reading() as connection:
            row = connection.execute(select(ACCOUNT).where(*_named(kind, name))).first()
        if row is None:
            raise InputError("ledger", f"there is no account of that name for a {kind}")
        return Balance.of(row)

    def balances(self) -> list[Balance]:
        """Every account, clients first."""
        with self.reading() as connection:
            rows = connection.execute(select(ACCOUNT).order_by(ACCOUNT.c.kind, ACCOUNT.c.name)).all()
        return [Balance.of(row) for row in rows]

    def journal(self) -> Iterator[dict[str, Any]]:
        """Every entry, oldest first, as JSON-safe words: no query, no answer, no mark."""
        with self.reading() as connection:
            yield from journal_rows(connection)

    def head(self) -> Head:
        """The end of the chain, which stands for all that was ever written."""
        with self.reading() as connection:
            return read_head(connection)

    def limit(self, kind: Kind, name: str, limit: Budget | Amount) -> Balance:
        """Set a limit anew; a data set's can only be lowered once something is spent, and none below what is spent.

        The people in the data were promised that limit; clients and models are the operator's to arrange.
        """
        with self.moving() as (connection, heads):
            heads.append(lock_head(connection))
            row = self._found(connection, kind, name)
            wanted = _wanted_limit(row, limit)
            _check_limit(row, wanted)
            heads.append(data_set.set_limit(connection, self.founded.key, row, wanted, heads[-1]))
        return self.balance(kind, name)

    def check(self) -> None:
        """Replay the journal; a GuaranteeError where sums or limits do not follow from it, or tampering shows."""
        anchored = self.anchor.read()  # before the transaction begins: others may move it meanwhile
        with self.reading() as connection:
            check_guards(connection)
            check_sums(connection)
            head = check_chain(connection, self.founded.key, self.founded.name)
            check_anchor(connection, anchored)
        if head.number:
            self.anchor.note(head)

    def verify(self, *, head: str | None = None) -> Verified:
        """Look at everything: guards, sums, every link, every seal, the anchor, and a head noted elsewhere.

        Parameters
        ----------
        head
            As it was printed, ``number:beginning of the link``.
        """
        anchored = self.anchor.read()
        with self.reading() as connection:
            check_guards(connection)
            check_sums(connection)
            found = check_chain(connection, self.founded.key, self.founded.name, whole=True)
            check_anchor(connection, anchored)
            if head is not None:
                check_anchor(connection, _noted(connection, head))
            answers = check_answers(connection, self.founded.key)
        key_outside = self.founded.key_outside
        return Verified(head=found, answers=answers, accounts=len(self.balances()), key_outside=key_outside)

    def ping(self) -> None:
        """A real write, durable when it returns; or a LedgerError."""
        with self.writing() as connection:
            connection.execute(update(HEAD).values(pulse=HEAD.c.pulse + 1))

    # ---- transactions

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

    @contextmanager
    def moving(self) -> Iterator[tuple[Connection, list[Head]]]:
        """A writing transaction that notes the last of its heads outside, once it has committed."""
        heads: list[Head] = []
        with self.writing() as connection:
            yield connection, heads
        if heads and heads[-1].number:
            self._note(heads[-1])

    def _note(self, head: Head) -> None:
        self.anchor.note(head)
        self.last = head

    def _check_file(self) -> None:
        if file_of(self.engine) != self._file:
            hint = "It was moved, deleted or replaced while in use. Restore it, or start again."
            raise LedgerError("ledger", "the file was replaced while open", hint=hint)

    def _found(self, connection: Connection, kind: Kind, name: str) -> Any:
        row = connection.execute(select(ACCOUNT).where(*_named(kind, name)).with_for_update()).first()
        if row is None:
            raise InputError("ledger", f"there is no account of that name for a {kind}")
        return row

    def _model(self, connection: Connection, name: str, limit: Budget | None, heads: list[Head]) -> int:
        number, head = open_account(connection, self.founded.key, "model", name, limit, heads[-1])
        heads.append(head)
        if limit is not None:
            row = self._found(connection, "model", name)
            if row.cap != limit_units(limit):
                _check_limit(row, Units.limit(limit))
                heads.append(data_set.set_limit(connection, self.founded.key, row, Units.limit(limit), heads[-1]))
        return number

    def _data(self, connection: Connection, name: str, limit: Budget | None, heads: list[Head]) -> int:
        row = connection.execute(select(ACCOUNT).where(*_named("data", name))).first()
        if row is None:
            wanted = account_name("data", name)
            number, head = data_set.begin_data(connection, self.founded.key, wanted, limit or _USUAL_LIMIT)
            heads.append(head)
            return number
        if limit is not None and limit_units(limit) != row.cap:
            got = f"{limit} where it is {to_text(row.cap)}"
            hint = "See `shoal ledger limit`, which can lower it."
            raise ParameterError("ledger", "the limit of an existing data set is fixed", got=got, hint=hint)
        return int(row.id)

    def _record_fit(
        self, connection: Connection, to: Enrolled, model: str, mark: str, fit: Budget, heads: list[Head]
    ) -> None:
        row = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == to.data).with_for_update()).one()
        known = connection.execute(select(JOURNAL.c.id).where(JOURNAL.c.mark == mark)).first()
        amount = cost_units(fit)
        if known or not amount:
            return
        left = Balance.of(row).left or 0
        if amount > left:
            rule = "the data set's account must cover what the fit cost"
            hint = "The model is not served. A limit given for the data set when it is new can be larger."
            raise GuaranteeError(f"model '{model}'", rule, got=f"{fit} with {to_budget(left)} left", hint=hint)
        note = data_set.note_of(f"risk score '{model}'", fit)
        line = entry("fit", amount=amount, model_id=to.model, data_id=to.data, mark=mark, note=note)
        heads.append(append(connection, self.founded.key, [line], heads[-1]))
        connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == to.data).values(spent=ACCOUNT.c.spent + amount))


def open_account(
    connection: Connection, key: bytes, kind: Kind, name: str, limit: Budget | None, head: Head
) -> tuple[int, Head]:
    """The number of an account and the new head; made new, with its limit in the journal, where there is none.

    The caller holds the lock of `head`.
    """
    name = account_name(kind, name)
    known = connection.execute(select(ACCOUNT.c.id).where(*_named(kind, name))).scalar()
    if known is not None:
        return int(known), head
    cap = None if limit is None else limit_units(limit)
    row = {"kind": kind, "name": name, "cap": cap, "spent": 0, "answered": 0}
    try:
        with connection.begin_nested():
            number = connection.execute(insert(ACCOUNT).returning(ACCOUNT.c.id), row).scalar_one()
    except IntegrityError:  # another process was faster
        return int(connection.execute(select(ACCOUNT.c.id).where(*_named(kind, name))).scalar_one()), head
    if cap is not None:
        head = append(connection, key, [entry("limit", amount=cap, **{f"{kind}_id": int(number)})], head)
    return int(number), head


def account_name(kind: Kind, name: str) -> str:
    """The name if it can be one, its letters in one spelling, so that nobody has two accounts by accident."""
    name = unicodedata.normalize("NFC", name)
    if not name or len(name) > 200 or not name.isprintable() or name != name.strip():
        rule = f"the name of a {kind} must be 1 to 200 printable characters, without a space at either end"
        raise ParameterError("ledger", rule)
    return name


def _named(kind: Kind, name: str) -> tuple[Any, Any]:
    return ACCOUNT.c.kind == kind, ACCOUNT.c.name == account_name(kind, name)


def _wanted_limit(row: Any, limit: Budget | Amount) -> Units:
    if isinstance(limit, Budget):
        return Units.limit(limit)
    return Units(amount=limit_units(limit), delta=row.delta_cap, currency=row.currency)


def _check_limit(row: Any, limit: Units) -> None:
    balance = Balance.of(row)
    if limit.currency != row.currency and balance.spent:
        raise ParameterError("ledger", "the kind of a limit in use can't be changed", got=str(limit.budget))
    if limit.amount < balance.spent + balance.reserved or limit.delta < row.delta_spent:
        got = f"{limit.budget} where {balance.committed.budget} is spent or reserved"
        raise ParameterError("ledger", "a limit must not be less than what is spent or reserved", got=got)
    raised = row.cap is not None and (limit.amount > row.cap or limit.delta > row.delta_cap)
    if row.kind == "data" and raised and (balance.spent or balance.share is not None):
        raise GuaranteeError(
            "ledger", "the limit of a data set can't be raised", hint="It is a promise to the people in the data."
        )


def _noted(connection: Connection, head: str) -> Head:
    """A printed head as a whole one: its number, and the link that the journal has there if it begins so."""
    number, _, start = head.strip().partition(":")
    if not number.isdigit() or len(start) < 8:
        raise ParameterError("--head", "must be as printed: number:beginning of the hash", got=repr(head)[:60])
    link = connection.execute(select(JOURNAL.c.link).where(JOURNAL.c.id == int(number))).scalar()
    fits = link is not None and link.startswith(start)
    return Head(number=int(number), link=str(link) if fits else start)
