"""What follows from other columns by arithmetic: found on a sample, true on all rows, and nothing found in noise."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from shoal import KMember, Resample, anonymize
from shoal.schema.arithmetic import formulas
from shoal.schema.infer import propose

N = 300
RNG = np.random.default_rng(3)
WEIGHT, HEIGHT = RNG.normal(75, 12, N).round(1), RNG.normal(170, 9, N).round()
BORN = [dt.date(1940, 1, 1) + dt.timedelta(days=int(days)) for days in RNG.integers(0, 20_000, N)]
SEEN = [dt.date(2010, 1, 1) + dt.timedelta(days=int(days)) for days in RNG.integers(0, 3_000, N)]


def found(**columns):
    made = formulas({name: pl.Series(name, values) for name, values in columns.items()})
    return {one.column: (one.of, one.words, one.share) for one in made}


def years(first, last):
    return last.year - first.year - ((last.month, last.day) < (first.month, first.day))


@pytest.mark.parametrize("digits", [1, 2, 4])
def test_a_body_mass_index_follows_from_weight_and_height_whatever_its_rounding(digits):
    bmi = (WEIGHT / (HEIGHT / 100) ** 2).round(digits)
    got = found(height=HEIGHT, weight=WEIGHT, bmi=bmi)
    assert got == {"bmi": (("weight", "height"), "in proportion to weight / height²", 1.0)}


def test_sums_of_two_of_neighbours_and_of_every_second_column():
    parts = {name: RNG.integers(0, 500, N) for name in "abcdef"}
    assert found(a=parts["a"], d=parts["d"], t=parts["a"] + parts["d"])["t"][0] == ("a", "d")
    assert found(**parts, t=sum(parts.values()))["t"][0] == tuple("abcdef")
    assert found(**parts, t=parts["a"] + parts["c"] + parts["e"])["t"][0] == ("a", "c", "e")


def test_days_and_years_between_dates():
    days = [(last - first).days for first, last in zip(BORN, SEEN, strict=True)]
    ages = [years(first, last) for first, last in zip(BORN, SEEN, strict=True)]
    assert found(born=BORN, seen=SEEN, days=days) == {"days": (("born", "seen"), "the days from born to seen", 1.0)}
    assert found(born=BORN, seen=SEEN, age=ages) == {
        "age": (("born", "seen"), "the whole years from born to seen", 1.0)
    }


def test_multiples_logarithms_squares_and_products():
    cost = RNG.gamma(2, 500, N).round(2)
    got = found(cost=cost, doubled=2 * cost, logged=np.log(cost), square=cost**2, count=RNG.integers(11, 99, N))
    assert got["doubled"][1:] == ("in proportion to cost", 1.0)
    assert got["logged"][1:] == ("linear in the logarithm of cost", 1.0)
    assert got["square"][1:] == ("in proportion to the square of cost", 1.0)
    count = RNG.integers(11, 99, N)
    assert found(price=cost, count=count, total=(cost * count).round(2))["total"][1] == "in proportion to price × count"


def test_a_row_that_the_sample_does_not_show_is_counted():
    a, b = RNG.integers(1, 900, 5_000), RNG.integers(1, 900, 5_000)
    total = a + b
    total[[17, 4_000]] += 1
    assert found(a=a, b=b, t=total)["t"][2] == 0.9996
    total[:200] += 1
    assert "t" not in found(a=a, b=b, t=total)


def test_nothing_follows_from_noise_zeros_few_rows_or_texts():
    noise = {f"x{i}": RNG.normal(50, 10, 2_000).round(2) for i in range(12)}
    rare = {f"r{i}": RNG.integers(0, 5, 2_000) * (RNG.random(2_000) < 0.01) for i in range(8)}
    assert found(**noise, **rare, yes=RNG.integers(0, 2, 2_000)) == {}
    assert found(a=[*range(20)], b=[*range(20, 40)]) == {}
    assert found(a=["x"] * N, b=["y"] * N) == {}


def test_numbers_that_are_near_each_other_do_not_follow():
    age = RNG.integers(18, 90, N)
    assert found(age=age, later=age + RNG.integers(0, 2, N)) == {}
    number = RNG.integers(10**15, 2 * 10**15, N)
    assert "same" not in str(found(number=number, next=number + RNG.integers(0, 5, N)))
    assert found(number=number, again=number)["again"][1] == "the same as number"


def test_numbers_of_any_size_are_looked_at_without_a_warning():
    endless = [float("inf"), float("nan"), float("-inf")] * (N // 3)
    assert found(a=endless, b=RNG.random(N) * 1e300, c=RNG.random(N) * 1e-300, d=(1 + RNG.random(N)) * 1e200) == {}


def test_what_follows_from_sensitive_columns_alone_is_sensitive_and_no_other():
    lab, other = RNG.integers(1, 300, N), RNG.integers(1, 300, N)
    table = pl.DataFrame({"glucose": lab, "insulin": other, "zz": lab + other, "age": RNG.integers(18, 90, N)})
    proposal = propose(table)
    assert proposal.schema["zz"].role == "sensitive"
    assert proposal.reasons["zz"].startswith(
        "zz is the sum of glucose and insulin, and glucose, insulin are sensitive."
    )
    mixed = propose(table.with_columns(zz=pl.col("glucose") + pl.col("age")))
    assert mixed.schema["zz"].role == "quasi"
    assert "zz" in mixed.undecided
    told = propose(table.with_columns(glucose=pl.when(pl.int_range(N) == 5).then(None).otherwise("glucose")))
    assert told.schema["zz"].role == "quasi"  # it says what glucose is silent about


def test_a_proposal_asks_about_what_is_computed_and_the_answer_works():
    table = pl.DataFrame({"height": HEIGHT, "weight_kg": WEIGHT, "bmi": (WEIGHT / (HEIGHT / 100) ** 2).round(1)})
    text = propose(table).to_toml()
    assert 'Is it made from that? If so: derived = ["weight_kg", "height"]' in text
    costs = pl.DataFrame({"income": RNG.integers(1, 9_000, N), "cost": RNG.integers(1, 900, N)})
    costs = costs.with_columns(zz=pl.col("income") + pl.col("cost"))
    proposal = propose(costs)
    assert "sum = { income = 1, cost = 1, zz = -1 } and equals = 0" in proposal.comments["zz"]
    rule = {"sum": {"income": 1, "cost": 1, "zz": -1}, "equals": 0}
    schema = type(proposal.schema).from_dict({**proposal.schema.to_dict(), "rules": [rule]})
    schema = schema.with_columns(type(c)(name=c.name, role="quasi", kind="numeric") for c in schema.columns)
    release = anonymize(costs, schema, group=KMember(k=4), mask=Resample(), seed=1)
    assert (release.table["income"] + release.table["cost"] == release.table["zz"]).all()
