"""The purse: every count goes through the door of noise, at the scale that its price buys, and every price is paid."""

import math

import numpy as np
import pytest

from shoal.dp import Budget, noise
from shoal.errors import ShoalError
from shoal.synth.spend import Purse

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
