"""A forecast grows with rows and columns, knows its methods, and says where it doesn't."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.method import methods
from shoal.recipe import Anonymization, Coarsening, Synthesis
from shoal.release.forecast import LONG, Forecast, forecast

SCHEMA = shoal.Schema.of(quasi=["age", "sex", "county"], sensitive=["cost"])
DEFAULT = Anonymization.of(shoal.KMember(k=5), shoal.GaussianDither())


def total(n, recipe=DEFAULT, schema=SCHEMA):
    return forecast(n, schema, recipe).total


@given(st.integers(1, 10**7), st.integers(1, 10**6))
def test_more_rows_never_take_less(n, more):
    assert 0 < total(n) <= total(n + more)


def test_it_grows_in_proportion_to_large_tables():
    assert total(10_000_000) == pytest.approx(10 * total(1_000_000), rel=0.05)


def test_more_columns_take_longer():
    wide = shoal.Schema.of(quasi=["age", "sex", "county", "race", "plan"], sensitive=["cost"])
    assert total(100_000, schema=wide) > total(100_000)


def test_the_steps_are_those_that_a_run_tells(tmp_path):
    table, schema = shoal.datasets.health_survey(100, seed=1), shoal.datasets.health_survey_schema()
    for recipe in (DEFAULT, Coarsening.of(shoal.Mondrian(k=5))):
        told = []
        release = shoal.release.make(table, schema, recipe, seed=1, progress=told.append)
        release.write(tmp_path / recipe.command, progress=told.append)
        assert told == list(forecast(100, schema, recipe).seconds)


def test_records_left_out_are_measured_without_them_too():
    assert total(10**6, Coarsening.of(shoal.Generalize(k=5))) > total(
        10**6, Coarsening.of(shoal.Generalize(k=5, suppression=0.0))
    )


def test_a_method_without_measured_costs_gives_a_floor():
    known, unknown = (
        forecast(10**6, SCHEMA, DEFAULT),
        forecast(10**6, SCHEMA, Anonymization.of(shoal.MST(k=5), shoal.Centroid())),
    )
    assert not known.is_floor
    assert str(known).startswith("about ")
    assert unknown.is_floor
    assert str(unknown).startswith("at least ")


def test_every_family_has_a_forecast():
    assert all(methods(family) for family in ("group", "mask", "coarsen", "synthesize"))
    assert total(1000, Synthesis.of(shoal.PeGS(epsilon=1.0))) > 0


def test_only_long_runs_are_worth_a_word():
    assert not Forecast(seconds={"grouping": LONG}).is_long
    assert Forecast(seconds={"grouping": LONG, "masking": 0.1}).is_long
