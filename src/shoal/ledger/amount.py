"""Amounts of ε as whole numbers of 10⁻¹²: what a database can add, compare and hold to a limit without any drift.

A cost is rounded upwards and a limit downwards, so that the rounding can only ever protect. Ten charges of 0.1 use up a
limit of 1 exactly, which floats do not promise.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from shoal.dp.budget import Amount, Budget
from shoal.errors import ParameterError

__all__ = ["UNITS", "cost_units", "limit_units", "to_budget", "to_text"]

UNITS = 10**12
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
    if epsilon > _MOST:
        raise ParameterError("ledger", f"amounts must be at most epsilon = {_MOST:,}", got=str(budget))
    return epsilon
