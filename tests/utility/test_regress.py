import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError, ParameterError
from shoal.schema import Schema
from shoal.utility import regression
from shoal.utility.regress import interval_overlap

SCHEMA = Schema.of(quasi=["x"], sensitive=["y"])
ENDS = st.tuples(st.integers(-9, 9), st.integers(0, 9)).map(lambda t: (float(t[0]), float(t[0] + t[1])))


@pytest.mark.parametrize("coding", ["dummy", "numeric"])
def test_the_original_itself(coding, survey, schema):
    order = np.random.default_rng(0).permutation(len(survey))
    found = regression(survey, survey[order], schema, order, coding=coding)
    assert found.mean_overlap == pytest.approx(1.0)
    assert found.coefficient_distance == pytest.approx(0.0, abs=1e-7)
    assert found.coefficient_similarity == pytest.approx(1.0)
    assert found.bias_difference == pytest.approx(0.0, abs=1e-9)
    assert found.trained_on_released.r_squared == pytest.approx(found.trained_on_original.r_squared)
    assert found.trained_on_original.r_squared > 0.5
    assert (found.n_lost, found.n_skipped, found.weighted, found.held_out) == (0, 0, True, True)
    assert (found.n_test, found.n_train) == (200, 200)


def test_coefficients_equal_the_textbook(survey, noise, schema):
    plain = Schema.of(quasi=["age", "income"], sensitive=["cost"], other=["sex", "town", "education", "perwt", "ill"])
    found = regression(survey, noise, plain, coding="numeric")
    for table, side in ((survey, "original"), (noise, "released")):
        X = np.column_stack([np.ones(len(table)), table["age"], table["income"]])
        expected = np.linalg.lstsq(X, table["cost"].to_numpy(), rcond=None)[0]
        assert [getattr(one, side) for one in found.coefficients] == pytest.approx(expected)
    b, b_hat = (np.array([getattr(one, side) for one in found.coefficients]) for side in ("original", "released"))
    assert found.coefficient_distance == pytest.approx(np.sum(np.abs((b_hat - b) / b)))
    scales = np.array([survey["age"].std(ddof=0), survey["income"].std(ddof=0)]) / survey["cost"].std(ddof=0)
    assert found.coefficient_similarity == pytest.approx(math.exp(-np.sum(((b_hat - b)[1:] * scales) ** 2)))
    assert [one.term for one in found.coefficients] == ["(intercept)", "age", "income"]


def test_noise_predicts_worse(survey, noise, schema):
    found = regression(survey, noise, schema, coding="numeric")
    assert found.trained_on_released.r_squared < 0.1 < 0.5 < found.trained_on_original.r_squared
    assert found.mean_overlap < 0.9
    assert found.coefficient_similarity < 0.9
    low, high = found.trained_on_original.r_squared_interval
    assert low < found.trained_on_original.r_squared < high


def test_golden_by_hand():
    """y = 1 + 2x becomes y = 2 + x: distance 1/1 + 1/2, a perfect fit on both sides."""
    x = np.arange(6.0)
    original = pl.DataFrame({"x": x, "y": 1 + 2 * x})
    released = pl.DataFrame({"x": x, "y": 2 + x})
    found = regression(original, released, SCHEMA, coding="numeric")
    assert found.coefficient_distance == pytest.approx(1.5)
    assert found.mean_overlap == pytest.approx(0.0)
    assert found.coefficient_similarity == pytest.approx(math.exp(-0.25))
    assert found.trained_on_original.r_squared == pytest.approx(1.0)
    assert found.trained_on_original.relative_bias == pytest.approx(0.0, abs=1e-9)


