"""The register of releases as rows of the ledger: an entry of the journal for each, and the marks of its people.

Marks lie in blobs beside the journal, whose entry holds their SHA-256. Their key is the register's own: it is made with
the first release, in a file that only its owner can read (beside a SQLite ledger, or where ``SHOAL_REGISTER_KEY``
says), and the database holds a mark of it. A backup of the database alone tells nobody's identifier.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from shoal.errors import FileError, GuaranteeError, InputError, ParameterError
from shoal.files import atomic
from shoal.ledger.chain import entry
from shoal.ledger.tables import ACCOUNT, JOURNAL, META, RELEASED

__all__ = ["KEY_FILE", "check_last", "entered", "key_of", "listed", "marks", "noted"]

KEY_FILE = "SHOAL_REGISTER_KEY"
_PART = 16_777_216
_NOTED = {"withdrawal": "withdrawn", "expiry": "expired"}


def entered(
    connection: Connection, data_id: int, digest: str, words: Mapping[str, Any], blobs: Mapping[str, bytes]
) -> dict[str, Any]:
    """Store the marks of a release; its entry for the journal."""
    name = words.get("release", digest[:16])
    found = {kind: hashlib.sha256(content).hexdigest() for kind, content in blobs.items() if content}
    for kind in found:
        for part, start in enumerate(range(0, len(blobs[kind]), _PART)):
            content = blobs[kind][start : start + _PART]
            connection.execute(insert(RELEASED).values(release=name, kind=kind, part=part, content=content))
    note = {**words, "purpose": "release", "release": name, "digest": digest, "marks": found}
    return entry("release", data_id=data_id, note=_text(note))


def check_last(connection: Connection, data: str, after: int | None) -> None:
    """Refuse a release that was not held against all those before it."""
    if after is not None and after != sum(words["data"] == data for words in listed(connection)):
        rule = "another release of the same people was entered meanwhile"
        raise GuaranteeError("register", rule, hint="Nothing was released. Run it again.")


def noted(connection: Connection, release: str, purpose: str, reason: str) -> dict[str, Any]:
    """The entry that takes a release back, or deletes its marks."""
    if not isinstance(reason, str) or not reason.strip():
        raise ParameterError("register", "a reason must be given; it is recorded in the journal")
    known = [words for words in listed(connection) if words["release"] == release]
    if not known:
        raise InputError("register", f"there is no release '{release}' in this ledger")
    if known[0][_NOTED[purpose]] is not None:
        raise InputError("register", f"release '{release}' is {_NOTED[purpose]} already")
    if purpose == "expiry":
        connection.execute(delete(RELEASED).where(RELEASED.c.release == release))
    data_id = connection.execute(select(JOURNAL.c.data_id).where(JOURNAL.c.id == known[0]["number"])).scalar_one()
    return entry(
        "release", data_id=data_id, note=_text({"purpose": purpose, "release": release, "reason": reason.strip()})
    )


def listed(connection: Connection) -> list[dict[str, Any]]:
    """Every release, oldest first, with the reason for which it was withdrawn or its marks deleted."""
    joined = JOURNAL.join(ACCOUNT, ACCOUNT.c.id == JOURNAL.c.data_id)
    query = select(JOURNAL.c.id, JOURNAL.c.at, JOURNAL.c.note, ACCOUNT.c.name).select_from(joined)
    rows = connection.execute(query.where(JOURNAL.c.kind == "release").order_by(JOURNAL.c.id)).all()
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        words = json.loads(row.note)
        if words["purpose"] == "release":
            name = words.get("release", words["digest"][:16])
            empty = {"release": name, "marks": {}, "withdrawn": None, "expired": None}
            found[name] = {"number": row.id, "at": row.at, "data": row.name, **empty, **words}
        else:
            found[words["release"]][_NOTED[words["purpose"]]] = words["reason"]
    return list(found.values())


def marks(connection: Connection, release: Mapping[str, Any], kind: str) -> bytes:
    """The marks that were entered with a release, or an error."""
    if kind not in release["marks"]:
        return b""
    if release["expired"] is not None:
        hint = "Whether a new release holds beside it can't be counted. Release despite it, with a reason."
        raise GuaranteeError("register", f"the marks of release '{release['release']}' were deleted", hint=hint)
    query = select(RELEASED.c.content).where(RELEASED.c.release == release["release"], RELEASED.c.kind == kind)
    content = b"".join(connection.execute(query.order_by(RELEASED.c.part)).scalars())
    if not hmac.compare_digest(hashlib.sha256(content).hexdigest(), release["marks"][kind]):
        rule = f"the marks of release '{release['release']}' must be those that were entered"
        raise GuaranteeError("ledger", rule, hint="The database was edited or is damaged. Restore an intact backup.")
    return content


def key_of(connection: Connection) -> bytes:
    """The register's key; made anew only where no marks were ever made with another."""
    file = _key_file(connection)
    mark = connection.execute(select(META.c.value).where(META.c.name == "register_mark")).scalar()
    if mark is None:
        key = _made(file)
        connection.execute(insert(META).values(name="register_mark", value=_mark(key)))
        return key
    key = _read(file)
    if not hmac.compare_digest(_mark(key), mark):
        raise FileError(str(file), "must hold the key of this ledger's register", hint="It holds another one.")
    return key


def _key_file(connection: Connection) -> Path:
    if named := os.environ.get(KEY_FILE):
        return Path(named)
    database = connection.engine.url.database
    if connection.dialect.name != "sqlite" or not database:
        rule = "must name the file with the key of the register, which is never stored in a shared database"
        raise ParameterError(KEY_FILE, rule)
    return Path(f"{database}.register.key")


def _made(file: Path) -> bytes:
    if not file.exists():
        with atomic.reporting(file):
            handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as stream:
                stream.write(secrets.token_hex(32) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
    return _read(file)


def _read(file: Path) -> bytes:
    if not file.exists():
        hint = f"Restore it, or name it in {KEY_FILE}. Without it nobody can tell who was released before."
        raise FileError(str(file), "the key of the register is missing", hint=hint)
    with atomic.reporting(file):
        if os.name == "posix" and file.stat().st_mode & 0o077:
            raise FileError(str(file), "key file must be its owner's alone", hint=f"chmod 600 {file}")
        words = file.read_text(encoding="ascii").strip()
    try:
        key = bytes.fromhex(words)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise FileError(str(file), "must hold the key of a register: 64 hexadecimal digits")
    return key


def _mark(key: bytes) -> str:
    return hmac.digest(key, b"register mark", "sha256").hex()


def _text(words: Mapping[str, Any]) -> str:
    return json.dumps(words, ensure_ascii=False, allow_nan=False, sort_keys=True)
