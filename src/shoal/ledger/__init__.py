"""The service's book: what each client, model and data set has spent, exactly and durably.

`Ledger` keeps accounts and charges in SQLite or PostgreSQL, `Keys` the API keys of the clients. See
`shoal.ledger.ledger` for what is promised.
"""

from shoal.ledger.engine import LedgerError
from shoal.ledger.keys import Key, Keys
from shoal.ledger.ledger import Enrolled, Ledger
from shoal.ledger.records import Answer, Balance, Charge, Charged, Refused, Reply

__all__ = [
    "Answer",
    "Balance",
    "Charge",
    "Charged",
    "Enrolled",
    "Key",
    "Keys",
    "Ledger",
    "LedgerError",
    "Refused",
    "Reply",
]
