"""API keys: shown once, kept as a hash, limited to some models, revoked for good.

A key reads ``shoal_<id>_<secret>``. The id is public and finds the row; the secret is 256 random bits, of which the
database holds the SHA-256 only. A slow password hash would add nothing: it protects guessable secrets, and nobody
can try 2²⁵⁶ of these. Hashes are compared in constant time, and an unknown id costs the same comparison.

A client may hold several keys (to change one without a gap); they all spend from the client's one account, and a
revoked key leaves what it spent behind.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select, update

from shoal.dp.budget import Amount, Budget
from shoal.errors import InputError, ParameterError
from shoal.ledger.amount import limit_units, to_text
from shoal.ledger.ledger import Ledger, account_name, open_account
from shoal.ledger.settling import now
from shoal.ledger.tables import ACCOUNT, API_KEY

__all__ = ["Key", "Keys", "read_token"]

_TOKEN = re.compile(r"shoal_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_NOBODY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key as the ledger knows it; never the secret.

    Examples
    --------
    >>> key = Key(id="0123456789ab", client=1, name="ward 7", scopes=("risk",), made="2026-01-31", revoked=None)
    >>> key.allows("risk"), key.allows("other")
    (True, False)
    """

    id: str
    client: int
    name: str
    scopes: tuple[str, ...]
    made: str
    revoked: str | None
    hash: str = ""

    def allows(self, model: str) -> bool:
        """Whether the key may ask this model."""
        return "*" in self.scopes or model in self.scopes

    def opened_by(self, secret: str) -> bool:
        """Whether the secret is this key's, in constant time."""
        return hmac.compare_digest(_hash(secret), self.hash)

    def to_dict(self) -> dict[str, Any]:
        """The key as JSON-safe words, without its hash."""
        words = {"id": self.id, "client": self.name, "models": list(self.scopes)}
        return {**words, "made": self.made, "revoked": self.revoked}


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

    def add(self, name: str, *, epsilon: Amount | None = None, models: Sequence[str] = ("*",)) -> tuple[Key, str]:
        """A new key for the client `name`, and its token, which is shown now and never again.

        Parameters
        ----------
        name
            The client. A new one needs `epsilon`; a known one keeps its account, and what it spent.
        epsilon
            The client's limit in all; 0 for one who may ask free models only.
        models
            The models it may ask; ``"*"`` means all.
        """
        number, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        scopes = _scopes(models)
        with self._ledger.writing() as connection:
            client = _client(connection, name, epsilon)
            row = {"id": number, "client_id": client, "hash": _hash(secret), "scopes": json.dumps(scopes)}
            connection.execute(insert(API_KEY), [{**row, "made": now()}])
        return self._one(number), f"shoal_{number}_{secret}"

    def list(self) -> list[Key]:
        """Every key, oldest first, revoked ones too."""
        with self._ledger.reading() as connection:
            return [_key(row) for row in connection.execute(_WANTED.order_by(API_KEY.c.made, API_KEY.c.id))]

    def revoke(self, number: str) -> None:
        """Refuse the key from now on: once this returns, no charge of the key commits any more."""
        with self._ledger.writing() as connection:
            _wait_for_charges(connection, number)
            changed = update(API_KEY).where(API_KEY.c.id == number, API_KEY.c.revoked.is_(None)).values(revoked=now())
            if connection.execute(changed).rowcount != 1:
                raise InputError("keys", "there is no key of that id in force", hint="See `shoal keys list`.")

    def find(self, token: str) -> Key | None:
        """The key in force that this token opens, or none; takes as long for a wrong id as for a wrong secret."""
        number, secret = read_token(token) or ("", "")
        key = self.by_id(number)
        opened = hmac.compare_digest(_hash(secret), key.hash if key else _NOBODY)
        return key if key is not None and opened and key.revoked is None else None

    def by_id(self, number: str) -> Key | None:
        """The key of that public id, revoked or not."""
        with self._ledger.reading() as connection:
            row = connection.execute(_WANTED.where(API_KEY.c.id == number)).first()
        return None if row is None else _key(row)

    def _one(self, number: str) -> Key:
        key = self.by_id(number)
        assert key is not None
        return key


_WANTED = select(API_KEY, ACCOUNT.c.name).join_from(API_KEY, ACCOUNT, ACCOUNT.c.id == API_KEY.c.client_id)


def read_token(token: str) -> tuple[str, str] | None:
    """(id, secret) of a token of the right form, or none."""
    found = _TOKEN.fullmatch(token)
    return (found[1], found[2]) if found else None


def _wait_for_charges(connection: Any, number: str) -> None:
    """Lock the client's account as charges do, so that those under way end before the key does."""
    client = select(API_KEY.c.client_id).where(API_KEY.c.id == number).scalar_subquery()
    connection.execute(select(ACCOUNT.c.id).where(ACCOUNT.c.id == client).with_for_update())


def _key(row: Any) -> Key:
    scopes = tuple(json.loads(row.scopes))
    return Key(
        id=row.id,
        client=row.client_id,
        name=row.name,
        scopes=scopes,
        made=row.made,
        revoked=row.revoked,
        hash=row.hash,
    )


def _client(connection: Any, name: str, epsilon: Amount | None) -> int:
    wanted = select(ACCOUNT).where(ACCOUNT.c.kind == "client", ACCOUNT.c.name == account_name("client", name))
    known = connection.execute(wanted).first()
    if known is None:
        if epsilon is None:
            raise ParameterError("keys", "a new client needs a limit", hint="Such as --epsilon 10, or 0.")
        return open_account(connection, "client", name, Budget(epsilon=epsilon))
    if epsilon is not None and limit_units(epsilon) != known.cap:
        got = f"{epsilon} where it is {to_text(known.cap)}"
        raise ParameterError("keys", "the limit of a known client stays", got=got, hint="See `shoal ledger limit`.")
    return int(known.id)


def _scopes(models: Sequence[str]) -> list[str]:
    scopes = sorted(set(models))
    if not scopes or not all(isinstance(name, str) and name for name in scopes):
        raise ParameterError("keys", "models must be names, or '*' for all")
    return scopes


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
