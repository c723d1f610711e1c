"""Attribute inference by double loops, and against a control group."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import Mondrian, Recode, coarsen, risk
from shoal.errors import ColumnError, SchemaError
from shoal.schema import Schema

SCHEMA = Schema.of(quasi=["age"], sensitive=["ill", "cost"], kinds={"ill": "nominal", "cost": "numeric"})


def make(seed, n):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(0, 5, n) * 2.0 + 0.5 * (seed % 2),
            "ill": [None if x == 3 else f"d{x}" for x in rng.integers(0, 4, n)],
            "cost": [None if x == 0 else float(x) for x in rng.integers(0, 9, n)],
        },
        schema={"age": pl.Float64, "ill": pl.String, "cost": pl.Float64},
    )


def oracle(table, released):
    ages = released["age"].to_list()
    present = [c for c in released["cost"] if c is not None]
    overall = sum(present) / len(present) if present else 0.0
    modes = Counter(released["ill"].to_list())
    top = [v for v, c in modes.items() if c == max(modes.values())]
    success, error, base_success, base_error = [], [], [], []
    for age, ill, cost in table.iter_rows():
        nearest = min(abs(age - other) for other in ages)
        rows = [j for j, other in enumerate(ages) if abs(abs(age - other) - nearest) < 1e-9]
        counts = Counter(released["ill"][j] for j in rows)
        best = [v for v, c in counts.items() if c == max(counts.values())]
        success.append((ill in best) / len(best))
        base_success.append((ill in top) / len(top))
        costs = [released["cost"][j] for j in rows if released["cost"][j] is not None]
        if cost is not None:
            error.append(abs((sum(costs) / len(costs) if costs else overall) - cost))
            base_error.append(abs(overall - cost))
    return [sum(x) / len(x) if x else 0.0 for x in (success, base_success, error, base_error)]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20), st.integers(1, 20))
def test_guesses_are_the_double_loops(seed, n, m):
    table, released = make(seed, n), make(seed + 1, m)
    guesses = risk.inference(table, released, SCHEMA)
    found = guesses.columns
    success, base_success, error, base_error = oracle(table, released)
    assert (found["ill"].value, found["ill"].baseline) == pytest.approx((success, base_success))
    assert found["ill"].advantage == pytest.approx(success - base_success)
    if any(side["cost"].null_count() == len(side) for side in (table, released)):
        assert set(guesses.unmeasured) == {"cost"}  # nothing to guess is no error of 0
        assert "cost" not in found
    else:
        assert (found["cost"].value, found["cost"].baseline) == pytest.approx((error, base_error))
        assert found["cost"].advantage == pytest.approx(base_error - error)
    for column in found.values():
        assert column.interval[0] <= column.value <= column.interval[1]
        low, high = column.advantage_interval
        assert low - 1e-12 <= column.advantage <= high + 1e-12
        assert column.control is None


def test_a_control_group_is_attacked_alike():
    table, released, control = make(0, 30), make(1, 30), make(2, 12)
    found = risk.inference(table, released, SCHEMA, control=control).columns
    success, _, error, _ = oracle(control, released)
    assert found["ill"].control == pytest.approx(success)
    assert found["cost"].control == pytest.approx(error)
    assert found["ill"].advantage == pytest.approx(found["ill"].value - success)
    assert found["cost"].advantage == pytest.approx(error - found["cost"].value)


def test_what_is_merely_statistics_is_no_advantage_and_a_copy_is():
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    world = pl.DataFrame({"x": x, "ill": np.where(x + rng.normal(size=3000) > 0, "yes", "no")})
    schema = Schema.of(quasi=["x"], sensitive=["ill"])
    inside, outside, other = world[:1000], world[1000:2000], world[2000:]
    leak = risk.inference(inside, inside, schema, control=outside).columns["ill"]
    assert leak.value == 1.0
    assert leak.advantage_interval[0] > 0.2
    fair = risk.inference(inside, other, schema, control=outside).columns["ill"]
    # Twice the half-width: a false alarm has a chance below 1e-4.
    half = (fair.advantage_interval[1] - fair.advantage_interval[0]) / 2
    assert abs(fair.advantage) < 2 * half
    assert fair.value > fair.baseline


def test_ordinal_and_numeric_levels_of_other_types_match():
    table = pl.DataFrame({"x": [1.0, 2.0], "s": [1, 2]})
    schema = Schema.of(quasi=["x"], sensitive=["s"], kinds={"s": "ordinal"})
    found = risk.inference(table, table.with_columns(pl.col("s").cast(pl.Float64)), schema)
    assert found.columns["s"].value == 1.0


def test_columns_can_be_chosen_and_may_be_missing():
    table = make(0, 9)
    assert set(risk.inference(table, table.drop("cost"), SCHEMA).columns) == {"ill"}
    assert set(risk.inference(table, table, SCHEMA, sensitive="cost").columns) == {"cost"}
    assert risk.inference(table, table.select("age"), SCHEMA).columns == {}
    empty = table.with_columns(cost=pl.lit(None, dtype=pl.Float64), ill=pl.lit("same"))
    words = risk.inference(empty, empty, SCHEMA).to_dict()
    json.dumps(words, allow_nan=False)
    assert words["columns"]["ill"]["value"] == 1.0


def test_bad_input():
    table = make(0, 9).with_columns(ill=pl.lit("SENTINEL"))
    with pytest.raises(SchemaError, match="'shoe'"):
        risk.inference(table, table, SCHEMA, sensitive=["shoe"])
    with pytest.raises(SchemaError, match="control table") as caught:
        risk.inference(table, table, SCHEMA, control=table.drop("ill"))
    assert "SENTINEL" not in str(caught.value)


def test_a_coarsened_number_is_read_as_the_mean_of_its_records(tmp_path):
    table = pl.DataFrame({"age": [20 + i % 40 for i in range(200)], "cost": [float(i * 7 % 100) for i in range(200)]})
    schema = Schema.of(quasi=["age"], sensitive=["cost"], kinds={"cost": "numeric"})
    methods = [Recode(steps={"cost": {"kind": "bins", "edges": [0, 20, 50, 100]}}), Mondrian(k=5)]
    release = coarsen(table, schema, methods, seed=1)
    band = release.table["cost"]
    assert band.dtype == pl.String
    own = table["cost"].gather(release.source_rows)
    means = own.to_frame("own").with_columns(band=band).select(pl.col("own").mean().over("band"))["own"]
    plain = release.table.with_columns(cost=means)
    # the schema of the original reads both: once the bands, once what they stand for
    told = risk.inference(table, release.table, schema, source_rows=release.source_rows).columns["cost"]
    meant = risk.inference(table, plain, schema, source_rows=release.source_rows).columns["cost"]
    assert told.value == pytest.approx(meant.value)
    assert told.baseline == pytest.approx(meant.baseline)
    with pytest.raises(ColumnError, match="must hold numbers"):
        risk.inference(table, release.table.with_columns(age=table["age"]), schema)
    release.write(tmp_path / "release")
    assert "cost" in (tmp_path / "release" / "report.html").read_text()
