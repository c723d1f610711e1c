"""What is asked of the ledger, and what it says: small frozen values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from shoal.ledger.amount import Units, to_text

__all__ = [
    "Answer",
    "Balance",
    "Batch",
    "Charge",
    "Charged",
    "ChargedBatch",
    "Kind",
    "Order",
    "Outcome",
    "Refused",
    "Reply",
    "free_for_answers",
    "order_of",
]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Several queries at one price: all of them are charged, or none. Those paid for before are free."""

    charges: tuple[Charge, ...]


Order: TypeAlias = Charge | Answer | Batch


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargedBatch:
    """Every query of a batch is paid for; in its order."""

    charged: tuple[Charged, ...]

    @property
    def amount(self) -> int:
        """What the batch cost in all."""
        return sum(one.amount for one in self.charged)


Outcome: TypeAlias = Charged | ChargedBatch | Reply | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """An account as it stands: limit, spent, reserved, left, in exact decimal numbers.

    What is *reserved* is kept free for the answers of the service; it is neither spent nor left.

    Examples
    --------
    >>> Balance(kind="client", name="ward 7", cap=10**12, spent=3 * 10**11).to_dict()
    {'kind': 'client', 'name': 'ward 7', 'limit': '1', 'spent': '0.3', 'reserved': '0', 'left': '0.7'}
    """

    kind: Kind
    name: str
    cap: int | None
    spent: int
    answered: int = 0
    share: int | None = None
    label: str | None = None
    delta_cap: int = 0
    delta_spent: int = 0
    currency: Literal["epsilon", "rho"] = "epsilon"
    conversion: str | None = None

    @classmethod
    def of(cls, row: Any) -> Balance:
        """The account that a row of the database holds."""
        return cls(
            kind=row.kind,
            name=row.name,
            cap=row.cap,
            spent=row.spent,
            answered=row.answered,
            share=row.reserved,
            label=row.label,
            delta_cap=row.delta_cap,
            delta_spent=row.delta_spent,
            currency=row.currency,
            conversion=row.conversion,
        )

    @property
    def reserved(self) -> int:
        """Units that are kept free for answers."""
        return 0 if self.share is None else self.share - self.answered

    @property
    def left(self) -> int | None:
        """Units that may still be spent or reserved; none without a limit."""
        return None if self.cap is None else self.cap - self.spent - self.reserved

    @property
    def left_for_answers(self) -> int | None:
        """Units that answers may still spend: the reservation, or without one what is left."""
        return free_for_answers(self.cap, self.spent, self.answered, self.share)

    @property
    def limit(self) -> Units:
        """The limit of a data set."""
        return Units(amount=self.cap or 0, delta=self.delta_cap, currency=self.currency)

    @property
    def committed(self) -> Units:
        """What is spent or reserved of it."""
        return Units(amount=self.spent + self.reserved, delta=self.delta_spent, currency=self.currency)

    @property
    def rule(self) -> str:
        """How costs are added up against the limit."""
        if self.currency == "rho":
            return "ρ adds up; a pure ε counts as ε²/2"
        if self.conversion is not None:
            order = float(order_of(self.conversion) or 0)
            return (
                f"at the fixed Rényi order α = {order:.4g}: ρ counts α ρ, a pure ε min(ε, α ε²/2); other ε and δ add up"
            )
        return "ε and δ add up" if self.delta_cap else "ε adds up"

    def to_dict(self) -> dict[str, Any]:
        """The account as JSON-safe words; amounts are decimal text, so that no reader rounds them."""
        limit = None if self.cap is None else to_text(self.cap)
        left = None if self.left is None else to_text(self.left)
        words = {"kind": self.kind, "name": self.name, "limit": limit, "spent": to_text(self.spent)}
        words |= {"reserved": to_text(self.reserved), "left": left}
        return words if self.kind != "data" else words | self._more()

    def _more(self) -> dict[str, Any]:
        answers = {"answered": to_text(self.answered), "left_for_answers": to_text(self.left_for_answers or 0)}
        answered = {**answers, "currency": self.currency, "rule": self.rule}
        delta = {"delta_limit": _decimal(self.delta_cap), "delta_spent": _decimal(self.delta_spent)}
        return {"label": self.label, **answered, **delta}


def free_for_answers(cap: int | None, spent: int, answered: int, share: int | None) -> int | None:
    """Units that answers may still spend: the reservation, or without one what is left; none without a limit."""
    if share is not None:
        return share - answered
    return None if cap is None else cap - spent


def order_of(conversion: str | None) -> Fraction | None:
    """The Rényi order that an account counts at, if the first cost in ρ has fixed one."""
    return None if conversion is None else Fraction(json.loads(conversion)["order"])


def _decimal(units: int) -> str:
    return format(Decimal(units).scaleb(-18).normalize(), "f") if units else "0"
