"""The conversion between ρ and (ε, δ) against the same formula in 60 decimals."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import pytest

from shoal.dp.zcdp import _rounded, epsilon_for, fee, rho_for

DELTAS = [Fraction(1, 10**6), Fraction(1, 10**9), Fraction(3, 10**15)]
EPSILONS = [Fraction(1, 10), Fraction(1), Fraction(10)]
ORDERS = [Fraction(101, 100), Fraction(3, 2), Fraction(7), Fraction(10**4)]


def exact(value):
    return Decimal(value.numerator) / Decimal(value.denominator)


def exact_fee(order, delta):
    """Proposition 12 of Canonne, Kamath and Steinke."""
    alpha = exact(order)
    return (-exact(delta).ln() + (alpha - 1) * (1 - 1 / alpha).ln() - alpha.ln()) / (alpha - 1)


@pytest.mark.parametrize(("order", "delta"), list(product(ORDERS, DELTAS)))
def test_a_fee_is_above_the_exact_one_by_its_slack_and_no_more(order, delta):
    with localcontext() as context:
        context.prec = 60
        true = exact_fee(order, delta)
        scale = abs(true) - exact(delta).ln() / (exact(order) - 1)
        over = (exact(fee(order, delta)) - true) / scale
    assert Decimal("0.9e-12") < over < Decimal("1.1e-12")


@pytest.mark.parametrize(("epsilon", "delta"), list(product(EPSILONS, DELTAS)))
def test_the_largest_rho_costs_no_more_than_was_allowed_and_wastes_next_to_nothing(epsilon, delta):
    rho, order = rho_for(epsilon, delta)
    room = epsilon - fee(order, delta)
    wasted = (room - order * rho) / room
    assert Fraction(9, 10**12) < wasted < Fraction(11, 10**12)
    assert epsilon * (1 - Fraction(1, 10**10)) < epsilon_for(rho, delta) <= epsilon


@pytest.mark.parametrize(("epsilon", "delta"), list(product(EPSILONS, DELTAS)))
def test_no_order_of_a_fine_grid_is_better_than_the_one_that_is_found(epsilon, delta):
    rho, order = rho_for(epsilon, delta)
    grid = [1 + (order - 1) * Fraction(step, 1000) for step in (500, 900, 990, 999, 1001, 1010, 1100, 2000)]
    assert rho >= max((epsilon - fee(one, delta)) / one for one in grid) * (1 - Fraction(1, 10**9))


def test_nothing_costs_nothing():
    assert epsilon_for(Fraction(0), DELTAS[0]) == 0
    assert _rounded(Fraction(0), math.ceil) == 0
    assert _rounded(Fraction(1, 3), math.ceil) == Fraction(333333333333334, 10**15)
    assert _rounded(Fraction(1, 3), math.floor) == Fraction(333333333333333, 10**15)
