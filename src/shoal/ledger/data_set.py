"""One data set's account: a limit over all uses, counted in ε, (ε, δ) or ρ; a part of it may be reserved for answers.

How costs of one kind count against a limit of another is `shoal.dp.journal`'s to say; here the price is rounded up to
whole units and added under the lock of the chain's head, so that check and addition are one step for any number of
processes and machines.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from sqlalchemy import Connection, insert, select, update

from shoal.claim import Claim
from shoal.dp.budget import Budget
from shoal.dp.journal import Conversion, Entry, Journal
from shoal.errors import GuaranteeError, InputError, ParameterError
from shoal.ledger.amount import Units, to_text
from shoal.ledger.chain import Head, append, entry, lock_head
from shoal.ledger.records import Balance
from shoal.ledger.tables import ACCOUNT, JOURNAL

__all__ = [
    "affords",
    "begin_data",
    "entries_of",
    "found_data",
    "new_name",
    "note_of",
    "reserve_data",
    "set_limit",
    "spend",
]


def new_name() -> str:
    """The name of a data set: made once, for good, and telling nothing of it."""
    return secrets.token_hex(8)


def found_data(connection: Connection, name: str) -> Any:
    """The row of a data set, locked; an InputError where there is none."""
    wanted = select(ACCOUNT).where(ACCOUNT.c.kind == "data", ACCOUNT.c.name == name).with_for_update()
    row = connection.execute(wanted).first()
    if row is None:
        hint = "`shoal ledger show` lists them; `shoal ledger migrate FILE` moves the account of a file here."
        raise InputError("ledger", f"there is no data set '{name}' in this ledger", hint=hint)
    return row


def begin_data(
    connection: Connection,
    key: bytes,
    name: str,
    limit: Budget,
    *,
    label: str | None = None,
    content: str | None = None,
) -> tuple[int, Head]:
    """A new data set with its limit; its number and the new head."""
    head = lock_head(connection)
    cap = Units.limit(limit)
    row = {"kind": "data", "name": name, "label": label, "cap": cap.amount, "delta_cap": cap.delta, "content": content}
    number = int(
        connection.execute(
            insert(ACCOUNT).returning(ACCOUNT.c.id), {**row, "currency": cap.currency, "spent": 0, "answered": 0}
        ).scalar_one()
    )
    return number, append(connection, key, [entry("limit", amount=cap.amount, delta=cap.delta, data_id=number)], head)


def spend(
    connection: Connection, key: bytes, name: str, budget: Budget, purpose: str, claim: Claim | None
) -> tuple[Entry, Head]:
    """Add a cost to what the data set has spent; a GuaranteeError where what is left does not cover it."""
    head = lock_head(connection)
    row = found_data(connection, name)
    journal = _journal(row)
    longer = journal.charged(budget, purpose, claim)
    made, price = longer.entries[-1], Units.cost(longer.entries[-1].price)
    _check_units(row, price, budget)
    words = {name: value for name, value in made.to_dict().items() if name != "when"}
    told = json.dumps(words, ensure_ascii=False, allow_nan=False)
    line = entry("fit", amount=price.amount, delta=price.delta, data_id=row.id, mark=secrets.token_hex(32), note=told)
    conversion = json.dumps(longer.conversion.to_dict()) if longer.conversion else row.conversion
    changed = {
        "spent": row.spent + price.amount,
        "delta_spent": row.delta_spent + price.delta,
        "conversion": conversion,
    }
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == row.id).values(**changed))
    return made, append(connection, key, [line], head)


def affords(balance: Balance, budget: Budget) -> bool:
    """Whether a cost could be added now."""
    try:
        price = Units.cost(_journal(balance).charged(budget, "a question").entries[-1].price)
    except GuaranteeError:
        return False
    left = balance.left or 0
    return price.amount <= left and price.delta <= balance.delta_cap - balance.delta_spent


def reserve_data(connection: Connection, key: bytes, name: str, share: int | None) -> Head:
    """Keep `share` units of the limit for answers in all (those given count), or (None) reserve nothing any more."""
    head = lock_head(connection)
    row = found_data(connection, name)
    balance = Balance.of(row)
    if row.currency == "rho":
        raise ParameterError("ledger", "answers cost pure epsilon, which can't be reserved from a limit in rho")
    if share is not None and share < row.answered:
        got = f"epsilon = {to_text(share)} where answers have spent {to_text(row.answered)}"
        raise ParameterError("ledger", "a reserve must not be less than what answers have already spent", got=got)
    if share is not None and row.spent - row.answered + share > row.cap:
        free = row.cap - row.spent + row.answered
        rule = "the data set's limit must cover what is reserved"
        got = f"epsilon = {to_text(share)} where {to_text(free)} is not spent on other uses"
        raise GuaranteeError("ledger", rule, got=got, hint="Nothing was reserved.")
    if share == balance.share:
        return head
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == row.id).values(reserved=share))
    note = None if share is not None else json.dumps({"purpose": "nothing is reserved any more"})
    return append(connection, key, [entry("reserve", amount=share or 0, data_id=row.id, note=note)], head)


def set_limit(connection: Connection, key: bytes, row: Any, limit: Units, head: Head) -> Head:
    """Write a new limit for an account of any kind, with its entry."""
    values = {"cap": limit.amount, "delta_cap": limit.delta, "currency": limit.currency}
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == row.id).values(**values))
    holder = {f"{row.kind}_id": row.id}
    return append(connection, key, [entry("limit", amount=limit.amount, delta=limit.delta, **holder)], head)


def entries_of(connection: Connection, name: str) -> tuple[Entry, ...]:
    """What was spent on a data set other than by answers, oldest first; with the changes of its file."""
    number = select(ACCOUNT.c.id).where(ACCOUNT.c.kind == "data", ACCOUNT.c.name == name).scalar_subquery()
    wanted = select(JOURNAL).where(JOURNAL.c.data_id == number, JOURNAL.c.kind.in_(["fit", "data"]))
    rows = connection.execute(wanted.order_by(JOURNAL.c.id))
    return tuple(Entry.from_dict({"when": row.at, **json.loads(row.note)}) for row in rows if row.note)


def note_of(purpose: str, budget: Budget) -> str:
    """The note of an entry that cost `budget`, in the words of a journal's entry."""
    made = Entry(when="", purpose=purpose, budget=budget, price=budget)
    return json.dumps({name: value for name, value in made.to_dict().items() if name != "when"}, ensure_ascii=False)


def _journal(row: Any) -> Journal:
    """The account as a journal counts it: what is reserved is as good as spent to everybody else."""
    balance = row if isinstance(row, Balance) else Balance.of(row)
    words = json.loads(balance.conversion) if balance.conversion else None
    conversion = Conversion.from_dict(words) if words else None
    return Journal(limit=balance.limit.budget, spent=balance.committed.budget, conversion=conversion)


def _check_units(row: Any, price: Units, budget: Budget) -> None:
    """Rounding upwards may cost one unit more than is left."""
    balance = Balance.of(row)
    if price.amount <= (balance.left or 0) and row.delta_spent + price.delta <= row.delta_cap:
        return
    left = Units(amount=balance.left or 0, delta=row.delta_cap - row.delta_spent, currency=row.currency).budget
    rule = "the charge must not exceed what is left"
    raise GuaranteeError("Account", rule, got=f"{budget} to spend, {left} left", hint="Nothing was spent.")
