"""Top and bottom coding by quantile."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.coarsening.recode import Tails
from shoal.conform import prepare
from shoal.errors import ColumnError, ParameterError
from shoal.schema import Schema

numbers = st.lists(st.integers(-50, 50), min_size=1, max_size=40)


def recoded(values, **words):
    prepared = prepare(pl.DataFrame({"x": values}), Schema.of(quasi=["x"], missing={"x": "drop"}))
    return shoal.Recode(steps={"x": {"kind": "tails", **words}}).apply(prepared, seed=0).columns["x"].to_list()


@given(numbers, st.floats(0.01, 0.49))
def test_no_more_than_the_share_changes(values, share):
    ordered = sorted(values)
    top = ordered[len(values) - 1 - int(share * len(values))]
    assert recoded(values, high=share) == [min(value, top) for value in values]
    assert sum(value > top for value in values) <= share * len(values)
    bottom = ordered[int(share * len(values))]
    assert recoded(values, low=share) == [max(value, bottom) for value in values]


def test_records_count_not_values():
    values = [1] * 98 + [50, 99]
    assert sorted(set(recoded(values, high=0.01))) == [1, 50]
    assert sorted(set(recoded(values, high=0.03))) == [1]
    assert recoded([1.5, 2.5, 3.5], low=0.4, high=0.4) == [2.5, 2.5, 2.5]


def test_a_release_has_no_value_beyond():
    table = pl.DataFrame({"age": np.arange(200)})
    recode = shoal.Recode(steps={"age": {"kind": "tails", "high": 0.05}})
    release = shoal.coarsen(table, Schema.of(quasi=["age"]), recode, seed=1)
    assert release.table["age"].max() == 189


@pytest.mark.parametrize("words", [{}, {"high": 0.5}, {"low": -0.1}, {"middle": 0.1}])
def test_wrong_words(words):
    with pytest.raises(ParameterError):
        recoded([1, 2, 3], **words)


def test_texts_and_hierarchies_are_refused():
    prepared = prepare(pl.DataFrame({"x": ["SENTINEL", "b"]}), Schema.of(quasi=["x"]))
    with pytest.raises(ColumnError, match="must hold numbers") as caught:
        shoal.Recode(steps={"x": Tails(high=0.1)}).apply(prepared, seed=0)
    assert "SENTINEL" not in str(caught.value)
    with pytest.raises(ParameterError, match="step of Recode"):
        Tails(high=0.1).apply(pl.Series("x", [1, 2]))
    with pytest.raises(ParameterError, match="kind must be one of"):
        shoal.Hierarchy.of({"kind": "steps", "steps": [{"kind": "tails", "high": 0.1}]})
