"""Composition against a limit: plain sums, sound conversions, and a journal that is replayed on reading."""

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.claim import Claim
from shoal.dp import Budget
from shoal.dp.journal import Journal
from shoal.errors import GuaranteeError

SMALL = st.integers(1, 60).map(lambda n: Fraction(n, 100))
CHARGES = st.one_of(
    st.builds(lambda e: Budget(epsilon=e), SMALL),
    st.builds(lambda e, d: Budget(epsilon=e, delta=d * Fraction(1, 10**7)), SMALL, SMALL),
    st.builds(lambda r: Budget.zcdp(r / 50), SMALL),
)
LIMITS = st.sampled_from([Budget(epsilon=1), Budget(epsilon=2, delta=1e-6), Budget.zcdp(0.2)])


def spend(limit, charges):
    journal, accepted = Journal.begun(limit), []
    for budget in charges:
        try:
            journal = journal.charged(budget, "test")
            accepted.append(budget)
        except GuaranteeError:
            continue
    return journal, accepted


def plain_sum(accepted, definition):
    return sum(b.exact[0] for b in accepted if b.definition == definition)


def pure_sum(accepted, conversion):
    """ε each; once the order α is fixed by the first ρ, the smaller of ε and α ε²/2."""
    total, fixed = Fraction(0), False
    for budget in accepted:
        fixed = fixed or (budget.definition == "zcdp" and not budget.empty)
        if budget.definition == "pure":
            epsilon = budget.exact[0]
            total += min(epsilon, conversion.order * epsilon**2 / 2) if fixed else epsilon
    return total


@given(LIMITS, st.lists(CHARGES, max_size=12))
def test_never_above_the_limit_and_never_below_the_truth(limit, charges):
    journal, accepted = spend(limit, charges)
    assert limit.covers(journal.spent)
    assert journal.spent + journal.left == limit
    pure, rho = plain_sum(accepted, "pure"), plain_sum(accepted, "zcdp")
    if limit.definition == "pure":
        assert journal.spent == Budget(epsilon=pure)
        assert all(budget.definition == "pure" for budget in accepted)
    elif limit.definition == "zcdp":
        squares = sum(b.exact[0] ** 2 / 2 for b in accepted if b.definition == "pure")
        assert journal.spent == Budget.zcdp(rho + squares)
    else:
        epsilon, delta = journal.spent.exact
        plain = pure_sum(accepted, journal.conversion) + plain_sum(accepted, "approximate")
        if rho:
            plain += Budget.zcdp(rho).to_approximate(journal.conversion.delta).exact[0]
            assert delta == limit.exact[1]
            assert float(epsilon) >= float(plain) * (1 - 1e-12)
        else:
            assert epsilon == plain


@given(LIMITS, st.lists(CHARGES, max_size=8))
def test_words_give_it_back(limit, charges):
    journal, _ = spend(limit, charges)
    assert Journal.from_dict(json.loads(json.dumps(journal.to_dict()))) == journal


@pytest.mark.parametrize("first", [Budget(epsilon=0), Budget(epsilon=0.7), Budget(epsilon=0.3, delta=2e-7)])
def test_the_largest_rho_can_be_spent_in_one_go_and_in_parts(first):
    """One fixed order loses nothing when all that is left goes to ρ, in however many parts."""
    for n in (1, 7):
        journal = Journal.begun(Budget(epsilon=2, delta=1e-6)).charged(first, "before")
        rho = journal.left.largest_zcdp()
        for part in rho.split(n):
            journal = journal.charged(part, "ρ")
        assert journal.left.epsilon < 1e-9
        assert journal.left.delta == 0


def test_conversions_are_said():
    journal = Journal.begun(Budget(epsilon=2, delta=1e-6))
    for budget in (Budget.zcdp(0.01), Budget.zcdp(0.01), Budget(epsilon=0.1)):
        journal = journal.charged(budget, "x")
    first, second, third = journal.entries
    assert "first charge in ρ pays" in first.note
    assert "Rényi order" in second.note
    assert second.price.exact[0] == journal.conversion.order / 100
    assert "α ε² / 2" in third.note
    assert "ε² / 2" in Journal.begun(Budget.zcdp(1)).charged(Budget(epsilon=1), "x").entries[0].note


