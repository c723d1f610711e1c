"""Aggregates in all their forms, and everything that may be wrong with them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.aggregate import Aggregate, PseudoInverse
from shoal.aggregate.published import resolve
from shoal.errors import ColumnError, InputError, ParameterError

BY = ["b", "a", "b", "c"]


def values(**words):
    return PseudoInverse().reconstruct(np.arange(4.0), [Aggregate(**words)]).values.tolist()


@pytest.mark.parametrize(
    "words",
    [
        {"by": BY, "mean": [1.0, 2.0, 3.0]},
        {"by": BY, "mean": {"c": 3.0, "a": 1.0, "b": 2.0}},
        {"by": BY, "groups": ["c", "a", "b"], "mean": [3, 1, 2]},
        {"by": BY, "groups": ["c", "a", "b"], "mean": np.array([3, 1, 2]), "count": [1, 1, 2]},
        {"by": BY, "total": {"c": 3.0, "a": 1.0, "b": 4.0}},
        {"by": BY, "total": {"c": 3.0, "a": 1.0, "b": 4.0}, "count": {"a": 1, "b": 2, "c": 1}},
        {"by": np.array(BY), "mean": (1.0, 2.0, 3.0)},
        {"by": pl.Series(BY), "mean": pl.Series([1.0, 2.0, 3.0])},
        {"by": pd.Series(BY, index=[9, 8, 7, 6]), "mean": pd.Series([1.0, 2.0, 3.0])},
        {"by": pl.Series(BY, dtype=pl.Categorical), "mean": {"c": 3.0, "a": 1.0, "b": 2.0}},
        {"by": pd.Categorical(BY), "mean": [1.0, 2.0, 3.0]},
        {"by": [1, 0, 1, 2], "mean": [1.0, 2.0, 3.0]},
        {"by": np.array([1.0, 0.0, 1.0, 2.0]), "mean": [1.0, 2.0, 3.0]},
        {"by": [7, 5, 7, 11], "mean": [1.0, 2.0, 3.0]},
        {"by": [7, 5, 7, 11], "mean": {11: 3.0, 5: 1.0, 7: 2.0}},
        {"by": [7, 5, 7, 11], "groups": ["11", "5", "7"], "mean": [3.0, 1.0, 2.0]},
    ],
)
def test_forms(words):
    assert values(**words) == pytest.approx([2, 1, 2, 3])


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ({"by": BY, "mean": {"a": 1.0, "b": 2.0}}, "1 of 3 groups without one"),
        ({"by": BY, "mean": [1.0, 2.0]}, "2 aggregates, 3 groups"),
        ({"by": [1, 0, 1, 3], "mean": [1.0, 2.0, 3.0, 4.0]}, "1 of 4 aggregates without rows"),
        ({"by": BY, "mean": {"a": 1, "b": 2, "c": 3, "d": 4}}, "1 of 4 aggregates without rows"),
        ({"by": BY, "groups": ["a", "b", "c", "b"], "mean": [1, 2, 3, 4]}, "1 repeated"),
        ({"by": BY, "mean": [1.0, np.nan, 3.0]}, "1 missing or infinite"),
        ({"by": BY, "mean": [1.0, None, 3.0]}, "1 missing or infinite"),
        ({"by": BY, "mean": [1.0, np.inf, 3.0]}, "1 missing or infinite"),
        ({"by": BY, "mean": ["low", "high", "low"]}, "must be numbers"),
        ({"by": BY, "mean": [1, 2, 3], "count": [1, 3, 1]}, "1 of 3 groups that differ"),
        ({"by": BY, "mean": [1, 2, 3], "count": [1, 0, 1]}, "greater than 0"),
        ({"by": BY, "mean": [1, 2, 3], "count": [1, 2]}, "2 of 3"),
        ({"by": BY, "mean": [1, 2, 3], "count": {"a": 1}}, "1 of 3"),
        ({"by": BY[:3], "mean": [1, 2]}, "3 labels, 4 rows"),
        ({"by": ["b", None, "b", "c"], "mean": [1, 2]}, "1 without one"),
        ({"by": [1.0, np.nan, 1.0, 2.0], "mean": [1, 2]}, "1 without one"),
        ({"by": [["a"], ["b"], ["a"], ["c"]], "mean": [1, 2, 3]}, "."),
    ],
)
def test_bad_input(words, match):
    with pytest.raises(InputError, match=match):
        values(**words)


def test_mean_or_total():
    for words in ({}, {"mean": [1, 2, 3], "total": [1, 2, 3]}):
        with pytest.raises(ParameterError, match="one of mean, total and median"):
            values(by=BY, **words)


def test_aggregates_must_be_aggregates():
    with pytest.raises(ParameterError, match="at least one"):
        PseudoInverse().reconstruct(np.arange(4.0), [])
    with pytest.raises(ParameterError, match="sequence of Aggregate"):
        PseudoInverse().reconstruct(np.arange(4.0), [BY])
    assert PseudoInverse().reconstruct(np.arange(4.0), Aggregate(by=BY, mean=[1, 2, 3])).values[0] == pytest.approx(2)


def test_no_error_names_a_group_or_a_value():
    by = ["SENTINEL-1", "SENTINEL-2", "SENTINEL-2"]
    for mean in ({"SENTINEL-1": 1.0}, {"SENTINEL-1": 1.0, "SENTINEL-2": 2.0, "SENTINEL-3": 3.0}, ["SENTINEL", "x"]):
        with pytest.raises(InputError) as caught:
            PseudoInverse().reconstruct(np.arange(3.0), [Aggregate(by=by, mean=mean)])
        assert "SENTINEL" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_built_from_a_table(make_frame):
    table = pl.DataFrame({"county": BY, "charge": [4.0, 1.0, 2.0, 7.0]})
    made = Aggregate.of(make_frame(table), by="county", value="charge")
    assert list(made.mean) == [1.0, 3.0, 7.0]
    assert list(made.count) == [1, 2, 1]
    assert made.name == "county"
    weighted = Aggregate.of(make_frame(table), by="county", value="charge", weights=[3.0, 1.0, 1.0, 1.0])
    assert list(weighted.mean) == [1.0, 3.5, 7.0]
    with pytest.raises(ColumnError, match="hospital"):
        Aggregate.of(make_frame(table), by="hospital", value="charge")


def test_joined_from_two_tables(make_frame):
    table = pl.DataFrame({"county": [3, 1, 3]})
    published = pl.DataFrame({"area": ["1", "3"], "avg": [10.0, 20.0], "people": [1, 2]})
    made = Aggregate.joined(
        make_frame(table), make_frame(published), by="county", key="area", value="avg", count="people"
    )
    assert PseudoInverse().reconstruct(np.arange(3.0), [made]).values.tolist() == pytest.approx([20, 10, 20])
    totals = Aggregate.joined(table, published, by="county", key="area", value="avg", total=True)
    assert resolve(totals, 3, None).s.tolist() == [10, 10]


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(-1e6, 1e6), st.floats(0.1, 10)), min_size=1, max_size=60))
def test_means_match_whatever_the_groups(rows):
    labels, y, w = (np.array(column) for column in zip(*rows, strict=True))
    table = pl.DataFrame({"g": labels, "y": y})
    for weights in (None, w):
        made = Aggregate.of(table, by="g", value="y", weights=weights)
        found = PseudoInverse().reconstruct(y[:, None], [made], weights=weights)
        mass = np.ones(len(y)) if weights is None else w
        for g in np.unique(labels):
            inside = labels == g
            assert np.average(found.values[inside], weights=mass[inside]) == pytest.approx(
                np.average(y[inside], weights=mass[inside]), rel=1e-9, abs=1e-6
            )
