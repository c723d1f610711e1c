"""Where a limit begins to bind: exactly at what is spent and reserved, on SQLite."""

import pytest
from test_prices import Counted

from shoal.dp import Budget
from shoal.errors import GuaranteeError, ParameterError
from shoal.ledger.amount import UNITS

DELTA = 1e-6


@pytest.fixture
def people(sqlite_ledger):
    """A data set with a limit of 10, of which 3 went to a table."""
    name = sqlite_ledger.begin_data_set("patients", limit=Budget(epsilon=10, delta=2 * DELTA))
    sqlite_ledger.charge(name, Budget(epsilon=3, delta=DELTA), purpose="a table")
    return name


def test_all_that_is_not_spent_may_be_reserved_and_no_more(sqlite_ledger, people):
    with pytest.raises(GuaranteeError, match=r"epsilon = 7\.5 where 7 is not spent on other uses"):
        sqlite_ledger.reserve(people, 7.5)
    sqlite_ledger.reserve(people, 7)
    assert sqlite_ledger.balance("data", people).reserved == 7 * UNITS


def test_answers_that_were_given_count_in_the_reserve(sqlite_ledger):
    desk = Counted(sqlite_ledger, Budget(epsilon=10))
    sqlite_ledger.charge(desk.people, Budget(epsilon=3), purpose="a table")
    desk.pay("a", UNITS)
    with pytest.raises(GuaranteeError, match="where 7 is not spent on other uses"):
        sqlite_ledger.reserve(desk.people, 7.5)
    sqlite_ledger.reserve(desk.people, 7)


def test_a_limit_may_fall_to_what_is_spent_and_reserved_and_no_further(sqlite_ledger, people):
    sqlite_ledger.reserve(people, 2)
    with pytest.raises(ParameterError, match="less than what is spent or reserved"):
        sqlite_ledger.limit("data", people, Budget(epsilon=4.9, delta=2 * DELTA))
    with pytest.raises(ParameterError, match="less than what is spent or reserved"):
        sqlite_ledger.limit("data", people, Budget(epsilon=10, delta=DELTA / 2))
    assert sqlite_ledger.limit("data", people, Budget(epsilon=5, delta=DELTA)).cap == 5 * UNITS


def test_a_fit_is_added_to_what_was_spent_before(sqlite_ledger, people):
    sqlite_ledger.enrol("certified", digest="file", data=people, fit=Budget(epsilon=2))
    assert sqlite_ledger.balance("data", people).spent == 5 * UNITS
    sqlite_ledger.check()
