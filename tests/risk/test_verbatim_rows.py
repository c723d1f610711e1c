"""Verbatim rows by double loops."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import risk
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["a", "b"], unit="u", kinds={"b": "nominal"}, levels={"b": ["x", "y", "z"]})


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20), st.booleans())
def test_shares_are_the_double_loops(seed, n, with_unit):
    rng = np.random.default_rng(seed)
    table, masked = (
        pl.DataFrame({"a": rng.integers(0, 4, n), "b": rng.choice(["x", "y", "z"], n), "u": rng.integers(0, 3, n)})
        for _ in range(2)
    )
    schema = SCHEMA if with_unit else Schema.of(quasi=["a", "b"], other=["u"], levels={"b": ["x", "y", "z"]})
    person = table["u"].to_list() if with_unit else list(range(n))
    source = rng.integers(0, n, n)
    found = risk.verbatim(table, masked, schema, source)
    originals, shown = table.select("a", "b").rows(), masked.select("a", "b").rows()
    holders = [{person[i] for i in range(n) if originals[i] == row} for row in shown]
    assert found.share == pytest.approx(sum(len(h) > 0 for h in holders) / n)
    assert found.unique_share == pytest.approx(sum(len(h) == 1 for h in holders) / n)
    assert found.own_share == pytest.approx(sum(person[source[j]] in h for j, h in enumerate(holders)) / n)


def test_a_permutation_is_all_copies_and_noise_is_none():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.normal(size=500)})
    schema = Schema.of(quasi=["x"])
    moved = risk.verbatim(table, table[np.roll(np.arange(500), 1).tolist()], schema)
    assert (float(moved), moved.unique_share, moved.own_share) == (1.0, 1.0, 0.0)
    assert risk.verbatim(table, pl.DataFrame({"x": rng.normal(size=500)}), schema).share == 0.0
    json.dumps(moved.to_dict(), allow_nan=False)


def test_a_row_without_a_source_is_nobodys_own():
    table = pl.DataFrame({"x": [1.0, None, 1.0]})
    schema = Schema.of(quasi=["x"], missing={"x": "drop"})
    assert risk.verbatim(table, pl.DataFrame({"x": [1.0, 1.0]}), schema, [0, 1]).own_share == 0.5
