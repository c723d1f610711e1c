"""Older books brought into the ledger, with everything that is in them.

- The account of a file as earlier versions kept it (``FILE.budget.json`` with its key file): its limit, each entry with
  its moment, purpose and claim, and the order of a conversion. The old files are kept under another name.
- The account of a file in its own ledger, moved into a shared one.
- A ledger of an earlier layout, by the revisions of `shoal.ledger.layouts`.

Each is one transaction in the ledger that receives. An upgraded ledger is looked at whole, and its accounts are
compared with what they held before, inside that transaction: what is not in order is never committed.
"""

from __future__ import annotations

import hmac
import json
import secrets
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, select, text, update

from shoal.dp.budget import Budget
from shoal.dp.journal import Entry, Journal
from shoal.errors import FileError, GuaranteeError, InputError, ShoalError
from shoal.files.atomic import reporting as reporting_file
from shoal.ledger import account_rows
from shoal.ledger.account import Account, fingerprint
from shoal.ledger.admission import Admission
from shoal.ledger.amount import Units
from shoal.ledger.chain import Anchor, Head, append, entry, lock_head
from shoal.ledger.engine import (
    in_layout,
    is_earlier,
    lock_layout,
    open_engine,
    read_layout,
    read_meta,
    reporting,
)
from shoal.ledger.ledger import Ledger
from shoal.ledger.records import Balance
from shoal.ledger.tables import ACCOUNT
from shoal.ledger.tag import Tag, embedded_place, tag_place, without_password
from shoal.ledger.verification import verify

__all__ = ["bring_up_to_date", "has_earlier_layout", "migrate_file", "migrate_ledger"]

_OLD = "shoal budget account, version 1"
_PATIENCE = 60.0  # seconds for one statement: a long journal is written anew


def migrate_file(path: Path, ledger: str | None = None) -> Account:
    """Move the account of a data file into a ledger of its own, or into the shared one at `ledger`.

    Whatever happens on the way, the old account is in force or the new one is; run again, it goes on where it stopped.
    """
    file = path.resolve()
    words = _old_words(tag_place(file))
    if words is not None:
        return _from_old_files(file, words, ledger)
    if has_earlier_layout(f"sqlite:///{embedded_place(file)}"):
        migrate_ledger(f"sqlite:///{embedded_place(file)}")
        if ledger is None:
            return Account.open(file)
    if ledger is None or Tag.read(file) is None:
        hint = "There is nothing to do, unless you move it to a shared ledger with --ledger URL."
        rule = "must have an account of an earlier version, or one of its own to be moved"
        raise InputError(str(file), rule, hint=hint)
    return _from_own_ledger(file, ledger)


def migrate_ledger(url: str) -> int:
    """Bring a ledger of an earlier layout up to date, in place and in one transaction; the number of its entries."""
    engine = open_engine(url, patience=_PATIENCE, keep=False)
    try:
        with reporting(), engine.connect().execution_options(writes=True) as connection, connection.begin():
            lock_layout(connection)
            layout = _layout_in(connection)
            if layout is None:
                raise InputError("ledger", "there is no ledger in that database")
            if not is_earlier(layout):
                raise InputError("ledger", "must have an earlier layout to be migrated", got=f"layout {layout}")
            head = _upgrade(connection, layout)
        Ledger.open(url, create=False, keep=False).close()
        return head.number
    finally:
        engine.dispose()


def bring_up_to_date(place: Path) -> bool:
    """Migrate a user's SQLite ledger, which nobody else uses, where it has an earlier layout; whether it had."""
    if not has_earlier_layout(f"sqlite:///{place}"):
        return False
    migrate_ledger(f"sqlite:///{place}")
    return True


