"""The purse: every count goes through the door of noise, at the scale that its price buys, and every price is paid.

Allotments are as good as a slow optimiser finds them, and their prices sum to the budget whatever the data say.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from shoal.dp import Budget, noise
from shoal.errors import ShoalError
from shoal.synth import spend
from shoal.synth.spend import Purse, by_cells, by_gain, capped, expected_noise, n_pairs

TABLES = [np.array([[5, 0], [2, 9]]), np.array([7, 9]), np.array([3, 4, 9])]
PRICES = [Budget(epsilon=0.75), Budget.zcdp(0.02)]


@pytest.fixture
def door(monkeypatch):
    """What went through the door of noise: the kind, what was asked, and what came out."""
    seen = []

    def watched(name):
        real = getattr(noise, name)

        def through(*words):
            found = real(*words)
            seen.append((name, words, found))
            return found

        return through

    for name in ("discrete_laplace", "discrete_gaussian", "noisy_max", "noisy_max_zcdp"):
        monkeypatch.setattr(noise, name, watched(name))
    return seen


def price_of(call, n_tables):
    """What a noisy table really costs, by OpenDP's own map, when a record counts once in each of `n_tables`."""
    name, (_, scale), _ = call
    if name == "discrete_laplace":
        return noise.laplace_epsilon(scale, n_tables)
    return noise.gaussian_rho(scale, math.sqrt(n_tables))


def amount(price):
    return price.rho if price.definition == "zcdp" else price.epsilon


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_tables_bought_together_cost_their_price_and_nothing_goes_round_the_door(door, price):
    purse = Purse(left=price * 2)
    noisy, _ = purse.tables("tables", TABLES, price)
    (call,) = door
    assert call[1][0].tolist() == [5, 0, 2, 9, 7, 9, 3, 4, 9]
    assert np.array_equal(call[2], np.concatenate([table.ravel() for table in noisy]))
    assert [table.shape for table in noisy] == [table.shape for table in TABLES]
    assert amount(price) * (1 - 1e-9) <= price_of(call, 3) <= amount(price)
    assert purse.left == purse.spent == price
    assert purse.bought[0].scale == call[1][1]


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_tables_bought_apart_cost_each_its_own_price(door, price):
    prices = price.split([1, 2, 5])
    purse = Purse(left=price)
    noisy, _ = purse.apart("table", TABLES, prices)
    for one, table, drawn in zip(prices, TABLES, noisy, strict=True):
        (call,) = [found for found in door if found[1][0].tolist() == table.ravel().tolist()]
        assert amount(one) * (1 - 1e-9) <= price_of(call, 1) <= amount(one)
        assert np.array_equal(call[2], drawn.ravel())
    assert len(door) == 3
    assert purse.left.empty
    assert purse.spent == sum(prices, price * 0)


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_a_choice_is_paid_for_and_made_at_the_door(door, price):
    purse, scores = Purse(left=price * 3), np.array([1, 5, 2])
    at = purse.choice("parents", scores, 2.0, price)
    ((name, words, found),) = door
    assert name == ("noisy_max_zcdp" if price.definition == "zcdp" else "noisy_max")
    assert (words[0].tolist(), words[1], words[2], found) == ([1, 5, 2], 2.0, amount(price), at)
    assert purse.left == price * 2
    assert purse.spent == price


@pytest.mark.parametrize("price", PRICES, ids=str)
def test_what_is_not_left_buys_nothing(door, price):
    purse = Purse(left=price)
    buy = [
        lambda: purse.tables("tables", TABLES, price * 2),
        lambda: purse.choice("parents", np.array([1, 2]), 1.0, price * 2),
        lambda: purse.apart("table", TABLES[:1], [price * 2]),
    ]
    for too_much in buy:
        with pytest.raises(ShoalError):
            too_much()
    assert door == []
    assert purse.bought == []
    assert purse.left == price


BUDGETS = [Budget(epsilon=0.7), Budget.zcdp(0.013)]
budgets = st.one_of(
    st.floats(1e-6, 1e3).map(lambda e: Budget(epsilon=e)), st.floats(1e-9, 1e3).map(lambda r: Budget.zcdp(r))
)
rhos = st.floats(1e-9, 1e3).map(lambda r: Budget.zcdp(r))
tables = st.lists(st.lists(st.floats(0, 1e8), min_size=1, max_size=6).map(np.array), min_size=1, max_size=6)


def deviation(price, definition):
    return 1 / math.sqrt(2 * price) if definition == "zcdp" else math.sqrt(2) / price


def left_over(spread, precision):
    """The error that is left, up to the factor √(2/π)."""
    return sum(sum((1 / max(v, 1e-12) + w) ** -0.5 for v in table) for table, w in zip(spread, precision, strict=True))


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp"])
def test_shares_by_cells_are_the_best_public_ones(budget):
    cells, whole = [4, 30, 200, 2000], amount(budget)

    def error(logs):
        shares = np.exp(logs) / np.exp(logs).sum()
        return sum(c * deviation(whole * share, budget.definition) for c, share in zip(cells, shares, strict=True))

    best = minimize(error, np.zeros(4), method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-9, "maxiter": 5000})
    ours = [amount(price) / whole for price in by_cells(cells, budget)]
    assert error(np.log(ours)) == pytest.approx(best.fun, rel=1e-5)
    assert error(np.zeros(4)) > 1.1 * best.fun


@given(st.lists(st.integers(1, 200_000), min_size=1, max_size=20), budgets)
def test_prices_by_cells_sum_to_the_budget(cells, budget):
    prices = by_cells(cells, budget)
    assert sum(prices[1:], prices[0]) == budget
    assert not any(price.empty for price in prices)


