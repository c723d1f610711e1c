"""The one ledger of a data set: what synthesis, fits and answers have spent, exactly and durably.

`Ledger` keeps data sets, clients, models, charges and admissions in SQLite or PostgreSQL, `Keys` the API keys of the
clients, and `Account` is the account of a data file, in a small ledger beside it or in a shared one. See
`shoal.ledger.ledger` for what is promised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.exports import on_demand

if TYPE_CHECKING:
    from shoal.ledger.account import Account
    from shoal.ledger.admission import Admission
    from shoal.ledger.chain import Head
    from shoal.ledger.engine import LedgerError
    from shoal.ledger.keys import Key, Keys
    from shoal.ledger.ledger import Enrolled, Ledger
    from shoal.ledger.records import Answer, Balance, Batch, Charge, Charged, ChargedBatch, Refused, Reply
    from shoal.ledger.verification import Verified

__all__ = [
    "Account",
    "Admission",
    "Answer",
    "Balance",
    "Batch",
    "Charge",
    "Charged",
    "ChargedBatch",
    "Enrolled",
    "Head",
    "Key",
    "Keys",
    "Ledger",
    "LedgerError",
    "Refused",
    "Reply",
    "Verified",
]

__getattr__, __dir__ = on_demand(__name__)