def test_relative_bias_and_r_squared_by_hand():
    """The release says y = 3 for everybody; the truth is 1, 2, 3, 6."""
    original = pl.DataFrame({"x": [0.0, 1.0, 0.0, 1.0], "y": [1.0, 2.0, 3.0, 6.0]})
    released = pl.DataFrame({"x": [0.0, 1.0] * 4, "y": [3.0] * 8})
    found = regression(original, released, SCHEMA, coding="numeric")
    assert (found.held_out, found.n_train, found.n_test) == (False, 8, 4)
    assert found.trained_on_released.relative_bias == pytest.approx(0.0)
    assert found.trained_on_released.r_squared == pytest.approx(0.0)
    shifted = regression(original, released.with_columns(y=pl.col("y") + 1.5), SCHEMA, coding="numeric")
    assert shifted.trained_on_released.relative_bias == pytest.approx(50.0)
    assert shifted.trained_on_released.r_squared == pytest.approx(-(1.5**2) / 3.5)
    assert shifted.bias_difference == pytest.approx(50.0)


def test_tested_people_do_not_train():
    """A tested person's released row must not move the prediction, anybody else's must."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.normal(size=20), "y": rng.normal(5, 1, 20)})
    order = rng.permutation(20)
    honest = regression(table, table[order], SCHEMA, order, coding="numeric", test_share=0.3)
    unmoved = 0
    for person in range(20):
        absurd = table[order].with_columns(y=pl.when(pl.Series(order == person)).then(1e6).otherwise(pl.col("y")))
        found = regression(table, absurd, SCHEMA, order, coding="numeric", test_share=0.3)
        unmoved += found.trained_on_released == honest.trained_on_released
    assert (unmoved, honest.n_test, honest.n_train) == (6, 6, 14)


def test_rows_of_one_person_stay_on_one_side():
    """Each person's response is a constant of their own: nothing of the tested people can be learnt."""
    rng = np.random.default_rng(1)
    person = np.repeat(np.arange(30), 4)
    table = pl.DataFrame({"x": [f"p{p}" for p in person], "y": rng.normal(size=30)[person], "who": person})
    schema = Schema.of(quasi=["x"], sensitive=["y"], unit="who")
    found = regression(table, table.drop("who"), schema)
    assert found.trained_on_original.r_squared < 0.3
    alone = regression(table.drop("who"), table.drop("who"), SCHEMA)
    assert alone.trained_on_original.r_squared > 0.8


def test_a_weight_of_two_equals_a_row_twice(survey, noise):
    rows = np.repeat(np.arange(len(survey)), survey["perwt"].cast(pl.Int64).to_numpy())
    other = ["town", "income", "ill"]
    small = Schema.of(quasi=["age", "sex", "education"], sensitive=["cost"], weight="perwt", other=other)
    weighted = regression(survey, noise, small, coding="numeric")
    repeated = regression(survey[rows], noise[rows], small, coding="numeric", weighted=False)
    plain = regression(survey, noise, small, coding="numeric", weighted=False)
    # The more frequent sex may differ in the repeated table, and only turns a sign.
    for side in ("original", "released"):
        ours, theirs = (np.array([abs(getattr(c, side)) for c in f.coefficients[1:]]) for f in (weighted, repeated))
        assert ours == pytest.approx(theirs)
    assert weighted.coefficients[1].original != pytest.approx(plain.coefficients[1].original)


def test_a_level_that_the_release_lost():
    rng = np.random.default_rng(2)
    levels = np.array(list("aaabbc") * 10)
    table = pl.DataFrame({"x": levels, "y": (levels == "c") * 5.0 + (levels == "b") * 2.0 + 1 + rng.normal(size=60)})
    released = table.with_columns(x=pl.col("x").replace({"c": "a"}))
    found = regression(table, released, SCHEMA)
    lost = [one for one in found.coefficients if one.lost]
    assert [one.term for one in lost] == ["x[2]"]
    assert (found.n_lost, lost[0].released, lost[0].overlap) == (1, 0.0, 0.0)
    assert found.coefficient_distance >= 1.0
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_level_that_only_the_release_has_is_not_compared():
    schema = Schema.of(quasi=["x"], sensitive=["y"], levels={"x": ["a", "b", "c"]})
    table = pl.DataFrame({"x": ["a", "b"] * 10, "y": np.arange(20.0)})
    released = table.with_columns(x=pl.Series(["a", "b", "c", "b"] * 5))
    found = regression(table, released, schema)
    assert (found.n_coefficients, found.n_undetermined) == (2, 1)


