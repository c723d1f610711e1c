import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from shoal.errors import ParameterError
from shoal.schema import Schema
from shoal.utility import energy_distance
from shoal.utility.energy import energy

POINTS = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=1, max_size=12).map(
    lambda rows: np.array(rows, dtype=float)
)


def oracle(x, y):
    return 2 * cdist(x, y).mean() - cdist(x, x).mean() - cdist(y, y).mean()


@settings(max_examples=20)
@given(POINTS, POINTS)
def test_equals_the_oracle_and_is_symmetric(x, y):
    value, coefficient = energy(x, y)
    assert value == pytest.approx(max(0.0, oracle(x, y)), abs=1e-9)
    assert value == pytest.approx(energy(y, x)[0], abs=1e-9)
    assert 0 <= coefficient <= 1


def test_unbiased_leaves_the_diagonals_out():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(600, 2)), rng.normal(size=(600, 2))
    off = ~np.eye(600, dtype=bool)
    expected = 2 * cdist(x, y).mean() - cdist(x, x)[off].mean() - cdist(y, y)[off].mean()
    assert energy(x, y, unbiased=True)[0] == pytest.approx(expected)
    linked = 2 * cdist(x, y)[off].mean() - cdist(x, x)[off].mean() - cdist(y, y)[off].mean()
    assert energy(x, y, unbiased=True, linked=True)[0] == pytest.approx(linked)


def test_golden_by_hand():
    """Original -1, 1 (deviation 1), released 1, 1: 2·1 - 1 - 0 = 1, of 2·1."""
    original, released = pl.DataFrame({"a": [-1.0, 1.0]}), pl.DataFrame({"a": [1.0, 1.0]})
    found = energy_distance(original, released, Schema.of(quasi=["a"]))
    assert (found.value, found.coefficient) == pytest.approx((1.0, 0.5))
    assert (found.interval, found.sampled, found.n_rows) == (None, False, 4)


def test_the_original_itself(survey, schema):
    assert energy_distance(survey, survey.reverse(), schema).value == pytest.approx(0, abs=1e-9)


def test_levels_are_equally_far_apart():
    schema = Schema.of(quasi=["t"])
    table = pl.DataFrame({"t": list("aabbcc")})
    found = [energy_distance(table, pl.DataFrame({"t": [level] * 6}), schema).value for level in "abc"]
    assert found == pytest.approx([found[0]] * 3)


def test_random_parts_agree_with_the_whole(survey_maker, noise_maker, schema):
    table = survey_maker(600)
    moved = noise_maker(table).with_columns(age=pl.col("age") + 15)
    whole = energy_distance(table, moved, schema)
    parts = energy_distance(table, moved, schema, most_rows=200)
    assert parts.sampled
    assert parts.interval[0] - 0.02 < whole.value < parts.interval[1] + 0.02
    assert energy_distance(table, table, schema, most_rows=200).value == pytest.approx(0, abs=1e-9)
    independent = energy_distance(table, survey_maker(700, 9), schema, most_rows=200)
    assert independent.interval[0] < 0.02


def test_a_tiny_release_of_a_large_table(survey, schema):
    found = energy_distance(survey, survey[:1], schema, most_rows=100)
    assert (found.sampled, found.interval) == (True, None)
    assert found.value > 0


def test_one_row_constant_columns_and_missing_values():
    one = pl.DataFrame({"a": [2.0]})
    schema = Schema.of(quasi=["a"])
    assert energy_distance(one, one, schema).value == 0.0
    assert energy_distance(pl.DataFrame({"a": [2.0, 3.0]}), pl.DataFrame({"a": [None, 3.0]}), schema).value > 0


def test_bad_rows(survey, schema):
    with pytest.raises(ParameterError, match="most_rows"):
        energy_distance(survey, survey, schema, most_rows=3)
