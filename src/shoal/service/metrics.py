"""Counters for the operator, in Prometheus' text form; summed over all workers.

Labels are routes, statuses and names of served models: a fixed, small set that no client can make grow.
"""

from __future__ import annotations

import asyncio
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector

from shoal import __version__
from shoal.ledger import Balance
from shoal.ledger.amount import UNITS

__all__ = ["CONTENT_TYPE", "Metrics"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_MOMENT = 0.25  # seconds that a count may wait

_Counts: TypeAlias = "defaultdict[tuple[Any, ...], int]"


class Metrics:
    """What is counted.

    Examples
    --------
    >>> async def example() -> bool:
    ...     metrics = Metrics()
    ...     metrics.request("/healthz", "GET", 200, 0.001)
    ...     return "shoal_requests_total" in metrics.text().decode()
    >>> import asyncio
    >>> asyncio.run(example())
    True
    """

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._requests = Counter(
            "shoal_requests", "Requests by route and status.", ["route", "method", "status"], registry=registry
        )
        self._seconds = Histogram(
            "shoal_request_seconds", "Time to answer, by route.", ["route"], buckets=_SECONDS, registry=registry
        )
        self._scores = Counter(
            "shoal_scores",
            "Queries by model and by what became of them.",
            ["model", "outcome"],
            registry=registry,
        )
        self._epsilon = Counter("shoal_epsilon_charged", "Epsilon charged, by model.", ["model"], registry=registry)
        self._batch = Histogram(
            "shoal_ledger_batch_size", "Orders in one commit of the ledger.", buckets=_SIZES, registry=registry
        )
        # finding a counter by its labels costs more than counting
        self._requests_of, self._seconds_of = cache(self._requests.labels), cache(self._seconds.labels)
        self._scores_of, self._epsilon_of = cache(self._scores.labels), cache(self._epsilon.labels)
        self._new_requests: _Counts = defaultdict(int)
        self._new_scores: _Counts = defaultdict(int)
        self._due = False

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """One request is done."""
        self._new_requests[route, method, status] += 1
        self._seconds_of(route).observe(seconds)
        self._promise()

    def score(self, model: str, outcome: str, epsilon: float = 0.0, *, times: int = 1) -> None:
        """A query to a model is decided, or several in one batch."""
        self._new_scores[model, outcome] += times
        if epsilon:
            self._epsilon_of(model).inc(epsilon)
        self._promise()

    def _promise(self) -> None:
        """Have what was counted handed over in a moment: one by one it would cost a twentieth of an answer."""
        if not self._due:
            self._due = True
            asyncio.get_running_loop().call_later(_MOMENT, self._hand_over)

    def _hand_over(self) -> None:
        """Add what was counted since the last time to the counters, which other workers read too."""
        self._due = False
        requests, self._new_requests = self._new_requests, defaultdict(int)
        scores, self._new_scores = self._new_scores, defaultdict(int)
        for (route, method, status), count in requests.items():
            self._requests_of(route, method, str(status)).inc(count)
        for (model, outcome), count in scores.items():
            self._scores_of(model, outcome).inc(count)

    def batch(self, size: int) -> None:
        """One commit carried `size` orders."""
        self._batch.observe(size)

    def text(self, balances: Sequence[Balance] = (), last_entry: str | None = None) -> bytes:
        """All of it, for a scraper, with the accounts as they stand in the ledger and the moment of its last entry."""
        self._hand_over()
        budgets = _budgets(balances, last_entry)
        if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
            return generate_latest(self._registry) + budgets
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry) + budgets


class _Budgets:
    """Gauges of the data sets and models, the same in every worker, as they stand in the ledger; and the build."""

    def __init__(self, balances: Sequence[Balance], last_entry: str | None) -> None:
        self._last_entry = last_entry
        self._balances = [b for b in balances if b.kind != "client" and b.cap is not None]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        build = GaugeMetricFamily("shoal_build_info", "Version of Shoal.", labels=["version"])
        build.add_metric([__version__], 1)
        yield build
        if self._last_entry is not None:
            then = datetime.fromisoformat(self._last_entry)
            about = "Seconds since the last entry of the ledger."
            yield GaugeMetricFamily("shoal_ledger_age_seconds", about, (datetime.now(UTC) - then).total_seconds())
        for word, about in _WORDS.items():
            said = f"{about}, in epsilon (rho where the limit is in rho)."
            gauge = GaugeMetricFamily(f"shoal_budget_{word}", said, labels=["kind", "name"])
            for balance in self._balances:
                gauge.add_metric([balance.kind, balance.name], _units(balance, word) / UNITS)
            yield gauge


_WORDS = {"limit": "May be spent in all", "spent": "Spent, all uses", "reserved": "Kept for answers", "left": "Left"}


def _units(balance: Balance, word: str) -> int:
    return int((balance.cap if word == "limit" else getattr(balance, word)) or 0)


def _budgets(balances: Sequence[Balance], last_entry: str | None) -> bytes:
    registry = CollectorRegistry()
    registry.register(_Budgets(balances, last_entry))
    return generate_latest(registry)
