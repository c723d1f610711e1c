"""API keys: shown once, kept as a hash, limited to some models, with a role and an end, revoked for good.

A key reads ``shoal_<id>_<secret>``. The id is public and finds the row; the secret is 256 random bits, of which the
database holds the SHA-256 only. A slow password hash would add nothing: it protects guessable secrets, and nobody
can try 2²⁵⁶ of these. Hashes are compared in constant time, and an unknown id costs the same comparison.

A client may hold several keys (to change one without a gap: `Keys.rotate`); they all spend from the client's one
account, and a revoked key leaves what it spent behind. Roles: a *client* asks models; an *auditor* asks none and sees
every account; an *administrator* does both.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from sqlalchemy import insert, select, update

from shoal.dp.budget import Amount, Budget
from shoal.errors import InputError, ParameterError
from shoal.ledger.account_rows import account_name, open_account
from shoal.ledger.amount import limit_units, to_text
from shoal.ledger.chain import Head, lock_head, now
from shoal.ledger.ledger import Ledger
from shoal.ledger.tables import ACCOUNT, API_KEY

__all__ = ["ROLES", "Key", "Keys", "read_token"]

Role = Literal["client", "auditor", "administrator"]
ROLES: tuple[Role, ...] = ("client", "auditor", "administrator")
_TOKEN = re.compile(r"shoal_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NOBODY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key as the ledger knows it; never the secret.

    Examples
    --------
    >>> key = Key(id="0123456789ab", client=1, name="ward 7", scopes=("risk",), made="2026-01-31", revoked=None)
    >>> key.allows("risk"), key.allows("other"), key.in_force
    (True, False, True)
    """

    id: str
    client: int
    name: str
    scopes: tuple[str, ...]
    made: str
    revoked: str | None
    role: Role = "client"
    expires: str | None = None
    used: str | None = None
    hash: str = ""

    @property
    def in_force(self) -> bool:
        """Whether it is neither revoked nor past its end."""
        return self.revoked is None and (self.expires is None or self.expires > now())

    @property
    def sees_all(self) -> bool:
        """Whether it may see every account."""
        return self.role != "client"

    def allows(self, model: str) -> bool:
        """Whether the key may ask this model."""
        return self.role != "auditor" and ("*" in self.scopes or model in self.scopes)

    def opened_by(self, secret: str) -> bool:
        """Whether the secret is this key's, in constant time."""
        return hmac.compare_digest(_hash(secret), self.hash)

    def to_dict(self) -> dict[str, Any]:
        """The key as JSON-safe words, without its hash."""
        words = {"id": self.id, "client": self.name, "models": list(self.scopes), "role": self.role}
        return {**words, "made": self.made, "expires": self.expires, "used": self.used, "revoked": self.revoked}


