"""Differential privacy: budgets as values, what a data set has spent, protective noise, and audits.

`Budget` says how much may be spent, `Account` adds up what a data set has spent, `noise` is the one door to noise
and private selection (OpenDP), `LazyCounts` draws noise on first use of a cell, `audit` looks for a broken promise.
`ProtectedUnit` says who is protected, `Spending` what an account has to say in a manifest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:  # `Account` is kept by the ledger, which builds on this package
    from shoal.dp import noise
    from shoal.dp.auditing import Audit, audit
    from shoal.dp.budget import Budget
    from shoal.dp.journal import Entry, Spending
    from shoal.dp.lazy import LazyCounts
    from shoal.dp.unit import ProtectedUnit
    from shoal.ledger.account import Account

__all__ = ["Account", "Audit", "Budget", "Entry", "LazyCounts", "ProtectedUnit", "Spending", "audit", "noise"]

__getattr__, __dir__ = on_demand(__name__)
