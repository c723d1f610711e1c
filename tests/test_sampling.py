"""A sample for a trial: rows at random, or whole persons."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal import Schema
from shoal.errors import ParameterError
from shoal.sampling import sample_of

AGES = Schema.of(quasi=["age"])
PEOPLE = Schema.of(unit="who", quasi=["age"])


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame, lambda d: pl.DataFrame(d).to_arrow()])
def test_so_many_rows_of_the_same_type_in_their_order(frame):
    table = frame({"age": list(range(100))})
    part = sample_of(table, AGES, 30, seed=1)
    assert type(part) is type(table)
    ages = np.asarray(part["age"])
    assert len(ages) == 30
    assert (np.diff(ages) > 0).all()


def test_a_seed_repeats_it_and_without_one_it_is_another():
    table = pl.DataFrame({"age": list(range(1000))})
    assert sample_of(table, AGES, 50, seed=3).equals(sample_of(table, AGES, 50, seed=3))
    assert not sample_of(table, AGES, 50).equals(sample_of(table, AGES, 50))


def test_a_table_that_is_small_enough_stays_as_it_is():
    table = pl.DataFrame({"age": [1, 2]})
    assert sample_of(table, AGES, 2) is table


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "many"])
def test_a_size_must_be_a_whole_number(n):
    with pytest.raises(ParameterError, match="whole number"):
        sample_of(pl.DataFrame({"age": [1, 2]}), AGES, n)


@given(st.lists(st.integers(0, 9) | st.none(), min_size=2, max_size=60), st.integers(1, 59))
def test_persons_come_whole_and_no_more_of_them_than_are_needed(who, n):
    table = pl.DataFrame({"who": who, "age": list(range(len(who)))}, schema={"who": pl.Int64, "age": pl.Int64})
    part = sample_of(table, PEOPLE, n, seed=2)
    assert len(part) >= min(n, len(table))
    known = part.filter(pl.col("who").is_not_null())
    for person in known["who"].unique():
        assert (known["who"] == person).sum() == (table["who"] == person).sum()
    if n < len(table):
        largest = table["who"].value_counts()["count"].max()
        assert len(part) < n + largest


def test_every_row_is_as_likely_as_any_other():
    table = pl.DataFrame({"age": list(range(10))})
    drawn = np.bincount(np.concatenate([sample_of(table, AGES, 3, seed=s)["age"] for s in range(2000)]), minlength=10)
    assert abs(drawn - 600).max() < 5 * np.sqrt(600 * 0.7)


def test_of_linked_tables_persons_are_drawn_with_all_their_events():
    tables, schema = shoal.datasets.clinic(60, seed=3), shoal.datasets.clinic_schema()
    part = sample_of(tables, schema, 20, seed=1)
    assert list(part) == list(tables)
    assert part["patients"].height == 20
    visits = tables["visits"].filter(pl.col("patient").is_in(part["patients"]["patient"].implode()))
    assert part["visits"].equals(visits)
    drugs = tables["prescriptions"].filter(pl.col("visit").is_in(visits["visit"].implode()))
    assert part["prescriptions"].equals(drugs)
