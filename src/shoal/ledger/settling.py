"""One transaction for many orders: charges checked and added, answers stored, all durable when it returns.

The order of steps is what makes it right with any number of processes:

1. lock the head of the chain, then the accounts, in the order of their numbers (so that two transactions can't wait for
   each other);
2. only then read keys, earlier charges and idempotency keys: whoever charged the same client before has committed;
3. decide order by order in memory, against balances that nobody else can change now;
4. write the journal, the sums and the answers, and commit once.

Each charge is all or nothing over its three accounts. A refused one leaves no trace. The cost is a fixed number of
statements for a whole batch, which is what lets one commit carry some hundred charges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

from sqlalchemy import Connection

from shoal.ledger.amount import price_of_pure
from shoal.ledger.chain import LOCKED_HEAD, Head, entry, keyed_hash, linked, now, seal
from shoal.ledger.records import (
    Answer,
    Batch,
    Charge,
    Charged,
    ChargedBatch,
    Kind,
    Order,
    Outcome,
    Refused,
    Reply,
    free_for_answers,
    order_of,
)
from shoal.ledger.statements import Step, adding, insertion, lookup, run

__all__ = ["settle"]


def settle(connection: Connection, key: bytes, orders: Sequence[Order]) -> tuple[list[Outcome], Head | None]:
    """Decide and write `orders` inside the caller's transaction; outcomes and the new head hold once it has committed.

    `key` is that of the chain. Without a new entry there is no new head.
    """
    charges = [charge for order in orders for charge in _charges(order)]
    book = _Book.read(connection, charges) if charges else _Book()
    decided = {number: book.settle(order) for number, order in enumerate(orders) if not isinstance(order, Answer)}
    steps, head = book.steps(key)
    answers = _answer_steps(key, [order for order in orders if isinstance(order, Answer)])
    found = run(connection, [*steps, *answers])
    stored = dict(found[-1]) if answers else {}
    outcomes = [
        Reply(score=float(stored[order.mark])) if isinstance(order, Answer) else decided[number]
        for number, order in enumerate(orders)
    ]
    return outcomes, head


def _charges(order: Order) -> Sequence[Charge]:
    if isinstance(order, Batch):
        return order.charges
    return [order] if isinstance(order, Charge) else []


@dataclass(slots=True)
class _Account:
    """What an account has free, and how it counts a pure ε."""

    kind: Kind
    free: int | None
    currency: str = "epsilon"
    order: Fraction | None = None
    added: int = 0

    @property
    def left(self) -> int | None:
        return None if self.free is None else self.free - self.added

    @classmethod
    def of(cls, kind: Kind, currency: str, conversion: str | None, *amounts: Any) -> _Account:
        return cls(kind=kind, free=free_for_answers(*amounts), currency=currency, order=order_of(conversion))

    def price(self, amount: int) -> int:
        return price_of_pure(amount, self.currency, self.order)

    def covers(self, price: int) -> bool:
        return self.left is None or price <= self.left


@dataclass(slots=True)
class _Book:
    """The rows that a batch is about, and what it will add to them."""

    head: Head | None = None
    at: str = ""
    accounts: dict[int, _Account] = field(default_factory=dict)
    valid: set[tuple[str, int]] = field(default_factory=set)
    answers: dict[str, str | None] = field(default_factory=dict)
    tokens: dict[tuple[int, str], str] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, connection: Connection, charges: Sequence[Charge]) -> _Book:
        numbers = {number for charge in charges for number in (charge.client, charge.model, charge.data)}
        steps: list[Step] = [
            (LOCKED_HEAD, None),
            (_ACCOUNTS, sorted(numbers)),
            (_KEYS, list({charge.key for charge in charges})),
            (_CHARGES, [charge.mark for charge in charges]),
        ]
        tokens = [charge.token for charge in charges if charge.token]
        head, accounts, keys, known, *requests = run(connection, [*steps, (_TOKENS, tokens)] if tokens else steps)
        at = now()
        return cls(
            head=Head(number=head[0], link=head[1]),
            at=at,
            accounts={number: _Account.of(*words) for number, *words in accounts},
            valid={(n, client) for n, client, ends, revoked in keys if revoked is None and (ends is None or ends > at)},
            answers=dict(known),
            tokens={(client, token): mark for found in requests for client, token, mark in found},
        )

    def settle(self, order: Charge | Batch) -> Outcome:
        return self.decide_all(order) if isinstance(order, Batch) else self.decide(order)

    def decide_all(self, batch: Batch) -> Outcome:
        """All or nothing: what is new in the batch is added up before any of it is charged."""
        new = {charge.mark: charge for charge in batch.charges if charge.mark not in self.answers}
        short = self._short(list(new.values()))
        if isinstance(short, Refused):
            return short
        outcomes = [self.decide(charge) for charge in batch.charges]
        refused = next((outcome for outcome in outcomes if isinstance(outcome, Refused)), None)
        return refused or ChargedBatch(charged=tuple(cast("list[Charged]", outcomes)))

    def _short(self, charges: Sequence[Charge]) -> Refused | None:
        """A refusal where an account does not cover the sum, or a key is not valid; nothing is changed."""
        totals: dict[int, int] = {}
        for charge in charges:
            if (charge.key, charge.client) not in self.valid:
                return Refused(why="revoked")
            for number in (charge.client, charge.model, charge.data):
                totals[number] = totals.get(number, 0) + self.accounts[number].price(charge.amount)
        touched = [(self.accounts[number], total) for number, total in totals.items()]
        short = tuple(account.kind for account, total in touched if not account.covers(total))
        if not short:
            return None
        return Refused(why="budget", short=short, left=tuple((a.kind, a.left) for a, _ in touched))

    def decide(self, charge: Charge) -> Charged | Refused:
        if (charge.key, charge.client) not in self.valid:
            return Refused(why="revoked")
        if charge.token and self.tokens.get((charge.client, charge.token), charge.mark) != charge.mark:
            return Refused(why="token")
        if charge.mark in self.answers:
            self._remember(charge)
            score = self.answers[charge.mark]
            return Charged(mark=charge.mark, amount=0, score=None if score is None else float(score))
        return self._charge(charge)

    def _charge(self, charge: Charge) -> Charged | Refused:
        touched = [self.accounts[number] for number in (charge.client, charge.model, charge.data)]
        short = tuple(account.kind for account in touched if not account.covers(account.price(charge.amount)))
        if short:
            return Refused(why="budget", short=short, left=tuple((a.kind, a.left) for a in touched))
        for account in touched:
            account.added += account.price(charge.amount)
        self.entries += _entries(charge, self.at, touched[-1].price(charge.amount))
        self.answers[charge.mark] = None
        self._remember(charge)
        return Charged(mark=charge.mark, amount=charge.amount)

    def _remember(self, charge: Charge) -> None:
        if charge.token and (charge.client, charge.token) not in self.tokens:
            self.tokens[charge.client, charge.token] = charge.mark
            self.requests.append({"client_id": charge.client, "token": charge.token, "mark": charge.mark})

    def steps(self, key: bytes) -> tuple[list[Step], Head | None]:
        """What is to be written, and the new head."""
        if self.head is None or not self.entries:
            return [(_REMEMBER, self.requests)] if self.requests else [], None
        steps, head = linked(key, self.entries, self.head)
        if self.requests:
            steps.append((_REMEMBER, self.requests))
        added = [{"id": number, "added": account.added} for number, account in self.accounts.items() if account.added]
        return [*steps, (_ADD, added)], head


def _entries(charge: Charge, at: str, price: int) -> list[dict[str, Any]]:
    """The entry of a charge; two where the data set counts it at another price than its client and model do."""
    who, data = {"client_id": charge.client, "model_id": charge.model}, {"data_id": charge.data}
    if price == charge.amount:
        return [entry("charge", at=at, amount=price, mark=charge.mark, **who, **data)]
    paid = entry("charge", at=at, amount=charge.amount, mark=charge.mark, **who)
    return [paid, entry("charge", at=at, amount=price, mark=_data_mark(charge.mark), **data)]


def _data_mark(mark: str) -> str:
    """The mark of the data set's own entry, which no query has."""
    return keyed_hash(mark.encode(), "data")


