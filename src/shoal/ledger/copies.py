"""Copies of a ledger that hold all of it, and the way back.

A SQLite ledger in use lies in two files, so a plain copy of the first may lack most of what was charged. `backup` uses
SQLite's own way to copy a database in use, and looks at the copy afterwards. `restore` compares the copy with what is
there (the ledger, or at least its anchor) and refuses to go back in time unless a person accepts it: what was charged
after the copy was made would be forgotten, and people's data would be spent twice.

PostgreSQL has tools of its own; `instructions` names them and how to check the result.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import select

from shoal.errors import FileError, GuaranteeError, ParameterError
from shoal.ledger import archive
from shoal.ledger.chain import Anchor, Head, append, entry, lock_head, read_head
from shoal.ledger.engine import open_engine
from shoal.ledger.ledger import Ledger
from shoal.ledger.replay import check_anchor
from shoal.ledger.tables import JOURNAL

__all__ = ["backup", "instructions", "restore"]


def backup(url: str, target: Path) -> Head:
    """Copy a SQLite ledger, also while it is in use; the head of the copy, which was looked at whole."""
    source = _file_of(url)
    if target.exists():
        raise FileError(str(target), "must not exist yet", hint="Choose another file.")
    ledger = Ledger.open(url, create=False, keep=False)
    ledger.close()
    temporary = target.with_name(f".{target.name}.part")
    temporary.unlink(missing_ok=True)
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(temporary)) as new:
            old.backup(new)
            new.execute("PRAGMA journal_mode=DELETE").close()  # all of it in the one file
        head = _verified(temporary)
        _to_disk(temporary)
        os.replace(temporary, target)
    except OSError as error:
        raise FileError(str(target), "can't be written", got=(error.strerror or "").lower()) from None
    finally:
        for left in (temporary, temporary.with_name(f"{temporary.name}.anchor")):
            left.unlink(missing_ok=True)
    return head


def restore(url: str, copy: Path, *, go_back: bool = False) -> tuple[Head, int]:
    """Put a copy in the place of a SQLite ledger; its head, and how many entries were lost by going back.

    Parameters
    ----------
    go_back
        Accept that the copy is older than what was there. An entry in the journal says so from then on.
    """
    target = _file_of(url)
    head = _verified(copy)
    lost = _lost(target, copy, head)
    if lost and not go_back:
        got = f"a backup without {lost} of the entries"
        hint = "Use a newer backup, or accept the loss with --go-back, which spends the same budget twice."
        raise GuaranteeError("restore", "must not lose entries", got=got, hint=hint)
    _replace(copy, target)
    ledger = Ledger.unchecked(url, keep=False)
    try:
        ledger.anchor.set_back(head)
        if lost:
            with ledger.moving() as (connection, heads):
                heads.append(lock_head(connection))
                note = f'{{"purpose": "went back in time: {lost} entries after number {head.number} were lost"}}'
                heads.append(append(connection, ledger.founded.key, [entry("restore", note=note)]))
            head = heads[-1]
        ledger.check()
    finally:
        ledger.close()
    return head, lost


def instructions(url: str) -> str:
    """How a PostgreSQL ledger is backed up, brought back and checked."""
    name = open_engine(url).url.database
    return (
        f"Backup:  pg_dump --format=custom --file=ledger.dump {name}\n"
        f"Back:    createdb {name}_restored && pg_restore --dbname={name}_restored ledger.dump\n"
        f"Check:   shoal ledger verify --ledger postgresql://.../{name}_restored\n"
        "A dump is as old as its beginning: what was charged afterwards is lost when it is put back, and the anchor "
        "will refuse it. For point-in-time recovery archive the WAL (archive_mode = on, archive_command) and restore "
        "to the latest moment, never to an earlier one."
    )


def _file_of(url: str) -> Path:
    engine = open_engine(url)
    if engine.dialect.name != "sqlite" or not engine.url.database:
        raise ParameterError("ledger", "only a SQLite ledger can be backed up by this command", hint=instructions(url))
    return Path(engine.url.database)


def _verified(file: Path) -> Head:
    """The head of a copy, everything in it looked at; its anchor is not asked, as it may lie elsewhere."""
    if not file.exists():
        raise FileError(str(file), "must be a backup of a ledger", got="no such file")
    ledger = Ledger.unchecked(f"sqlite:///{file}", keep=False)
    try:
        ledger.anchor = Anchor(Path(os.devnull))
        return ledger.verify().head
    finally:
        ledger.close()
        for ending in ("-wal", "-shm"):
            Path(f"{file}{ending}").unlink(missing_ok=True)


def _lost(target: Path, copy: Path, head: Head) -> int:
    """How many entries are known of that the copy does not hold."""
    with closing(Ledger.unchecked(f"sqlite:///{copy}", keep=False)) as ours:
        heads = [Anchor(Path(f"{target}.anchor")).read()]
        links: dict[int, str] = {}
        if target.exists():
            now_there, links = _history(target, ours.founded.name)
            heads.append(now_there)
        missing = [known.number for known in heads if known is not None and not _holds(ours, known)]
        if not missing:
            return 0
        with ours.reading() as connection:
            held = connection.execute(select(JOURNAL.c.id, JOURNAL.c.link)).all()
            shared = [number for number, link in held if links.get(number) == link]
    before = max(shared, default=0) if links else min(head.number, max(missing) - 1)
    return max(missing) - before


def _holds(book: Ledger, known: Head) -> bool:
    """Whether that entry is part of a ledger's history: two that parted may have the same number of entries."""
    try:
        with book.reading() as connection:
            check_anchor(connection, known, archive.base(connection, book.founded.key, book.founded.name).head)
        return True
    except GuaranteeError:
        return False


def _history(file: Path, name: str) -> tuple[Head, dict[int, str]]:
    """The head and the links of a ledger, which must have that name."""
    with closing(Ledger.unchecked(f"sqlite:///{file}", keep=False)) as book:
        if book.founded.name != name:
            raise GuaranteeError("restore", "the backup must be of the ledger that it replaces", got="another ledger's")
        with book.reading() as connection:
            rows = connection.execute(select(JOURNAL.c.id, JOURNAL.c.link))
            return read_head(connection), {row.id: row.link for row in rows}


def _replace(copy: Path, target: Path) -> None:
    temporary = target.with_name(f".{target.name}.part")
    try:
        temporary.write_bytes(copy.read_bytes())
        temporary.chmod(0o600)
        _to_disk(temporary)
        for ending in ("-wal", "-shm"):
            Path(f"{target}{ending}").unlink(missing_ok=True)
        os.replace(temporary, target)
    except OSError as error:
        raise FileError(str(target), "can't be written", got=(error.strerror or "").lower()) from None
    finally:
        temporary.unlink(missing_ok=True)


def _to_disk(file: Path) -> None:
    with open(file, "r+b") as stream:
        os.fsync(stream.fileno())
