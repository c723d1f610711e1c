"""Correlations against plain ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

from shoal.report.correlation import correlations_of
from shoal.schema import Schema


def test_equals_numpy_where_nothing_is_missing(pair_by_hand: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    table = pl.DataFrame({"a": x, "b": 1e9 + x + rng.normal(size=50), "y": -x})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["a", "b"], sensitive=["y"]), 5)
    found = correlations_of(pair)
    assert found.names == ("a", "b", "y")
    np.testing.assert_allclose(found.before, np.corrcoef(table.to_numpy().T), atol=1e-6)
    np.testing.assert_allclose(found.after, np.corrcoef(pair.released.to_numpy().T), atol=1e-6)
    assert found.largest_change() == pytest.approx(np.abs(found.after - found.before).max())


def test_weights_count_as_repeated_rows(pair_by_hand: Callable[..., Any]) -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"a": rng.normal(size=30), "b": rng.normal(size=30), "w": rng.integers(1, 5, 30)})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["a", "b"], weight="w"), 5)
    repeated = np.repeat(table.select("a", "b").to_numpy(), table["w"].to_numpy(), axis=0)
    np.testing.assert_allclose(correlations_of(pair).before, np.corrcoef(repeated.T), atol=1e-12)


def test_missing_pairs_are_left_out_and_constant_columns_have_none(pair_by_hand: Callable[..., Any]) -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=40)
    table = pl.DataFrame({"a": rng.normal(size=40), "one": [0.1] * 40, "y": [None, *y[1:]]})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["a", "one"], sensitive=["y"]), 5)
    found = correlations_of(pair)
    assert found.before[0, 2] == pytest.approx(np.corrcoef(table["a"].to_numpy()[1:], y[1:])[0, 1])
    assert np.isnan(found.before[1]).all()
    assert found.to_dict()["before"][0][1] is None


def test_categories_without_order_are_named_and_left_out(pair_by_hand: Callable[..., Any]) -> None:
    table = pl.DataFrame({"a": ["x", "y", "z"] * 5, "b": ["u", "v", "v"] * 5, "c": range(15)})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["a", "b", "c"]), 5)
    found = correlations_of(pair)
    assert (found.names, found.left_out) == (("b", "c"), ("a",))


def test_a_missing_ordinal_level_is_no_number(pair_by_hand: Callable[..., Any]) -> None:
    table = pl.DataFrame({"a": [1, 2, 3, None, 5, 6] * 5, "b": [1.0, 2.0, 3.0, 900.0, 5.0, 6.0] * 5})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["a", "b"], kinds={"a": "ordinal"}), 5)
    before = correlations_of(pair).before
    assert before[0, 1] == pytest.approx(np.corrcoef([0, 1, 2, 3, 4], [1, 2, 3, 5, 6])[0, 1])
