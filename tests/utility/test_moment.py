import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.schema import Schema
from shoal.utility import moments
from shoal.utility.moment import weighted_moments

VALUES = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda x: round(x, 3))
TABLES = st.integers(3, 12).flatmap(
    lambda n: st.tuples(*[st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=n, max_size=n)] * 2)
)
SCHEMA = Schema.of(quasi=["a", "b"], sensitive=["y"])


def frame(rows):
    return pl.DataFrame(rows, schema={"a": pl.Float64, "b": pl.Float64, "y": pl.Float64}, orient="row")


def oracle(original, released):
    """Equations (14)-(16), term by term; None for a zero denominator."""
    x, y = np.array(original), np.array(released)
    columns = range(x.shape[1])
    abim = [abs((y[:, j].mean() - x[:, j].mean()) / x[:, j].mean()) for j in columns]
    abisd = [abs((y[:, j].std() - x[:, j].std()) / x[:, j].std()) for j in columns]
    pairs = [(j, h) for j in columns for h in columns if j < h]
    r_x = [np.corrcoef(x[:, j], x[:, h])[0, 1] for j, h in pairs]
    r_y = [np.corrcoef(y[:, j], y[:, h])[0, 1] for j, h in pairs]
    abico = [abs((b - a) / a) for a, b in zip(r_x, r_y, strict=True)]
    return np.mean(abim), np.mean(abisd), np.mean(abico), np.abs(np.subtract(r_y, r_x))


def test_equals_the_oracle():
    rng = np.random.default_rng(2)
    for _ in range(10):
        x = rng.normal(3, 2, (20, 3)) @ rng.normal(size=(3, 3))
        y = x + rng.normal(size=x.shape)
        found, (abim, abisd, abico, gaps) = moments(frame(x), frame(y), SCHEMA), oracle(x, y)
        assert (found.abim, found.abisd, found.abico) == pytest.approx((abim, abisd, abico))
        assert found.correlation_difference == pytest.approx(gaps.mean())
        assert found.largest_correlation_difference == pytest.approx(gaps.max())
        assert found.response_correlation_difference == pytest.approx(gaps[1:].mean())
        shift = (y.mean(axis=0) - x.mean(axis=0)) / x.std(axis=0)
        assert found.mean_similarity == pytest.approx(math.exp(-np.sum(shift**2)))
        assert found.largest_mean_shift == pytest.approx(np.abs(shift).max())
        quasi_error = ((y - x)[:, :2] ** 2 / x[:, :2].var(axis=0)).sum(axis=1).mean() / 2
        assert found.sse_sst == pytest.approx(quasi_error)


@settings(max_examples=20)
@given(TABLES)
def test_always_finite(tables):
    found = moments(frame(tables[0]), frame(tables[1]), SCHEMA).to_dict()
    numbers = [value for value in found.values() if isinstance(value, float)]
    assert all(math.isfinite(value) and value >= 0 for value in numbers)


@settings(max_examples=20)
@given(TABLES)
def test_the_original_itself_loses_nothing(tables):
    table = frame(tables[0])
    found = moments(table, table, SCHEMA)
    assert (found.sse_sst, found.mean_similarity) == (0.0, 1.0)
    assert all(value in (None, 0.0) for value in (found.abim, found.abisd, found.abico, found.correlation_difference))


def test_golden_by_hand():
    original, released = frame([(1, 1, 0), (3, 3, 4)]), frame([(1, 3, 0), (5, 3, 4)])
    found = moments(original, released, SCHEMA)
    assert found.abim == pytest.approx((0.5 + 0.5 + 0) / 3)  # means 2, 2, 2 become 3, 3, 2
    assert found.abisd == pytest.approx((1 + 1 + 0) / 3)  # deviations 1, 1, 2 become 2, 0, 2
    assert found.abico == pytest.approx((1 + 0 + 1) / 3)  # b is constant now: its correlations of 1 are gone
    assert found.sse_sst == pytest.approx((0 + 4 + 4 + 0) / 2 / 2)
    assert found.mean_similarity == pytest.approx(math.exp(-2))
    assert [one.mean_shift for one in found.columns] == pytest.approx([1.0, 1.0, 0.0])


def test_means_of_groups_keep_the_mean_and_lose_variance():
    x = np.random.default_rng(0).normal(5, 1, 300)
    groups = np.sort(x).reshape(-1, 3).mean(axis=1).repeat(3)
    table, released = pl.DataFrame({"a": np.sort(x)}), pl.DataFrame({"a": groups})
    found = moments(table, released, Schema.of(quasi=["a"]))
    assert found.abim == pytest.approx(0, abs=1e-12)
    assert found.sse_sst == pytest.approx(1 - groups.var() / x.var())
    assert (found.abico, found.correlation_difference) == (None, None)


def test_zero_denominators_are_skipped_and_counted():
    original = frame([(-1, 7, 0), (1, 7, 1), (0, 7, 0)])
    found = moments(original, original.with_columns(a=pl.col("a") + 1.0), SCHEMA)
    assert found.n_skipped_means == 1  # a has mean 0
    assert found.n_skipped_deviations == 1  # b is constant
    assert found.n_skipped_correlations == 2  # b with a and y
    assert (found.abim, found.abisd) == pytest.approx((0.0, 0.0))
    assert found.mean_shift > 0


