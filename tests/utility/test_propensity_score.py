from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from shoal.errors import ParameterError
from shoal.schema import Schema
from shoal.utility import energy_distance, propensity
from shoal.utility.design import designs, stack
from shoal.utility.propensity_score import compare_to_null, energy, fitted_probabilities
from shoal.utility.tables import both_columns, side_by_side

SCHEMA = Schema.of(quasi=["a", "t"])


def sample(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"a": rng.normal(shift, 1, n), "t": rng.choice(list("uvw"), n)})


def test_probabilities_equal_a_general_optimiser():
    pair = side_by_side(sample(80, 0), sample(60, 1, 0.7), SCHEMA)
    original, released, _ = designs(both_columns(pair), "numeric")
    design, labels = stack(original, released), np.repeat([0.0, 1.0], [80, 60])
    X = design.rows(0, 140)
    best = minimize(lambda b: np.sum(np.logaddexp(0, X @ b) - labels * (X @ b)), np.zeros(X.shape[1]), tol=1e-10)
    found, converged = fitted_probabilities(design, labels)
    assert converged
    assert found == pytest.approx(1 / (1 + np.exp(-X @ best.x)), abs=1e-4)


def test_separable_tables_give_the_largest_pmse():
    found = propensity(sample(50, 0), sample(50, 1, 100.0), SCHEMA)
    assert found.converged
    assert found.pmse == pytest.approx(0.25, abs=1e-3)
    assert found.ratio > 10


def test_the_original_itself_cannot_be_told(survey, schema):
    found = propensity(survey, survey.reverse(), schema)
    assert found.pmse == pytest.approx(0, abs=1e-12)
    assert float(found) == pytest.approx(0, abs=1e-9)


def test_an_independent_sample_scores_about_one():
    found = [propensity(sample(400, s), sample(300, 100 + s), SCHEMA).ratio for s in range(40)]
    assert np.mean(found) == pytest.approx(1.0, abs=4 * np.std(found) / np.sqrt(40))


def test_the_null_expectation_by_hand():
    labels = np.repeat([0.0, 1.0], [6, 2])
    found = compare_to_null(np.where(labels == 1, 0.5, 0.25), labels, 3)
    assert found.pmse == pytest.approx(2 * 0.0625 / 8)
    assert found.expected == pytest.approx(2 * 0.75**2 * 0.25 / 8)
    assert found.ratio == pytest.approx(found.pmse / found.expected)
    assert found.standardised == pytest.approx((found.pmse - found.expected) / (2 * 0.75**2 * 0.25 / 8))


def test_squares_and_products_see_lost_variance_and_links(survey, noise, schema):
    with_products = propensity(survey, noise, schema)
    without = propensity(survey, noise, schema, interactions=False)
    assert with_products.ratio > 3 > without.ratio
    assert with_products.n_parameters > without.n_parameters
    table = sample(300, 0).drop("t")
    narrow = table.with_columns(pl.col("a") * 0.3)
    assert propensity(table, narrow, Schema.of(quasi=["a"])).ratio > 5


def test_constant_columns_say_nothing():
    table = pl.DataFrame({"a": [1.0, 1.0, 1.0]})
    found = propensity(table, table, Schema.of(quasi=["a"]))
    assert (found.ratio, found.standardised, found.n_parameters) == (None, None, 1)
    assert math.isnan(float(found))


def test_missing_values_can_be_told():
    table = sample(100, 0).drop("t")
    holes = table.with_columns(a=pl.when(pl.int_range(pl.len()) % 2 == 0).then(None).otherwise(pl.col("a")))
    assert propensity(table, holes, Schema.of(quasi=["a"])).ratio > 3


def test_sampling_takes_the_same_people_and_says_so(survey, noise, schema):
    found = propensity(survey, survey.reverse(), schema, list(range(len(survey)))[::-1], most_rows=100)
    assert (found.sampled, found.n_rows) == (True, 200)
    assert found.pmse == pytest.approx(0, abs=1e-12)
    assert propensity(survey, noise, schema, most_rows=100, seed=3) == propensity(
        survey, noise, schema, most_rows=100, seed=3
    )


def test_bad_rows(survey, schema):
    with pytest.raises(ParameterError, match="most_rows"):
        propensity(survey, survey, schema, most_rows=1)


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


def test_energy_of_bad_rows(survey, schema):
    with pytest.raises(ParameterError, match="most_rows"):
        energy_distance(survey, survey, schema, most_rows=3)
