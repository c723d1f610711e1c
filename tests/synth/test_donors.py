"""Donors: the nearest by hand, those of a leaf, and what imputation by them keeps."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import ParameterError
from shoal.schema import Schema
from shoal.synth import MultipleImputation
from shoal.synth.donors import DONORS, LEAF, leaf_draw, nearest_donors


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=30), st.lists(st.integers(-25, 25), min_size=1, max_size=10))
def test_no_record_outside_the_five_is_nearer(predicted, wanted):
    predicted, wanted = np.array(predicted, dtype=float), np.array(wanted, dtype=float)
    for seed in range(3):
        donors = nearest_donors(predicted, wanted, np.random.default_rng(seed))
        for donor, target in zip(donors, wanted, strict=True):
            far = np.sort(np.abs(predicted - target))
            assert abs(predicted[donor] - target) <= far[min(DONORS, len(far)) - 1]


def test_every_one_of_the_five_gives():
    predicted = np.arange(20.0)
    donors = nearest_donors(predicted, np.full(2000, 7.1), np.random.default_rng(1))
    assert set(donors) == {5, 6, 7, 8, 9}
    assert np.bincount(donors, minlength=10)[5:].min() > 300


def test_a_leaf_gives_values_of_its_own_records():
    """Two far heaps: a tree that splits them never hands a value across; leaves hold at least five."""
    rng = np.random.default_rng(2)
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.concatenate([rng.normal(0, 1, 50), rng.normal(100, 1, 50)])
    for trees in (1, 5):
        drawn = leaf_draw(X, y, X, rng, cells=False, trees=trees)
        assert set(drawn) <= set(y)
        assert ((drawn > 50) == (X[:, 0] == 1)).all()
    assert LEAF == 5


def table_with_an_interaction(n=1200):
    """`c` follows from a and b together, and from neither alone."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, n), rng.integers(0, 2, n)
    cost = np.exp(rng.normal(2 + 3 * (a ^ b), 0.3))
    missing = rng.random(n) < 0.1
    return pl.DataFrame({"a": a, "b": b, "cost": pl.Series(cost).set(pl.Series(missing), None)})


@pytest.mark.parametrize("model", ["matching", "tree", "forest"])
def test_donors_give_values_of_the_table_and_gaps_stay(model):
    table = table_with_an_interaction()
    schema = Schema.of(quasi=["a", "b"], sensitive=["cost"])
    first, second = MultipleImputation(K=2, model=model).fit(table, schema, seed=1).sets(seed=1)
    assert set(first["cost"].drop_nulls()) <= set(table["cost"].drop_nulls())
    assert not first.equals(second)
    assert 0.03 < first["cost"].null_count() / first.height < 0.2
    assert model == "matching" or difference(first) > 10


def difference(rows):
    """How many times dearer those are of whom a and b differ."""
    apart = pl.col("a") != pl.col("b")
    dear, cheap = (rows.filter(which)["cost"].median() for which in (apart, ~apart))
    return dear / cheap


def test_categories_come_from_leaves_too():
    rng = np.random.default_rng(4)
    a, b = rng.integers(0, 2, 800), rng.integers(0, 2, 800)
    table = pl.DataFrame({"a": a, "b": b, "c": np.array(["no", "yes"])[a ^ b]})
    schema = Schema.of(quasi=["a", "b"], sensitive=["c"])
    for model, right in (("tree", 1.0), ("linear", 0.5)):
        rows = MultipleImputation(K=2, columns=["c"], model=model).fit(table, schema, seed=1).sample(seed=2)
        assert ((rows["c"] == "yes") == (rows["a"] != rows["b"])).mean() == pytest.approx(right, abs=0.1)


def test_an_unknown_model_is_refused():
    with pytest.raises(ParameterError, match="model"):
        MultipleImputation(model="guess").fit(table_with_an_interaction(), Schema.of(quasi=["a", "b"]))
