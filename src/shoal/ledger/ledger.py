"""The ledger of a data set. No use without a charge, no charge above a limit, no charge twice.

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
8. **Balances follow from the journal.** Opening replays it since the last checkpoint, and refuses to go on where the
   sums differ.
9. **One limit over all uses.** Synthesis, fits and answers spend from one account of the data set. It is known by a
   name made once, so that a corrected file, a new name or a new fit brings no fresh budget. A part may be reserved for
   answers.
10. **Tampering shows.** The journal is a chain of keyed hashes (`shoal.ledger.chain`), its head is noted outside
    (`shoal.ledger.chain`), triggers and orphaned answers are looked for.

What isn't promised: whoever may write the database *and* reads its key may rewrite it; only a head noted elsewhere (a
log, a manifest) shows that then. Keep the database as you keep the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, select, update

from shoal.claim import Claim
from shoal.dp.budget import Amount, Budget
from shoal.dp.journal import Entry
from shoal.errors import InputError
from shoal.ledger import account_rows, checkpoint, released, verification
from shoal.ledger import admission as admitting
from shoal.ledger.admission import Admission
from shoal.ledger.chain import Anchor, Head, append, keyed_hash, lock_head, read_head
from shoal.ledger.engine import Founded, LedgerError, Lines, begin, file_of, open_engine, read_founded, reporting
from shoal.ledger.records import Balance, Kind, Order, Outcome
from shoal.ledger.replay import journal_rows
from shoal.ledger.settling import settle
from shoal.ledger.tables import ACCOUNT, HEAD, JOURNAL
from shoal.ledger.verification import Verified

__all__ = ["Enrolled", "Ledger"]


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
    replays the journal since the last checkpoint: at most some 50,000 entries, if it is opened now and then.

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
        key = self.founded.key
        with self.moving() as (connection, heads):
            heads.append(lock_head(connection))
            numbers = Enrolled(
                model=account_rows.open_model(connection, key, model, model_limit, heads),
                data=account_rows.open_data(connection, key, data, data_limit, heads),
            )
            admitted = any(found.digest == digest for found in admitting.admissions(connection))
            if not admitted:
                mark = self.mark("fit", digest, data)
                cost = fit or Budget(epsilon=0)
                account_rows.record_fit(connection, key, model, (numbers.model, numbers.data), mark, cost, heads)
        return numbers

    def mark(self, *parts: str) -> str:
        """The keyed hash of some words: which query it was, without its content."""
        text = "".join(f"{len(part)}:{part}" for part in parts)
        return keyed_hash(self.founded.secret, text)

    # ---- data sets

    def begin_data_set(
        self, label: str | None = None, *, limit: Budget, name: str | None = None, content: str | None = None
    ) -> str:
        """A new data set with one limit over all its uses; its name, which it keeps for good."""
        name = account_rows.account_name("data", name or account_rows.new_name())
        with self.moving() as (connection, heads):
            heads.append(
                account_rows.begin_data(connection, self.founded.key, name, limit, label=label, content=content)[1]
            )
        return name

    def data_of(self, content: str) -> str | None:
        """The data set whose file has that keyed hash; None where there is none, or several."""
        with self.reading() as connection:
            query = select(ACCOUNT.c.name).where(ACCOUNT.c.kind == "data", ACCOUNT.c.content == content)
            names = connection.execute(query).scalars().all()
        return str(names[0]) if len(names) == 1 else None

    def charge(self, data: str, budget: Budget, *, purpose: str, claim: Claim | None = None) -> Entry:
        """Spend `budget` on a data set, durably, before anything is computed from it."""
        with self.moving() as (connection, heads):
            made, head = account_rows.spend(connection, self.founded.key, data, budget, purpose, claim)
            heads.append(head)
        return made

    def reserve(self, data: str, reserved: Budget | Amount | None) -> Balance:
        """Keep a part of a data set's limit for answers (None: nothing any more); what answers have spent counts.

        A plain number is epsilon; of a limit in rho, `Budget.zcdp` is reserved.
        """
        part = reserved if reserved is None or isinstance(reserved, Budget) else Budget(epsilon=reserved)
        with self.moving() as (connection, heads):
            heads.append(account_rows.reserve_data(connection, self.founded.key, data, part))
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
            model = account_rows.open_model(connection, self.founded.key, admission.model, None, heads)
            row = account_rows.found_data(connection, admission.data)
            if pay is not None and not pay.empty and not admitting.is_admitted(connection, admission):
                purpose = f"risk score '{admission.model}', fitted elsewhere"
                heads.append(account_rows.spend(connection, self.founded.key, admission.data, pay, purpose, None)[1])
            heads.append(admitting.admit(connection, self.founded.key, model, row.id, admission))

    def admissions(self) -> dict[str, Admission]:
        """Every admitted model file by its SHA-256."""
        with self.reading() as connection:
            return {found.digest: found for found in admitting.admissions(connection)}

    # ---- the register of releases

    def register(
        self,
        data: str,
        *,
        digest: str,
        words: Mapping[str, Any],
        marks: Mapping[str, bytes] | None = None,
        after: int | None = None,
    ) -> Head:
        """Enter a release: the SHA-256 of its manifest, and what to say of it; costs nothing.

        Parameters
        ----------
        marks
            By kind, the marks of its people, of the sensitive values of its classes, and the sample of its columns
            (`shoal.register`); the entry holds their SHA-256.
        after
            How many releases the data set had when this one was held against them; another number is a GuaranteeError.
        """
        with self.moving() as (connection, heads):
            heads.append(lock_head(connection))
            row = account_rows.found_data(connection, data)
            released.check_last(connection, data, after)
            line = released.entered(connection, row.id, digest, words, marks or {})
            heads.append(append(connection, self.founded.key, [line]))
        return heads[-1]

    def withdraw(self, release: str, reason: str) -> Head:
        """Note that a release never left, or was called back: from now on nothing is held against it."""
        return self._note_release(release, "withdrawal", reason)

    def forget(self, release: str, reason: str) -> Head:
        """Delete the marks of the people of a release; what was released stays in the ledger."""
        return self._note_release(release, "expiry", reason)

    def _note_release(self, release: str, purpose: str, reason: str) -> Head:
        with self.moving() as (connection, heads):
            heads.append(lock_head(connection))
            line = released.noted(connection, release, purpose, reason)
            heads.append(append(connection, self.founded.key, [line]))
        return heads[-1]

    def releases(self, data: str | None = None) -> list[dict[str, Any]]:
        """The register of releases, oldest first; `withdrawn` and `expired` hold the reason where there is one."""
        with self.reading() as connection:
            found = released.listed(connection)
        return [words for words in found if data is None or words["data"] == data]

    def released_marks(self, release: Mapping[str, Any], kind: str) -> bytes:
        """The marks of one release of `releases`; a GuaranteeError where they are not those that were entered."""
        with self.reading() as connection:
            return released.marks(connection, release, kind)

    def register_key(self) -> bytes:
        """The key of all marks of people, made with the first of them and kept outside the database."""
        with self.writing() as connection:
            return released.key_of(connection)

    # ---- what stands in the book

    def balance(self, kind: Kind, name: str) -> Balance:
        """One account as it stands."""
        with self.reading() as connection:
            row = connection.execute(select(ACCOUNT).where(*account_rows.named(kind, name))).first()
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

    def last_entry(self) -> str | None:
        """When the last entry was made, in UTC; none in an empty journal."""
        with self.reading() as connection:
            return connection.execute(select(JOURNAL.c.at).order_by(JOURNAL.c.id.desc()).limit(1)).scalar()

    def limit(self, kind: Kind, name: str, limit: Budget | Amount) -> Balance:
        """Set a limit anew; a data set's can only be lowered once something is spent, and none below what is spent.

        The people in the data were promised that limit; clients and models are the operator's to arrange.
        """
        with self.moving() as (connection, heads):
            heads.append(lock_head(connection))
            row = account_rows.found_account(connection, kind, name)
            units = account_rows.new_limit(row, limit)
            account_rows.check_limit(row, units)
            heads.append(account_rows.set_limit(connection, self.founded.key, row, units, heads[-1]))
        return self.balance(kind, name)

    def check(self) -> None:
        """Replay the journal since the last checkpoint, and make a new one where many entries were checked.

        A GuaranteeError where sums or limits do not follow from it, or tampering shows.
        """
        anchored = self.anchor.read()  # before the transaction begins: others may move it meanwhile
        with self.reading() as connection:
            found = verification.look(connection, self.founded, anchored)
        if found.end.head.number:
            self.anchor.note(found.end.head)
        if found.due:
            with suppress(LedgerError), self.writing() as connection:  # who may not write can still look
                checkpoint.write(connection, self.founded.key, found.end)

    def verify(self, *, head: str | None = None, archives: Sequence[Path] = ()) -> Verified:
        """Look at everything: guards, sums, every link, every seal, the anchor, and a head noted elsewhere.

        Parameters
        ----------
        head
            As it was printed, ``number:beginning of the link``.
        archives
            Files that `shoal.ledger.archive` made of this ledger; each is looked at whole.
        """
        anchored = self.anchor.read()
        with self.reading() as connection:
            return verification.verify(connection, self.founded, anchored, head=head, archives=archives)

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
