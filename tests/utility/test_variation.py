import json
from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.schema import Schema
from shoal.utility import total_variation
from shoal.utility.intersection import fresh_variation

ROWS = st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=30)
KINDS = {"a": "nominal", "b": "nominal", "y": "nominal"}
SCHEMA = Schema.of(quasi=["a", "b"], sensitive=["y"], kinds=KINDS)
EVERY = [(value, value, value) for value in range(3)]


def frame(rows):
    return pl.DataFrame(rows, schema=["a", "b", "y"], orient="row")


def oracle(first, second, columns):
    p, q = (Counter(tuple(row[c] for c in columns) for row in rows) for rows in (first, second))
    return sum(abs(p[key] / len(first) - q[key] / len(second)) for key in p | q) / 2


@settings(max_examples=20)
@given(ROWS, ROWS)
def test_equals_the_oracle_and_is_symmetric(first, second):
    first, second = first + EVERY, second + EVERY
    found = total_variation(frame(first), frame(second), SCHEMA)
    assert dict(found.one_way.by_columns) == pytest.approx(
        {"a": oracle(first, second, [0]), "b": oracle(first, second, [1])}
    )
    assert dict(found.two_way.by_columns) == pytest.approx({"a x b": oracle(first, second, [0, 1])})
    assert dict(found.response.by_columns) == pytest.approx(
        {"a x y": oracle(first, second, [0, 2]), "b x y": oracle(first, second, [1, 2])}
    )
    back = total_variation(frame(second), frame(first), SCHEMA)
    assert float(found) == pytest.approx(float(back))
    assert found.response.largest <= 1


def test_a_joint_is_at_least_as_far_as_its_margins(survey, noise, schema):
    found = total_variation(survey, noise, schema)
    assert found.one_way.largest == pytest.approx(0)
    assert found.two_way.mean > 0.05
    assert found.response.mean > 0.05
    assert (found.one_way.n_all, found.two_way.n_all, found.response.n_all) == (5, 10, 10)


def test_the_original_itself_has_none(survey, schema):
    found = total_variation(survey, survey.reverse(), schema)
    assert [found.one_way.largest, found.two_way.largest, found.response.largest] == [0.0, 0.0, 0.0]


def test_one_column_has_no_pairs():
    table = pl.DataFrame({"a": [1, 2]})
    found = total_variation(table, table, Schema.of(quasi=["a"]))
    assert (found.two_way.mean, found.two_way.largest, found.two_way.n_all) == (None, None, 0)
    assert float(found) == 0.0


def test_many_pairs_are_sampled_and_it_says_so(survey, noise, schema):
    found = total_variation(survey, noise, schema, most_pairs=4, seed=3)
    everything = total_variation(survey, noise, schema)
    assert (found.two_way.n_measured, found.two_way.n_all) == (4, 10)
    assert (found.response.n_measured, found.response.n_all) == (4, 10)
    assert set(found.two_way.by_columns) < set(everything.two_way.by_columns)
    assert found == total_variation(survey, noise, schema, most_pairs=4, seed=3)
    assert len(json.loads(json.dumps(found.to_dict()))["two_way"]["by_columns"]) == 4


def test_columns_with_very_many_levels():
    table = pl.DataFrame({"a": [f"v{i}" for i in range(500)], "b": [f"w{i}" for i in range(500)]})
    moved = table.with_columns(b=table["b"].reverse())
    found = total_variation(table, moved, Schema.of(quasi=["a", "b"]))
    assert (found.one_way.largest, found.two_way.largest) == (0.0, 1.0)


def test_weights_count(survey, noise, schema):
    weighted = total_variation(survey, noise, schema, weighted=True)
    assert weighted.weighted
    assert weighted.two_way.mean != total_variation(survey, noise, schema).two_way.mean


def test_bad_calls(survey, schema):
    with pytest.raises(ParameterError, match="most_pairs"):
        total_variation(survey, survey, schema, most_pairs=0)
    with pytest.raises(ParameterError, match="bins"):
        total_variation(survey, survey, schema, bins=1)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=5), st.integers(1, 6))
def test_what_a_fresh_sample_moves_by_enumeration(counts, n):
    p = np.array(counts, dtype=float)
    if p.sum() == 0:
        return
    p /= p.sum()
    expected = 0.0
    for draw in product(range(len(p)), repeat=n):
        q = np.bincount(draw, minlength=len(p)) / n
        expected += float(np.prod(p[list(draw)])) * np.abs(p - q).sum() / 2
    assert fresh_variation(p, n) == pytest.approx(expected, abs=1e-12)


def test_a_fresh_sample_of_a_survey_moves_as_much(survey, schema):
    rng = np.random.default_rng(3)
    found = [total_variation(survey, survey[rng.integers(len(survey), size=len(survey))], schema) for _ in range(8)]
    for order in ("one_way", "two_way", "response"):
        seen, fresh = np.mean([getattr(one, order).mean for one in found]), getattr(found[0], order).fresh
        assert seen == pytest.approx(fresh, rel=0.15)
