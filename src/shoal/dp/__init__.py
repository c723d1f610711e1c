"""Differential privacy: budgets as values, what a data set has spent, protective noise, and audits.

`Budget` says how much may be spent, `Account` adds up what a data set has spent, `noise` is the one door to noise
and private selection (OpenDP), `LazyCounts` draws noise on first use of a cell, `audit` looks for a broken promise.
`ProtectedUnit` says who is protected, `Spending` what an account has to say in a manifest.
"""

from typing import Any

from shoal.dp import noise
from shoal.dp.auditing import Audit, audit
from shoal.dp.budget import Budget
from shoal.dp.journal import Entry, Spending
from shoal.dp.lazy import LazyCounts
from shoal.dp.unit import ProtectedUnit

__all__ = ["Account", "Audit", "Budget", "Entry", "LazyCounts", "ProtectedUnit", "Spending", "audit", "noise"]


def __getattr__(name: str) -> Any:
    """`Account` is kept by the ledger, which builds on this package: found when it is asked for."""
    if name != "Account":
        raise AttributeError(name)
    from shoal.ledger.account import Account

    return Account
