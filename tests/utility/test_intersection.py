from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError, SchemaError
from shoal.schema import Schema
from shoal.utility import bootstrap_intersection, histogram_intersection

ROWS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=1, max_size=40)
SCHEMA = Schema.of(quasi=["x", "s"])


def frame(rows):
    return pl.DataFrame(rows, schema={"x": pl.Int64, "s": pl.String}, orient="row")


def oracle(original, released):
    """Σ min(p, q), counted row by row."""
    p, q = Counter(original), Counter(released)
    return sum(min(p[c] / len(original), q[c] / len(released)) for c in p | q)


EVERY = [(x, s) for x in range(4) for s in "ab"]  # so that both tables know all levels


@settings(max_examples=20)
@given(ROWS, ROWS)
def test_equals_the_oracle_and_is_symmetric(first, second):
    first, second = first + EVERY, second + EVERY
    there = histogram_intersection(frame(first), frame(second), SCHEMA)
    assert there == pytest.approx(oracle(first, second))
    assert there == pytest.approx(histogram_intersection(frame(second), frame(first), SCHEMA))
    assert 0 <= there <= 1


def test_golden_by_hand():
    original = frame([(0, "a"), (0, "a"), (1, "b"), (2, "b")])
    released = frame([(0, "a"), (1, "b"), (1, "b"), (1, "b")])
    assert histogram_intersection(original, released, SCHEMA) == 0.5


def test_released_centroids_are_rounded_to_the_nearest_value():
    original = pl.DataFrame({"x": [1, 2, 4]})
    released = pl.DataFrame({"x": [1.4, 2.9, 3.1]})
    assert histogram_intersection(original, released, Schema.of(quasi=["x"])) == pytest.approx(1.0)


def test_the_original_itself_in_any_order_scores_one(survey, schema):
    assert histogram_intersection(survey, survey.reverse(), schema) == 1.0
    assert histogram_intersection(survey, survey.reverse(), schema, weighted=True) == pytest.approx(1.0)


def test_noise_scores_little(survey, noise, schema):
    assert histogram_intersection(survey, noise, schema) < 0.2


def test_a_release_of_another_length():
    original = pl.DataFrame({"x": [1, 1, 2, 2]})
    released = pl.DataFrame({"x": [1, 2]})
    assert histogram_intersection(original, released, Schema.of(quasi=["x"])) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_a_weight_of_two_equals_a_row_twice(seed, survey_maker, noise_maker, schema):
    table = survey_maker(150, seed)
    released = noise_maker(table, seed)
    times = table["perwt"].cast(pl.Int64).to_numpy()
    rows = np.repeat(np.arange(len(table)), times)
    weighted = histogram_intersection(table, released, schema, weighted=True, bins=5)
    assert weighted == pytest.approx(histogram_intersection(table[rows], released[rows], schema, bins=5))
    assert weighted != pytest.approx(histogram_intersection(table, released, schema, bins=5))


def test_constant_and_single_columns():
    constant = pl.DataFrame({"x": [7.0] * 5})
    schema = Schema.of(quasi=["x"])
    assert histogram_intersection(constant, constant, schema) == 1.0
    assert histogram_intersection(constant, constant.with_columns(x=pl.lit(9.0)), schema) == 1.0  # nearest value


def test_bootstrap_equals_repeated_resampling():
    rng = np.random.default_rng(0)
    rows = [(int(x), "a") for x in rng.integers(0, 4, 300)]
    found = bootstrap_intersection(frame(rows), SCHEMA, draws=200, seed=4)
    drawn = [oracle(rows, [rows[i] for i in rng.integers(300, size=300)]) for _ in range(200)]
    assert found.value == pytest.approx(np.mean(drawn), abs=0.005)
    assert found.interval[0] < np.quantile(drawn, 0.1)
    assert found.interval[1] > np.quantile(drawn, 0.9)
    assert float(found) == found.value


def test_bootstrap_repeats_with_its_seed(survey, schema):
    assert bootstrap_intersection(survey, schema, seed=1) == bootstrap_intersection(survey, schema, seed=1)
    assert bootstrap_intersection(survey, schema, seed=1) != bootstrap_intersection(survey, schema, seed=2)
    assert 0 < bootstrap_intersection(survey, schema, weighted=True).value < 1


def test_to_dict_is_plain(survey, schema):
    assert set(bootstrap_intersection(survey, schema).to_dict()) == {"value", "interval", "draws"}


@pytest.mark.parametrize("bins", [1, 0, 2.5, True, "20"])
def test_bad_bins(bins, survey, schema):
    with pytest.raises(ParameterError, match="bins must be a whole number at least 2"):
        histogram_intersection(survey, survey, schema, bins=bins)


def test_bad_calls(survey, schema, people, people_schema):
    with pytest.raises(ParameterError, match="draws"):
        bootstrap_intersection(survey, schema, draws=1)
    with pytest.raises(ParameterError, match="weighted must be False"):
        histogram_intersection(people, people, people_schema, weighted=True)
    with pytest.raises(SchemaError, match="quasi-identifier 'age'"):
        histogram_intersection(survey, survey.drop("age"), schema)
