"""Two small models and a service around them, for the tests and for processes that the tests start and kill."""

import os
import secrets
from dataclasses import dataclass, field

import polars as pl

from shoal.claim import Claim
from shoal.domain import Axis, Domain
from shoal.dp.budget import Budget
from shoal.ledger import Ledger
from shoal.service import Settings, create_app
from shoal.service.models import Loaded

FEATURES = Domain(
    axes=(
        Axis(name="age", kind="numeric", bounds=(0, 120), missing="refuse"),
        Axis(name="sex", kind="nominal", levels=pl.Series(["f", "m"]), missing="refuse"),
        Axis(name="visits", kind="numeric", missing=0),
    )
)
QUERY = {"age": 41, "sex": "f", "visits": 3}


@dataclass
class Toy:
    """Free, or at a price with a fresh noise in each answer."""

    name: str = "free"
    cost: Budget = field(default_factory=lambda: Budget(epsilon=0))
    features: Domain = FEATURES
    words: str = "A toy."
    data: str = "toy data"
    fit_cost: Budget = field(default_factory=lambda: Budget(epsilon=0))

    @property
    def claims(self):
        return [Claim(kind="epsilon-DP", value=1.0, scope="per query", basis="published", statement="A toy's.")]

    def scores(self, people):
        return [self.score(values) for values in people]

    def score(self, values):
        risk = values["age"] / 200 + (values["sex"] == "m") / 10
        return risk if self.cost.empty else risk + secrets.randbelow(10**9) / 10**9

    def probabilities(self, values):
        return None

    def explain(self, values):
        return None


def toys(price=0.1):
    free = Toy(fit_cost=Budget(epsilon=1))
    return [Loaded.of(free, "d1"), Loaded.of(Toy(name="priced", cost=Budget(epsilon=price)), "d2")]


def app(ledger=None, data_epsilon=100_000.0):
    """The factory for a worker process."""
    settings = Settings(rate=0.0, log=False, data_epsilon=data_epsilon)
    return create_app(toys(), Ledger.open(ledger or os.environ["SHOAL_LEDGER"]), settings)


def serve(ledger, port, data_epsilon=100_000.0):
    """Run one process of the service until it is killed."""
    import uvicorn

    uvicorn.run(app(ledger, data_epsilon), port=port, access_log=False, log_level="error")
