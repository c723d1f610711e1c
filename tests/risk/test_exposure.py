"""What planned aggregates give away: numbers against a slow count, exact disclosure, advice, bad input."""

import json

import numpy as np
import polars as pl
import pytest

from shoal import Schema
from shoal.aggregate import Aggregate, PseudoInverse, RidgeEcological
from shoal.aggregate.covariates import covariates
from shoal.aggregate.problem import pose
from shoal.datasets.inpatients import inpatient, inpatient_schema
from shoal.errors import ColumnError, ParameterError, SchemaError
from shoal.risk.exposure import aggregate_exposure


@pytest.fixture(scope="module")
def found():
    return aggregate_exposure(
        inpatient(900, seed=2), inpatient_schema(), by=["county", "hospital"], covariates=["days", "unit"], seed=1
    )


def test_numbers_are_those_of_the_methods(found):
    table = inpatient(900, seed=2)
    y = table["charge"].to_numpy()
    sets = [Aggregate.of(table, by=name, value="charge") for name in ("county", "hospital")]
    for method in (PseudoInverse(), RidgeEcological()):
        values = method.reconstruct(table.select("days", "unit"), sets).values
        told = next(item for item in found.methods if item.method == type(method).__name__)
        assert told.within_10_share == pytest.approx(np.mean(np.abs(values - y) <= 0.1 * y))
        assert told.r_squared == pytest.approx(1 - np.sum((values - y) ** 2) / np.sum((y - y.mean()) ** 2))
        assert told.mean_absolute_error == pytest.approx(np.abs(values - y).mean())
    assert found.overall_mean.r_squared == pytest.approx(0)
    assert found.overall_mean.within_5_share <= found.overall_mean.within_10_share <= found.overall_mean.within_20_share
    assert found.worst.r_squared == max(item.r_squared for item in found.methods)
    assert len(found.methods) == 5


def test_the_record_says_what_was_asked(found):
    told = json.loads(json.dumps(found.to_dict()))
    assert told["by"] == ["county", "hospital"]
    assert told["n_groups"] == [12, 36]
    assert told["determined"] == 0
    assert set(told["alone"]) == {"county", "hospital"}
    assert any("adds nothing" in text for text in found.warnings)
    assert "within 10%" in found.advice[0]
    assert not found.releasable


def test_noise_is_advised_by_opendp_and_hurts_the_attack(found):
    assert [item.epsilon for item in found.noise] == [0.1, 1.0, 10.0]
    for item in found.noise:
        assert item.typical.scale == pytest.approx(250_000 * 2 / item.typical.size / item.epsilon, rel=1e-6)
        assert item.smallest.scale >= item.typical.scale
    assert found.noise[0].exposure.r_squared < found.worst.r_squared
    assert any("OpenDP" in text for text in found.advice)


def test_values_that_sets_determine_together_are_counted():
    """Row 0 is the difference of two groups; nothing else is."""
    table = pl.DataFrame(
        {"a": ["x"] * 6 + ["y"] * 6, "b": ["r"] + ["p"] * 5 + ["r"] * 6, "x": range(12), "y": range(12)}
    )
    schema = Schema.of(quasi=["a", "b", "x"], sensitive=["y"])
    assert aggregate_exposure(table, schema, by="a").determined == 0
    both = aggregate_exposure(table, schema, by=["a", "b"])
    assert both.determined == 1
    assert any("determine 1 values exactly" in text for text in both.advice)
    assert both.small_groups == 4
    assert any("bounds" in text for text in both.advice)


@pytest.mark.parametrize("weighted", [False, True])
def test_leverage_is_the_diagonal_of_the_projection(weighted):
    rng = np.random.default_rng(0)
    n = 40
    w = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    labels = [rng.permutation(np.arange(n) % p) for p in (5, 7, 3)]
    sets = [Aggregate(by=g, mean=np.zeros(g.max() + 1), name=str(i)) for i, g in enumerate(labels)]
    A = np.vstack([(g == np.arange(g.max() + 1)[:, None]) * np.sqrt(w) for g in labels])
    for k in (1, 3):
        rows = A[: 5 if k == 1 else None]
        slow = np.diag(np.linalg.pinv(rows) @ rows)
        problem = pose(covariates(np.arange(n)), sets[:k], w if weighted else None)
        np.testing.assert_allclose(problem.leverage(), slow, atol=1e-9)


def test_weights_and_defaults_come_from_the_schema():
    table = inpatient(300, seed=3).with_columns(w=pl.Series(np.linspace(0.5, 2, 300)))
    schema = Schema.of(
        quasi=["county", "unit", "severity", "days"],
        sensitive=["charge"],
        weight="w",
        other=["hospital", "zip", "race"],
    )
    found = aggregate_exposure(table, schema, by="county", log=True)
    assert found.covariates == ("unit", "severity", "days")
    assert found.value == "charge"
    assert found.noise == ()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"by": []}, ParameterError),
        ({"by": ["state"]}, ColumnError),
        ({"by": ["county"], "value": "cost"}, SchemaError),
        ({"by": ["county"], "covariates": ["height"]}, ColumnError),
        ({"by": ["county"], "covariates": ["charge"]}, ParameterError),
        ({"by": ["county"], "value": "unit"}, ColumnError),
    ],
)
def test_wrong_words(words, error):
    with pytest.raises(error):
        aggregate_exposure(inpatient(50), inpatient_schema(), **words)


def test_one_numeric_sensitive_column_is_needed():
    schema = Schema.of(quasi=["county", "hospital", "zip", "unit", "race", "severity"], sensitive=["days", "charge"])
    with pytest.raises(SchemaError, match="one numeric"):
        aggregate_exposure(inpatient(50), schema, by="county")


def test_no_covariates_leave_the_group_means():
    found = aggregate_exposure(inpatient(200), inpatient_schema(), by="county", covariates=[])
    ridge, means = (next(m for m in found.methods if m.method == name) for name in ("RidgeEcological", "PseudoInverse"))
    assert ridge.r_squared == pytest.approx(means.r_squared)
