"""Budgets: exact arithmetic, no overspending, sound conversions."""

import json
import math
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.dp import Budget, noise
from shoal.errors import GuaranteeError, ParameterError

AMOUNTS = st.one_of(
    st.floats(0, 1e6, allow_subnormal=False),
    st.integers(0, 1000),
    st.fractions(0, 100, max_denominator=997),
    st.decimals(0, 100, places=4),
)
DELTAS = st.sampled_from([1e-12, 1e-9, 1e-6, 1e-3])
BUDGETS = st.one_of(
    st.builds(lambda e: Budget(epsilon=e), AMOUNTS),
    st.builds(lambda e, d: Budget(epsilon=e, delta=d), AMOUNTS, DELTAS),
    st.builds(Budget.zcdp, AMOUNTS),
)


def test_decimal_amounts_are_exact():
    left = Budget(epsilon=0.3) - Budget(epsilon=0.1) - Budget(epsilon=0.2)
    assert left.empty
    left = Budget(epsilon=1)
    for _ in range(10):
        left -= Budget(epsilon=0.1)
    assert left == Budget(epsilon=0)
    with pytest.raises(GuaranteeError, match="must not exceed"):
        _ = left - Budget(epsilon=1e-300)
    assert 100 * Budget.zcdp(0.01) == Budget.zcdp(1)


def test_overspending_is_refused_and_nothing_changes():
    budget = Budget(epsilon=1, delta=1e-9)
    for price in (Budget(epsilon=1.0000000000000002), Budget(epsilon=0.1, delta=1.1e-9)):
        assert not budget.covers(price)
        with pytest.raises(GuaranteeError, match="Nothing was spent"):
            _ = budget - price
    assert budget == Budget(epsilon=1, delta=1e-9)
    assert not Budget(epsilon=5).covers(Budget(epsilon=1, delta=1e-12))
    assert budget.covers(Budget(epsilon=1))
    assert (budget - Budget(epsilon=1)).exact == (0, Fraction(1, 10**9))


@given(BUDGETS, BUDGETS)
def test_what_is_added_can_be_taken_off_again(one, other):
    if (one.definition == "zcdp") != (other.definition == "zcdp"):
        for mixed in (lambda: one + other, lambda: one - other, lambda: one.covers(other)):
            with pytest.raises(ParameterError, match="must not be mixed"):
                mixed()
        return
    total = one + other
    assert total == other + one
    assert total.covers(one)
    assert total - other == one
    assert (total - other - one).empty


@given(BUDGETS, st.lists(AMOUNTS, min_size=1, max_size=6), st.integers(1, 40))
def test_parts_add_up_to_the_whole(budget, shares, n):
    for wanted in (shares, n):
        if wanted is shares and not any(shares):
            continue
        parts = budget.split(wanted)
        total = parts[0] * 0
        for part in parts:
            total += part
        assert total == budget
        assert len(parts) == (n if wanted is n else len(shares))


@given(BUDGETS)
def test_words_and_pickles_give_it_back(budget):
    for one in (budget, *budget.split(3)):
        assert Budget.from_dict(json.loads(json.dumps(one.to_dict()))) == one
        assert pickle.loads(pickle.dumps(one)) == one
        assert eval(repr(one), {"Budget": Budget, "Fraction": Fraction}) == one
        assert hash(one) == hash(Budget.from_dict(one.to_dict()))


@given(BUDGETS, st.integers(1, 99))
def test_a_read_out_never_says_more_than_there_is(budget, n):
    for part in budget.split(n)[:1]:
        again = Budget.zcdp(part.rho) if part.definition == "zcdp" else Budget(epsilon=part.epsilon, delta=part.delta)
        assert part.covers(again)
        assert float(again.exact[0]) == pytest.approx(float(part.exact[0]), rel=1e-15)


def test_numbers_of_every_sort():
    for one in (0.25, Fraction(1, 4), Decimal("0.25"), np.float64(0.25), np.float32(0.25)):
        assert Budget(epsilon=one) == Budget(epsilon=0.25)
    assert Budget(epsilon=np.int64(3)) == Budget(epsilon=3.0)
    assert Budget(epsilon=1, delta=0).definition == "pure"
    assert Budget(epsilon=0.1).epsilon == 0.1


@pytest.mark.parametrize("bad", [-1, -1e-300, math.nan, math.inf, True, "1", None, Decimal("NaN"), 10**400, [1]])
def test_bad_amounts(bad):
    for build in (lambda: Budget(epsilon=bad), lambda: Budget(epsilon=1, delta=bad), lambda: Budget.zcdp(bad)):
        with pytest.raises(ParameterError, match="must be"):
            build()
    with pytest.raises(ParameterError, match="must be"):
        _ = Budget(epsilon=1) * bad