def test_rounding_error_is_a_zero_denominator():
    a = np.random.default_rng(1).normal(size=50)
    table = pl.DataFrame({"a": a - a.mean(), "b": np.full(50, 0.1), "y": a})
    found = moments(table, table.with_columns(b=pl.lit(0.1) + 1e-17), SCHEMA)
    assert (found.n_skipped_means, found.n_skipped_deviations) == (1, 1)


def test_sources_tell_the_order_of_rows(survey, schema):
    shuffled = np.random.default_rng(0).permutation(len(survey))
    found = moments(survey, survey[shuffled], schema, shuffled)
    assert found.sse_sst == 0.0
    assert moments(survey, survey[shuffled], schema).sse_sst > 1.0
    assert moments(survey, survey[:50], schema).sse_sst is None


def test_the_noise_of_all_columns(survey, noise, schema):
    found = moments(survey, noise, schema)
    assert [one.column for one in found.columns] == ["age", "education", "income", "cost"]
    assert found.sse_sst == pytest.approx(2.0, abs=0.2)  # two independent draws of one distribution
    assert found.largest_response_correlation_difference > 0.5
    assert found.abim == pytest.approx(0)


def test_only_the_columns_asked_for(survey, noise, schema):
    found = moments(survey, noise, schema, columns=["age", "income"])
    assert [one.column for one in found.columns] == ["age", "income"]
    assert found.response_correlation_difference is None
    with pytest.raises(ParameterError, match="columns must list"):
        moments(survey, noise, schema, columns=["sex"])
    with pytest.raises(ParameterError, match="columns must list"):
        moments(survey, noise, schema, columns="age")


def test_a_weight_of_two_equals_a_row_twice(survey, noise, schema):
    rows = np.repeat(np.arange(len(survey)), survey["perwt"].cast(pl.Int64).to_numpy())
    weighted = moments(survey, noise, schema, weighted=True)
    repeated = moments(survey[rows], noise[rows], schema)
    for name in ("abim", "abisd", "abico", "response_correlation_difference", "largest_correlation_difference"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name))
    assert weighted.abim > 0


def test_missing_values_leave_their_pairs_only():
    rng = np.random.default_rng(4)
    values = rng.normal(size=(30, 3))
    values[:5, 0] = np.nan
    values[3:9, 2] = np.nan
    means, deviations, correlations = weighted_moments(values, np.ones(30))
    masked = np.ma.masked_invalid(values)
    assert means == pytest.approx(np.asarray(masked.mean(axis=0)))
    assert deviations == pytest.approx(np.asarray(masked.std(axis=0)))
    for j in range(3):
        for h in range(3):
            both = ~np.isnan(values[:, j] + values[:, h])
            assert correlations[j, h] == pytest.approx(np.corrcoef(values[both, j], values[both, h])[0, 1])


def test_a_column_that_the_release_blanks_out():
    table = frame([(1, 2, 3), (4, 6, 5), (9, 8, 7)])
    blank = table.with_columns(a=pl.lit(None, dtype=pl.Float64))
    found = moments(table, blank, SCHEMA)
    assert found.columns[0].mean_bias is None
    assert found.n_skipped_means == 1
    assert found.abico > 0
    json.dumps(found.to_dict(), allow_nan=False)


def test_nominal_mismatch_costs_the_same_for_any_level():
    schema = Schema.of(quasi=["t"])
    table = pl.DataFrame({"t": ["a", "a", "b", "c"]})
    found = moments(table, pl.DataFrame({"t": ["b", "a", "b", "c"]}), schema)
    gini = 1 - (0.25 + 0.0625 + 0.0625)
    assert found.sse_sst == pytest.approx(0.25 * 2 / gini)
    assert (found.abim, found.mean_shift, found.mean_similarity) == (None, None, None)


def test_constant_quasi_identifiers():
    table = pl.DataFrame({"a": [2.0, 2.0]})
    schema = Schema.of(quasi=["a"])
    assert moments(table, table, schema).sse_sst == 0.0
    assert moments(table, pl.DataFrame({"a": [3.0, 3.0]}), schema).sse_sst is None


def test_a_fresh_sample_loses_as_much_as_is_said():
    rng = np.random.default_rng(2)
    a = rng.normal(50, 9, 1500)
    table = pl.DataFrame({"a": a, "b": a + rng.normal(0, 9, 1500), "y": a + rng.normal(0, 20, 1500)})
    schema = Schema.of(quasi=["a", "b"], sensitive=["y"])
    found = [moments(table, table[rng.integers(1500, size=1500)], schema) for _ in range(60)]
    names = ("abim", "abisd", "correlation_difference", "response_correlation_difference")
    for name in names:
        assert np.mean([getattr(one, name) for one in found]) == pytest.approx(getattr(found[0].fresh, name), rel=0.25)
