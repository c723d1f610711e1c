"""The simulated health survey: its shape, its repeatability, its model."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shoal import datasets
from shoal.datasets.survey import AGE_GROUPS, health_survey, health_survey_schema
from shoal.errors import ParameterError


@pytest.fixture(scope="module")
def table():
    return health_survey()


def test_columns_and_ranges(table):
    assert table.columns == ["gender", "age_group", "education", "income", "cost", "weight"]
    assert table.height == 15_000
    assert sum(table.null_count().row(0)) == 0
    assert set(table["gender"]) == {"female", "male"}
    assert set(table["age_group"]) == set(range(8)) == set(range(len(AGE_GROUPS)))
    assert set(table["education"]) == set(range(6))
    assert set(table["income"]) == set(range(5))
    assert table["cost"].dtype == pl.Int64
    assert table["cost"].min() == 0
    assert table["weight"].min() > 0


def test_shape_is_that_of_a_health_survey(table):
    combinations = table.select("gender", "age_group", "education", "income").n_unique()
    assert 270 <= combinations <= 330
    assert 0.15 <= (table["cost"] == 0).mean() <= 0.20
    assert 3_000 <= table["cost"].mean() <= 8_000
    assert table["weight"].mean() == pytest.approx(20_000, rel=0.05)


def test_same_seed_same_people(table):
    assert_frame_equal(health_survey(), table)
    assert not health_survey(seed=1).equals(table)
    assert health_survey(3, seed=5).height == 3


def test_people_follow_the_model(table):
    by_age = (
        table.group_by("age_group").agg(pl.col("cost").mean(), spends=(pl.col("cost") > 0).mean()).sort("age_group")
    )
    assert by_age["cost"].is_sorted()
    assert by_age["spends"][7] > 0.95
    mid = table.filter(pl.col("age_group").is_between(1, 4)).group_by("gender").agg(pl.col("cost").mean())
    assert mid.filter(gender="female")["cost"][0] > mid.filter(gender="male")["cost"][0]
    adults = table.filter(pl.col("age_group") > 0)
    assert np.corrcoef(adults["education"], adults["income"])[0, 1] > 0.6
    assert set(table.filter(age_group=0)["education"]) == {0, 1}


def test_positive_cost_is_lognormal_within_a_cell():
    big = health_survey(200_000, seed=3)
    cell = big.filter(age_group=5, gender="male", education=2, income=3, cost=pl.col("cost")).filter(
        pl.col("cost") > 50
    )
    logs = cell["cost"].log()
    assert logs.std() == pytest.approx(1.35, rel=0.06)
    assert logs.mean() == pytest.approx(8.05 + 0.06 + 0.06, abs=0.1)


@pytest.mark.parametrize("wrong", [{"n": 0}, {"n": -1}, {"n": 1.5}, {"n": True}, {"seed": -1}, {"seed": "x"}])
def test_wrong_parameters(wrong):
    with pytest.raises(ParameterError, match="health_survey: "):
        health_survey(**wrong)


def test_schema_fits_the_table(table):
    schema = health_survey_schema()
    assert [column.name for column in schema.columns] == table.columns
    assert schema.quasi == ("gender", "age_group", "education", "income")
    assert (schema.sensitive, schema.weight) == (("cost",), "weight")
    for name in schema.quasi:
        assert set(table[name]) <= set(schema[name].levels)
    assert schema["gender"].kind == "nominal"
    assert {schema[name].kind for name in ("age_group", "education", "income")} == {"ordinal"}


def test_names_are_loaded_when_used():
    assert set(datasets.__all__) == set(dir(datasets))
    for name in datasets.__all__:
        assert callable(getattr(datasets, name))
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = datasets.absent
