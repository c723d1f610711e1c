"""Train on the release, test on real people: measures beside scikit-learn's, and releases that keep or lose the tie."""

import json

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from shoal import Schema, SchemaError
from shoal.utility import usefulness
from shoal.utility.usefulness import auroc, r_squared, share_right

SCHEMA = Schema.of(quasi=["age", "sex"], sensitive=["ill"], kinds={"age": "numeric"})


def people(n, seed, tie=1.0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    ill = rng.random(n) < 1 / (1 + np.exp(-tie * (age - 54) / 8))
    return pl.DataFrame({"age": age, "sex": np.where(rng.random(n) < 0.5, "f", "m"), "ill": np.where(ill, "yes", "no")})


def test_measures_are_scikit_learns():
    rng = np.random.default_rng(1)
    y, score = rng.integers(0, 2, 80).astype(float), rng.integers(0, 9, 80).astype(float)
    assert auroc(y, score) == pytest.approx(roc_auc_score(y, score))
    assert r_squared(score, y) == pytest.approx(r2_score(score, y))
    assert share_right(np.array([1.0, 2.0]), np.array([1.0, 1.0])) == 0.5
    assert (auroc(np.ones(3), np.ones(3)), r_squared(np.ones(3), np.zeros(3))) == (0.5, 0.0)


def test_a_fresh_sample_is_as_useful_and_independent_columns_are_not():
    table = people(1500, 1)
    fresh, loose = (usefulness(table, people(1500, 2, tie), SCHEMA) for tie in (1.0, 0.0))
    assert (fresh.target, fresh.measure, fresh.no_model) == ("ill", "AUROC", 0.5)
    for one in fresh.models:
        assert one.on_released == pytest.approx(one.on_original, abs=0.03)
        assert one.released_interval[0] < one.on_released < one.released_interval[1]
        assert one.on_original > 0.85
    for one in loose.models:
        assert one.on_released < one.on_original - 0.1
    assert fresh.n_test == 375
    assert not fresh.with_control
    json.dumps(fresh.to_dict(), allow_nan=False)


def test_a_copy_is_found_out_by_people_who_took_no_part():
    """Noise can be learnt by heart: trees trained on the tested records themselves look better than they are."""
    rng = np.random.default_rng(5)
    table = people(300, 1, 0.0).with_columns(age=pl.Series(rng.normal(50, 20, 300)))
    others = people(400, 3, 0.0).with_columns(age=pl.Series(rng.normal(50, 20, 400)))
    inside, outside = (usefulness(table, table, SCHEMA, control=c) for c in (None, others))
    assert inside.models[1].on_released > 0.7
    assert outside.models[1].on_released < 0.6
    assert (outside.with_control, outside.n_test) == (True, 400)


def test_numbers_and_many_classes():
    table = people(500, 1).with_columns(cost=pl.col("age") * 10.0, band=pl.col("age") // 20)
    schema = Schema.of(quasi=["age", "sex"], sensitive=["cost"], other=["ill", "band"], kinds={"age": "numeric"})
    number = usefulness(table, table, schema)
    assert (number.measure, number.no_model) == ("R²", 0.0)
    assert number.models[0].on_released > 0.99
    kinds = {"age": "numeric", "band": "nominal"}
    schema = Schema.of(quasi=["age", "band"], other=["ill", "sex", "cost"], kinds=kinds)
    classes = usefulness(table, table, schema)
    assert (classes.target, classes.measure) == ("band", "share right")
    assert classes.models[1].on_released > 0.95 > classes.no_model


def test_what_cannot_be_measured():
    table = people(200, 1)
    constant = table.with_columns(ill=pl.lit("no"))
    assert usefulness(constant, constant, SCHEMA).target == "sex", "a constant column is no target"
    assert usefulness(table, constant, SCHEMA, target="ill") is None, "one class has nothing to learn from"
    assert usefulness(table.select("sex"), table.select("sex"), Schema.of(quasi=["sex"])) is None
    assert usefulness(table[:5], table[:5], SCHEMA) is None
    with pytest.raises(SchemaError, match="must have the column 'ill'"):
        usefulness(table, table, SCHEMA, control=table.drop("ill"))
    with pytest.raises(SchemaError, match="target 'height'"):
        usefulness(table, table, SCHEMA, target="height")
