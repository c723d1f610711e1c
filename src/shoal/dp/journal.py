"""The journal of an account: what was spent, on what, and how it was counted against the limit.

A journal is a value: `charged` gives a longer one, or raises and leaves everything as it was. The limit decides the
currency, and each entry keeps the budget as it was asked and the price as it was counted:

- *limit ε*: pure costs add up; costs with δ or in ρ are refused, as no number of them is pure;
- *limit ρ*: costs in ρ add up; a pure ε is counted as ρ = ε² / 2; costs with δ are refused;
- *limit (ε, δ)*: ε and δ add up. Costs in ρ are converted at one Rényi order α: the first one fixes α, by what is left
  then, pays fee(α, δ) once (see `shoal.dp.zcdp`) and takes all of δ that is left; every ρ costs α ρ. From then on a
  pure ε costs min(ε, α ε²/2): that bounds its Rényi divergence of order α, and the smaller bound is the one counted.

Why one fixed order: which question comes next may depend on earlier answers. Plain sums of ε, of δ, of ρ, and of Rényi
divergences *at one order* stay valid then (privacy filters: Rogers et al. 2016, Feldman and Zrnic 2021, Whitehouse et
al. 2023). Choosing the best order again after each answer would not be covered. What was spent before α was fixed is a
plain (ε, δ) cost, and what follows is bounded by a filter whose bound is known at that moment, so the two add up.

What an account says of itself to the reader of a release: which data set, what is spent, what was allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from shoal.claim import Claim
from shoal.dp import zcdp
from shoal.dp.budget import Budget
from shoal.errors import GuaranteeError
from shoal.record import Record

__all__ = ["Conversion", "Entry", "Journal", "Spending"]

_NEARLY = 1 - Fraction(1, 10**9)  # another machine's logarithm may differ in the last digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One charge: when, for what, the budget as asked, the price as counted, and the words of any conversion.

    Examples
    --------
    >>> from shoal.dp import Budget, Entry
    >>> price = Budget(epsilon=0.5)
    >>> entry = Entry(when="2026-01-31T12:00:00+00:00", purpose="scores", budget=price, price=price)
    >>> Entry.from_dict(entry.to_dict()) == entry
    True
    """

    when: str
    purpose: str
    budget: Budget
    price: Budget
    note: str = ""
    claim: Claim | None = None

    def to_dict(self) -> dict[str, Any]:
        """The entry as JSON-safe words."""
        return {
            "when": self.when,
            "purpose": self.purpose,
            "budget": self.budget.to_dict(),
            "price": self.price.to_dict(),
            "note": self.note,
            "claim": self.claim.to_dict() if self.claim else None,
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Entry:
        """Read an entry back from its words."""
        return cls(
            when=words["when"],
            purpose=words["purpose"],
            budget=Budget.from_dict(words["budget"]),
            price=Budget.from_dict(words["price"]),
            note=words["note"],
            claim=Claim.from_dict(words["claim"]) if words["claim"] else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """How an (ε, δ) account counts ρ: the order, the δ set aside, and the fee that the first charge paid."""

    order: Fraction
    delta: Fraction
    fee: Fraction

    @classmethod
    def best_for(cls, left: Budget) -> Conversion:
        """The conversion that lets the most ρ be spent from what is left."""
        epsilon, delta = left.exact
        _, order = zcdp.rho_for(epsilon, delta)
        return cls(order=order, delta=delta, fee=max(zcdp.fee(order, delta), Fraction(0)))

    def to_dict(self) -> dict[str, str]:
        """The conversion as exact, JSON-safe words."""
        return {"order": str(self.order), "delta": str(self.delta), "fee": str(self.fee)}

    @classmethod
    def from_dict(cls, words: Mapping[str, str]) -> Conversion:
        """Read a conversion back, and hold its fee to the formula."""
        made = cls(**{name: Fraction(words[name]) for name in ("order", "delta", "fee")})
        if (
            made.order <= 1
            or not 0 < made.delta < 1
            or made.fee < zcdp.fee(made.order, made.delta) * Fraction(999, 1000)
        ):
            raise ValueError("the fee does not fit the order")
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """A limit, the entries charged against it, and the sum of their prices in the currency of the limit."""

    limit: Budget
    spent: Budget
    entries: tuple[Entry, ...] = ()
    conversion: Conversion | None = None

    @classmethod
    def begun(cls, limit: Budget) -> Journal:
        """A journal with nothing in it."""
        return cls(limit=limit, spent=_nothing(limit))

    @property
    def left(self) -> Budget:
        """The limit less what was spent."""
        return self.limit - self.spent

    def charged(self, budget: Budget, purpose: str, claim: Claim | None = None) -> Journal:
        """The journal with one entry more, or a GuaranteeError where the limit does not allow it."""
        conversion = self._conversion_for(budget)
        price, note = self._price(budget, conversion)
        if not self.left.covers(price):
            raise GuaranteeError(
                "Account",
                "the charge must not exceed what is left",
                got=f"{_said(budget, price)} to spend, {self.left} left of {self.limit}",
                hint="Nothing was spent.",
            )
        when = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(when=when, purpose=purpose, budget=budget, price=price, note=note, claim=claim)
        return self._with((entry,), price, conversion)

    def to_dict(self) -> dict[str, Any]:
        """The journal as JSON-safe words, with the totals for a reader."""
        return {
            "limit": self.limit.to_dict(),
            "spent": self.spent.to_dict(),
            "left": self.left.to_dict(),
            "conversion": self.conversion.to_dict() if self.conversion else None,
            "entries": [entry.to_dict() for entry in self.entries],
        }

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Journal:
        """Read a journal back by replaying it: every price is counted again and must agree."""
        conversion = Conversion.from_dict(words["conversion"]) if words["conversion"] else None
        journal, entries = cls.begun(Budget.from_dict(words["limit"])), []
        for entry in map(Entry.from_dict, words["entries"]):
            journal = journal._replayed(entry, conversion)
            entries.append(entry)
        journal = replace(journal, entries=tuple(entries))
        if journal.to_dict() != dict(words):
            raise ValueError("the totals do not follow from the entries")
        return journal

    def _replayed(self, entry: Entry, conversion: Conversion | None) -> Journal:
        """This journal with the price of an old entry counted again; the entries themselves are added at the end."""
        in_use = conversion if _needs_conversion(self.limit, entry.budget) else self.conversion
        fair = self._price(entry.budget, in_use)[0]
        plain = entry.budget.definition == "pure" and entry.price == entry.budget  # what earlier versions counted
        if not (entry.price == fair or (plain and fair.epsilon <= entry.price.epsilon)):
            raise ValueError("a price does not follow from its entry")
        if not self.left.covers(entry.price):
            raise ValueError("a price is more than what was left")
        return self._with((), entry.price, in_use)

    def _with(self, entries: tuple[Entry, ...], price: Budget, conversion: Conversion | None) -> Journal:
        return replace(self, entries=self.entries + entries, spent=self.spent + price, conversion=conversion)

    def _conversion_for(self, budget: Budget) -> Conversion | None:
        if self.conversion or not _needs_conversion(self.limit, budget):
            return self.conversion
        if self.left.delta == 0:
            raise _refusal(budget, self.limit, "No delta is left to convert it with.")
        return Conversion.best_for(self.left)

    def _price(self, budget: Budget, conversion: Conversion | None) -> tuple[Budget, str]:
        if self.limit.definition == "zcdp":
            return _price_in_rho(budget, self.limit)
        if self.limit.definition == "pure" and budget.definition != "pure" and not budget.empty:
            raise _refusal(budget, self.limit, "Open the account with a delta, or spend pure epsilon.")
        if conversion is not None and budget.definition == "pure" and not budget.empty:
            return _pure_at_order(budget, conversion)
        if not _needs_conversion(self.limit, budget) or conversion is None:
            return (_nothing(self.limit) if budget.empty else budget), ""
        return self._price_at_order(budget, conversion)

    def _price_at_order(self, budget: Budget, conversion: Conversion) -> tuple[Budget, str]:
        first = self.conversion is None
        fee, delta = (conversion.fee, conversion.delta) if first else (Fraction(0), Fraction(0))
        price = Budget(epsilon=conversion.order * budget.exact[0] + fee, delta=delta)
        tail = "; the first charge in ρ pays the conversion and all of δ" if first else ""
        return price, f"{budget} counted as {price}, at Rényi order {float(conversion.order):.4g}{tail}"


def _pure_at_order(budget: Budget, conversion: Conversion) -> tuple[Budget, str]:
    """min(ε, α ε²/2): what a pure cost adds to the divergence of the order that the account counts in."""
    epsilon = budget.exact[0]
    tight = conversion.order * epsilon**2 / 2
    if tight >= epsilon:
        return budget, ""
    price = Budget(epsilon=tight)
    return price, f"{budget} counted as {price}, by α ε² / 2 at Rényi order {float(conversion.order):.4g}"


def _price_in_rho(budget: Budget, limit: Budget) -> tuple[Budget, str]:
    if budget.definition == "approximate":
        raise _refusal(budget, limit, "A cost with delta can't be counted in rho.")
    price = budget.to_zcdp()
    return price, "" if budget.definition == "zcdp" or budget.empty else f"{budget} counted as {price}, by ε² / 2"


def _needs_conversion(limit: Budget, budget: Budget) -> bool:
    return limit.definition == "approximate" and budget.definition == "zcdp" and not budget.empty


def _nothing(limit: Budget) -> Budget:
    return Budget.zcdp(0) if limit.definition == "zcdp" else Budget(epsilon=0)


def _said(budget: Budget, price: Budget) -> str:
    return str(budget) if budget == price else f"{budget} (counted as {price})"


def _refusal(budget: Budget, limit: Budget, hint: str) -> GuaranteeError:
    rule = "the charge must be of a kind that the limit can count"
    return GuaranteeError("Account", rule, got=f"{budget} under a limit of {limit}", hint=f"Nothing was spent. {hint}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending(Record):
    """The state of an account at one time; it may leave the secure environment, as it follows from prices alone.

    Parameters
    ----------
    account
        The account's name for its data set: the beginning of a keyed hash, which tells nothing of the data.
    spent, limit
        What all entries so far cost together, and what may ever be spent.
    n_entries
        How many charges there were.
    head
        The head of the ledger's hash chain at that time, as `shoal ledger verify --head` takes it: a copy of it that
        lies elsewhere, with whoever got the release.
    """

    account: str
    spent: Budget
    limit: Budget
    n_entries: int
    head: str = ""

    def __str__(self) -> str:
        return f"Account {self.account}: {self.spent} spent of {self.limit} in {self.n_entries} entries."

    @classmethod
    def from_dict(cls, words: Mapping[str, Any]) -> Spending:
        """Read a state back from its words."""
        return cls(
            account=words["account"],
            spent=Budget.from_dict(words["spent"]),
            limit=Budget.from_dict(words["limit"]),
            n_entries=words["n_entries"],
            head=words.get("head", ""),
        )
