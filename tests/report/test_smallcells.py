"""The small-cell rule, held against people one by one."""

from __future__ import annotations

from itertools import chain, combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.report.smallcells import Tally, is_small, merge_neighbours, pool_small


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