def test_constant_columns_and_constant_response():
    table = pl.DataFrame({"x": [1.0] * 8, "y": np.arange(8.0)})
    for coding in ("dummy", "numeric"):
        found = regression(table, table, SCHEMA, coding=coding)
        assert found.mean_overlap == pytest.approx(1.0)
    flat = pl.DataFrame({"x": np.arange(8.0), "y": [2.0] * 8})
    found = regression(flat, flat, SCHEMA, coding="numeric")
    assert found.trained_on_released.r_squared is None
    assert found.trained_on_released.relative_bias == pytest.approx(0.0)
    assert (found.coefficient_distance, found.n_skipped) == (0.0, 1)


def test_a_response_of_mean_zero_has_no_relative_bias():
    table = pl.DataFrame({"x": [0.0, 1.0] * 4, "y": [-1.0, 1.0] * 4})
    released = pl.concat([table, table])
    assert regression(table, released, SCHEMA).trained_on_released.relative_bias is None


def test_missing_responses_are_left_out():
    x = np.arange(40.0)
    table = pl.DataFrame({"x": x, "y": 2 * x})
    holes = table.with_columns(y=pl.when(pl.col("x") % 5 == 0).then(None).otherwise(pl.col("y")))
    found = regression(holes, holes, SCHEMA, coding="numeric")
    assert found.coefficients[1].original == pytest.approx(2.0)
    assert found.n_test + found.n_train == 32


def test_tiny_tables_are_tested_in_sample():
    one = pl.DataFrame({"x": [1.0], "y": [2.0]})
    found = regression(one, one, SCHEMA)
    assert (found.held_out, found.mean_overlap) == (False, None)
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_summary_holds_no_coefficient(survey, noise, schema):
    found = regression(survey, noise, schema)
    assert "coefficients" in found.to_dict()
    assert not found.releasable
    assert "Alba" not in repr(found)


def test_the_split_repeats_with_its_seed(survey, noise, schema):
    assert regression(survey, noise, schema, seed=1) == regression(survey, noise, schema, seed=1)
    assert regression(survey, noise, schema, seed=1) != regression(survey, noise, schema, seed=2)


@settings(max_examples=20)
@given(ENDS, ENDS)
def test_overlap_is_symmetric_and_in_range(first, second):
    found = interval_overlap(first, second)
    assert 0 <= found <= 1
    assert found == pytest.approx(interval_overlap(second, first))
    assert interval_overlap(first, first) == 1.0


def test_overlap_by_hand():
    assert interval_overlap((0.0, 2.0), (1.0, 5.0)) == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert interval_overlap((0.0, 1.0), (2.0, 3.0)) == 0.0
    assert interval_overlap((0.0, 4.0), (1.0, 2.0)) == pytest.approx((1 / 4 + 1) / 2)
    assert interval_overlap((1.0, 1.0), (0.0, 2.0)) == 0.5


@pytest.mark.parametrize(
    ("word", "value", "message"),
    [
        ("coding", "one-hot", "coding must be"),
        ("target", "ill", "target must be a numeric sensitive"),
        ("target", "age", "target must be a numeric sensitive"),
        ("test_share", 0.0, "test_share must be"),
        ("test_share", 1, "test_share must be"),
        ("bins", 1, "bins must be"),
    ],
)
def test_bad_calls(word, value, message, survey, schema):
    with pytest.raises(ParameterError, match=message):
        regression(survey, survey, schema, **{word: value})


def test_nothing_to_explain():
    table = pl.DataFrame({"x": [1.0, 2.0], "y": ["a", "b"]})
    with pytest.raises(ParameterError, match="none in the schema"):
        regression(table, table, SCHEMA)
    weighted = Schema.of(quasi=["x"], sensitive=["y"], weight="w")
    holes = pl.DataFrame({"x": [1.0, 2.0], "y": [None, 1.0], "w": [1.0, 0.0]})
    with pytest.raises(InputError, match="positive weight"):
        regression(holes, holes, weighted)
