"""Class sizes and risks in bands, against plain counting.

The small-cell rule, held against people one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain, combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.report.bands import Tally, class_sizes, is_small, merge_neighbours, pool_small, risk_bands
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


@st.composite
def tallies(draw: st.DrawFn) -> list[Tally]:
    n_cells = draw(st.integers(1, 7))
    made = []
    for _ in range(draw(st.integers(1, 2))):
        rows = draw(st.integers(0, 40))
        cells = draw(st.lists(st.integers(0, n_cells - 1), min_size=rows, max_size=rows))
        several = draw(st.booleans())
        people = draw(st.lists(st.integers(-1, 15), min_size=rows, max_size=rows)) if several else list(range(rows))
        made.append(Tally.of(np.array(cells, dtype=np.int64), np.array(people, dtype=np.int64), n_cells))
    return made


def people_in(tally: Tally, members: tuple[int, ...]) -> int:
    """Slow and plain: the set of people."""
    return len({int(p) for c, p in zip(tally.cells, tally.people, strict=True) if int(c) in members})


def every_union(parts: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """All that adding and subtracting the numbers shown can reach."""
    chosen = chain.from_iterable(combinations(parts, size) for size in range(1, len(parts) + 1))
    return [tuple(chain.from_iterable(union)) for union in chosen]


@given(tallies(), st.integers(2, 12))
def test_neighbours_leave_nothing_small_to_see_or_to_work_out(found: list[Tally], k: int) -> None:
    runs = merge_neighbours(found, k)
    for union in every_union(list(runs)):
        assert not any(is_small(people_in(tally, union), k) for tally in found)


@given(tallies(), st.integers(2, 12), st.integers(1, 7) | st.none())
def test_pool_leaves_nothing_small_to_see_or_to_work_out(found: list[Tally], k: int, most: int | None) -> None:
    shown, pool = pool_small(found, k, most=most)
    for union in every_union([*shown, *([pool] if pool else [])]):
        assert not any(is_small(people_in(tally, union), k) for tally in found)


@given(tallies(), st.integers(2, 12))
def test_every_cell_is_in_exactly_one_part_unless_nothing_may_be_shown(found: list[Tally], k: int) -> None:
    cells = tuple(range(len(found[0].counts)))
    too_few = any(is_small(people_in(tally, cells), k) for tally in found)
    runs = merge_neighbours(found, k)
    shown, pool = pool_small(found, k)
    assert tuple(chain(*runs)) == (() if too_few else cells)
    if not too_few:
        assert sorted(chain(*shown, pool)) == list(cells)


@given(tallies(), st.integers(2, 12))
def test_a_cell_is_pooled_only_with_a_reason(found: list[Tally], k: int) -> None:
    shown, pool = pool_small(found, k)
    if pool:
        assert any(is_small(int(tally.counts[i]), k) for tally in found for i in pool)
    assert not any(is_small(int(tally.counts[i]), k) for tally in found for (i,) in shown)


def counted(*counts: int) -> Tally:
    cells = np.repeat(np.arange(len(counts)), counts)
    return Tally.of(cells, np.arange(len(cells)), len(counts))


def test_a_single_small_cell_takes_the_next_smallest_with_it() -> None:
    assert pool_small([counted(50, 40, 3)], 5) == (((0,),), (1, 2))


def test_k_less_one_is_small_and_k_is_not() -> None:
    assert [is_small(count, 5) for count in (0, 1, 4, 5, 6)] == [False, True, True, False, False]
    assert pool_small([counted(50, 40, 4)], 5) == (((0,),), (1, 2))
    assert pool_small([counted(50, 40, 5)], 5) == (((0,), (1,), (2,)), ())
    assert merge_neighbours([counted(4, 100)], 5) == ((0, 1),)
    assert merge_neighbours([counted(5, 100)], 5) == ((0,), (1,))


def test_two_small_cells_that_make_k_need_no_third() -> None:
    assert pool_small([counted(50, 2, 3)], 5) == (((0,),), (1, 2))


def test_empty_cells_may_be_shown() -> None:
    assert pool_small([counted(50, 0, 30)], 5) == (((0,), (1,), (2,)), ())


def test_small_bins_join_their_neighbour() -> None:
    assert merge_neighbours([counted(3, 100, 100, 2)], 5) == ((0, 1), (2, 3))
    assert merge_neighbours([counted(100, 3, 100)], 5) == ((0,), (1, 2))


def test_empty_ends_join_their_neighbour() -> None:
    assert merge_neighbours([counted(0, 0, 9, 0, 9, 0)], 5) == ((0, 1, 2), (3,), (4, 5))


def test_what_is_small_after_is_hidden_before_too() -> None:
    assert merge_neighbours([counted(50, 50), counted(98, 2)], 5) == ((0, 1),)


def test_one_person_with_many_rows_is_one_person() -> None:
    cells, people = np.array([0] * 9 + [1] * 9), np.array([7] * 9 + list(range(9)))
    assert pool_small([Tally.of(cells, people, 2)], 5) == ((), (0, 1))


def test_at_most_so_many_parts() -> None:
    shown, pool = pool_small([counted(9, 8, 7, 6, 5)], 5, most=3)
    assert shown == ((0,), (1,))
    assert pool == (2, 3, 4)
