"""Columns that follow from others: found on a sample, true on all rows, checked against a plain count."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from shoal.schema.dependency import dependencies


def found(**columns):
    made = dependencies({name: pl.Series(name, values) for name, values in columns.items()})
    return {(one.column, one.of): one.share for one in made}


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1)), min_size=12, max_size=40))
def test_exact_dependencies_are_those_of_a_plain_count(rows):
    columns = dict(zip("abc", map(list, zip(*rows, strict=True)), strict=True))
    got = {(y, x) for (y, x), share in found(**columns).items() if share == 1}
    expected = set()
    for x in columns:
        for y in columns:
            values = {}
            for one, other in zip(columns[x], columns[y], strict=True):
                values.setdefault(one, set()).add(other)
            enough = len(values) > 1 and 3 * len(values) <= len(rows) and len(set(columns[y])) > 1
            if x != y and enough and all(len(kept) == 1 for kept in values.values()):
                expected.add((y, (x,)))
    assert got == expected


def test_description_follows_from_its_code_both_ways():
    code = [1, 2, 3] * 20
    made = dependencies({"code": pl.Series(code), "word": pl.Series(["a", "b", "c"] * 20)})
    assert [(one.column, one.of, one.both_ways) for one in made] == [
        ("code", ("word",), True),
        ("word", ("code",), True),
    ]


def test_missing_value_is_a_value_of_its_own():
    assert (("y", ("x",))) not in found(x=[1, 1, 1, 2, 2, 2] * 5, y=["a", "a", None, "b", "b", "b"] * 5)


def test_near_dependency_gives_its_share_and_a_skewed_column_gives_none():
    age = list(range(20)) * 50
    group = [value // 10 for value in age]
    group[0] = 1
    assert found(age=age, group=group) == {("group", ("age",)): 0.999}
    rare = [0] * 1000
    rare[0] = 1
    assert ("rare", ("age",)) not in found(age=age, rare=rare)


def test_late_row_that_breaks_a_dependency_is_seen():
    x = [i % 40 for i in range(30_000)]
    y = [str(value % 4) for value in x]
    y[29_999] = "9"
    assert found(x=x, y=y)[("y", ("x",))] < 1


def test_a_column_follows_from_two():
    height = [150 + i % 12 for i in range(600)]
    weight = [50 + (i * 7) % 13 for i in range(600)]
    bmi = [round(w / (h / 100) ** 2, 3) for h, w in zip(height, weight, strict=True)]
    assert found(height=height, weight=weight, bmi=bmi)[("bmi", ("height", "weight"))] == 1.0


def test_key_and_constant_say_nothing():
    assert found(key=list(range(60)), x=[1, 2] * 30, one=[1] * 60) == {}


def test_a_pair_must_say_more_than_either_alone():
    twice = [1 + i // 2 for i in range(10)]
    spent = [0] * 300 + twice + list(range(6, 296))  # those who spent nothing repeat, nearly all others differ
    size = [*(i % 12 for i in range(300)), *twice, *(i % 12 for i in range(290))]
    stays = [0] * 300 + twice + [1 + i % 12 for i in range(290)]
    assert ("stays", ("spent", "size")) not in found(spent=spent, size=size, stays=stays)
