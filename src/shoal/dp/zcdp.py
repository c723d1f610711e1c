"""From zero-concentrated differential privacy to (ε, δ) and back, rounded so that the stated price is never too low.

ρ-zCDP bounds the Rényi divergence of every order α > 1 by αρ, and a mechanism with such a bound τ at one order α is
(ε, δ)-differentially private with

    ε = τ + fee(α, δ),    fee(α, δ) = (log(1/δ) + (α − 1) log(1 − 1/α) − log α) / (α − 1).

(Canonne, Kamath, Steinke 2020, proposition 12; the older ρ + 2 √(ρ log 1/δ) is 10 to 20% larger around ε = 1.)
`epsilon_for` takes the order with the least ε, `rho_for` the one that allows the largest ρ. Any order is valid, so a
search that stops a little beside the best one costs a little and breaks nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

__all__ = ["epsilon_for", "fee", "rho_for"]

_DIGITS = 15  # significant decimals of a result; cut upwards for prices, downwards for allowances
_SLACK = 1e-12  # far above the rounding error of the few float operations in a fee
_MARGIN = 1 - Fraction(1, 10**11)  # so that a largest ρ, converted back at an order found anew, stays within its (ε, δ)


def fee(order: Fraction, delta: Fraction) -> Fraction:
    """What the conversion at `order` costs in ε besides order · ρ, rounded upwards."""
    alpha, spread = float(order), float(order - 1)
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    raw = (-log_delta - spread * math.log1p(1 / spread) - math.log(alpha)) / spread  # log(1 − 1/α) without cancellation
    return _rounded(Fraction(raw + _SLACK * (abs(raw) - log_delta / spread)), math.ceil)


def epsilon_for(rho: Fraction, delta: Fraction) -> Fraction:
    """Least ε such that every ρ-zCDP mechanism is (ε, δ)-differentially private, rounded upwards."""
    if rho == 0:
        return Fraction(0)
    order = _best(lambda alpha: -float(_epsilon_at(rho, delta, alpha)))
    return max(_epsilon_at(rho, delta, order), Fraction(0))


def rho_for(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    """Largest ρ whose price is at most (ε, δ), rounded downwards, and the order at which that holds."""
    order = _best(lambda alpha: float(_rho_at(epsilon, delta, alpha)))
    return max(_rho_at(epsilon, delta, order), Fraction(0)), order


def _epsilon_at(rho: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    return _rounded(order * rho + fee(order, delta), math.ceil)


def _rho_at(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    return _rounded((epsilon - fee(order, delta)) / order * _MARGIN, math.floor)


def _best(gain: Callable[[Fraction], float]) -> Fraction:
    """The order with the largest gain, by golden section over log(α − 1): both gains have one peak there."""
    low, high, golden = math.log(1e-6), math.log(1e12), (math.sqrt(5) - 1) / 2
    while high - low > 1e-9:
        left, right = high - golden * (high - low), low + golden * (high - low)
        if gain(_order(left)) < gain(_order(right)):
            low = left
        else:
            high = right
    return _order((low + high) / 2)


def _order(position: float) -> Fraction:
    return 1 + Fraction(f"{math.exp(position):.9g}")


def _rounded(value: Fraction, towards: Callable[[Fraction], int]) -> Fraction:
    """Cut `value` to a decimal number of few digits, so that fractions stay small and readable."""
    if value == 0:
        return value
    grain = Fraction(10) ** (math.floor(math.log10(abs(value))) + 1 - _DIGITS)
    return towards(value / grain) * grain