@given(tables, rhos, st.data())
def test_prices_by_gain_sum_to_the_budget_whatever_was_seen(spread, budget, data):
    precision = data.draw(st.lists(st.floats(0, 1e12), min_size=len(spread), max_size=len(spread)))
    prices = by_gain(spread, precision, budget)
    assert len(prices) == len(spread)
    assert sum(prices[1:], prices[0]) == budget


@given(
    st.lists(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=4).map(np.array), min_size=3, max_size=3),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
def test_crumbs_reach_the_least_error_of_all_ways_to_give_them(spread, precision):
    n, rho = 7, 0.3
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spend, "CRUMBS", n)
        prices = by_gain(spread, precision, Budget.zcdp(rho))

    def error(shares):
        return left_over(spread, [w + 2 * rho * share / n for w, share in zip(precision, shares, strict=True)])

    ways = [way for way in itertools.product(range(n + 1), repeat=3) if sum(way) == n]
    ours = [round(n * price.rho / rho) for price in prices]
    assert sum(ours) == n
    assert error(ours) <= min(map(error, ways)) * (1 + 1e-9)


def test_crumbs_are_fine_enough():
    """Beside a continuous optimum by SciPy."""
    rng = np.random.default_rng(1)
    spread = [rng.gamma(0.5, scale, size) for scale, size in ((900, 40), (50, 200), (5000, 12), (1, 500), (300, 300))]
    precision, rho = np.array([1, 2, 0.5, 3, 2]) / 2000, 0.002

    def error(logs):
        return left_over(spread, precision + 2 * rho * np.exp(logs) / np.exp(logs).sum())

    best = min(
        minimize(error, start, method="Nelder-Mead", options={"maxiter": 4000}).fun
        for start in rng.normal(0, 1, (3, 5))
    )
    ours = np.array([price.rho / rho for price in by_gain(spread, precision, Budget.zcdp(rho))])
    assert left_over(spread, precision + 2 * rho * ours) <= best * 1.0005


def test_nothing_is_spent_on_what_is_known():
    spread = [np.full(50, 400.0), np.zeros(50), np.full(50, 400.0)]
    prices = by_gain(spread, [0.001, 0.001, 1000.0], Budget.zcdp(0.01))
    assert [price.empty for price in prices] == [False, True, True]


@pytest.mark.parametrize("rho", [1e-18, 1e12, 1e200])
def test_gains_at_the_ends_of_the_range(rho):
    prices = by_gain([np.ones(3), np.zeros(3), np.full(3, 1e300)], [0.0, 1e300, 1e-300], Budget.zcdp(rho))
    assert sum(prices[1:], prices[0]) == Budget.zcdp(rho)


def even(*sizes):
    return [np.full(size, 1 / size) for size in sizes]


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "zcdp"])
def test_expected_noise_is_that_of_the_prices(budget):
    cells = [6, 40, 60]
    noise = [
        math.sqrt(2 / math.pi) * c * deviation(amount(price), budget.definition)
        for c, price in zip(cells, by_cells(cells, budget), strict=True)
    ]
    assert expected_noise(cells, 3, budget) == pytest.approx(noise, rel=1e-3)
    assert expected_noise([9] * 6, 2, budget) == pytest.approx(expected_noise([9] * 2, 2, budget)[0])


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=6).map(np.array),
    st.lists(st.floats(0, 1), min_size=1, max_size=6).map(np.array),
    st.floats(1, 1e6),
    st.floats(1e-3, 1e9),
)
def test_noise_is_capped_by_what_a_cell_holds(p, q, total, size):
    slow = sum(min(size, total * a * b) for a in p for b in q)
    assert capped(p, q, total, size) == pytest.approx(slow, rel=1e-9, abs=1e-9)


def test_number_of_pairs_by_a_public_rule():
    pure, rho = Budget(epsilon=1), Budget.zcdp(0.0135)
    five = even(5, 5, 5, 5, 5)
    assert [n_pairs(five, n, 0.0, pure) for n in (1e6, 3600, 3500, 2600, 2500, 900, 700)] == [10, 10, 8, 8, 4, 4, 0]
    assert [n_pairs(five, n, 0.0, rho) for n in (1e6, 1000, 900)] == [10, 10, 0]
    assert n_pairs(even(1000, 1000, 1000), 1e9, 0.0, pure) == 3
    assert n_pairs(even(300, 300, 300, 300, 300), 1e9, 0.0, pure) == 8  # too many cells for all
    assert n_pairs(even(5), 1e9, 0.0, pure) == 0


def test_levels_that_nobody_has_are_not_held_against_a_pair():
    half, budget = np.array([0.5, 0.5]), Budget.zcdp(0.02)
    long = np.concatenate([half, np.zeros(38)])
    assert n_pairs([long] * 4, 1500.0, 0.0, budget) == 6
    assert n_pairs(even(40, 40, 40, 40), 1500.0, 0.0, budget) == 0
    assert n_pairs([long] * 4, 1500.0, 1000.0, budget) == 0  # margins that are noise show nothing


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.floats(1, 1e7), budgets)
def test_more_records_or_budget_never_mean_fewer_pairs(sizes, total, budget):
    found = n_pairs(even(*sizes), total, 10.0, budget)
    assert 0 <= found <= len(sizes) * (len(sizes) - 1) // 2
    assert n_pairs(even(*sizes), 2 * total, 10.0, budget) >= found
    assert n_pairs(even(*sizes), total, 10.0, budget * 2) >= found
