"""Marginals: right counts, round bins, and nothing of few people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.report.marginal import Marginal, marginals_of
from shoal.schema import Schema

Make = Callable[..., Any]


def marginal(make: Make, column: pl.Series, k: int = 5, **schema: Any) -> Marginal:
    table = pl.DataFrame({"x": column})
    pair, _ = make(table, Schema.of(quasi=["x"], **schema), k)
    return marginals_of(pair, ["x"], k)[0]


values = st.lists(st.one_of(st.none(), st.sampled_from(["aa", "bb", "cc", "dd", "ee", "ff"])), min_size=1, max_size=60)


@settings(max_examples=60, deadline=None)
@given(values, st.integers(2, 7), st.integers(0, 5))
def test_rare_levels_are_neither_named_nor_to_be_worked_out(
    pair_by_hand: Make, values: list[str | None], k: int, seed: int
) -> None:
    table = pl.DataFrame({"x": pl.Series(values, dtype=pl.String), "y": pl.Series(values, dtype=pl.String)})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["x"], sensitive=["y"]), k, seed)
    held = Counter(values)
    for found in marginals_of(pair, ["x", "y"], k):
        named = {cell.name for cell in found.cells if not cell.missing}
        assert not any(0 < held[name] < k for name in named if name is not None)
        assert all(cell.before == 0 or cell.before >= k for cell in found.cells)
        assert all(cell.after == 0 or cell.after >= k for cell in found.cells)
        if found.cells:
            hidden = len(values) - sum(cell.before for cell in found.cells)
            assert hidden == 0, "what is subtracted from the total must leave nothing"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-3, 3).map(float)), min_size=1, max_size=60),
    st.integers(2, 7),
)
def test_numbers_fall_into_bins_of_nobody_or_k(pair_by_hand: Make, values: list[float | None], k: int) -> None:
    table = pl.DataFrame({"x": [1] * len(values), "y": pl.Series(values, dtype=pl.Float64)})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["x"], sensitive=["y"]), k)
    found = marginals_of(pair, ["y"], k)[0]
    if len(values) < k:
        assert found.cells == ()
        return
    assert sum(cell.before for cell in found.cells) == len(values)
    assert all(cell.before == 0 or cell.before >= k for cell in found.cells)
    present = np.array([value for value in values if value is not None])
    for cell in found.cells:
        if cell.missing or "missing" in cell.label or cell.label == "all values":
            continue
        low = -np.inf if cell.low is None else cell.low
        high = np.inf if cell.high is None else cell.high
        assert cell.before == int(((present >= low) & (present < high)).sum())


def test_edges_are_round_and_ends_are_open(pair_by_hand: Make) -> None:
    rng = np.random.default_rng(0)
    ages = pl.Series(np.append(rng.integers(18, 91, 998), [17, 113]))
    found = marginal(pair_by_hand, ages)
    assert found.step == 5
    assert found.cells[0].label == "up to 19"
    assert found.cells[1].label == "20–24"
    assert found.cells[-1].label.endswith("and over")
    assert not any("113" in cell.label or "17" in cell.label for cell in found.cells)
    assert 10 <= len(found.cells) <= 21


def test_fractions_have_bins_to_the_next_edge(pair_by_hand: Make) -> None:
    found = marginal(pair_by_hand, pl.Series(np.random.default_rng(0).normal(0.3, 0.1, 500)))
    assert found.cells[0].label.startswith("under ")
    assert " to " in found.cells[3].label
    assert found.cells[0].low is None
    assert found.cells[-1].high is None


def test_an_outlier_shapes_no_bin(pair_by_hand: Make) -> None:
    base = np.random.default_rng(0).normal(100, 10, 60)
    plain = marginal(pair_by_hand, pl.Series(base))
    outlier = marginal(pair_by_hand, pl.Series(np.where(base == base.max(), 987654.0, base)))
    assert [cell.label for cell in plain.cells] == [cell.label for cell in outlier.cells]


def test_counts_from_zero(pair_by_hand: Make) -> None:
    visits = pl.Series([0] * 50 + [1] * 30 + [2] * 12 + [3] * 3 + [9])
    found = marginal(pair_by_hand, visits)
    assert [(cell.label, cell.before) for cell in found.cells] == [("0", 50), ("1", 30), ("2 and over", 16)]


def test_many_zeros_still_show_the_rest(pair_by_hand: Make) -> None:
    cost = pl.Series(np.append(np.zeros(990), np.linspace(1000, 9000, 60)))
    found = marginal(pair_by_hand, cost)
    assert found.cells[0].before == 990
    assert len(found.cells) > 4


@pytest.mark.parametrize("value", [0, 7, -2.5])
def test_a_constant_has_one_cell_and_no_value(pair_by_hand: Make, value: float) -> None:
    found = marginal(pair_by_hand, pl.Series([value] * 20))
    assert [(cell.label, cell.before, cell.after) for cell in found.cells] == [("all values", 20, 20)]
    assert found.distance() == 0


def test_numbers_too_small_to_tell_apart_are_one_cell(pair_by_hand: Make) -> None:
    table = pl.DataFrame({"x": [1] * 20, "z": [1e-320, 2e-320] * 10})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["x"], sensitive=["z"]), 5)
    for found in marginals_of(pair, ["z"], 5):
        assert [(cell.label, cell.before) for cell in found.cells] == [("all values", 20)]


def test_a_missing_level_is_a_cell_and_few_missing_join_a_neighbour(pair_by_hand: Make) -> None:
    many = marginal(pair_by_hand, pl.Series(["a"] * 20 + ["b"] * 10 + [None] * 6))
    assert [(cell.label, cell.missing) for cell in many.cells] == [("a", False), ("b", False), ("missing", True)]
    few = marginal(pair_by_hand, pl.Series(["a"] * 20 + ["b"] * 10 + [None] * 2))
    assert [cell.label for cell in few.cells] == ["a", "other levels (2)"]
    table = pl.DataFrame({"x": ["a"] * 20, "y": [float(i % 10) for i in range(18)] + [None, None]})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["x"], sensitive=["y"]), 5)
    assert marginals_of(pair, ["y"], 5)[0].cells[-1].label.endswith("or missing")


def test_a_level_called_missing_is_no_missing_one(pair_by_hand: Make) -> None:
    found = marginal(pair_by_hand, pl.Series(["missing"] * 10 + ["a"] * 20))
    assert not any(cell.missing for cell in found.cells)


def test_ordinal_levels_keep_their_order_and_empty_ones_are_shown(pair_by_hand: Make) -> None:
    column = pl.Series(["low"] * 10 + ["high"] * 20)
    found = marginal(pair_by_hand, column, kinds={"x": "ordinal"}, levels={"x": ["low", "middle", "high"]})
    assert [(cell.label, cell.before) for cell in found.cells] == [("low", 10), ("middle", 0), ("high", 20)]


def test_many_levels_are_pooled(pair_by_hand: Make) -> None:
    found = marginal(pair_by_hand, pl.Series([f"level {i}" for i in range(40) for _ in range(6 + i)]))
    assert len(found.cells) == 12
    assert found.cells[-1].label == "other levels (29)"
    assert found.cells[0].label == "level 39"


def test_dates_are_months_or_years_and_never_days(pair_by_hand: Make) -> None:
    days = [date(2019, 1, 1) + timedelta(days=i) for i in range(60)]
    assert [cell.label for cell in marginal(pair_by_hand, pl.Series(days)).cells] == ["2019-01", "from 2019-02"]
    births = [date(1930 + i % 80, 6, 15) for i in range(800)]
    assert marginal(pair_by_hand, pl.Series(births)).cells[0].label == "1930s"
    rare = [date(2001, 1, 1), *[date(2001, 5, 1)] * 10, *[date(2001, 7, 1)] * 10, date(2001, 9, 9)]
    found = marginal(pair_by_hand, pl.Series(rare))
    assert [cell.label for cell in found.cells] == ["until 2001-05", "from 2001-07"]


def test_truth_values_and_columns_without_a_value(pair_by_hand: Make) -> None:
    assert {cell.label for cell in marginal(pair_by_hand, pl.Series([True, False] * 9)).cells} == {"true", "false"}
    empty = marginal(pair_by_hand, pl.Series([None] * 9, dtype=pl.String))
    assert [(cell.label, cell.before) for cell in empty.cells] == [("missing", 9)]


def test_fewer_people_than_k_show_nothing(pair_by_hand: Make) -> None:
    assert marginal(pair_by_hand, pl.Series([1, 2, 3]), k=5).cells == ()


def test_shares_are_weighted_and_counts_are_not(pair_by_hand: Make) -> None:
    table = pl.DataFrame({"x": ["a"] * 10 + ["b"] * 10, "w": [3.0] * 10 + [1.0] * 10})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["x"], weight="w"), 20)
    found = marginals_of(pair, ["x"], 5)[0]
    assert found.weighted
    assert [(cell.before, cell.before_share) for cell in found.cells] == [(10, 0.75), (10, 0.25)]
    assert sum(cell.after_share for cell in found.cells) == pytest.approx(1)


def test_people_are_counted_and_not_their_rows(pair_by_hand: Make) -> None:
    table = pl.DataFrame({"x": ["often"] * 30 + ["rare"] * 30, "who": [*range(30), *[99] * 30]})
    pair, _ = pair_by_hand(table, Schema.of(quasi=["x"], unit="who"), 5)
    assert [cell.label for cell in marginals_of(pair, ["x"], 5)[0].cells] == ["other levels (2)"]


def test_words_are_json_safe(pair_by_hand: Make) -> None:
    import json

    assert json.loads(json.dumps(marginal(pair_by_hand, pl.Series(["a"] * 9)).to_dict()))["cells"][0]["before"] == 9


def test_what_chance_moves_a_distribution_by(pair_by_hand: Make) -> None:
    rng = np.random.default_rng(5)
    found = marginal(pair_by_hand, pl.Series(rng.choice(["a", "b", "c"], 400, p=[0.6, 0.3, 0.1])))
    shares = np.array([cell.before_share for cell in found.cells])
    drawn = rng.multinomial(400, shares, size=4000) / 400
    assert found.fresh() == pytest.approx(float(np.abs(drawn - shares).sum(axis=1).mean() / 2), rel=0.03)
