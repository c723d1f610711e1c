import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import ParameterError
from shoal.dp import Account, Budget, ProtectedUnit, Spending, noise
from shoal.dp.unit import rows_within

PEOPLE = st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.integers(0, 2)), min_size=1, max_size=20)


def kept(rows, most, key):
    persons = pl.Series([person for person, _ in rows], dtype=pl.String)
    return rows_within(persons, np.array([[value] for _, value in rows]), most, key)


@given(rows=PEOPLE, most=st.integers(1, 4), key=st.integers(0, 2**63 - 1))
def test_nobody_keeps_more_and_nobody_loses_more_than_needed(rows, most, key):
    stay = kept(rows, most, key)
    for person in ("a", "b", "c"):
        own = [bool(s) for s, (who, _) in zip(stay, rows, strict=True) if who == person]
        assert sum(own) == min(most, len(own))
    assert all(s for s, (who, _) in zip(stay, rows, strict=True) if who is None)  # each is a person of their own


@given(rows=PEOPLE, most=st.integers(1, 3), key=st.integers(0, 2**63 - 1), data=st.data())
def test_other_people_and_the_order_change_nothing(rows, most, key, data):
    """With the key known: without c, and in any order, a and b keep the same rows. So one person changes m rows."""
    stay = kept(rows, most, key)
    rest = data.draw(st.permutations([row for row in rows if row[0] != "c"]))
    if rest:
        again = kept(rest, most, key)
        before = sorted(str(row) for row, s in zip(rows, stay, strict=True) if s and row[0] != "c")
        assert sorted(str(row) for row, s in zip(rest, again, strict=True) if s) == before


def test_every_row_has_the_same_chance():
    """Also equal ones: of A, A, B one is B in a third of the draws. 300 draws, false alarm below 1e-6."""
    rows = [("a", 0), ("a", 0), ("a", 1)]
    share = np.mean([kept(rows, 1, key)[2] for key in range(300)])
    assert abs(share - 1 / 3) < 5 * math.sqrt(2 / 9 / 300)


@given(m=st.integers(1, 50), epsilon=st.floats(0.01, 10))
def test_group_privacy(m, epsilon):
    """m steps of a row's price are the person's: ε adds up, and a zCDP noise scaled for √ρ adds up by squares."""
    unit = ProtectedUnit(rows=m)
    assert unit.per_row(Budget(epsilon=epsilon)) * m == Budget(epsilon=epsilon)
    rho = unit.per_row(Budget.zcdp(0.5)).exact[0]
    assert rho * m * m == Fraction(1, 2)
    scale = noise.gaussian_scale(float(rho))
    assert noise.gaussian_rho(scale, float(m)) <= 0.5 * (1 + 1e-9)  # m counts moved by one, all in one cell


def test_a_delta_is_not_divided():
    with pytest.raises(ParameterError, match="converted to rho"):
        ProtectedUnit(rows=2).per_row(Budget(epsilon=1, delta=1e-6))


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, None])
def test_wrong_rows(rows):
    with pytest.raises(ParameterError, match="rows must be"):
        ProtectedUnit(rows=rows)


def test_words():
    assert "up to 3 rows" in ProtectedUnit(rows=3).statement
    assert any("was not checked" in text for text in ProtectedUnit(rows=3).assumptions)
    assert any("3 were kept, at random" in text for text in ProtectedUnit(rows=3, held=True).assumptions)


def test_an_account_says_what_is_spent(tmp_path):
    data = tmp_path / "t.csv"
    data.write_text("x\n1\n")
    account = Account.open(data, limit=Budget(epsilon=2))
    account.charge(Budget(epsilon=0.5), purpose="a table")
    spending = account.spending
    assert spending == Spending(
        account=account.data_set,
        spent=Budget(epsilon=0.5),
        limit=Budget(epsilon=2),
        n_entries=1,
        head=str(account.head),
    )
    account.ledger.verify(head=spending.head)
    assert Spending.from_dict(spending.to_dict()) == spending
    assert str(spending) == f"Account {account.data_set}: ε = 0.5 spent of ε = 2 in 1 entries."


@pytest.mark.parametrize(
    ("rows", "text", "stay"), [(1, "one person with one row", "one was kept"), (3, "up to 3 rows", "3 were kept")]
)
def test_a_claim_says_how_many_rows_a_person_has(rows, text, stay):
    unit = ProtectedUnit(rows=rows, held=True)
    assert text in unit.statement
    assert stay in unit.assumptions[1]
    assert stay not in ProtectedUnit(rows=rows).assumptions[1]
