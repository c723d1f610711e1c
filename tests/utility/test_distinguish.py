import math

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from shoal.errors import ParameterError
from shoal.schema import Schema
from shoal.utility import propensity
from shoal.utility.design import designs, stack
from shoal.utility.distinguish import compare_to_null, fitted_probabilities
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
