"""A client of the service: scores, batches and budgets, with retries that are never charged twice.

`Client` for ordinary programs, `AsyncClient` for asynchronous ones; they need nothing but Python. Each query carries an
idempotency key, and after a time-out, a broken connection or a 503 the same query is sent again: the ledger knows it.
"""

from shoal.client.asynchronous import AsyncClient
from shoal.client.client import BatchScores, Client, Score, ServiceError

__all__ = ["AsyncClient", "BatchScores", "Client", "Score", "ServiceError"]
