"""Synthesis, fits and answers at once on one data set; models that are admitted; the register of releases."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from test_ledger import TENTH, Desk

from shoal.dp import Budget
from shoal.errors import GuaranteeError, InputError
from shoal.ledger import Admission, Batch, Charged, ChargedBatch, Ledger, Refused
from shoal.ledger.amount import UNITS


def test_all_uses_at_once_never_pass_the_one_limit(url):
    ledgers = [Ledger.open(url, patience=60) for _ in range(2)]
    desk = Desk(ledgers[0], epsilon=100, data_limit=3)

    def fit(number):
        try:
            ledgers[number % 2].charge("people", Budget(epsilon=0.1), purpose=f"table {number}")
        except GuaranteeError:
            return "refused"
        return "spent"

    def answer(number):
        outcome = ledgers[number % 2].settle([desk.charge(number)])[0]
        return "spent" if isinstance(outcome, Charged) else "refused"

    def use(number):
        return (fit if number % 3 else answer)(number)

    with ThreadPoolExecutor(4) as pool:
        assert Counter(pool.map(use, range(45))) == {"spent": 30, "refused": 15}
    balance = ledgers[0].balance("data", "people")
    assert (balance.spent, balance.left) == (3 * UNITS, 0)
    assert ledgers[0].verify().head.number == 30 + 2  # and a limit for the client and one for the data set
    for ledger in ledgers:
        ledger.close()


def test_a_batch_is_charged_whole_or_not_at_all(ledger):
    desk = Desk(ledger, epsilon=0.5)
    charges = tuple(desk.charge(i) for i in (1, 2, 2, 3))
    outcome = ledger.settle([Batch(charges=charges)])[0]
    assert isinstance(outcome, ChargedBatch)
    assert [one.amount for one in outcome.charged] == [TENTH, TENTH, 0, TENTH]
    assert outcome.amount == desk.spent() == 3 * TENTH
    refused = ledger.settle([Batch(charges=tuple(desk.charge(i) for i in range(3, 7)))])[0]
    assert isinstance(refused, Refused)
    assert (refused.short, dict(refused.left)["client"], desk.spent()) == (("client",), 2 * TENTH, 3 * TENTH)
    last = ledger.settle([Batch(charges=tuple(desk.charge(i) for i in (3, 4, 5)))])[0]
    assert last.amount == 2 * TENTH
    ledger.check()


def test_admissions_are_kept_once_and_need_a_data_set(ledger):
    words = {"model": "risk", "cost": {"epsilon": 0.5, "delta": 0}, "spent": None, "claims": ({"kind": "x"},)}
    people = ledger.begin_data_set("patients", limit=Budget(epsilon=1))
    admission = Admission(digest="ab", data=people, by="person", **words)
    for _ in range(2):
        ledger.admit(admission)
    assert ledger.admissions() == {"ab": admission}
    assert [e["kind"] for e in ledger.journal()].count("admit") == 1
    with pytest.raises(InputError, match="no data set"):
        ledger.admit(Admission(digest="cd", data="nothing", by="person", **words))
    other = Admission(digest="ef", data=people, by="person", **words)
    for _ in range(2):
        ledger.admit(other, pay=Budget(epsilon=0.75))  # a fit that this book was not charged for, once
    assert ledger.balance("data", people).spent == 75 * UNITS // 100
    with pytest.raises(GuaranteeError, match="must not exceed"):
        ledger.admit(Admission(digest="gh", data=people, by="person", **words), pay=Budget(epsilon=0.5))
    assert set(ledger.admissions()) == {"ab", "ef"}
    ledger.check()


def test_a_fit_that_was_charged_when_it_was_made_is_not_charged_again(ledger):
    people = ledger.begin_data_set("patients", limit=Budget(epsilon=1))
    words = {"model": "risk", "cost": {"epsilon": 0, "delta": 0}, "spent": {"epsilon": 0.5, "delta": 0}, "claims": ()}
    ledger.admit(Admission(digest="ab", data=people, by="fit", **words))
    ledger.enrol("risk", digest="ab", data=people, fit=Budget(epsilon=0.5))
    assert ledger.balance("data", people).spent == 0  # it was charged when it was fitted


def test_the_register_of_releases_is_part_of_the_chain(ledger):
    people = ledger.begin_data_set("patients", limit=Budget(epsilon=1))
    head = ledger.register(people, digest="ab" * 32, words={"title": "Survey 2026", "rows": 1000})
    assert head == ledger.head()
    [found] = ledger.releases(people)
    assert (found["title"], found["digest"], found["data"]) == ("Survey 2026", "ab" * 32, people)
    assert ledger.releases("other") == []
    ledger.check()
