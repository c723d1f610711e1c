"""Spending a budget on tables and choices: the noise is OpenDP's, the price is exact, and every purchase is written
down.

A *set of tables* in which one record counts once in each has sensitivity L1 = T and L2 = √T for T tables, so a set
bought together at ε costs discrete Laplace noise of scale T/ε, at ρ discrete Gaussian noise of scale √(T / (2ρ)).
Tables bought *apart* have T = 1 each, and their prices add.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from shoal.arrays import IntArray
from shoal.dp import Budget, ProtectedUnit, noise
from shoal.errors import ParameterError

__all__ = ["Purchase", "Purse", "total_budget"]

ONE_ROW = ProtectedUnit()
_LEAST = 1e-9  # of ε: noise of a smaller budget would leave the range of whole numbers
_NO_NOISE, _QUIETEST = 20.0, 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Purchase:
    """One thing that was bought: what, at which price, with which scale of noise."""

    what: str
    price: Budget
    scale: float


@dataclass(slots=True, kw_only=True)
class Purse:
    """What may be spent on one fit, and what it was spent on; it can't go below zero."""

    left: Budget
    bought: list[Purchase] = field(default_factory=list)

    @property
    def spent(self) -> Budget:
        """The sum of all purchases."""
        zero = self.left * 0
        return sum((purchase.price for purchase in self.bought), zero)

    def tables(self, what: str, counts: Sequence[IntArray], price: Budget) -> tuple[list[IntArray], float]:
        """Buy a set of tables at `price`: the noisy counts, and the variance of their noise."""
        self._pay(price)
        noisy, scale, variance = _noised(counts, price)
        self.bought.append(Purchase(what=what, price=price, scale=scale))
        return noisy, variance

    def apart(
        self, what: str, counts: Sequence[IntArray], prices: Sequence[Budget]
    ) -> tuple[list[IntArray], list[float]]:
        """Buy every table at a price of its own: the noisy counts, and the variance of each table's noise."""
        for price in prices:
            self._pay(price)
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            bought = list(pool.map(lambda table, price: _noised([table], price), counts, prices))
        for price, (_, scale, _) in zip(prices, bought, strict=True):
            self.bought.append(Purchase(what=what, price=price, scale=scale))
        return [noisy[0] for noisy, _, _ in bought], [variance for _, _, variance in bought]

    def choice(self, what: str, scores: IntArray, sensitivity: float, price: Budget) -> int:
        """Buy one choice of a high score at `price`."""
        self._pay(price)
        if price.definition == "zcdp":
            at = noise.noisy_max_zcdp(scores, sensitivity, price.rho)
        else:
            at = noise.noisy_max(scores, sensitivity, price.epsilon)
        self.bought.append(Purchase(what=what, price=price, scale=0.0))
        return at

    def number(self, what: str, value: int, sensitivity: float, price: Budget) -> int:
        """Buy one whole number that a record changes by at most `sensitivity`."""
        self._pay(price)
        if price.definition == "zcdp":
            scale = noise.gaussian_scale(price.rho, sensitivity)
            drawn = noise.discrete_gaussian(np.array([value], dtype=np.int64), scale)
        else:
            scale = noise.laplace_scale(price.epsilon, math.ceil(sensitivity))
            drawn = noise.discrete_laplace(np.array([value], dtype=np.int64), scale)
        self.bought.append(Purchase(what=what, price=price, scale=scale))
        return int(drawn[0])

    def _pay(self, price: Budget) -> None:
        self.left = self.left - price


def total_budget(epsilon: float, delta: float | None, unit: ProtectedUnit = ONE_ROW) -> Budget:
    """What a fit may spend on one row: ε, or the largest ρ that (ε, δ) allows, divided as the unit demands.

    Refused if no noise is large enough.
    """
    if delta is None:
        budget = unit.per_row(Budget(epsilon=epsilon))
        least, amount = _LEAST, budget.epsilon
    else:
        budget = unit.per_row(Budget(epsilon=epsilon, delta=delta).largest_zcdp())
        least, amount = _LEAST**2, budget.rho
    if amount < least:
        raise ParameterError("synthesis", "epsilon and delta must leave something to spend", got=str(budget))
    return budget


def _noised(counts: Sequence[IntArray], price: Budget) -> tuple[list[IntArray], float, float]:
    flat = np.concatenate([table.ravel() for table in counts])
    if price.definition == "zcdp":
        scale = noise.gaussian_scale(price.rho, math.sqrt(len(counts)))
        drawn, variance = noise.discrete_gaussian(flat, scale), max(_QUIETEST, scale**2)
    else:
        scale = noise.laplace_scale(price.epsilon, len(counts))
        drawn, variance = noise.discrete_laplace(flat, scale), _laplace_variance(scale)
    ends = np.cumsum([table.size for table in counts])[:-1]
    parts = np.split(drawn, ends)
    return [part.reshape(table.shape) for part, table in zip(parts, counts, strict=True)], scale, variance


def _laplace_variance(scale: float) -> float:
    """2q / (1 − q)² with q = exp(−1/scale), at any scale; where there is no noise to speak of, not quite 0."""
    half = 1 / (2 * scale)
    return max(_QUIETEST, 0.5 / math.sinh(half) ** 2) if half < _NO_NOISE else _QUIETEST
