"""Class sizes and risks in bands, against plain counting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.report.bands import class_sizes, risk_bands
from shoal.schema import Schema


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from("ab")), min_size=1, max_size=80), st.integers(2, 6))
def test_bands_hold_every_record_and_nobody_or_k(
    pair_by_hand: Callable[..., Any], rows: list[tuple[int, str]], k: int
) -> None:
    table = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.String}, orient="row")
    pair, _ = pair_by_hand(table, Schema.of(quasi=["a", "b"]), k)
    bands, small = class_sizes(pair, k)
    sizes = Counter(Counter(rows).values())
    assert small.before == tuple(sizes[size] for size in range(1, k + 1))
    assert small.n_classes[0] == len(set(rows))
    assert small.smallest[0] == min(Counter(rows).values())
    if len(rows) < k:
        assert bands.bands == ()
        return
    for band in bands.bands:
        assert all(records == 0 or records >= k for records in band.records)
        high = np.inf if band.high is None else band.high
        assert band.records[0] == sum(size * n for size, n in sizes.items() if band.low <= size <= high)
    assert sum(band.records[0] for band in bands.bands) == len(rows)
    assert sum(band.records[1] for band in bands.bands) == len(rows)


def test_bands_begin_at_one_two_and_multiples_of_k(pair_by_hand: Callable[..., Any]) -> None:
    groups = [*range(10), *np.repeat(np.arange(10, 20), 3), *np.repeat(np.arange(20, 30), 6), *[99] * 50]
    pair, _ = pair_by_hand(pl.DataFrame({"a": groups}), Schema.of(quasi=["a"]), 5)
    bands, _ = class_sizes(pair, 5)
    assert [band.label for band in bands.bands] == ["1", "2–4", "5–9", "10–19", "20–39", "40 or more"]
    assert [band.records[0] for band in bands.bands] == [10, 30, 60, 0, 0, 50]


def test_few_unique_people_are_hidden_in_a_wider_band(pair_by_hand: Callable[..., Any]) -> None:
    groups = [1, 2, *np.repeat(np.arange(10, 20), 3)]
    bands, small = class_sizes(pair_by_hand(pl.DataFrame({"a": groups}), Schema.of(quasi=["a"]), 5)[0], 5)
    assert [(band.label, band.records[0]) for band in bands.bands] == [("1–4", 32), ("5 or more", 0)]
    assert small.before[0] == 2


def test_a_table_of_unique_people_says_so(pair_by_hand: Callable[..., Any]) -> None:
    pair, _ = pair_by_hand(pl.DataFrame({"a": range(20)}), Schema.of(quasi=["a"]), 5)
    bands, _ = class_sizes(pair, 5)
    assert [(band.label, band.records) for band in bands.bands] == [
        ("1", (20, 20)),
        ("2–4", (0, 0)),
        ("5 or more", (0, 0)),
    ]


def test_units_count_once(pair_by_hand: Callable[..., Any]) -> None:
    table = pl.DataFrame({"a": [1] * 10 + [2] * 10, "who": [*range(10), *[50] * 10]})
    _, small = class_sizes(pair_by_hand(table, Schema.of(quasi=["a"], unit="who"), 20)[0], 5)
    assert small.before == (1, 0, 0, 0, 0)


def test_risks_fall_into_tenths_of_the_bound() -> None:
    risks = np.repeat([0.0, 0.02, 0.03, 0.2], 10)
    bands = risk_bands(risks, np.arange(40), 0.2, 5).bands
    assert bands[0].label == "0–2%"
    assert bands[0].records == (20,)
    assert bands[1].label == "2–4%"
    assert bands[-1].label == "over 18%"
    assert bands[-1].records == (10,)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.floats(0.001, 1), st.integers(2, 7), st.integers(1, 60))
def test_risk_bands_are_never_small(risks: list[float], bound: float, k: int, n_people: int) -> None:
    people = np.arange(len(risks)) % n_people
    bands = risk_bands(np.array(risks), people, bound, k).bands
    assert all(band.records[0] == 0 or band.records[0] >= k for band in bands)
    if len(set(people)) >= k:
        assert sum(band.records[0] for band in bands) == len(risks)
        assert sum(band.shares[0] for band in bands) == pytest.approx(1)
