"""How a graphical model's budget is cut up: by public numbers and the noisy number of records alone.

Let B be the budget, C_r the cells of pair r, n the noisy number of records. The noise that all pairs would have if they
shared the whole budget, as mean total variation, is

    b = mean_r C_r E|noise at price B C_r^g / Σ C^g| / (2n),    g = 2/3 (zCDP) or 1/2 (pure ε; see `allocation`).

A large b says that few pairs can be afforded and that one-way tables are worth more; a small one that all pairs can be
looked at, so money is kept back for that. With M columns:

|         | share of one-way tables         | picks K / (M − 1)    | kept back, of what is left   |
| ------- | ------------------------------- | -------------------- | ---------------------------- |
| with δ  | clip(0.1 + 0.45 b, 0.1, 0.4)    | clip(0.55/b, 0.6, 3) | clip(12 (0.09 − b), 0, 0.6) |
| pure ε  | clip(0.12 + 0.55 b, 0.12, 0.65) | clip(0.42/b, 0.4, 3) | nothing                     |

Under pure ε two looks of half the price are worth half of one, so below b = 0.035 nothing is chosen: all pairs are
measured at once, and the noisy tables themselves say which of them the model should hold.

The constants were set on five real tables and tried on others (see the docs). Shares are exact fractions, so that parts
of a budget add up to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shoal.arrays import FloatArray
from shoal.dp import Budget
from shoal.synth.allocation import cell_weights

__all__ = ["CHOOSING", "FIRST", "Plan", "blur", "planned", "prices", "typical_error"]

FIRST = Fraction(1, 20)  # of the budget: one-way tables from which the number of records is known
CHOOSING = Fraction(1, 10)  # of the budget: the choice of pairs
_FINE = 1000
_ALL_AT_ONCE = {"zcdp": 0.0, "pure": 0.035}  # noise up to which all pairs are measured in one look


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Shares of the budget and the number of pairs to choose.

    Parameters
    ----------
    one_way
        Share of the budget for one-way tables, the first look at them included.
    picks
        How many pairs are chosen.
    kept
        Share of what is left then (the price of choosing taken off) that is kept back for all pairs.
    at_once
        Whether all pairs are measured in one look, and none chosen.
    steps
        Steps of mirror descent: with much noise more of them fit noise.
    """

    one_way: Fraction
    picks: int
    kept: Fraction
    steps: int
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    share: tuple[float, float, float]
    picks: tuple[float, float]
    kept: tuple[float, float]

    def __call__(self, b: float, n_columns: int) -> Plan:
        M, P = n_columns, n_columns * (n_columns - 1) // 2
        low, slope, high = self.share
        each = min(max(self.picks[0] / max(b, 1e-9), self.picks[1]), 3.0)
        return Plan(
            one_way=_exact(min(max(low + slope * b, low), high)),
            picks=min(P, max(1, round(each * (M - 1)))),
            kept=_exact(min(max(self.kept[0] * (self.kept[1] - b), 0.0), 0.6)),
            steps=300 if b < 0.05 else 150,
        )


_RULES = {
    "zcdp": _Rule((0.1, 0.45, 0.4), (0.55, 0.6), (12, 0.09)),
    "pure": _Rule((0.12, 0.55, 0.65), (0.42, 0.4), (0, 0)),
}


def planned(b: float, n_columns: int, definition: str) -> Plan:
    """The plan at noise b."""
    return replace(_RULES[definition](b, n_columns), at_once=b < _ALL_AT_ONCE[definition])


def blur(cells: Sequence[int], total: float, budget: Budget) -> float:
    """b: the noise of all tables as mean total variation, if they share `budget` by their cells."""
    weights = np.array(cell_weights(cells, budget.definition))
    sizes = typical_error(weights / weights.sum(), budget)
    return float(np.mean(np.array(cells) * sizes) / (2 * total))


def typical_error(parts: FloatArray, budget: Budget) -> FloatArray:
    """E|noise| of a cell whose table gets these parts of the budget."""
    if budget.definition == "zcdp":
        return np.asarray(1 / np.sqrt(math.pi * np.maximum(budget.rho * parts, 1e-300)), dtype=np.float64)
    return np.asarray(1 / np.maximum(budget.epsilon * parts, 1e-150), dtype=np.float64)


def prices(cells: Sequence[int], n_picks: int, money: Budget) -> list[Fraction]:
    """The part of `money` that each pair would cost if `n_picks` pairs of the usual size shared it by their cells."""
    weights = [max(1, round(_FINE * weight)) for weight in cell_weights(cells, money.definition)]
    return [Fraction(weight * len(weights), n_picks * sum(weights)) for weight in weights]


def _exact(share: float) -> Fraction:
    return Fraction(round(_FINE * share), _FINE)
