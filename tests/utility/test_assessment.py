import json

import numpy as np
import polars as pl
import pytest

import shoal.utility as utility
from shoal.pair import Pair
from shoal.release.disclose import FIGURES
from shoal.schema import Schema
from shoal.utility.tables import side_by_side


def test_the_original_itself_loses_nothing(survey, schema):
    order = np.random.default_rng(0).permutation(len(survey))
    report = utility.assess(Pair.of(survey, survey[order], schema, order))
    assert (report.histogram_intersection, report.weighted_histogram_intersection) == pytest.approx((1.0, 1.0))
    assert 0 < report.bootstrap_intersection.value < 1
    assert float(report.marginals) == float(report.total_variation) == 0.0
    assert report.ranks.kendall == 1.0
    assert report.moments.sse_sst == 0.0
    assert report.moments.abico == pytest.approx(0.0)
    assert report.regression.mean_overlap == pytest.approx(1.0)
    assert report.propensity.ratio == pytest.approx(0.0, abs=1e-9)
    assert report.energy.value == pytest.approx(0.0, abs=1e-9)
    assert report.notes == ()


def test_noise_gives_finite_numbers(survey, noise, schema):
    report = utility.assess(Pair.of(survey, noise, schema))
    assert all(value is not None and np.isfinite(value) for value in report.summary().values())
    assert report.histogram_intersection < report.bootstrap_intersection.value
    assert report.moments.response_correlation_difference > 0.1
    json.dumps(report.to_dict(), allow_nan=False)


def test_each_part_equals_the_measure_called_alone(survey, noise, schema):
    report = utility.assess(Pair.of(survey, noise, schema), seed=5)
    tables = (survey, noise, schema)
    assert report.histogram_intersection == utility.histogram_intersection(*tables)
    assert report.weighted_histogram_intersection == utility.histogram_intersection(*tables, weighted=True)
    assert report.bootstrap_intersection == utility.bootstrap_intersection(survey, schema)  # for any seed
    assert report.marginals == utility.marginals(*tables)
    assert report.total_variation == utility.total_variation(*tables, most_pairs=300, seed=5)
    assert report.ranks == utility.ranks(*tables)
    assert report.moments == utility.moments(*tables)
    assert report.regression == utility.regression(*tables, seed=0)  # the same people, whatever the seed
    assert report.propensity == utility.propensity(*tables, seed=5)
    assert report.energy == utility.energy_distance(*tables, seed=5)


def test_what_leaves_the_secure_room_has_no_coefficients(survey, noise, schema):
    report = utility.assess(Pair.of(survey, noise, schema))
    assert "coefficients" in report.to_dict()["regression"]
    assert "coefficients" not in FIGURES["utility"]["regression"]
    assert not report.releasable
    assert "Alba" not in json.dumps(report.to_dict())


def test_a_synthetic_release_without_sources(survey, survey_maker, schema):
    report = utility.assess(side_by_side(survey, survey_maker(350, 8), schema))
    assert report.moments.sse_sst is None
    assert not report.regression.held_out
    assert report.notes[0].startswith("No row's source is known")


def test_two_hundred_columns_lose_nothing_and_what_is_left_out_is_said(wide):
    table, schema = wide
    report = utility.assess(Pair.of(table, table.reverse(), schema, range(len(table) - 1, -1, -1)))
    assert (report.histogram_intersection, report.moments.sse_sst, report.ranks.kendall) == (1.0, 0.0, 1.0)
    assert report.moments.correlation_difference == pytest.approx(0)
    assert (report.propensity.ratio, report.energy.value) == pytest.approx((0, 0), abs=1e-8)
    assert (report.regression.coding, report.regression.mean_overlap) == ("numeric", pytest.approx(1.0))
    assert (report.total_variation.two_way.n_measured, report.total_variation.two_way.n_all) == (300, 19900)
    assert any(note.startswith("Two-way") for note in report.notes)
    assert any("main effects only" in note for note in report.notes)
    json.dumps(report.to_dict(), allow_nan=False)


def test_a_release_without_the_sensitive_columns(survey, schema):
    report = utility.assess(Pair.of(survey, survey.drop("cost", "ill"), schema))
    assert report.regression is None
    assert any("lacks 2 of the sensitive" in note for note in report.notes)


@pytest.mark.parametrize(
    "columns",
    [
        {"a": [1.0]},
        {"a": [3.0, 3.0, 3.0]},
        {"a": ["x", None, "y"]},
        {"a": [True, False, True]},
        {"a": np.arange(60.0)},
        {"a": [None, None]},
    ],
    ids=["one row", "constant", "missing level", "boolean", "many values", "all missing"],
)
def test_one_column_of_any_sort(columns):
    table = pl.DataFrame(columns)
    report = utility.assess(Pair.of(table, table, Schema.of(quasi=["a"])))
    assert report.histogram_intersection == 1.0
    assert report.total_variation.two_way.mean is None
    json.dumps(report.to_dict(), allow_nan=False)


def test_a_release_with_suppressed_values(survey, schema):
    holes = survey.with_columns(
        pl.when(pl.int_range(pl.len()) % 3 == 0).then(None).otherwise(pl.col(name)).alias(name) for name in schema.quasi
    )
    report = utility.assess(Pair.of(survey, holes, schema))
    assert 0 < report.histogram_intersection < 0.7
    assert report.marginals.columns[0].marginal.total_variation == pytest.approx(1 / 3, abs=0.01)
    json.dumps(report.to_dict(), allow_nan=False)


def test_every_frame_type(make_frame, people, people_schema):
    report = utility.assess(Pair.of(make_frame(people), make_frame(people.drop("name")), people_schema))
    assert report.histogram_intersection == 1.0
    assert "SENTINEL" not in json.dumps(report.to_dict())


def test_exported_names_exist():
    assert all(hasattr(utility, name) for name in utility.__all__)


def test_wide_tables_are_read_by_pairs_and_folds_do_not_follow_the_seed():
    rng = np.random.default_rng(1)
    wide = pl.DataFrame({f"q{j}": rng.integers(0, 9, 300) for j in range(6)} | {"cost": rng.normal(size=300)})
    schema = Schema.of(quasi=[f"q{j}" for j in range(6)], sensitive=["cost"])
    shuffled = wide.with_columns(q0=pl.col("q0").reverse())
    first, second = (utility.assess(Pair.of(wide, shuffled, schema), seed=seed) for seed in (1, 2))
    assert first.pairs_kept is not None
    two_way = dict(first.total_variation.two_way.by_columns)
    assert first.pairs_kept.mean == pytest.approx(1 - np.mean(list(two_way.values())))
    assert first.pairs_kept.worst == pytest.approx(1 - max(two_way.values()))
    assert first.regression == second.regression
    few = wide.select("q0", "q1", "cost")
    narrow = utility.assess(Pair.of(few, few, Schema.of(quasi=["q0", "q1"], sensitive=["cost"])))
    assert narrow.pairs_kept is None
