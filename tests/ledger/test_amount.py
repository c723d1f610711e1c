"""Amounts: whole units, costs up, limits down, no drift."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.dp import Budget
from shoal.errors import ParameterError
from shoal.ledger.amount import UNITS, Units, cost_units, limit_units, price_of_pure, to_budget, to_text


def test_ten_tenths_are_one():
    assert 10 * cost_units(Budget(epsilon=0.1)) == limit_units(1)
    assert 100 * cost_units(Budget(epsilon=0.01)) == limit_units(1.0)


@given(st.fractions(min_value=0, max_value=1000))
def test_rounding_only_protects(epsilon):
    budget = Budget(epsilon=epsilon)
    assert limit_units(budget) <= epsilon * UNITS <= cost_units(budget)
    assert cost_units(budget) - limit_units(budget) == (0 if (epsilon * UNITS).denominator == 1 else 1)


@given(st.integers(0, 10**18))
def test_text_and_budget_are_exact(units):
    assert Fraction(to_text(units)) * UNITS == units
    assert to_budget(units).exact[0] * UNITS == units


@pytest.mark.parametrize("budget", [Budget(epsilon=1, delta=1e-9), Budget.zcdp(0.1), Budget(epsilon=10**7)])
def test_only_pure_epsilon_of_a_sane_size(budget):
    with pytest.raises(ParameterError):
        cost_units(budget)
    with pytest.raises(ParameterError):
        limit_units(budget)


@given(st.integers(0, 10**14), st.fractions(min_value=2, max_value=64))
def test_a_pure_epsilon_costs_half_its_square_in_rho_and_at_most_itself_at_an_order(amount, order):
    half_square = Fraction(amount, UNITS) ** 2 / 2
    in_rho = Fraction(price_of_pure(amount, "rho"), UNITS)
    assert half_square <= in_rho < half_square + Fraction(1, UNITS)
    assert price_of_pure(amount, "epsilon") == amount
    at_order = Fraction(price_of_pure(amount, "epsilon", order), UNITS)
    exact = min(Fraction(amount, UNITS), order * half_square)
    assert exact <= at_order < exact + Fraction(1, UNITS)


def test_a_budget_of_any_kind_comes_back_from_its_units():
    assert Units(amount=UNITS).budget == Budget(epsilon=1)
    for budget in (Budget(epsilon=0.3), Budget(epsilon=0.3, delta=1e-9), Budget.zcdp(0.2)):
        assert Units.cost(budget).budget == Units.limit(budget).budget == budget
