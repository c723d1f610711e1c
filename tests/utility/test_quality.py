"""Scores of columns and pairs beside SciPy and counts by hand."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ks_2samp, pearsonr

from shoal import ParameterError, Schema
from shoal.utility import quality
from shoal.utility.quality import correlation, ks_complement, tv_complement

SCHEMA = Schema.of(quasi=["age", "sex"], sensitive=["cost", "stage"], kinds={"stage": "ordinal", "age": "numeric"})


def people(n, seed, tie=1.0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    sex = np.where(rng.random(n) < 0.5, "f", "m")
    cost = np.exp(rng.normal(6, 1, n) + tie * (age - 50) / 20)
    return pl.DataFrame({"age": age, "sex": sex, "cost": cost, "stage": np.digitize(cost, [200, 400, 900])})


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=40), st.lists(st.integers(-5, 5), min_size=1, max_size=40))
@settings(max_examples=60, deadline=None)
def test_ks_complement_is_scipys(x, y):
    assert ks_complement(np.array(x, float), np.array(y, float)) == pytest.approx(1 - ks_2samp(x, y).statistic)


def test_tv_complement_and_correlation_by_hand():
    assert tv_complement(np.array([0, 0, 1, 2]), np.array([0, 1, 1, 1]), 3) == pytest.approx(1 - 0.5)
    x, y = np.array([1.0, 2.0, np.nan, 5.0, 6.0]), np.array([2.0, 1.0, 9.0, np.nan, 7.0])
    assert correlation(x, y) == pytest.approx(pearsonr([1, 2, 6], [2, 1, 7]).statistic)
    assert correlation(np.ones(4), np.arange(4.0)) is None


def test_the_original_itself_scores_1():
    found = quality(people(400, 1), people(400, 1), SCHEMA)
    assert (found.shapes, found.trends, found.overall) == (1.0, 1.0, 1.0)
    assert found.resampled < 1
    assert [one.measure for one in found.columns] == [
        "KS complement", "TV complement", "KS complement", "TV complement",
    ]  # fmt: skip
    assert {one.columns: one.measure for one in found.pairs}["age", "cost"] == "correlation similarity"
    assert len(found.pairs) == found.n_pairs == 6
    assert not found.releasable
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_fresh_sample_scores_what_a_bootstrap_does_and_a_lost_tie_shows_in_its_pair():
    table = people(3000, 1)
    fresh, loose = (quality(table, people(2000, 2, tie), SCHEMA) for tie in (1.0, 0.0))
    assert fresh.overall == pytest.approx(fresh.resampled, abs=0.02)
    lost = {one.columns: one.resampled - one.score for one in loose.pairs}
    assert lost["age", "cost"] == max(lost.values()) or lost["age", "stage"] == max(lost.values())
    assert lost["age", "sex"] < 0.03


def test_missing_values_are_a_category_and_no_number():
    table = people(200, 1)
    gone = table.with_columns(sex=pl.when(pl.arange(0, 200) < 100).then(None).otherwise("sex"))
    found = {one.column: one.score for one in quality(table, gone, SCHEMA).columns}
    assert found["sex"] == pytest.approx(0.5, abs=0.01)
    assert found["age"] == 1.0


def test_most_pairs_and_one_column():
    table = people(100, 1)
    some = quality(table, table, SCHEMA, most_pairs=2)
    assert (len(some.pairs), some.n_pairs) == (2, 6)
    one = quality(table.select("sex"), table.select("sex"), Schema.of(quasi=["sex"]))
    assert (one.trends, one.overall) == (None, 1.0)
    with pytest.raises(ParameterError, match="most_pairs"):
        quality(table, table, SCHEMA, most_pairs=0)