def _upgrade(connection: Connection, layout: str) -> Head:
    """Run the revisions, and hold the result to what was there."""
    from shoal.ledger import layouts  # Alembic takes a third of a second to load

    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("LOCK TABLE journal IN EXCLUSIVE MODE")  # whoever charges waits
    before = _sums(connection)
    if "format" in read_meta(connection):
        layouts.stamp(connection, layout)
    layouts.upgrade(connection)
    founded = in_layout(connection)
    found = verify(connection, founded, Anchor.of(connection.engine, founded.name).read())
    if _sums(connection) != before:
        raise GuaranteeError("ledger", "an upgrade must leave every account as it was", hint="Nothing was changed.")
    return found.head


def _sums(connection: Connection) -> list[tuple[object, ...]]:
    """Limit and spending of every account, in any layout."""
    return [
        tuple(row) for row in connection.execute(text("SELECT id, kind, name, cap, spent FROM account ORDER BY id"))
    ]


def _layout_in(connection: Connection) -> str | None:
    """The layout of the ledger in that database; none where there is no ledger."""
    if not inspect(connection).has_table("meta"):
        return None
    return read_layout(connection, read_meta(connection))


def has_earlier_layout(url: str) -> bool:
    """Whether there is a ledger of an earlier layout in that database."""
    engine = open_engine(url, keep=False)
    if engine.dialect.name == "sqlite" and not Path(str(engine.url.database)).exists():  # SQLite would make one
        return False
    with reporting(), engine.connect() as connection, connection.begin():
        layout = _layout_in(connection)
    return layout is not None and is_earlier(layout)


def _from_old_files(file: Path, words: dict[str, Any], ledger: str | None) -> Account:
    key_file = file.with_name(f"{file.name}.budget.key")
    with _locked(key_file) as key:
        _check_seal(file, words, key)
        journal = Journal.from_dict(words["journal"])
        old = _OldAccount(
            name=words["data"][:16],
            limit=journal.limit,
            entries=journal.entries,
            conversion=json.dumps(journal.conversion.to_dict()) if journal.conversion else None,
        )
        unchanged = hmac.compare_digest(words["data"], _old_fingerprint(file, key))
        ledger_name = _receive(file, ledger, old, unchanged=unchanged)
        shutil.copy2(tag_place(file), _aside(tag_place(file)))
        _write_tag(file, ledger, old.name, ledger_name)
        key_file.replace(_aside(key_file))
    if unchanged:
        return Account.open(file, ledger=ledger)
    book = Ledger.open(ledger or f"sqlite:///{embedded_place(file)}", create=False, keep=False)
    return Account(file, book, old.name)  # to be opened with changed="continue" from now on


