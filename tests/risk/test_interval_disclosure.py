"""Interval disclosure by double loops."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal import risk
from shoal.errors import ParameterError
from shoal.schema import Schema

LEVELS = ["low", "mid", "high"]
SCHEMA = Schema.of(quasi=["x", "stage", "sex"], kinds={"stage": "ordinal", "sex": "nominal"}, levels={"stage": LEVELS})


def make(seed, n):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"x": rng.integers(0, 12, n) * 1.0, "stage": rng.choice(LEVELS, n), "sex": ["f"] * n})


def oracle_rank(value, shown, everyone, width):
    """Whether the value's nearest rank lies within width·n/2 of the middle of the ranks that the shown value takes."""
    below, upto = sum(v < shown for v in everyone), sum(v <= shown for v in everyone)
    middle = (below + upto - 1) / 2
    ranks = [r for r, v in enumerate(sorted(everyone)) if v == value]
    return min(abs(r - middle) for r in range(ranks[0], ranks[-1] + 1) if True) <= width * len(everyone) / 2 or (
        ranks[0] <= middle <= ranks[-1]
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from([0.05, 0.3, 1.0]))
def test_shares_are_the_double_loops(seed, n, width):
    table, masked = make(seed, n), make(seed + 1, n)
    order = np.random.default_rng(seed).permutation(n)
    found = risk.intervals(table, masked, SCHEMA, order, width=width)
    everyone = table["x"].to_list()
    mean = sum(everyone) / n
    reach = width * math.sqrt(sum((v - mean) ** 2 for v in everyone) / n) + 1e-9
    near = [abs(everyone[order[j]] - masked["x"][j]) <= reach for j in range(n)]
    ranks = [oracle_rank(everyone[order[j]], masked["x"][j], everyone, width) for j in range(n)]
    same = [table["stage"][int(order[j])] == masked["stage"][j] for j in range(n)]
    chance = sum(abs(v - w) <= reach for v in everyone for w in masked["x"]) / n**2
    x, stage = found.columns["x"], found.columns["stage"]
    assert (x.share, x.rank_share) == pytest.approx((sum(near) / n, sum(ranks) / n))
    assert x.chance == pytest.approx(chance)
    assert stage.share == stage.rank_share == pytest.approx(sum(same) / n)
    assert set(found.columns) == {"x", "stage", "sex"}
    assert found.columns["sex"].share == found.columns["sex"].chance == 1.0
    assert found.all_share == pytest.approx(sum(a and b for a, b in zip(near, same, strict=True)) / n)
    assert found.share == pytest.approx((x.share + stage.share + 1) / 3)


def test_the_original_is_wholly_disclosed_and_noise_is_not():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.normal(size=4000)})
    schema = Schema.of(quasi=["x"])
    same = risk.intervals(table, table, schema)
    assert (float(same), same.rank_share, same.all_share) == (1.0, 1.0, 1.0)
    noise = risk.intervals(table, pl.DataFrame({"x": rng.normal(size=4000)}), schema)
    assert noise.share == pytest.approx(noise.chance, abs=0.02)
    assert noise.rank_share == pytest.approx(0.1, abs=0.03)


def test_constant_columns_nothing_to_measure_and_blanks():
    table = pl.DataFrame({"x": [2.0, 2.0], "c": ["a", "b"]})
    schema = Schema.of(quasi=["x"], other=["c"])
    assert risk.intervals(table, table, schema).share == 1.0
    levels = risk.intervals(table, table, Schema.of(quasi=["c"], other=["x"]))
    assert (levels.share, levels.chance, levels.why) == (1.0, 0.5, None)
    nobody = risk.intervals(table, table, schema, [-1, -1])
    assert (nobody.share, nobody.chance, nobody.n_rows) == (None, None, 0)
    assert nobody.why == "no released row belongs to a known person"
    assert math.isnan(float(nobody))
    blank = risk.intervals(table, table.with_columns(x=pl.Series([None, 2.0])), schema)
    assert (blank.share, blank.rank_share, blank.all_share) == (0.5, 0.5, 0.5)
    json.dumps(blank.to_dict(), allow_nan=False)


@pytest.mark.parametrize("width", [0, -1.0, math.nan, math.inf, "wide"])
def test_width_is_a_positive_number(width):
    table = pl.DataFrame({"x": [1.0]})
    with pytest.raises(ParameterError, match="width"):
        risk.intervals(table, table, Schema.of(quasi=["x"]), width=width)
