"""Spending a budget on tables and choices: the noise is OpenDP's, the price is exact, and every purchase is written
down.

A *set of tables* in which one record counts once in each has sensitivity L1 = T and L2 = √T for T tables, so a set
bought together at ε costs discrete Laplace noise of scale T/ε, at ρ discrete Gaussian noise of scale √(T / (2ρ)).
Tables bought *apart* have T = 1 each, and their prices add.

Allotting a budget over tables of pairs: how many are measured, and with how much noise each.

The error of a pair with C cells, noise of standard deviation s in each, is about √(2/π) C s records. By *public*
numbers alone the sum over pairs is least, at a fixed price, for

    ρ_p ∝ C_p^(2/3)  (zCDP: s² = 1 / (2ρ_p)),        ε_p ∝ C_p^(1/2)  (pure ε: s = √2 / ε_p).

After a first look more is known. Let the truth differ in cell c from what a chain expects by N(0, v_c), with v from the
noisy tables. With precision w = Σ 1/s² the error that is left is √(2/π) Σ_c (1/v_c + w)^(−1/2), which falls ever more
slowly in w. Under zCDP precision is bought at a fixed rate, w = 2ρ, also in two rounds; so crumbs of the budget, each
given to the pair that gains most from it, reach the least sum. Under pure ε two rounds of half the price are worth
half of one, and one look is all there is.

Why the price is exact: prices are exact parts of one budget and sum to it, whatever the tables say. Only who gets which
part depends on data, through noisy tables that were paid for: adaptive composition, which holds for ε and ρ.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from shoal.arrays import FloatArray, IntArray
from shoal.dp import Budget, ProtectedUnit, noise
from shoal.errors import ParameterError
from shoal.extras import need

__all__ = [
    "MOST_CELLS",
    "SHARES",
    "Purchase",
    "Purse",
    "by_cells",
    "by_gain",
    "can_pay",
    "capped",
    "cell_weights",
    "charge",
    "expected_noise",
    "n_pairs",
    "total_budget",
]

ONE_ROW = ProtectedUnit()
_LEAST = 1e-9  # of ε: noise of a smaller budget would leave the range of whole numbers
_NO_NOISE, _QUIETEST = 20.0, 1e-12
MOST_CELLS = 500_000
SHARES = {"pure": (2, 2, 16), "zcdp": (1, 2, 17)}  # of 20: one-way tables, the choice of pairs, tables of pairs
CRUMBS = 500
_MEAN_SIZE = math.sqrt(2 / math.pi)  # E|z| of a standard normal z
_FINE = 1000  # steps of a weight: weights are whole numbers, so that prices stay short fractions
_MOST_PRECISION = 1e12
_ALL = {"zcdp": 0.2, "pure": 0.04}  # noise as total variation up to which all pairs are measured; zCDP looks twice
_SOME = ((2, 0.05), (1, 0.08))  # chosen pairs for each column, and the noise up to which they are measured


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


def by_cells(cells: Sequence[int], budget: Budget) -> tuple[Budget, ...]:
    """Cut `budget` into a price for each table by its number of cells: the public allotment."""
    return budget.split([max(1, round(_FINE * weight)) for weight in cell_weights(cells, budget.definition)])


def by_gain(spread: Sequence[FloatArray], precision: Sequence[float], budget: Budget) -> tuple[Budget, ...]:
    """Cut `budget` (zCDP) into a price for each table, some of them empty, by what more precision would bring.

    Parameters
    ----------
    spread
        For each table the variance v of every cell's truth around what is expected of it.
    precision
        What has been bought already, 1/s² for each table.
    """
    known = [1 / np.maximum(table.ravel(), 1 / _MOST_PRECISION) for table in spread]
    have = np.minimum(precision, _MOST_PRECISION)
    crumb = min(2 * budget.rho, _MOST_PRECISION) / CRUMBS
    crumbs = np.zeros(len(known), dtype=np.int64)
    gains = np.array([_gain(cells, w, crumb) for cells, w in zip(known, have, strict=True)])
    for _ in range(CRUMBS):
        p = int(np.argmax(gains))
        crumbs[p] += 1
        gains[p] = _gain(known[p], float(have[p] + crumbs[p] * crumb), crumb)
    return budget.split(crumbs.tolist())


def expected_noise(cells: Sequence[int], n_measured: int, budget: Budget) -> FloatArray:
    """√(2/π) C s for each table, in records, if `n_measured` tables of the usual size share `budget` by their cells."""
    return np.asarray(_MEAN_SIZE * np.array(cells) * _deviations(cells, n_measured, budget), dtype=np.float64)


def n_pairs(shares: Sequence[FloatArray], total: float, deviation: float, budget: Budget) -> int:
    """The public rule: how many pairs to measure with `budget`, from noisy margins and the noisy number of records.

    `deviation` is that of the noise in margins: a level may hold as many records more than it seems to. All pairs are
    measured if there are not too many cells and the noise, as mean total variation of a pair, is small; else two for
    each column, or one (a tree), or none (margins only), as the noise allows after the choice is paid.
    """
    M, pairs = len(shares), list(combinations(range(len(shares)), 2))
    likely = [(share + deviation / total) / (1 + len(share) * deviation / total) for share in shares]
    _, choice, rest = SHARES[budget.definition]
    n_cells = sum(len(shares[i]) * len(shares[j]) for i, j in pairs)
    plans = [(len(pairs), budget, _ALL[budget.definition])] if n_cells <= MOST_CELLS else []
    plans += [(each * (M - 1), budget * Fraction(rest, choice + rest), limit) for each, limit in _SOME]
    for most, price, limit in plans if pairs else []:
        if _blur(likely, pairs, min(most, len(pairs)), total, price) <= limit:
            return min(most, len(pairs))
    return 0


def _blur(
    shares: Sequence[FloatArray], pairs: Sequence[tuple[int, int]], n_measured: int, total: float, budget: Budget
) -> float:
    """Mean total variation of a pair by noise; a cell errs by no more than the records that margins expect in it."""
    cells = [len(shares[i]) * len(shares[j]) for i, j in pairs]
    sizes = _MEAN_SIZE * _deviations(cells, n_measured, budget)
    errors = [capped(shares[i], shares[j], total, size) for (i, j), size in zip(pairs, sizes, strict=True)]
    return float(np.mean(errors) / (2 * total))


def capped(p: FloatArray, q: FloatArray, total: float, size: float) -> float:
    """Σ min(size, total p_a q_b) over all cells (a, b), in the time of sorting q."""
    rising = np.sort(q)
    below = np.concatenate([[0.0], np.cumsum(rising)])
    expected = np.maximum(total * p, 1e-100)
    at = np.searchsorted(rising, size / expected)
    return float((expected * below[at] + size * (len(q) - at)).sum())


def _deviations(cells: Sequence[int], n_measured: int, budget: Budget) -> FloatArray:
    """Standard deviation of the noise of each table if `n_measured` tables of the usual size share `budget`."""
    weights = np.array(cell_weights(cells, budget.definition))
    parts = weights / (weights.sum() * n_measured / len(cells))
    if budget.definition == "zcdp":
        return np.asarray(1 / np.sqrt(2 * max(budget.rho, 1e-300) * parts), dtype=np.float64)
    return np.asarray(math.sqrt(2) / (max(budget.epsilon, 1e-150) * parts), dtype=np.float64)


def cell_weights(cells: Sequence[int], definition: str) -> list[float]:
    """C^(2/3) under zCDP, C^(1/2) under pure ε: the parts of a budget that tables get."""
    power = 2 / 3 if definition == "zcdp" else 1 / 2
    return [float(count**power) for count in cells]


def _gain(known: FloatArray, w: float, more: float) -> float:
    """By how much the error of a table falls if `more` precision is added to w; `known` is 1/v."""
    return float(((known + w) ** -0.5 - (known + w + more) ** -0.5).sum())


def can_pay(account: Any, price: Budget) -> None:
    """Refuse before anything is read if the account can't pay."""
    if account is not None and not account.affords(price):
        account.charge(price, purpose="PeGS")  # raises: it says what is left


def charge(account: Any, price: Budget, purpose: str) -> None:
    """Charge the account, if there is one; what is paid for is drawn next, so the noise must be there."""
    need("opendp", purpose)
    if account is not None:
        account.charge(price, purpose=purpose)