_ACCOUNTS = lookup(
    "account",
    ["id", "kind", "currency", "conversion", "cap", "spent", "answered", "reserved"],
    "id",
    "bigint",
    lock=True,
)
_KEYS = lookup("api_key", ["id", "client_id", "expires", "revoked"], "id", "text")
_CHARGES = lookup(
    "journal LEFT JOIN answer ON answer.mark = journal.mark", ["journal.mark", "answer.score"], "journal.mark", "text"
)
_TOKENS = lookup("request", ["client_id", "token", "mark"], "token", "text")
_ANSWERS = lookup("answer", ["mark", "score"], "mark", "text")
_ADD = adding("account", ["spent", "answered"])
_REMEMBER = insertion("request", {"client_id": "bigint", "token": "text", "mark": "text"})
_KEEP_FIRST = insertion("answer", {"mark": "text", "score": "text", "at": "text", "seal": "text"}, keep_first=True)


def _answer_steps(key: bytes, answers: Sequence[Answer]) -> list[Step]:
    """Keep the first answer of each mark, and read back which one that is."""
    if not answers:
        return []
    at = now()
    first = {answer.mark: repr(answer.score) for answer in reversed(answers)}
    rows = [
        {"mark": mark, "score": first[mark], "at": at, "seal": seal(key, mark, first[mark])} for mark in sorted(first)
    ]
    return [(_KEEP_FIRST, rows), (_ANSWERS, list(first))]
