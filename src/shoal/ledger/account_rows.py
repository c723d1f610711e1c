"""The accounts of data sets, models and clients, as rows of the ledger.

A data set has a limit over all uses, counted in ε, (ε, δ) or ρ; a part of it may be reserved for answers.

How costs of one kind count against a limit of another is `shoal.dp.journal`'s to say; here the price is rounded up to
whole units and added under the lock of the chain's head, so that check and addition are one step for any number of
processes and machines.
"""

from __future__ import annotations

import json
import secrets
import unicodedata
from typing import Any

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.exc import IntegrityError

from shoal.claim import Claim
from shoal.dp.budget import Amount, Budget
from shoal.dp.journal import Conversion, Entry, Journal
from shoal.errors import GuaranteeError, InputError, ParameterError
from shoal.ledger.amount import Units, cost_units, limit_units, price_of_pure, to_text
from shoal.ledger.chain import Head, append, entry, lock_head
from shoal.ledger.records import Balance, Kind, order_of
from shoal.ledger.tables import ACCOUNT, JOURNAL

__all__ = [
    "account_name",
    "affords",
    "begin_data",
    "check_limit",
    "entries_of",
    "found_account",
    "found_data",
    "named",
    "new_limit",
    "new_name",
    "note_of",
    "open_account",
    "open_data",
    "open_model",
    "record_fit",
    "reserve_data",
    "set_limit",
    "spend",
]

_USUAL_LIMIT = Budget(epsilon=10)


def new_name() -> str:
    """The name of a data set: made once, for good, and telling nothing of it."""
    return secrets.token_hex(8)


def found_data(connection: Connection, name: str) -> Any:
    """The row of a data set, locked; an InputError where there is none."""
    query = select(ACCOUNT).where(ACCOUNT.c.kind == "data", ACCOUNT.c.name == name).with_for_update()
    row = connection.execute(query).first()
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
    note = json.dumps(words, ensure_ascii=False, allow_nan=False)
    line = entry("fit", amount=price.amount, delta=price.delta, data_id=row.id, mark=secrets.token_hex(32), note=note)
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


def reserve_data(connection: Connection, key: bytes, name: str, reserved: Budget | None) -> Head:
    """Keep a part of the limit for answers in all (those given count), or (None) reserve nothing any more."""
    head = lock_head(connection)
    row = found_data(connection, name)
    balance = Balance.of(row)
    share = None if reserved is None else _share(row, reserved)
    if share is not None and share < row.answered:
        got = f"{row.currency} = {to_text(share)} where answers have spent {to_text(row.answered)}"
        raise ParameterError("ledger", "a reserve must not be less than what answers have already spent", got=got)
    if share is not None and row.spent - row.answered + share > row.cap:
        free = row.cap - row.spent + row.answered
        rule = "the data set's limit must cover what is reserved"
        got = f"{row.currency} = {to_text(share)} where {to_text(free)} is not spent on other uses"
        raise GuaranteeError("ledger", rule, got=got, hint="Nothing was reserved.")
    if share == balance.share:
        return head
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == row.id).values(reserved=share))
    note = None if share is not None else json.dumps({"purpose": "nothing is reserved any more"})
    return append(connection, key, [entry("reserve", amount=share or 0, data_id=row.id, note=note)], head)


def _share(row: Any, reserved: Budget) -> int:
    """The units of a reservation, which is of the kind of the limit."""
    units = Units.limit(reserved)
    if units.currency != row.currency or units.delta:
        hint = "Reserve rho from a limit in rho, and epsilon from one in epsilon."
        raise ParameterError("ledger", f"a reserve must be in {row.currency}", got=str(reserved), hint=hint)
    return units.amount


def set_limit(connection: Connection, key: bytes, row: Any, limit: Units, head: Head) -> Head:
    """Write a new limit for an account of any kind, with its entry."""
    values = {"cap": limit.amount, "delta_cap": limit.delta, "currency": limit.currency}
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == row.id).values(**values))
    holder = {f"{row.kind}_id": row.id}
    return append(connection, key, [entry("limit", amount=limit.amount, delta=limit.delta, **holder)], head)


def entries_of(connection: Connection, name: str) -> tuple[Entry, ...]:
    """What was spent on a data set other than by answers, oldest first; with the changes of its file."""
    number = select(ACCOUNT.c.id).where(ACCOUNT.c.kind == "data", ACCOUNT.c.name == name).scalar_subquery()
    query = select(JOURNAL).where(JOURNAL.c.data_id == number, JOURNAL.c.kind.in_(["fit", "data"]))
    rows = connection.execute(query.order_by(JOURNAL.c.id))
    return tuple(Entry.from_dict({"when": row.at, **json.loads(row.note)}) for row in rows if row.note)


def note_of(purpose: str, budget: Budget) -> str:
    """The note of an entry that cost `budget`, in the words of a journal's entry."""
    made = Entry(when="", purpose=purpose, budget=budget, price=budget)
    return json.dumps({name: value for name, value in made.to_dict().items() if name != "when"}, ensure_ascii=False)


def found_account(connection: Connection, kind: Kind, name: str) -> Any:
    """The row of an account, locked; an InputError where there is none."""
    row = connection.execute(select(ACCOUNT).where(*named(kind, name)).with_for_update()).first()
    if row is None:
        raise InputError("ledger", f"there is no account of that name for a {kind}")
    return row


