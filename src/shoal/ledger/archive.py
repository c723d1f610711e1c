"""Archives: old charges and their answers leave the database for a file, and the chain stays verifiable.

`archive` takes the entries up to one moment, follows their links, writes all of them with their answers to a file (JSON
lines), and then removes the charges, their answers and their idempotency keys in one transaction. What an account is
held to stays: limits, fits, reservations, admitted models, releases, changed files. A row of the table ``archive``
notes where the chain now begins (number and link), what every account held there, the hash of what stayed, and the
SHA-256 of the file, all under one seal that nobody makes without the chain's key. So a ledger without its archives is
still held to its sums and to the links since then, and with them (`shoal ledger verify --archive`) to every entry from
the first on.

What a person should know: a query whose charge was archived is no longer known. Asked again, it is charged again and
answered with fresh noise, as any new query is; nothing becomes free, and nothing is given back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, func, insert, select

from shoal.errors import FileError, GuaranteeError, InputError, ParameterError
from shoal.files.atomic import replacing, reporting
from shoal.ledger.chain import Head, broken_at, keyed_hash, lock_head, now, read_head, refuse_break, spelled
from shoal.ledger.checkpoint import Checkpoint, Held
from shoal.ledger.tables import ANSWER, ARCHIVE, CHECKPOINT, GUARDS, JOURNAL, REQUEST

if TYPE_CHECKING:
    from shoal.ledger.ledger import Ledger

__all__ = ["Archived", "add_up", "archive", "base", "check_files", "check_kept"]

_FORMAT = "shoal ledger archive, version 1"
_NOTHING: Held = (0, 0, 0, None, 0, None)
_BY_HAND = "The database was edited by hand or is damaged. Restore an intact backup."
_NO_DELETE = ("journal_no_DELETE", "answer_no_DELETE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """What an archive took: how many entries it holds, how many charges and answers left the database, and its end."""

    entries: int
    charges: int
    answers: int
    end: Head


def archive(ledger: Ledger, file: Path, *, before: datetime) -> Archived:
    """Move the charges made before a moment, with their answers, to a file that must not exist yet.

    Writers wait only while the rows are removed; the file is written, and on the disk, before that. Killed at any
    moment, the ledger holds everything or the file does, and often both.

    Raises
    ------
    InputError
        Where there is nothing to archive.
    """
    if file.exists():
        raise FileError(str(file), "must not exist yet", hint="Choose another file.")
    if before.tzinfo is None or before > datetime.now(UTC):
        raise ParameterError("archive", "the moment must have a time zone and be in the past")
    ledger.check()
    key = ledger.founded.key
    with ledger.reading() as connection:
        since = base(connection, key, ledger.founded.name)
        number = _last_before(connection, since.head.number, before)
        if number <= since.head.number or not _charges(connection, number):
            raise InputError("archive", "there must be charges from before that moment")
        with replacing(file) as temporary:
            temporary.chmod(0o600)
            written = _write(connection, ledger, since, number, temporary)
    with ledger.writing() as connection:
        return _remove(connection, key, since, written)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """What stands in a file: its entries, its hash, and what every account held at its end."""

    entries: int
    digest: str
    end: Head
    held: dict[int, Held]


def base(connection: Connection, key: bytes, name: str) -> Checkpoint:
    """Where the chain in the database begins: at the end of the last archive, held to its seal, or at the beginning."""
    row = connection.execute(select(ARCHIVE).order_by(ARCHIVE.c.id.desc()).limit(1)).first()
    if row is None:
        return Checkpoint(head=Head(number=0, link=name))
    _check_seal(key, row)
    return Checkpoint(head=Head(number=row.id, link=row.link), held=_read_held(row.held))


def check_kept(connection: Connection, key: bytes, since: Head) -> None:
    """Refuse a database whose entries from before the last archive are not those that stayed."""
    if not since.number:
        return
    row = connection.execute(select(ARCHIVE).where(ARCHIVE.c.id == since.number)).one()
    if row.kept != _kept(connection, key, since.number):
        rule = "the entries that stayed when others were archived must be as they were"
        raise GuaranteeError("ledger", rule, hint=_BY_HAND)


def check_files(connection: Connection, key: bytes, name: str, files: Sequence[Path]) -> tuple[dict[int, str], int]:
    """Hold archives to what the ledger notes of them, to their links, and to what every account held.

    Gives the links of their entries by number, and how many archived entries no file was given for.
    """
    given = {_digest(file): file for file in files}
    before = Checkpoint(head=Head(number=0, link=name))
    links: dict[int, str] = {}
    missing = 0
    for row in connection.execute(select(ARCHIVE).order_by(ARCHIVE.c.id)):
        _check_seal(key, row)
        end = Checkpoint(head=Head(number=row.id, link=row.link), held=_read_held(row.held))
        file = given.pop(row.file, None)
        if file is None:
            missing += end.head.number - before.head.number
        else:
            links |= _check_file(file, key, before, end)
        before = end
    if given:
        raise FileError(str(next(iter(given.values()))), "must be an archive of this ledger, unchanged")
    return links, missing


def add_up(held: dict[int, Held], words: Mapping[str, Any]) -> None:
    """Add one entry to what the accounts hold: the replay of `shoal.ledger.replay`, entry by entry."""
    for kind in ("client", "model", "data"):
        number = words[f"{kind}_id"]
        if number is not None:
            held[number] = _after(held.get(number, _NOTHING), kind, words)


def _after(held: Held, kind: str, words: Mapping[str, Any]) -> Held:
    spent, answered, delta, cap, delta_cap, share = held
    if words["kind"] == "charge":
        answered += words["amount"]
    if words["kind"] == "charge" or (words["kind"], kind) == ("fit", "data"):
        spent, delta = spent + words["amount"], delta + words["delta"]
    if words["kind"] == "limit":
        cap, delta_cap = words["amount"], words["delta"]
    if words["kind"] == "reserve":
        share = None if words["note"] else words["amount"]
    return spent, answered, delta, cap, delta_cap, share


# ---- writing


def _last_before(connection: Connection, since: int, before: datetime) -> int:
    """The last entry before the first one that is not older; entries count in their order, whatever a clock said."""
    moment = before.astimezone(UTC).isoformat(timespec="milliseconds")
    query = select(func.min(JOURNAL.c.id)).where(JOURNAL.c.id > since, JOURNAL.c.at >= moment)
    first = connection.execute(query).scalar()
    return read_head(connection).number if first is None else int(first) - 1


def _charges(connection: Connection, number: int) -> int:
    query = select(func.count()).where(JOURNAL.c.id <= number, JOURNAL.c.kind == "charge")
    return int(connection.execute(query).scalar_one())


def _write(connection: Connection, ledger: Ledger, since: Checkpoint, number: int, file: Path) -> _Written:
    """Every entry up to `number` in its order, each link followed on the way."""
    joined = JOURNAL.outerjoin(ANSWER, ANSWER.c.mark == JOURNAL.c.mark)
    answer = (ANSWER.c.score, ANSWER.c.at.label("answered_at"), ANSWER.c.seal)
    query = select(JOURNAL, *answer).select_from(joined).order_by(JOURNAL.c.id)
    rows = connection.execute(query.where(JOURNAL.c.id > since.head.number, JOURNAL.c.id <= number))
    held, digest, seen = dict(since.held), hashlib.sha256(), 0

    def followed() -> Iterator[Any]:
        nonlocal seen
        with open(file, "wb") as stream:

            def put(words: dict[str, Any]) -> None:
                line = json.dumps(words, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
                stream.write(line)
                digest.update(line)

            put(_header(ledger.founded.name, since.head, number))
            for row in rows:
                words = dict(row._mapping)
                add_up(held, words)
                seen += 1
                put(words)
                yield row

    broken, end = broken_at(followed(), ledger.founded.key, since.head)
    refuse_break(broken)
    if end.number != number:
        refuse_break(end.number + 1)
    return _Written(entries=seen, digest=digest.hexdigest(), end=end, held=held)


def _header(name: str, since: Head, number: int) -> dict[str, Any]:
    return {"format": _FORMAT, "ledger": name, "after": since.number, "link": since.link, "last": number}


def _remove(connection: Connection, key: bytes, since: Checkpoint, written: _Written) -> Archived:
    lock_head(connection)
    last = connection.execute(select(func.max(ARCHIVE.c.id))).scalar() or 0
    if last != since.head.number:
        raise InputError("archive", "another archive was made at the same time", hint="Run it again.")
    number = written.end.number
    old = (JOURNAL.c.id <= number, JOURNAL.c.kind == "charge")
    marks = select(JOURNAL.c.mark).where(*old)
    with_guards, without = _GUARDED[connection.dialect.name]
    without(connection)
    answers = connection.execute(delete(ANSWER).where(ANSWER.c.mark.in_(marks))).rowcount
    connection.execute(delete(REQUEST).where(REQUEST.c.mark.in_(marks)))
    connection.execute(delete(CHECKPOINT).where(CHECKPOINT.c.id <= number))
    charges = connection.execute(delete(JOURNAL).where(*old)).rowcount
    with_guards(connection)
    row = {
        "id": number,
        "at": now(),
        "link": written.end.link,
        "held": json.dumps({str(account): list(held) for account, held in sorted(written.held.items())}),
        "kept": _kept(connection, key, number),
        "file": written.digest,
    }
    connection.execute(insert(ARCHIVE), [{**row, "seal": _seal(key, row)}])
    return Archived(entries=written.entries, charges=charges, answers=answers, end=written.end)


def _drop_guards(connection: Connection) -> None:
    for name in _NO_DELETE:
        connection.exec_driver_sql(f"DROP TRIGGER {name}")


def _make_guards(connection: Connection) -> None:
    for name in _NO_DELETE:
        connection.exec_driver_sql(GUARDS["sqlite"][name])


def _switch(word: str) -> Callable[[Connection], None]:
    def switched(connection: Connection) -> None:
        for table in ("journal", "answer"):
            connection.exec_driver_sql(f"ALTER TABLE {table} {word} TRIGGER {table}_append_only")

    return switched


_GUARDED = {"sqlite": (_make_guards, _drop_guards), "postgresql": (_switch("ENABLE"), _switch("DISABLE"))}


# ---- checking


def _kept(connection: Connection, key: bytes, number: int) -> str:
    rows = connection.execute(select(JOURNAL).where(JOURNAL.c.id <= number).order_by(JOURNAL.c.id))
    return keyed_hash(key, "kept|" + "\n".join(f"{spelled(row.id, row._mapping)}|{row.link}" for row in rows))


def _seal(key: bytes, row: dict[str, Any]) -> str:
    words = "|".join(str(row[name]) for name in ("id", "at", "link", "held", "kept", "file"))
    return keyed_hash(key, f"archive|{words}")


def _check_seal(key: bytes, row: Any) -> None:
    if row.seal != _seal(key, dict(row._mapping)):
        raise GuaranteeError("ledger", "the note of every archive must match its seal", hint=_BY_HAND)


def _read_held(text: str) -> dict[int, Held]:
    return {int(number): tuple(amounts) for number, amounts in json.loads(text).items()}


def _digest(file: Path) -> str:
    with reporting(file), open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class _Row:
    """An entry as a row of the database is read."""

    id: int
    link: str
    _mapping: dict[str, Any]


def _check_file(file: Path, key: bytes, before: Checkpoint, end: Checkpoint) -> dict[int, str]:
    """Follow the links of one file, and add its entries up; the link of each."""
    held, links = dict(before.held), {}

    def rows() -> Iterator[Any]:
        with reporting(file), open(file, "rb") as stream:
            next(stream)
            for line in stream:
                words = json.loads(line)
                add_up(held, words)
                links[words["id"]] = words["link"]
                yield _Row(words["id"], words["link"], words)

    broken, found = broken_at(rows(), key, before.head)
    if broken is not None or found != end.head or held != end.held:
        raise GuaranteeError("ledger", "every entry of an archive must match the hash chain", got=str(file))
    return links
