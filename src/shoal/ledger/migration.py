"""Older books brought into the ledger, with everything that is in them.

- The account of a file as earlier versions kept it (``FILE.budget.json`` with its key file): its limit, each entry with
  its moment, purpose and claim, and the order of a conversion. The old files are kept under another name.
- The account of a file in its own ledger, moved into a shared one.
- A ledger of an earlier layout (`meta` says which): 1 had no chain, so its rows are written anew, links and seals
  computed; 2 had no checkpoints; 3 no archives; 4 no marks of people.

Each is one transaction in the ledger that receives; what was spent is compared before it is committed.
"""

from __future__ import annotations

import hmac
import json
import secrets
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, insert, inspect, select, text, update

from shoal.dp.budget import Budget
from shoal.dp.journal import Entry, Journal
from shoal.errors import FileError, InputError, ShoalError
from shoal.files.atomic import reporting as reporting_file
from shoal.ledger import account_rows
from shoal.ledger.account import Account, fingerprint
from shoal.ledger.admission import Admission
from shoal.ledger.amount import Units
from shoal.ledger.chain import Head, append, entry, lock_head, seal
from shoal.ledger.engine import EARLIER, FORMAT, make_tables, open_engine, reporting
from shoal.ledger.ledger import Ledger
from shoal.ledger.records import Balance
from shoal.ledger.tables import ACCOUNT, ANSWER, API_KEY, ARCHIVE, CHECKPOINT, HEAD, META, RELEASED, REQUEST
from shoal.ledger.tag import Tag, embedded_place, tag_place, without_password

__all__ = ["bring_up_to_date", "migrate_file", "migrate_ledger"]

_OLD = "shoal budget account, version 1"
_TABLES = ("answer", "request", "api_key", "journal", "account", "meta")  # in the order in which they can be dropped


def migrate_file(path: Path, ledger: str | None = None) -> Account:
    """Move the account of a data file into a ledger of its own, or into the shared one at `ledger`.

    Whatever happens on the way, the old account is in force or the new one is; run again, it goes on where it stopped.
    """
    file = path.resolve()
    words = _old_words(tag_place(file))
    if words is not None:
        return _from_old_files(file, words, ledger)
    if _layout(embedded_place(file)) in EARLIER:
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
    engine = open_engine(url)
    try:
        with reporting(), engine.connect().execution_options(writes=True) as connection, connection.begin():
            meta = _meta(connection)
            if meta.get("format") not in EARLIER:
                got = f"layout {meta.get('format')}"
                raise InputError("ledger", "must have an earlier layout to be migrated", got=got)
            _STEPS[meta["format"]](connection, meta)
            count = connection.execute(select(HEAD.c.number)).scalar_one()
        Ledger.open(url, create=False, keep=False).close()
        return int(count)
    finally:
        engine.dispose()


def bring_up_to_date(place: Path) -> bool:
    """Migrate a user's SQLite ledger, which nobody else uses, where it has an earlier layout; whether it had."""
    if not (place.exists() and place.stat().st_size) or _layout(place) not in EARLIER:
        return False
    migrate_ledger(f"sqlite:///{place}")
    return True


def _meta(connection: Connection) -> dict[str, str]:
    if not inspect(connection).has_table("meta"):
        raise InputError("ledger", "there is no ledger in that database")
    return {row.name: row.value for row in connection.execute(text("SELECT name, value FROM meta"))}


def _layout(place: Path) -> str | None:
    """The layout of the ledger beside a data file; none where there is no such file."""
    if not place.exists():
        return None
    engine = open_engine(f"sqlite:///{place}", keep=False)
    with reporting(), engine.connect() as connection, connection.begin():
        return _meta(connection).get("format")


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


def _add_checkpoints(connection: Connection, meta: dict[str, str]) -> None:
    """Layout 2 had no checkpoints."""
    CHECKPOINT.create(connection)
    _grant_like_the_journal(connection, "checkpoint", "SELECT, INSERT")
    _add_archives(connection, meta)


def _add_archives(connection: Connection, meta: dict[str, str]) -> None:
    """Layout 3 had no archives."""
    ARCHIVE.create(connection)
    _grant_like_the_journal(connection, "archive", "SELECT")
    _add_released(connection, meta)


def _add_released(connection: Connection, meta: dict[str, str]) -> None:
    """Layout 4 had no marks of people; the service's role never sees them."""
    RELEASED.create(connection, checkfirst=True)
    connection.execute(update(META).where(META.c.name == "format").values(value=FORMAT))


def _grant_like_the_journal(connection: Connection, table: str, rights: str) -> None:
    """Whoever may read the journal of a PostgreSQL ledger gets the new table too."""
    if connection.dialect.name == "postgresql":
        query = "SELECT DISTINCT grantee FROM information_schema.role_table_grants WHERE table_name = 'journal'"
        for (role,) in connection.execute(text(query)).all():
            connection.exec_driver_sql(f'GRANT {rights} ON {table} TO "{role}"')


def _rewrite(connection: Connection, meta: dict[str, str]) -> None:
    """Layout 1 had no chain: read every row, make the tables anew, write the rows again with links and seals."""
    old = {
        name: [dict(row) for row in connection.execute(text(f"SELECT * FROM {name}")).mappings()] for name in _TABLES
    }
    for name in _TABLES:
        connection.execute(text(f"DROP TABLE {name}"))
    key = make_tables(connection, meta["secret"]).key
    journal = sorted(old["journal"], key=lambda row: int(row["id"]))
    answered = _answered(journal)
    _fill(connection, ACCOUNT, [{**row, "answered": answered[row["kind"], row["id"]]} for row in old["account"]])
    lines = [entry(**{name: value for name, value in row.items() if name != "id"}) for row in journal]
    if lines:
        append(connection, key, lines)
    _fill(connection, ANSWER, [{**row, "seal": seal(key, row["mark"], row["score"])} for row in old["answer"]])
    _fill(connection, REQUEST, old["request"])
    _fill(connection, API_KEY, old["api_key"])
    if connection.dialect.name == "postgresql":
        serial = "SELECT setval(pg_get_serial_sequence('account', 'id'), coalesce(max(id), 1)) FROM account"
        connection.execute(text(serial))


_STEPS = {"1": _rewrite, "2": _add_checkpoints, "3": _add_archives, "4": _add_released}


def _answered(journal: list[dict[str, Any]]) -> dict[tuple[str, int], int]:
    sums: dict[tuple[str, int], int] = defaultdict(int)
    for row in journal:
        if row["kind"] == "charge":
            for kind in ("client", "model", "data"):
                sums[kind, row[f"{kind}_id"]] += row["amount"]
    return sums


def _fill(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)