def open_model(connection: Connection, key: bytes, name: str, limit: Budget | None, heads: list[Head]) -> int:
    """The number of a model's account, made new where there is none, its limit set anew."""
    number, head = open_account(connection, key, "model", name, limit, heads[-1])
    heads.append(head)
    if limit is not None:
        row = found_account(connection, "model", name)
        if row.cap != limit_units(limit):
            check_limit(row, Units.limit(limit))
            heads.append(set_limit(connection, key, row, Units.limit(limit), heads[-1]))
    return number


def open_data(connection: Connection, key: bytes, name: str, limit: Budget | None, heads: list[Head]) -> int:
    """The number of a data set's account, made new where there is none; a known one keeps its limit."""
    row = connection.execute(select(ACCOUNT).where(*named("data", name))).first()
    if row is None:
        number, head = begin_data(connection, key, account_name("data", name), limit or _USUAL_LIMIT)
        heads.append(head)
        return number
    if limit is not None and limit_units(limit) != row.cap:
        got = f"{limit} where it is {to_text(row.cap)}"
        hint = "See `shoal ledger limit`, which can lower it."
        raise ParameterError("ledger", "the limit of an existing data set is fixed", got=got, hint=hint)
    return int(row.id)


def record_fit(
    connection: Connection, key: bytes, model: str, numbers: tuple[int, int], mark: str, fit: Budget, heads: list[Head]
) -> None:
    """Record what a fit cost, once; `numbers` are those of the model and of its data set."""
    model_id, data_id = numbers
    row = connection.execute(select(ACCOUNT).where(ACCOUNT.c.id == data_id).with_for_update()).one()
    known = connection.execute(select(JOURNAL.c.id).where(JOURNAL.c.mark == mark)).first()
    amount = price_of_pure(cost_units(fit), row.currency, order_of(row.conversion))
    if known or not amount:
        return
    left = Balance.of(row).left or 0
    if amount > left:
        rule = "the data set's account must cover what the fit cost"
        hint = "The model is not served. A limit given for the data set when it is new can be larger."
        got = f"{fit} with {Units(amount=left, currency=row.currency).budget} left"
        raise GuaranteeError(f"model '{model}'", rule, got=got, hint=hint)
    note = note_of(f"risk score '{model}'", fit)
    line = entry("fit", amount=amount, model_id=model_id, data_id=data_id, mark=mark, note=note)
    heads.append(append(connection, key, [line], heads[-1]))
    connection.execute(update(ACCOUNT).where(ACCOUNT.c.id == data_id).values(spent=ACCOUNT.c.spent + amount))


def open_account(
    connection: Connection, key: bytes, kind: Kind, name: str, limit: Budget | None, head: Head
) -> tuple[int, Head]:
    """The number of an account and the new head; made new, with its limit in the journal, where there is none.

    The caller holds the lock of `head`.
    """
    name = account_name(kind, name)
    known = connection.execute(select(ACCOUNT.c.id).where(*named(kind, name))).scalar()
    if known is not None:
        return int(known), head
    cap = None if limit is None else limit_units(limit)
    row = {"kind": kind, "name": name, "cap": cap, "spent": 0, "answered": 0}
    try:
        with connection.begin_nested():
            number = connection.execute(insert(ACCOUNT).returning(ACCOUNT.c.id), row).scalar_one()
    except IntegrityError:  # another process was faster
        return int(connection.execute(select(ACCOUNT.c.id).where(*named(kind, name))).scalar_one()), head
    if cap is not None:
        head = append(connection, key, [entry("limit", amount=cap, **{f"{kind}_id": int(number)})], head)
    return int(number), head


def account_name(kind: Kind, name: str) -> str:
    """The name if it can be one, its letters in one spelling, so that nobody has two accounts by accident."""
    name = unicodedata.normalize("NFC", name)
    if not name or len(name) > 200 or not name.isprintable() or name != name.strip():
        rule = f"the name of a {kind} must be 1 to 200 printable characters, without a space at either end"
        raise ParameterError("ledger", rule)
    return name


def named(kind: Kind, name: str) -> tuple[Any, Any]:
    """The condition that a row is that account."""
    return ACCOUNT.c.kind == kind, ACCOUNT.c.name == account_name(kind, name)


def new_limit(row: Any, limit: Budget | Amount) -> Units:
    """The limit in units; a plain number is epsilon (or rho), and delta stays."""
    if isinstance(limit, Budget):
        return Units.limit(limit)
    return Units(amount=limit_units(limit), delta=row.delta_cap, currency=row.currency)


def check_limit(row: Any, limit: Units) -> None:
    """Refuse a limit below what is committed, and a higher one of a data set in use."""
    balance = Balance.of(row)
    if limit.currency != row.currency and balance.spent:
        raise ParameterError("ledger", "the kind of a limit in use can't be changed", got=str(limit.budget))
    if limit.amount < balance.spent + balance.reserved or limit.delta < row.delta_spent:
        got = f"{limit.budget} where {balance.committed.budget} is spent or reserved"
        raise ParameterError("ledger", "a limit must not be less than what is spent or reserved", got=got)
    raised = row.cap is not None and (limit.amount > row.cap or limit.delta > row.delta_cap)
    if row.kind == "data" and raised and (balance.spent or balance.share is not None):
        raise GuaranteeError(
            "ledger", "the limit of a data set can't be raised", hint="It is a promise to the people in the data."
        )


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
