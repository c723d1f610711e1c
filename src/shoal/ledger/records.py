"""What is asked of the ledger, and what it says: small frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from shoal.ledger.amount import to_text

__all__ = ["Answer", "Balance", "Charge", "Charged", "Kind", "Order", "Outcome", "Refused", "Reply"]

Kind = Literal["client", "model", "data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One query to be paid for: by whom, for which model on which data, how much, and its mark.

    Parameters
    ----------
    key
        The API key that asked; a key revoked meanwhile is refused inside the transaction.
    client, model, data
        The three accounts, charged together or not at all.
    amount
        Units of ε, see `shoal.ledger.amount`.
    mark
        The keyed hash of (client, model file, canonical input): the same query has the same mark.
    token
        The keyed hash of the idempotency key, if one was sent.
    """

    key: str
    client: int
    model: int
    data: int
    amount: int
    mark: str
    token: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer computed for a charge; only the first one for a mark is kept and given."""

    mark: str
    score: float


Order: TypeAlias = Charge | Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """The query is paid for, durably. `amount` is 0 where it had been paid before; `score` is then its old answer.

    Without a score nothing was ever answered for this charge, and the answer may be computed now.
    """

    mark: str
    amount: int
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer that may leave: the first that was stored for its mark."""

    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing was charged: why, and for a budget what is left in each account (none where there is no limit)."""

    why: Literal["budget", "revoked", "token"]
    short: tuple[Kind, ...] = ()
    left: tuple[tuple[Kind, int | None], ...] = ()


Outcome: TypeAlias = Charged | Reply | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """An account as it stands: limit, spent, left, in exact decimal ε.

    Examples
    --------
    >>> Balance(kind="client", name="ward 7", cap=10**12, spent=3 * 10**11).to_dict()
    {'kind': 'client', 'name': 'ward 7', 'limit': '1', 'spent': '0.3', 'left': '0.7'}
    """

    kind: Kind
    name: str
    cap: int | None
    spent: int

    @property
    def left(self) -> int | None:
        """Units that may still be spent; none without a limit."""
        return None if self.cap is None else self.cap - self.spent

    def to_dict(self) -> dict[str, Any]:
        """The account as JSON-safe words; amounts are decimal text, so that no reader rounds them."""
        limit = None if self.cap is None else to_text(self.cap)
        left = None if self.left is None else to_text(self.left)
        return {"kind": self.kind, "name": self.name, "limit": limit, "spent": to_text(self.spent), "left": left}