@pytest.mark.parametrize("shares", [0, -2, [], [0, 0], [1, -1], [math.nan]])
def test_bad_shares(shares):
    with pytest.raises(ParameterError):
        Budget(epsilon=1).split(shares)


@pytest.mark.parametrize("words", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": "x"}, {"epsilon": "1/0"}, {"delta": 0}, 3])
def test_bad_words(words):
    with pytest.raises(ParameterError):
        Budget.from_dict(words)


def test_more_bad_calls():
    with pytest.raises(ParameterError, match="delta must be less than 1"):
        Budget(epsilon=1, delta=1.0)
    with pytest.raises(ParameterError, match="delta must be less than 1"):
        _ = Budget(epsilon=1, delta=0.5) + Budget(epsilon=1, delta=0.5)
    with pytest.raises(ParameterError, match="only budgets"):
        _ = Budget(epsilon=1) + 1
    with pytest.raises(ParameterError, match="no epsilon"):
        _ = Budget.zcdp(1).epsilon
    with pytest.raises(ParameterError, match="only a zCDP"):
        _ = Budget(epsilon=1).rho
    with pytest.raises(ParameterError, match="finite"):
        _ = Budget.zcdp(1e308) * 100
    with pytest.raises(AttributeError):
        Budget(epsilon=1).definition = "zcdp"


def test_words_for_a_reader():
    assert str(Budget(epsilon=1)) == "ε = 1"
    assert str(Budget(epsilon=0.5, delta=1e-9)) == "ε = 0.5, δ = 1e-09"
    assert str(Budget.zcdp(0.125)) == "ρ = 0.125 (zCDP)"


# conversions


def slow_epsilon(rho, delta):
    """The tight conversion on a fine grid of orders, straight from the formula of δ."""
    alpha = 1 + np.exp(np.linspace(np.log(1e-4), np.log(1e8), 200_001))
    log_rest = (alpha - 1) * np.log1p(-1 / alpha) - np.log(alpha)
    return max(0.0, float((alpha * rho + (log_rest - math.log(delta)) / (alpha - 1)).min()))


@pytest.mark.parametrize("rho", [1e-8, 1e-4, 0.01, 0.3, 1, 20, 1000])
@pytest.mark.parametrize("delta", [1e-15, 1e-9, 1e-5, 0.01, 0.3])
def test_conversion_is_the_numerical_optimum(rho, delta):
    found = Budget.zcdp(rho).to_approximate(delta).epsilon
    assert found == pytest.approx(slow_epsilon(rho, delta), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("scale", [0.5, 2.0, 30.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_conversion_agrees_with_opendp(scale, delta):
    from opendp.combinators import make_zCDP_to_approxDP

    profile = make_zCDP_to_approxDP(noise._gaussian(scale)).map(1.0)
    ours = Budget.zcdp(noise.gaussian_rho(scale)).to_approximate(delta).epsilon
    assert ours == pytest.approx(profile.epsilon(delta), rel=1e-4)


def test_conversion_is_above_the_truth_of_the_gaussian():
    """δ(ε) of the continuous Gaussian mechanism has a closed form (Balle and Wang 2018): never above the stated δ."""
    from scipy.stats import norm

    for rho in (0.01, 0.1, 1.0):
        for delta in (1e-9, 1e-5, 1e-2):
            epsilon, mu = Budget.zcdp(rho).to_approximate(delta).epsilon, math.sqrt(2 * rho)
            truth = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
            assert truth <= delta


@given(st.floats(1e-3, 100), DELTAS)
def test_largest_rho_is_covered_and_hardly_more_is(epsilon, delta):
    budget = Budget(epsilon=epsilon, delta=delta)
    rho = budget.largest_zcdp()
    assert budget.covers(rho.to_approximate(delta))
    assert not budget.covers((rho * 1.000001).to_approximate(delta))


def test_other_conversions():
    assert Budget(epsilon=0.2).to_zcdp() == Budget.zcdp(0.02)
    assert Budget.zcdp(0.3).to_zcdp() == Budget.zcdp(0.3) == Budget.zcdp(0.3).largest_zcdp()
    assert Budget.zcdp(0).to_approximate(1e-9) == Budget(epsilon=0, delta=1e-9)
    for wrong in (
        Budget(epsilon=1, delta=1e-9).to_zcdp,
        Budget(epsilon=1).largest_zcdp,
        lambda: Budget(epsilon=1).to_approximate(1e-9),
        lambda: Budget.zcdp(1).to_approximate(0),
        lambda: Budget.zcdp(1).to_approximate(1.5),
    ):
        with pytest.raises(ParameterError):
            wrong()
