"""Amounts of ε (or ρ) as whole numbers of 10⁻¹², of δ as whole numbers of 10⁻¹⁸: what a database can add, compare and
hold to a limit without any drift.

A cost is rounded upwards and a limit downwards, so that the rounding can only ever protect. Ten charges of 0.1 use up a
limit of 1 exactly, which floats do not promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from shoal.dp.budget import Amount, Budget
from shoal.errors import ParameterError

__all__ = ["DELTA_UNITS", "UNITS", "Units", "cost_units", "limit_units", "price_of_pure", "to_budget", "to_text"]

UNITS = 10**12
DELTA_UNITS = 10**18
_MOST = 10**6  # ε; its units fit a 64-bit integer nine times over


def cost_units(cost: Budget) -> int:
    """The units of a cost, rounded upwards.

    Examples
    --------
    >>> from shoal.dp import Budget
    >>> cost_units(Budget(epsilon=0.1))
    100000000000
    """
    return math.ceil(_pure(cost) * UNITS)


def limit_units(limit: Budget | Amount) -> int:
    """The units of a limit, rounded downwards; a plain number is ε."""
    return math.floor(_pure(limit if isinstance(limit, Budget) else Budget(epsilon=limit)) * UNITS)


def to_budget(units: int) -> Budget:
    """The amount as a budget, exactly."""
    return Budget(epsilon=Fraction(units, UNITS))


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """A budget of any kind in whole units: of ε or ρ, and of δ.

    Examples
    --------
    >>> from shoal.dp import Budget
    >>> Units.cost(Budget(epsilon=0.1, delta=1e-9))
    Units(amount=100000000000, delta=1000000000, currency='epsilon')
    >>> print(Units.limit(Budget.zcdp(0.2)).budget)
    ρ = 0.2 (zCDP)
    """

    amount: int
    delta: int = 0
    currency: Literal["epsilon", "rho"] = "epsilon"

    @classmethod
    def cost(cls, budget: Budget) -> Units:
        """What a cost is in units, rounded upwards."""
        return cls._of(budget, math.ceil)

    @classmethod
    def limit(cls, budget: Budget) -> Units:
        """What a limit is in units, rounded downwards."""
        return cls._of(budget, math.floor)

    @classmethod
    def _of(cls, budget: Budget, rounded: Callable[[Fraction], int]) -> Units:
        amount, delta = budget.exact
        _check_size(amount, budget)
        currency: Literal["epsilon", "rho"] = "rho" if budget.definition == "zcdp" else "epsilon"
        return cls(amount=rounded(amount * UNITS), delta=rounded(delta * DELTA_UNITS), currency=currency)

    @property
    def budget(self) -> Budget:
        """The same as a budget, exactly."""
        amount = Fraction(self.amount, UNITS)
        if self.currency == "rho":
            return Budget.zcdp(amount)
        return Budget(epsilon=amount, delta=Fraction(self.delta, DELTA_UNITS))


def price_of_pure(amount: int, currency: str, order: Fraction | None = None) -> int:
    """What a pure ε of `amount` units counts against a limit, in units, rounded upwards.

    Against a limit in ρ it is ε²/2; at a fixed Rényi order α it is min(ε, α ε²/2); else it is ε (see
    `shoal.dp.journal`).

    Examples
    --------
    >>> price_of_pure(10**11, "epsilon"), price_of_pure(10**11, "rho"), price_of_pure(10**11, "epsilon", Fraction(4))
    (100000000000, 5000000000, 20000000000)
    """
    if currency == "rho":
        return math.ceil(Fraction(amount**2, 2 * UNITS))
    return amount if order is None else min(amount, math.ceil(order * Fraction(amount**2, 2 * UNITS)))


@lru_cache(maxsize=4096)
def to_text(units: int) -> str:
    """The amount as a decimal number, exactly.

    Examples
    --------
    >>> to_text(300000000000), to_text(10**13), to_text(0)
    ('0.3', '10', '0')
    """
    whole, rest = divmod(units, UNITS)
    return str(whole) if not rest else format(Decimal(units).scaleb(-12).normalize(), "f")


def _pure(budget: Budget) -> Fraction:
    if budget.definition != "pure":
        rule = "amounts must be pure epsilon"
        raise ParameterError("ledger", rule, got=str(budget), hint="A cost with delta or in rho can't be added to it.")
    epsilon = budget.exact[0]
    _check_size(epsilon, budget)
    return epsilon


def _check_size(amount: Fraction, budget: Budget) -> None:
    if amount > _MOST:
        raise ParameterError("ledger", f"amounts must be at most epsilon = {_MOST:,}", got=str(budget))