def _from_own_ledger(file: Path, ledger: str) -> Account:
    account = Account.open(file)
    tag, balance = Tag.read(file), account.balance
    if tag is None or tag.ledger:
        raise InputError(str(file), "the account is already in a shared ledger")
    if balance.answered or balance.share is not None:
        raise InputError(str(file), "an account that answers were charged to can't be moved", hint="Serve from it.")
    if account.ledger.releases(account.data_set):
        hint = "Its marks of people have another key. Name the shared ledger when the first release is made."
        raise InputError(str(file), "an account with a register of releases can't be moved", hint=hint)
    old = _OldAccount(
        name=account.data_set, limit=account.limit, entries=account.entries, conversion=balance.conversion
    )
    admitted = list(account.ledger.admissions().values())
    account.ledger.close()
    ledger_name = _receive(file, ledger, old, unchanged=True, admitted=admitted)
    _write_tag(file, ledger, old.name, ledger_name)
    own = embedded_place(file)
    for left in (own, own.with_name(f"{own.name}.anchor")):
        if left.exists():
            left.replace(_aside(left))
    return Account.open(file, ledger=ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class _OldAccount:
    """What an older account says."""

    name: str
    limit: Budget
    entries: tuple[Entry, ...]
    conversion: str | None


def _receive(
    file: Path, ledger: str | None, old: _OldAccount, *, unchanged: bool, admitted: Sequence[Admission] = ()
) -> str:
    """Write the account into the ledger that receives, in one transaction; the name of that ledger.

    A data set that the ledger knows (answers of models fitted earlier were charged to it) gets the entries as well: its
    limit is then the lower of the two, or what is spent already.
    """
    book = Ledger.open(ledger or f"sqlite:///{embedded_place(file)}", create=ledger is None, keep=False)
    try:
        content = fingerprint(file, book) if unchanged else "unknown"
        with book.moving() as (connection, heads):
            heads.append(lock_head(connection))
            lines = _begin_or_join(connection, book.founded.key, file, old, content, heads)
            if lines:
                heads.append(append(connection, book.founded.key, lines))
        for admission in admitted:
            book.admit(admission)
        book.check()
        return book.founded.name
    finally:
        book.close()


def _begin_or_join(
    connection: Connection, key: bytes, file: Path, old: _OldAccount, content: str, heads: list[Head]
) -> list[dict[str, Any]]:
    query = select(ACCOUNT).where(ACCOUNT.c.kind == "data", ACCOUNT.c.name == old.name)
    row = connection.execute(query).first()
    if row is None:
        words = {"label": file.name[:200], "content": content}
        heads.append(account_rows.begin_data(connection, key, old.name, old.limit, **words)[1])
        row = connection.execute(query).one()
    known = {made.when + made.purpose for made in account_rows.entries_of(connection, old.name)}
    lines = [_line(row.id, made) for made in old.entries if made.when + made.purpose not in known]
    amount, delta = (sum(line[what] for line in lines) for what in ("amount", "delta"))
    spent = Units(amount=row.spent + amount, delta=row.delta_spent + delta, currency=row.currency)
    limit = Units.limit(old.limit)
    cap = max(min(limit.amount, row.cap), spent.amount + Balance.of(row).reserved)
    new = Units(amount=cap, delta=max(limit.delta, spent.delta), currency=row.currency)
    if new != Balance.of(row).limit:
        heads.append(account_rows.set_limit(connection, key, row, new, heads[-1]))
    changed = {"spent": spent.amount, "delta_spent": spent.delta, "conversion": old.conversion, "content": content}
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == row.id).values(**changed))
    return lines


def _write_tag(file: Path, ledger: str | None, data: str, ledger_name: str) -> None:
    Tag(data=data, ledger=without_password(ledger) if ledger else "", ledger_name=ledger_name).write(file)


def _aside(place: Path) -> Path:
    return place.with_name(f"{place.name}.migrated")


def _line(number: int, made: Entry) -> dict[str, Any]:
    price = Units.cost(made.price)
    note = json.dumps({k: v for k, v in made.to_dict().items() if k != "when"}, ensure_ascii=False)
    words = entry("fit", amount=price.amount, delta=price.delta, data_id=number, mark=secrets.token_hex(32), note=note)
    return words | {"at": made.when}


def _old_words(place: Path) -> dict[str, Any] | None:
    try:
        words = json.loads(place.read_bytes())
    except (OSError, ValueError):
        return None
    return words if isinstance(words, dict) and words.get("format") == _OLD else None


def _check_seal(file: Path, words: dict[str, Any], key: bytes) -> None:
    try:
        sealed = json.dumps([_OLD, words["data"], words["journal"]], sort_keys=True)
        if not hmac.compare_digest(words["seal"], hmac.new(key, sealed.encode(), "sha256").hexdigest()):
            raise ValueError
        Journal.from_dict(words["journal"])
    except (ShoalError, ValueError, KeyError, TypeError):
        hint = "It was left as is. Restore intact copies of both files."
        raise FileError(str(tag_place(file)), "must be an intact account with its own key", hint=hint) from None


def _old_fingerprint(file: Path, key: bytes) -> str:
    digest = hmac.new(key, digestmod="sha256")
    with open(file, "rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def _locked(place: Path) -> Iterator[bytes]:
    """Hold the lock under which earlier versions charge, and give the key."""
    with reporting_file(place), open(place, "rb") as stream:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX)
        yield stream.read().strip()
