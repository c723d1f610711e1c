"""k-map and presence by loops over persons."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import risk
from shoal.errors import InputError, ParameterError, SchemaError
from shoal.risk.k_map_and_presence import margin_bounds
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["sex", "age"])
PEOPLE = pl.DataFrame({"sex": list("MMMMFFFFFF"), "age": [30, 30, 40, 40, 30, 30, 30, 40, 40, 50]})
SAMPLE = pl.DataFrame({"sex": list("MMFFF"), "age": [30, 40, 30, 30, 50]})
people = st.lists(st.tuples(st.sampled_from("MF"), st.integers(0, 3)), min_size=1, max_size=25)


def table_of(values):
    return pl.DataFrame(values, schema={"sex": pl.String, "age": pl.Int64}, orient="row")


@settings(max_examples=40, deadline=None)
@given(people, st.data(), st.integers(2, 5))
def test_counted_one_by_one(everybody, data, k):
    inside = [person for person in everybody if data.draw(st.booleans())] or everybody[:1]
    found = risk.k_map(table_of(inside), table_of(everybody), SCHEMA, k=k)
    assert found.violating == sum(everybody.count(person) < k for person in inside)
    assert found.smallest == min(everybody.count(person) for person in inside)
    assert found.holds == (found.violating == 0)
    shares = [inside.count(person) / everybody.count(person) for person in everybody]
    delta = risk.presence(table_of(inside), table_of(everybody), SCHEMA)
    assert (delta.least, delta.most) == (min(shares), max(shares))
    assert delta.n_certain == shares.count(1.0)
    assert delta.n_absent == shares.count(0.0)
    if delta.most <= 1 / k:
        assert found.holds


def test_known_numbers():
    assert [risk.k_map(SAMPLE, PEOPLE, SCHEMA, k=k).violating for k in (2, 3)] == [1, 3]
    found = risk.presence(SAMPLE, PEOPLE, SCHEMA)
    assert (found.least, found.most, found.fraction) == (0, 1, 0.5)
    low, high = margin_bounds(np.array([[40.0, 15, 10], [90, 85, 80]]), 100)
    assert (low.tolist(), high.tolist()) == ([0, 55], [10, 80])


def test_a_class_that_the_file_lacks_is_no_safety():
    found = risk.k_map(SAMPLE, PEOPLE.filter(pl.col("age") < 50), SCHEMA, k=2)
    assert (found.violating, found.uncovered, found.holds) == (0, 1, None)
    with pytest.raises(InputError, match="every person"):
        risk.presence(SAMPLE, PEOPLE.filter(pl.col("age") < 50), SCHEMA)


def test_margins_prove_and_refute():
    margins = {"sex": {"M": 4, "F": 6}, "age": {30: 5, 40: 4, 50: 1}}
    found = risk.k_map(SAMPLE, margins, SCHEMA, k=2)
    assert (found.basis, found.violating, found.interval, found.holds) == ("margins", 1, (1, 5), False)
    common = {"sex": {"M": 95, "F": 5}, "age": {30: 97, 40: 3}}
    proved = risk.k_map(SAMPLE[:1], common, SCHEMA, k=5)
    assert (proved.smallest, proved.holds) == (92, True)
    open_ = risk.k_map(SAMPLE[1:2], {"sex": {"M": 50, "F": 50}, "age": {40: 50, 30: 50}}, SCHEMA, k=5)
    assert open_.holds is None


@pytest.mark.parametrize(("margins", "bounds", "model"), [((40, 15, 10), (0, 10), 0.6), ((90, 85, 80), (55, 80), 61.2)])
def test_bounds_hold_what_independence_guesses(margins, bounds, model):
    low, high = margin_bounds(np.array([margins], dtype=float), 100)
    assert (low[0], high[0]) == bounds
    assert np.prod(np.array(margins) / 100) * 100 == pytest.approx(model)
    assert low[0] <= model <= high[0]


def test_a_size_gives_a_chance():
    found = risk.k_map(pl.DataFrame({"sex": ["M"], "age": [1]}), 10, SCHEMA, k=5)
    assert (found.basis, found.violating, found.holds) == ("size", pytest.approx(0.3439), None)
    crowd = pl.DataFrame({"sex": ["M"] * 6, "age": [1] * 6})
    assert risk.k_map(crowd, 60, SCHEMA, k=5).holds is True


def test_persons_of_several_rows_and_other_types(make_frame):
    schema = Schema.of(quasi=["age"], unit="u")
    everybody = make_frame(pl.DataFrame({"age": [30.0, 30.0, 41.0], "u": ["a", "a", "b"]}))
    found = risk.k_map(make_frame(pl.DataFrame({"age": [30]})), everybody, schema, k=2)
    assert (found.violating, found.smallest) == (1, 1)
    json.dumps(found.to_dict(), allow_nan=False)


def test_bad_input():
    with pytest.raises(SchemaError, match="population: must have the column 'age'"):
        risk.k_map(SAMPLE, PEOPLE.drop("age"), SCHEMA)
    with pytest.raises(ParameterError, match="each value of 'age'"):
        risk.k_map(SAMPLE, {"sex": {"M": 4}}, SCHEMA)
    with pytest.raises(ParameterError, match="same total"):
        risk.k_map(SAMPLE, {"sex": {"M": 4}, "age": {30: 9}}, SCHEMA)
    with pytest.raises(ParameterError, match="numbers of persons"):
        risk.k_map(SAMPLE, {"sex": {"M": -4}, "age": {30: 9}}, SCHEMA)
    with pytest.raises(ParameterError, match="at least as many"):
        risk.k_map(SAMPLE, 2, SCHEMA)