@pytest.mark.parametrize(
    ("limit", "budget"),
    [
        (Budget(epsilon=9), Budget(epsilon=1, delta=1e-9)),
        (Budget(epsilon=9), Budget.zcdp(1e-9)),
        (Budget.zcdp(9), Budget(epsilon=1, delta=1e-9)),
        (Budget(epsilon=1), Budget(epsilon=1.0000001)),
        (Budget(epsilon=1, delta=1e-6), Budget(epsilon=0.1, delta=1.1e-6)),
        (Budget(epsilon=1, delta=1e-6), Budget.zcdp(0.1)),
        (Budget(epsilon=0), Budget(epsilon=1e-9)),
    ],
)
def test_refusals(limit, budget):
    with pytest.raises(GuaranteeError, match="Nothing was spent"):
        Journal.begun(limit).charged(budget, "x")


def test_rho_needs_delta_that_is_left():
    journal = Journal.begun(Budget(epsilon=1, delta=1e-6)).charged(Budget(epsilon=0.1, delta=1e-6), "x")
    with pytest.raises(GuaranteeError, match="No delta is left"):
        journal.charged(Budget.zcdp(0.001), "x")


def test_empty_charges_are_free_in_any_currency():
    for limit in (Budget(epsilon=0), Budget(epsilon=1, delta=1e-6), Budget.zcdp(0)):
        for nothing in (Budget(epsilon=0), Budget.zcdp(0)):
            assert Journal.begun(limit).charged(nothing, "x").spent.empty


def cheaper(words):
    words["entries"][0]["price"]["epsilon"] = 0.01


def fewer(words):
    words["entries"].pop()


def richer(words):
    words["limit"]["epsilon"] = 99


def no_fee(words):
    words["conversion"]["fee"] = "0"


def no_conversion(words):
    words["conversion"] = None


@pytest.mark.parametrize("change", [cheaper, fewer, richer, no_fee, no_conversion])
def test_a_changed_journal_is_not_believed(change):
    claim = Claim(kind="epsilon-DP", value=0.2, scope="per data set", basis="proved", statement="So.")
    journal = Journal.begun(Budget(epsilon=1, delta=1e-6)).charged(Budget(epsilon=0.2), "a", claim)
    words = json.loads(json.dumps(journal.charged(Budget.zcdp(0.001), "b").to_dict()))
    assert Journal.from_dict(words).entries[0].claim == claim
    change(words)
    with pytest.raises(ValueError, match=r"."):
        Journal.from_dict(words)


def test_once_the_order_is_fixed_a_small_pure_cost_counts_by_its_divergence():
    journal = Journal.begun(Budget(epsilon=4, delta=1e-9)).charged(Budget.zcdp(0.005), "noise")
    order = journal.conversion.order
    small, large = (journal.charged(Budget(epsilon=e), "a fit").entries[-1] for e in (0.01, 1))
    assert small.price.exact[0] == order * Fraction(1, 100) ** 2 / 2 < Fraction(1, 100)
    assert "Rényi order" in small.note
    assert (large.price, large.note) == (Budget(epsilon=1), "")  # there the plain sum is the tighter one
    even = journal.charged(Budget(epsilon=2 / order), "a fit").entries[-1]
    assert (even.price, even.note) == (Budget(epsilon=2 / order), "")  # both are the same: nothing was converted
    words = journal.charged(Budget(epsilon=0.01), "a fit").to_dict()
    assert Journal.from_dict(words).to_dict() == words
    before = Journal.begun(Budget(epsilon=2, delta=1e-9)).charged(Budget(epsilon=0.01), "a fit")
    assert before.entries[-1].price == Budget(epsilon=0.01)  # no order is fixed yet


@given(st.floats(1e-4, 3), st.floats(1.01, 100), st.floats(0, 1))
def test_the_divergence_of_a_pure_mechanism_is_below_what_is_counted(epsilon, order, share):
    """Randomised response at ε, and mixtures of it with a coin: their Rényi divergence by its definition."""
    import math

    p = share * math.exp(epsilon) / (1 + math.exp(epsilon)) + (1 - share) * 0.5
    q = 1 - p
    total = p**order * q ** (1 - order) + q**order * p ** (1 - order)
    divergence = math.log(total) / (order - 1)
    assert divergence <= min(epsilon, order * epsilon**2 / 2) * (1 + 1e-9) + 1e-12
