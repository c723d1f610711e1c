"""Answers cost their client and model ε, and the data set what its limit counts: ε, ε²/2 in ρ, or α ε²/2."""

import json
import math
from fractions import Fraction

import pytest
from test_ledger import TENTH, Desk

from shoal.dp import Budget
from shoal.errors import GuaranteeError, ParameterError
from shoal.ledger import Batch, Charged, ChargedBatch, Keys, Ledger, Refused
from shoal.ledger.amount import UNITS


class Counted(Desk):
    """A client who asks about a data set with a limit of any kind."""

    def __init__(self, ledger, limit, epsilon=100):
        self.people = ledger.begin_data_set("patients", limit=limit)
        self.ledger, self.name, self.model, self.data = ledger, "ward", "risk", self.people
        self.key, _ = Keys(ledger).add("ward", epsilon=epsilon)
        self.place = ledger.enrol("risk", digest="d", data=self.people)

    def balance(self):
        return self.ledger.balance("data", self.people)


def test_under_a_limit_in_rho_each_answer_counts_half_of_epsilon_squared(ledger, url):
    desk = Counted(ledger, Budget.zcdp(0.0101))
    assert isinstance(desk.pay("a"), Charged)  # ε = 0.1 is ρ = 0.005
    assert desk.balance().spent == UNITS // 200
    assert desk.pay("a").amount == 0  # known, and free
    refused = desk.pay("b", UNITS // 3)
    assert isinstance(refused, Refused)
    assert (refused.short, dict(refused.left)["data"]) == (("data",), 51 * UNITS // 10_000)
    assert isinstance(desk.pay("c"), Charged)
    assert isinstance(desk.pay("d"), Refused)
    assert (desk.spent(), desk.spent("model"), desk.balance().answered) == (2 * TENTH, 2 * TENTH, UNITS // 100)
    ledger.check()
    assert ledger.verify().head == ledger.head()
    again = Ledger.open(url)  # sums of ε and of ρ follow from one journal
    assert again.balance("data", desk.people) == desk.balance()
    again.close()


def test_the_journal_says_which_of_the_two_an_entry_counts(ledger):
    desk = Counted(ledger, Budget.zcdp(1))
    desk.pay("a")
    paid, counted = list(ledger.journal())[-2:]
    assert (paid["client"], paid["epsilon"], paid["rho"], paid["data"]) == ("ward", "0.1", None, None)
    assert (counted["client"], counted["epsilon"], counted["rho"]) == (None, None, "0.005")


def test_an_answer_that_costs_as_much_in_rho_as_in_epsilon_is_told_in_both(ledger):
    desk = Counted(ledger, Budget.zcdp(3))
    desk.pay("a", 2 * UNITS)
    assert list(ledger.journal())[-1] | {"client": "ward", "epsilon": "2", "rho": "2"} == list(ledger.journal())[-1]


def test_the_price_in_rho_is_rounded_upwards(ledger):
    desk = Counted(ledger, Budget.zcdp(1))
    third = UNITS // 3  # its square is no whole number of units
    desk.pay("a", third)
    assert desk.balance().spent == third**2 // (2 * UNITS) + 1


def test_a_batch_is_added_up_in_rho_before_any_of_it_is_charged(ledger):
    desk = Counted(ledger, Budget.zcdp(0.01))
    three = tuple(desk.charge(number) for number in range(3))
    assert isinstance(ledger.settle([Batch(charges=three)])[0], Refused)
    assert desk.balance().spent == 0
    assert isinstance(ledger.settle([Batch(charges=three[:2])])[0], ChargedBatch)
    assert desk.balance().left == 0


def test_rho_is_reserved_for_answers_and_nothing_else(ledger):
    desk = Counted(ledger, Budget.zcdp(0.02))
    with pytest.raises(ParameterError, match="must be in rho"):
        ledger.reserve(desk.people, 1)
    ledger.reserve(desk.people, Budget.zcdp(0.005))
    with pytest.raises(GuaranteeError, match="must not exceed"):
        ledger.charge(desk.people, Budget.zcdp(0.016), purpose="a table")
    ledger.charge(desk.people, Budget.zcdp(0.015), purpose="a table")
    assert isinstance(desk.pay("a"), Charged)
    assert isinstance(desk.pay("b"), Refused)
    ledger.check()


def test_at_a_fixed_renyi_order_an_answer_counts_the_smaller_of_two_bounds(ledger):
    desk = Counted(ledger, Budget(epsilon=5, delta=1e-6))
    assert desk.pay("a").amount == desk.balance().answered == TENTH  # nothing in ρ was spent yet
    ledger.charge(desk.people, Budget.zcdp(0.01), purpose="a table")
    before = desk.balance()
    order = Fraction(json.loads(before.conversion)["order"])
    desk.pay("b")
    expected = min(TENTH, math.ceil(order * Fraction(TENTH**2, 2 * UNITS)))
    assert desk.balance().answered - before.answered == expected < TENTH
    desk.pay("c", 2 * UNITS)  # at a large ε the plain bound is the smaller
    assert desk.balance().answered - before.answered - expected == 2 * UNITS
    ledger.check()