class Keys:
    """The keys of a ledger.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from shoal.ledger import Keys, Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.open("sqlite:///" + str(pathlib.Path(folder.name, "ledger.db")))
    >>> key, token = Keys(ledger).add("ward 7", epsilon=10, models=["risk"])
    >>> Keys(ledger).find(token).name
    'ward 7'
    >>> Keys(ledger).revoke(key.id)
    >>> Keys(ledger).find(token) is None
    True
    >>> ledger.close(); folder.cleanup()
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def add(
        self,
        name: str,
        *,
        epsilon: Amount | None = None,
        models: Sequence[str] = ("*",),
        role: Role = "client",
        days: float | None = None,
    ) -> tuple[Key, str]:
        """A new key for the client `name`, and its token, which is shown now and never again.

        Parameters
        ----------
        name
            The client. A new one needs `epsilon`; a known one keeps its account, and what it spent.
        epsilon
            The client's limit in all; 0 for one who may ask free models only. An auditor needs none.
        models
            The models it may ask; ``"*"`` means all.
        role
            ``client``, ``auditor`` or ``administrator``.
        days
            How long it holds; None: until it is revoked.
        """
        scopes, expires = _scopes(models), _after(days, "days")
        if role not in ROLES:
            raise ParameterError("keys", f"role must be one of {', '.join(ROLES)}", got=repr(role)[:40])
        with self._ledger.moving() as (connection, heads):
            heads.append(lock_head(connection))
            limit = 0 if role == "auditor" and epsilon is None else epsilon
            client, head = _client(connection, self._ledger.founded.key, name, limit, role, heads[-1])
            heads.append(head)
            number, token = _insert(connection, client, json.dumps(scopes), role, expires)
        return self._one(number), token

    def list(self) -> list[Key]:
        """Every key, oldest first, revoked ones too."""
        with self._ledger.reading() as connection:
            return [_key(row) for row in connection.execute(_WANTED.order_by(API_KEY.c.made, API_KEY.c.id))]

    def rotate(self, number: str, *, hours: float = 24.0) -> tuple[Key, str]:
        """Another key of the same client, models and role; the old one holds for `hours` more."""
        until = _after(hours / 24, "hours")
        with self._ledger.writing() as connection:
            _wait_for_charges(connection, number)
            row = connection.execute(_WANTED.where(API_KEY.c.id == number)).first()
            if row is None or not _key(row).in_force:
                raise _none_in_force()
            ends = min(until or "", row.expires) if row.expires else until
            connection.execute(update(API_KEY).where(API_KEY.c.id == number).values(expires=ends))
            made, token = _insert(connection, row.client_id, row.scopes, row.role, row.expires)
        return self._one(made), token

    def revoke(self, number: str) -> None:
        """Refuse the key from now on: once this returns, no charge of the key commits any more."""
        with self._ledger.writing() as connection:
            _wait_for_charges(connection, number)
            changed = update(API_KEY).where(API_KEY.c.id == number, API_KEY.c.revoked.is_(None)).values(revoked=now())
            if connection.execute(changed).rowcount != 1:
                raise _none_in_force()

    def find(self, token: str) -> Key | None:
        """The key in force that this token opens, or none; takes as long for a wrong id as for a wrong secret."""
        number, secret = read_token(token) or ("", "")
        key = self.by_id(number)
        opened = hmac.compare_digest(_hash(secret), key.hash if key else _NOBODY)
        return key if key is not None and opened and key.in_force else None

    def by_id(self, number: str) -> Key | None:
        """The key of that public id, revoked or not."""
        return self.by_ids([number]).get(number)

    def by_ids(self, numbers: Iterable[str]) -> dict[str, Key]:
        """The keys of those public ids, revoked or not, in one reading."""
        with self._ledger.reading() as connection:
            rows = connection.execute(_WANTED.where(API_KEY.c.id.in_(list(numbers)))).all()
        return {row.id: _key(row) for row in rows}

    def touch(self, numbers: Iterable[str]) -> None:
        """Note that these keys were used."""
        with self._ledger.writing() as connection:
            connection.execute(update(API_KEY).where(API_KEY.c.id.in_(list(numbers))).values(used=now()))

    def _one(self, number: str) -> Key:
        key = self.by_id(number)
        assert key is not None
        return key


_WANTED = select(API_KEY, ACCOUNT.c.name).join_from(API_KEY, ACCOUNT, ACCOUNT.c.id == API_KEY.c.client_id)


def read_token(token: str) -> tuple[str, str] | None:
    """(id, secret) of a token of the right form, or none."""
    found = _TOKEN.fullmatch(token)
    return (found[1], found[2]) if found else None


def _insert(connection: Any, client: int, scopes: str, role: str, expires: str | None) -> tuple[str, str]:
    number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = {"id": number, "client_id": client, "hash": _hash(secret), "scopes": scopes, "role": role}
    connection.execute(insert(API_KEY), [{**row, "made": now(), "expires": expires}])
    return number, f"shoal_{number}_{secret}"


def _wait_for_charges(connection: Any, number: str) -> None:
    """Lock the client's account as charges do, so that those under way end before the key does."""
    client = select(API_KEY.c.client_id).where(API_KEY.c.id == number).scalar_subquery()
    connection.execute(select(ACCOUNT.c.id).where(ACCOUNT.c.id == client).with_for_update())


def _none_in_force() -> InputError:
    return InputError("keys", "there is no active key with that id", hint="See `shoal keys list`.")


def _key(row: Any) -> Key:
    return Key(
        id=row.id,
        client=row.client_id,
        name=row.name,
        scopes=tuple(json.loads(row.scopes)),
        made=row.made,
        revoked=row.revoked,
        role=row.role,
        expires=row.expires,
        used=row.used,
        hash=row.hash,
    )


def _client(connection: Any, key: bytes, name: str, epsilon: Amount | None, role: Role, head: Head) -> tuple[int, Head]:
    query = select(ACCOUNT).where(ACCOUNT.c.kind == "client", ACCOUNT.c.name == account_name("client", name))
    known = connection.execute(query).first()
    if known is None:
        if epsilon is None:
            raise ParameterError("keys", "a new client needs a limit", hint="For example --epsilon 10, or 0.")
        return open_account(connection, key, "client", name, Budget(epsilon=epsilon), head)
    if epsilon is not None and role != "auditor" and limit_units(epsilon) != known.cap:
        got = f"{epsilon} where it is {to_text(known.cap)}"
        raise ParameterError(
            "keys", "the limit of an existing client is fixed", got=got, hint="See `shoal ledger limit`."
        )
    return int(known.id), head


def _after(days: float | None, name: str) -> str | None:
    if days is None:
        return None
    if not 0 <= days <= 36_500:
        raise ParameterError("keys", f"{name} must be between 0 and a hundred years", got=repr(days)[:40])
    return (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="milliseconds")


def _scopes(models: Sequence[str]) -> list[str]:
    scopes = sorted(set(models))
    if not scopes or not all(isinstance(name, str) and name for name in scopes):
        raise ParameterError("keys", "models must be names, or '*' for all")
    return scopes


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
