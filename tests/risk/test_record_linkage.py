"""Linkage against an average over all orders of ties."""

from __future__ import annotations

import itertools
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import risk
from shoal.errors import InputError
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["age", "region"], unit="who", kinds={"region": "nominal"})


def oracle(table, masked, source, person):
    """Mean over released rows and all orders of the originals of [own person first], [own person first or second]."""
    low, high = min(table["age"]), max(table["age"])
    width = (high - low) or 1
    n, first, both = len(table), 0.0, 0.0
    orders = list(itertools.permutations(range(n)))
    for j, (age, region) in enumerate(masked.select("age", "region").iter_rows()):
        distances = [
            round((((age - a) / width) ** 2 + (region != r)) ** 0.5, 9)
            for a, r in table.select("age", "region").iter_rows()
        ]
        for order in orders:
            ranked = sorted(order, key=lambda i: distances[i])
            own = [person[i] == person[source[j]] for i in ranked]
            first += own[0] / len(orders)
            both += any(own[:2]) / len(orders)
    return first / len(masked), both / len(masked)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.booleans())
def test_shares_are_the_average_over_orders(seed, n, with_unit):
    rng = np.random.default_rng(seed)
    table = pl.DataFrame(
        {
            "age": rng.integers(0, 4, n),
            "region": rng.choice(["a", "b", "c"], n),
            "who": rng.integers(0, 3, n).astype(str),
        }
    )
    masked = pl.DataFrame({"age": rng.integers(0, 4, n), "region": rng.choice(table["region"].to_list(), n)})
    source = rng.permutation(n)
    schema = SCHEMA if with_unit else Schema.of(quasi=["age", "region"], other=["who"], kinds={"region": "nominal"})
    person = table["who"].to_list() if with_unit else list(range(n))
    found = risk.linkage(table, masked, schema, source)
    first, both = oracle(table, masked, source, person)
    assert found.nearest_share == pytest.approx(first)
    assert found.share == pytest.approx(both)
    assert found.interval[0] <= found.share <= found.interval[1]


def test_the_original_links_to_itself():
    table = pl.DataFrame({"x": np.arange(50.0)})
    found = risk.linkage(table, table, Schema.of(quasi=["x"]))
    assert (float(found), found.nearest_share, found.n_rows) == (1.0, 1.0, 50)


def test_scale_is_the_range():
    # On the raw scale the income would decide alone and link nobody.
    table = pl.DataFrame({"income": [0.0, 100_000.0, 0.0, 100_000.0], "age": [20.0, 20.0, 60.0, 60.0]})
    masked = table.with_columns(income=pl.Series([40_000.0, 60_000.0, 40_000.0, 60_000.0]))
    assert risk.linkage(table, masked, Schema.of(quasi=["income", "age"])).nearest_share == 1.0


def test_independent_noise_links_by_chance():
    rng = np.random.default_rng(1)
    table, masked = (pl.DataFrame({c: rng.normal(size=3000) for c in "xyz"}) for _ in range(2))
    assert risk.linkage(table, masked, Schema.of(quasi=["x", "y", "z"])).share <= 9 / 3000  # mean 2: chance 2e-4


def test_order_of_rows_and_constant_columns_change_nothing():
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"x": rng.integers(0, 9, 40), "y": rng.integers(0, 9, 40)})
    masked = table + pl.DataFrame({"x": rng.integers(0, 2, 40), "y": rng.integers(0, 2, 40)})
    order = rng.permutation(40)
    plain = risk.linkage(table, masked, Schema.of(quasi=["x", "y"]))
    assert risk.linkage(table, masked[order.tolist()], Schema.of(quasi=["x", "y"]), order).share == pytest.approx(
        plain.share, abs=1e-12
    )
    wide = [part.with_columns(c=pl.lit(1)) for part in (table, masked)]
    assert risk.linkage(*wide, Schema.of(quasi=["x", "y", "c"])) == plain


def test_rows_without_a_source_are_misses():
    table = pl.DataFrame({"x": [1.0, 2.0, None]})
    schema = Schema.of(quasi=["x"], missing={"x": "drop"})
    found = risk.linkage(table, pl.DataFrame({"x": [1.0, 2.0, 2.0]}), schema, [0, 1, 2])
    assert found.nearest_share == pytest.approx(2 / 3)


def test_one_row_and_words():
    one = pl.DataFrame({"x": [1.0]})
    json.dumps(risk.linkage(one, one, Schema.of(quasi=["x"])).to_dict(), allow_nan=False)
    far = risk.linkage(one, pl.DataFrame({"x": [9.0]}), Schema.of(quasi=["x"]))
    assert far.share == 1.0
    with pytest.raises(InputError):
        risk.linkage(one, one, Schema.of(quasi=["x"]), [5])


def test_of_coarse_values_it_is_too_low_and_the_match_is_not():
    """Somebody who looks for everybody that fits finds one in each class: one over its size."""
    rng = np.random.default_rng(1)
    towns = rng.choice(list("abcdefgh"), 200)
    table = pl.DataFrame({"age": rng.integers(20, 60, 200), "town": towns})
    sets = {town: "{a,b,c,d}" if town < "e" else "{e,f,g,h}" for town in "abcdefgh"}
    coarse = table.with_columns(town=pl.col("town").replace_strict(sets))
    schema = Schema.of(quasi=["age", "town"])
    all_that_fit = float((1 / coarse.select(pl.len().over("age", "town"))["len"]).mean())
    assert risk.reidentification(table, coarse, schema).expected == pytest.approx(all_that_fit)
    assert risk.linkage(table, coarse, schema).nearest_share < 0.8 * all_that_fit
