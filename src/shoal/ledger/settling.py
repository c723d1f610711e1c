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
from typing import Any, cast

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from shoal.ledger.chain import Head, append, entry, lock_head, now, seal
from shoal.ledger.engine import Bulk
from shoal.ledger.records import (
    Answer,
    Balance,
    Batch,
    Charge,
    Charged,
    ChargedBatch,
    Kind,
    Order,
    Outcome,
    Refused,
    Reply,
)
from shoal.ledger.tables import ACCOUNT, ANSWER, API_KEY, JOURNAL, REQUEST

__all__ = ["settle"]


def settle(connection: Connection, key: bytes, orders: Sequence[Order]) -> tuple[list[Outcome], Head | None]:
    """Decide and write `orders` inside the caller's transaction; outcomes and the new head hold once it has committed.

    `key` is that of the chain. Without a new entry there is no new head.
    """
    charges = [charge for order in orders for charge in _charges(order)]
    book = _Book.read(connection, charges) if charges else _Book()
    decided = {number: book.settle(order) for number, order in enumerate(orders) if not isinstance(order, Answer)}
    head = book.write(connection, key)
    stored = _store_answers(connection, key, [order for order in orders if isinstance(order, Answer)])
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
    kind: Kind
    free: int | None
    added: int = 0

    @property
    def left(self) -> int | None:
        return None if self.free is None else self.free - self.added

    def covers(self, amount: int) -> bool:
        return self.left is None or amount <= self.left


@dataclass(slots=True)
class _Book:
    """The rows that a batch is about, and what it will add to them."""

    head: Head | None = None
    accounts: dict[int, _Account] = field(default_factory=dict)
    valid: set[tuple[str, int]] = field(default_factory=set)
    answers: dict[str, str | None] = field(default_factory=dict)
    tokens: dict[tuple[int, str], str] = field(default_factory=dict)
    entries: list[dict[str, Any]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, connection: Connection, charges: Sequence[Charge]) -> _Book:
        numbers = {number for charge in charges for number in (charge.client, charge.model, charge.data)}
        head = lock_head(connection)
        return cls(
            head=head,
            accounts=_lock_accounts(connection, numbers),
            valid=_valid_keys(connection, {charge.key for charge in charges}),
            answers=_known_charges(connection, {charge.mark for charge in charges}),
            tokens=_known_tokens(connection, {charge.token for charge in charges if charge.token}),
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
                totals[number] = totals.get(number, 0) + charge.amount
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
        short = tuple(account.kind for account in touched if not account.covers(charge.amount))
        if short:
            return Refused(why="budget", short=short, left=tuple((a.kind, a.left) for a in touched))
        for account in touched:
            account.added += charge.amount
        self.entries.append(_entry(charge))
        self.answers[charge.mark] = None
        self._remember(charge)
        return Charged(mark=charge.mark, amount=charge.amount)

    def _remember(self, charge: Charge) -> None:
        if charge.token and (charge.client, charge.token) not in self.tokens:
            self.tokens[charge.client, charge.token] = charge.mark
            self.requests.append({"client_id": charge.client, "token": charge.token, "mark": charge.mark})

    def write(self, connection: Connection, key: bytes) -> Head | None:
        head = append(connection, key, self.entries, self.head) if self.entries else None
        if self.requests:
            connection.execute(insert(REQUEST), self.requests)
        added = [{"number": n, "added": a.added} for n, a in self.accounts.items() if a.added]
        if added:
            _ADD.execute(connection, added)
        return head


_ADD = Bulk(
    update(ACCOUNT)
    .where(ACCOUNT.c.id == bindparam("number"))
    .values(
        spent=ACCOUNT.c.spent + bindparam("added", type_=ACCOUNT.c.spent.type),
        answered=ACCOUNT.c.answered + bindparam("added", type_=ACCOUNT.c.spent.type),
    )
)


def _entry(charge: Charge) -> dict[str, Any]:
    holders = {"client_id": charge.client, "model_id": charge.model, "data_id": charge.data}
    return entry("charge", amount=charge.amount, mark=charge.mark, **holders)


def _lock_accounts(connection: Connection, numbers: set[int]) -> dict[int, _Account]:
    wanted = select(ACCOUNT).where(ACCOUNT.c.id.in_(numbers)).order_by(ACCOUNT.c.id).with_for_update()
    rows = connection.execute(wanted)
    return {row.id: _Account(kind=row.kind, free=Balance.of(row).left_for_answers) for row in rows}


def _valid_keys(connection: Connection, keys: set[str]) -> set[tuple[str, int]]:
    wanted = select(API_KEY.c.id, API_KEY.c.client_id, API_KEY.c.expires).where(
        API_KEY.c.id.in_(keys), API_KEY.c.revoked.is_(None)
    )
    at = now()
    rows = connection.execute(wanted)
    return {(row.id, row.client_id) for row in rows if row.expires is None or row.expires > at}


def _known_charges(connection: Connection, marks: set[str]) -> dict[str, str | None]:
    joined = JOURNAL.outerjoin(ANSWER, ANSWER.c.mark == JOURNAL.c.mark)
    wanted = select(JOURNAL.c.mark, ANSWER.c.score).select_from(joined).where(JOURNAL.c.mark.in_(marks))
    return {row.mark: row.score for row in connection.execute(wanted)}


def _known_tokens(connection: Connection, tokens: set[str]) -> dict[tuple[int, str], str]:
    if not tokens:
        return {}
    wanted = select(REQUEST).where(REQUEST.c.token.in_(tokens))
    return {(row.client_id, row.token): row.mark for row in connection.execute(wanted)}


def _store_answers(connection: Connection, key: bytes, answers: Sequence[Answer]) -> dict[str, str]:
    """Keep the first answer of each mark, and read back which one that is."""
    if not answers:
        return {}
    at = now()
    first = {answer.mark: repr(answer.score) for answer in reversed(answers)}
    rows = [
        {"mark": mark, "score": first[mark], "at": at, "seal": seal(key, mark, first[mark])} for mark in sorted(first)
    ]
    _KEEP_FIRST[connection.dialect.name].execute(connection, rows)
    wanted = select(ANSWER.c.mark, ANSWER.c.score).where(ANSWER.c.mark.in_(first))
    return {row.mark: row.score for row in connection.execute(wanted)}


_KEEP_FIRST = {
    "sqlite": Bulk(sqlite.insert(ANSWER).on_conflict_do_nothing()),
    "postgresql": Bulk(postgresql.insert(ANSWER).on_conflict_do_nothing()),
}
